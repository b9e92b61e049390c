// Shared parts of element-wise ops: the shape rule, scalar and row operands, and the loops.
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

// Each operand has the dtype of the result. It has the result's shape (..., C), or is a scalar, or
// a row (C) that is broadcast along the last dimension as in NumPy.
absl::StatusOr<std::vector<Shape>> ElementwiseShape(const std::string& op,
                                                    std::span<const Shape> operands);

inline bool IsFloat(DType dtype) { return dtype == DType::kF32 || dtype == DType::kBF16; }

// The gradient of an operand that was broadcast (a scalar or a row): dy summed to the operand's
// shape. Returns dy itself if `operand` has the shape of dy.
Value SumToShape(GraphBuilder& b, Value dy, Value operand);

// x (any shape) -> f32[], the sum of all elements. Chunks of 4096 elements from the left are each
// summed in 16 interleaved lanes. The chunk sums are added in a pairwise tree.
const OpDef& SumOfElementsOp();
float SumOfElements(const float* x, int64_t n);
// The sum of the squares of the elements, in the same order.
float SumOfSquares(const float* x, int64_t n);
// x (..., C) -> (C), the f32 sum over all but the last dimension, in the order of sum_rows.h.
Value SumOfRows(GraphBuilder& b, Value x, const std::string& label = "Sum");
const OpDef& SumOfRowsOp();

// Returns the operand x if the other operand is the identity constant, so that z = x. The constant
// is `of_floats` for f32 and `of_whole` for integers. An f32 x must be a result of arithmetic (the
// op would flush a subnormal and quiet a signalling NaN). `either`: the constant may also be
// operand 0.
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

// The loop of the function R f(T...). F is a lambda without captures.
template <typename F, typename R, typename... T>
void Tile(const void* const* operands, void* result, int64_t n) {
  TileLoop<F, R, std::tuple<const T*...>>(operands, static_cast<R*>(result), n,
                                          std::index_sequence_for<T...>());
}

// The maximum tile size in elements if an operand is a scalar or a row, and the maximum number of
// operands of such an op.
constexpr int64_t kTileElements = 1024;
constexpr int kMaxTileOperands = 3;

// Divides the elements of an op into tiles.
class Tiles {
 public:
  // `columns`: the length of the row operands in elements, or 0 if there are none.
  Tiles(int64_t most, int64_t columns)
      : most_(columns > 0 && columns < most ? most - most % columns : most), columns_(columns) {}

  int64_t most() const { return most_; }
  // The number of elements of the tile that starts at `begin`. A tile consists of whole rows (the
  // last tile may be shorter). If rows are longer than a tile, it lies within one row.
  int64_t Count(int64_t begin, int64_t end) const {
    const int64_t n = std::min(most_, end - begin);
    return columns_ > most_ ? std::min(n, columns_ - begin % columns_) : n;
  }
  bool within_rows() const { return columns_ > most_; }
  int64_t columns() const { return columns_; }

 private:
  int64_t most_, columns_;
};

// The length of the row operands in elements, or 0 if there are none.
int64_t RowColumns(const OpCall& call);
inline bool IsRow(const Shape& operand, const Shape& result) {
  return operand.rank() == 1 && result.rank() > 1;
}

// Writes the scalar at `from` (1, 2, 4 or 8 bytes) to n elements.
void Spread(const void* from, int64_t element_bytes, int64_t n, void* to);
// Writes n elements of repetitions of `row` (`columns` elements). The first element written is the
// one that belongs to element `begin` of the result.
void SpreadRow(const void* row, int64_t element_bytes, int64_t columns, int64_t begin, int64_t n,
               void* to);

// The kernel of an op; `tile` is the loop for its dtypes.
std::unique_ptr<Kernel> TileKernel(const OpCall& call, TileFunction tile);

// z = f(x, y) over f32, s32 or s64, and y = f(x) over f32. f may return bool for a pred result.
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

// OpDef::tile for the same formulas.
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
