// GraphBuilder: appends to a graph with a name scope and a sticky error, so that formulas read as
// formulas. After the first error every call returns an invalid Value and changes nothing. The
// caller checks status() once, at the end of a layer or of a list of calls.
#ifndef TPURUN_RUNTIME_IR_GRAPH_BUILDER_H_
#define TPURUN_RUNTIME_IR_GRAPH_BUILDER_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "runtime/base/dcheck.h"
#include "runtime/ir/graph.h"

namespace tpurun {

class GraphBuilder {
 public:
  explicit GraphBuilder(Graph graph);

  const absl::Status& status() const { return status_; }
  // Sets the error unless there is one. Returns an invalid Value, for `return b.Fail(...)`.
  Value Fail(absl::Status status);

  // Returns the only result, or result 0, of a new node. `label` is the last part of the node's
  // name; the scope and a number for uniqueness are added ("hidden_1/MatMul"). Empty: the op's
  // name.
  Value Add(const OpDef& op, std::vector<Value> inputs, Attrs attrs = {},
            const std::string& label = "");

  // New variables are shared by all cores. A name that already exists is an error. Returns the
  // index of the variable, or -1 after an error.
  int AddVariable(Variable variable);
  // The variable's value at the start of the step. Every read of a variable returns the same node.
  Value Read(int variable);
  // The layers that read the variable, in the phase kUpdate: the origins of its update.
  Origins OriginsOfUpdate(int variable);
  // A second update of a variable is an error.
  void Update(int variable, Value value);
  // Adds an infeed slot and returns the node that reads it.
  Value AddInfeed(const std::string& name, const Shape& shape);
  // The slot of the value, if it has one, feeds ids of which one is no class: InfeedSlot::ignored.
  void MarkIgnored(Value value, int64_t id);
  // The slot of the value, if it has one, feeds weights: InfeedSlot::is_weight.
  void MarkWeights(Value value);
  void AddOutput(const std::string& name, Value value, int64_t period = 1) {
    graph_.AddOutput(name, value, period);
  }

  const Shape& shape(Value value) const { return graph_.shape(value); }
  const Graph& graph() const { return graph_; }
  // Returns the graph; the builder is empty afterwards. Check status() first.
  Graph Take() { return std::move(graph_); }

  // "a/b"; names of new nodes start with it.
  const std::string& scope() const { return scope_; }
  void set_scope(std::string scope) { scope_ = std::move(scope); }
  // The origins of new nodes.
  const Origins& origins() const { return origins_; }
  void set_origins(Origins origins) { origins_ = std::move(origins); }

 private:
  // The slot that the value reads, or -1.
  int SlotOf(Value value) const;

  Graph graph_;
  absl::Status status_;
  std::string scope_;
  Origins origins_;
  std::vector<Value> reads_;          // by variable; invalid if not read yet
  std::map<std::string, int> names_;  // how often each full label was requested
};

// Sets a scope for the lifetime of this object: ScopedName scope(b, "gradients").
class ScopedName {
 public:
  ScopedName(GraphBuilder& b, const std::string& name)
      : b_(b), outer_(b.scope()), inner_(outer_.empty() ? name : outer_ + "/" + name) {
    b.set_scope(inner_);
  }
  ~ScopedName() {
    // Scopes end in the opposite order of their begin.
    TPURUN_DCHECK(b_.scope() == inner_);
    b_.set_scope(outer_);
  }
  ScopedName(const ScopedName&) = delete;
  ScopedName& operator=(const ScopedName&) = delete;

 private:
  GraphBuilder& b_;
  const std::string outer_, inner_;
};

// Sets the origins of new nodes for the lifetime of this object.
class ScopedOrigins {
 public:
  ScopedOrigins(GraphBuilder& b, Origins origins) : b_(b), outer_(b.origins()) {
    b.set_origins(std::move(origins));
  }
  ScopedOrigins(GraphBuilder& b, std::string layer, NodeOrigin::Phase phase)
      : ScopedOrigins(b, Origins{{std::move(layer), phase}}) {}
  ~ScopedOrigins() { b_.set_origins(outer_); }
  ScopedOrigins(const ScopedOrigins&) = delete;
  ScopedOrigins& operator=(const ScopedOrigins&) = delete;

 private:
  GraphBuilder& b_;
  const Origins outer_;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IR_GRAPH_BUILDER_H_
