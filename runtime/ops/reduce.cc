// Reductions over consecutive axes, which are dropped. x is treated as (outer, reduced, inner).
#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "runtime/base/clones.h"
#include "runtime/base/status.h"
#include "runtime/ir/elementwise.h"
#include "runtime/ir/export_graph.h"
#include "runtime/ir/sum_rows.h"
#include "runtime/ops/op_list.h"
#include "runtime/ops/ops.h"

namespace tpurun {
namespace {

struct ReduceDims {
  int64_t outer = 1, reduced = 1, inner = 1;
};

ReduceDims DimsOf(const Shape& x, const std::vector<int64_t>& axes) {
  ReduceDims d;
  for (int axis = 0; axis < x.rank(); ++axis) {
    (axis < axes.front() ? d.outer : axis > axes.back() ? d.inner : d.reduced) *= x.dims[axis];
  }
  return d;
}

absl::StatusOr<std::vector<Shape>> ReduceShape(const char* op, const Shape& x,
                                               const std::vector<int64_t>& axes, DType result) {
  bool run = !axes.empty() && axes.front() >= 0 && axes.back() < x.rank();
  for (size_t i = 1; run && i < axes.size(); ++i) run = axes[i] == axes[i - 1] + 1;
  if (!run || x.dtype != DType::kF32) {
    return absl::InvalidArgumentError(absl::StrCat(
        op, ": want f32 and neighbouring axes in rising order, got ", x.ToString(), " and axes ",
        DimsToString(axes), "; others take a reduction for each run of them, the last run first"));
  }
  Shape shape{result, {}};
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (axis < axes.front() || axis > axes.back()) shape.dims.push_back(x.dims[axis]);
  }
  return std::vector<Shape>{shape};
}

// Rows stay rows unless the leading axis is reduced.
void ReduceFlags(const OpCall& call, OpFlags& flags) {
  const std::vector<int64_t> axes = call.attrs.Ints("axes");
  if (axes.empty() || axes.front() > 0) return;
  flags.row_operands = 0;
  flags.unit = WorkUnit::kWhole;
}

constexpr OpFlags kSums = {
    .unit = WorkUnit::kRows, .row_operands = kAllOperands, .arithmetic = true};
constexpr OpFlags kReduces = {.unit = WorkUnit::kRows, .row_operands = kAllOperands};

// of_rows(x, rows, columns, y) for the rows that are reduced to each row of the result.
template <typename Result, typename OfRows>
std::unique_ptr<Kernel> KernelOfRows(const OpCall& call, const std::vector<int64_t>& axes,
                                     OfRows of_rows) {
  const ReduceDims d = DimsOf(call.operands[0], axes);
  const bool by_rows = axes.front() > 0;
  const int64_t units = by_rows ? call.results[0].dims[0] : 1;
  const int64_t outer_per_unit = units == 0 ? 0 : d.outer / units;
  return KernelOf([=](const KernelArgs& args) {
    const float* x = static_cast<const float*>(args.operands[0]);
    Result* const y = static_cast<Result*>(args.results[0]);
    const int64_t begin = by_rows ? args.begin * outer_per_unit : 0;
    const int64_t end = by_rows ? args.end * outer_per_unit : d.outer;
    for (int64_t o = begin; o < end; ++o)
      of_rows(x + o * d.reduced * d.inner, d.reduced, d.inner, y + o * d.inner);
  });
}

// Exports an op that has its axes as a constant input.
ExportRule TensorFlowReduction(std::string op) {
  return [op](ExportCall& call) -> absl::StatusOr<std::vector<Value>> {
    const Value axes = call.graph.Int64s(call.attrs.Ints("axes"), "axes");
    return std::vector<Value>{call.graph.Add(op, {call.inputs[0], axes},
                                             {{"T", call.type()}, {"Tidx", ElementType::kInt64}})};
  };
}

// The result of a reduction, broadcast to the elements that were reduced.
Value AlongAxes(GraphBuilder& b, Value reduced, const Node& node) {
  const std::vector<int64_t> axes = node.attrs.Ints("axes");
  const std::vector<int64_t> dims = b.shape(node.inputs[0]).dims;
  std::vector<int64_t> kept;
  for (int64_t axis = 0; axis < static_cast<int64_t>(dims.size()); ++axis) {
    if (axis < axes.front() || axis > axes.back()) kept.push_back(axis);
  }
  return Broadcast(b, reduced, dims, kept);
}

const OpDef& ReduceSumOp() {
  static const OpDef& op = *new OpDef{
      .name = "reduce_sum",
      .doc =
          "The sum over `axes` (a run of axes), in f32, in an order fixed by the shape: along the "
          "innermost axes as sum_of_elements, else blocks of 64 in order and the blocks in a "
          "pairwise tree.",
      .min_operands = 1,
      .max_operands = 1,
      .attrs = {{"axes", std::vector<int64_t>{}, true}},
      .flags = kSums,
      .refine_flags = ReduceFlags,
      .infer_shape =
          [](std::span<const Shape> operands, const Attrs& attrs) {
            return ReduceShape("reduce_sum", operands[0], attrs.Ints("axes"), DType::kF32);
          },
      .gradient =
          [](GraphBuilder& b, const Node& node, std::span<const Value> dy) {
            return std::vector<Value>{AlongAxes(b, dy[0], node)};
          },
      .reference =
          [](const OpCall& call) {
            return KernelOfRows<float>(call, call.attrs.Ints("axes"),
                                       [](const float* x, int64_t rows, int64_t columns, float* y) {
                                         if (columns == 1) {
                                           *y = SumOfElements(x, rows);
                                         } else {
                                           SumRows(x, rows, columns, 0, columns, y);
                                         }
                                       });
          },
      .cost =
          [](const OpCall& call, Cost& cost) {
            cost.vector_flops = static_cast<double>(call.operands[0].num_elements());
          },
      .tensorflow = TensorFlowReduction("Sum"),
      .onnx = [](ExportCall& call) -> absl::StatusOr<std::vector<Value>> {
        const Value axes = call.graph.Int64s(call.attrs.Ints("axes"), "axes");
        return std::vector<Value>{
            call.graph.Add("ReduceSum", {call.inputs[0], axes}, {{"keepdims", int64_t{0}}})};
      }};
  return op;
}

// Of rows of one element, as of a bias.
TPURUN_CLONES void HalfSquares(const float* x, float half, int64_t begin, int64_t end, float* y) {
#pragma GCC ivdep
  for (int64_t i = begin; i < end; ++i) y[i] = half * (x[i] * x[i]);
}

const OpDef& L2LossOfRowsOp() {
  static const OpDef& op = *new OpDef{
      .name = "l2_loss_of_rows",
      .doc =
          "x (N, ...), f32 -> (N), of each row as tf.nn.l2_loss: scale sum(x^2) / 2, summed in the "
          "order of sum_of_elements. Of a variable it is made behind the update for the next step, "
          "by who updates those rows.",
      .min_operands = 1,
      .max_operands = 1,
      .attrs = {{"scale", 1.0, true}},
      .flags = {.unit = WorkUnit::kRows, .row_operands = 1u << 0, .arithmetic = true},
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs&) -> absl::StatusOr<std::vector<Shape>> {
        if (operands[0].rank() == 0 || operands[0].dtype != DType::kF32) {
          return absl::InvalidArgumentError(
              absl::StrCat("l2_loss_of_rows: want f32[N,...], got ", operands[0].ToString()));
        }
        return std::vector<Shape>{Shape{DType::kF32, {operands[0].dims[0]}}};
      },
      .gradient =
          [](GraphBuilder& b, const Node& node, std::span<const Value> dy) {
            const Value x = node.inputs[0];
            const Value of_rows = Broadcast(b, dy[0], b.shape(x).dims, {0});
            return std::vector<Value>{
                Mul(b, x, Mul(b, of_rows, Scalar(b, node.attrs.Get<double>("scale"))))};
          },
      .reference =
          [](const OpCall& call) {
            const int64_t rows = call.results[0].dims[0];
            const int64_t size = rows == 0 ? 0 : call.operands[0].num_elements() / rows;
            const float half = static_cast<float>(call.attrs.Get<double>("scale") / 2);
            return KernelOf([size, half](const KernelArgs& args) {
              const float* x = static_cast<const float*>(args.operands[0]);
              float* y = static_cast<float*>(args.results[0]);
              if (size == 1) return HalfSquares(x, half, args.begin, args.end, y);
              for (int64_t row = args.begin; row < args.end; ++row) {
                y[row] = half * SumOfSquares(x + row * size, size);
              }
            });
          },
      .cost =
          [](const OpCall& call, Cost& cost) {
            cost.vector_flops = 2.0 * static_cast<double>(call.operands[0].num_elements());
          },
      .rules = {.loop_carried = true}};
  return op;
}

// The largest of each column of the rows; of no row, -infinity.
TPURUN_CLONES void LargestOfRows(const float* x, int64_t rows, int64_t columns, float* y) {
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  constexpr int64_t kFewColumns = 8;  // less than a vector: one after the other, in a register
  if (columns < kFewColumns) {
    for (int64_t c = 0; c < columns; ++c) {
      float largest = kNone;
      for (const float* number = x + c; number < x + rows * columns; number += columns)
        largest = *number > largest || *number != *number ? *number : largest;
      y[c] = largest;
    }
    return;
  }
  std::fill(y, y + columns, kNone);
  for (int64_t row = 0; row < rows; ++row) {
    const float* const of_row = x + row * columns;
#pragma GCC ivdep
    for (int64_t c = 0; c < columns; ++c)
      y[c] = of_row[c] > y[c] || of_row[c] != of_row[c] ? of_row[c] : y[c];
  }
}

// The first row that has the largest of each column; there is a row.
template <typename Index>
void FirstLargestOfRows(const float* x, int64_t rows, int64_t columns, Index* y) {
  for (int64_t c = 0; c < columns; ++c) {
    float largest = x[c];
    y[c] = 0;
    for (int64_t row = 1; row < rows; ++row) {
      if (!(x[row * columns + c] > largest)) continue;
      largest = x[row * columns + c];
      y[c] = static_cast<Index>(row);
    }
  }
}

const OpDef& ReduceMaxOp() {
  static const OpDef& op = *new OpDef{
      .name = "reduce_max",
      .doc =
          "The largest over `axes` (a run of axes); NaN if any is. Equal maxima "
          "share the gradient evenly, as in TensorFlow.",
      .min_operands = 1,
      .max_operands = 1,
      .attrs = {{"axes", std::vector<int64_t>{}, true}},
      .flags = kReduces,
      .refine_flags = ReduceFlags,
      .infer_shape =
          [](std::span<const Shape> operands, const Attrs& attrs) {
            return ReduceShape("reduce_max", operands[0], attrs.Ints("axes"), DType::kF32);
          },
      .gradient =
          [](GraphBuilder& b, const Node& node, std::span<const Value> dy) {
            const Value largest = AlongAxes(b, Value{node.id, 0}, node);
            const Value is_largest = Equal(b, node.inputs[0], largest);
            const Value ones = Select(b, is_largest, Scalar(b, 1), Scalar(b, 0));
            const Value share = Div(b, dy[0], ReduceSum(b, ones, node.attrs.Ints("axes")));
            return std::vector<Value>{Mul(b, ones, AlongAxes(b, share, node))};
          },
      .reference =
          [](const OpCall& call) {
            return KernelOfRows<float>(call, call.attrs.Ints("axes"), LargestOfRows);
          },
      .tensorflow = TensorFlowReduction("Max"),
      .onnx = [](ExportCall& call) -> absl::StatusOr<std::vector<Value>> {
        return std::vector<Value>{
            call.graph.Add("ReduceMax", call.inputs,
                           {{"axes", call.attrs.Ints("axes")}, {"keepdims", int64_t{0}}})};
      }};
  return op;
}

const OpDef& ArgMaxOp() {
  static const OpDef& op = *new OpDef{
      .name = "argmax",
      .doc = "The index of the largest along `axis`, the first of equals; dtype s32 or s64.",
      .min_operands = 1,
      .max_operands = 1,
      .attrs = {{"axis", int64_t{0}, true}, {"dtype", DType::kS64, true}},
      .flags = kReduces,
      .refine_flags =
          [](const OpCall& call, OpFlags& flags) {
            if (call.attrs.Int("axis") > 0) return;
            flags.row_operands = 0;
            flags.unit = WorkUnit::kWhole;
          },
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs& attrs) -> absl::StatusOr<std::vector<Shape>> {
        const DType dtype = attrs.Get<DType>("dtype");
        if (dtype != DType::kS32 && dtype != DType::kS64) {
          return absl::InvalidArgumentError("argmax: dtype is s32 or s64");
        }
        ASSIGN_OR_RETURN(std::vector<Shape> shapes,
                         ReduceShape("argmax", operands[0], {attrs.Int("axis")}, dtype));
        if (operands[0].dims[attrs.Int("axis")] == 0) {
          return absl::InvalidArgumentError(
              absl::StrCat("argmax: nothing along the axis of ", operands[0].ToString()));
        }
        return shapes;
      },
      .reference = [](const OpCall& call) -> std::unique_ptr<Kernel> {
        const std::vector<int64_t> axes = {call.attrs.Int("axis")};
        if (call.results[0].dtype == DType::kS32)
          return KernelOfRows<int32_t>(call, axes, FirstLargestOfRows<int32_t>);
        return KernelOfRows<int64_t>(call, axes, FirstLargestOfRows<int64_t>);
      },
      .tensorflow = [](ExportCall& call) -> absl::StatusOr<std::vector<Value>> {
        const Value axis = call.graph.Int64(call.attrs.Int("axis"), "dimension");
        return std::vector<Value>{
            call.graph.Add("ArgMax", {call.inputs[0], axis},
                           {{"T", call.type()},
                            {"Tidx", ElementType::kInt64},
                            {"output_type", ElementTypeOf(call.results[0].dtype)}})};
      },
      .onnx = [](ExportCall& call) -> absl::StatusOr<std::vector<Value>> {
        const Value index = call.graph.Add(
            "ArgMax", call.inputs, {{"axis", call.attrs.Int("axis")}, {"keepdims", int64_t{0}}});
        if (call.results[0].dtype == DType::kS64) return std::vector<Value>{index};
        return std::vector<Value>{call.graph.Add("Cast", {index}, {{"to", ElementType::kInt32}})};
      }};
  return op;
}

std::vector<int64_t> AxesOrAll(GraphBuilder& b, Value x, std::vector<int64_t> axes) {
  if (!axes.empty() || !x.valid()) return axes;
  for (int64_t axis = 0; axis < b.shape(x).rank(); ++axis) axes.push_back(axis);
  return axes;
}

// Adds one reduction for each run of adjacent axes. The last run comes first, so the numbers of the
// axes before it stay the same.
Value Reduced(GraphBuilder& b, const OpDef& op, Value x, std::vector<int64_t> axes,
              const std::string& label) {
  axes = AxesOrAll(b, x, std::move(axes));
  std::sort(axes.begin(), axes.end());
  while (!axes.empty()) {
    auto run = axes.end() - 1;
    while (run != axes.begin() && *(run - 1) + 1 == *run) --run;
    x = b.Add(op, {x}, {{"axes", std::vector<int64_t>(run, axes.end())}}, label);
    axes.erase(run, axes.end());
  }
  return x;
}

}  // namespace

std::vector<const OpDef*> ReduceOps() {
  return {&ReduceSumOp(), &L2LossOfRowsOp(), &ReduceMaxOp(), &ArgMaxOp()};
}

Value ReduceSum(GraphBuilder& b, Value x, std::vector<int64_t> axes, const std::string& label) {
  return Reduced(b, ReduceSumOp(), x, std::move(axes), label);
}

Value ReduceMean(GraphBuilder& b, Value x, std::vector<int64_t> axes, const std::string& label) {
  const Value sum = ReduceSum(b, x, std::move(axes), label);
  if (!sum.valid()) return sum;
  const int64_t kept = b.shape(sum).num_elements();
  const int64_t count = kept == 0 ? 1 : b.shape(x).num_elements() / kept;
  return Div(b, sum, Scalar(b, static_cast<double>(count)), label);
}

Value L2LossOfRows(GraphBuilder& b, Value x, double scale, const std::string& label) {
  return b.Add(L2LossOfRowsOp(), {x}, {{"scale", scale}}, label);
}

Value ReduceMax(GraphBuilder& b, Value x, std::vector<int64_t> axes, const std::string& label) {
  return Reduced(b, ReduceMaxOp(), x, std::move(axes), label);
}

Value ArgMax(GraphBuilder& b, Value x, int64_t axis, DType dtype) {
  return b.Add(ArgMaxOp(), {x}, {{"axis", axis}, {"dtype", dtype}}, "ArgMax");
}

}  // namespace tpurun
