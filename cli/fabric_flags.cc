#include "cli/fabric_flags.h"

#include <optional>
#include <span>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

struct Unit {
  std::string_view name;
  double value;
};

constexpr Unit kSeconds[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
// In bytes a second.
constexpr Unit kRates[] = {{"kbit", 1e3 / 8},  {"Mbit", 1e6 / 8},  {"Gbit", 1e9 / 8},
                           {"Tbit", 1e12 / 8}, {"kbps", 1e3 / 8},  {"Mbps", 1e6 / 8},
                           {"Gbps", 1e9 / 8},  {"Tbps", 1e12 / 8}, {"kB", 1e3},
                           {"MB", 1e6},        {"GB", 1e9},        {"TB", 1e12}};
// A thread that waits so long for a message cannot be interrupted.
constexpr double kMostLatency = 10;

// A number >= 0 with one of the units; nullopt otherwise.
std::optional<double> ParseQuantity(std::string_view text, std::span<const Unit> units) {
  const size_t end = text.find_last_of("0123456789.");
  if (end == std::string_view::npos) return std::nullopt;
  const std::optional<double> number = ParseDouble(text.substr(0, end + 1));
  if (!number.has_value() || !(*number >= 0)) return std::nullopt;
  const std::string_view name = text.substr(end + 1);
  for (const Unit& unit : units)
    if (unit.name == name) return *number * unit.value;
  return std::nullopt;
}

}  // namespace

std::vector<Flag> LinkFlags() {
  return {{.name = "fabric_latency",
           .value_name = "TIME",
           .help = "what each message between two processes takes besides its bytes: 50us, 1.5ms"},
          {.name = "fabric_bandwidth",
           .value_name = "RATE",
           .help = "of each process's link in both directions: 10Gbit, 1.25GB a second"}};
}

absl::StatusOr<double> ParseLatency(std::string_view text) {
  const std::optional<double> seconds =
      text == "0" ? std::optional<double>(0) : ParseQuantity(text, kSeconds);
  if (seconds.has_value() && *seconds <= kMostLatency) return *seconds;
  return absl::InvalidArgumentError(
      absl::StrCat("got ", Quote(text), ", want 0 to ", kMostLatency,
                   "s, with a unit of ns, us, ms or s, such as 50us"));
}

absl::StatusOr<double> ParseBandwidth(std::string_view text) {
  const std::string_view rate_text = text.ends_with("/s") ? text.substr(0, text.size() - 2) : text;
  const std::optional<double> rate = ParseQuantity(rate_text, kRates);
  if (rate.has_value() && *rate > 0) return *rate;
  return absl::InvalidArgumentError(
      absl::StrCat("got ", Quote(text),
                   ", want a number > 0 with a unit of kbit, Mbit, Gbit or "
                   "Tbit, or of kB, MB, GB or TB, a second, such as 10Gbit"));
}

absl::StatusOr<Link> LinkOf(const CommandLine& command, const Link& otherwise) {
  Link link = otherwise;
  if (command.Has("fabric_latency")) {
    const auto latency = ParseLatency(command.GetString("fabric_latency"));
    RETURN_IF_ERROR(Annotate(latency.status(), "--fabric_latency"));
    link.latency = *latency;
  }
  if (command.Has("fabric_bandwidth")) {
    const auto bandwidth = ParseBandwidth(command.GetString("fabric_bandwidth"));
    RETURN_IF_ERROR(Annotate(bandwidth.status(), "--fabric_bandwidth"));
    link.bandwidth = *bandwidth;
  }
  return link;
}

}  // namespace tpurun
