// Average pooling over NHWC values. Padding never counts.
#include <algorithm>
#include <span>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ir/tpu_stages.h"
#include "runtime/ops/op_list.h"
#include "runtime/ops/ops.h"
#include "runtime/ops/pool_windows.h"

namespace tpurun {
namespace {

// Calls f(y offset, window) for each window of image n. Offsets are for channel 0, in elements.
template <typename F>
void ForEachWindow(const PoolDims& d, int64_t n, F f) {
  for (int64_t oh = 0; oh < d.oh; ++oh) {
    for (int64_t ow = 0; ow < d.ow; ++ow) {
      f(((n * d.oh + oh) * d.ow + ow) * d.c, WindowAt(d, oh, ow));
    }
  }
}

const OpDef& AvgPoolOp();

const OpDef& AvgPoolGradOp() {
  static const OpDef& op = *new OpDef{
      .name = "avg_pool_grad",
      .doc =
          "dy (N, OH, OW, C) -> dx of `x_dims`: dy of each window in equal shares to its elements.",
      .min_operands = 1,
      .max_operands = 1,
      .attrs = PoolGradAttrs(),
      .flags = {.unit = WorkUnit::kRows, .row_operands = kAllOperands},
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs& attrs) -> absl::StatusOr<std::vector<Shape>> {
        ASSIGN_OR_RETURN(const Shape y, PooledShape("avg_pool_grad", operands[0].dtype,
                                                    attrs.Ints("x_dims"), attrs));
        if (!(operands[0] == y)) {
          return absl::InvalidArgumentError(absl::StrCat("avg_pool_grad: want dy ", y.ToString(),
                                                         ", got ", operands[0].ToString()));
        }
        return std::vector<Shape>{Shape{DType::kF32, attrs.Ints("x_dims")}};
      },
      .gradient =
          [](GraphBuilder& b, const Node& node, std::span<const Value> ddx) {
            return std::vector<Value>{AvgPool(b, ddx[0], node.attrs.Ints("window"),
                                              node.attrs.Ints("strides"), node.attrs.Ints("pads"))};
          },
      .reference =
          [](const OpCall& call) {
            const PoolDims d(call.results[0].dims, call.operands[0].dims, call.attrs);
            return KernelOf([d](const KernelArgs& args) {
              const float* dy = static_cast<const float*>(args.operands[0]);
              float* dx = static_cast<float*>(args.results[0]);
              const int64_t image = d.x_elements();
              std::fill(dx + args.begin * image, dx + args.end * image, 0.0f);
              for (int64_t n = args.begin; n < args.end; ++n) {
                ForEachWindow(d, n, [&](int64_t at, const ClippedWindow& window) {
                  const float count = static_cast<float>(window.elements());
                  for (int64_t h = window.h0; h < window.h1; ++h) {
                    for (int64_t w = window.w0; w < window.w1; ++w) {
                      float* to = dx + ((n * d.h + h) * d.w + w) * d.c;
                      for (int64_t c = 0; c < d.c; ++c) to[c] += dy[at + c] / count;
                    }
                  }
                });
              }
            });
          },
      .tpu = OneTpuStage<TpuStage::Kind::kAlone>};
  return op;
}

const OpDef& AvgPoolOp() {
  static const OpDef& op = *new OpDef{
      .name = "avg_pool",
      .doc =
          "x (N, H, W, C) -> y (N, OH, OW, C): the mean of the elements of each window that lie "
          "in x.",
      .min_operands = 1,
      .max_operands = 1,
      .attrs = PoolAttrs(),
      .flags = {.unit = WorkUnit::kRows, .row_operands = kAllOperands},
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs& attrs) -> absl::StatusOr<std::vector<Shape>> {
        ASSIGN_OR_RETURN(Shape y,
                         PooledShape("avg_pool", operands[0].dtype, operands[0].dims, attrs));
        return std::vector<Shape>{y};
      },
      .gradient =
          [](GraphBuilder& b, const Node& node, std::span<const Value> dy) {
            return std::vector<Value>{
                b.Add(AvgPoolGradOp(), {dy[0]}, PoolGradAttrsOf(b, node), "AvgPoolGrad")};
          },
      .reference =
          [](const OpCall& call) {
            const PoolDims d(call.operands[0].dims, call.results[0].dims, call.attrs);
            return KernelOf([d](const KernelArgs& args) {
              const float* x = static_cast<const float*>(args.operands[0]);
              float* y = static_cast<float*>(args.results[0]);
              for (int64_t n = args.begin; n < args.end; ++n) {
                ForEachWindow(d, n, [&](int64_t at, const ClippedWindow& window) {
                  std::fill(y + at, y + at + d.c, 0.0f);
                  for (int64_t h = window.h0; h < window.h1; ++h) {
                    for (int64_t w = window.w0; w < window.w1; ++w) {
                      const float* from = x + ((n * d.h + h) * d.w + w) * d.c;
                      for (int64_t c = 0; c < d.c; ++c) y[at + c] += from[c];
                    }
                  }
                  const float count = static_cast<float>(window.elements());
                  for (int64_t c = 0; c < d.c; ++c) y[at + c] /= count;
                });
              }
            });
          },
      .cost =
          [](const OpCall& call, Cost& cost) {
            cost.vector_flops =
                static_cast<double>(call.results[0].num_elements() * WindowElements(call.attrs));
          },
      .tpu = OneTpuStage<TpuStage::Kind::kReduce>,
      .tensorflow = TensorFlowPool("AvgPool"),
      .onnx = OnnxPool("AveragePool")};
  return op;
}

}  // namespace

std::vector<const OpDef*> AvgPoolOps() { return {&AvgPoolOp(), &AvgPoolGradOp()}; }

Value AvgPool(GraphBuilder& b, Value x, std::vector<int64_t> window, std::vector<int64_t> strides,
              std::vector<int64_t> pads, const std::string& label) {
  return b.Add(AvgPoolOp(), {x},
               PoolAttrsOf(std::move(window), std::move(strides), std::move(pads)), label);
}

}  // namespace tpurun
