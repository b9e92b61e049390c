// Softmax and its cross-entropy over the last axis.
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ir/export_graph.h"
#include "runtime/ops/op_list.h"
#include "runtime/ops/ops.h"

namespace tpurun {
namespace {

float RowMax(const float* x, int64_t n) {
  float max = x[0];
  for (int64_t c = 1; c < n; ++c) max = x[c] > max ? x[c] : max;
  return max;
}

const OpDef& SoftmaxOp() {
  static const OpDef& op = *new OpDef{
      .name = "softmax",
      .doc =
          "y[c] = exp(x[c] - max x) / sum of exp(x - max x) over the last axis, summed in order.",
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
      // dx = y * (dy - sum(dy * y))
      .gradient =
          [](GraphBuilder& b, const Node& node, std::span<const Value> dy) {
            const Value y{node.id, 0};
            const std::vector<int64_t> dims = node.shapes[0].dims;
            const int64_t last = static_cast<int64_t>(dims.size()) - 1;
            std::vector<int64_t> kept;
            for (int64_t axis = 0; axis < last; ++axis) kept.push_back(axis);
            const Value sum = Broadcast(b, ReduceSum(b, Mul(b, dy[0], y), {last}), dims, kept);
            return std::vector<Value>{Mul(b, y, Sub(b, dy[0], sum))};
          },
      .reference =
          [](const OpCall& call) {
            const int64_t classes = call.results[0].dims.back();
            const int64_t row_elements = call.results[0].row_elements();
            return KernelOf([=](const KernelArgs& args) {
              const float* x = static_cast<const float*>(args.operands[0]);
              float* y = static_cast<float*>(args.results[0]);
              for (int64_t i = args.begin * row_elements; i < args.end * row_elements;
                   i += classes) {
                const float max = RowMax(x + i, classes);
                float sum = 0;
                for (int64_t c = 0; c < classes; ++c) sum += y[i + c] = std::exp(x[i + c] - max);
                for (int64_t c = 0; c < classes; ++c) y[i + c] /= sum;
              }
            });
          },
      .flops = [](const OpCall& call) { return 5.0 * call.results[0].num_elements(); },
      .tensorflow = TensorFlowOp("Softmax"),
      .onnx = OnnxOp("Softmax")};
  return op;
}

// Of a loss whose result 1 is its gradient by the logits, operand 0; none flows to the labels.
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
          "the gradient of the loss. Both are NaN in a row whose label is outside [0, C).",
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
              const float* logits = static_cast<const float*>(args.operands[0]);
              float* loss = static_cast<float*>(args.results[0]);
              float* backprop = static_cast<float*>(args.results[1]);
              for (int64_t row = args.begin; row < args.end; ++row) {
                const float* x = logits + row * classes;
                const int64_t label = wide ? static_cast<const int64_t*>(args.operands[1])[row]
                                           : static_cast<const int32_t*>(args.operands[1])[row];
                const bool valid = label >= 0 && label < classes;
                const float max = RowMax(x, classes);
                float sum = 0;
                for (int64_t c = 0; c < classes; ++c) sum += std::exp(x[c] - max);
                const float nan = std::numeric_limits<float>::quiet_NaN();
                if (loss != nullptr) loss[row] = valid ? std::log(sum) - (x[label] - max) : nan;
                if (backprop == nullptr) continue;
                for (int64_t c = 0; c < classes; ++c) {
                  backprop[row * classes + c] =
                      valid ? std::exp(x[c] - max) / sum - (c == label ? 1.0f : 0.0f) : nan;
                }
              }
            });
          },
      .flops = [](const OpCall& call) { return 7.0 * call.operands[0].num_elements(); }};
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
              float* loss = static_cast<float*>(args.results[0]);
              float* backprop = static_cast<float*>(args.results[1]);
              for (int64_t row = args.begin; row < args.end; ++row) {
                const float* x = static_cast<const float*>(args.operands[0]) + row * classes;
                const float* y = static_cast<const float*>(args.operands[1]) + row * classes;
                const float max = RowMax(x, classes);
                float sum = 0;
                for (int64_t c = 0; c < classes; ++c) sum += std::exp(x[c] - max);
                const float log_sum = std::log(sum);
                float total = 0;
                for (int64_t c = 0; c < classes; ++c) total += y[c] * (log_sum - (x[c] - max));
                if (loss != nullptr) loss[row] = total;
                if (backprop == nullptr) continue;
                for (int64_t c = 0; c < classes; ++c) {
                  backprop[row * classes + c] = std::exp(x[c] - max) / sum - y[c];
                }
              }
            });
          },
      .flops = [](const OpCall& call) { return 9.0 * call.operands[0].num_elements(); }};
  return op;
}

}  // namespace

std::vector<const OpDef*> SoftmaxOps() {
  return {&SoftmaxOp(), &SparseSoftmaxCrossEntropyOp(), &SoftmaxCrossEntropyOp()};
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
