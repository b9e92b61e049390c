// Graph -> CoreProgram: a list of passes with a verifier after each, the memory plan, the emission.
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
  PassOps ops;  // all of them
  Machine machine = Machine::This();
  std::string library = "reference";  // kernel libraries and their versions, for the program's text
  // The output that is the loss to watch ("loss"), or empty.
  std::string loss_output;
  // Names of passes that are left out, to find the one at fault.
  std::vector<std::string> disabled_passes;
  // Gets each stage's text: ("00.model.graph", text), ("10.dead_code.graph", ...), ...,
  // ("80.memory.plan", ...), ("90.core.program", ...). May be null.
  std::function<absl::Status(const std::string& file, const std::string& text)> dump;
  // Gets the program when it is verified. May be null.
  std::function<void(const CoreProgram& program)> compiled;
};

struct Pass {
  std::string name;
  std::function<absl::StatusOr<Graph>(const Graph&)> run;
};

// The passes in order, for a machine's kernels; a name is the middle of its dump's file name.
std::vector<Pass> Passes(const PassOps& ops, const Machine& machine = Machine::This());

// Runs the passes on the graph and verifies it after each: the error names the pass.
absl::StatusOr<Graph> RunPasses(Graph graph, const std::vector<Pass>& passes,
                                const CompileOptions& options);

absl::StatusOr<CoreProgram> Compile(Graph graph, const CompileOptions& options);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_COMPILER_COMPILE_H_
