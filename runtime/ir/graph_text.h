// The text form of a graph; parses back to the same graph.
//
//   graph "iris" replicas=8
//   infeed 0 "SepalLength" f32[16]
//   variable "hidden_1/kernel" f32[4,10] uniform(-0.65,0.65) trainable
//   %4 = matmul %2, %3:0 {precision=0} : f32[16,10] "hidden_1/MatMul" from "forward:hidden_1"
//   output "loss" %17
//   update "hidden_1/kernel" %40
#ifndef TPURUN_RUNTIME_IR_GRAPH_TEXT_H_
#define TPURUN_RUNTIME_IR_GRAPH_TEXT_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/ir/graph.h"
#include "runtime/ir/line_tokenizer.h"

namespace tpurun {

// "8", or "8 first=8 all=16" where other processes have some of the replicas.
std::string PrintReplicas(const ReplicaRange& replicas);
// nullopt unless the line goes on with the text of replicas.
std::optional<ReplicaRange> EatReplicas(LineTokenizer& line);

std::string PrintGraph(const Graph& graph);

// Skips lines that are blank or start with '#'. An error names the line.
absl::StatusOr<Graph> ParseGraph(std::string_view text, const FindOp& find_op);

// The line of a variable. Program text uses it too.
std::string PrintVariable(const Variable& variable);
// `line` starts after "variable ".
absl::StatusOr<Variable> ParseVariable(LineTokenizer& line);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IR_GRAPH_TEXT_H_
