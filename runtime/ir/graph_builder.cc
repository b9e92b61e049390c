#include "runtime/ir/graph_builder.h"

#include "absl/strings/str_cat.h"
#include "runtime/ir/structural.h"

namespace tpurun {

GraphBuilder::GraphBuilder(Graph graph) : graph_(std::move(graph)) {
  reads_.resize(graph_.variables().size());
  for (const Node& node : graph_.nodes()) {
    if (node.op != &VariableOp()) continue;
    const int variable = graph_.FindVariable(node.attrs.String("variable"));
    if (variable >= 0 && !reads_[variable].valid()) reads_[variable] = Value{node.id, 0};
  }
}

Value GraphBuilder::Fail(absl::Status status) {
  if (status_.ok()) status_ = std::move(status);
  return Value{};
}

Value GraphBuilder::Add(const OpDef& op, std::vector<Value> inputs, Attrs attrs,
                        const std::string& label) {
  if (!status_.ok()) return Value{};
  std::string name =
      absl::StrCat(scope_, scope_.empty() ? "" : "/", label.empty() ? op.name : label);
  const int asked = names_[name]++;
  if (asked > 0) absl::StrAppend(&name, "_", asked);
  absl::StatusOr<Value> value =
      graph_.AddNode(op, std::move(inputs), std::move(attrs), std::move(name), origins_);
  if (!value.ok()) return Fail(value.status());
  return *value;
}

int GraphBuilder::AddVariable(Variable variable) {
  if (!status_.ok()) return -1;
  if (graph_.FindVariable(variable.name) >= 0) {
    Fail(absl::InvalidArgumentError(absl::StrCat("there is a variable \"", variable.name,
                                                 "\" already; give the layer another name")));
    return -1;
  }
  return graph_.AddVariable(std::move(variable));
}

Value GraphBuilder::Read(int variable) {
  if (!status_.ok() || variable < 0) return Value{};
  reads_.resize(graph_.variables().size());
  if (reads_[variable].valid()) return reads_[variable];
  const Variable& read = graph_.variables()[variable];
  Attrs attrs = {{"variable", read.name}, {"dtype", read.shape.dtype}, {"dims", read.shape.dims}};
  absl::StatusOr<Value> value =
      graph_.AddNode(VariableOp(), {}, std::move(attrs), read.name + "/read", origins_);
  if (!value.ok()) return Fail(value.status());
  return reads_[variable] = *value;
}

Origins GraphBuilder::OriginsOfUpdate(int variable) {
  const Value read = Read(variable);
  if (!read.valid()) return {};
  return InPhase(graph_.node(read).origins, NodeOrigin::Phase::kUpdate);
}

void GraphBuilder::Update(int variable, Value value) {
  if (!status_.ok() || variable < 0 || !value.valid()) return;
  absl::Status status = graph_.AddUpdate(variable, value);
  if (!status.ok()) Fail(std::move(status));
}

Value GraphBuilder::AddInfeed(const std::string& name, const Shape& shape) {
  if (!status_.ok()) return Value{};
  const int64_t slot = graph_.AddInfeed(InfeedSlot{name, shape});
  absl::StatusOr<Value> value =
      graph_.AddNode(InfeedOp(), {}, {{"slot", slot}, {"dtype", shape.dtype}, {"dims", shape.dims}},
                     name, origins_);
  if (!value.ok()) return Fail(value.status());
  return *value;
}

void GraphBuilder::MarkWeights(Value value) {
  const int slot = SlotOf(value);
  if (slot >= 0) graph_.SetIsWeight(slot);
}

void GraphBuilder::MarkIgnored(Value value, int64_t id) {
  const int slot = SlotOf(value);
  if (slot >= 0) graph_.SetIgnored(slot, id);
}

int GraphBuilder::SlotOf(Value value) const {
  if (!status_.ok() || !value.valid()) return -1;
  const Node& node = graph_.node(value);
  return node.op == &InfeedOp() ? static_cast<int>(node.attrs.Int("slot")) : -1;
}

}  // namespace tpurun
