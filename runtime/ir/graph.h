// Graph: a static-shape, append-only list of nodes in topological order (operands come before their
// users). It also holds the infeed slots, variables, outputs and variable updates that connect it
// to the host. In a graph of 8 replicas every shape is the shape of one replica.
#ifndef TPURUN_RUNTIME_IR_GRAPH_H_
#define TPURUN_RUNTIME_IR_GRAPH_H_

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "absl/status/status.h"
#include "runtime/base/dcheck.h"
#include "runtime/ir/attrs.h"
#include "runtime/ir/op_def.h"
#include "runtime/ir/origin.h"
#include "runtime/ir/shape.h"

namespace tpurun {

inline constexpr int kReplicasOfHost = 8;
// The most replicas of a run, those of 64 hosts.
inline constexpr int kMostReplicas = 64 * kReplicasOfHost;
// The processes of a run of several hosts have a multiple of so many replicas each.
inline constexpr int kLeastReplicasOfProcess = 4;

// Consecutive replicas out of all those of a run: `count` of them, from replica `first` on.
struct ReplicaRange {
  int count = 1;
  int first = 0;
  int all = 1;

  // The same number of replicas for each of `processes` processes; the share of process `process`.
  ReplicaRange OfProcess(int processes, int process) const {
    TPURUN_DCHECK(count == all && count % processes == 0);
    return {count / processes, process * (count / processes), all};
  }
  bool operator==(const ReplicaRange&) const = default;
};

struct Node {
  int id = 0;  // its index in Graph::nodes
  const OpDef* op = nullptr;
  std::vector<Value> inputs;
  Attrs attrs;
  std::vector<Shape> shapes;  // [result]
  std::string name;           // scoped as in TensorFlow: "hidden_1/MatMul"; may be empty
  Origins origins;
};

// A value that the host feeds once per step.
struct InfeedSlot {
  std::string name;
  Shape shape;  // one replica's share: the leading dimension is the batch size of a replica
  bool is_weight = false;  // the weights of a loss, which must be finite and >= 0
  // Of a label with ignore_class: that id, which is no class. What reads classes reads them through
  // a select that gives a class for it.
  std::optional<int64_t> ignored = std::nullopt;
};

// How a new variable is filled. Element i is drawn from stream StreamOf(variable name).
struct Initializer {
  // kOrthogonal: the variable (..., C) as a matrix with C columns, with rows or columns (whichever
  // are fewer) that are orthogonal to each other.
  enum class Kind : uint8_t { kConstant, kUniform, kNormal, kTruncatedNormal, kOrthogonal };
  Kind kind = Kind::kConstant;
  // kConstant: the constant. kUniform: the lower bound. kNormal, kTruncatedNormal: the mean.
  // kOrthogonal: the length of the orthogonal rows or columns.
  double a = 0;
  // kUniform: the upper bound. kNormal, kTruncatedNormal: the standard deviation (before truncation
  // at 2 standard deviations). Otherwise unused.
  double b = 0;
  int64_t first_one = 0, ones = 0;  // `ones` elements, starting at element `first_one`, are 1
  bool operator==(const Initializer&) const = default;
};

struct Variable {
  enum class Scope : uint8_t { kModel, kState };  // state starts at zero in evaluate and predict
  std::string name;  // as in TensorFlow: "hidden_1/kernel", "hidden_1/kernel/Adagrad"
  Shape shape;
  Initializer initializer;
  bool trainable = false;
  Scope scope = Scope::kModel;
  bool per_core = false;  // one copy per core, else one copy shared by all cores
  bool operator==(const Variable&) const = default;
};

struct Output {
  std::string name;
  Value value;
  // The value leaves the device at the steps whose number is a multiple of `period`. What only this
  // output needs is computed in those steps only. 0: it never leaves (the loss, which the device
  // checks).
  int64_t period = 1;
};

// The value that a variable takes at the end of the step.
struct Update {
  int variable = 0;  // index in Graph::variables
  Value value;
};

class Graph {
 public:
  // A graph of all replicas of a run.
  explicit Graph(std::string name = "", int num_replicas = 1)
      : Graph(std::move(name), {num_replicas, 0, num_replicas}) {}
  Graph(std::string name, const ReplicaRange& replicas)
      : name_(std::move(name)), replicas_(replicas) {}

  const std::string& name() const { return name_; }
  // The replicas that the graph computes: all of the run, or those of one process.
  const ReplicaRange& replicas() const { return replicas_; }
  int num_replicas() const { return replicas_.count; }
  const std::vector<Node>& nodes() const { return nodes_; }
  // `value` must be a value of this graph.
  const Node& node(Value value) const {
    TPURUN_DCHECK(Holds(value));
    return nodes_[value.node];
  }
  const Shape& shape(Value value) const { return node(value).shapes[value.result]; }
  // True if the node exists and has that result.
  bool Holds(Value value) const {
    return value.node >= 0 && value.node < static_cast<int>(nodes_.size()) && value.result >= 0 &&
           value.result < static_cast<int>(nodes_[value.node].shapes.size());
  }
  const std::vector<InfeedSlot>& infeed() const { return infeed_; }
  const std::vector<Variable>& variables() const { return variables_; }
  const std::vector<Output>& outputs() const { return outputs_; }
  const std::vector<Update>& updates() const { return updates_; }
  // Return -1 if there is none of that name.
  int FindVariable(const std::string& name) const;
  int FindOutput(const std::string& name) const;

  // Appends a node after checking operands, attributes and shapes. An error describes what is wrong
  // with the arguments and leaves the graph unchanged.
  absl::StatusOr<Value> AddNode(const OpDef& op, std::vector<Value> inputs, Attrs attrs,
                                std::string name, Origins origins);
  // Notes that the node also computes what nodes of these origins computed.
  void AddOrigins(int node, const Origins& origins);
  int AddInfeed(InfeedSlot slot);
  void SetIsWeight(int slot) { infeed_[slot].is_weight = true; }
  void SetIgnored(int slot, int64_t id) { infeed_[slot].ignored = id; }
  int AddVariable(Variable variable);
  void SetPerCore(int variable) { variables_[variable].per_core = true; }
  void AddOutput(std::string name, Value value, int64_t period = 1);
  absl::Status AddUpdate(int variable, Value value);

 private:
  std::string name_;
  ReplicaRange replicas_;
  std::vector<Node> nodes_;
  std::vector<InfeedSlot> infeed_;
  std::vector<Variable> variables_;
  std::unordered_map<std::string, int> variable_index_;  // by name
  std::vector<Output> outputs_;
  std::vector<Update> updates_;
  std::unordered_set<int> updated_;  // the variables that updates_ updates
};

// Checks every invariant of a graph again: order, attributes, slots, variables and updates. Infers
// every shape again. `after` names the pass that made the graph, for the error message.
absl::Status VerifyGraph(const Graph& graph, const std::string& after);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IR_GRAPH_H_
