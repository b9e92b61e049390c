#include "cli/check_text.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/inspect_rows.h"
#include "cli/json.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

// 20 published steps took so many times as long as their forecasts (tests/e2e/published_test.py).
constexpr double kLeastOfForecast = 0.83, kMostOfForecast = 1.37;
// The greatest demand of a host's input that public runs have shown: 7,460 images of ResNet-50 a
// second on a v3-8, in bf16.
constexpr double kShownHostBandwidth = 2.3e9;
constexpr int kShownLayers = 16;
constexpr int kShownAllocations = 3;
constexpr int kShownPadding = 5;

// Rounded to 4 digits: a forecast is not more exact.
Json Rounded(double value) {
  if (value == 0) return 0;
  const double unit = std::pow(10.0, std::floor(std::log10(std::abs(value))) - 3);
  return JsonNumber(std::stod(absl::StrFormat("%.4g", std::round(value / unit) * unit)));
}

Json RoundedMs(double seconds) { return Rounded(seconds * 1e3); }

double ExamplesPerSecond(const ModelCheck& check, const TpuForecast& forecast) {
  return static_cast<double>(check.batch_size) / forecast.step;
}

double TokensPerSecond(const ModelCheck& check) {
  return static_cast<double>(check.tokens_of_example) *
         ExamplesPerSecond(check, check.step.forecast);
}

// Of the cycles of all matrix units in a step.
double MxuUtilization(const ModelCheck& check) {
  const TpuForecast& forecast = check.step.forecast;
  return forecast.matrix_flops / check.accelerator.generation->matrix_peak() / forecast.step;
}

// What the most time of a step is waited for.
std::string BoundOfStep(const ModelCheck& check) {
  const TpuForecast& forecast = check.step.forecast;
  if (std::max(forecast.infeed, forecast.input) >= forecast.step) return "infeed";
  std::map<TpuBound, double> waits = {{TpuBound::kLinks, forecast.all_reduce},
                                      {TpuBound::kOverhead, forecast.step - forecast.compute}};
  for (const TpuTime& time : forecast.computations) waits[time.bound()] += time.seconds();
  return TpuBoundName(
      std::max_element(waits.begin(), waits.end(), [](const auto& a, const auto& b) {
        return a.second < b.second;
      })->first);
}

// That the input of a host must make for a step that does not wait for it.
double NeededOfHost(const ModelCheck& check) {
  const TpuForecast& forecast = check.step.forecast;
  const double step =
      std::max(forecast.compute + check.step.assumptions.step_seconds, forecast.infeed);
  return static_cast<double>(check.examples_of_host(check.step.batch_of_core)) / step;
}

// Threads like those of this machine that a host needs for its share of the examples.
double ThreadsOfHost(const ModelCheck& check) {
  return NeededOfHost(check) * check.input->cpu_seconds;
}

Json CheckRow(const ModelCheck& check) {
  const CheckedStep& step = check.step;
  const TpuForecast& forecast = step.forecast;
  Json row = {
      {"kind", "check"},
      {"accelerator_type", check.accelerator.name()},
      {"cores", check.accelerator.cores},
      {"hosts", check.accelerator.hosts()},
      {"batch_size", check.batch_size},
      {"batch_size_of_core", step.batch_of_core},
      {"fits", step.memory.fits(check.accelerator)},
      {"hbm_bytes", step.memory.used()},
      {"hbm_capacity_bytes", check.accelerator.generation->hbm_bytes},
      {"hbm_arguments_bytes", step.memory.arguments.padded},
      {"hbm_temporaries_bytes", step.memory.temporaries.padded},
      {"hbm_padding_bytes", step.memory.arguments.padding() + step.memory.outputs.padding() +
                                step.memory.temporaries.padding()}};
  row["largest_batch_size"] = check.largest_batch_of_core.has_value()
                                  ? Json(*check.largest_batch_of_core * check.batch_shares)
                                  : Json();
  row["step_ms"] = RoundedMs(forecast.step);
  row["least_step_ms"] = RoundedMs(forecast.step * kLeastOfForecast);
  row["most_step_ms"] = RoundedMs(forecast.step * kMostOfForecast);
  row["examples_per_second"] = Rounded(ExamplesPerSecond(check, forecast));
  if (check.tokens_of_example > 0) row["tokens_per_second"] = Rounded(TokensPerSecond(check));
  row["bound"] = BoundOfStep(check);
  row["mxu_utilization"] = Rounded(MxuUtilization(check));
  row["compute_ms"] = RoundedMs(forecast.compute - forecast.all_reduce);
  row["all_reduce_ms"] = RoundedMs(forecast.all_reduce);
  row["infeed_ms"] = RoundedMs(forecast.infeed);
  row["infeed_bytes_of_host"] = static_cast<int64_t>(forecast.infeed_bytes);
  row["examples_per_second_of_host"] = Rounded(NeededOfHost(check));
  if (check.host_examples_per_second.has_value()) row["input_ms"] = RoundedMs(forecast.input);
  if (check.in_bf16.has_value()) {
    row["bf16_hbm_bytes"] = check.in_bf16->memory.used();
    row["bf16_step_ms"] = RoundedMs(check.in_bf16->forecast.step);
  }
  if (check.steps.has_value()) {
    row["steps"] = *check.steps;
    row["hours"] = Rounded(static_cast<double>(*check.steps) * forecast.step / 3600);
  }
  row["hours_of_million_examples"] = Rounded(1e6 / ExamplesPerSecond(check, forecast) / 3600);
  if (check.input.has_value()) {
    row["input_examples_per_second"] = Rounded(check.input->examples_per_second);
    row["input_cpu_ms_of_example"] = RoundedMs(check.input->cpu_seconds);
    row["input_threads_of_host"] = Rounded(ThreadsOfHost(check));
  }
  row["estimate"] = check.accelerator.generation->estimated;
  return row;
}

std::vector<Json> LayerRowsOf(const ModelCheck& check) {
  std::vector<Json> rows;
  for (const TpuLayer& layer : check.layers) {
    const double peak = check.accelerator.generation->matrix_peak();
    rows.push_back(
        {{"kind", "layer"},
         {"layer", layer.name},
         {"phase", PhaseName(layer.phase)},
         {"ms", RoundedMs(layer.seconds)},
         {"share", Rounded(layer.seconds / check.step.forecast.step)},
         {"bound", TpuBoundName(layer.bound)},
         {"mxu_utilization", Rounded(layer.matrix_flops / peak / layer.seconds)},
         {"mxu_padding_ms", RoundedMs(layer.matrix_seconds - layer.unpadded_matrix_seconds)},
         {"hbm_bytes", static_cast<int64_t>(layer.hbm_bytes)}});
  }
  return rows;
}

std::vector<Json> AllocationRows(const ModelCheck& check) {
  std::vector<Json> rows;
  const TpuProgram& program = check.step.program;
  for (const int id : check.step.memory.at_peak) {
    const TpuBuffer& buffer = program.buffers[id];
    Json row = {{"kind", "allocation"},
                {"bytes", buffer.bytes()},
                {"unpadded_bytes", UnpaddedTpuBytes(buffer.shape)},
                {"shape", PrintTiledShape(buffer.shape, buffer.layout)}};
    if (buffer.node >= 0) {
      row["op"] = program.graph.nodes()[buffer.node].op->name;
      row["name"] = program.graph.nodes()[buffer.node].name;
      row["layers"] = Describe(program.graph.nodes()[buffer.node].origins);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string PaddedDim(const char* name, int64_t size) {
  const int64_t padded = WholeTiles(size, kTpuLanes);
  return padded == size ? std::string() : absl::StrCat(name, " ", size, " pads to ", padded);
}

// Products whose padding costs the matrix units most.
std::vector<Json> PaddingRows(const ModelCheck& check) {
  std::vector<std::pair<double, Json>> found;
  const TpuProgram& program = check.step.program;
  for (size_t i = 0; i < program.computations.size(); ++i) {
    const TpuComputation& computation = program.computations[i];
    const TpuTime& time = check.step.forecast.computations[i];
    const double wasted =
        time.matrix - time.matrix_flops / check.accelerator.generation->matrix_peak();
    if (computation.products.empty() || wasted < 0.1 * time.seconds()) continue;
    const TpuProduct& product = computation.products[0];
    const bool right = KeepsRightOperand(product);
    std::vector<std::string> dims = {PaddedDim("K", product.k),
                                     right ? PaddedDim("N", product.n) : PaddedDim("M", product.m)};
    // Fewer rows than a tile has take as long as all of them.
    const int64_t rows = right ? product.m : product.n;
    if (rows < kTpuLanes) dims.push_back(PaddedDim(right ? "M" : "N", rows));
    std::erase(dims, "");
    if (dims.empty()) continue;
    const Node& node = program.graph.nodes()[computation.nodes[0]];
    found.push_back({wasted,
                     {{"kind", "padding"},
                      {"layers", Describe(node.origins)},
                      {"op", node.op->name},
                      {"product", absl::StrCat("(", product.m, ",", product.k, ") x (", product.k,
                                               ",", product.n, ")")},
                      {"pads", absl::StrJoin(dims, ", ")},
                      {"wasted_ms", RoundedMs(wasted)}}});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<Json> rows;
  for (auto& [wasted, row] : found) rows.push_back(std::move(row));
  return rows;
}

std::vector<Json> SliceRows(const ModelCheck& check) {
  std::vector<Json> rows;
  for (const auto& [cores, seconds] : check.slices) {
    const Accelerator slice{.generation = check.accelerator.generation, .cores = cores};
    const int64_t batch =
        check.step.batch_of_core * (check.is_divided() ? slice.devices() : int64_t{1});
    rows.push_back({{"kind", "slice"},
                    {"accelerator_type", slice.name()},
                    {"batch_size", batch},
                    {"step_ms", RoundedMs(seconds)},
                    {"examples_per_second", Rounded(static_cast<double>(batch) / seconds)}});
  }
  return rows;
}

std::vector<Json> AssumptionRows(const Accelerator& accelerator) {
  const TpuAssumptions a;
  const TpuGeneration& generation = *accelerator.generation;
  const auto row = [](const char* name, Json value, const char* unit) {
    return Json{
        {"kind", "assumption"}, {"name", name}, {"value", std::move(value)}, {"unit", unit}};
  };
  return {row("peak of the matrix units", Rounded(generation.matrix_peak() / 1e12), "TFLOP/s"),
          row("peak of the vector unit", Rounded(generation.vector_peak() / 1e12), "TFLOP/s"),
          row("bandwidth of the HBM", Rounded(generation.hbm_bandwidth / 1e9), "GB/s"),
          row("start of a computation", Rounded(a.computation_seconds * 1e6), "us"),
          row("work of exp, log, division", Rounded(a.transcendental_flops), "flops"),
          row("start of a step", Rounded(a.step_seconds * 1e3), "ms"),
          row("bandwidth of a link", Rounded(generation.link_bandwidth / 1e9), "GB/s"),
          row("share of it in an all-reduce", Rounded(a.link_efficiency), ""),
          row("latency of a link", Rounded(a.hop_seconds * 1e6), "us"),
          row("bandwidth between host and chip", Rounded(a.host_bandwidth / 1e9), "GB/s")};
}

// ------------------------------------------------------------------------------------------- text

std::string Percent(const Json& share) {
  return absl::StrFormat("%.1f%%", 100 * share.get<double>());
}

void WriteUnits(const ModelCheck& check, const Json& row, RowWriter& rows) {
  const TpuForecast& forecast = check.step.forecast;
  double matrix = 0, ideal = 0, vector = 0, hbm = 0;
  for (const TpuTime& time : forecast.computations) {
    matrix += time.matrix;
    ideal += time.matrix_flops / check.accelerator.generation->matrix_peak();
    vector += time.vector;
    hbm += time.hbm;
  }
  rows.Title("");
  rows.Title(absl::StrFormat(
      "Busy in a step: matrix units %.3f ms (%.3f without padding; utilization %.1f%%), vector "
      "unit "
      "%.3f ms, HBM %.3f ms.",
      matrix * 1e3, ideal * 1e3, 100 * MxuUtilization(check), vector * 1e3, hbm * 1e3));
  rows.Title(absl::StrFormat("Besides: start of a step %s ms, all-reduce %s ms (%.1f%% of a step).",
                             JsonText(RoundedMs(TpuAssumptions().step_seconds)),
                             JsonText(row["all_reduce_ms"]),
                             100 * forecast.all_reduce / forecast.step));
  const double bandwidth = forecast.infeed_bytes / forecast.step;
  std::string makes;
  if (check.host_examples_per_second.has_value()) {
    makes = absl::StrCat(" It makes ", ExamplesText(*check.host_examples_per_second),
                         forecast.input >= forecast.step ? ": the step waits for it." : ".");
  }
  rows.Title(absl::StrFormat(
      "Infeed: %s a step from each host, %.2f GB/s, which is %s: its input must make %s examples a "
      "second.%s",
      PrintTpuBytes(static_cast<int64_t>(forecast.infeed_bytes)), bandwidth / 1e9,
      bandwidth > kShownHostBandwidth ? "above what public runs have shown (2.3 GB/s)"
                                      : "within what public runs have shown (2.3 GB/s)",
      ExamplesText(NeededOfHost(check)), makes));
  if (!check.input.has_value()) return;
  const int host_threads = check.accelerator.generation->host_threads;
  std::string has = ".";
  if (host_threads > 0) {
    has = absl::StrCat(", of ", host_threads, " that it has",
                       ThreadsOfHost(check) > host_threads ? ": the step would wait for it." : ".");
  }
  rows.Title(absl::StrFormat(
      "This machine makes %s of them a second and computes %s ms for each: a host needs %s threads "
      "like these%s",
      ExamplesText(check.input->examples_per_second), JsonText(row["input_cpu_ms_of_example"]),
      JsonText(row["input_threads_of_host"]), has));
}

void WriteCheckText(const ModelCheck& check, RowWriter& rows) {
  const auto table = [&](const CheckTable& table) { rows.Table(table.columns, table.rows); };
  const auto titles = [&](const std::vector<std::string>& lines) {
    for (const std::string& line : lines) rows.Title(line);
  };
  const CheckRows of_check = CheckRowsOf(check);
  titles(VerdictOf(check, of_check));
  rows.Title("");
  std::string memory =
      PrintMemory(check.step.program, check.step.memory, check.accelerator, kShownAllocations);
  memory.pop_back();
  titles({memory, "", "Where the time of a step goes:"});
  table(LayersTable(of_check, kShownLayers));
  if (of_check.layers.size() > kShownLayers) {
    rows.Title(absl::StrCat("(", of_check.layers.size() - kShownLayers, " more: --format=json)"));
  }
  WriteUnits(check, of_check.check, rows);
  titles({"", "The same batch of a core on other slices:"});
  table(SlicesTable(of_check));
  titles({"", "What helps:"});
  for (const std::string& advice : AdviceOf(check, of_check))
    rows.Title(absl::StrCat("- ", advice));
  if (!of_check.padding.empty()) {
    rows.Title("- sizes of layers that are multiples of 128. The matrix units pad most here:");
  }
  table(PaddingTable(of_check));
  rows.Title(CostSentence(check, of_check));
  std::vector<std::string> assumptions;
  for (const Json& assumption : of_check.assumptions) {
    assumptions.push_back(
        absl::StrCat(assumption["name"].get<std::string>(), " ", JsonText(assumption["value"]),
                     assumption["unit"] == "" ? "" : " ", assumption["unit"].get<std::string>()));
  }
  titles({"", absl::StrCat("Assumed: ", absl::StrJoin(assumptions, ", "), "."),
          "In brackets: 20 published steps were so near to their forecasts (tpurun help "
          "tpu_check)."});
}

}  // namespace

std::string ExamplesText(double examples) {
  return examples < 100 ? JsonText(Rounded(examples)) : Grouped(std::llround(examples));
}

CheckRows CheckRowsOf(const ModelCheck& check) {
  return {.check = CheckRow(check),
          .layers = LayerRowsOf(check),
          .allocations = AllocationRows(check),
          .padding = PaddingRows(check),
          .slices = SliceRows(check),
          .assumptions = AssumptionRows(check.accelerator)};
}

CheckTable LayersTable(const CheckRows& rows, size_t most) {
  CheckTable table{.columns = {{"layer"},
                               {"phase"},
                               {"ms", true},
                               {"share", true},
                               {"bound"},
                               {"MXU", true},
                               {"HBM", true}}};
  for (const Json& layer : rows.layers) {
    if (table.rows.size() == most) break;
    Json text = layer;
    text["share"] = Percent(layer["share"]);
    text["MXU"] = Percent(layer["mxu_utilization"]);
    text["ms"] = absl::StrFormat("%.3f", layer["ms"].get<double>());
    text["HBM"] = PrintTpuBytes(layer["hbm_bytes"].get<int64_t>());
    table.rows.push_back(std::move(text));
  }
  return table;
}

CheckTable PaddingTable(const CheckRows& rows) {
  const size_t shown = std::min<size_t>(rows.padding.size(), kShownPadding);
  return {.columns = {{"layers"}, {"op"}, {"pads"}, {"wasted_ms", true}},
          .rows = {rows.padding.begin(), rows.padding.begin() + static_cast<int>(shown)}};
}

CheckTable SlicesTable(const CheckRows& rows) {
  CheckTable table{.columns = {{"accelerator_type"},
                               {"batch_size", true},
                               {"step_ms", true},
                               {"examples_per_second", true}}};
  for (const Json& slice : rows.slices) {
    Json text = slice;
    text["batch_size"] = Grouped(slice["batch_size"]);
    text["examples_per_second"] = ExamplesText(slice["examples_per_second"].get<double>());
    table.rows.push_back(std::move(text));
  }
  return table;
}

std::vector<std::string> VerdictOf(const ModelCheck& check, const CheckRows& rows) {
  const TpuGeneration& generation = *check.accelerator.generation;
  std::vector<std::string> lines = {
      absl::StrFormat("%s: %d cores on %d host%s, %d examples a %s, %s", check.accelerator.name(),
                      check.accelerator.cores, check.accelerator.hosts(),
                      check.accelerator.hosts() == 1 ? "" : "s", check.step.batch_of_core,
                      generation.cores > 1 ? "chip" : "core",
                      check.is_divided() ? absl::StrCat(check.batch_size, " in all")
                                         : std::string("the same on each")),
      "compiles: yes",
      absl::StrCat("fits: ", check.step.memory.fits(check.accelerator) ? "yes" : "no", ", ",
                   PrintTpuBytes(check.step.memory.used()), " of ",
                   PrintTpuBytes(generation.hbm_bytes), " of a core"),
      absl::StrFormat("forecast: %s ms a step (%s to %s), %s examples%s a second, bound by: %s",
                      JsonText(rows.check["step_ms"]), JsonText(rows.check["least_step_ms"]),
                      JsonText(rows.check["most_step_ms"]),
                      ExamplesText(rows.check["examples_per_second"].get<double>()),
                      check.tokens_of_example > 0
                          ? absl::StrCat(" (", ExamplesText(TokensPerSecond(check)), " tokens)")
                          : std::string(),
                      rows.check["bound"].get<std::string>())};
  if (generation.cores > 1) lines.push_back("A core is a chip here: its two work as one.");
  if (generation.estimated) {
    lines.push_back(absl::StrCat("Published figures of ", ToAbsl(generation.name),
                                 " are few: all this is an estimate."));
  }
  return lines;
}

std::vector<std::string> AdviceOf(const ModelCheck& check, const CheckRows& rows) {
  std::vector<std::string> lines;
  if (check.largest_batch_of_core.value_or(0) > 0) {
    lines.push_back(absl::StrCat("the largest batch that fits: ", *check.largest_batch_of_core,
                                 " examples a core, --train_batch_size=",
                                 *check.largest_batch_of_core * check.batch_shares));
  }
  if (check.largest_batch_of_core == 0) {
    lines.push_back(absl::StrCat("fewer or narrower layers: variables take ",
                                 PrintTpuBytes(check.step.memory.arguments.padded),
                                 ", and one example does not fit beside them"));
  }
  if (check.step.batch_of_core % 8 != 0) {
    lines.push_back(absl::StrCat("a batch of a core that is a multiple of 8: ",
                                 check.step.batch_of_core, " pads to whole tiles"));
  }
  const TpuSize& temporaries = check.step.memory.temporaries;
  constexpr int64_t kSmall = 1 << 20;
  if (10 * temporaries.padding() > temporaries.padded && temporaries.padding() > kSmall) {
    lines.push_back(
        absl::StrCat("sizes that fill tiles of 8 x 128: ", PrintTpuBytes(temporaries.padding()),
                     " of the ", PrintTpuBytes(temporaries.padded), " at the peak are padding"));
  }
  const bool gains = check.in_bf16.has_value() &&
                     (check.in_bf16->forecast.step < 0.99 * check.step.forecast.step ||
                      static_cast<double>(check.in_bf16->memory.used()) <
                          0.99 * static_cast<double>(check.step.memory.used()));
  if (gains) {
    lines.push_back(absl::StrFormat(
        "compute_dtype: BFLOAT16, which stores activations in bf16: %s ms a step, %s of HBM",
        JsonText(rows.check["bf16_step_ms"]), PrintTpuBytes(check.in_bf16->memory.used())));
  }
  return lines;
}

std::string CostSentence(const ModelCheck& check, const CheckRows& rows) {
  const std::string steps =
      check.steps.has_value()
          ? absl::StrCat(Grouped(*check.steps), " steps take ", JsonText(rows.check["hours"]),
                         " hours of a ", check.accelerator.name(), ", ")
          : std::string();
  return absl::StrCat("Cost: ", steps, "an epoch of 1,000,000 examples takes ",
                      JsonText(rows.check["hours_of_million_examples"]), " hours of a ",
                      check.accelerator.name(), ".");
}

void WriteCheck(const ModelCheck& check, bool json, std::ostream& out) {
  RowWriter rows(json, out);
  if (!json) {
    WriteCheckText(check, rows);
    return;
  }
  const CheckRows of_check = CheckRowsOf(check);
  rows.Object(of_check.check);
  for (const std::vector<Json>* list : {&of_check.layers, &of_check.allocations, &of_check.padding,
                                        &of_check.slices, &of_check.assumptions}) {
    for (const Json& row : *list) rows.Object(row);
  }
}

}  // namespace tpurun
