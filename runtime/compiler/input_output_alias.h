// input_output_alias: after it, the node that computes a variable's update may write the variable
// itself.
#ifndef TPURUN_RUNTIME_COMPILER_INPUT_OUTPUT_ALIAS_H_
#define TPURUN_RUNTIME_COMPILER_INPUT_OUTPUT_ALIAS_H_

#include "absl/status/statusor.h"
#include "runtime/ir/graph.h"

namespace tpurun {

// Puts a copy between a value and the variable it updates where the producer must not write there:
// it is a source, the value updates another variable too, it is shared where the variable is per
// core, or the variable's old value is read after it or by itself other than row by row, or it is a
// further result of a node that is not element-wise. A copy also goes before an output or update
// that is a variable's old value. Copies come last, in the order of the updates.
absl::StatusOr<Graph> AliasInputsAndOutputs(const Graph& graph);

// Of such a graph: the value that lies in the variable's memory before the update's, which writes
// over it (OpFlags::overwrites); invalid where there is none.
Value WrittenOver(const Graph& graph, const Update& update);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_COMPILER_INPUT_OUTPUT_ALIAS_H_
