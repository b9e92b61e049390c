#include "runtime/compiler/calls.h"

#include <algorithm>

#include "runtime/compiler/replication.h"
#include "runtime/compiler/rewrite.h"

namespace tpurun {
namespace {

// A part with fewer elements is not worth the hand-over to another worker. One page of f32.
constexpr int64_t kPartElements = 4096;
// Output channels of a part: libraries compute blocks of 16 channels, the lanes of a register.
constexpr int64_t kPartColumns = 16;
// The number of rows of a call for which a rendezvous is worth its cost: the rows of an AMX tile.
constexpr int64_t kRowsOfSpanningCalls = 16;
// The least number of calls left for workers to share if calls span several replicas.
constexpr int kLeastGroups = 4;

// With one replica: the number of examples in each node's values, or 0 if their leading dimension
// has no examples. Each example has a number of consecutive rows: (N, ...) has one row per example,
// (N*T, ...) has T.
std::vector<int64_t> ExamplesOf(const Graph& graph) {
  std::vector<int64_t> examples(graph.nodes().size(), 0);
  if (graph.num_replicas() > 1) return examples;
  for (const Node& node : graph.nodes()) {
    const Shape& result = node.shapes[0];
    if (result.rank() == 0) continue;
    if (node.op->flags.per_replica) examples[node.id] = result.dims[0];
    if (node.op->flags.source) continue;
    const OpCall call = CallOfNode(graph, node);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const int64_t count = examples[node.inputs[i].node];
      if (count > 0 && result.dims[0] % count == 0 &&
          ReadsOwnRows(call, static_cast<int>(i), count)) {
        examples[node.id] = count;
      }
    }
  }
  return examples;
}

std::vector<std::vector<bool>> NeededResults(const Graph& graph) {
  std::vector<std::vector<bool>> needed;
  for (const Node& node : graph.nodes()) needed.emplace_back(node.shapes.size(), false);
  for (const Node& node : graph.nodes()) {
    for (const Value input : node.inputs) needed[input.node][input.result] = true;
  }
  for (const Output& output : graph.outputs())
    needed[output.value.node][output.value.result] = true;
  for (const Update& update : graph.updates())
    needed[update.value.node][update.value.result] = true;
  return needed;
}

// The largest number of elements among the results and the operands that are read row by row.
int64_t ElementsOfRows(const OpCall& call, const OpFlags& flags) {
  int64_t elements = call.results[0].num_elements();
  for (size_t i = 0; i < call.operands.size(); ++i) {
    if (!HasOperand(flags.row_operands, static_cast<int>(i))) continue;
    elements = std::max(elements, call.operands[i].num_elements());
  }
  return elements;
}

// The partition of a per-core node. `replicas_per_call` depends on shapes alone too, because the
// bits of a row may depend on the number of rows in the call.
Partition PartitionOfPerCore(const Graph& graph, const Node& node) {
  Partition partition{true, graph.num_replicas(), 1};
  if (!node.op->flags.spans_replicas) return partition;
  const int64_t rows = node.shapes[0].dims[0];
  while (partition.parts % (2 * partition.replicas_per_call) == 0 &&
         partition.parts / (2 * partition.replicas_per_call) >= kLeastGroups &&
         2 * partition.replicas_per_call * rows <= kRowsOfSpanningCalls) {
    partition.replicas_per_call *= 2;
  }
  return partition;
}

// The partition of a node that all cores share. Examples are divided into parts of any size, as the
// rows of 8 cores would be.
Partition PartitionOfShared(const Graph& graph, const Node& node, int64_t examples) {
  const Shape& result = node.shapes[0];
  const OpCall call = CallOfNode(graph, node);
  const OpFlags flags = OpFlagsOf(call);
  const WorkUnit unit = flags.unit;
  if (unit == WorkUnit::kColumns) {
    const int64_t columns = Units(call);
    const int64_t parts = std::clamp<int64_t>(columns / kPartColumns, 1, kParts);
    return {false, static_cast<int>(parts), columns, true};
  }
  if (unit == WorkUnit::kWhole || result.rank() == 0) return {};
  const int64_t rows = examples > 0 ? examples : result.dims[0];
  const int64_t most = std::min(kParts, rows);
  const int64_t parts =
      examples > 0 ? most : std::min(most, ElementsOfRows(call, flags) / kPartElements);
  return {false, static_cast<int>(std::max<int64_t>(1, parts)), rows};
}

}  // namespace

Calls::Calls(const Graph& graph)
    : graph_(graph), per_core_(PerCoreNodes(graph)), needed_(NeededResults(graph)) {
  const std::vector<int64_t> examples = ExamplesOf(graph);
  for (const Node& node : graph.nodes()) {
    partitions_.push_back(node.op->flags.source                        ? Partition{}
                          : node.op->flags.exchange != Exchange::kNone ? Partition{.exchange = true}
                          : per_core_[node.id] ? PartitionOfPerCore(graph, node)
                                               : PartitionOfShared(graph, node, examples[node.id]));
  }
}

OpCall Calls::Of(const Node& node) const {
  OpCall call = CallOfNode(graph_, node);
  call.needed = needed_[node.id];
  SetPartition(partitions_[node.id], call);
  return call;
}

}  // namespace tpurun
