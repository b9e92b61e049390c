// Recurrent ops for other frameworks: as steps of elementary ops, and as ONNX's own ops.
#ifndef TPURUN_RUNTIME_OPS_EXPORT_RECURRENCE_H_
#define TPURUN_RUNTIME_OPS_EXPORT_RECURRENCE_H_

#include <span>
#include <vector>

#include "runtime/ops/recurrence.h"

namespace tpurun {

// OpDef::expand of a recurrent op, `of` being its places: T steps, one behind the other, in scopes
// step_0, step_1, ...
std::vector<Value> Unroll(Recurrence (*of)(const OpCall& call), GraphBuilder& b, const Node& node,
                          std::span<const Value> inputs);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_EXPORT_RECURRENCE_H_
