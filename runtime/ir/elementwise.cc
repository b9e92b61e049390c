#include "runtime/ir/elementwise.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "runtime/ir/structural.h"
#include "runtime/ir/sum_elements.h"
#include "runtime/ir/sum_rows.h"

namespace tpurun {
namespace {

template <SumOf kOf>
float SumOver(const float* x, int64_t n) {
  return TreeOfChunks(0, n, [&](int64_t begin, int64_t count) {
    float sum = 0;
    RunCloned([ from = x + begin, count, to = &sum ]()
                  __attribute__((always_inline)) { *to = SumOfChunk<kOf>(from, from, count); });
    return sum;
  });
}

// T is float, or uint16_t for x stored in bf16.
template <typename T>
std::unique_ptr<Kernel> SumOfRowsKernel(const OpCall& call) {
  const int64_t rows = RowsOf(call.operands[0]), columns = call.results[0].dims[0];
  return KernelOf([rows, columns](const KernelArgs& args) {
    SumRows(static_cast<const T*>(args.operands[0]), rows, columns, args.begin, args.end,
            static_cast<float*>(args.results[0]) + args.begin);
  });
}

}  // namespace

absl::StatusOr<std::vector<Shape>> ElementwiseShape(const std::string& op,
                                                    std::span<const Shape> operands) {
  Shape result = operands[0];
  for (const Shape& operand : operands) {
    if (operand.dtype != operands[0].dtype) {
      return absl::InvalidArgumentError(absl::StrCat(op, ": operands of one dtype wanted, got ",
                                                     operands[0].ToString(), " and ",
                                                     operand.ToString()));
    }
    if (operand.rank() > result.rank()) result = operand;
  }
  for (const Shape& operand : operands) {
    const bool row = IsRow(operand, result) && operand.dims[0] == result.dims.back();
    if (operand.rank() == 0 || row || operand.dims == result.dims) continue;
    return absl::InvalidArgumentError(absl::StrCat(op, ": operands of one shape wanted, got ",
                                                   result.ToString(), " and ", operand.ToString()));
  }
  if (operands[0].dtype != DType::kF32 && operands[0].dtype != DType::kS32 &&
      operands[0].dtype != DType::kS64) {
    return absl::InvalidArgumentError(
        absl::StrCat(op, ": want f32, s32 or s64, got ", operands[0].ToString()));
  }
  result.layout = Layout();
  return std::vector<Shape>{result};
}

float SumOfElements(const float* x, int64_t n) { return SumOver<SumOf::kElements>(x, n); }

float SumOfSquares(const float* x, int64_t n) { return SumOver<SumOf::kProducts>(x, n); }

Replacement WithoutIdentity(const Graph& graph, const Node& node, double of_floats, double of_whole,
                            bool either) {
  const bool floats = node.shapes[0].dtype == DType::kF32;
  for (const int kept : {0, 1}) {
    if (kept == 1 && !either) break;
    const Value x = node.inputs[kept];
    if (graph.shape(x).dims != node.shapes[0].dims) continue;
    if (floats && !graph.node(x).op->flags.arithmetic) continue;
    if (IsConstant(graph, node.inputs[1 - kept], floats ? of_floats : of_whole)) return {.same = x};
  }
  return {};
}

const OpDef& SumOfElementsOp() {
  static const OpDef& op = *new OpDef{
      .name = "sum_of_elements",
      .doc =
          "x (any shape, f32) -> f32[]: chunks of 4096 elements, each summed in 16 interleaved "
          "lanes, the chunk sums in a pairwise tree.",
      .min_operands = 1,
      .max_operands = 1,
      .flags = {.arithmetic = true},
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs&) -> absl::StatusOr<std::vector<Shape>> {
        if (operands[0].dtype != DType::kF32) {
          return absl::InvalidArgumentError(
              absl::StrCat("sum_of_elements: want f32, got ", operands[0].ToString()));
        }
        return std::vector<Shape>{Shape{DType::kF32, {}}};
      },
      .reference =
          [](const OpCall& call) {
            return KernelOf([n = call.operands[0].num_elements()](const KernelArgs& args) {
              *static_cast<float*>(args.results[0]) =
                  SumOfElements(static_cast<const float*>(args.operands[0]), n);
            });
          },
      .cost =
          [](const OpCall& call, Cost& cost) {
            cost.vector_flops = static_cast<double>(call.operands[0].num_elements());
          }};
  return op;
}

const OpDef& SumOfRowsOp() {
  static const OpDef& op = *new OpDef{
      .name = "sum_of_rows",
      .doc =
          "x (..., C) -> (C): the sum over all but the last axis: blocks of 64 rows in order, the "
          "blocks in a pairwise tree.",
      .min_operands = 1,
      .max_operands = 1,
      .flags = {.unit = WorkUnit::kRows, .arithmetic = true},
      .refine_flags = DivideSums,
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs&) -> absl::StatusOr<std::vector<Shape>> {
        if (operands[0].rank() < 2 || operands[0].dtype != DType::kF32) {
          return absl::InvalidArgumentError(
              absl::StrCat("sum_of_rows: want f32[...,C], got ", operands[0].ToString()));
        }
        return std::vector<Shape>{Shape{DType::kF32, {operands[0].dims.back()}}};
      },
      .reference = SumOfRowsKernel<float>,
      .kernels = {{.name = "bf16_loops",
                   .any_share = true,
                   .offer = [](const OpCall& call, const Machine&) -> std::optional<KernelOffer> {
                     if (call.operands[0].dtype != DType::kBF16 ||
                         call.results[0].dtype != DType::kF32) {
                       return std::nullopt;
                     }
                     return KernelOffer{.native_bf16 = true};
                   },
                   .make = [](const OpCall& call,
                              const KernelOffer&) { return SumOfRowsKernel<uint16_t>(call); }}},
      .cost =
          [](const OpCall& call, Cost& cost) {
            cost.vector_flops = static_cast<double>(call.operands[0].num_elements());
          },
      .rules = {.sums_columns = true}};
  return op;
}

Value SumOfRows(GraphBuilder& b, Value x, const std::string& label) {
  return b.Add(SumOfRowsOp(), {x}, {}, label);
}

void Spread(const void* from, int64_t element_bytes, int64_t n, void* to) {
  const auto spread = [&](auto element) {
    std::memcpy(&element, from, sizeof(element));
    std::fill_n(static_cast<decltype(element)*>(to), n, element);
  };
  switch (element_bytes) {
    case 1:
      return spread(uint8_t{});
    case 2:
      return spread(uint16_t{});
    case 4:
      return spread(uint32_t{});
    default:
      return spread(uint64_t{});
  }
}

void SpreadRow(const void* row, int64_t element_bytes, int64_t columns, int64_t begin, int64_t n,
               void* to) {
  const auto* from = static_cast<const std::byte*>(row);
  auto* out = static_cast<std::byte*>(to);
  int64_t at = columns == 0 ? 0 : begin % columns;
  for (int64_t done = 0; done < n; at = 0) {
    const int64_t count = std::min(columns - at, n - done);
    std::memcpy(out + done * element_bytes, from + at * element_bytes, count * element_bytes);
    done += count;
  }
}

int64_t RowColumns(const OpCall& call) {
  for (const Shape& operand : call.operands) {
    if (IsRow(operand, call.results[0])) return operand.dims[0];
  }
  return 0;
}

std::unique_ptr<Kernel> TileKernel(const OpCall& call, TileFunction tile) {
  struct Info {
    int64_t bytes = 0;  // bytes of an element
    bool scalar = false, row = false;
  };
  const int count = static_cast<int>(call.operands.size());
  std::array<Info, kMaxTileOperands> operands;
  bool whole = true;
  for (int i = 0; i < count; ++i) {
    operands[i] = {.bytes = ByteSize(call.operands[i].dtype),
                   .scalar = call.operands[i].rank() == 0 && call.results[0].rank() > 0,
                   .row = IsRow(call.operands[i], call.results[0])};
    whole = whole && !operands[i].scalar && !operands[i].row;
  }
  const int64_t result_bytes = ByteSize(call.results[0].dtype);
  const int64_t elements = call.results[0].num_elements();
  const Tiles tiles(whole ? elements : kTileElements, RowColumns(call));
  return KernelOf([=](const KernelArgs& args) {
    alignas(64) std::byte spread[kMaxTileOperands][kTileElements * sizeof(int64_t)];
    std::array<const void*, kMaxTileOperands> in = {};
    const int64_t most = std::min(tiles.most(), args.end - args.begin);
    for (int i = 0; i < count; ++i) {
      in[i] = spread[i];
      if (operands[i].scalar) {
        Spread(args.operands[i], operands[i].bytes, most, spread[i]);
      } else if (operands[i].row && !tiles.within_rows()) {
        SpreadRow(args.operands[i], operands[i].bytes, tiles.columns(), args.begin, most,
                  spread[i]);
      }
    }
    for (int64_t begin = args.begin, n = 0; begin < args.end; begin += n) {
      n = tiles.Count(begin, args.end);
      for (int i = 0; i < count; ++i) {
        if (operands[i].scalar || (operands[i].row && !tiles.within_rows())) continue;
        const int64_t at = operands[i].row ? begin % tiles.columns() : begin;
        in[i] = static_cast<const std::byte*>(args.operands[i]) + at * operands[i].bytes;
      }
      tile(in.data(), static_cast<std::byte*>(args.results[0]) + begin * result_bytes, n);
    }
  });
}

Value SumToShape(GraphBuilder& b, Value dy, Value operand) {
  if (!dy.valid() || b.shape(operand).rank() == b.shape(dy).rank()) return dy;
  return b.shape(operand).rank() == 0 ? b.Add(SumOfElementsOp(), {dy}) : SumOfRows(b, dy);
}

}  // namespace tpurun
