#include "runtime/compiler/bfloat16_propagation.h"

#include <algorithm>

#include "runtime/base/status.h"
#include "runtime/compiler/replication.h"
#include "runtime/compiler/rewrite.h"
#include "runtime/ir/structural.h"

namespace tpurun {
namespace {

constexpr char kOut[] = "out";

class Storage {
 public:
  Storage(const Graph& graph, const Machine& machine)
      : graph_(graph), machine_(machine), per_core_(PerCoreNodes(graph)), rewrite_(graph) {}

  absl::StatusOr<Graph> Run() {
    const size_t count = graph_.nodes().size();
    rounds_.assign(count, 0);
    commutes_.assign(count, 0);
    sign_only_.assign(count, 0);
    const std::vector<bool> has_others = OtherResultsRead();
    for (const Node& node : graph_.nodes()) {
      if (node.op->flags.source) continue;
      const OpCall call = CallOf(graph_, node);
      const OpFlags flags = FlagsOf(call);
      commutes_[node.id] =
          WorksNarrow(call, flags.commutes) && !has_others[node.id] ? flags.commutes : 0;
      sign_only_[node.id] = flags.sign_only;
      if (flags.rounds != 0 && PlanKernel(call, machine_).narrow) rounds_[node.id] = flags.rounds;
    }
    FindNarrow();
    narrow_.assign(count, Value{});
    for (const Node& node : graph_.nodes()) RETURN_IF_ERROR(Emit(node));
    return rewrite_.Finish();
  }

 private:
  // The op is defined for bf16 in these operands.
  static bool WorksNarrow(const OpCall& call, uint32_t operands) {
    std::vector<Shape> shapes = call.operands;
    for (size_t i = 0; i < shapes.size(); ++i) {
      if (HasOperand(operands, static_cast<int>(i))) shapes[i].dtype = DType::kBF16;
    }
    return operands != 0 && call.op->infer_shape(shapes, call.attrs).ok();
  }

  // Of each node: whether a result beyond the first is read, which need not commute. Which element
  // is the largest of a window is another matter after rounding.
  std::vector<bool> OtherResultsRead() const {
    std::vector<bool> read(graph_.nodes().size(), false);
    const auto note = [&](Value value) {
      if (value.result > 0) read[value.node] = true;
    };
    for (const Node& node : graph_.nodes()) {
      for (const Value input : node.inputs) note(input);
    }
    for (const Output& output : graph_.outputs()) note(output.value);
    for (const Update& update : graph_.updates()) note(update.value);
    return read;
  }

  // Result 0 of these nodes is read by nobody in f32, and by somebody rounded.
  void FindNarrow() {
    const size_t count = graph_.nodes().size();
    stored_narrow_.assign(count, false);
    std::vector<int> wide_reads(count, 0);
    rounded_reads_.assign(count, 0);
    for (const Output& output : graph_.outputs()) ++wide_reads[output.value.node];
    for (const Update& update : graph_.updates()) ++wide_reads[update.value.node];
    for (size_t id = count; id-- > 0;) {
      const Node& node = graph_.nodes()[id];
      stored_narrow_[id] = wide_reads[id] == 0 && rounded_reads_[id] > 0 &&
                           node.shapes[0].dtype == DType::kF32 && !node.op->flags.source;
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        const Value input = node.inputs[i];
        if (input.result != 0) continue;
        if (TakesNarrow(node, static_cast<int>(i))) {
          ++rounded_reads_[input.node];
        } else if (!HasOperand(sign_only_[id], static_cast<int>(i))) {
          ++wide_reads[input.node];
        }
      }
    }
  }

  bool TakesNarrow(const Node& node, int operand) const {
    return HasOperand(rounds_[node.id], operand) ||
           (stored_narrow_[node.id] && HasOperand(commutes_[node.id], operand));
  }

  absl::StatusOr<Value> Narrowed(const Node& node, Value value) {
    return rewrite_.graph.AddNode(ConvertOp(), {value}, {{"dtype", DType::kBF16}},
                                  node.name + "/bf16");
  }

  // True when the node computes its result in bf16 because its operands come so.
  bool PassesOn(const Node& node) const {
    if (!stored_narrow_[node.id]) return false;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (HasOperand(commutes_[node.id], static_cast<int>(i)) &&
          narrow_[node.inputs[i].node].valid() && node.inputs[i].result == 0) {
        return true;
      }
    }
    return false;
  }

  // The node's attributes with a bf16 result, when its kernel stays one that does that for less.
  bool CanRound(const Node& node, Attrs* attrs) const {
    const auto& known = node.op->attrs;
    if (std::none_of(known.begin(), known.end(),
                     [](const AttrDef& attr) { return attr.name == kOut; })) {
      return false;
    }
    OpCall call = CallOf(graph_, node);
    call.attrs.Set(kOut, DType::kBF16);
    const auto shapes = node.op->infer_shape(call.operands, call.attrs);
    if (!shapes.ok()) return false;
    call.results = *shapes;
    *attrs = call.attrs;
    return PlanKernel(call, machine_).narrow;
  }

  absl::Status Emit(const Node& node) {
    const bool passes_on = PassesOn(node);
    std::vector<Value> operands;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const int operand = static_cast<int>(i);
      const Value input = node.inputs[i];
      const Value narrow = input.result == 0 ? narrow_[input.node] : Value{};
      const bool commutes = passes_on && HasOperand(commutes_[node.id], operand);
      const bool rounded = HasOperand(rounds_[node.id], operand) || commutes;
      const Value wide = rewrite_.At(input);
      if (narrow.valid() && (rounded || !wide.valid())) {
        operands.push_back(narrow);
      } else if (commutes) {
        ASSIGN_OR_RETURN(const Value converted, Narrowed(node, wide));
        operands.push_back(converted);
      } else {
        operands.push_back(wide);
      }
    }
    Attrs attrs = node.attrs;
    const bool rounds = stored_narrow_[node.id] && !passes_on && CanRound(node, &attrs);
    ASSIGN_OR_RETURN(const Value value,
                     rewrite_.graph.AddNode(*node.op, std::move(operands), attrs, node.name));
    rewrite_.Map(node, value.node);
    if (passes_on || rounds) {
      narrow_[node.id] = value;
      rewrite_.map[node.id][0] = Value{};
      return absl::OkStatus();
    }
    // A value that all cores share would be converted before a barrier of its own.
    const bool local = graph_.num_replicas() == 1 || per_core_[node.id];
    const bool worth = stored_narrow_[node.id] || rounded_reads_[node.id] > 1;
    if (!worth || !local || node.shapes[0].dtype != DType::kF32) return absl::OkStatus();
    ASSIGN_OR_RETURN(narrow_[node.id], Narrowed(node, value));
    return absl::OkStatus();
  }

  const Graph& graph_;
  const Machine& machine_;
  const std::vector<bool> per_core_;
  Rewrite rewrite_;
  std::vector<uint32_t> rounds_, commutes_, sign_only_;  // per node, operands; see OpFlags
  std::vector<bool> stored_narrow_;
  std::vector<int> rounded_reads_;  // of result 0
  std::vector<Value> narrow_;       // of the new graph: result 0 in bf16
};

}  // namespace

absl::StatusOr<Graph> PropagateBFloat16(const Graph& graph, const Machine& machine) {
  return Storage(graph, machine).Run();
}

}  // namespace tpurun
