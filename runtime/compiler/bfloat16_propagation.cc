#include "runtime/compiler/bfloat16_propagation.h"

#include <algorithm>

#include "runtime/base/status.h"
#include "runtime/compiler/calls.h"
#include "runtime/compiler/rewrite.h"
#include "runtime/ir/structural.h"

namespace tpurun {
namespace {

class Storage {
 public:
  Storage(const Graph& graph, const Machine& machine)
      : graph_(graph), machine_(machine), calls_(graph), rewrite_(graph) {}

  absl::StatusOr<Graph> Run() {
    const size_t count = graph_.nodes().size();
    rounds_.assign(count, 0);
    commutes_.assign(count, 0);
    sign_only_.assign(count, 0);
    stored_.assign(count, false);
    for (const Node& node : graph_.nodes()) {
      narrow_.emplace_back(node.shapes.size());
      if (node.op->flags.source) continue;
      if (IsRead(node)) continue;
      if (IsStore(node)) {
        rounds_[node.id] = 1u << 0;
        if (node.inputs[0].result == 0) stored_[node.inputs[0].node] = true;
        continue;
      }
      const OpCall call = calls_.Of(node);
      const OpFlags flags = OpFlagsOf(call);
      if (WorksInBF16(call, flags.commutes) && (!OthersNeeded(node) || ReadsStored(node))) {
        commutes_[node.id] = flags.commutes;
      }
      sign_only_[node.id] = flags.sign_only;
      if (flags.rounds != 0 && IsBF16(BF16Bits(call, flags.rounds))) {
        rounds_[node.id] = flags.rounds;
      }
    }
    FindBF16();
    for (const Node& node : graph_.nodes()) RETURN_IF_ERROR(Emit(node));
    return rewrite_.Finish();
  }

 private:
  // The graph's own words for what is stored in bf16: f32 -> bf16 where a value is stored, bf16 ->
  // f32 where its numbers are read.
  bool IsStore(const Node& node) const {
    return node.op == &ConvertOp() && node.shapes[0].dtype == DType::kBF16 &&
           graph_.shape(node.inputs[0]).dtype == DType::kF32;
  }
  bool IsRead(const Node& node) const {
    return node.op == &ConvertOp() && node.shapes[0].dtype == DType::kF32 &&
           graph_.shape(node.inputs[0]).dtype == DType::kBF16;
  }
  bool IsRead(Value value) const { return IsRead(graph_.node(value)); }
  // Operand 0 is a value stored in bf16: nothing is rounded that was not.
  bool ReadsStored(const Node& node) const { return IsRead(node.inputs[0]); }
  // The operand may be stored in bf16, whatever the kernel (OpDef, "What a value is stored in").
  bool ReadsNumbers(const Node& node, Value input) const {
    return !node.op->flags.any_dtype && !node.op->flags.source && IsRead(input);
  }

  // The call with these operands in bf16.
  static OpCall BF16Bits(OpCall call, uint32_t operands) {
    for (size_t i = 0; i < call.operands.size(); ++i) {
      if (HasOperand(operands, static_cast<int>(i))) call.operands[i].dtype = DType::kBF16;
    }
    return call;
  }

  // The op is defined for bf16 in these operands.
  static bool WorksInBF16(const OpCall& call, uint32_t operands) {
    return operands != 0 && call.op->flags.any_dtype &&
           InferShapes(*call.op, BF16Bits(call, operands).operands, call.attrs).ok();
  }

  bool IsBF16(const OpCall& call) const { return PlanKernel(call, machine_).native_bf16; }

  // A result beyond the first, which need not commute, is read. Which element is the largest of a
  // window is another matter after rounding.
  bool OthersNeeded(const Node& node) const {
    const std::vector<bool>& needed = calls_.needed()[node.id];
    return std::count(needed.begin() + 1, needed.end(), true) > 0;
  }

  // Finds the values that nobody reads in f32, and somebody rounded.
  void FindBF16() {
    for (const Node& node : graph_.nodes()) {
      stored_narrow_.emplace_back(node.shapes.size(), false);
      wide_reads_.emplace_back(node.shapes.size(), 0);
    }
    rounded_reads_ = wide_reads_;
    const auto read_wide = [&](Value value) { ++wide_reads_[value.node][value.result]; };
    for (const Output& output : graph_.outputs()) read_wide(output.value);
    for (const Update& update : graph_.updates()) read_wide(update.value);
    for (size_t id = graph_.nodes().size(); id-- > 0;) {
      const Node& node = graph_.nodes()[id];
      for (size_t i = 0; i < node.shapes.size(); ++i) {
        stored_narrow_[id][i] = wide_reads_[id][i] == 0 && rounded_reads_[id][i] > 0 &&
                                node.shapes[i].dtype == DType::kF32 && !node.op->flags.source;
      }
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        const Value input = node.inputs[i];
        if (TakesBF16(node, static_cast<int>(i))) {
          ++rounded_reads_[input.node][input.result];
        } else if (!HasOperand(sign_only_[id], static_cast<int>(i)) && !ReadsNumbers(node, input)) {
          read_wide(input);
        }
      }
    }
  }

  bool TakesBF16(const Node& node, int operand) const {
    return HasOperand(rounds_[node.id], operand) ||
           (stored_narrow_[node.id][0] && HasOperand(commutes_[node.id], operand));
  }

  absl::StatusOr<Value> RoundedToBF16(const Node& node, Value value) {
    return rewrite_.graph.AddNode(ConvertOp(), {value}, {{"dtype", DType::kBF16}},
                                  node.name + "/bf16");
  }

  // In the new graph, in bf16; invalid: it is not there so.
  Value BF16At(Value value) const { return narrow_[value.node][value.result]; }

  // True when the node computes result 0 in bf16 because an operand comes so, or is converted: it
  // has fewer elements than the result.
  bool PassesOn(const Node& node) const {
    if (!stored_narrow_[node.id][0]) return false;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!HasOperand(commutes_[node.id], static_cast<int>(i))) continue;
      const Value input = node.inputs[i];
      const bool fewer =
          graph_.shape(input).num_elements() < node.shapes[0].num_elements() && IsLocal(input.node);
      if (fewer || BF16At(input).valid()) return true;
    }
    return false;
  }

  // A value that all cores share would be converted before a barrier of its own.
  bool IsLocal(int node) const { return graph_.num_replicas() == 1 || calls_.per_core()[node]; }

  // The node's attributes with a bf16 result 0, when its kernel, on its operands in the new graph,
  // stays one that does that for less, when it has none of its own and is rounded a tile at a time
  // (bf16_conversion.h), or when the graph itself says that it is stored so.
  bool CanRound(const Node& node, const std::vector<Value>& operands, Attrs* attrs) const {
    if (node.op->flags.any_dtype || node.op->flags.source) return false;
    OpCall call = calls_.Of(node);
    for (size_t i = 0; i < operands.size(); ++i)
      call.operands[i] = rewrite_.graph.shape(operands[i]);
    call.attrs.Set(kStoredIn, DType::kBF16);
    const auto shapes = InferShapes(*node.op, call.operands, call.attrs);
    if (!shapes.ok()) return false;
    call.results = *shapes;
    if (!stored_[node.id] && node.op->plan && !IsBF16(call)) return false;
    *attrs = call.attrs;
    return true;
  }

  // The bf16 value is that of the node that computes it, where there is one.
  absl::Status EmitStore(const Node& node) {
    const Value bf16 = BF16At(node.inputs[0]);
    if (!bf16.valid()) return rewrite_.Copy(node);
    rewrite_.map[node.id][0] = bf16;
    return absl::OkStatus();
  }

  // The numbers in f32 are there only if somebody wants them so.
  absl::Status EmitRead(const Node& node) {
    narrow_[node.id][0] = rewrite_.At(node.inputs[0]);
    return wide_reads_[node.id][0] > 0 ? rewrite_.Copy(node) : absl::OkStatus();
  }

  absl::Status Emit(const Node& node) {
    if (IsStore(node)) return EmitStore(node);
    if (IsRead(node)) return EmitRead(node);
    const bool passes_on = PassesOn(node);
    std::vector<Value> operands;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const int operand = static_cast<int>(i);
      const Value input = node.inputs[i];
      const Value bf16 = BF16At(input);
      const bool commutes = passes_on && HasOperand(commutes_[node.id], operand);
      const bool rounded = HasOperand(rounds_[node.id], operand) || commutes;
      const Value f32 = rewrite_.At(input);
      if (bf16.valid() && (rounded || !f32.valid() || ReadsNumbers(node, input))) {
        operands.push_back(bf16);
      } else if (commutes) {
        ASSIGN_OR_RETURN(const Value converted, RoundedToBF16(node, f32));
        operands.push_back(converted);
      } else {
        operands.push_back(f32);
      }
    }
    Attrs attrs = node.attrs;
    const bool rounds =
        stored_narrow_[node.id][0] && !passes_on && CanRound(node, operands, &attrs);
    ASSIGN_OR_RETURN(const Value value,
                     rewrite_.graph.AddNode(*node.op, std::move(operands), attrs, node.name));
    rewrite_.Map(node, value.node);
    if (passes_on || rounds) {
      narrow_[node.id][0] = value;
      rewrite_.map[node.id][0] = Value{};
    }
    for (size_t result = 0; result < node.shapes.size(); ++result) {
      if (!WorthConverting(node, result) || narrow_[node.id][result].valid()) continue;
      ASSIGN_OR_RETURN(narrow_[node.id][result],
                       RoundedToBF16(node, Value{value.node, static_cast<int>(result)}));
    }
    return absl::OkStatus();
  }

  bool WorthConverting(const Node& node, size_t result) const {
    const bool worth = stored_narrow_[node.id][result] || rounded_reads_[node.id][result] > 1;
    return worth && IsLocal(node.id) && node.shapes[result].dtype == DType::kF32;
  }

  const Graph& graph_;
  const Machine& machine_;
  const Calls calls_;
  Rewrite rewrite_;
  std::vector<uint32_t> rounds_, commutes_, sign_only_;  // per node, operands; see OpFlags
  std::vector<bool> stored_;  // per node: result 0 is stored in bf16 by the graph's own words
  // Per node and result.
  std::vector<std::vector<bool>> stored_narrow_;
  std::vector<std::vector<int>> wide_reads_, rounded_reads_;
  std::vector<std::vector<Value>> narrow_;  // of the new graph: in bf16
};

}  // namespace

absl::StatusOr<Graph> PropagateBFloat16(const Graph& graph, const Machine& machine) {
  return Storage(graph, machine).Run();
}

}  // namespace tpurun
