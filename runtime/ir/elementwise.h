// What element-wise ops share: the shape rule, operands that are a scalar or a row, and the loops.
#ifndef TPURUN_RUNTIME_IR_ELEMENTWISE_H_
#define TPURUN_RUNTIME_IR_ELEMENTWISE_H_

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/base/clones.h"
#include "runtime/ir/graph_builder.h"

namespace tpurun {

// All operands have one dtype and one shape (..., C), which the result has; or they are scalars, or
// rows (C), which go with the last dimension as NumPy broadcasts them.
absl::StatusOr<std::vector<Shape>> ElementwiseShape(const std::string& op,
                                                    std::span<const Shape> operands);

inline bool IsFloat(DType dtype) { return dtype == DType::kF32 || dtype == DType::kBF16; }

// The gradient of a scalar or a row that went with every element: dy summed to its shape. dy itself
// when `operand` has its shape.
Value SumToShape(GraphBuilder& b, Value dy, Value operand);

// x (any shape) -> the sum of all its elements, f32[]: chunks of 4096 from the left, each summed in
// 16 interleaved lanes, the chunk sums added in a pairwise tree.
const OpDef& SumOfElementsOp();
float SumOfElements(const float* x, int64_t n);
// Of their squares, in that order.
float SumOfSquares(const float* x, int64_t n);
// x (..., C) -> (C): the f32 sum over all but the last dimension (sum_rows.h has the order).
Value SumOfRows(GraphBuilder& b, Value x, const std::string& label = "Sum");
const OpDef& SumOfRowsOp();

// z = x where the other operand is the constant that changes nothing: `of_floats` for f32, where x
// must be the outcome of arithmetic too (a subnormal would be flushed, a signalling NaN quieted),
// `of_whole` for whole numbers. `either`: it may also be operand 0 that is the constant.
Replacement WithoutIdentity(const Graph& graph, const Node& node, double of_floats, double of_whole,
                            bool either);

template <typename F, typename R, typename T, size_t... i>
void TileLoop(const void* const* operands, R* out, int64_t n, std::index_sequence<i...>) {
  const T in{static_cast<std::tuple_element_t<i, T>>(operands[i])...};
  RunCloned([ in, out, n ]() __attribute__((always_inline)) {
    const T x = in;
#pragma GCC ivdep
    for (int64_t k = 0; k < n; ++k) out[k] = static_cast<R>(F{}(std::get<i>(x)[k]...));
  });
}

// The loop of R f(T...). F is a lambda without captures.
template <typename F, typename R, typename... T>
void Tile(const void* const* operands, void* result, int64_t n) {
  TileLoop<F, R, std::tuple<const T*...>>(operands, static_cast<R*>(result), n,
                                          std::index_sequence_for<T...>());
}

// The most elements that are worked on at a time where a scalar or a row goes with them, and the
// most operands of such an op.
constexpr int64_t kTileElements = 1024;
constexpr int kMaxTileOperands = 3;

// The tiles of an op's elements.
class Tiles {
 public:
  // `columns`: of the rows that go with the elements; 0: there are none.
  Tiles(int64_t most, int64_t columns)
      : most_(columns > 0 && columns < most ? most - most % columns : most), columns_(columns) {}

  int64_t most() const { return most_; }
  // Elements of the tile that starts at `begin`. It is of whole rows, but for the last, or within
  // one: then rows are longer than a tile.
  int64_t Count(int64_t begin, int64_t end) const {
    const int64_t n = std::min(most_, end - begin);
    return columns_ > most_ ? std::min(n, columns_ - begin % columns_) : n;
  }
  bool within_rows() const { return columns_ > most_; }
  int64_t columns() const { return columns_; }

 private:
  int64_t most_, columns_;
};

// The columns of the rows among the operands; 0: there are none.
int64_t RowColumns(const OpCall& call);
inline bool IsRow(const Shape& operand, const Shape& result) {
  return operand.rank() == 1 && result.rank() > 1;
}

// Writes the scalar at `from`, of 1, 2, 4 or 8 bytes, to n elements.
void Spread(const void* from, int64_t element_bytes, int64_t n, void* to);
// Writes n elements of rows `row` one behind the other, the first being that of element `begin`.
void SpreadRow(const void* row, int64_t element_bytes, int64_t columns, int64_t begin, int64_t n,
               void* to);

// The kernel of an op whose loop over its dtypes is `tile`.
std::unique_ptr<Kernel> TileKernel(const OpCall& call, TileFunction tile);

// z = f(x, y) over f32, s32 or s64, and y = f(x) over f32; f may give bool for a pred.
template <typename F>
std::unique_ptr<Kernel> BinaryKernel(const OpCall& call, F f) {
  const auto kernel = [&]<typename T>(T x) {
    return TileKernel(call, Tile<F, decltype(f(x, x)), T, T>);
  };
  switch (call.operands[0].dtype) {
    case DType::kS32:
      return kernel(int32_t{});
    case DType::kS64:
      return kernel(int64_t{});
    default:
      return kernel(float{});
  }
}

template <typename F>
std::unique_ptr<Kernel> UnaryKernel(const OpCall& call, F) {
  return TileKernel(call, Tile<F, float, float>);
}

// OpDef::tile of the same formulas.
template <typename F>
constexpr TileFunction UnaryTile(F) {
  return Tile<F, float, float>;
}
template <typename F>
constexpr TileFunction BinaryTile(F) {
  return Tile<F, float, float, float>;
}

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IR_ELEMENTWISE_H_
