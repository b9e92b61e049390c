#include "runtime/ops/onednn/layout.h"

#include <algorithm>
#include <optional>

#include "runtime/ops/packing.h"

namespace tpurun {
namespace {

using dnnl::memory;

// The layout of a descriptor. Plain if the descriptor is not blocked or has further properties.
Layout LayoutOf(const memory::desc& desc) {
  const dnnl_memory_desc_t& md = desc.data;
  if (md.format_kind != dnnl_blocked || md.extra.flags != 0 || md.offset0 != 0) return {};
  const dnnl_blocking_desc_t& blocking = md.format_desc.blocking;
  BlockedLayout layout;
  layout.strides.assign(blocking.strides, blocking.strides + md.ndims);
  for (int i = 0; i < blocking.inner_nblks; ++i) {
    layout.blocks.push_back({static_cast<int>(blocking.inner_idxs[i]), blocking.inner_blks[i]});
  }
  return layout.Named(static_cast<int64_t>(desc.get_size()));
}

// The descriptor of a shape, plain or in a blocked layout.
memory::desc DescOf(const Shape& shape) {
  const memory::data_type type = OneDnnType(shape);
  memory::dims strides(shape.dims.size(), 1);
  for (size_t i = strides.size(); i-- > 1;) strides[i - 1] = strides[i] * shape.dims[i];
  memory::desc desc(shape.dims, type, strides);
  if (shape.layout.plain()) return desc;
  const std::optional<BlockedLayout> layout = ParseBlockedLayout(shape);
  if (!layout || layout->rounded || layout->reversed || layout->flipped ||
      layout->blocks.size() > DNNL_MAX_NDIMS) {
    throw dnnl::error(dnnl_invalid_arguments, "unknown layout");
  }
  dnnl_blocking_desc_t& blocking = desc.data.format_desc.blocking;
  std::copy(layout->strides.begin(), layout->strides.end(), blocking.strides);
  for (const BlockedLayout::Block& block : layout->blocks) {
    blocking.inner_idxs[blocking.inner_nblks] = block.dimension;
    blocking.inner_blks[blocking.inner_nblks++] = block.size;
  }
  for (size_t dim = 0; dim < shape.dims.size(); ++dim) {
    int64_t block = 1;
    for (const BlockedLayout::Block& inner : layout->blocks) {
      if (inner.dimension == static_cast<int>(dim)) block *= inner.size;
    }
    desc.data.padded_dims[dim] = (shape.dims[dim] + block - 1) / block * block;
  }
  if (static_cast<int64_t>(desc.get_size()) != shape.layout.bytes) {
    throw dnnl::error(dnnl_invalid_arguments, "unknown layout");
  }
  return desc;
}

}  // namespace

dnnl::memory::data_type OneDnnType(const Shape& shape) {
  return shape.dtype == DType::kBF16 ? memory::data_type::bf16 : memory::data_type::f32;
}

CallPlace WeightsPlace(const OpCall& call, int part, const std::vector<int>& axes,
                       const memory::desc& wanted, StepList& list,
                       const std::vector<int64_t>& dims) {
  const Shape& shape = call.operands[1];
  Shape typed = shape;
  typed.dtype = list.dtype();
  if (!dims.empty()) typed.dims = dims;
  if (dims.empty()) {
    std::vector<int> back(axes.size());
    for (size_t i = 0; i < axes.size(); ++i) back[axes[i]] = static_cast<int>(i);
    const bool as_it_is = shape.dtype == list.dtype() && wanted.permute_axes(back) == DescOf(shape);
    if (!as_it_is) list.SetWeights(LayoutOf(wanted.permute_axes(back)));
  }
  if (!shape.layout.plain() && shape != typed) {
    throw dnnl::error(dnnl_invalid_arguments, "packed weights of another type");
  }
  const CallPlace weights =
      shape.layout.plain() ? list.Input(OperandPlace(call, 1), shape.num_elements(), shape, part)
                           : OperandPlace(call, 1);
  return list.InLayout(weights, DescOf(typed).permute_axes(axes), wanted);
}

}  // namespace tpurun
