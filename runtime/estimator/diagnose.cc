#include "runtime/estimator/diagnose.h"

#include <cmath>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/bfloat16.h"
#include "runtime/base/cpu.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/ir/evaluate.h"
#include "runtime/program/core_program.h"

namespace tpurun {
namespace {

std::vector<std::vector<Literal>> InfeedLiterals(const Graph& graph, const std::byte* entry) {
  const SlotLayout layout = LayoutOf(graph.infeed(), graph.num_replicas());
  std::vector<std::vector<Literal>> literals(graph.infeed().size());
  for (size_t slot = 0; slot < literals.size(); ++slot) {
    for (int replica = 0; replica < graph.num_replicas(); ++replica) {
      Literal literal(graph.infeed()[slot].shape);
      std::memcpy(literal.data(),
                  entry + layout.offsets[slot] + replica * layout.replica_bytes[slot],
                  layout.replica_bytes[slot]);
      literals[slot].push_back(std::move(literal));
    }
  }
  return literals;
}

// Formats the feature or label of an infeed node for a message: `feature "x"`.
std::string Title(const Graph& graph, const Node& node, const std::vector<FeatureSpec>& features) {
  const std::string& name = graph.infeed()[node.attrs.Int("slot")].name;
  for (const FeatureSpec& feature : features) {
    if (feature.name == name)
      return absl::StrCat(feature.is_label ? "label" : "feature", " ", Quote(name));
  }
  return Quote(name);
}

bool IsInfeed(const Node& node) { return node.op->flags.source && node.attrs.Has("slot"); }

// Returns the row of the batch (from 1) that has this element of a replica's share.
int64_t RowOf(const Shape& share, int64_t replica, int64_t element) {
  const int64_t rows = share.rank() == 0 ? 1 : share.dims[0];
  return replica * rows + (share.rank() == 0 ? 0 : element / share.row_elements()) + 1;
}

// Describes a node whose result has a NaN or an infinity at `element`.
NonFinite Describe(const Graph& graph, const Node& node, const Literal& literal, int64_t replica,
                   int64_t element, const std::vector<FeatureSpec>& features) {
  if (IsInfeed(node)) {
    const float value = literal.shape().dtype == DType::kF32
                            ? literal.values<float>()[element]
                            : FromBFloat16Bits(literal.values<uint16_t>()[element]);
    return {absl::StrCat(Title(graph, node, features), " is ", NonFiniteText(value), " in row ",
                         RowOf(literal.shape(), replica, element), " of the batch"),
            true, static_cast<int>(replica)};
  }
  const std::string name = node.name.empty() ? absl::StrCat("%", node.id) : node.name;
  const std::string of = node.origins.empty() ? "" : absl::StrCat(" of ", Describe(node.origins));
  return {absl::StrCat("first in node ", Quote(name), " (", node.op->name, ")", of), false,
          static_cast<int>(replica)};
}

// Describes the results of a node, [replica][result], or returns nullopt if all are finite.
std::optional<NonFinite> DescribeResults(const Graph& graph, const Node& node,
                                         const std::vector<std::vector<Literal>>& results,
                                         const std::vector<FeatureSpec>& features) {
  for (size_t replica = 0; replica < results.size(); ++replica) {
    for (const Literal& literal : results[replica]) {
      const int64_t element = FirstNonFinite(literal.shape(), literal.data());
      if (element < 0) continue;
      return Describe(graph, node, literal, static_cast<int64_t>(replica), element, features);
    }
  }
  return std::nullopt;
}

// Returns the first node that node `last` depends on through nodes whose results are not finite.
int FirstBehind(const Graph& graph, const std::vector<std::optional<NonFinite>>& not_finite,
                int last) {
  std::vector<bool> behind(last + 1, false);
  behind[last] = true;
  int first = last;
  for (int id = last; id >= 0; --id) {
    if (!behind[id]) continue;
    first = id;
    for (const Value input : graph.nodes()[id].inputs)
      behind[input.node] = behind[input.node] || not_finite[input.node].has_value();
  }
  return first;
}

}  // namespace

std::string NonFiniteText(float value) {
  return std::isnan(value) ? "NaN" : value > 0 ? "inf" : "-inf";
}

absl::StatusOr<NonFinite> FindNonFinite(const Graph& graph, const VariableStore& store,
                                        const std::byte* entry, int64_t loop_index,
                                        const std::vector<FeatureSpec>& features, Value value) {
  ScopedFlushDenormals flush;
  Graph interpreted = graph;
  for (size_t i = 0; i < interpreted.variables().size(); ++i) {
    const StoredVariable* const stored = store.Find(interpreted.variables()[i].name);
    if (stored != nullptr && stored->copies() > 1) interpreted.SetPerCore(static_cast<int>(i));
  }
  std::vector<std::optional<NonFinite>> not_finite(graph.nodes().size());
  const auto observe = [&](const Node& node, const std::vector<std::vector<Literal>>& results) {
    not_finite[node.id] = DescribeResults(interpreted, node, results, features);
    return node.id < value.node;
  };
  RETURN_IF_ERROR(Evaluate(interpreted, {.infeed = InfeedLiterals(graph, entry),
                                         .variables = store.ToLiterals(),
                                         .loop_index = static_cast<int32_t>(loop_index),
                                         .observe = observe})
                      .status());
  if (!not_finite[value.node].has_value()) return NonFinite{};
  return *not_finite[FirstBehind(graph, not_finite, value.node)];
}

}  // namespace tpurun
