#include "cli/profile.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/check_model.h"
#include "cli/compose.h"
#include "cli/forecast_trace.h"
#include "cli/json.h"
#include "cli/logging.h"
#include "cli/processes.h"
#include "cli/profile_text.h"
#include "cli/trace_file.h"
#include "glog/logging.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/estimator/processes.h"
#include "runtime/estimator/profile.h"
#include "runtime/estimator/quick_test.h"
#include "runtime/io/file.h"
#include "runtime/ir/machine.h"
#include "runtime/profile/profile_files.h"
#include "runtime/profile/trace.h"

namespace tpurun {
namespace {

// A layer is slower if it takes so many times as long as before.
constexpr double kSlower = 1.05;

absl::Status CheckProfileFlags(const CommandLine& command) {
  if (command.Has("steps") && (command.GetInt("steps") < 1 || command.GetInt("steps") > 100000)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--steps: got ", command.GetInt("steps"), ", want 1 to 100000"));
  }
  return absl::OkStatus();
}

// The forecast that --accelerator_type adds to the trace of a training's steps.
absl::StatusOr<std::optional<ModelCheck>> ForecastForTrace(const CommandLine& command) {
  if (!command.Has("accelerator_type")) return std::nullopt;
  const std::string mode = command.GetString("mode", "train");
  const bool quick_test = command.GetBool("quick_test");
  if (!command.Has("trace") || mode != "train" || quick_test) {
    return absl::InvalidArgumentError(
        absl::StrCat("--accelerator_type adds the forecast of a training's step to a trace: got ",
                     quick_test              ? "--quick_test"
                     : !command.Has("trace") ? std::string("no --trace")
                                             : absl::StrCat("--mode=", mode),
                     ", want --trace=FILE and mode train; tpurun check forecasts without a trace"));
  }
  ASSIGN_OR_RETURN(const Accelerator accelerator,
                   ParseAcceleratorType(command.GetString("accelerator_type")));
  const ScopedNoLog no_log;  // the profiled steps warn of the same
  return CheckTraining(command, accelerator);
}

absl::StatusOr<proto::Profile> ReadProfile(const std::string& path) {
  if (path.empty())
    return absl::InvalidArgumentError("--compare: got \"\", want the name of a file");
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  absl::StatusOr<proto::Profile> profile = ParseProfileJson(text);
  if (!profile.ok()) return Annotate(profile.status(), absl::StrCat("--compare: ", path));
  return profile;
}

// Layers of another model, or of another mode, have the same names by chance.
absl::Status CheckSameModel(const std::string& path, const proto::Profile& before,
                            const proto::Profile& now) {
  if (before.model() != now.model() || before.mode() != now.mode()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--compare: ", path, " is of model ", Quote(before.model()), " and mode ",
                     Quote(before.mode()), ", this profile of ", Quote(now.model()), " and ",
                     Quote(now.mode()), "; compare profiles of the same"));
  }
  if (before.batch_size() != now.batch_size() || before.num_workers() != now.num_workers()) {
    LOG(WARNING) << "--compare: " << path << " has batches of " << before.batch_size() << " on "
                 << before.num_workers() << " workers, this profile of " << now.batch_size()
                 << " on " << now.num_workers() << ".";
  }
  return absl::OkStatus();
}

void AddSlower(const proto::Profile& before, proto::Profile& profile) {
  std::map<std::pair<std::string, std::string>, double> seconds;
  for (const proto::ProfileRow& row : before.layer())
    seconds[{row.name(), row.phase()}] += row.seconds();
  std::vector<proto::ProfileChange> slower;
  for (const proto::ProfileRow& row : profile.layer()) {
    const auto found = seconds.find({row.name(), row.phase()});
    if (found == seconds.end() || row.seconds() <= kSlower * found->second) continue;
    proto::ProfileChange& change = slower.emplace_back();
    change.set_name(row.name());
    change.set_phase(row.phase());
    change.set_seconds_before(found->second);
    change.set_seconds(row.seconds());
  }
  std::stable_sort(slower.begin(), slower.end(), [](const auto& a, const auto& b) {
    return a.seconds() - a.seconds_before() > b.seconds() - b.seconds_before();
  });
  for (proto::ProfileChange& change : slower) *profile.add_slower() = std::move(change);
}

absl::Status WriteTrace(const CommandLine& command, const ProfiledSteps& profiled,
                        const std::optional<ModelCheck>& forecast) {
  TraceEvents events;
  AddProfiledSteps(profiled.program, *profiled.run, profiled.host_spans, events);
  if (forecast.has_value()) AddForecast(*forecast, kProfiledProcesses + 1, events);
  return WriteTraceFile(command, events);
}

// The peak of a v2-8 in 1e9 flops a second: 4 chips of 2 cores, each 128 x 128 multiply-adds at 0.7
// GHz (cloud.google.com/tpu/docs/system-architecture-tpu-vm).
constexpr double kV2Gflops = 8 * 128 * 128 * 2 * 0.7;

absl::Status QuickTestCommand(const CommandLine& command) {
  for (const char* flag : {"trace", "steps", "compare", "mode", "checkpoint", "config"}) {
    if (!command.Has(flag)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "--quick_test multiplies matrices of ones and profiles no model: leave out --", flag));
  }
  ASSIGN_OR_RETURN(const QuickTestResult result,
                   RunQuickTest(static_cast<int>(command.GetInt("worker_threads")),
                                *KernelChoiceOf(command.GetString("kernels", "fastest")), nullptr));
  if (PrintsJson(command)) {
    return WriteResult({{"num_replicas", result.num_replicas},
                        {"num_workers", result.num_workers},
                        {"size", result.size},
                        {"products", result.products},
                        {"steps", result.steps},
                        {"sum", JsonNumber(result.sum)},
                        {"bf16_gflops", JsonNumber(result.bf16_gflops)},
                        {"f32_gflops", JsonNumber(result.f32_gflops)},
                        {"machine_f32_gflops", JsonNumber(result.machine.f32_gflops())},
                        {"machine_bf16_gflops", JsonNumber(result.machine.bf16_gflops())},
                        {"v2_8_bf16_gflops", JsonNumber(kV2Gflops)}});
  }
  const std::string bf16 = result.machine.bf16_gflops() > 0
                               ? absl::StrFormat("%.0f", result.machine.bf16_gflops())
                               : "-";
  return WriteOutput(absl::StrFormat(
      "%d cores on %d workers, each multiplies ones [%d, %d] x [%d, %d], %d "
      "times in each of %d steps\n"
      "The sum of the last product is %.0f, as it must be.\n"
      "GFLOP/s                  bf16      f32\n"
      "the emulated device  %8.0f %8.0f\n"
      "this machine's peak  %8s %8.0f\n"
      "a v2-8's peak        %8.0f        -\n",
      result.num_replicas, result.num_workers, result.size, result.size, result.size, result.size,
      result.products, result.steps, result.sum, result.bf16_gflops, result.f32_gflops, bf16,
      result.machine.f32_gflops(), kV2Gflops));
}

}  // namespace

absl::Status ProfileCommand(const CommandLine& command) {
  RETURN_IF_ERROR(CheckProfileFlags(command));
  ASSIGN_OR_RETURN(const std::optional<ModelCheck> forecast, ForecastForTrace(command));
  if (command.GetBool("quick_test")) return QuickTestCommand(command);
  ASSIGN_OR_RETURN(const ModeKey mode, ModeOf(command));
  proto::Profile before;
  if (command.Has("compare")) {
    ASSIGN_OR_RETURN(before, ReadProfile(command.GetString("compare")));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<Fabric> fabric, JoinProcesses(command));
  ASSIGN_OR_RETURN(Composition composition,
                   ComposeForProcesses(command, PartsOf(mode), fabric.get()));
  RETURN_IF_ERROR(CheckTraceFlag(command, composition.options));
  if (composition.InputOf(mode) == nullptr) {
    return absl::InvalidArgumentError(
        "--mode=predict: the predictions of predict { generate { ... } } are steps of one token, "
        "which profile does not run; --mode=evaluate profiles the same layers");
  }
  ASSIGN_OR_RETURN(ProfiledSteps profiled,
                   ProfileSteps(composition.options, composition.InputOf(mode),
                                {.mode = mode,
                                 .steps = command.GetInt("steps"),
                                 .checkpoint = command.GetString("checkpoint"),
                                 .records_every_call = command.Has("trace")}));
  if (!IsChief(fabric.get())) return absl::OkStatus();
  const std::string compared = command.GetString("compare");
  if (!compared.empty()) {
    RETURN_IF_ERROR(CheckSameModel(compared, before, profiled.profile));
    AddSlower(before, profiled.profile);
  }
  if (PrintsJson(command)) {
    ASSIGN_OR_RETURN(const std::string json, ProfileJson(profiled.profile));
    RETURN_IF_ERROR(WriteOutput(json));
  } else {
    std::ostringstream out;
    WriteProfile(profiled.profile, out);
    if (!compared.empty() && profiled.profile.slower_size() == 0)
      out << "\nNo layer takes over 5 % longer than in " << compared << ".\n";
    RETURN_IF_ERROR(WriteOutput(out.str()));
  }
  return command.Has("trace") ? WriteTrace(command, profiled, forecast) : absl::OkStatus();
}

}  // namespace tpurun
