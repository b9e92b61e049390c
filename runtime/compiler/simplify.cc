#include "runtime/compiler/simplify.h"

#include <algorithm>

#include "runtime/base/status.h"
#include "runtime/compiler/dead_code.h"
#include "runtime/compiler/rewrite.h"
#include "runtime/ir/bf16_conversion.h"
#include "runtime/ir/structural.h"

namespace tpurun {
namespace {

// A scalar that equals every element of `value`, or `value` itself if there is none.
absl::StatusOr<Value> ScalarOf(Graph& graph, Value value) {
  const Node& node = graph.node(value);
  if (graph.shape(value).rank() == 0) return value;
  if (node.op->flags.copies_elements) {
    ASSIGN_OR_RETURN(const Value scalar, ScalarOf(graph, node.inputs[0]));
    return graph.shape(scalar).rank() == 0 ? scalar : value;
  }
  const size_t elements = std::max(node.attrs.Get<std::vector<double>>("value").size(),
                                   node.attrs.Ints("value_int").size());
  if (node.op != &ConstantOp() || elements != 1) return value;
  Attrs attrs = node.attrs;
  attrs.Set("dims", std::vector<int64_t>{});
  return graph.AddNode(ConstantOp(), {}, std::move(attrs), node.name, node.origins);
}

// Replaces operands by scalars, because scalars are broadcast to every element. One operand stays
// if it alone gives the result its shape, and all stay where the op wants operands of one shape.
absl::Status UseScalars(Graph& graph, Node& node) {
  if (!node.op->flags.elementwise || node.shapes[0].rank() == 0) return absl::OkStatus();
  const auto full = [&](Value input) { return graph.shape(input).dims == node.shapes[0].dims; };
  std::vector<Value> inputs = node.inputs;
  std::vector<Shape> shapes;
  for (Value& input : inputs) {
    if (!full(input) || std::count_if(inputs.begin(), inputs.end(), full) > 1) {
      ASSIGN_OR_RETURN(input, ScalarOf(graph, input));
    }
    shapes.push_back(graph.shape(input));
  }
  if (inputs == node.inputs) return absl::OkStatus();
  const absl::StatusOr<std::vector<Shape>> results = InferShapes(*node.op, shapes, node.attrs);
  if (results.ok() && (*results)[0].dims == node.shapes[0].dims) node.inputs = std::move(inputs);
  return absl::OkStatus();
}

// The value in the new graph that replaces result 0 of `node`, whose operands are in the new graph.
// Sets *changed to true if the node is replaced.
absl::StatusOr<Value> Simplest(Graph& graph, Node node, bool* changed) {
  RETURN_IF_ERROR(UseScalars(graph, node));
  // An op's simplifications hold for f32 values. A converted value is different.
  const bool converts = !node.op->flags.any_dtype && HasBF16(CallOfNode(graph, node));
  while (node.op->simplify && !converts) {
    Replacement replacement = node.op->simplify(graph, node);
    if (!replacement.same.valid() && replacement.nodes.empty()) break;
    *changed = true;
    if (replacement.same.valid()) return replacement.same;
    Replacement::NewNode last = std::move(replacement.nodes.back());
    replacement.nodes.pop_back();
    const auto origins = [&](const Replacement::NewNode& added) {
      return added.origins_of < 0 ? node.origins : graph.nodes()[added.origins_of].origins;
    };
    for (Replacement::NewNode& added : replacement.nodes) {
      const Origins of_added = origins(added);
      RETURN_IF_ERROR(graph
                          .AddNode(*added.op, std::move(added.inputs), std::move(added.attrs),
                                   node.name, of_added)
                          .status());
    }
    node.origins = origins(last);
    node.op = last.op;
    node.inputs = std::move(last.inputs);
    node.attrs = std::move(last.attrs);
  }
  return graph.AddNode(*node.op, node.inputs, node.attrs, node.name, node.origins);
}

// [node]: true if an output, an update or a live node reads a result beyond the first.
std::vector<bool> OtherResultsRead(const Graph& graph) {
  const std::vector<bool> live = LiveNodes(graph);
  std::vector<bool> read(graph.nodes().size(), false);
  const auto note = [&](Value value) {
    if (value.result > 0) read[value.node] = true;
  };
  for (const Node& node : graph.nodes()) {
    if (!live[node.id]) continue;
    for (const Value input : node.inputs) note(input);
  }
  for (const Output& output : graph.outputs()) note(output.value);
  for (const Update& update : graph.updates()) note(update.value);
  return read;
}

// Simplifies each node once, operands first.
absl::StatusOr<Graph> SimplifyNodes(const Graph& graph, bool* changed) {
  const std::vector<bool> others_read = OtherResultsRead(graph);
  Rewrite rewrite(graph);
  for (const Node& old : graph.nodes()) {
    Node node = old;
    node.inputs = rewrite.At(old.inputs);
    // A dead node may read a result that no longer exists.
    if (std::any_of(node.inputs.begin(), node.inputs.end(), [](Value v) { return !v.valid(); }))
      continue;
    if (others_read[old.id] || (!old.op->simplify && old.shapes.size() > 1)) {
      RETURN_IF_ERROR(rewrite.Copy(old));
      continue;
    }
    ASSIGN_OR_RETURN(rewrite.map[old.id][0], Simplest(rewrite.graph, std::move(node), changed));
  }
  return rewrite.Finish();
}

}  // namespace

absl::StatusOr<Graph> Simplify(const Graph& original) {
  Graph graph = original;
  for (bool changed = true; changed;) {
    changed = false;
    ASSIGN_OR_RETURN(graph, SimplifyNodes(graph, &changed));
  }
  return graph;
}

}  // namespace tpurun
