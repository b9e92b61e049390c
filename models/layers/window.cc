#include "models/layers/window.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/text.h"

namespace tpurun {

std::vector<int64_t> TwoSizes(const WindowSizes& sizes, std::vector<int64_t> unset) {
  if (sizes.empty()) return unset;
  return {sizes[0], sizes[sizes.size() - 1]};
}

void FillSizes(std::vector<int64_t> unset, WindowSizes* sizes) {
  const std::vector<int64_t> two = TwoSizes(*sizes, std::move(unset));
  *sizes = {two.begin(), two.end()};
}

bool IsImage(LayerContext& layer) {
  const Shape& x = layer.shape(0);
  const std::string got =
      absl::StrCat("got ", Quote(layer.inputs[0].name), " of ", BatchShapeText(x));
  const std::string kind = layer.kind;
  if (x.dtype != DType::kF32) {
    layer.Fail("", absl::StrCat(kind, " wants floating-point values (f32), ", got,
                                "; declare it FLOAT32 or cast it in the input"));
    return false;
  }
  if (x.rank() == 4) return true;
  const std::vector<int64_t> dims = ExampleDims(x);
  const std::string remedy = dims.size() == 2
                                 ? absl::StrCat("put a reshape with target_shape: [", dims[0], ", ",
                                                dims[1], ", 1] before it")
                                 : "put a reshape to height, width and channels before it";
  layer.Fail("", absl::StrCat(kind, " wants an input of shape [N,H,W,C], ", got, "; ", remedy));
  return false;
}

std::vector<int64_t> SamePads(int64_t in, int64_t span, int64_t stride) {
  const int64_t out = (in + stride - 1) / stride;
  const int64_t total = std::max<int64_t>((out - 1) * stride + span - in, 0);
  return {total / 2, total - total / 2};
}

Window WindowOver(LayerContext& layer, const std::string& size_field, std::vector<int64_t> size,
                  std::vector<int64_t> strides, Padding padding, std::vector<int64_t> dilations) {
  const std::vector<int64_t> dims = layer.shape(0).dims;
  dilations.resize(size.size(), 1);
  std::vector<int64_t> span;
  for (size_t i = 0; i < size.size(); ++i) span.push_back((size[i] - 1) * dilations[i] + 1);
  Window window = {.size = size, .strides = strides};
  for (size_t i = 0; i < size.size(); ++i) {
    const int64_t in = dims[i + 1];
    std::vector<int64_t> pads = {0, 0};
    if (padding == Padding::kSame) pads = SamePads(in, span[i], strides[i]);
    if (padding == Padding::kCausal) pads = {span[i] - 1, 0};
    window.pads.insert(window.pads.end(), pads.begin(), pads.end());
    if (padding == Padding::kValid && in < span[i]) {
      const bool dilated = span != size;
      layer.Fail(
          size_field,
          absl::StrCat("a window of ", absl::StrJoin(size, "x"),
                       dilated ? absl::StrCat(", dilated to ", absl::StrJoin(span, "x"), ",") : "",
                       " does not fit into ", Quote(layer.inputs[0].name), " of ",
                       BatchShapeText(layer.shape(0)), "; give padding: SAME or a smaller ",
                       size_field.substr(size_field.rfind('.') + 1),
                       dilated ? " or dilation_rate" : ""));
      return {};
    }
  }
  return window;
}

Value ImageOfSequence(GraphBuilder& b, Value x) {
  const std::vector<int64_t> dims = b.shape(x).dims;
  return Reshape(b, x, {dims[0], 1, dims[1], dims[2]});
}

Value SequenceOfImage(GraphBuilder& b, Value x) {
  if (!x.valid()) return {};
  const std::vector<int64_t> dims = b.shape(x).dims;
  return Reshape(b, x, {dims[0], dims[1] * dims[2], dims[3]});
}

Window ImageWindow(const Window& time) {
  return {.size = {1, time.size[0]},
          .strides = {1, time.strides[0]},
          .pads = {0, 0, time.pads[0], time.pads[1]}};
}

}  // namespace tpurun
