#include "cli/profile_text.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/inspect_rows.h"
#include "cli/json.h"
#include "runtime/base/memory.h"
#include "runtime/base/text.h"
#include "runtime/profile/layer_times.h"
#include "runtime/profile/time_unit.h"

namespace tpurun {
namespace {

using proto::ProfileRow;

constexpr size_t kMostRows = 20;
constexpr size_t kNameWidth = 34;

std::string Percent(double share) { return absl::StrFormat("%.1f", share * 100); }
// The share of a roof; "-" if it was not measured.
std::string OfRoof(double share) { return share > 0 ? absl::StrFormat("%.0f", share * 100) : "-"; }
std::string Rate(double rate) { return rate > 0 ? absl::StrFormat("%.1f", rate) : "-"; }

// The end of a name says most: "...block_3/conv2d_1/BiasAdd".
std::string Short(const std::string& name) {
  return name.size() <= kNameWidth ? name
                                   : absl::StrCat("...", name.substr(name.size() - kNameWidth + 3));
}

// The cells that all tables of work have.
Json WorkCells(const ProfileRow& row, const TimeUnit& unit) {
  Json cells = {
      {"share %", Percent(row.share())},          {"calls", absl::StrFormat("%.4g", row.calls())},
      {"GFLOP/s", Rate(row.gflops_per_second())}, {"GB/s", Rate(row.gbytes_per_second())},
      {"kernel %", OfRoof(row.kernel_roof())},    {"machine %", OfRoof(row.machine_roof())}};
  cells[unit.symbol] = unit.Text(row.seconds());
  return cells;
}

std::vector<RowColumn> WithWorkColumns(std::vector<RowColumn> columns, const TimeUnit& unit) {
  for (const char* key :
       {unit.symbol, "share %", "calls", "GFLOP/s", "GB/s", "kernel %", "machine %"}) {
    columns.push_back({key, true});
  }
  return columns;
}

void WriteLayers(const proto::Profile& profile, RowWriter& rows) {
  const TimeUnit unit = TimeUnitOf(profile);
  std::vector<Json> cells;
  for (const LayerTimes& times : TimesByLayer(profile)) {
    cells.push_back({{"layer", Short(times.layer.empty() ? "(unknown)" : times.layer)},
                     {"forward", unit.Text(times.forward)},
                     {"backward", unit.Text(times.backward)},
                     {"update", unit.Text(times.update)},
                     {"other", unit.Text(times.other)},
                     {"share %", Percent(times.share)},
                     {"GFLOP/s", Rate(times.flops / times.seconds() * 1e-9)},
                     {"GB/s", Rate(times.bytes / times.seconds() * 1e-9)}});
  }
  rows.Title(absl::StrFormat("\nLayers: %s of all workers in a step", unit.plural));
  rows.Table({{"layer"},
              {"forward", true},
              {"backward", true},
              {"update", true},
              {"other", true},
              {"share %", true},
              {"GFLOP/s", true},
              {"GB/s", true}},
             cells);
}

void WriteOps(const proto::Profile& profile, RowWriter& rows) {
  const TimeUnit unit = TimeUnitOf(profile);
  std::vector<Json> cells;
  for (const ProfileRow& row : profile.op()) {
    Json cell = {{"op", row.name()}};
    cell.update(WorkCells(row, unit));
    cells.push_back(std::move(cell));
  }
  rows.Title("\nOps");
  rows.Table(WithWorkColumns({{"op"}}, unit), cells);
}

std::string KernelText(const ProfileRow& row) {
  if (row.library_kernel().empty()) return row.kernel();
  return absl::StrCat(row.kernel(), " ", row.library_kernel());
}

// The first of the layers and phases that an instruction comes from.
std::string FromText(const ProfileRow& row) {
  if (row.from().empty()) return "";
  const int more = row.from_size() - 1;
  return absl::StrCat(Short(row.from(0)), more == 0 ? "" : absl::StrCat(" and ", more, " more"));
}

void WriteInstructions(const proto::Profile& profile, RowWriter& rows) {
  const TimeUnit unit = TimeUnitOf(profile);
  std::vector<Json> works, kernels;
  const size_t count = std::min<size_t>(kMostRows, profile.instruction_size());
  for (size_t i = 0; i < count; ++i) {
    const ProfileRow& row = profile.instruction(static_cast<int>(i));
    Json cell = {{"#", i + 1}, {"instruction", Short(row.name())}};
    cell.update(WorkCells(row, unit));
    works.push_back(std::move(cell));
    kernels.push_back(
        {{"#", i + 1}, {"op", row.op()}, {"kernel", KernelText(row)}, {"from", FromText(row)}});
  }
  rows.Title(absl::StrCat("\nInstructions",
                          count < static_cast<size_t>(profile.instruction_size())
                              ? absl::StrCat(": ", count, " of ", profile.instruction_size())
                              : ""));
  rows.Table(WithWorkColumns({{"#", true}, {"instruction"}}, unit), works);
  rows.Title("");
  rows.Table({{"#", true}, {"op"}, {"kernel"}, {"from"}}, kernels);
}

void WriteWorkers(const proto::Profile& profile, RowWriter& rows) {
  std::vector<Json> cells;
  const double step = profile.step_seconds();
  const bool exchanges =
      std::any_of(profile.worker().begin(), profile.worker().end(),
                  [](const proto::WorkerTime& worker) { return worker.exchange_seconds() > 0; });
  for (const proto::WorkerTime& worker : profile.worker()) {
    cells.push_back({{"worker", worker.worker()},
                     {"busy %", Percent(worker.busy_seconds() / step)},
                     {"barrier %", Percent(worker.barrier_seconds() / step)},
                     {"infeed %", Percent(worker.infeed_seconds() / step)},
                     {"outfeed %", Percent(worker.outfeed_seconds() / step)}});
    if (exchanges) cells.back()["exchange %"] = Percent(worker.exchange_seconds() / step);
  }
  rows.Title(
      absl::StrCat("\nWorkers: in instructions, waiting for other workers, for a batch, for the "
                   "host",
                   exchanges ? ", exchanging with other processes" : ""));
  std::vector<RowColumn> columns = {{"worker", true},
                                    {"busy %", true},
                                    {"barrier %", true},
                                    {"infeed %", true},
                                    {"outfeed %", true}};
  if (exchanges) columns.push_back({"exchange %", true});
  rows.Table(columns, cells);
}

void WriteProcesses(const proto::Profile& profile, RowWriter& rows) {
  if (profile.process().empty()) return;
  std::vector<Json> cells;
  const double step = profile.step_seconds();
  for (const proto::ProcessTime& process : profile.process()) {
    cells.push_back({{"process", process.process()},
                     {"busy %", Percent(process.busy_seconds() / step)},
                     {"exchange %", Percent(process.exchange_seconds() / step)},
                     {"waiting %", Percent(process.waiting_seconds() / step)}});
  }
  rows.Title("\nProcesses: in instructions, exchanging, of that waiting for slower processes");
  rows.Table({{"process", true}, {"busy %", true}, {"exchange %", true}, {"waiting %", true}},
             cells);
}

void WriteInput(const proto::Profile& profile, RowWriter& rows) {
  if (profile.input().empty()) return;
  std::vector<Json> cells;
  double seconds = 0;
  for (const proto::InputStage& stage : profile.input()) seconds += stage.seconds();
  for (const proto::InputStage& stage : profile.input()) {
    cells.push_back({{"stage", stage.name()},
                     {"rows/s", absl::StrFormat("%.0f", stage.rows_per_second())},
                     {"time %", Percent(seconds > 0 ? stage.seconds() / seconds : 0)},
                     {"", stage.limit() ? "<- the limit" : ""}});
  }
  rows.Title(absl::StrFormat("\nInput: %.0f rows/s alone; the steps take %.0f",
                             profile.input_rows_per_second(), profile.examples_per_second()));
  rows.Table({{"stage"}, {"rows/s", true}, {"time %", true}, {""}}, cells);
}

void WriteCriticalPath(const proto::Profile& profile, RowWriter& rows) {
  const TimeUnit unit = TimeUnitOf(profile);
  std::vector<const ProfileRow*> sorted;
  for (const ProfileRow& row : profile.instruction()) sorted.push_back(&row);
  std::stable_sort(sorted.begin(), sorted.end(), [](const ProfileRow* a, const ProfileRow* b) {
    return a->critical_seconds() > b->critical_seconds();
  });
  sorted.resize(std::min<size_t>(sorted.size(), kMostRows / 2));
  std::vector<Json> cells;
  for (const ProfileRow* row : sorted) {
    if (row->critical_seconds() == 0) break;
    cells.push_back({{"instruction", Short(row->name())},
                     {"op", row->op()},
                     {unit.symbol, unit.Text(row->critical_seconds())},
                     {"step %", Percent(row->critical_seconds() / profile.step_seconds())}});
  }
  rows.Title(absl::StrFormat("\nCritical path: %s of %s %s; the longest of its instructions",
                             unit.Text(profile.critical_path_seconds()),
                             unit.Text(profile.step_seconds()), unit.symbol));
  rows.Table({{"instruction"}, {"op"}, {unit.symbol, true}, {"step %", true}}, cells);
}

void WriteMemory(const proto::Profile& profile, RowWriter& rows) {
  const proto::ProfileMemory& memory = profile.memory();
  rows.Title(absl::StrCat("\nMemory: variables ", BytesText(memory.variables_bytes()),
                          ", intermediate values ", BytesText(memory.arena_bytes()), ", infeed ",
                          BytesText(memory.infeed_bytes()), ", outfeed ",
                          BytesText(memory.outfeed_bytes())));
  if (memory.at_peak().empty()) return;
  rows.Title(absl::StrCat("At the peak, ", BytesText(memory.peak_bytes()), " live, at ",
                          Short(memory.peak_instruction()), ":"));
  std::vector<Json> cells;
  for (const proto::MemoryOfLayer& layer : memory.at_peak()) {
    if (cells.size() == kMostRows / 2) break;
    cells.push_back({{"layer", Short(layer.layer())},
                     {"phase", layer.phase()},
                     {"memory", BytesText(layer.bytes())}});
  }
  rows.Table({{"layer"}, {"phase"}, {"memory", true}}, cells);
  if (const size_t more = memory.at_peak_size() - cells.size(); more > 0)
    rows.Title(absl::StrCat("(", more, " more: --format=json)"));
}

void WriteSlower(const proto::Profile& profile, RowWriter& rows) {
  const TimeUnit unit = TimeUnitOf(profile);
  std::vector<Json> cells;
  for (const proto::ProfileChange& change : profile.slower()) {
    cells.push_back(
        {{"layer", Short(change.name())},
         {"phase", change.phase()},
         {"before", unit.Text(change.seconds_before())},
         {"now", unit.Text(change.seconds())},
         {"times", absl::StrFormat("%.2f", change.seconds() / change.seconds_before())}});
  }
  rows.Title(absl::StrFormat("\nSlower than in the other profile: %s of all workers in a step",
                             unit.plural));
  rows.Table({{"layer"}, {"phase"}, {"before", true}, {"now", true}, {"times", true}}, cells);
}

}  // namespace

void WriteProfile(const proto::Profile& profile, std::ostream& out) {
  RowWriter rows(false, out);
  const auto counted = [](int64_t count, const char* what) {
    return absl::StrCat(count, " ", what, count == 1 ? "" : "s");
  };
  std::string devices = absl::StrCat(counted(profile.num_replicas(), "core"), " on ",
                                     counted(profile.num_workers(), "worker"));
  if (const int processes = profile.process_size(); processes > 1)
    absl::StrAppend(&devices, " in each of ", processes, " processes");
  rows.Title(absl::StrFormat("%s: %s, %s, batches of %d, %d steps", Escape(profile.model()),
                             profile.mode(), devices, profile.batch_size(), profile.steps()));
  const TimeUnit unit = TimeUnitOf(profile);
  rows.Title(absl::StrFormat(
      "A step takes %s %s (median %s): %.0f examples/s", unit.Text(profile.step_seconds()),
      unit.symbol, unit.Text(profile.step_seconds_median()), profile.examples_per_second()));
  const proto::MachinePeaks& machine = profile.machine();
  rows.Title(absl::StrFormat(
      "This machine now: %.0f GFLOP/s of f32%s, %.1f GB/s of memory (%s)", machine.f32_gflops(),
      machine.bf16_gflops() > 0 ? absl::StrFormat(", %.0f of bf16", machine.bf16_gflops()) : "",
      machine.memory_gbytes(), machine.name()));
  WriteLayers(profile, rows);
  WriteOps(profile, rows);
  WriteInstructions(profile, rows);
  WriteWorkers(profile, rows);
  WriteProcesses(profile, rows);
  WriteInput(profile, rows);
  WriteCriticalPath(profile, rows);
  WriteMemory(profile, rows);
  if (!profile.slower().empty()) WriteSlower(profile, rows);
  rows.Title(absl::StrCat("\nInstructions and waits are ", Percent(profile.accounted_share()),
                          " % of the workers' time."));
}

}  // namespace tpurun
