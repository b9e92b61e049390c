// Average pooling over NHWC values. Padding never counts.
#include <algorithm>
#include <span>

#include "absl/strings/str_cat.h"
#include "runtime/base/clones.h"
#include "runtime/base/status.h"
#include "runtime/ir/tpu_stages.h"
#include "runtime/ops/op_list.h"
#include "runtime/ops/ops.h"
#include "runtime/ops/pool_windows.h"

namespace tpurun {
namespace {

// One image.
TPURUN_CLONES void Average(const PoolDims& d, const float* x, float* y) {
  for (int64_t oh = 0; oh < d.oh; ++oh) {
    for (int64_t ow = 0; ow < d.ow; ++ow, y += d.c) {
      const ClippedWindow window = WindowAt(d, oh, ow);
      std::fill(y, y + d.c, 0.0f);
      for (int64_t h = window.h0; h < window.h1; ++h) {
        const float* from = x + (h * d.w + window.w0) * d.c;
        int64_t left = window.w1 - window.w0;
        // Three at a time: a sum that was just written is read a third as often.
        for (; left >= 3; left -= 3, from += 3 * d.c) {
#pragma GCC ivdep
          for (int64_t c = 0; c < d.c; ++c)
            y[c] = y[c] + from[c] + from[d.c + c] + from[2 * d.c + c];
        }
        for (; left > 0; --left, from += d.c) {
#pragma GCC ivdep
          for (int64_t c = 0; c < d.c; ++c) y[c] += from[c];
        }
      }
      const float count = static_cast<float>(window.elements());
#pragma GCC ivdep
      for (int64_t c = 0; c < d.c; ++c) y[c] /= count;
    }
  }
}

// One image. Adds to dx.
TPURUN_CLONES void AddShares(const PoolDims& d, const float* dy, float* dx) {
  constexpr int64_t kChannels = 64;  // at a time
  float shares[kChannels];
  for (int64_t oh = 0; oh < d.oh; ++oh) {
    for (int64_t ow = 0; ow < d.ow; ++ow, dy += d.c) {
      const ClippedWindow window = WindowAt(d, oh, ow);
      const float count = static_cast<float>(window.elements());
      for (int64_t first = 0; first < d.c; first += kChannels) {
        const int64_t channels = std::min(kChannels, d.c - first);
        for (int64_t c = 0; c < channels; ++c) shares[c] = dy[first + c] / count;
        for (int64_t h = window.h0; h < window.h1; ++h) {
          for (int64_t w = window.w0; w < window.w1; ++w) {
            float* const to = dx + (h * d.w + w) * d.c + first;
#pragma GCC ivdep
            for (int64_t c = 0; c < channels; ++c) to[c] += shares[c];
          }
        }
      }
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
              for (int64_t n = args.begin; n < args.end; ++n) {
                float* const image = dx + n * d.x_elements();
                std::fill_n(image, d.x_elements(), 0.0f);
                AddShares(d, dy + n * d.y_elements(), image);
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
              for (int64_t n = args.begin; n < args.end; ++n)
                Average(d, x + n * d.x_elements(), y + n * d.y_elements());
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
