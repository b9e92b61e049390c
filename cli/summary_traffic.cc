#include "cli/summary_traffic.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/fabric_flags.h"
#include "cli/processes.h"
#include "runtime/base/status.h"

namespace tpurun {
namespace {

constexpr std::array kTrafficNames = {kGradientTraffic, kRowTraffic, kStatisticsTraffic,
                                      kVoteTraffic};

struct Sent {
  int64_t messages = 0, bytes = 0;
};

Sent SentBy(const std::vector<StepCollective>& collectives, int rank, int processes,
            const std::string& of) {
  Sent sent;
  for (const StepCollective& each : collectives) {
    if (!of.empty() && each.of != of) continue;
    for (const Round& round : RoundsOf(each.collective, rank, processes)) {
      sent.messages += round.sent > 0;
      sent.bytes += round.sent;
    }
  }
  return sent;
}

// Of a forecast for which no flag gives one: Ethernet of 10 and 100 Gbit/s. The latencies are those
// of TCP between two machines of one rack, as benchmarks of MPI measure them.
constexpr Link kEthernets[] = {{.latency = 50e-6, .bandwidth = 10e9 / 8},
                               {.latency = 20e-6, .bandwidth = 100e9 / 8}};

std::string LinkText(const Json& row) {
  return absl::StrCat(
      absl::StrFormat("latency %g us, ", row["latency"].get<double>() * 1e6),
      row["bandwidth"].is_null()
          ? std::string("unlimited bandwidth")
          : absl::StrFormat("bandwidth %g Gbit/s", row["bandwidth"].get<double>() * 8 / 1e9));
}

std::string Milliseconds(const Json& seconds) {
  return absl::StrFormat("%.3f", seconds.get<double>() * 1e3);
}

}  // namespace

absl::StatusOr<TrafficFlags> ReadTrafficFlags(const CommandLine& command) {
  TrafficFlags flags;
  const bool of_link = command.Has("fabric_latency") || command.Has("fabric_bandwidth");
  if (command.Has("processes")) {
    ASSIGN_OR_RETURN(flags.processes, ReadProcesses(command));
  } else if (of_link || command.Has("step_seconds")) {
    return absl::InvalidArgumentError(
        "--step_seconds, --fabric_latency and --fabric_bandwidth want --processes=N");
  }
  if (!command.Has("step_seconds")) {
    if (!of_link) return flags;
    return absl::InvalidArgumentError(
        "--fabric_latency and --fabric_bandwidth want --step_seconds=S, the time of a step of one "
        "process");
  }
  flags.step_seconds = command.GetDouble("step_seconds");
  if (!(*flags.step_seconds > 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--step_seconds: got ", *flags.step_seconds, ", want seconds > 0"));
  }
  flags.links = {std::begin(kEthernets), std::end(kEthernets)};
  if (!of_link) return flags;
  ASSIGN_OR_RETURN(const Link link, LinkOf(command, {}));
  flags.links = {link};
  return flags;
}

std::vector<Json> TrafficRows(const std::vector<StepCollective>& collectives, int processes) {
  int most = 0;
  for (int rank = 1; rank < processes; ++rank) {
    if (SentBy(collectives, rank, processes, "").bytes >
        SentBy(collectives, most, processes, "").bytes)
      most = rank;
  }
  std::vector<Json> rows;
  const auto add = [&](const std::string& what, const Sent& sent) {
    rows.push_back({{"kind", "traffic"},
                    {"what", what},
                    {"processes", processes},
                    {"messages", sent.messages},
                    {"bytes", sent.bytes}});
  };
  for (const char* name : kTrafficNames) {
    const Sent sent = SentBy(collectives, most, processes, name);
    if (sent.messages > 0) add(name, sent);
  }
  add("all", SentBy(collectives, most, processes, ""));
  return rows;
}

std::vector<Json> ForecastRows(const std::vector<StepCollective>& collectives,
                               const TrafficFlags& flags) {
  std::vector<Json> rows;
  for (const Link& link : flags.links) {
    for (int processes = 1; processes <= flags.processes; processes *= 2) {
      double exchange = 0;
      for (const StepCollective& each : collectives)
        exchange += SecondsOf(each.collective, processes, link);
      const double step = *flags.step_seconds + exchange;
      Json row = {{"kind", "forecast"},
                  {"latency", link.latency},
                  {"bandwidth", link.bandwidth > 0 ? Json(link.bandwidth) : Json()},
                  {"processes", processes},
                  {"exchange_seconds", exchange},
                  {"step_seconds", step},
                  {"efficiency", *flags.step_seconds / step}};
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

void WriteTrafficText(const std::vector<Json>& traffic, const std::vector<Json>& forecast,
                      RowWriter& rows) {
  if (traffic.empty()) return;
  rows.Title("");
  rows.Title(absl::StrCat("Each of ", JsonText(traffic[0]["processes"]),
                          " processes sends in a step of train:"));
  std::vector<Json> texts;
  for (const Json& row : traffic) {
    texts.push_back({{"what", row["what"]},
                     {"messages", Grouped(row["messages"])},
                     {"bytes", Grouped(row["bytes"])}});
  }
  rows.Table({{"what"}, {"messages", true}, {"bytes", true}}, texts);
  for (size_t i = 0; i < forecast.size();) {
    const std::string of = LinkText(forecast[i]);
    rows.Title("");
    rows.Title(absl::StrCat("Forecast, ", of, ":"));
    texts.clear();
    for (; i < forecast.size() && LinkText(forecast[i]) == of; ++i) {
      const Json& row = forecast[i];
      texts.push_back(
          {{"processes", row["processes"]},
           {"exchange_ms", Milliseconds(row["exchange_seconds"])},
           {"step_ms", Milliseconds(row["step_seconds"])},
           {"efficiency", absl::StrFormat("%.1f %%", 100 * row["efficiency"].get<double>())}});
    }
    rows.Table(
        {{"processes", true}, {"exchange_ms", true}, {"step_ms", true}, {"efficiency", true}},
        texts);
  }
}

}  // namespace tpurun
