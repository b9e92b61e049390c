// Softmax and softmax cross-entropy over the last axis.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "runtime/base/clones.h"
#include "runtime/base/status.h"
#include "runtime/ir/elementwise.h"
#include "runtime/ir/export_graph.h"
#include "runtime/ir/tpu_stages.h"
#include "runtime/ops/gate_functions.h"
#include "runtime/ops/op_list.h"
#include "runtime/ops/ops.h"
#include "runtime/ops/rows.h"

namespace tpurun {
namespace {

TPURUN_CLONES void DivideBy(float sum, int64_t n, float* y) {
  for (int64_t c = 0; c < n; ++c) y[c] /= sum;
}

// dx[c] = y[c] (dy[c] - sum). dx may be in the memory of neither dy nor y.
TPURUN_CLONES void WeighedDistances(const float* dy, const float* y, float sum, int64_t n,
                                    float* dx) {
#pragma GCC ivdep
  for (int64_t c = 0; c < n; ++c) dx[c] = y[c] * (dy[c] - sum);
}

// The sums along the last dimension, broadcast to each of its entries.
Value SumsOfRows(GraphBuilder& b, Value x) {
  const std::vector<int64_t> dims = b.shape(x).dims;
  return AlongRows(b, ReduceSum(b, x, {std::ssize(dims) - 1}), dims);
}

const OpDef& SoftmaxGradOp() {
  static const OpDef& op = *new OpDef{
      .name = "softmax_grad",
      .doc =
          "dx = y (dy - sum of dy y over the last axis) of (dy, y): what a softmax that gave y "
          "passes back; the sum is that of sum_of_elements.",
      .min_operands = 2,
      .max_operands = 2,
      .flags = {.unit = WorkUnit::kRows, .row_operands = kAllOperands, .arithmetic = true},
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs&) -> absl::StatusOr<std::vector<Shape>> {
        if (operands[0].rank() < 2 || operands[0].dtype != DType::kF32 ||
            !(operands[0] == operands[1])) {
          return absl::InvalidArgumentError(
              absl::StrCat("softmax_grad: want dy f32[N,...,C] and y of that shape, got ",
                           operands[0].ToString(), " and ", operands[1].ToString()));
        }
        return std::vector<Shape>{Shape{DType::kF32, operands[0].dims}};
      },
      // With g the gradient of dx, the gradient of dy is y (g - sum(g y)), and the gradient of y is
      // g (dy - sum(dy y)) - dy sum(g y).
      .gradient =
          [](GraphBuilder& b, const Node& node, std::span<const Value> g) {
            const Value dy = node.inputs[0], y = node.inputs[1];
            const Value of_dy = b.Add(SoftmaxGradOp(), {g[0], y}, {}, "SoftmaxGrad");
            const Value distances = Sub(b, dy, SumsOfRows(b, Mul(b, dy, y)));
            const Value sums = SumsOfRows(b, Mul(b, g[0], y));
            return std::vector<Value>{of_dy, Sub(b, Mul(b, g[0], distances), Mul(b, dy, sums))};
          },
      .reference =
          [](const OpCall& call) {
            return KernelOf([shape = call.results[0]](const KernelArgs& args) {
              const float* dy = static_cast<const float*>(args.operands[0]);
              const float* y = static_cast<const float*>(args.operands[1]);
              float* dx = static_cast<float*>(args.results[0]);
              const int64_t n = shape.dims.back();
              ForEachRow(shape, args, [&](int64_t i) {
                MultiplyArrays(dy + i, y + i, n, dx + i);
                WeighedDistances(dy + i, y + i, SumOfElements(dx + i, n), n, dx + i);
              });
            });
          },
      .cost =
          [](const OpCall& call, Cost& cost) {
            cost.vector_flops = 4.0 * static_cast<double>(call.results[0].num_elements());
          },
      .tpu = ReducedRows<1>};
  return op;
}

const OpDef& SoftmaxOp() {
  static const OpDef& op = *new OpDef{
      .name = "softmax",
      .doc =
          "y[c] = exp(x[c] - max x) / sum of exp(x - max x) over the last axis, summed as "
          "sum_of_elements; exp within 2 units in the last place, 0 below -87.",
      .min_operands = 1,
      .max_operands = 1,
      .flags = {.unit = WorkUnit::kRows, .row_operands = kAllOperands},
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs&) -> absl::StatusOr<std::vector<Shape>> {
        const Shape& x = operands[0];
        if (x.rank() < 2 || x.dtype != DType::kF32 || x.dims.back() == 0) {
          return absl::InvalidArgumentError(
              absl::StrCat("softmax: want f32[N,...,C], got ", x.ToString()));
        }
        return std::vector<Shape>{Shape{DType::kF32, x.dims}};
      },
      .gradient =
          [](GraphBuilder& b, const Node& node, std::span<const Value> dy) {
            return std::vector<Value>{
                b.Add(SoftmaxGradOp(), {dy[0], Value{node.id, 0}}, {}, "SoftmaxGrad")};
          },
      .reference =
          [](const OpCall& call) {
            return KernelOf([shape = call.results[0]](const KernelArgs& args) {
              const float* x = static_cast<const float*>(args.operands[0]);
              float* y = static_cast<float*>(args.results[0]);
              const int64_t classes = shape.dims.back();
              ForEachRow(shape, args, [&](int64_t i) {
                ExpBelow(x + i, RowMax(x + i, classes), classes, y + i);
                DivideBy(SumOfElements(y + i, classes), classes, y + i);
              });
            });
          },
      .cost =
          [](const OpCall& call, Cost& cost) {
            const double elements = static_cast<double>(call.results[0].num_elements());
            cost.vector_flops = 4.0 * elements;
            cost.transcendentals = elements;
          },
      .tpu = ReducedRows<2>,
      .tensorflow = TensorFlowOp("Softmax"),
      .onnx = OnnxOp("Softmax")};
  return op;
}

TPURUN_CLONES void DistancesFrom(float max, const float* x, int64_t n, float* distances) {
  for (int64_t c = 0; c < n; ++c) distances[c] = x[c] - max;
}

// A row of logits x, its maximum, and the sum of its powers exp(x - max) in order.
struct LogitRow {
  const float* x = nullptr;
  float* powers = nullptr;  // in the memory of backprop; nullptr if nobody reads it
  float max = 0, sum = 0;
};

// Calls f(row, LogitRow) for each row of a call with (logits, ...) and results (loss, backprop).
// The powers of a block of rows are computed together, so that few classes fill vectors.
template <typename F>
void ForEachLogitRow(const KernelArgs& args, int64_t classes, const F& f) {
  constexpr int64_t kMostRows = 64, kElements = 4096;  // 16 KB stay in an L1 cache
  const int64_t most = std::clamp<int64_t>(kElements / classes, 1, kMostRows);
  const auto* const logits = static_cast<const float*>(args.operands[0]);
  auto* const backprop = static_cast<float*>(args.results[1]);
  std::array<LogitRow, kMostRows> rows;
  for (int64_t begin = args.begin; begin < args.end; begin += most) {
    const int64_t count = std::min(most, args.end - begin);
    for (int64_t i = 0; i < count; ++i) {
      const float* const x = logits + (begin + i) * classes;
      LogitRow& row = rows[i] = {.x = x, .max = RowMax(x, classes)};
      if (backprop == nullptr) {
        row.sum = SumOfExpBelow(x, row.max, classes);
      } else {
        row.powers = backprop + (begin + i) * classes;
        DistancesFrom(row.max, x, classes, row.powers);
      }
    }
    if (backprop != nullptr) ExpBelow(rows[0].powers, 0, count * classes, rows[0].powers);
    for (int64_t i = 0; i < count; ++i) {
      LogitRow& row = rows[i];
      if (backprop != nullptr) row.sum = std::accumulate(row.powers, row.powers + classes, 0.0f);
      f(begin + i, row);
    }
  }
}

// The gradient of a loss whose result 1 is its gradient with respect to the logits, operand 0. The
// labels get no gradient.
std::vector<Value> BackpropGradient(GraphBuilder& b, const Node& node, std::span<const Value> dy) {
  const std::vector<int64_t> dims = node.shapes[1].dims;
  if (!dy[0].valid()) return {Value{}, Value{}};
  return {Mul(b, Broadcast(b, dy[0], dims, {0}), Value{node.id, 1}), Value{}};
}

const OpDef& SparseSoftmaxCrossEntropyOp() {
  static const OpDef& op = *new OpDef{
      .name = "sparse_softmax_cross_entropy",
      .doc =
          "logits (N, C) f32, labels (N) s32 or s64 -> loss (N) and backprop (N, C). loss = "
          "log(sum(exp(x - max x))) - (x[label] - max x); backprop = softmax(x) - onehot(label), "
          "the gradient of the loss. exp is softmax's, summed in order. Both are NaN where the "
          "label is outside [0, C).",
      .min_operands = 2,
      .max_operands = 2,
      .flags = {.unit = WorkUnit::kRows, .row_operands = kAllOperands, .class_ids = 1u << 1},
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs&) -> absl::StatusOr<std::vector<Shape>> {
        const Shape &x = operands[0], &labels = operands[1];
        if (x.rank() != 2 || x.dtype != DType::kF32 || x.dims[1] == 0 || labels.rank() != 1 ||
            labels.dims[0] != x.dims[0] ||
            (labels.dtype != DType::kS32 && labels.dtype != DType::kS64)) {
          return absl::InvalidArgumentError(
              absl::StrCat("sparse_softmax_cross_entropy: want f32[N,C] and s32[N] or s64[N], got ",
                           x.ToString(), " and ", labels.ToString()));
        }
        return std::vector<Shape>{Shape{DType::kF32, {x.dims[0]}}, Shape{DType::kF32, x.dims}};
      },
      .gradient = BackpropGradient,
      .reference =
          [](const OpCall& call) {
            const int64_t classes = call.operands[0].dims[1];
            const bool wide = call.operands[1].dtype == DType::kS64;
            return KernelOf([=](const KernelArgs& args) {
              float* const losses = static_cast<float*>(args.results[0]);
              ForEachLogitRow(args, classes, [&](int64_t row, const LogitRow& of) {
                const int64_t label = wide ? static_cast<const int64_t*>(args.operands[1])[row]
                                           : static_cast<const int32_t*>(args.operands[1])[row];
                const bool valid = label >= 0 && label < classes;
                const float nan = std::numeric_limits<float>::quiet_NaN();
                if (losses != nullptr)
                  losses[row] = valid ? std::log(of.sum) - (of.x[label] - of.max) : nan;
                if (of.powers == nullptr) return;
                if (valid) {
                  DivideBy(of.sum, classes, of.powers);
                  of.powers[label] -= 1.0f;
                } else {
                  std::fill_n(of.powers, classes, nan);
                }
              });
            });
          },
      .cost =
          [](const OpCall& call, Cost& cost) {
            const double elements = static_cast<double>(call.operands[0].num_elements());
            cost.vector_flops = 6.0 * elements;
            cost.transcendentals = elements;
          },
      .tpu = ReducedRows<2>};
  return op;
}

const OpDef& SoftmaxCrossEntropyOp() {
  static const OpDef& op = *new OpDef{
      .name = "softmax_cross_entropy",
      .doc =
          "logits x (N, C) f32, labels y (N, C) f32 -> loss (N) and backprop (N, C). loss = sum of "
          "y "
          "* (log(sum(exp(x - max x))) - (x - max x)) in order; backprop = softmax(x) - y, the "
          "gradient of the loss where y sums to 1. None flows to the labels.",
      .min_operands = 2,
      .max_operands = 2,
      .flags = {.unit = WorkUnit::kRows, .row_operands = kAllOperands},
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs&) -> absl::StatusOr<std::vector<Shape>> {
        const Shape &x = operands[0], &y = operands[1];
        if (x.rank() != 2 || x.dtype != DType::kF32 || x.dims[1] == 0 || !(y == x)) {
          return absl::InvalidArgumentError(
              absl::StrCat("softmax_cross_entropy: want f32[N,C] and labels of that shape, got ",
                           x.ToString(), " and ", y.ToString()));
        }
        return std::vector<Shape>{Shape{DType::kF32, {x.dims[0]}}, Shape{DType::kF32, x.dims}};
      },
      .gradient = BackpropGradient,
      .reference =
          [](const OpCall& call) {
            const int64_t classes = call.operands[0].dims[1];
            return KernelOf([=](const KernelArgs& args) {
              float* const losses = static_cast<float*>(args.results[0]);
              ForEachLogitRow(args, classes, [&](int64_t row, const LogitRow& of) {
                const float* y = static_cast<const float*>(args.operands[1]) + row * classes;
                const float log_sum = std::log(of.sum);
                float loss = 0;
                for (int64_t c = 0; c < classes; ++c) loss += y[c] * (log_sum - (of.x[c] - of.max));
                if (losses != nullptr) losses[row] = loss;
                if (of.powers == nullptr) return;
                for (int64_t c = 0; c < classes; ++c) of.powers[c] = of.powers[c] / of.sum - y[c];
              });
            });
          },
      .cost =
          [](const OpCall& call, Cost& cost) {
            const double elements = static_cast<double>(call.operands[0].num_elements());
            cost.vector_flops = 8.0 * elements;
            cost.transcendentals = elements;
          },
      .tpu = ReducedRows<2>};
  return op;
}

}  // namespace

std::vector<const OpDef*> SoftmaxOps() {
  return {&SoftmaxOp(), &SoftmaxGradOp(), &SparseSoftmaxCrossEntropyOp(), &SoftmaxCrossEntropyOp()};
}

Value Softmax(GraphBuilder& b, Value logits, const std::string& label) {
  return b.Add(SoftmaxOp(), {logits}, {}, label);
}

Value SoftmaxCrossEntropy(GraphBuilder& b, Value logits, Value labels, const std::string& label) {
  return b.Add(SoftmaxCrossEntropyOp(), {logits, labels}, {}, label);
}

Value SparseSoftmaxCrossEntropy(GraphBuilder& b, Value logits, Value labels,
                                const std::string& label) {
  return b.Add(SparseSoftmaxCrossEntropyOp(), {logits, labels}, {}, label);
}

}  // namespace tpurun
