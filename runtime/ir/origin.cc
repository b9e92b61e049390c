#include "runtime/ir/origin.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

constexpr std::array<const char*, 5> kPhaseNames = {"input", "forward", "backward", "update",
                                                    "output"};

std::optional<NodeOrigin> ParseOrigin(const std::string& text) {
  for (size_t phase = 0; phase < kPhaseNames.size(); ++phase) {
    const std::string prefix = absl::StrCat(kPhaseNames[phase], ":");
    if (text.compare(0, prefix.size(), prefix) != 0) continue;
    return NodeOrigin{text.substr(prefix.size()), static_cast<NodeOrigin::Phase>(phase)};
  }
  return std::nullopt;
}

Origins Sorted(Origins origins) {
  std::sort(origins.begin(), origins.end());
  origins.erase(std::unique(origins.begin(), origins.end()), origins.end());
  return origins;
}

}  // namespace

Origins Union(const Origins& a, const Origins& b) {
  Origins both;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

Origins InPhase(const Origins& origins, NodeOrigin::Phase phase) {
  Origins moved = origins;
  for (NodeOrigin& origin : moved) origin.phase = phase;
  return Sorted(std::move(moved));
}

std::string PhaseName(NodeOrigin::Phase phase) { return kPhaseNames[static_cast<size_t>(phase)]; }

std::string Describe(const Origins& origins) {
  return absl::StrJoin(origins, ", ", [](std::string* text, const NodeOrigin& origin) {
    absl::StrAppend(text, origin.layer, " (", PhaseName(origin.phase), ")");
  });
}

std::string PrintOrigins(const Origins& origins) {
  if (origins.empty()) return "";
  std::string text = " from";
  for (const NodeOrigin& origin : origins) {
    absl::StrAppend(&text, " ", Quote(absl::StrCat(PhaseName(origin.phase), ":", origin.layer)));
  }
  return text;
}

std::optional<Origins> ParseOrigins(LineTokenizer& line) {
  Origins origins;
  if (!line.Eat("from ")) return origins;
  while (!line.rest().empty() && line.rest()[0] == '"') {
    const std::optional<std::string> text = line.QuotedString();
    const std::optional<NodeOrigin> origin = text ? ParseOrigin(*text) : std::nullopt;
    if (!origin) return std::nullopt;
    origins.push_back(*origin);
  }
  if (origins.empty()) return std::nullopt;
  return Sorted(std::move(origins));
}

}  // namespace tpurun
