// Estimator::Train and TrainAndEvaluate: the parts of a training, in order.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "runtime/base/memory.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/warm_start.h"
#include "runtime/estimator/estimator.h"
#include "runtime/estimator/processes.h"
#include "runtime/estimator/setup.h"
#include "runtime/estimator/train_evaluations.h"
#include "runtime/estimator/train_input.h"
#include "runtime/estimator/train_loop.h"
#include "runtime/estimator/train_output.h"
#include "runtime/estimator/train_peers.h"
#include "runtime/estimator/train_program.h"
#include "runtime/estimator/train_start.h"
#include "runtime/io/identity.h"

namespace tpurun {
namespace {

// Memory that is allocated after the first write, in bytes: oneDNN allocates code and packed
// matrices when a kernel first runs (6 MiB with two workers), and a checkpoint allocates its
// buffers. It is reserved until then, so that a run with too little memory ends before it writes
// anything.
constexpr size_t kReserveBytes = 8 << 20;
constexpr size_t kReserveBytesOfWorker = 4 << 20;

}  // namespace

Estimator::Estimator(EstimatorOptions options) : options_(std::move(options)) {
  // Paths in the file `checkpoint` are relative to model_dir: "m/" and "m" must give equal paths.
  std::string& dir = *options_.config.mutable_model_dir();
  while (dir.size() > 1 && dir.back() == '/') dir.pop_back();
  if (options_.train.profiled.has_value()) options_.host_trace = std::make_shared<HostTrace>();
}

absl::Status Estimator::CheckOnce() {
  RETURN_IF_ERROR(options_.after_checks());
  options_.after_checks = [] { return absl::OkStatus(); };
  return absl::OkStatus();
}

absl::StatusOr<TrainResult> Estimator::TrainAndEvaluate(const TrainAndEvaluateInputs& inputs) {
  if (!options_.config.train_and_evaluate().exporter().empty()) {
    RETURN_IF_ERROR(CheckExport(options_.config.export_()));
  }
  return Train(inputs.train, &inputs);
}

absl::StatusOr<TrainResult> Estimator::Train(const InputFn& input_fn,
                                             const TrainAndEvaluateInputs* evaluated) {
  TrainPeers peers(options_);
  absl::StatusOr<TrainStart> found;  // the chief gives it to the others
  if (peers.is_chief()) found = FindTrainStart(options_);
  ASSIGN_OR_RETURN(TrainStart start, peers.ShareStart(std::move(found)));
  while (true) {
    ASSIGN_OR_RETURN(std::optional<TrainResult> result,
                     TrainFrom(peers, start, input_fn, evaluated));
    if (result.has_value()) return *std::move(result);
    LOG(INFO) << "Another tpurun has trained in " << options_.config.model_dir()
              << " meanwhile: going on from where it is.";
    absl::StatusOr<TrainStart> again;
    if (peers.is_chief()) again = ReadTrainStart(options_, std::move(start.dir));
    ASSIGN_OR_RETURN(start, peers.ShareStart(std::move(again)));
  }
}

absl::StatusOr<std::optional<TrainResult>> Estimator::TrainFrom(
    TrainPeers& peers, TrainStart& start, const InputFn& input_fn,
    const TrainAndEvaluateInputs* evaluated) {
  const proto::RunConfig& config = options_.config;
  const bool trained = config.train().has_max_steps() && config.train().max_steps() <= start.step;
  if (trained && evaluated == nullptr) return SkipTraining(start);
  TrainProgram program(options_);
  MemoryReserve reserve(kReserveBytes + kReserveBytesOfWorker * program.session.num_workers());
  TrainInput input(options_, start.step);
  const auto open = [&]() -> absl::Status {
    if (peers.is_chief()) RETURN_IF_ERROR(CheckWritable(config.model_dir()));
    RETURN_IF_ERROR(program.Build(options_, start.resumed));
    if (!trained) RETURN_IF_ERROR(input.Open(input_fn, start.resumed));
    for (const auto& [name, bytes] : input.assets()) start.assets[name] = IdentityOf(bytes);
    if (start.resumed.has_value() || !config.has_warm_start_from()) return absl::OkStatus();
    return WarnOfOtherAssets(config.warm_start_from(), start.assets);
  };
  RETURN_IF_ERROR(peers.FirstError(open()));
  if (options_.fabric != nullptr) {
    std::vector<Likeness> own = LikenessesOf(program.session, input.files(), input.assets());
    own.emplace_back("steps", absl::StrCat(input.final_step()));
    RETURN_IF_ERROR(CheckAlike(options_.fabric, own));
  }
  const bool skipped = trained || input.already_trained();
  std::unique_ptr<TrainEvaluations> evaluations;
  bool stopped = false;
  const auto resume_evaluations = [&]() -> absl::Status {
    const auto export_model = [&](const proto::Export& to,
                                  const std::string& checkpoint) -> absl::StatusOr<ExportedFiles> {
      RETURN_IF_ERROR(start.dir.CheckPath());
      // The end of the training reports the warnings of an export.
      return ExportChecked(
          to, checkpoint, evaluated->export_inputs, [] { return absl::OkStatus(); }, /*once=*/true);
    };
    evaluations = std::make_unique<TrainEvaluations>(options_, *evaluated, export_model, start);
    RETURN_IF_ERROR(evaluations->Build(program.session.variables()));
    if (!start.resumed.has_value()) return absl::OkStatus();
    RETURN_IF_ERROR(CheckOnce());
    ASSIGN_OR_RETURN(
        stopped, evaluations->Resume(
                     {.step = start.step, .checkpoint = start.resumed->prefix(), .last = skipped}));
    return stopped || skipped ? evaluations->WaitForHooks() : absl::OkStatus();
  };
  if (evaluated != nullptr) {
    RETURN_IF_ERROR(peers.FirstError(peers.is_chief() ? resume_evaluations() : absl::OkStatus()));
    ASSIGN_OR_RETURN(stopped, peers.Ask(stopped));
  }
  if (stopped || skipped) {
    TrainResult done =
        SkipTraining(start, stopped ? SkipReason::kStoppedEarly : SkipReason::kTrained);
    if (evaluations != nullptr) evaluations->Describe(done);
    return done;
  }
  if (!peers.is_chief()) return Follow(peers, program, input, reserve);
  TrainOutput output(options_, peers, start, program, input);
  TrainLoop loop(options_, peers, program, input, output, evaluations.get());
  const auto feed = [&]() -> absl::Status {
    RETURN_IF_ERROR(output.checkpoints().CheckUnlisted());
    RETURN_IF_ERROR(input.Start(program));
    output.PrepareGraph();
    return input.WaitForFirst();
  };
  RETURN_IF_ERROR(peers.FirstError(feed()));
  reserve.Release();
  const absl::StatusOr<bool> as_found = output.OpenDir();
  if (as_found.ok() && !*as_found) {
    const absl::Status opens_again = input.CheckOpensAgain();
    if (opens_again.ok()) {
      peers.Restart();
      return std::nullopt;
    }
    peers.End(opens_again);
    return opens_again;
  }
  absl::Status done = as_found.status();
  if (done.ok()) done = output.Open();
  if (done.ok()) done = loop.Run();
  if (done.ok()) done = loop.Finish();
  peers.End(done);
  RETURN_IF_ERROR(done);
  return loop.Result();
}

absl::StatusOr<std::optional<TrainResult>> Estimator::Follow(TrainPeers& peers,
                                                             TrainProgram& program,
                                                             TrainInput& input,
                                                             MemoryReserve& reserve) {
  absl::Status fed = input.Start(program);
  if (fed.ok()) fed = input.WaitForFirst();
  RETURN_IF_ERROR(peers.FirstError(fed));
  reserve.Release();
  if (options_.train.before_first_write) options_.train.before_first_write();
  ASSIGN_OR_RETURN(const bool again, peers.Follow(program, input));
  if (again) return std::nullopt;
  return TrainResult{.global_step = input.final_step()};
}

}  // namespace tpurun
