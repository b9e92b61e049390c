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
      bf16_.emplace_back(node.shapes.size());
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
  // Converts of the graph itself: IsStore is f32 -> bf16, where a value is stored. IsRead is bf16
  // -> f32, where the values are read.
  bool IsStore(const Node& node) const {
    return node.op == &ConvertOp() && node.shapes[0].dtype == DType::kBF16 &&
           graph_.shape(node.inputs[0]).dtype == DType::kF32;
  }
  bool IsRead(const Node& node) const {
    return node.op == &ConvertOp() && node.shapes[0].dtype == DType::kF32 &&
           graph_.shape(node.inputs[0]).dtype == DType::kBF16;
  }
  bool IsRead(Value value) const { return IsRead(graph_.node(value)); }
  // True if operand 0 is a value that is stored in bf16: no additional rounding is needed.
  bool ReadsStored(const Node& node) const { return IsRead(node.inputs[0]); }
  // True if the operand may be bf16 with any kernel (OpDef, "How values are stored").
  bool ReadsNumbers(const Node& node, Value input) const {
    return !node.op->flags.any_dtype && !node.op->flags.source && IsRead(input);
  }

  // The same call with the given operands in bf16.
  static OpCall BF16Bits(OpCall call, uint32_t operands) {
    for (size_t i = 0; i < call.operands.size(); ++i) {
      if (HasOperand(operands, static_cast<int>(i))) call.operands[i].dtype = DType::kBF16;
    }
    return call;
  }

  // True if the op is defined for bf16 in these operands.
  static bool WorksInBF16(const OpCall& call, uint32_t operands) {
    return operands != 0 && call.op->flags.any_dtype &&
           InferShapes(*call.op, BF16Bits(call, operands).operands, call.attrs).ok();
  }

  bool IsBF16(const OpCall& call) const { return PlanKernel(call, machine_).native_bf16; }

  // True if a result beyond the first is read. Such a result need not commute with rounding:
  // rounding can change which element of a window is the largest.
  bool OthersNeeded(const Node& node) const {
    const std::vector<bool>& needed = calls_.needed()[node.id];
    return std::count(needed.begin() + 1, needed.end(), true) > 0;
  }

  // Finds the values that no reader needs in f32 and that at least one reader rounds.
  void FindBF16() {
    for (const Node& node : graph_.nodes()) {
      stored_bf16_.emplace_back(node.shapes.size(), false);
      f32_reads_.emplace_back(node.shapes.size(), 0);
    }
    rounded_reads_ = f32_reads_;
    const auto read_wide = [&](Value value) { ++f32_reads_[value.node][value.result]; };
    for (const Output& output : graph_.outputs()) read_wide(output.value);
    for (const Update& update : graph_.updates()) read_wide(update.value);
    for (size_t id = graph_.nodes().size(); id-- > 0;) {
      const Node& node = graph_.nodes()[id];
      for (size_t i = 0; i < node.shapes.size(); ++i) {
        stored_bf16_[id][i] = f32_reads_[id][i] == 0 && rounded_reads_[id][i] > 0 &&
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
           (stored_bf16_[node.id][0] && HasOperand(commutes_[node.id], operand));
  }

  absl::StatusOr<Value> RoundedToBF16(const Node& node, Value value) {
    return rewrite_.graph.AddNode(ConvertOp(), {value}, {{"dtype", DType::kBF16}},
                                  node.name + "/bf16", node.origins);
  }

  // The bf16 value in the new graph, or invalid if there is none.
  Value BF16At(Value value) const { return bf16_[value.node][value.result]; }

  // True if the node computes result 0 in bf16, because an operand is already bf16 or can be
  // converted at a lower cost: it has fewer elements than the result.
  bool PassesOn(const Node& node) const {
    if (!stored_bf16_[node.id][0]) return false;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!HasOperand(commutes_[node.id], static_cast<int>(i))) continue;
      const Value input = node.inputs[i];
      const bool fewer =
          graph_.shape(input).num_elements() < node.shapes[0].num_elements() && IsLocal(input.node);
      if (fewer || BF16At(input).valid()) return true;
    }
    return false;
  }

  // False for a value that all cores share: its conversion would need its own barrier.
  bool IsLocal(int node) const { return graph_.num_replicas() == 1 || calls_.per_core()[node]; }

  // True if result 0 can be bf16, in one of three cases. The kernel for the operands in the new
  // graph still writes bf16 natively, which is cheaper. The op has no kernels of its own, so the
  // result is rounded tile by tile (bf16_conversion.h). The graph itself stores the result in bf16.
  // Sets *attrs to the node's attributes with a bf16 result 0.
  bool CanRound(const Node& node, const std::vector<Value>& operands, Attrs* attrs) const {
    if (node.op->flags.any_dtype || node.op->flags.source) return false;
    OpCall call = calls_.Of(node);
    for (size_t i = 0; i < operands.size(); ++i)
      call.operands[i] = rewrite_.graph.shape(operands[i]);
    call.attrs.Set(kStoredIn, DType::kBF16);
    const auto shapes = InferShapes(*node.op, call.operands, call.attrs);
    if (!shapes.ok()) return false;
    call.results = *shapes;
    if (!stored_[node.id] && !node.op->kernels.empty() && !IsBF16(call)) return false;
    *attrs = call.attrs;
    return true;
  }

  // Uses the bf16 value of the node that computes the operand, if there is one.
  absl::Status EmitStore(const Node& node) {
    const Value bf16 = BF16At(node.inputs[0]);
    if (!bf16.valid()) return rewrite_.Copy(node);
    rewrite_.map[node.id][0] = bf16;
    return absl::OkStatus();
  }

  // The f32 values are in the new graph only if a reader needs them.
  absl::Status EmitRead(const Node& node) {
    bf16_[node.id][0] = rewrite_.At(node.inputs[0]);
    return f32_reads_[node.id][0] > 0 ? rewrite_.Copy(node) : absl::OkStatus();
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
    const bool rounds = stored_bf16_[node.id][0] && !passes_on && CanRound(node, operands, &attrs);
    ASSIGN_OR_RETURN(const Value value, rewrite_.graph.AddNode(*node.op, std::move(operands), attrs,
                                                               node.name, node.origins));
    rewrite_.Map(node, value.node);
    if (passes_on || rounds) {
      bf16_[node.id][0] = value;
      rewrite_.map[node.id][0] = Value{};
    }
    for (size_t result = 0; result < node.shapes.size(); ++result) {
      if (!WorthConverting(node, result) || bf16_[node.id][result].valid()) continue;
      ASSIGN_OR_RETURN(bf16_[node.id][result],
                       RoundedToBF16(node, Value{value.node, static_cast<int>(result)}));
    }
    return absl::OkStatus();
  }

  bool WorthConverting(const Node& node, size_t result) const {
    const bool worth = stored_bf16_[node.id][result] || rounded_reads_[node.id][result] > 1;
    return worth && IsLocal(node.id) && node.shapes[result].dtype == DType::kF32;
  }

  const Graph& graph_;
  const Machine& machine_;
  const Calls calls_;
  Rewrite rewrite_;
  std::vector<uint32_t> rounds_, commutes_, sign_only_;  // [node]: sets of operands; see OpFlags
  std::vector<bool> stored_;  // [node]: true if the graph itself stores result 0 in bf16
  // [node][result]
  std::vector<std::vector<bool>> stored_bf16_;
  std::vector<std::vector<int>> f32_reads_, rounded_reads_;
  std::vector<std::vector<Value>> bf16_;  // [node][result]: the bf16 value in the new graph
};

}  // namespace

absl::StatusOr<Graph> PropagateBFloat16(const Graph& graph, const Machine& machine) {
  return Storage(graph, machine).Run();
}

}  // namespace tpurun
