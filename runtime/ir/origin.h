// NodeOrigin: the part of a model that a node computes. Builders of models set it, passes keep it,
// and programs, messages and profiles show it.
#ifndef TPURUN_RUNTIME_IR_ORIGIN_H_
#define TPURUN_RUNTIME_IR_ORIGIN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/ir/line_tokenizer.h"

namespace tpurun {

struct NodeOrigin {
  enum class Phase : uint8_t { kInput, kForward, kBackward, kUpdate, kOutput };
  std::string layer;  // the full name of a layer ("block/conv2d"), or a name below
  Phase phase = Phase::kForward;
  auto operator<=>(const NodeOrigin&) const = default;
};

// The parts of a model that are not layers.
inline constexpr char kInputOrigin[] = "input";
inline constexpr char kLossOrigin[] = "loss";
inline constexpr char kMetricsOrigin[] = "metrics";
inline constexpr char kOptimizerOrigin[] = "optimizer";
inline constexpr char kSummaryOrigin[] = "summary";
inline constexpr char kOutputOrigin[] = "output";  // predictions and other outputs

// Sorted, all different. A node that several layers share has several. Empty: unknown, in a graph
// that is not built from a model.
using Origins = std::vector<NodeOrigin>;

Origins Union(const Origins& a, const Origins& b);
// The same layers in another phase.
Origins InPhase(const Origins& origins, NodeOrigin::Phase phase);

std::string PhaseName(NodeOrigin::Phase phase);  // "forward"
// For messages: "dense (forward), loss (backward)".
std::string Describe(const Origins& origins);

// The end of a line of graph or program text: ` from "forward:dense" "backward:loss"`. "" if there
// are no origins.
std::string PrintOrigins(const Origins& origins);
// Parses the output of PrintOrigins, or nothing. nullopt: `from` without legal origins.
std::optional<Origins> ParseOrigins(LineTokenizer& line);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IR_ORIGIN_H_
