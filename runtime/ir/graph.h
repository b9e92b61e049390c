// Graph: a static-shape, append-only list of nodes in topological order (operands come before their
// users), with the infeed slots, variables, outputs and variable updates that tie it to the host.
// In a graph of 8 replicas every shape is one replica's.
#ifndef TPURUN_RUNTIME_IR_GRAPH_H_
#define TPURUN_RUNTIME_IR_GRAPH_H_

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "absl/status/status.h"
#include "runtime/base/dcheck.h"
#include "runtime/ir/attrs.h"
#include "runtime/ir/op_def.h"
#include "runtime/ir/shape.h"

namespace tpurun {

struct Node {
  int id = 0;  // its index in Graph::nodes
  const OpDef* op = nullptr;
  std::vector<Value> inputs;
  Attrs attrs;
  std::vector<Shape> shapes;  // one a result
  std::string name;           // scoped, as TensorFlow would: "hidden_1/MatMul"; may be empty
};

// What the host feeds once a step.
struct InfeedSlot {
  std::string name;
  Shape shape;  // one replica's share: the leading dimension is the replica's batch
};

// How a new variable is filled. Element i is drawn from stream StreamOf(variable name).
struct Initializer {
  // kOrthogonal: (..., C) seen as a matrix with C columns, whose rows or columns, whichever are
  // fewer, are orthogonal to each other.
  enum class Kind : uint8_t { kConstant, kUniform, kNormal, kTruncatedNormal, kOrthogonal };
  Kind kind = Kind::kConstant;
  double a = 0;  // the constant; the lower bound; the mean; the length of those rows or columns
  double b = 0;  // -; the upper bound; the standard deviation (before truncation at 2 of them); -
  int64_t first_one = 0, ones = 0;  // so many elements from there on are 1
  bool operator==(const Initializer&) const = default;
};

struct Variable {
  enum class Scope : uint8_t { kModel, kState };  // state starts at zero in evaluate and predict
  std::string name;  // TensorFlow's: "hidden_1/kernel", "hidden_1/kernel/Adagrad"
  Shape shape;
  Initializer initializer;
  bool trainable = false;
  Scope scope = Scope::kModel;
  bool per_core = false;  // a copy a core, else one for all
  bool operator==(const Variable&) const = default;
};

struct Output {
  std::string name;
  Value value;
  // It leaves the device at the steps whose number `period` divides, and what only it needs is
  // computed then; 0: never (the loss, which the device looks at).
  int64_t period = 1;
};

// The value a variable takes at the end of the step.
struct Update {
  int variable = 0;  // index in Graph::variables
  Value value;
};

class Graph {
 public:
  explicit Graph(std::string name = "", int num_replicas = 1)
      : name_(std::move(name)), num_replicas_(num_replicas) {}

  const std::string& name() const { return name_; }
  int num_replicas() const { return num_replicas_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  // Of a value of this graph.
  const Node& node(Value value) const {
    TPURUN_DCHECK(Holds(value));
    return nodes_[value.node];
  }
  const Shape& shape(Value value) const { return node(value).shapes[value.result]; }
  // Whether there is such a node and it has that result.
  bool Holds(Value value) const {
    return value.node >= 0 && value.node < static_cast<int>(nodes_.size()) && value.result >= 0 &&
           value.result < static_cast<int>(nodes_[value.node].shapes.size());
  }
  const std::vector<InfeedSlot>& infeed() const { return infeed_; }
  const std::vector<Variable>& variables() const { return variables_; }
  const std::vector<Output>& outputs() const { return outputs_; }
  const std::vector<Update>& updates() const { return updates_; }
  // -1 when there is none of that name.
  int FindVariable(const std::string& name) const;
  int FindOutput(const std::string& name) const;

  // Appends a node; checks operands, attributes and shapes. The error says what is wrong with what
  // was given and leaves the graph as it was.
  absl::StatusOr<Value> AddNode(const OpDef& op, std::vector<Value> inputs, Attrs attrs,
                                std::string name);
  int AddInfeed(InfeedSlot slot);
  int AddVariable(Variable variable);
  void SetPerCore(int variable) { variables_[variable].per_core = true; }
  void AddOutput(std::string name, Value value, int64_t period = 1);
  absl::Status AddUpdate(int variable, Value value);

 private:
  std::string name_;
  int num_replicas_;
  std::vector<Node> nodes_;
  std::vector<InfeedSlot> infeed_;
  std::vector<Variable> variables_;
  std::unordered_map<std::string, int> variable_index_;  // by name
  std::vector<Output> outputs_;
  std::vector<Update> updates_;
  std::unordered_set<int> updated_;  // the variables of updates_
};

// Checks every invariant of a graph anew: order, attributes, every shape re-inferred, slots,
// variables and updates. `after` names the pass that made the graph, for the message.
absl::Status VerifyGraph(const Graph& graph, const std::string& after);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IR_GRAPH_H_
