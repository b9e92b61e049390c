#include "runtime/compiler/fuse_rows.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/compiler/node_periods.h"
#include "runtime/compiler/replication.h"
#include "runtime/compiler/rewrite.h"
#include "runtime/ir/elementwise.h"
#include "runtime/ir/row_program.h"

namespace tpurun {
namespace {

// More than any layer has. The kernel goes through all steps for each tile.
constexpr size_t kMostSteps = 32;
// A tile has one row at least, 32 KB in f32.
constexpr int64_t kMostColumns = 8192;

bool IsArray(const Shape& shape) {
  return shape.rank() >= 2 && shape.layout.plain() && shape.dims.back() > 1 &&
         (IsFloat(shape.dtype) || shape.dtype == DType::kPred);
}

bool SameRows(const Shape& a, const Shape& b) {
  return IsArray(a) && IsArray(b) && a.dims.back() == b.dims.back() &&
         a.num_elements() == b.num_elements();
}

// The array whose rows the node computes or sums.
const Shape& RowsOfNode(const Graph& graph, const Node& node) {
  return node.op == &SumOfRowsOp() ? graph.shape(node.inputs[0]) : node.shapes[0];
}

// True if the node can be a step, whatever its readers are.
bool ComputesRows(const Graph& graph, const Node& node) {
  const bool sums = node.op == &SumOfRowsOp(), by_last_axis = node.op->rules.by_last_axis;
  if (!(node.op->flags.elementwise || by_last_axis || sums) || node.inputs.empty()) return false;
  const Shape& rows = RowsOfNode(graph, node);
  const bool plain = std::all_of(node.shapes.begin(), node.shapes.end(),
                                 [](const Shape& shape) { return shape.layout.plain(); });
  if (!IsArray(rows) || !plain || rows.dims.back() > kMostColumns) return false;
  if (sums && node.shapes[0].dtype != DType::kF32) return false;
  return std::all_of(node.inputs.begin(), node.inputs.end(), [&](Value input) {
    const Shape& shape = graph.shape(input);
    if (shape.rank() == 0 || by_last_axis) return shape.layout.plain();
    return SameRows(shape, rows) || (!sums && shape.rank() == 1 && shape.dtype == DType::kF32);
  });
}

// A reshape that keeps the rows: its readers may read its operand instead.
bool IsView(const Graph& graph, const Node& node) {
  return node.op->flags.is_bitcast && SameRows(node.shapes[0], graph.shape(node.inputs[0])) &&
         node.shapes[0].dtype == graph.shape(node.inputs[0]).dtype;
}

// [node]: the most collectives on a path to it.
std::vector<int> CollectivesBefore(const Graph& graph) {
  std::vector<int> most(graph.nodes().size(), 0);
  for (const Node& node : graph.nodes()) {
    for (const Value input : node.inputs) most[node.id] = std::max(most[node.id], most[input.node]);
    if (node.op->flags.collective || node.op->flags.exchange != Exchange::kNone) ++most[node.id];
  }
  return most;
}

class Groups {
 public:
  Groups(const Graph& graph, int64_t least_elements)
      : graph_(graph),
        least_elements_(least_elements),
        per_core_(PerCoreNodes(graph)),
        periods_(FindNodePeriods(graph)),
        collectives_(CollectivesBefore(graph)),
        is_output_(graph.nodes().size(), false),
        is_update_(graph.nodes().size(), false),
        group_of_(graph.nodes().size(), -1),
        readers_(graph.nodes().size()) {
    for (const Output& output : graph.outputs()) is_output_[output.value.node] = true;
    for (const Update& update : graph.updates()) is_update_[update.value.node] = true;
    for (const Node& node : graph.nodes()) {
      for (const Value input : node.inputs) readers_[input.node].push_back({node.id, input.result});
    }
    for (const Node& node : graph.nodes()) Add(node);
  }

  // In ascending order; empty if the node stays by itself.
  std::vector<int> GroupOf(int node) const {
    if (group_of_[node] < 0) return {};
    const std::vector<int>& nodes = groups_[group_of_[node]].nodes;
    return nodes.size() > 1 ? nodes : std::vector<int>();
  }
  // The value that a view shows.
  Value Shown(Value value) const {
    while (IsView(graph_, graph_.node(value))) value = graph_.node(value).inputs[0];
    return value;
  }
  // True if an output, an update, or a node that is not in the group of `member` reads the value
  // itself or a view.
  bool IsReadOutside(Value value, int member) const {
    if (is_output_[value.node] || is_update_[value.node]) return true;
    const std::vector<Reader>& readers = readers_[value.node];
    return std::any_of(readers.begin(), readers.end(), [&](const Reader& reader) {
      if (reader.result != value.result) return false;
      if (IsView(graph_, graph_.nodes()[reader.node]))
        return IsReadOutside({reader.node, 0}, member);
      return group_of_[reader.node] != group_of_[member];
    });
  }

 private:
  struct Group {
    std::vector<int> nodes;
    bool closed = false;  // another node reads a value of it
  };
  // A node that reads result `result` of another one.
  struct Reader {
    int node, result;
  };

  // False for dead code.
  bool IsRead(int node) const {
    if (is_output_[node] || is_update_[node]) return true;
    const std::vector<Reader>& readers = readers_[node];
    return std::any_of(readers.begin(), readers.end(), [&](const Reader& reader) {
      return !IsView(graph_, graph_.nodes()[reader.node]) || IsRead(reader.node);
    });
  }

  bool CanJoin(const Node& node) const {
    return per_core_[node.id] && !is_update_[node.id] && IsRead(node.id) &&
           ComputesRows(graph_, node) && RowsOfNode(graph_, node).num_elements() >= least_elements_;
  }

  bool Alike(const Node& node, const Group& group) const {
    const Node& other = graph_.nodes()[group.nodes.front()];
    return SameRows(RowsOfNode(graph_, node), RowsOfNode(graph_, other)) &&
           collectives_[node.id] == collectives_[other.id] &&
           periods_[node.id].period == periods_[other.id].period &&
           periods_[node.id].before == periods_[other.id].before;
  }

  // Nodes are added from first to last.
  void Add(const Node& node) {
    if (IsView(graph_, node)) return;
    if (CanJoin(node)) Join(node);
    for (const Value input : node.inputs) {
      const int group = group_of_[Shown(input).node];
      if (group >= 0 && group != group_of_[node.id]) groups_[group].closed = true;
    }
  }

  void Join(const Node& node) {
    std::vector<Value> arrays;
    std::set<int> joined, refused;
    for (const Value input : node.inputs) {
      const Value shown = Shown(input);
      if (SameRows(graph_.shape(shown), RowsOfNode(graph_, node))) {
        arrays.push_back(shown);
      } else if (graph_.node(shown).op == &SumOfRowsOp() && group_of_[shown.node] >= 0) {
        refused.insert(group_of_[shown.node]);  // a sum is known only after all rows
      }
    }
    size_t steps = 1;
    const auto offer = [&](int group) {
      if (group < 0 || groups_[group].closed || joined.count(group) + refused.count(group) > 0)
        return;
      const size_t more = groups_[group].nodes.size();
      if (!Alike(node, groups_[group]) || steps + more > kMostSteps) return;
      joined.insert(group);
      steps += more;
    };
    for (const Value array : arrays) offer(group_of_[array.node]);
    for (const Value array : arrays) {
      for (const int reader : readers_of_array_[array]) offer(group_of_[reader]);
    }
    Merge(node.id, joined);
    for (const Value array : arrays) readers_of_array_[array].push_back(node.id);
  }

  void Merge(int node, const std::set<int>& joined) {
    Group merged;
    for (const int group : joined) {
      merged.nodes.insert(merged.nodes.end(), groups_[group].nodes.begin(),
                          groups_[group].nodes.end());
      groups_[group].nodes.clear();
    }
    merged.nodes.push_back(node);
    std::sort(merged.nodes.begin(), merged.nodes.end());
    for (const int member : merged.nodes) group_of_[member] = static_cast<int>(groups_.size());
    groups_.push_back(std::move(merged));
  }

  const Graph& graph_;
  const int64_t least_elements_;
  const std::vector<bool> per_core_;
  const std::vector<NodePeriod> periods_;
  const std::vector<int> collectives_;
  std::vector<bool> is_output_, is_update_;
  std::vector<Group> groups_;
  std::vector<int> group_of_;                           // [node]; -1: it can be no step
  std::vector<std::vector<Reader>> readers_;            // [node]
  std::map<Value, std::vector<int>> readers_of_array_;  // nodes that have been added
};

// The results of a group's nodes that others read, in the order of the nodes.
std::vector<Value> ResultsOf(const Graph& graph, const Groups& groups,
                             const std::vector<int>& nodes) {
  std::vector<Value> results;
  for (const int id : nodes) {
    for (int result = 0; result < static_cast<int>(graph.nodes()[id].shapes.size()); ++result) {
      if (groups.IsReadOutside({id, result}, id)) results.push_back({id, result});
    }
  }
  return results;
}

// Appends the node of a group.
absl::Status AddFusedRows(const Groups& groups, const std::vector<int>& nodes, const PassOps& ops,
                          Rewrite& rewrite) {
  const Graph& graph = rewrite.old;
  std::map<int, int> step_of;
  for (const int id : nodes) step_of.emplace(id, static_cast<int>(step_of.size()));
  RowProgram program;
  std::vector<Value> operands;
  std::map<Value, int> operand_of;
  Origins origins;
  for (const int id : nodes) {
    const Node& node = graph.nodes()[id];
    origins = Union(origins, node.origins);
    RowProgram::Step step{.op = node.op, .attrs = node.attrs};
    for (const Value input : node.inputs) {
      const Value shown = groups.Shown(input);
      if (const auto inside = step_of.find(shown.node); inside != step_of.end()) {
        step.inputs.push_back({true, inside->second, shown.result});
        continue;
      }
      const auto [operand, is_new] = operand_of.emplace(shown, static_cast<int>(operands.size()));
      if (is_new) operands.push_back(rewrite.At(input));
      step.inputs.push_back({false, operand->second});
    }
    program.steps.push_back(std::move(step));
  }
  const std::vector<Value> results = ResultsOf(graph, groups, nodes);
  for (const Value result : results)
    program.results.push_back({true, step_of.at(result.node), result.result});
  const std::vector<int64_t> dims = RowsOfNode(graph, graph.nodes()[nodes.back()]).dims;
  const Node& last = graph.nodes()[nodes.back()];
  ASSIGN_OR_RETURN(
      const Value fused,
      rewrite.graph.AddNode(*ops.fused_rows, std::move(operands),
                            {{"program", ToString(program)}, {"dims", dims}}, last.name, origins));
  for (size_t i = 0; i < results.size(); ++i) {
    const Value old = results[i];
    Value value{fused.node, static_cast<int>(i)};
    if (const Shape& shape = graph.shape(old); rewrite.graph.shape(value).dims != shape.dims) {
      const Node& node = graph.node(old);
      ASSIGN_OR_RETURN(value, rewrite.graph.AddNode(*ops.reshape, {value}, {{"dims", shape.dims}},
                                                    node.name, node.origins));
    }
    rewrite.map[old.node][old.result] = value;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Graph> FuseRows(const Graph& graph, const PassOps& ops, int64_t least_elements) {
  if (graph.num_replicas() == 1) return graph;
  const Groups groups(graph, least_elements);
  Rewrite rewrite(graph);
  std::map<int, std::vector<int>> views;  // [last node of a group]: views before it
  for (const Node& node : graph.nodes()) {
    if (IsView(graph, node)) {
      const int shown = groups.Shown({node.id, 0}).node;
      const std::vector<int> group = groups.GroupOf(shown);
      if (!group.empty()) {
        if (!groups.IsReadOutside({node.id, 0}, shown)) continue;
        if (node.id < group.back()) {
          views[group.back()].push_back(node.id);
          continue;
        }
      }
    }
    const std::vector<int> group = groups.GroupOf(node.id);
    if (group.empty()) {
      RETURN_IF_ERROR(rewrite.Copy(node));
    } else if (node.id == group.back()) {
      RETURN_IF_ERROR(AddFusedRows(groups, group, ops, rewrite));
      for (const int view : views[node.id]) RETURN_IF_ERROR(rewrite.Copy(graph.nodes()[view]));
    }
  }
  return rewrite.Finish();
}

}  // namespace tpurun
