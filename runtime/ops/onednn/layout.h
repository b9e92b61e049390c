// Conversion between shapes with blocked layouts and oneDNN's memory descriptors.
#ifndef TPURUN_RUNTIME_OPS_ONEDNN_LAYOUT_H_
#define TPURUN_RUNTIME_OPS_ONEDNN_LAYOUT_H_

#include <vector>

#include "oneapi/dnnl/dnnl.hpp"
#include "runtime/ops/onednn/steps.h"

namespace tpurun {

dnnl::memory::data_type OneDnnType(const Shape& shape);

// The place of operand 1 in the layout that a primitive wants: packed by the caller, or converted
// here. Axis i of the shape is axis axes[i] of the primitive's weights. A nonempty `dims` replaces
// the dimensions of the operand. No Layout can express this, so the operand is then never packed.
CallPlace WeightsPlace(const OpCall& call, int part, const std::vector<int>& axes,
                       const dnnl::memory::desc& wanted, StepList& list,
                       const std::vector<int64_t>& dims = {});

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_ONEDNN_LAYOUT_H_
