// Estimator::Train and TrainAndEvaluate: the parts of a training, in order.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "glog/logging.h"
#include "runtime/base/memory.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/warm_start.h"
#include "runtime/estimator/estimator.h"
#include "runtime/estimator/setup.h"
#include "runtime/estimator/train_evaluations.h"
#include "runtime/estimator/train_input.h"
#include "runtime/estimator/train_loop.h"
#include "runtime/estimator/train_output.h"
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
  ASSIGN_OR_RETURN(TrainStart start, FindTrainStart(options_));
  while (true) {
    ASSIGN_OR_RETURN(std::optional<TrainResult> result, TrainFrom(start, input_fn, evaluated));
    if (result.has_value()) return *std::move(result);
    LOG(INFO) << "Another tpurun has trained in " << options_.config.model_dir()
              << " meanwhile: going on from where it is.";
    ASSIGN_OR_RETURN(start, ReadTrainStart(options_, std::move(start.dir)));
  }
}

absl::StatusOr<std::optional<TrainResult>> Estimator::TrainFrom(
    TrainStart& start, const InputFn& input_fn, const TrainAndEvaluateInputs* evaluated) {
  const proto::RunConfig& config = options_.config;
  const bool trained = config.train().has_max_steps() && config.train().max_steps() <= start.step;
  if (trained && evaluated == nullptr) return SkipTraining(start);
  RETURN_IF_ERROR(CheckWritable(config.model_dir()));
  TrainProgram program(options_);
  MemoryReserve reserve(kReserveBytes + kReserveBytesOfWorker * program.session.num_workers());
  RETURN_IF_ERROR(program.Build(options_, start.resumed));
  TrainInput input(options_, start.step);
  if (!trained) RETURN_IF_ERROR(input.Open(input_fn, start.resumed));
  for (const auto& [name, bytes] : input.assets()) start.assets[name] = IdentityOf(bytes);
  if (!start.resumed.has_value() && config.has_warm_start_from())
    RETURN_IF_ERROR(WarnOfOtherAssets(config.warm_start_from(), start.assets));
  const bool skipped = trained || input.already_trained();
  std::unique_ptr<TrainEvaluations> evaluations;
  if (evaluated != nullptr) {
    const auto export_model = [&](const proto::Export& to,
                                  const std::string& checkpoint) -> absl::StatusOr<ExportedFiles> {
      RETURN_IF_ERROR(start.dir.CheckPath());
      // The end of the training reports the warnings of an export.
      return ExportChecked(to, checkpoint, evaluated->export_inputs,
                           [] { return absl::OkStatus(); });
    };
    evaluations = std::make_unique<TrainEvaluations>(options_, *evaluated, export_model, start);
    RETURN_IF_ERROR(evaluations->Build(program.session.variables()));
    if (start.resumed.has_value()) {
      RETURN_IF_ERROR(CheckOnce());
      ASSIGN_OR_RETURN(
          const bool stopped,
          evaluations->Resume(
              {.step = start.step, .checkpoint = start.resumed->prefix(), .last = skipped}));
      if (stopped || skipped) RETURN_IF_ERROR(evaluations->WaitForHooks());
      if (stopped) return SkipTraining(start, SkipReason::kStoppedEarly);
    }
  }
  if (skipped) return SkipTraining(start);
  TrainOutput output(options_, start, program, input);
  TrainLoop loop(options_, program, input, output, evaluations.get());
  RETURN_IF_ERROR(output.checkpoints().CheckUnlisted());
  RETURN_IF_ERROR(input.Start(program));
  output.PrepareGraph();
  RETURN_IF_ERROR(input.WaitForFirst());
  reserve.Release();
  ASSIGN_OR_RETURN(const bool as_found, output.OpenDir());
  if (!as_found) {
    RETURN_IF_ERROR(input.CheckOpensAgain());
    return std::nullopt;
  }
  RETURN_IF_ERROR(output.Open());
  RETURN_IF_ERROR(loop.Run());
  RETURN_IF_ERROR(loop.Finish());
  return loop.Result();
}

}  // namespace tpurun
