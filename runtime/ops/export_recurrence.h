// Recurrent ops for other frameworks: as steps of elementary ops, and as ONNX's own ops.
#ifndef TPURUN_RUNTIME_OPS_EXPORT_RECURRENCE_H_
#define TPURUN_RUNTIME_OPS_EXPORT_RECURRENCE_H_

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/ir/export_graph.h"
#include "runtime/ops/recurrence.h"

namespace tpurun {

// OpDef::expand of a recurrent op, `of` being its places: T steps, one behind the other, in scopes
// step_0, step_1, ...
std::vector<Value> Unroll(Recurrence (*of)(const OpCall& call), GraphBuilder& b, const Node& node,
                          std::span<const Value> inputs);

// ONNX's op of a recurrence.
struct OnnxCell {
  std::string op;
  std::vector<int64_t> gates;          // for each of its gates which of ours
  std::vector<std::string> functions;  // the attributes of ours that name its activations
  ExportAttrs attrs = {};
};
// OpDef::onnx of a recurrent op. ONNX's multiplies x itself: this is its op where x comes of such a
// product, as layers make it, whose kernel and bias it then takes. No results where there is none,
// or what it cannot say: a mask, the memory of other steps than the last.
absl::StatusOr<std::vector<Value>> RecurrenceToOnnx(Recurrence (*of)(const OpCall& call),
                                                    const OnnxCell& cell, ExportCall& call);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_EXPORT_RECURRENCE_H_
