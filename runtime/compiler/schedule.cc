#include "runtime/compiler/schedule.h"

#include <algorithm>
#include <tuple>

#include "runtime/base/dcheck.h"
#include "runtime/base/status.h"
#include "runtime/compiler/assign_parts.h"
#include "runtime/compiler/calls.h"
#include "runtime/compiler/input_output_alias.h"
#include "runtime/compiler/node_periods.h"
#include "runtime/compiler/replication.h"
#include "runtime/compiler/rewrite.h"
#include "runtime/ir/structural.h"

namespace tpurun {
namespace {

class Scheduler {
 public:
  Scheduler(const Graph& graph, const Machine& machine)
      : graph_(graph), machine_(machine), calls_(graph) {}

  absl::StatusOr<Schedule> Run(const std::string& loss_output) {
    const size_t count = graph_.nodes().size();
    schedule_.per_core = calls_.per_core();
    schedule_.needed = calls_.needed();
    for (const Node& node : graph_.nodes())
      schedule_.updates_variable.emplace_back(node.shapes.size(), -1);
    for (const Update& update : graph_.updates())
      schedule_.updates_variable[update.value.node][update.value.result] = update.variable;
    for (const Update& update : graph_.updates()) {
      const Value before = WrittenOver(graph_, update);
      if (before.valid()) schedule_.updates_variable[before.node][before.result] = update.variable;
    }
    if (!loss_output.empty()) {
      const int output = graph_.FindOutput(loss_output);
      if (output < 0) return absl::InternalError("the graph has no output \"" + loss_output + "\"");
      schedule_.loss_node = graph_.outputs()[output].value.node;
    }
    prologue_ = PrologueNodes(graph_);
    carried_ = CarriedNodes(graph_);
    periods_ = FindNodePeriods(graph_);
    variable_uses_ = VariableUses(graph_);
    FindCarriedUses();
    FindLateSums();
    updated_by_.assign(graph_.variables().size(), -1);
    for (const Update& update : graph_.updates()) updated_by_[update.variable] = update.value.node;
    index_.assign(count, -1);
    schedule_.alias_of.resize(count);
    for (const Node& node : graph_.nodes()) {
      if (node.op->flags.source) continue;
      if (IsAlias(node)) {
        PlaceView(node);
      } else {
        Place(node);
      }
    }
    for (const Node& node : graph_.nodes()) {
      if (carried_[node.id]) PlaceForNextStep(node);
    }
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      if (graph_.outputs()[i].period > 0) PlaceOutfeed(static_cast<int>(i));
    }
    std::stable_sort(schedule_.instructions.begin(), schedule_.instructions.end(),
                     [](const Scheduled& a, const Scheduled& b) {
                       return std::tuple(a.section, a.period, a.phase) <
                              std::tuple(b.section, b.period, b.phase);
                     });
    TPURUN_DCHECK(IsInOrder());
    AssignParts(graph_, &schedule_);
    return std::move(schedule_);
  }

 private:
  // True if every instruction comes after the instructions that compute its operands.
  bool IsInOrder() const {
    std::vector<bool> computed(graph_.nodes().size(), false);
    for (const Scheduled& scheduled : schedule_.instructions) {
      if (scheduled.node < 0) continue;
      for (const Value input : graph_.nodes()[scheduled.node].inputs) {
        const Value alias_of = schedule_.alias_of[input.node];
        const int computing = alias_of.valid() ? alias_of.node : input.node;
        if (!graph_.nodes()[computing].op->flags.source && !computed[computing]) return false;
      }
      computed[scheduled.node] = true;
    }
    return true;
  }

  // True if the node has the bytes of its operand and may use their memory. The new value of a
  // variable and a value that the device reads at the end of a step need their own memory.
  bool IsAlias(const Node& node) const {
    if (!node.op->flags.is_bitcast || node.id == schedule_.loss_node) return false;
    const Value operand = node.inputs[0];
    const Shape &from = graph_.shape(operand), &to = node.shapes[0];
    // A batch stays in the infeed for the whole step.
    const bool in_memory =
        !graph_.node(operand).op->flags.source || graph_.node(operand).op == &InfeedOp();
    const auto is_updated = [&](Value value) {
      return schedule_.updates_variable[value.node][value.result] >= 0;
    };
    return from.dtype == to.dtype && from.layout.plain() && to.layout.plain() && in_memory &&
           !carried_[operand.node] && !is_updated({node.id, 0});
  }

  void PlaceView(const Node& node) {
    const Value operand = node.inputs[0], shown = schedule_.alias_of[operand.node];
    schedule_.alias_of[node.id] = shown.valid() ? shown : operand;
    index_[node.id] = index_[operand.node];
  }

  void FindCarriedUses() {
    carried_uses_.resize(graph_.nodes().size());
    for (const Node& reader : graph_.nodes()) {
      for (size_t i = 0; i < reader.inputs.size(); ++i) {
        const int read = reader.inputs[i].node;
        if (carried_[read]) carried_uses_[read].push_back({reader.id, static_cast<int>(i)});
      }
    }
  }

  // While the first half of the sums of a step, by bytes, goes from process to process, the second
  // half is computed, and while that one goes, the first is used. Large ones first: a process has
  // something to do meanwhile, and small ones share a message.
  void FindLateSums() {
    // One phase more costs about a microsecond, in which a fast network carries some KB.
    constexpr int64_t kLeastBytes = 1 << 20;
    struct Sum {
      int64_t bytes;
      int computed_by;
    };
    std::vector<Sum> sums;
    int64_t all_bytes = 0;
    for (const Node& node : graph_.nodes()) {
      const bool of_step = !prologue_[node.id] && periods_[node.id].period <= 1;
      if (node.op->flags.exchange != Exchange::kSum || !of_step) continue;
      sums.push_back({node.shapes[0].bytes(), node.inputs[0].node});
      all_bytes += sums.back().bytes;
    }
    late_.assign(graph_.nodes().size(), false);
    if (all_bytes < kLeastBytes) return;
    std::stable_sort(sums.begin(), sums.end(),
                     [](const Sum& a, const Sum& b) { return a.bytes > b.bytes; });
    const std::vector<int> reads = CountReads(graph_);
    int64_t bytes = 0;
    for (const Sum& sum : sums) {
      if (2 * bytes >= all_bytes) MarkLate(sum.computed_by, reads);
      bytes += sum.bytes;
    }
  }

  // A sum over replicas, or the products that are added to it (fuse_allreduce_matmul.h).
  void MarkLate(int node, const std::vector<int>& reads) {
    const std::vector<Value>& inputs = graph_.nodes()[node].inputs;
    const bool adds = graph_.nodes()[node].op == &AddOp() &&
                      std::all_of(inputs.begin(), inputs.end(),
                                  [&](Value input) { return reads[input.node] == 1; });
    if (!adds) {
      late_[node] = true;
      return;
    }
    for (const Value input : inputs) MarkLate(input.node, reads);
  }

  // Schedules after `other`, an instruction that writes an operand or that reads a value to
  // overwrite.
  static void After(const Scheduled& other, bool same_part, Scheduled* scheduled) {
    if (other.section != scheduled->section || other.period != scheduled->period) return;
    scheduled->phase = std::max(scheduled->phase, other.phase + (same_part ? 0 : 1));
  }

  void Place(const Node& node) {
    Scheduled scheduled{
        .node = node.id, .call = calls_.Of(node), .partition = calls_.PartitionOf(node)};
    scheduled.plan = PlanKernel(scheduled.call, machine_);
    const NodePeriod& period = periods_[node.id];
    scheduled.period = period.period;
    if (prologue_[node.id] || carried_[node.id]) {
      scheduled.section = Section::kPrologue;
    } else if (period.period > 1) {
      scheduled.section = period.before ? Section::kBefore : Section::kAfter;
    }
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const int producer = index_[node.inputs[i].node];
      if (producer < 0) continue;
      const Scheduled& writer = schedule_.instructions[producer];
      const bool own = ReadsOwnRows(scheduled.call, static_cast<int>(i), scheduled.partition.rows);
      const Value alias_of = schedule_.alias_of[node.inputs[i].node];
      const Shape& written = graph_.shape(alias_of.valid() ? alias_of : node.inputs[i]);
      After(writer, SamePartOf(written, writer.partition, scheduled.partition, own), &scheduled);
    }
    for (const int variable : schedule_.updates_variable[node.id]) {
      if (variable >= 0) AfterReadersOfVariable(variable, &scheduled);
    }
    if (late_[node.id]) ++scheduled.phase;
    index_[node.id] = static_cast<int>(schedule_.instructions.size());
    schedule_.instructions.push_back(std::move(scheduled));
  }

  // Schedules the recomputation of a loop-carried node after the updates of its variables and after
  // all readers of its value of this step.
  void PlaceForNextStep(const Node& node) {
    Scheduled again = schedule_.instructions[index_[node.id]];
    again.section = Section::kStep;
    again.for_next_step = true;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const bool own = ReadsOwnRows(again.call, static_cast<int>(i), again.partition.rows);
      const int variable =
          graph_.FindVariable(graph_.node(node.inputs[i]).attrs.String("variable"));
      const int updating = updated_by_[variable];
      if (updating < 0) continue;
      const Scheduled& writer = schedule_.instructions[index_[updating]];
      After(writer, SamePart(writer.partition, again.partition, own), &again);
    }
    for (const Use& use : carried_uses_[node.id]) AfterUse(use, &again);
    schedule_.instructions.push_back(std::move(again));
  }

  // A variable is overwritten after all its readers, and after the device has checked the loss.
  void AfterReadersOfVariable(int variable, Scheduled* writer) const {
    for (const Use& use : variable_uses_[variable]) AfterUse(use, writer);
    if (schedule_.loss_node >= 0 && index_[schedule_.loss_node] >= 0) {
      After(schedule_.instructions[index_[schedule_.loss_node]], false, writer);
    }
  }

  // Schedules after a node that reads a value that `writer` overwrites, if the node is scheduled.
  void AfterUse(const Use& use, Scheduled* writer) const {
    if (index_[use.node] < 0) return;
    const Scheduled& reader = schedule_.instructions[index_[use.node]];
    const bool own = ReadsOwnRows(reader.call, use.operand, reader.partition.rows);
    After(reader, SamePart(writer->partition, reader.partition, own), writer);
  }

  // Schedules the copy of an output into its outfeed slot, after the output's node.
  void PlaceOutfeed(int index) {
    const Output& output = graph_.outputs()[index];
    const Shape& shape = graph_.shape(output.value);
    const bool before = periods_[output.value.node].before;
    Scheduled scheduled{.output = index,
                        .section = before ? Section::kBefore : Section::kAfter,
                        .period = output.period};
    scheduled.call = OpCall{.op = &CopyOp(),
                            .operands = {shape},
                            .results = {Shape{shape.dtype, shape.dims}},
                            .needed = {true},
                            .num_replicas = graph_.num_replicas()};
    scheduled.plan = PlanKernel(scheduled.call, machine_);
    scheduled.partition =
        graph_.num_replicas() > 1 ? Partition{true, graph_.num_replicas(), 1} : Partition{};
    const int producer = index_[output.value.node];
    if (producer >= 0) {
      const Scheduled& writer = schedule_.instructions[producer];
      After(writer, SamePart(writer.partition, scheduled.partition, true), &scheduled);
    }
    schedule_.instructions.push_back(std::move(scheduled));
  }

  const Graph& graph_;
  const Machine& machine_;
  const Calls calls_;
  Schedule schedule_;
  std::vector<bool> prologue_, carried_;
  std::vector<bool> late_;  // [node]: computed a phase later than it could be
  std::vector<NodePeriod> periods_;
  std::vector<std::vector<Use>> variable_uses_, carried_uses_;  // [variable], [node]
  std::vector<int> updated_by_;  // [variable]: the updating node; -1: none
  // [node]: its instruction. For a loop-carried node, the first one. For an alias, the instruction
  // of the value that it aliases.
  std::vector<int> index_;
};

}  // namespace

absl::StatusOr<Schedule> MakeSchedule(const Graph& graph, const Machine& machine,
                                      const std::string& loss_output) {
  return Scheduler(graph, machine).Run(loss_output);
}

}  // namespace tpurun
