// Max and average pooling over NHWC values. Padding never counts.
#include "runtime/ops/pooling.h"

#include <algorithm>
#include <limits>
#include <span>

#include "absl/strings/str_cat.h"
#include "runtime/base/bfloat16.h"
#include "runtime/base/clones.h"
#include "runtime/base/status.h"
#include "runtime/ops/export_window.h"
#include "runtime/ops/op_list.h"
#include "runtime/ops/ops.h"
#include "runtime/ops/relu.h"

namespace tpurun {
namespace {

struct PoolDims {
  int64_t h, w, c;    // x
  int64_t oh, ow;     // y
  int64_t ph, pw;     // window
  int64_t sh, sw;     // strides
  int64_t top, left;  // pads
};

PoolDims MakeDims(const std::vector<int64_t>& x, const std::vector<int64_t>& y,
                  const Attrs& attrs) {
  const std::vector<int64_t> window = attrs.Ints("window"), strides = attrs.Ints("strides"),
                             pads = attrs.Ints("pads");
  return {x[1],      x[2],       x[3],       y[1],    y[2],   window[0],
          window[1], strides[0], strides[1], pads[0], pads[2]};
}

int64_t WindowElements(const OpCall& call) {
  const std::vector<int64_t> window = call.attrs.Ints("window");
  return window[0] * window[1];
}

absl::StatusOr<Shape> PooledShape(const char* op, DType dtype, const std::vector<int64_t>& x,
                                  const Attrs& attrs) {
  const std::vector<int64_t> window = attrs.Ints("window"), strides = attrs.Ints("strides"),
                             pads = attrs.Ints("pads");
  bool good = IsFloat(dtype) && x.size() == 4 && window.size() == 2 && strides.size() == 2 &&
              pads.size() == 4;
  for (size_t i = 0; good && i < 2; ++i) {
    // A pad as wide as the window would leave windows of nothing but padding.
    good = window[i] >= 1 && strides[i] >= 1 && pads[2 * i] >= 0 && pads[2 * i + 1] >= 0 &&
           pads[2 * i] < window[i] && pads[2 * i + 1] < window[i] &&
           x[i + 1] + pads[2 * i] + pads[2 * i + 1] >= window[i];
  }
  if (!good) {
    return absl::InvalidArgumentError(absl::StrCat(
        op, ": a window of ", DimsToString(window), ", strides ", DimsToString(strides), ", pads ",
        DimsToString(pads), " does not fit f32[N,H,W,C], got ", DimsToString(x)));
  }
  if (window[0] > std::numeric_limits<int32_t>::max() / window[1]) {
    return absl::InvalidArgumentError(
        absl::StrCat(op, ": a window of ", DimsToString(window), " has 2^31 elements or more"));
  }
  return Shape{dtype,
               {x[0], (x[1] + pads[0] + pads[1] - window[0]) / strides[0] + 1,
                (x[2] + pads[2] + pads[3] - window[1]) / strides[1] + 1, x[3]}};
}

const std::vector<AttrDef>& PoolAttrs() {
  static const std::vector<AttrDef>& attrs =
      *new std::vector<AttrDef>{{"window", std::vector<int64_t>{}, true},
                                {"strides", std::vector<int64_t>{}, true},
                                {"pads", std::vector<int64_t>{}, true}};
  return attrs;
}

// Calls f(y offset, first and last row, first and last column of x) for each window of image n,
// clipped to x; offsets are those of channel 0.
template <typename F>
void ForEachWindow(const PoolDims& d, int64_t n, F f) {
  for (int64_t oh = 0; oh < d.oh; ++oh) {
    const int64_t h = oh * d.sh - d.top;
    for (int64_t ow = 0; ow < d.ow; ++ow) {
      const int64_t w = ow * d.sw - d.left;
      f(((n * d.oh + oh) * d.ow + ow) * d.c, std::max<int64_t>(h, 0), std::min(h + d.ph, d.h),
        std::max<int64_t>(w, 0), std::min(w + d.pw, d.w));
    }
  }
}

// Channels at a time: what a loop keeps in registers.
constexpr int64_t kChannels = 32;

inline float Widen(float v) { return v; }
inline float Widen(uint16_t v) { return FromBFloat16Bits(v); }

// The dtype of the positions in a window: its size decides.
DType IndexType(const Attrs& attrs) {
  const std::vector<int64_t> window = attrs.Ints("window");
  return window[0] * window[1] <= 256 ? DType::kU8 : DType::kS32;
}

bool SameWindows(const Attrs& a, const Attrs& b) {
  return a.Ints("window") == b.Ints("window") && a.Ints("strides") == b.Ints("strides") &&
         a.Ints("pads") == b.Ints("pads");
}

// No element of x lies in two windows.
bool Apart(const Attrs& attrs) {
  const std::vector<int64_t> window = attrs.Ints("window"), strides = attrs.Ints("strides");
  return strides[0] >= window[0] && strides[1] >= window[1];
}

// A window on x, clipped to it: rows [h0, h1) and columns [w0, w1). `first` is the number that its
// first element has in the whole window, whose rows are d.pw long.
struct Clipped {
  int64_t h0, h1, w0, w1;
  int32_t first;
};

Clipped Clip(const PoolDims& d, int64_t oh, int64_t ow) {
  const int64_t h = oh * d.sh - d.top, w = ow * d.sw - d.left;
  const int64_t h0 = std::max<int64_t>(h, 0), w0 = std::max<int64_t>(w, 0);
  return {h0, std::min(h + d.ph, d.h), w0, std::min(w + d.pw, d.w),
          static_cast<int32_t>((h0 - h) * d.pw + w0 - w)};
}

// The number that the element at (h, w) of x has in the whole window.
inline int32_t NumberIn(const PoolDims& d, const Clipped& window, int64_t h, int64_t w) {
  return window.first + static_cast<int32_t>((h - window.h0) * d.pw + w - window.w0);
}

// The largest element of a window for `channels` channels, and which it is. `x` starts at the first
// of the channels of its image.
template <typename T, typename I>
[[gnu::always_inline]] inline void LargestOf(const PoolDims& d, const Clipped& window, const T* x,
                                             int64_t channels, T* y, I* index) {
  T largest[kChannels];
  int32_t at[kChannels];
  const T* first = x + (window.h0 * d.w + window.w0) * d.c;
  for (int64_t c = 0; c < channels; ++c) {
    largest[c] = first[c];
    at[c] = window.first;
  }
  for (int64_t h = window.h0; h < window.h1; ++h) {
    for (int64_t w = window.w0; w < window.w1; ++w) {
      const T* tap = x + (h * d.w + w) * d.c;
      const int32_t number = NumberIn(d, window, h, w);
      for (int64_t c = 0; c < channels; ++c) {
        const float v = Widen(tap[c]);
        const bool larger = v > Widen(largest[c]) || v != v;
        largest[c] = larger ? tap[c] : largest[c];
        at[c] = larger ? number : at[c];
      }
    }
  }
  for (int64_t c = 0; c < channels; ++c) y[c] = largest[c];
  if (index == nullptr) return;
  for (int64_t c = 0; c < channels; ++c) index[c] = static_cast<I>(at[c]);
}

// One image of max_pool.
template <typename T, typename I>
[[gnu::always_inline]] inline void MaxPoolImage(const PoolDims& d, const T* x, T* y, I* index) {
  for (int64_t oh = 0; oh < d.oh; ++oh) {
    for (int64_t ow = 0; ow < d.ow; ++ow) {
      const Clipped window = Clip(d, oh, ow);
      const int64_t at = (oh * d.ow + ow) * d.c;
      for (int64_t c = 0; c < d.c; c += kChannels) {
        I* to = index == nullptr ? nullptr : index + at + c;
        if (d.c - c >= kChannels) {
          LargestOf(d, window, x + c, kChannels, y + at + c, to);
        } else {
          LargestOf(d, window, x + c, d.c - c, y + at + c, to);
        }
      }
    }
  }
}

// One image of max_pool_grad. Where windows are apart, each tap is written once.
template <typename T, typename I>
[[gnu::always_inline]] inline void MaxPoolGradImage(const PoolDims& d, bool apart, const T* dy,
                                                    const I* index, T* dx) {
  const bool covered = apart && d.ph == d.sh && d.pw == d.sw && d.top == 0 && d.left == 0 &&
                       d.oh * d.sh >= d.h && d.ow * d.sw >= d.w;
  if (!covered) std::fill(dx, dx + d.h * d.w * d.c, T(0));
  for (int64_t oh = 0; oh < d.oh; ++oh) {
    for (int64_t ow = 0; ow < d.ow; ++ow) {
      const T* from = dy + (oh * d.ow + ow) * d.c;
      const I* chosen = index + (oh * d.ow + ow) * d.c;
      const Clipped window = Clip(d, oh, ow);
      for (int64_t h = window.h0; h < window.h1; ++h) {
        for (int64_t w = window.w0; w < window.w1; ++w) {
          T* to = dx + (h * d.w + w) * d.c;
          const I number = static_cast<I>(NumberIn(d, window, h, w));
          if (apart) {
            for (int64_t c = 0; c < d.c; ++c) to[c] = chosen[c] == number ? from[c] : T(0);
          } else {
            for (int64_t c = 0; c < d.c; ++c) to[c] += chosen[c] == number ? from[c] : T(0);
          }
        }
      }
    }
  }
}

TPURUN_CLONES void MaxPoolImageOf(const PoolDims& d, const float* x, float* y, uint8_t* index) {
  MaxPoolImage(d, x, y, index);
}
TPURUN_CLONES void MaxPoolImageOf(const PoolDims& d, const uint16_t* x, uint16_t* y,
                                  uint8_t* index) {
  MaxPoolImage(d, x, y, index);
}
TPURUN_CLONES void MaxPoolImageOf(const PoolDims& d, const float* x, float* y, int32_t* index) {
  MaxPoolImage(d, x, y, index);
}
TPURUN_CLONES void MaxPoolImageOf(const PoolDims& d, const uint16_t* x, uint16_t* y,
                                  int32_t* index) {
  MaxPoolImage(d, x, y, index);
}

TPURUN_CLONES void MaxPoolGradImageOf(const PoolDims& d, bool apart, const float* dy,
                                      const uint8_t* index, float* dx) {
  MaxPoolGradImage(d, apart, dy, index, dx);
}
TPURUN_CLONES void MaxPoolGradImageOf(const PoolDims& d, bool apart, const uint16_t* dy,
                                      const uint8_t* index, uint16_t* dx) {
  MaxPoolGradImage(d, apart, dy, index, dx);
}
TPURUN_CLONES void MaxPoolGradImageOf(const PoolDims& d, bool apart, const float* dy,
                                      const int32_t* index, float* dx) {
  MaxPoolGradImage(d, apart, dy, index, dx);
}
TPURUN_CLONES void MaxPoolGradImageOf(const PoolDims& d, bool apart, const uint16_t* dy,
                                      const int32_t* index, uint16_t* dx) {
  MaxPoolGradImage(d, apart, dy, index, dx);
}

// make(value type, index type): a kernel for the dtypes of a call.
template <typename Make>
std::unique_ptr<Kernel> ForTypes(DType value, DType index, Make make) {
  const auto with_index = [&](auto v) {
    return index == DType::kU8 ? make(v, uint8_t{}) : make(v, int32_t{});
  };
  return value == DType::kBF16 ? with_index(uint16_t{}) : with_index(float{});
}

ExportRule TensorFlowPool(std::string op) {
  return [op](ExportCall& call) -> absl::StatusOr<std::vector<Value>> {
    const std::vector<int64_t> window = call.attrs.Ints("window");
    const std::vector<int64_t> strides = call.attrs.Ints("strides");
    ASSIGN_OR_RETURN(const std::string padding,
                     TensorFlowPadding(call.operands[0], window, strides, call.attrs.Ints("pads")));
    return std::vector<Value>{call.graph.Add(op, call.inputs,
                                             {{"T", call.type()},
                                              {"ksize", OverNhwc(window)},
                                              {"strides", OverNhwc(strides)},
                                              {"padding", padding}})};
  };
}

// Neither counts what it pads.
ExportRule OnnxPool(std::string op) {
  return [op](ExportCall& call) -> absl::StatusOr<std::vector<Value>> {
    return std::vector<Value>{
        AddOverNchw(call, op, call.inputs, {{"kernel_shape", call.attrs.Ints("window")}})};
  };
}

const OpDef& MaxPoolGradOp() {
  static const OpDef& op = *new OpDef{
      .name = "max_pool_grad",
      .doc =
          "dy and index (N, OH, OW, C) -> dx of `x_dims` (N, H, W, C): dy of each window goes to "
          "the element that max_pool's index names. bf16 where no two windows overlap.",
      .min_operands = 2,
      .max_operands = 2,
      .attrs =
          [] {
            std::vector<AttrDef> attrs = PoolAttrs();
            attrs.push_back({"x_dims", std::vector<int64_t>{}, true});
            return attrs;
          }(),
      .flags = {.unit = WorkUnit::kRows,
                .row_operands = kAllOperands,
                .any_dtype = true,
                .keeps_column_sums = true},
      .refine_flags =
          [](const OpCall& call, OpFlags& flags) {
            if (Apart(call.attrs)) flags.commutes = 1u << 0;
          },
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs& attrs) -> absl::StatusOr<std::vector<Shape>> {
        const std::vector<int64_t> x = attrs.Ints("x_dims");
        ASSIGN_OR_RETURN(const Shape y, PooledShape("max_pool_grad", operands[0].dtype, x, attrs));
        const Shape index{IndexType(attrs), y.dims};
        if (!(operands[0] == y) || !(operands[1] == index)) {
          return absl::InvalidArgumentError(
              absl::StrCat("max_pool_grad: want dy ", y.ToString(), " and index ", index.ToString(),
                           ", got ", operands[0].ToString(), " and ", operands[1].ToString()));
        }
        if (y.dtype == DType::kBF16 && !Apart(attrs)) {
          return absl::InvalidArgumentError(
              "max_pool_grad: sums over windows that overlap want f32");
        }
        return std::vector<Shape>{Shape{y.dtype, x}};
      },
      .reference =
          [](const OpCall& call) {
            const PoolDims d = MakeDims(call.results[0].dims, call.operands[0].dims, call.attrs);
            return ForTypes(
                call.operands[0].dtype, call.operands[1].dtype, [&](auto value, auto index) {
                  return KernelOf([d, apart = Apart(call.attrs)](const KernelArgs& args) {
                    using T = decltype(value);
                    using I = decltype(index);
                    const int64_t image = d.h * d.w * d.c, pooled = d.oh * d.ow * d.c;
                    for (int64_t n = args.begin; n < args.end; ++n) {
                      MaxPoolGradImageOf(d, apart,
                                         static_cast<const T*>(args.operands[0]) + n * pooled,
                                         static_cast<const I*>(args.operands[1]) + n * pooled,
                                         static_cast<T*>(args.results[0]) + n * image);
                    }
                  });
                });
          }};
  return op;
}

// The largest of what relu makes of a window is what relu makes of the largest, of fewer elements.
Simpler SimplerMaxPool(const Graph& graph, const Node& node) {
  const Node& relu = graph.node(node.inputs[0]);
  if (relu.op != &ReluOp()) return {};
  const Value largest{static_cast<int>(graph.nodes().size()), 0};
  return {.nodes = {{node.op, relu.inputs, node.attrs}, {&ReluOp(), {largest}, {}}}};
}

const OpDef& MaxPoolOp() {
  static const OpDef& op = *new OpDef{
      .name = "max_pool",
      .doc =
          "x (N, H, W, C) -> y (N, OH, OW, C): the largest of each window, the last NaN if any "
          "is; and its index kh * KW + kw in the window, the first of equals, u8 for windows of "
          "up to 256 elements, else s32.",
      .min_operands = 1,
      .max_operands = 1,
      .attrs = PoolAttrs(),
      .flags = {.unit = WorkUnit::kRows,
                .row_operands = kAllOperands,
                .commutes = kAllOperands,
                .any_dtype = true},
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs& attrs) -> absl::StatusOr<std::vector<Shape>> {
        ASSIGN_OR_RETURN(Shape y,
                         PooledShape("max_pool", operands[0].dtype, operands[0].dims, attrs));
        return std::vector<Shape>{y, Shape{IndexType(attrs), y.dims}};
      },
      .gradient =
          [](GraphBuilder& b, const Node& node, std::span<const Value> dy) {
            Attrs attrs = node.attrs;
            attrs.Set("x_dims", b.shape(node.inputs[0]).dims);
            return std::vector<Value>{
                b.Add(MaxPoolGradOp(), {dy[0], Value{node.id, 1}}, attrs, "MaxPoolGrad")};
          },
      .simplify = SimplerMaxPool,
      .reference =
          [](const OpCall& call) {
            const PoolDims d = MakeDims(call.operands[0].dims, call.results[0].dims, call.attrs);
            return ForTypes(
                call.operands[0].dtype, call.results[1].dtype, [&](auto value, auto index) {
                  return KernelOf([d](const KernelArgs& args) {
                    using T = decltype(value);
                    using I = decltype(index);
                    const int64_t image = d.h * d.w * d.c, pooled = d.oh * d.ow * d.c;
                    I* at = static_cast<I*>(args.results[1]);
                    for (int64_t n = args.begin; n < args.end; ++n) {
                      MaxPoolImageOf(d, static_cast<const T*>(args.operands[0]) + n * image,
                                     static_cast<T*>(args.results[0]) + n * pooled,
                                     at == nullptr ? nullptr : at + n * pooled);
                    }
                  });
                });
          },
      .flops =
          [](const OpCall& call) {
            return static_cast<double>(call.results[0].num_elements() * (WindowElements(call) - 1));
          },
      .tensorflow = TensorFlowPool("MaxPool"),
      .onnx = OnnxPool("MaxPool")};
  return op;
}

const OpDef& AvgPoolOp();

const OpDef& AvgPoolGradOp() {
  static const OpDef& op = *new OpDef{
      .name = "avg_pool_grad",
      .doc =
          "dy (N, OH, OW, C) -> dx of `x_dims`: dy of each window in equal shares to its elements.",
      .min_operands = 1,
      .max_operands = 1,
      .attrs =
          [] {
            std::vector<AttrDef> attrs = PoolAttrs();
            attrs.push_back({"x_dims", std::vector<int64_t>{}, true});
            return attrs;
          }(),
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
            const PoolDims d = MakeDims(call.results[0].dims, call.operands[0].dims, call.attrs);
            return KernelOf([d](const KernelArgs& args) {
              const float* dy = static_cast<const float*>(args.operands[0]);
              float* dx = static_cast<float*>(args.results[0]);
              const int64_t image = d.h * d.w * d.c;
              std::fill(dx + args.begin * image, dx + args.end * image, 0.0f);
              for (int64_t n = args.begin; n < args.end; ++n) {
                ForEachWindow(d, n,
                              [&](int64_t at, int64_t h0, int64_t h1, int64_t w0, int64_t w1) {
                                const float count = static_cast<float>((h1 - h0) * (w1 - w0));
                                for (int64_t h = h0; h < h1; ++h) {
                                  for (int64_t w = w0; w < w1; ++w) {
                                    float* to = dx + ((n * d.h + h) * d.w + w) * d.c;
                                    for (int64_t c = 0; c < d.c; ++c) to[c] += dy[at + c] / count;
                                  }
                                }
                              });
              }
            });
          }};
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
            Attrs attrs = node.attrs;
            attrs.Set("x_dims", b.shape(node.inputs[0]).dims);
            return std::vector<Value>{b.Add(AvgPoolGradOp(), {dy[0]}, attrs, "AvgPoolGrad")};
          },
      .reference =
          [](const OpCall& call) {
            const PoolDims d = MakeDims(call.operands[0].dims, call.results[0].dims, call.attrs);
            return KernelOf([d](const KernelArgs& args) {
              const float* x = static_cast<const float*>(args.operands[0]);
              float* y = static_cast<float*>(args.results[0]);
              for (int64_t n = args.begin; n < args.end; ++n) {
                ForEachWindow(d, n,
                              [&](int64_t at, int64_t h0, int64_t h1, int64_t w0, int64_t w1) {
                                std::fill(y + at, y + at + d.c, 0.0f);
                                for (int64_t h = h0; h < h1; ++h) {
                                  for (int64_t w = w0; w < w1; ++w) {
                                    const float* from = x + ((n * d.h + h) * d.w + w) * d.c;
                                    for (int64_t c = 0; c < d.c; ++c) y[at + c] += from[c];
                                  }
                                }
                                const float count = static_cast<float>((h1 - h0) * (w1 - w0));
                                for (int64_t c = 0; c < d.c; ++c) y[at + c] /= count;
                              });
              }
            });
          },
      .flops =
          [](const OpCall& call) {
            return static_cast<double>(call.results[0].num_elements() * WindowElements(call));
          },
      .tensorflow = TensorFlowPool("AvgPool"),
      .onnx = OnnxPool("AveragePool")};
  return op;
}

Attrs PoolingAttrs(std::vector<int64_t> window, std::vector<int64_t> strides,
                   std::vector<int64_t> pads) {
  return {
      {"window", std::move(window)}, {"strides", std::move(strides)}, {"pads", std::move(pads)}};
}

}  // namespace

Simpler ReluGradOfPooled(const Graph& graph, const Node& node) {
  const Node &dy = graph.node(node.inputs[0]), &y = graph.node(node.inputs[1]);
  if (dy.op != &MaxPoolGradOp() || y.op != &ReluOp()) return {};
  const Value index = dy.inputs[1];
  const Node& pool = graph.node(index);
  if (pool.op != &MaxPoolOp() || index.result != 1 || pool.inputs[0] != node.inputs[1] ||
      !SameWindows(pool.attrs, dy.attrs)) {
    return {};
  }
  const auto added = [first = static_cast<int>(graph.nodes().size())](int i, int result = 0) {
    return Value{first + i, result};
  };
  return {.nodes = {{pool.op, y.inputs, pool.attrs},
                    {&ReluOp(), {added(0)}, {}},
                    {node.op, {dy.inputs[0], added(1)}, {}},
                    {dy.op, {added(2), added(0, 1)}, dy.attrs}}};
}

std::vector<const OpDef*> PoolingOps() {
  return {&MaxPoolOp(), &MaxPoolGradOp(), &AvgPoolOp(), &AvgPoolGradOp()};
}

Value MaxPool(GraphBuilder& b, Value x, std::vector<int64_t> window, std::vector<int64_t> strides,
              std::vector<int64_t> pads, const std::string& label) {
  return b.Add(MaxPoolOp(), {x},
               PoolingAttrs(std::move(window), std::move(strides), std::move(pads)), label);
}

Value AvgPool(GraphBuilder& b, Value x, std::vector<int64_t> window, std::vector<int64_t> strides,
              std::vector<int64_t> pads, const std::string& label) {
  return b.Add(AvgPoolOp(), {x},
               PoolingAttrs(std::move(window), std::move(strides), std::move(pads)), label);
}

}  // namespace tpurun
