// Compiles a Graph to a CoreProgram: a list of passes with a verifier after each, the memory plan,
// and the emission of instructions.
#ifndef TPURUN_RUNTIME_COMPILER_COMPILE_H_
#define TPURUN_RUNTIME_COMPILER_COMPILE_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/ir/graph.h"
#include "runtime/ir/pass_ops.h"
#include "runtime/program/core_program.h"

namespace tpurun {

struct CompileOptions {
  PassOps ops;  // all must be set
  Machine machine = Machine::This();
  // The kernel libraries and their versions, for the program's text.
  std::string library = "reference";
  // The processes that share the replicas of the graph, and which one the program is for.
  int processes = 1;
  int process = 0;
  // The name of the output that is the checked loss ("loss"), or empty.
  std::string loss_output;
  // Names of passes to leave out, to find a faulty pass.
  std::vector<std::string> disabled_passes;
  // Receives the text of each stage: ("00.model.graph", text), ("10.sink_gather.graph", ...), ...,
  // ("80.memory.plan", ...), ("90.core.program", ...). May be null.
  std::function<absl::Status(const std::string& file, const std::string& text)> dump;
  // Receives the verified program. May be null.
  std::function<void(const CoreProgram& program)> compiled;
};

struct Pass {
  std::string name;
  std::function<absl::StatusOr<Graph>(const Graph&)> run;
};

// The passes in order, for the kernels of `machine`. A pass name is the middle of its dump file
// name.
std::vector<Pass> Passes(const PassOps& ops, const Machine& machine = Machine::This());

// Runs the passes on the graph and verifies the graph after each. The error names the pass.
absl::StatusOr<Graph> RunPasses(Graph graph, const std::vector<Pass>& passes,
                                const CompileOptions& options);

absl::StatusOr<CoreProgram> Compile(Graph graph, const CompileOptions& options);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_COMPILER_COMPILE_H_
