// Shapes and their blocked layouts as oneDNN's memory descriptors, and back.
#ifndef TPURUN_RUNTIME_OPS_ONEDNN_LAYOUT_H_
#define TPURUN_RUNTIME_OPS_ONEDNN_LAYOUT_H_

#include <vector>

#include "oneapi/dnnl/dnnl.hpp"
#include "runtime/ops/onednn/steps.h"

namespace tpurun {

dnnl::memory::data_type OneDnnType(const Shape& shape);

// Operand 1 as a primitive wants it, packed by the caller or brought into the layout here. Axis i
// of the shape is axis axes[i] of the primitive's weights. With `dims` it is seen as of those
// dimensions, which no Layout says: it is never packed then.
CallPlace WeightsPlace(const OpCall& call, int part, const std::vector<int>& axes,
                       const dnnl::memory::desc& wanted, StepList& list,
                       const std::vector<int64_t>& dims = {});

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_ONEDNN_LAYOUT_H_
