#include "runtime/ir/evaluate.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/dcheck.h"
#include "runtime/base/status.h"
#include "runtime/ir/structural.h"

namespace tpurun {
namespace {

using PerReplica = std::vector<std::vector<Literal>>;  // [replica][result]

absl::StatusOr<Literal> SourceValue(const Graph& graph, const Node& node, const EvaluateArgs& args,
                                    int replica) {
  if (node.op == &InfeedOp()) {
    const size_t slot = node.attrs.Int("slot");
    if (slot >= args.infeed.size() || replica >= static_cast<int>(args.infeed[slot].size()) ||
        !(args.infeed[slot][replica].shape() == node.shapes[0])) {
      return absl::InvalidArgumentError(absl::StrCat("infeed slot ", slot, " of replica ", replica,
                                                     ": want ", node.shapes[0].ToString()));
    }
    return args.infeed[slot][replica];
  }
  if (node.op == &VariableOp()) {
    const Variable& variable = graph.variables()[graph.FindVariable(node.attrs.String("variable"))];
    const auto found = args.variables.find(variable.name);
    if (found == args.variables.end() || found->second.empty()) {
      if (variable.scope == Variable::Scope::kState) return Literal(variable.shape);
      return absl::InvalidArgumentError(
          absl::StrCat("variable \"", variable.name, "\" has no value"));
    }
    return found->second[variable.per_core ? replica : 0];
  }
  if (node.op == &ReplicaIdOp()) return Literal::Scalar<int32_t>(graph.replicas().first + replica);
  return Literal::Scalar<int32_t>(args.loop_index);
}

// The interpreter uses values without their memory layout.
Shape Plain(const Shape& shape) { return Shape{shape.dtype, shape.dims}; }

absl::Status RunNode(const Graph& graph, const Node& node, const std::vector<PerReplica>& values,
                     PerReplica& results) {
  const ReplicasOfCall read = ReplicasRead(node.attrs, graph.num_replicas());
  OpCall call{.op = node.op, .attrs = node.attrs, .num_replicas = read.count};
  for (const Value input : node.inputs) call.operands.push_back(Plain(graph.shape(input)));
  for (const Shape& shape : node.shapes) call.results.push_back(Plain(shape));
  call.needed.assign(node.shapes.size(), true);
  // Every op except the sources has a reference kernel.
  TPURUN_DCHECK(node.op->reference != nullptr);
  const std::unique_ptr<Kernel> kernel = MakeReference(call);
  Literal scratch(Shape{DType::kU8, {ReferenceScratchBytes(call)}});
  for (int replica = 0; replica < graph.num_replicas(); ++replica) {
    std::vector<const void*> operands;
    std::vector<void*> outputs;
    for (const Shape& shape : call.results) results[replica].emplace_back(shape);
    for (Literal& literal : results[replica]) outputs.push_back(literal.data());
    for (const Value input : node.inputs) {
      if (!node.op->flags.collective) {
        operands.push_back(values[input.node][replica][input.result].data());
        continue;
      }
      for (int copy = read.first; copy < read.first + read.count; ++copy)
        operands.push_back(values[input.node][copy][input.result].data());
    }
    const KernelArgs args{.operands = operands.data(),
                          .results = outputs.data(),
                          .scratch = scratch.data(),
                          .begin = 0,
                          .end = Units(call)};
    RETURN_IF_ERROR(Annotate(kernel->Run(args), absl::StrCat("node \"", node.name, "\"")));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<EvaluateResult> Evaluate(const Graph& graph, const EvaluateArgs& args) {
  std::vector<PerReplica> values(graph.nodes().size());
  for (const Node& node : graph.nodes()) {
    PerReplica& results = values[node.id];
    results.resize(graph.num_replicas());
    if (node.op->flags.source) {
      for (int replica = 0; replica < graph.num_replicas(); ++replica) {
        ASSIGN_OR_RETURN(Literal value, SourceValue(graph, node, args, replica));
        results[replica].push_back(std::move(value));
      }
    } else {
      RETURN_IF_ERROR(RunNode(graph, node, values, results));
    }
    if (args.observe && !args.observe(node, results)) return EvaluateResult{};
  }
  EvaluateResult result;
  result.variables = args.variables;
  const auto take = [&](Value value, int copies) {
    std::vector<Literal> literals;
    for (int replica = 0; replica < copies; ++replica)
      literals.push_back(values[value.node][replica][value.result]);
    return literals;
  };
  for (const Output& output : graph.outputs())
    result.outputs.push_back(take(output.value, graph.num_replicas()));
  for (const Update& update : graph.updates()) {
    const Variable& variable = graph.variables()[update.variable];
    std::vector<Literal>& copies = result.variables[variable.name];
    copies = take(update.value, variable.per_core ? graph.num_replicas() : 1);
    for (Literal& copy : copies) copy = copy.Reshaped(variable.shape.dims);
  }
  return result;
}

}  // namespace tpurun
