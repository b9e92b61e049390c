#include "cli/model_graph.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

using ProtoAttr = tensorflow::AttrValue;
using tensorflow::FunctionDef;
using tensorflow::GraphDef;
using tensorflow::NodeDef;

// Ops that call functions, with the operand that is the first argument.
struct CallingOp {
  std::string_view name;
  int first_operand;
  bool is_loop = false;
};
constexpr CallingOp kCallingOps[] = {
    {"Case", 1},
    {"If", 1},
    {"PartitionedCall", 0},
    {"StatefulPartitionedCall", 0},
    {"StatelessCase", 1},
    {"StatelessIf", 1},
    {"StatelessWhile", 0, true},
    {"While", 0, true},
};

// Their results depend on the shapes of their operands alone.
constexpr std::string_view kOfShapes[] = {"OnesLike", "Rank",          "Shape",    "ShapeN",
                                          "Size",     "VariableShape", "ZerosLike"};

template <size_t n>
bool IsOneOf(const std::string_view (&names)[n], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

bool IsRandom(std::string_view op) {
  for (const std::string_view part : {"Random", "TruncatedNormal", "Multinomial"}) {
    if (op.find(part) != std::string_view::npos) return true;
  }
  return false;
}

// "^x" and "x:0" are of x, "node:output:0" is of node.
std::string_view NodeOf(std::string_view input) {
  if (input.starts_with('^')) input.remove_prefix(1);
  return input.substr(0, input.find(':'));
}

// The functions that an attribute names.
std::vector<std::string> FunctionsIn(const ProtoAttr& attr) {
  std::vector<std::string> names;
  if (attr.has_func()) names.push_back(attr.func().name());
  for (const auto& function : attr.list().func()) names.push_back(function.name());
  std::erase(names, "");
  return names;
}

absl::Status DamagedGraph(const std::string& what) {
  return absl::DataLossError(absl::StrCat(what, "; export the model again"));
}

}  // namespace

absl::StatusOr<ModelGraph> ModelGraph::Create(const GraphDef& graph) {
  ModelGraph made;
  for (const FunctionDef& function : graph.library().function()) {
    made.functions_.emplace(function.signature().name(), &function);
  }
  made.bodies_.emplace_back();
  RETURN_IF_ERROR(made.AddNodes(graph.node(), 0));
  made.nodes_of_graph_ = made.num_vertices();
  return made;
}

std::string ModelGraph::FunctionOf(int vertex) const {
  const FunctionDef* const function = bodies_[vertices_[vertex].body].function;
  return function == nullptr ? "" : function->signature().name();
}

int ModelGraph::Find(std::string_view tensor) const {
  const auto found = bodies_[0].names.find(NodeOf(tensor));
  return found == bodies_[0].names.end() ? -1 : found->second;
}

absl::Status ModelGraph::AddNodes(const google::protobuf::RepeatedPtrField<NodeDef>& nodes,
                                  int body) {
  Body& made = bodies_[body];
  const std::string where =
      made.function == nullptr
          ? "the graph"
          : absl::StrCat("function ", Quote(made.function->signature().name()));
  const int first = num_vertices();
  for (const NodeDef& node : nodes) {
    if (!made.names.emplace(node.name(), num_vertices()).second) {
      return DamagedGraph(
          absl::StrCat(where, " has two nodes ", Quote(node.name()), ", want one of each name"));
    }
    vertices_.push_back({.node = &node, .body = body});
  }
  for (int i = first; i < num_vertices(); ++i) {
    Vertex& vertex = vertices_[i];
    for (const std::string& input : vertex.node->input()) {
      const auto found = made.names.find(NodeOf(input));
      if (found == made.names.end()) {
        return DamagedGraph(absl::StrCat("node ", Quote(vertex.node->name()), " of ", where,
                                         " has the input ", Quote(input),
                                         ", want the output of a node that is there"));
      }
      (input.starts_with('^') ? vertex.controls : vertex.inputs).push_back(found->second);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<int> ModelGraph::BodyOf(const std::string& function) {
  if (const auto found = body_of_.find(function); found != body_of_.end()) return found->second;
  const auto definition = functions_.find(function);
  if (definition == functions_.end()) {
    return DamagedGraph(
        absl::StrCat("function ", Quote(function), " is called, but the library has none"));
  }
  const int body = static_cast<int>(bodies_.size());
  body_of_[function] = body;
  const FunctionDef& def = *definition->second;
  bodies_.push_back({.function = &def});
  Body& made = bodies_[body];
  for (const auto& arg : def.signature().input_arg()) {
    if (!made.names.emplace(arg.name(), num_vertices()).second) {
      return DamagedGraph(absl::StrCat("function ", Quote(function), " has two arguments ",
                                       Quote(arg.name()), ", want one of each name"));
    }
    made.args.push_back(num_vertices());
    vertices_.push_back({.body = body});
  }
  RETURN_IF_ERROR(AddNodes(def.node_def(), body));
  const auto add = [&](const std::string& tensor, std::vector<int>& to) {
    const auto found = made.names.find(NodeOf(tensor));
    if (found != made.names.end()) to.push_back(found->second);
    return found != made.names.end();
  };
  for (const auto& output : def.signature().output_arg()) {
    const auto tensor = def.ret().find(output.name());
    if (tensor == def.ret().end() || !add(tensor->second, made.results)) {
      return DamagedGraph(absl::StrCat("function ", Quote(function), " does not say what its ",
                                       "result ", Quote(output.name()), " is"));
    }
  }
  made.roots = made.results;
  for (const auto& [name, node] : def.control_ret()) add(node, made.roots);
  // Before control_ret there was no list of what has effects: all of it runs.
  if (def.control_ret().empty() && (def.signature().is_stateful() || made.roots.empty())) {
    for (const auto& [name, vertex] : made.names) made.roots.push_back(vertex);
  }
  std::sort(made.roots.begin(), made.roots.end());
  return body;
}

absl::StatusOr<std::vector<int>> ModelGraph::NodesOfFunction(const std::string& name) {
  ASSIGN_OR_RETURN(const int body, BodyOf(name));
  return bodies_[body].roots;
}

absl::Status ModelGraph::AddCalls(int vertex) {
  const NodeDef* const node = vertices_[vertex].node;
  if (node == nullptr || calls_.count(vertex) > 0) return absl::OkStatus();
  std::vector<Call> calls;
  const auto add = [&](const std::string& function, Call call) -> absl::Status {
    ASSIGN_OR_RETURN(call.body, BodyOf(function));
    calls.push_back(call);
    return absl::OkStatus();
  };
  if (HasFunction(node->op())) RETURN_IF_ERROR(add(node->op(), {}));
  const auto* const op = std::find_if(std::begin(kCallingOps), std::end(kCallingOps),
                                      [&](const CallingOp& row) { return row.name == node->op(); });
  const bool known = op != std::end(kCallingOps);
  std::map<std::string_view, std::vector<std::string>> functions;  // by attribute, in order
  for (const auto& [name, attr] : node->attr()) {
    if (name.starts_with('_')) continue;  // says something of the node, is not called by it
    std::vector<std::string> called = FunctionsIn(attr);
    if (!called.empty()) functions[name] = std::move(called);
  }
  for (const auto& [name, called] : functions) {
    for (const std::string& function : called) {
      RETURN_IF_ERROR(add(function, {.first_operand = known ? op->first_operand : -1,
                                     .is_loop = known && op->is_loop,
                                     .is_loop_body = name == "body"}));
    }
  }
  if (!calls.empty()) calls_[vertex] = std::move(calls);
  return absl::OkStatus();
}

absl::StatusOr<ModelGraph::Set> ModelGraph::Reach(const std::vector<int>& roots, const Set& fed) {
  Set reached, called;
  std::vector<int> pending;
  const auto visit = [&](int vertex) {
    if (vertex >= static_cast<int>(reached.size())) reached.resize(num_vertices());
    if (reached[vertex]) return;
    reached[vertex] = true;
    pending.push_back(vertex);
  };
  for (const int root : roots) visit(root);
  while (!pending.empty()) {
    const int vertex = pending.back();
    pending.pop_back();
    if (vertex < static_cast<int>(fed.size()) && fed[vertex]) continue;
    RETURN_IF_ERROR(AddCalls(vertex));
    for (const int input : vertices_[vertex].inputs) visit(input);
    for (const int control : vertices_[vertex].controls) visit(control);
    const auto calls = calls_.find(vertex);
    if (calls == calls_.end()) continue;
    called.resize(bodies_.size());
    for (const Call& call : calls->second) {
      if (called[call.body]) continue;
      called[call.body] = true;
      for (const int root : bodies_[call.body].roots) visit(root);
    }
  }
  reached.resize(num_vertices());
  return reached;
}

// What varies if something else does.
struct ModelGraph::Flow {
  // By vertex, then by body for its results: what varies with it. The numbers are of the same kind.
  std::vector<std::vector<int>> readers;
  std::vector<int> varying;   // in any case
  std::vector<bool> called;   // by body
  std::vector<bool> unknown;  // by body: a call whose operands are not known to be its arguments
};

void ModelGraph::AddFlow(int vertex, Flow& flow) const {
  const Vertex& of = vertices_[vertex];
  if (of.node == nullptr || IsOneOf(kOfShapes, of.node->op()) || of.node->op() == "Const") return;
  if (const auto calls = calls_.find(vertex); calls != calls_.end()) {
    AddCallFlow(vertex, calls->second, flow);
    return;
  }
  for (const int input : of.inputs) flow.readers[input].push_back(vertex);
  const bool is_source = of.inputs.empty() || of.node->op() == "Merge" || IsRandom(of.node->op());
  if (is_source) flow.varying.push_back(vertex);
}

void ModelGraph::AddCallFlow(int vertex, const std::vector<Call>& calls, Flow& flow) const {
  const std::vector<int>& inputs = vertices_[vertex].inputs;
  const auto loop_body =
      std::find_if(calls.begin(), calls.end(), [](const Call& call) { return call.is_loop_body; });
  for (const Call& call : calls) {
    const Body& body = bodies_[call.body];
    const int results = num_vertices() + call.body;
    if (!flow.called[call.body]) {
      for (const int result : body.results) flow.readers[result].push_back(results);
    }
    flow.called[call.body] = true;
    flow.readers[results].push_back(vertex);
    const size_t first = std::max(call.first_operand, 0);
    for (size_t i = 0; i < std::min(first, inputs.size()); ++i) {
      flow.readers[inputs[i]].push_back(vertex);  // what chooses the function
    }
    if (call.first_operand < 0 || inputs.size() != first + body.args.size()) {
      if (!flow.unknown[call.body]) {
        flow.varying.insert(flow.varying.end(), body.args.begin(), body.args.end());
      }
      flow.unknown[call.body] = true;
      flow.varying.push_back(vertex);
      continue;
    }
    const Body* const iteration =
        !call.is_loop || loop_body == calls.end() ? nullptr : &bodies_[loop_body->body];
    for (size_t i = 0; i < body.args.size(); ++i) {
      const bool changes =
          call.is_loop &&
          (iteration == nullptr || i >= iteration->results.size() || i >= iteration->args.size() ||
           iteration->results[i] != iteration->args[i]);
      if (changes) {
        flow.varying.push_back(body.args[i]);
      } else {
        flow.readers[inputs[first + i]].push_back(body.args[i]);
      }
    }
  }
}

ModelGraph::Set ModelGraph::Varying(const Set& reached, const Set& fed) const {
  Flow flow;
  flow.readers.resize(num_vertices() + bodies_.size());
  flow.called.resize(bodies_.size());
  flow.unknown.resize(bodies_.size());
  for (int vertex = 0; vertex < static_cast<int>(reached.size()); ++vertex) {
    if (!reached[vertex]) continue;
    if (vertex < static_cast<int>(fed.size()) && fed[vertex]) {
      flow.varying.push_back(vertex);
    } else {
      AddFlow(vertex, flow);
    }
  }
  Set varying(flow.readers.size());
  while (!flow.varying.empty()) {
    const int vertex = flow.varying.back();
    flow.varying.pop_back();
    if (varying[vertex]) continue;
    varying[vertex] = true;
    const std::vector<int>& readers = flow.readers[vertex];
    flow.varying.insert(flow.varying.end(), readers.begin(), readers.end());
  }
  varying.resize(num_vertices());
  return varying;
}

}  // namespace tpurun
