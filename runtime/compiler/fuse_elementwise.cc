#include "runtime/compiler/fuse_elementwise.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/compiler/replication.h"
#include "runtime/compiler/rewrite.h"
#include "runtime/ir/elementwise.h"

namespace tpurun {
namespace {

bool Fusable(const Graph& graph, const Node& node) {
  const auto fits = [](const Shape& shape) {
    return (IsFloat(shape.dtype) || shape.dtype == DType::kPred) && shape.layout.plain();
  };
  return node.op->tile != nullptr && fits(node.shapes[0]) &&
         std::all_of(node.inputs.begin(), node.inputs.end(), [&](Value input) {
           const Shape& shape = graph.shape(input);
           const bool row = shape.rank() > 0 && shape.rank() < node.shapes[0].rank();
           const bool bf16 = shape.dtype == DType::kBF16 && shape.dims != node.shapes[0].dims;
           return fits(shape) && !bf16 && (!row || shape.dtype == DType::kF32);
         });
}

// True if reading the node's operands and computing it costs no more than reading its result: one
// operation an element of one array, which is in memory already.
bool IsAsCheapAsItsResult(const Graph& graph, int id) {
  const Node& node = graph.nodes()[id];
  if (node.op->cost || node.op->element_flops > 1 || node.op->element_transcendentals > 0 ||
      node.shapes[0].dtype != DType::kF32) {
    return false;
  }
  int arrays = 0;
  for (const Value input : node.inputs) {
    if (graph.shape(input).dims != node.shapes[0].dims) continue;
    ++arrays;
    const Node& array = graph.nodes()[input.node];
    // A variable may be updated before the last reader comes.
    if (Fusable(graph, array) || array.op->flags.source) return false;
  }
  return arrays == 1;
}

struct Group {
  std::vector<int> nodes;  // ascending after the grouping
  bool has_output = false;
  bool read_outside = false;  // true if a node outside of the group reads a value of it
  size_t copies = 0;          // nodes that it computes again
};

class Grouping {
 public:
  explicit Grouping(const Graph& graph)
      : graph_(graph),
        per_core_(PerCoreNodes(graph)),
        in_prologue_(PrologueNodes(graph)),
        group_of_(graph.nodes().size(), -1),
        is_output_(graph.nodes().size(), false),
        is_update_(graph.nodes().size(), false),
        comes_last_(graph.nodes().size(), false),
        is_recomputed_(graph.nodes().size(), false),
        readers_(graph.nodes().size()) {
    for (const Output& output : graph.outputs()) is_output_[output.value.node] = true;
    for (const Node& node : graph.nodes()) {
      for (const Value input : node.inputs) readers_[input.node].push_back(node.id);
    }
    for (const Update& update : graph.updates()) is_update_[update.value.node] = true;
    for (const Update& update : graph.updates()) AddOverwritten(update.value.node);
    for (size_t id = graph.nodes().size(); id-- > 0;) {
      if (Fusable(graph, graph.nodes()[id])) Add(static_cast<int>(id));
    }
    for (Group& group : groups_) std::sort(group.nodes.begin(), group.nodes.end());
    for (const Node& node : graph.nodes()) {
      const std::set<int> groups = GroupsThatRecompute(node.id);
      is_recomputed_[node.id] = !groups.empty();
      for (const int group : groups) ++groups_[group].copies;
    }
  }

  // nullptr if the node stays by itself.
  const Group* GroupOf(int node) const {
    if (group_of_[node] < 0) return nullptr;
    const Group& group = groups_[group_of_[node]];
    return group.nodes.size() > 1 ? &group : nullptr;
  }
  int GroupNumber(int node) const { return group_of_[node]; }
  // True if every reader computes the node's value again in its own group.
  bool IsRecomputed(int node) const { return is_recomputed_[node]; }
  bool IsUpdate(int node) const { return is_update_[node]; }
  // True if the node comes after all groups: it has no readers, and it overwrites a value that may
  // be the result of a group.
  bool ComesLast(int node) const { return comes_last_[node]; }

 private:
  // A value that an update overwrites is treated as the update itself. The overwriting node then
  // comes after all groups.
  void AddOverwritten(int update) {
    const Node& node = graph_.nodes()[update];
    if (!node.op->flags.overwrites || !readers_[update].empty() || is_output_[update]) return;
    comes_last_[update] = true;
    const int overwritten = node.inputs[0].node;
    is_update_[overwritten] = true;
    std::erase(readers_[overwritten], update);
  }

  // Nodes are added from last to first, so the readers of this node already have groups.
  void Add(int node) {
    const std::vector<int> groups = GroupsToJoin(node);
    if (groups.empty()) {
      group_of_[node] = static_cast<int>(groups_.size());
      groups_.push_back(Group{.nodes = {node},
                              .has_output = is_output_[node],
                              .read_outside = !readers_[node].empty()});
      return;
    }
    Group& merged = groups_[groups[0]];
    for (size_t i = 1; i < groups.size(); ++i) {
      for (const int other : groups_[groups[i]].nodes) {
        group_of_[other] = groups[0];
        merged.nodes.push_back(other);
      }
      groups_[groups[i]].nodes.clear();
    }
    group_of_[node] = groups[0];
    merged.nodes.push_back(node);
  }

  // The groups that are merged with the node. Empty: the node starts its own group.
  std::vector<int> GroupsToJoin(int node) const {
    std::set<int> groups;
    size_t steps = 1;
    for (const int reader : readers_[node]) {
      if (group_of_[reader] < 0 || !Alike(node, reader)) return {};
      if (groups.insert(group_of_[reader]).second) steps += groups_[group_of_[reader]].nodes.size();
    }
    if (is_output_[node] || steps > kMaxTileSteps) return {};
    for (const int group : groups) {
      if (is_update_[node] && (groups_[group].has_output || EndsInBF16(groups_[group]))) return {};
      // Nothing depends on an update, so merging several groups of updates creates no cycle.
      if (groups.size() > 1 && (groups_[group].read_outside || groups_[group].has_output))
        return {};
    }
    return std::vector<int>(groups.begin(), groups.end());
  }

  // True if the group's last value is bf16. Only result 0 can be stored in bf16, and the results of
  // updates would come before the last value.
  bool EndsInBF16(const Group& group) const {
    return graph_.nodes()[group.nodes.front()].shapes[0].dtype == DType::kBF16;
  }

  // The groups that compute the value of a node again, instead of reading it. Empty: none.
  std::set<int> GroupsThatRecompute(int node) const {
    if (group_of_[node] < 0 || is_output_[node] || is_update_[node] ||
        groups_[group_of_[node]].nodes.size() > 1 || !IsAsCheapAsItsResult(graph_, node)) {
      return {};
    }
    std::set<int> groups;
    for (const int reader : readers_[node]) {
      const int group = group_of_[reader];
      if (group < 0 || !Alike(node, reader) ||
          groups_[group].nodes.size() + groups_[group].copies >= kMaxTileSteps) {
        return {};
      }
      groups.insert(group);
    }
    return groups.size() > 1 ? groups : std::set<int>();
  }

  bool Alike(int a, int b) const {
    return graph_.nodes()[a].shapes[0].dims == graph_.nodes()[b].shapes[0].dims &&
           per_core_[a] == per_core_[b] && in_prologue_[a] == in_prologue_[b];
  }

  const Graph& graph_;
  const std::vector<bool> per_core_, in_prologue_;
  std::vector<Group> groups_;
  std::vector<int> group_of_;  // [node]; -1: the node cannot be fused
  std::vector<bool> is_output_, is_update_, comes_last_, is_recomputed_;
  std::vector<std::vector<int>> readers_;
};

// Appends the node of a group. Its results are the updates and the last value, which other nodes
// may read.
absl::Status AddFused(const Grouping& grouping, const Group& group, const OpDef& fused,
                      Rewrite& rewrite) {
  const Graph& graph = rewrite.old;
  std::vector<Value> operands;
  std::map<Value, int> operand_of;
  std::map<int, int> step_of;
  for (const int id : group.nodes) step_of.emplace(id, static_cast<int>(step_of.size()));
  for (const int id : group.nodes) {
    for (const Value input : graph.nodes()[id].inputs) {
      if (step_of.count(input.node) > 0) continue;
      if (operand_of.emplace(input, static_cast<int>(operands.size())).second)
        operands.push_back(rewrite.At(input));
    }
  }
  TileProgram program;
  std::vector<int64_t> results;
  Attrs attrs;
  Origins origins;
  for (const int id : group.nodes) {
    const Node& node = graph.nodes()[id];
    const bool last = id == group.nodes.back();
    origins = Union(origins, node.origins);
    const bool bf16 = node.shapes[0].dtype == DType::kBF16;
    TileProgram::Step step{.op = node.op, .rounds = bf16 && !last && !node.op->flags.any_dtype};
    if (bf16 && last) attrs.Set(kStoredIn, DType::kBF16);
    for (const Value input : node.inputs) {
      const auto inside = step_of.find(input.node);
      const bool is_step = inside != step_of.end();
      step.inputs.push_back({is_step, is_step ? inside->second : operand_of.at(input)});
    }
    program.steps.push_back(std::move(step));
    if (last || grouping.IsUpdate(id)) results.push_back(step_of.at(id));
  }
  attrs.Set("program", program);
  attrs.Set("results", results);
  ASSIGN_OR_RETURN(
      const Value value,
      rewrite.graph.AddNode(fused, std::move(operands), std::move(attrs),
                            graph.nodes()[group.nodes.back()].name, std::move(origins)));
  for (size_t i = 0; i < results.size(); ++i) {
    rewrite.map[group.nodes[results[i]]][0] = Value{value.node, static_cast<int>(i)};
  }
  return absl::OkStatus();
}

// The graph in which every group has its own copy of the nodes that it computes again.
absl::StatusOr<Graph> WithCopies(const Graph& graph) {
  const Grouping grouping(graph);
  Rewrite rewrite(graph);
  std::map<std::pair<Value, int>, Value> copies;  // [value, group]
  for (const Node& node : graph.nodes()) {
    if (grouping.IsRecomputed(node.id)) continue;
    for (const Value input : node.inputs) {
      if (!grouping.IsRecomputed(input.node)) continue;
      const auto [copy, is_new] =
          copies.try_emplace({input, grouping.GroupNumber(node.id)}, Value{});
      if (is_new) {
        RETURN_IF_ERROR(rewrite.Copy(graph.nodes()[input.node]));
        copy->second = rewrite.At(input);
      }
      rewrite.map[input.node][input.result] = copy->second;
    }
    RETURN_IF_ERROR(rewrite.Copy(node));
  }
  return rewrite.Finish();
}

}  // namespace

absl::StatusOr<Graph> FuseElementwise(const Graph& original, const OpDef& fused) {
  ASSIGN_OR_RETURN(const Graph graph, WithCopies(original));
  const Grouping grouping(graph);
  Rewrite rewrite(graph);
  for (const Node& node : graph.nodes()) {
    const Group* group = grouping.GroupOf(node.id);
    if (grouping.ComesLast(node.id)) continue;
    if (group == nullptr) {
      RETURN_IF_ERROR(rewrite.Copy(node));
    } else if (node.id == group->nodes.back()) {
      RETURN_IF_ERROR(AddFused(grouping, *group, fused, rewrite));
    }
  }
  for (const Node& node : graph.nodes()) {
    if (grouping.ComesLast(node.id)) RETURN_IF_ERROR(rewrite.Copy(node));
  }
  return rewrite.Finish();
}

}  // namespace tpurun
