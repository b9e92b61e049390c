#include "runtime/compiler/compile.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/dcheck.h"
#include "runtime/base/status.h"
#include "runtime/compiler/bfloat16_propagation.h"
#include "runtime/compiler/cse.h"
#include "runtime/compiler/dead_code.h"
#include "runtime/compiler/epilogue.h"
#include "runtime/compiler/fold.h"
#include "runtime/compiler/fuse_allreduce_matmul.h"
#include "runtime/compiler/fuse_elementwise.h"
#include "runtime/compiler/fuse_rows.h"
#include "runtime/compiler/hoist_column_sums.h"
#include "runtime/compiler/input_output_alias.h"
#include "runtime/compiler/layout_assignment.h"
#include "runtime/compiler/memory_plan.h"
#include "runtime/compiler/partition_processes.h"
#include "runtime/compiler/replication.h"
#include "runtime/compiler/schedule.h"
#include "runtime/compiler/simplify.h"
#include "runtime/compiler/sink_gather.h"
#include "runtime/compiler/split_k.h"
#include "runtime/ir/graph_text.h"
#include "runtime/program/program_text.h"
#include "runtime/program/verify_program.h"

namespace tpurun {
namespace {

absl::Status Dump(const CompileOptions& options, const std::string& file, const std::string& text) {
  return options.dump ? options.dump(file, text) : absl::OkStatus();
}

BufferRef BufferOf(const MemoryPlan& memory, Value value) {
  return memory.values[value.node][value.result];
}

// The outfeed slot of an output. An output that never leaves the device has none.
int64_t OutfeedSlotOf(const Graph& graph, int output) {
  const auto begin = graph.outputs().begin();
  return std::count_if(begin, begin + output, [](const Output& o) { return o.period > 0; });
}

Instruction MakeInstruction(const Graph& graph, const Scheduled& scheduled,
                            const MemoryPlan& memory, size_t index) {
  Instruction instruction{.op = scheduled.call.op,
                          .attrs = scheduled.call.attrs,
                          .plan = scheduled.plan,
                          .scratch = memory.scratch[index],
                          .per_core = scheduled.partition.per_core,
                          .parts = scheduled.partition.parts,
                          .rows = scheduled.partition.rows,
                          .by_columns = scheduled.partition.by_columns,
                          .replicas_per_call = scheduled.partition.replicas_per_call,
                          .first_part = scheduled.partition.first_part};
  if (scheduled.node < 0) {
    const Output& output = graph.outputs()[scheduled.output];
    instruction.name = output.name + "/outfeed";
    instruction.origins = InPhase(graph.node(output.value).origins, NodeOrigin::Phase::kOutput);
    instruction.operands.push_back({BufferOf(memory, output.value), scheduled.call.operands[0]});
    instruction.results.push_back(
        {BufferRef{Space::kOutfeed, OutfeedSlotOf(graph, scheduled.output)},
         scheduled.call.results[0]});
    return instruction;
  }
  const Node& node = graph.nodes()[scheduled.node];
  instruction.name = node.name;
  instruction.origins = node.origins;
  for (const Value input : node.inputs) {
    Operand operand{BufferOf(memory, input), graph.shape(input)};
    const int copies = CopiesPerOperand(scheduled.call);
    const int first = ReplicasRead(node.attrs, graph.num_replicas()).first;
    for (int core = 0; core < copies; ++core) {
      const bool has_copies = operand.buffer.space != Space::kShared;
      if (copies > 1 && has_copies) operand.buffer.core = first + core;
      instruction.operands.push_back(operand);
    }
  }
  for (size_t result = 0; result < node.shapes.size(); ++result) {
    instruction.results.push_back({memory.values[node.id][result], node.shapes[result]});
  }
  return instruction;
}

std::vector<Phase>& PhasesOf(CoreProgram& program, const Scheduled& scheduled) {
  if (scheduled.section == Section::kPrologue) return program.prologue;
  if (scheduled.section == Section::kStep) return program.step;
  std::vector<PeriodicSection>& ranges = program.periodic;
  auto range = std::find_if(ranges.begin(), ranges.end(),
                            [&](const PeriodicSection& r) { return r.period >= scheduled.period; });
  if (range == ranges.end() || range->period != scheduled.period) {
    range = ranges.insert(range, PeriodicSection{.period = scheduled.period});
  }
  return scheduled.section == Section::kBefore ? range->before : range->after;
}

CoreProgram Emit(const Graph& graph, const Schedule& schedule, const MemoryPlan& memory,
                 const CompileOptions& options) {
  CoreProgram program{.name = graph.name(),
                      .num_replicas = graph.num_replicas(),
                      .first_replica = graph.replicas().first,
                      .all_replicas = graph.replicas().all,
                      .machine = options.machine.ToString(),
                      .library = options.library,
                      .variables = graph.variables(),
                      .infeed = graph.infeed(),
                      .shared_bytes = memory.shared_bytes,
                      .core_bytes = memory.core_bytes,
                      .worker_bytes = memory.worker_bytes};
  program.step.emplace_back();  // a step has at least one phase
  for (const Output& output : graph.outputs()) {
    if (output.period == 0) continue;
    const Shape& shape = graph.shape(output.value);
    program.outfeed.push_back({output.name, Shape{shape.dtype, shape.dims}, output.period});
  }
  for (size_t i = 0; i < schedule.instructions.size(); ++i) {
    const Scheduled& scheduled = schedule.instructions[i];
    std::vector<Phase>& phases = PhasesOf(program, scheduled);
    phases.resize(std::max<size_t>(phases.size(), scheduled.phase + 1));
    phases[scheduled.phase].instructions.push_back(MakeInstruction(graph, scheduled, memory, i));
    if (scheduled.node >= 0 && scheduled.node == schedule.loss_node)
      program.loss_phase = scheduled.phase;
  }
  if (!options.loss_output.empty()) {
    program.loss = BufferOf(memory, graph.outputs()[graph.FindOutput(options.loss_output)].value);
  }
  return program;
}

}  // namespace

std::vector<Pass> Passes(const PassOps& ops, const Machine& machine) {
  TPURUN_DCHECK(ops.fused != nullptr && ops.fused_rows != nullptr && ops.pack != nullptr &&
                ops.reshape != nullptr && ops.matmul != nullptr && ops.gather != nullptr &&
                ops.scatter_add != nullptr);
  const auto on_machine = [machine](auto pass) {
    return [=](const Graph& graph) { return pass(graph, machine); };
  };
  return {
      {"sink_gather", [=](const Graph& graph) { return SinkGather(graph, ops); }},
      {"dead_code", RemoveDeadCode},
      {"fold", FoldConstants},
      {"simplify", Simplify},
      {"cse", MergeEqualNodes},
      // removes the nodes that the three passes above left without readers
      {"dead_code", RemoveDeadCode},
      {"hoist_column_sums", HoistColumnSums},
      {"split_k", [=](const Graph& graph) { return SplitK(graph, *ops.reshape); }},
      {"per_core", MarkPerCoreVariables},  // before any kernel is asked for a plan (calls.h)
      {"fuse_allreduce_matmul", FuseAllReduceMatmul},
      {"epilogue", MakeBiasEpilogues},
      {"bfloat16_propagation", on_machine(PropagateBFloat16)},
      {"layout_assignment",
       [=](const Graph& graph) { return AssignLayouts(graph, *ops.pack, machine); }},
      {"fuse_elementwise", [=](const Graph& graph) { return FuseElementwise(graph, *ops.fused); }},
      {"fuse_rows", [=](const Graph& graph) { return FuseRows(graph, ops); }},
      {"input_output_alias", AliasInputsAndOutputs},
  };
}

namespace {

bool HasOrigins(const Graph& graph) {
  return std::none_of(graph.nodes().begin(), graph.nodes().end(),
                      [](const Node& node) { return node.origins.empty(); });
}

}  // namespace

absl::StatusOr<Graph> RunPasses(Graph graph, const std::vector<Pass>& passes,
                                const CompileOptions& options) {
  int number = 10;
  for (const Pass& pass : passes) {
    absl::StatusOr<Graph> result = pass.run(graph);
    if (!result.ok()) return Annotate(result.status(), absl::StrCat("pass ", pass.name));
    if (HasOrigins(graph) && !HasOrigins(*result))
      return absl::InternalError(absl::StrCat("pass ", pass.name, " loses the origins of a node"));
    graph = *std::move(result);
    RETURN_IF_ERROR(VerifyGraph(graph, absl::StrCat("pass ", pass.name)));
    RETURN_IF_ERROR(
        Dump(options, absl::StrFormat("%02d.%s.graph", number, pass.name), PrintGraph(graph)));
    ++number;
  }
  return graph;
}

absl::StatusOr<CoreProgram> Compile(Graph graph, const CompileOptions& options) {
  RETURN_IF_ERROR(VerifyGraph(graph, "building the model"));
  RETURN_IF_ERROR(Dump(options, "00.model.graph", PrintGraph(graph)));
  std::vector<Pass> passes = Passes(options.ops, options.machine);
  if (options.processes > 1) {
    // Behind sink_gather, which has to see sums over the replicas of all processes.
    passes.insert(passes.begin() + 1, {"partition_processes", [&](const Graph& all) {
                                         return PartitionProcesses(all, options.processes,
                                                                   options.process);
                                       }});
  }
  std::erase_if(passes, [&](const Pass& pass) {
    return std::count(options.disabled_passes.begin(), options.disabled_passes.end(), pass.name) >
           0;
  });
  ASSIGN_OR_RETURN(graph, RunPasses(std::move(graph), passes, options));
  ASSIGN_OR_RETURN(const Schedule schedule,
                   MakeSchedule(graph, options.machine, options.loss_output));
  const MemoryPlan memory = PlanMemory(graph, schedule);
  RETURN_IF_ERROR(Dump(options, "80.memory.plan", memory.text));
  CoreProgram program = Emit(graph, schedule, memory, options);
  RETURN_IF_ERROR(Dump(options, "90.core.program", PrintProgram(program)));
  RETURN_IF_ERROR(VerifyProgram(program));
  if (options.compiled) options.compiled(program);
  return program;
}

}  // namespace tpurun
