#include "runtime/ops/export_convolution.h"

#include <string>
#include <utility>

#include "runtime/ops/conv_dims.h"
#include "runtime/ops/export_window.h"

namespace tpurun {
namespace {

constexpr int32_t kChannelsAxis = 3;  // the last axis of images and kernels

bool IsDilated(const ConvDims& d) { return d.dh != 1 || d.dw != 1; }

// The attributes of Conv2D and of the similar ops. Pads that have no name in TensorFlow, as those
// of a causal convolution, are EXPLICIT.
ExportAttrs TensorFlowAttrs(const ExportCall& call, const ConvDims& d, const Shape& x) {
  const std::vector<int64_t> strides = {d.sh, d.sw};
  const std::vector<int64_t> window = {(d.kh - 1) * d.dh + 1, (d.kw - 1) * d.dw + 1};
  const absl::StatusOr<std::string> padding =
      TensorFlowPadding(x, window, strides, call.attrs.Ints("pads"));
  ExportAttrs attrs = {{"T", call.type()},
                       {"strides", OverNhwc(strides)},
                       {"padding", padding.ok() ? *padding : "EXPLICIT"}};
  if (!padding.ok()) {
    attrs["explicit_paddings"] = std::vector<int64_t>{0, 0, d.top, d.bottom, d.left, d.right, 0, 0};
  }
  if (IsDilated(d)) attrs["dilations"] = OverNhwc({d.dh, d.dw});
  return attrs;
}

// Adds what `add` returns for each group, of its channels of input 0 and its part of the kernel,
// and concatenates the results.
template <typename Add>
Value AddGroups(ExportCall& call, const ConvDims& d, Add add) {
  const Value axis = call.graph.Int32(kChannelsAxis, "axis");
  const auto split = [&](Value all) {
    return call.graph.Add("Split", {axis, all}, {{"T", call.type()}, {"num_split", d.groups}});
  };
  const Value x = split(call.inputs[0]), kernel = split(call.inputs[1]);
  std::vector<Value> inputs;
  for (int group = 0; group < d.groups; ++group) {
    inputs.push_back(add(Value{x.node, group}, Value{kernel.node, group}));
  }
  inputs.push_back(axis);
  return call.graph.Add("ConcatV2", std::move(inputs),
                        {{"T", call.type()}, {"Tidx", ElementType::kInt32}, {"N", d.groups}});
}

// The kernel of groups that have one channel of the image each, as depthwise ops want it.
Value DepthwiseKernel(ExportCall& call, const ConvDims& d) {
  const Value dims = call.graph.Int64s({d.kh, d.kw, d.c, d.group_f()}, "shape");
  return call.graph.Add("Reshape", {call.inputs[1], dims},
                        {{"T", call.type()}, {"Tshape", ElementType::kInt64}});
}

bool IsDepthwise(const ConvDims& d) {
  return d.groups > 1 && d.group_c() == 1 && d.sh == d.sw && !IsDilated(d);
}

// `attrs` has the attributes that every window op has. This adds the attributes of convolutions.
Value AddOnnxConvolution(ExportCall& call, const std::string& op, const ConvDims& d,
                         ExportAttrs attrs) {
  if (IsDilated(d)) attrs["dilations"] = std::vector<int64_t>{d.dh, d.dw};
  if (d.groups > 1) attrs["group"] = d.groups;
  std::vector<Value> inputs = call.inputs;
  inputs[1] = AddTranspose(call, inputs[1], {3, 2, 0, 1});
  return AddOverNchw(call, op, std::move(inputs), std::move(attrs));
}

ConvDims DimsOfForward(const ExportCall& call) {
  return ConvDimsOf(call.operands[0].dims, call.operands[1].dims, call.results[0].dims, call.attrs);
}

ConvDims DimsOfTransposed(const ExportCall& call) {
  return ConvDimsOf(call.results[0].dims, call.operands[1].dims, call.operands[0].dims, call.attrs);
}

// {N, H, W, channels} as int32, with N of input 0.
Value AddSizes(ExportCall& call, const ConvDims& d, int64_t channels) {
  const auto int32s = [&](const std::vector<int32_t>& values, const std::string& label) {
    return call.graph.Constant(ExportTensor::Int32s(values), label);
  };
  const ElementType type = ElementType::kInt32;
  const Value dims =
      call.graph.Add("Shape", {call.inputs[0]}, {{"T", call.type()}, {"out_type", type}});
  const Value batch = call.graph.Add("Slice", {dims, int32s({0}, "begin"), int32s({1}, "size")},
                                     {{"T", type}, {"Index", type}});
  const Value image =
      int32s({static_cast<int32_t>(d.h), static_cast<int32_t>(d.w), static_cast<int32_t>(channels)},
             "image");
  return call.graph.Add("ConcatV2", {batch, image, call.graph.Int32(0, "axis")},
                        {{"T", type}, {"Tidx", type}, {"N", int64_t{2}}});
}

// The number of entries after the last window in one direction, which no window reads.
int64_t Unread(int64_t size, int64_t pads, int64_t window, int64_t dilation, int64_t stride) {
  return (size + pads - (window - 1) * dilation - 1) % stride;
}

}  // namespace

absl::StatusOr<std::vector<Value>> ConvolutionToTensorFlow(ExportCall& call) {
  const ConvDims d = DimsOfForward(call);
  const ExportAttrs attrs = TensorFlowAttrs(call, d, call.operands[0]);
  Value y;
  if (d.groups == 1) {
    y = call.graph.Add("Conv2D", {call.inputs[0], call.inputs[1]}, attrs);
  } else if (IsDepthwise(d)) {
    y = call.graph.Add("DepthwiseConv2dNative", {call.inputs[0], DepthwiseKernel(call, d)}, attrs);
  } else {
    y = AddGroups(call, d, [&](Value x, Value kernel) {
      return call.graph.Add("Conv2D", {x, kernel}, attrs);
    });
  }
  if (call.inputs.size() > 2) {
    y = call.graph.Add("BiasAdd", {y, call.inputs[2]}, {{"T", call.type()}});
  }
  return std::vector<Value>{y};
}

absl::StatusOr<std::vector<Value>> ConvolutionToOnnx(ExportCall& call) {
  return std::vector<Value>{AddOnnxConvolution(call, "Conv", DimsOfForward(call), {})};
}

absl::StatusOr<std::vector<Value>> TransposedConvolutionToTensorFlow(ExportCall& call) {
  const ConvDims d = DimsOfTransposed(call);
  if (IsDilated(d)) {
    return absl::InvalidArgumentError("a transposed convolution has dilations");
  }
  const ExportAttrs attrs = TensorFlowAttrs(call, d, call.results[0]);
  Value x;
  if (IsDepthwise(d)) {
    x = call.graph.Add("DepthwiseConv2dNativeBackpropInput",
                       {AddSizes(call, d, d.c), DepthwiseKernel(call, d), call.inputs[0]}, attrs);
  } else {
    const Value sizes = AddSizes(call, d, d.group_c());
    const auto add = [&](Value y, Value kernel) {
      return call.graph.Add("Conv2DBackpropInput", {sizes, kernel, y}, attrs);
    };
    x = d.groups > 1 ? AddGroups(call, d, add) : add(call.inputs[0], call.inputs[1]);
  }
  return std::vector<Value>{x};
}

absl::StatusOr<std::vector<Value>> TransposedConvolutionToOnnx(ExportCall& call) {
  const ConvDims d = DimsOfTransposed(call);
  ExportAttrs attrs;
  const std::vector<int64_t> unread = {Unread(d.h, d.top + d.bottom, d.kh, d.dh, d.sh),
                                       Unread(d.w, d.left + d.right, d.kw, d.dw, d.sw)};
  if (unread != std::vector<int64_t>{0, 0}) attrs["output_padding"] = unread;
  return std::vector<Value>{AddOnnxConvolution(call, "ConvTranspose", d, std::move(attrs))};
}

}  // namespace tpurun
