// Export of recurrent ops: as steps of elementary ops, and as ONNX's recurrent ops.
#ifndef TPURUN_RUNTIME_OPS_EXPORT_RECURRENCE_H_
#define TPURUN_RUNTIME_OPS_EXPORT_RECURRENCE_H_

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/ir/export_graph.h"
#include "runtime/ops/recurrence.h"

namespace tpurun {

// OpDef::expand of a recurrent op: T steps in a row, in scopes step_0, step_1, ... `of` describes
// the operands and results of the call.
std::vector<Value> Unroll(Recurrence (*of)(const OpCall& call), GraphBuilder& b, const Node& node,
                          std::span<const Value> inputs);

// ONNX's equivalent of a recurrent op.
struct OnnxCell {
  std::string op;
  std::vector<int64_t> gates;          // [ONNX gate]: the index of our gate
  std::vector<std::string> functions;  // our attributes that name its activations
  ExportAttrs attrs = {};
};
// OpDef::onnx of a recurrent op. ONNX's op also multiplies x by its kernel. The rule therefore
// applies only if x is the result of such a product, as layers build it, and takes over its kernel
// and bias. Returns no results if there is no such product, or if ONNX's op cannot express the
// node: a mask, or the cell state of steps other than the last.
absl::StatusOr<std::vector<Value>> RecurrenceToOnnx(Recurrence (*of)(const OpCall& call),
                                                    const OnnxCell& cell, ExportCall& call);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_EXPORT_RECURRENCE_H_
