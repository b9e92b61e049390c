// input_output_alias: lets the node that computes a variable's update write the variable in place.
#ifndef TPURUN_RUNTIME_COMPILER_INPUT_OUTPUT_ALIAS_H_
#define TPURUN_RUNTIME_COMPILER_INPUT_OUTPUT_ALIAS_H_

#include "absl/status/statusor.h"
#include "runtime/ir/graph.h"

namespace tpurun {

// Inserts a copy between a value and the variable it updates if the producer must not write the
// variable in place. This is so if the producer is a source, if the value updates another variable
// too, or if the value is shared but the variable is per core. It is also so if the old value is
// read after the producer, or by the producer other than row by row, or if the value is a further
// result of a node that is not element-wise. Also inserts a copy before an output or update that is
// a variable's old value. Copies come last, in the order of the updates.
absl::StatusOr<Graph> AliasInputsAndOutputs(const Graph& graph);

// For a graph after this pass: the value that is in the variable's memory before the update's value
// and that the update overwrites (OpFlags::overwrites), or an invalid Value if there is none.
Value WrittenOver(const Graph& graph, const Update& update);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_COMPILER_INPUT_OUTPUT_ALIAS_H_
