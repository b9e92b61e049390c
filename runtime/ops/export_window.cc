#include "runtime/ops/export_window.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tpurun {

absl::StatusOr<std::string> TensorFlowPadding(const Shape& x, const std::vector<int64_t>& window,
                                              const std::vector<int64_t>& strides,
                                              const std::vector<int64_t>& pads) {
  if (pads == std::vector<int64_t>(4, 0)) return "VALID";
  std::vector<int64_t> same;
  for (int i = 0; i < 2; ++i) {
    const int64_t size = x.dims[i + 1];
    const int64_t steps = (size + strides[i] - 1) / strides[i];
    const int64_t total = std::max<int64_t>((steps - 1) * strides[i] + window[i] - size, 0);
    same.insert(same.end(), {total / 2, total - total / 2});
  }
  if (pads == same) return "SAME";
  return absl::InvalidArgumentError(
      absl::StrCat("pads of ", DimsToString(pads), " are neither SAME nor VALID"));
}

std::vector<int64_t> OverNhwc(const std::vector<int64_t>& sizes) {
  return {1, sizes[0], sizes[1], 1};
}

Value AddTranspose(ExportCall& call, Value x, std::vector<int64_t> perm) {
  return call.graph.Add("Transpose", {x}, {{"perm", std::move(perm)}});
}

Value AddOverNchw(ExportCall& call, std::string op, std::vector<Value> inputs, ExportAttrs attrs) {
  const std::vector<int64_t> pads = call.attrs.Ints("pads");
  attrs["strides"] = call.attrs.Ints("strides");
  attrs["pads"] = std::vector<int64_t>{pads[0], pads[2], pads[1], pads[3]};
  inputs[0] = AddTranspose(call, inputs[0], {0, 3, 1, 2});
  const Value y = call.graph.Add(std::move(op), std::move(inputs), std::move(attrs));
  return AddTranspose(call, y, {0, 2, 3, 1});
}

}  // namespace tpurun
