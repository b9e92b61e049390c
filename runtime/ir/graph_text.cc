#include "runtime/ir/graph_text.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "runtime/base/status.h"

namespace tpurun {
namespace {

constexpr std::array<const char*, 5> kInitializerNames = {"constant", "uniform", "normal",
                                                          "truncated_normal", "orthogonal"};

std::string PrintValue(Value value) {
  return value.result == 0 ? absl::StrCat("%", value.node)
                           : absl::StrCat("%", value.node, ":", value.result);
}

std::string PrintNode(const Node& node) {
  std::vector<std::string> inputs, shapes;
  for (const Value input : node.inputs) inputs.push_back(PrintValue(input));
  for (const Shape& shape : node.shapes) shapes.push_back(shape.ToString());
  return absl::StrCat("%", node.id, " = ", node.op->name, inputs.empty() ? "" : " ",
                      absl::StrJoin(inputs, ", "), " ", node.attrs.ToString(), " : ",
                      absl::StrJoin(shapes, ", "), " ", Quote(node.name),
                      PrintOrigins(node.origins));
}

absl::Status Bad(absl::string_view want) {
  return absl::InvalidArgumentError(absl::StrCat("want ", want));
}

std::optional<Value> ParseValue(LineTokenizer& line) {
  if (!line.Eat("%")) return std::nullopt;
  const std::optional<int64_t> node = line.Int();
  if (!node) return std::nullopt;
  Value value{static_cast<int>(*node), 0};
  if (line.Eat(":")) {
    // "%3 : f32[...]" has a space before the colon, "%3:1" has a number after it.
    const std::optional<int64_t> result = line.Int();
    if (!result) return std::nullopt;
    value.result = static_cast<int>(*result);
  }
  return value;
}

absl::Status ParseNode(LineTokenizer& line, const FindOp& find_op, Graph& graph) {
  const std::optional<int64_t> id = line.Int();
  if (!id || *id != static_cast<int64_t>(graph.nodes().size()) || !line.Eat("=")) {
    return Bad(absl::StrCat("node %", graph.nodes().size(), " here"));
  }
  const std::string name = line.Word();
  const OpDef* op = find_op(name);
  if (op == nullptr)
    return absl::InvalidArgumentError(absl::StrCat("there is no op \"", name, "\""));
  std::vector<Value> inputs;
  while (!line.rest().empty() && line.rest()[0] == '%') {
    const std::optional<Value> input = ParseValue(line);
    if (!input) return Bad("an operand such as %3 or %3:1");
    inputs.push_back(*input);
    line.Eat(",");
  }
  std::optional<Attrs> attrs = line.Attributes();
  if (!attrs || !line.Eat(":")) return Bad("{attributes} : shapes");
  std::vector<Shape> shapes;
  do {
    const std::optional<Shape> shape = line.AShape();
    if (!shape) return Bad("a shape such as f32[16,10]");
    shapes.push_back(*shape);
  } while (line.Eat(","));
  const std::optional<std::string> label = line.QuotedString();
  std::optional<Origins> origins = label ? ParseOrigins(line) : std::nullopt;
  if (!origins || !line.AtEnd()) return Bad("\"name\" [from \"PHASE:LAYER\" ...] at the end");
  ASSIGN_OR_RETURN(const Value value, graph.AddNode(*op, std::move(inputs), *std::move(attrs),
                                                    *label, *std::move(origins)));
  if (graph.node(value).shapes != shapes) {
    return absl::InvalidArgumentError(absl::StrCat("the operands give ",
                                                   graph.shape(value).ToString(),
                                                   ", the line says ", shapes[0].ToString()));
  }
  return absl::OkStatus();
}

absl::Status ParseLine(std::string_view text, const FindOp& find_op, Graph& graph) {
  LineTokenizer line(text);
  if (line.Eat("infeed ")) {
    const std::optional<int64_t> slot = line.Int();
    const std::optional<std::string> name = line.QuotedString();
    const std::optional<Shape> shape = name ? line.AShape() : std::nullopt;
    if (!slot || !shape || *slot != static_cast<int64_t>(graph.infeed().size())) {
      return Bad("infeed NUMBER \"name\" shape, in order");
    }
    graph.AddInfeed(InfeedSlot{*name, *shape});
    return absl::OkStatus();
  }
  if (line.Eat("variable ")) {
    ASSIGN_OR_RETURN(Variable variable, ParseVariable(line));
    graph.AddVariable(std::move(variable));
    return absl::OkStatus();
  }
  if (line.Eat("output ")) {
    const std::optional<std::string> name = line.QuotedString();
    const std::optional<Value> value = name ? ParseValue(line) : std::nullopt;
    const std::optional<int64_t> period = !value                ? std::nullopt
                                          : line.Eat("period=") ? line.Int()
                                                                : std::optional<int64_t>(1);
    if (!period || *period < 0) return Bad("output \"name\" %value [period=STEPS]");
    graph.AddOutput(*name, *value, *period);
    return absl::OkStatus();
  }
  if (line.Eat("update ")) {
    const std::optional<std::string> name = line.QuotedString();
    const std::optional<Value> value = name ? ParseValue(line) : std::nullopt;
    const int variable = name ? graph.FindVariable(*name) : -1;
    if (!value || variable < 0) return Bad("update \"variable\" %value");
    return graph.AddUpdate(variable, *value);
  }
  if (line.Eat("%")) return ParseNode(line, find_op, graph);
  return Bad("infeed, variable, %node, output or update");
}

}  // namespace

std::string PrintVariable(const Variable& variable) {
  const Initializer& init = variable.initializer;
  std::string text =
      absl::StrCat(Quote(variable.name), " ", variable.shape.ToString(), " ",
                   kInitializerNames[static_cast<size_t>(init.kind)], "(", ShortestText(init.a));
  if (init.kind != Initializer::Kind::kConstant) absl::StrAppend(&text, ",", ShortestText(init.b));
  absl::StrAppend(&text, ")");
  if (init.ones > 0) absl::StrAppend(&text, " ones=", init.first_one, "+", init.ones);
  absl::StrAppend(&text, variable.trainable ? " trainable" : "",
                  variable.scope == Variable::Scope::kState ? " state" : "",
                  variable.per_core ? " per_core" : "");
  return text;
}

absl::StatusOr<Variable> ParseVariable(LineTokenizer& line) {
  const absl::Status bad =
      Bad("variable \"name\" shape initializer(a,b) [ones=FIRST+COUNT] [trainable] [state] "
          "[per_core]");
  Variable variable;
  const std::optional<std::string> name = line.QuotedString();
  const std::optional<Shape> shape = name ? line.AShape() : std::nullopt;
  if (!shape) return bad;
  variable.name = *name;
  variable.shape = *shape;
  for (size_t kind = 0; kind < kInitializerNames.size(); ++kind) {
    if (!line.Eat(absl::StrCat(kInitializerNames[kind], "("))) continue;
    variable.initializer.kind = static_cast<Initializer::Kind>(kind);
    const size_t close = line.rest().find(')');
    if (close == std::string_view::npos) return bad;
    const std::string arguments(line.rest().substr(0, close));
    line.Eat(absl::StrCat(arguments, ")"));
    const std::vector<std::string> pieces = absl::StrSplit(arguments, ',');
    const std::optional<double> a = ParseDouble(pieces[0]);
    const std::optional<double> b =
        pieces.size() > 1 ? ParseDouble(pieces[1]) : std::optional<double>(0.0);
    if (!a || !b || pieces.size() > 2) return bad;
    variable.initializer.a = *a;
    variable.initializer.b = *b;
    if (line.Eat("ones=")) {
      const std::optional<int64_t> first = line.Int();
      const std::optional<int64_t> count = line.Eat("+") ? line.Int() : std::nullopt;
      if (!first || !count || *first < 0 || *count < 0) return bad;
      if (*first > shape->num_elements() - *count) return bad;
      variable.initializer.first_one = *first;
      variable.initializer.ones = *count;
    }
    variable.trainable = line.Eat("trainable");
    if (line.Eat("state")) variable.scope = Variable::Scope::kState;
    variable.per_core = line.Eat("per_core");
    if (!line.AtEnd()) return bad;
    return variable;
  }
  return bad;
}

std::string PrintReplicas(const ReplicaRange& replicas) {
  if (replicas.count >= replicas.all) return absl::StrCat(replicas.count);
  return absl::StrCat(replicas.count, " first=", replicas.first, " all=", replicas.all);
}

std::optional<ReplicaRange> EatReplicas(LineTokenizer& line) {
  const std::optional<int64_t> count = line.Int();
  if (!count || *count < 1 || *count > kMostReplicas) return std::nullopt;
  ReplicaRange replicas{static_cast<int>(*count), 0, static_cast<int>(*count)};
  if (!line.Eat("first=")) return replicas;
  const std::optional<int64_t> first = line.Int();
  const std::optional<int64_t> all = first && line.Eat("all=") ? line.Int() : std::nullopt;
  if (!all || *first < 0 || *all > kMostReplicas || *first + *count > *all) return std::nullopt;
  replicas.first = static_cast<int>(*first);
  replicas.all = static_cast<int>(*all);
  return replicas;
}

std::string PrintGraph(const Graph& graph) {
  std::string text = absl::StrCat("graph ", Quote(graph.name()),
                                  " replicas=", PrintReplicas(graph.replicas()), "\n");
  for (size_t slot = 0; slot < graph.infeed().size(); ++slot) {
    absl::StrAppend(&text, "infeed ", slot, " ", Quote(graph.infeed()[slot].name), " ",
                    graph.infeed()[slot].shape.ToString(), "\n");
  }
  for (const Variable& variable : graph.variables())
    absl::StrAppend(&text, "variable ", PrintVariable(variable), "\n");
  for (const Node& node : graph.nodes()) absl::StrAppend(&text, PrintNode(node), "\n");
  for (const Output& output : graph.outputs()) {
    absl::StrAppend(&text, "output ", Quote(output.name), " ", PrintValue(output.value),
                    output.period == 1 ? "" : absl::StrCat(" period=", output.period), "\n");
  }
  for (const Update& update : graph.updates()) {
    absl::StrAppend(&text, "update ", Quote(graph.variables()[update.variable].name), " ",
                    PrintValue(update.value), "\n");
  }
  return text;
}

absl::StatusOr<Graph> ParseGraph(std::string_view text, const FindOp& find_op) {
  std::optional<Graph> graph;
  int number = 0;
  for (const absl::string_view piece :
       absl::StrSplit(absl::string_view(text.data(), text.size()), '\n')) {
    ++number;
    const std::string_view line(piece.data(), piece.size());
    if (line.find_first_not_of(' ') == std::string_view::npos || line[0] == '#') continue;
    if (!graph) {
      LineTokenizer header(line);
      const bool is_header = header.Eat("graph ");
      const std::optional<std::string> name = is_header ? header.QuotedString() : std::nullopt;
      const std::optional<ReplicaRange> replicas =
          name && header.Eat("replicas=") ? EatReplicas(header) : std::nullopt;
      if (!replicas || !header.AtEnd()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "line ", number, ": want graph \"name\" replicas=N, or replicas=N first=F all=A"));
      }
      graph.emplace(*name, *replicas);
      continue;
    }
    const absl::Status status = ParseLine(line, find_op, *graph);
    if (!status.ok()) return Annotate(status, absl::StrCat("line ", number));
  }
  if (!graph) return absl::InvalidArgumentError("no line \"graph ...\"");
  RETURN_IF_ERROR(VerifyGraph(*graph, "parsing"));
  return *std::move(graph);
}

}  // namespace tpurun
