// Estimator::Train: the training loop and everything around it, as a list of steps.
#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <set>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "glog/logging.h"
#include "google/protobuf/text_format.h"
#include "proto/iterations_per_loop.h"
#include "proto/serialize.h"
#include "runtime/base/memory.h"
#include "runtime/base/status.h"
#include "runtime/estimator/cadence.h"
#include "runtime/estimator/diagnose.h"
#include "runtime/estimator/drift.h"
#include "runtime/estimator/estimator.h"
#include "runtime/estimator/final_step.h"
#include "runtime/estimator/first_writes.h"
#include "runtime/estimator/infeed.h"
#include "runtime/estimator/input_files.h"
#include "runtime/estimator/learning_rates.h"
#include "runtime/estimator/model_dir.h"
#include "runtime/estimator/outfeed.h"
#include "runtime/estimator/projector.h"
#include "runtime/estimator/saver.h"
#include "runtime/estimator/session.h"
#include "runtime/estimator/setup.h"
#include "runtime/estimator/train_report.h"
#include "runtime/estimator/train_step.h"
#include "runtime/estimator/train_summaries.h"
#include "runtime/estimator/training_graph.h"
#include "runtime/io/checkpoint_state.h"
#include "runtime/io/directory.h"
#include "runtime/io/event_writer.h"
#include "runtime/io/file.h"
#include "runtime/io/tensor_bundle.h"

namespace tpurun {
namespace {

using Clock = std::chrono::steady_clock;

// What is allocated after the first write: oneDNN makes code and room for packed matrices when a
// kernel first runs (6 MiB with two workers), a checkpoint has its buffers. Held until then, so
// that a run that cannot have it ends before it writes.
constexpr size_t kReserveBytes = 8 << 20;
constexpr size_t kReserveBytesOfWorker = 4 << 20;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The mean over the cores, in core order.
double MeanOf(const std::vector<float>& losses) {
  double sum = 0;
  for (const float loss : losses) sum += loss;
  return losses.empty() ? 0 : sum / static_cast<double>(losses.size());
}

// The graph as files have it.
struct GraphFiles {
  std::string text;   // graph.pbtxt
  std::string event;  // a serialized GraphDef
};

class Training {
 public:
  Training(const EstimatorOptions& options, Saver saver, const std::optional<Checkpoint>& resumed,
           int64_t start_step, Directory dir)
      : options_(options),
        dir_(std::move(dir)),
        config_(options.config),
        saver_(std::move(saver)),
        resumed_(resumed),
        session_(options.num_workers, options.num_replicas),
        reserve_(kReserveBytes + kReserveBytesOfWorker * session_.num_workers()),
        cadence_(config_),
        computed_text_(ComputedText(options.computed)),
        start_step_(start_step),
        step_(start_step) {}

  // The program and its variables.
  absl::Status Build();
  // Opens the input where the checkpoint left it, and sets the final step.
  absl::Status OpenInput(const InputFn& input_fn);
  // Starts the infeed and waits for its first batch: bad input shows before anything is written.
  absl::Status StartInput();
  // The first writes: effective configuration, event file, first checkpoint.
  absl::Status OpenModelDir();
  // Loops until the final step.
  absl::Status Run();
  absl::Status Finish();

  // Whether a save would write over a checkpoint that is not this training's.
  absl::Status CheckUnlisted() const {
    return cadence_.enabled() ? saver_.CheckUnlisted(dir_, start_step_, final_step_)
                              : absl::OkStatus();
  }
  bool already_trained() const { return final_step_ <= start_step_; }
  absl::StatusOr<TrainResult> Result() const;
  TrainResult Skip() const;

 private:
  absl::StatusOr<InputSource> CallInputFn(const InputFn& input_fn) const;
  // Takes the input to where the checkpoint left it.
  absl::Status ResumeInput(const InputFn& input_fn);
  RunResult RunLoop(int64_t iterations);
  absl::Status LoopDone(int64_t steps, double seconds);
  absl::Status Save();
  // After a loop that stopped early.
  absl::Status SaveIfNew();
  // What a loop that stopped early means; saves what may be saved.
  absl::Status Stopped(const RunResult& result);
  absl::Status Interrupted();
  absl::Status NotFinite(const RunResult& result);
  std::string EndedMessage(int64_t batches) const;

  // A run that fails in its first loop leaves model_dir as it was.
  absl::Status Failed(absl::Status status);
  absl::Status OpenNewDir();
  absl::Status WriteFirst();
  absl::Status WriteProto(const std::string& name, const google::protobuf::Message& message);
  absl::Status WriteGraph();
  void MakeOutfeed();

  const EstimatorOptions& options_;
  Directory dir_;  // model_dir, locked; not open while it does not exist
  const proto::RunConfig& config_;
  Saver saver_;
  const std::optional<Checkpoint>& resumed_;
  Session session_;
  MemoryReserve reserve_;
  SaveCadence cadence_;
  const std::string computed_text_;
  Graph graph_;
  std::future<GraphFiles> graph_files_;  // reads graph_
  LearningRates learning_rates_;
  std::vector<TrainSummary> summary_specs_;
  Projector projector_;
  InputSource input_;
  InfeedPtr infeed_;
  FirstWrites first_writes_;
  bool loop_done_ = false;
  std::unique_ptr<EventWriter> events_;
  std::unique_ptr<TrainReport> report_;
  std::unique_ptr<TrainSummaries> summaries_;  // null without summaries, as the outfeed
  std::unique_ptr<Outfeed> outfeed_;           // calls summaries_ while a loop runs
  const int64_t start_step_;
  int64_t final_step_ = 0;
  int64_t step_;
  std::vector<float> losses_;   // of the last step, a core
  double seconds_ = 0;          // in loops
  double summary_seconds_ = 0;  // of those, in what summaries need
};

absl::Status Training::Build() {
  ASSIGN_OR_RETURN(EstimatorSpec spec,
                   CallModelFn(options_, ModeKey::kTrain, config_.train_batch_size(), true));
  ASSIGN_OR_RETURN(learning_rates_, LearningRates::Create(spec.optimizers));
  for (TrainSummary& summary : spec.summaries) {
    if (summary.every_n_steps == 0) summary.every_n_steps = config_.save_summary_steps();
  }
  summary_specs_ = spec.summaries;
  ASSIGN_OR_RETURN(projector_, Projector::Read(spec.embeddings, spec.graph));
  const std::vector<Variable> model_variables = spec.graph.variables();
  ASSIGN_OR_RETURN(graph_, BuildTrainStep(std::move(spec)));
  CompileOptions compile = MakeCompileOptions(options_);
  compile.loss_output = kLossOutput;
  RETURN_IF_ERROR(session_.Load(graph_, compile));
  for (const Variable& variable : session_.program().variables) {
    if (variable.per_core) graph_.SetPerCore(graph_.FindVariable(variable.name));
  }
  MakeOutfeed();
  RETURN_IF_ERROR(SetVariables(options_, resumed_, true, model_variables, session_));
  if (!resumed_.has_value()) return absl::OkStatus();
  return WarnOfDrift(options_, *resumed_, ModeKey::kTrain);
}

absl::StatusOr<InputSource> Training::CallInputFn(const InputFn& input_fn) const {
  return input_fn({.mode = ModeKey::kTrain,
                   .batch_size = config_.train_batch_size(),
                   .features = options_.features,
                   .seed = config_.tf_random_seed(),
                   .count_examples = config_.train().has_epochs()});
}

absl::Status Training::OpenInput(const InputFn& input_fn) {
  ASSIGN_OR_RETURN(input_, CallInputFn(input_fn));
  ASSIGN_OR_RETURN(final_step_, FinalStep(config_, start_step_, input_.examples_per_epoch));
  if (!resumed_.has_value() || already_trained()) return absl::OkStatus();
  return Annotate(ResumeInput(input_fn), absl::StrCat("resuming from ", resumed_->prefix()));
}

absl::Status Training::ResumeInput(const InputFn& input_fn) {
  ASSIGN_OR_RETURN(const RunState state, resumed_->ReadRunState());
  if (state.input_position.empty()) {
    LOG(WARNING) << "The checkpoint has no input position: the input starts from its beginning.";
    return absl::OkStatus();
  }
  const bool may_change = options_.allow_changed_input;
  const absl::Status same_files = CheckFiles(input_.files, state.input_files);
  if (!same_files.ok() && !may_change) return ChangedInput(same_files);
  const absl::Status restored = input_.batches->Restore(state.input_position);
  if (restored.ok()) {
    if (!same_files.ok()) LOG(WARNING) << same_files.message() << ": going on where it was.";
    return absl::OkStatus();
  }
  if (!absl::IsInvalidArgument(restored) && !absl::IsDataLoss(restored)) return restored;
  if (!may_change) return ChangedInput(restored);
  LOG(WARNING) << restored.message() << ": the input starts from its beginning.";
  ASSIGN_OR_RETURN(input_, CallInputFn(input_fn));
  return absl::OkStatus();
}

absl::Status Training::StartInput() {
  ASSIGN_OR_RETURN(
      infeed_,
      Infeed::Create(input_.features, std::move(input_.batches), session_.program().infeed,
                     options_.num_replicas,
                     {.batch_size = config_.train_batch_size(),
                      .num_batches = final_step_ - start_step_,
                      .ended_message = [this](int64_t batches) { return EndedMessage(batches); },
                      .prefetch = input_.prefetch,
                      .classes = ClassesOf(graph_)}));
  infeed_->Start();
  if (config_.checkpoint_save_graph_def()) {
    // While files are read and written.
    graph_files_ = std::async(std::launch::async, [this] {
      const tensorflow::GraphDef graph = TrainingGraphDef(graph_);
      GraphFiles files = {.event = SerializeDeterministically(graph)};
      google::protobuf::TextFormat::PrintToString(graph, &files.text);
      return files;
    });
  }
  const absl::Status first = infeed_->WaitForFirst(options_.interrupt);
  if (!absl::IsCancelled(first)) return first;
  return absl::CancelledError("interrupted while waiting for the first batch; nothing was written");
}

absl::Status Training::OpenNewDir() {
  if (dir_.is_open()) return absl::OkStatus();
  RETURN_IF_ERROR(first_writes_.MakeDirectory(config_.model_dir()));
  ASSIGN_OR_RETURN(dir_, LockModelDir(config_.model_dir(), {.interrupt = options_.interrupt}));
  if (dir_.is_open() && IsAbsent(CheckpointStatePath(config_.model_dir()))) {
    return absl::OkStatus();
  }
  return absl::UnavailableError(absl::StrCat("another tpurun has just trained in ",
                                             config_.model_dir(), "; start it again to go on"));
}

absl::Status Training::OpenModelDir() {
  const absl::Status opened = WriteFirst();
  return opened.ok() ? opened : Failed(opened);
}

absl::Status Training::WriteFirst() {
  reserve_.Release();
  // Without checkpoints there is nothing to finish a step for: an interrupt then ends the process.
  if (cadence_.enabled() && options_.before_first_write) options_.before_first_write();
  RETURN_IF_ERROR(OpenNewDir());
  RETURN_IF_ERROR(dir_.CheckPath());
  RETURN_IF_ERROR(saver_.Sweep(dir_));
  RETURN_IF_ERROR(WriteProto(BaseName(RunConfigPath(config_.model_dir())), config_));
  if (!projector_.config.embeddings().empty()) {
    RETURN_IF_ERROR(WriteProto("projector_config.pbtxt", projector_.config));
  }
  for (const auto& [name, lines] : projector_.metadata) {
    RETURN_IF_ERROR(first_writes_.WriteFile({dir_, name}, lines));
  }
  ASSIGN_OR_RETURN(events_, EventWriter::Open(dir_));
  first_writes_.Created(events_->path());
  if (config_.checkpoint_save_graph_def()) RETURN_IF_ERROR(WriteGraph());
  std::set<std::string> summary_tags;
  for (const TrainSummary& summary : summary_specs_) summary_tags.insert(summary.tag);
  report_ = std::make_unique<TrainReport>(config_, learning_rates_, summary_tags, events_.get());
  cadence_.Saved(resumed_.has_value() ? start_step_ : -1);
  if (cadence_.enabled() && !resumed_.has_value()) {
    const std::string name = BaseName(CheckpointPrefix(config_.model_dir(), step_));
    first_writes_.Created(PendingSavePath(dir_));
    first_writes_.Created({dir_, BundleDataPath(name, 0, 1)});
    first_writes_.Created({dir_, BundleIndexPath(name)});
    first_writes_.Created({dir_, BaseName(CheckpointStatePath(config_.model_dir()))});
    RETURN_IF_ERROR(Save());
  }
  // Drops from TensorBoard what a killed run wrote beyond the checkpoint.
  RETURN_IF_ERROR(events_->WriteSessionStart(start_step_ + 1));
  if (summaries_ != nullptr) {
    RETURN_IF_ERROR(summaries_->Open(dir_, start_step_, events_.get()));
  }
  RETURN_IF_ERROR(report_->Begin(start_step_, options_.hparams, options_.config_text, graph_));
  return events_->Flush();
}

absl::Status Training::WriteProto(const std::string& name,
                                  const google::protobuf::Message& message) {
  std::string text;
  google::protobuf::TextFormat::PrintToString(message, &text);
  return first_writes_.WriteFile({dir_, name}, text);
}

absl::Status Training::WriteGraph() {
  const GraphFiles files = graph_files_.get();
  RETURN_IF_ERROR(first_writes_.WriteFile({dir_, "graph.pbtxt"}, files.text));
  return events_->WriteGraph(files.event);
}

void Training::MakeOutfeed() {
  if (session_.program().outfeed.empty()) return;
  summaries_ = std::make_unique<TrainSummaries>(summary_specs_, graph_, session_.program());
  outfeed_ = std::make_unique<Outfeed>(session_.program(),
                                       [this](int64_t loop_index, const std::byte* slots) {
                                         return summaries_->Write(step_ + loop_index, slots);
                                       });
}

absl::Status Training::Run() {
  ASSIGN_OR_RETURN(const IterationsPerLoop configured,
                   ParseIterationsPerLoop(config_.tpu_config().iterations_per_loop()));
  WarnOfLongLoops(config_, configured);
  LoopLength length(configured);
  while (step_ < final_step_) {
    const Clock::time_point start = Clock::now();
    const int64_t iterations = std::min(final_step_ - step_, length.Next());
    RunResult result = RunLoop(iterations);
    // From here on the event file is this thread's again.
    const absl::Status written = outfeed_ == nullptr ? absl::OkStatus() : outfeed_->Drain();
    const double seconds = SecondsSince(start);
    step_ += result.steps;
    seconds_ += seconds;
    length.LoopDone(result.steps, seconds);
    if (result.steps > 0) losses_ = result.loss;
    if (!written.ok()) return Failed(written);
    if (result.steps < iterations) return Stopped(result);
    const absl::Status done = LoopDone(result.steps, seconds);
    if (absl::IsAborted(done)) return Failed(done);
    RETURN_IF_ERROR(done);
    loop_done_ = true;
    first_writes_.Keep();
  }
  return absl::OkStatus();
}

RunResult Training::RunLoop(int64_t iterations) {
  RunResult result = session_.RunLoop(
      {.iterations = iterations,
       .first_step = step_,
       .guarded_every = config_.tpu_config().experimental_host_call_every_n_steps(),
       .interrupt = options_.interrupt},
      *infeed_, outfeed_.get());
  summary_seconds_ += result.guarded_seconds;
  return result;
}

absl::Status Training::LoopDone(int64_t steps, double seconds) {
  const bool last = step_ == final_step_;
  if (cadence_.enabled() && (last || cadence_.Due(step_))) RETURN_IF_ERROR(Save());
  const double loss = MeanOf(losses_);
  RETURN_IF_ERROR(report_->LoopDone(step_, loss, last));
  const double rate = static_cast<double>(steps) / std::max(seconds, 1e-9);
  if (options_.progress) {
    options_.progress({.step = step_,
                       .final_step = final_step_,
                       .loss = loss,
                       .steps_per_second = rate,
                       .examples_per_second = rate * config_.train_batch_size()});
  }
  return events_->Flush();
}

absl::Status Training::Save() {
  ASSIGN_OR_RETURN(const std::string position, infeed_->PositionAfter(step_ - start_step_));
  const absl::Status moved = dir_.CheckPath();
  const RunState state = {.input_position = position,
                          .machine = session_.machine(),
                          .model = computed_text_,
                          .input_files = IdentitiesOf(input_.files)};
  const absl::Status saved = saver_.Save(dir_, session_.variables(), state, step_);
  if (!moved.ok()) {
    const std::string kept = saved.ok() ? absl::StrCat("; step ", step_, " is saved there") : "";
    return absl::PermissionDeniedError(absl::StrCat(moved.message(), kept));
  }
  RETURN_IF_ERROR(saved);
  LOG(INFO) << "Saving checkpoints for " << step_ << " into " << saver_.latest() << ".";
  cadence_.Saved(step_);
  return events_->WriteCheckpoint(step_, JoinPath(config_.model_dir(), "model.ckpt"));
}

absl::Status Training::SaveIfNew() {
  if (cadence_.IsSaved(step_)) return absl::OkStatus();
  const absl::Status saved = Save();
  return absl::IsAborted(saved) ? Failed(saved) : saved;
}

absl::Status Training::Stopped(const RunResult& result) {
  if (result.loss_not_finite) return NotFinite(result);
  if (result.interrupted) return Interrupted();
  const absl::Status why = absl::IsOutOfRange(result.status)
                               ? result.status
                               : Annotate(result.status, absl::StrCat("step ", step_ + 1));
  // The steps before the input's end or error are good.
  const bool by_input = result.status == infeed_->input_status();
  if (step_ == start_step_ || !by_input || !cadence_.enabled()) return Failed(why);
  const absl::Status saved = SaveIfNew();
  if (!saved.ok()) {
    return absl::Status(saved.code(), absl::StrCat(why.message(), "; ", saved.message()));
  }
  RETURN_IF_ERROR(report_->End(step_, false));
  RETURN_IF_ERROR(events_->Close());
  return absl::Status(why.code(),
                      absl::StrCat(why.message(), "; checkpoint saved: ", saver_.latest()));
}

absl::Status Training::Interrupted() {
  const std::string at = absl::StrCat("interrupted after step ", step_, " of ", final_step_);
  RETURN_IF_ERROR(SaveIfNew());
  RETURN_IF_ERROR(events_->Close());
  return absl::CancelledError(
      absl::StrCat(at, "; checkpoint saved: ", saver_.latest(), "; start it again to go on"));
}

absl::Status Training::NotFinite(const RunResult& result) {
  std::string message = absl::StrCat("NaN or infinity in the loss at step ", step_ + 1);
  bool diverged = false;
  const absl::StatusOr<const std::byte*> entry = infeed_->ring().Front();
  if (entry.ok()) {
    const absl::StatusOr<NonFinite> cause =
        FindNonFinite(graph_, session_.variables(), *entry, result.steps, options_.features);
    if (cause.ok() && !cause->what.empty()) absl::StrAppend(&message, ": ", cause->what);
    diverged = cause.ok() && !cause->what.empty() && !cause->in_input;
  }
  const std::string where = infeed_->WhereIs(step_ - start_step_);
  if (!where.empty()) absl::StrAppend(&message, " (the batch ends with ", where, ")");
  if (diverged) absl::StrAppend(&message, "; lower the learning rate");
  const std::string good = loop_done_ ? saver_.latest() : resumed_ ? resumed_->prefix() : "";
  if (!good.empty()) absl::StrAppend(&message, "; the last good checkpoint is ", good);
  return Failed(absl::AbortedError(message));
}

absl::Status Training::Failed(absl::Status status) {
  if (loop_done_) {
    // Whether or not that can be written, the error is what is to be told.
    report_->End(step_, false).IgnoreError();
    events_->Close().IgnoreError();
    return status;
  }
  if (events_ != nullptr) {
    events_->Close().IgnoreError();
    LOG(INFO) << "Nothing is kept of this run: what it wrote into " << config_.model_dir()
              << " is removed.";
  }
  first_writes_.Undo(dir_);
  return status;
}

std::string Training::EndedMessage(int64_t batches) const {
  const int64_t wanted = final_step_ - start_step_;
  const absl::int128 missing = wanted - batches;
  return absl::StrFormat(
      "the training input ended after step %d of %d: %d steps, %d examples, are missing; repeat it "
      "without a count (a pipe after a cache), or train for fewer steps",
      start_step_ + batches, final_step_, missing, missing * config_.train_batch_size());
}

absl::Status Training::Finish() {
  infeed_->Stop();
  if (outfeed_ != nullptr) {
    RETURN_IF_ERROR(outfeed_->Finish());
    LOG(INFO) << "Summaries took "
              << absl::StrFormat("%.3f of %.3f s.", summary_seconds_, seconds_);
  }
  if (!cadence_.enabled()) RETURN_IF_ERROR(CheckFinite(session_.variables()));
  RETURN_IF_ERROR(dir_.CheckPath());
  RETURN_IF_ERROR(report_->End(step_, true));
  RETURN_IF_ERROR(events_->Sync());
  RETURN_IF_ERROR(events_->Close());
  VLOG(1) << "Instruction parts: " << session_.InstructionsRun() << ".";
  LOG(INFO) << "Loss for final step: " << MeanOf(losses_) << ".";
  return absl::OkStatus();
}

absl::StatusOr<TrainResult> Training::Result() const {
  const int64_t steps = step_ - start_step_;
  ASSIGN_OR_RETURN(const auto rates, learning_rates_.At(step_ - 1));
  return TrainResult{
      .global_step = step_,
      .checkpoint = saver_.latest(),
      .loss = MeanOf(losses_),
      .loss_shard_0 = losses_.empty() ? 0 : losses_[0],
      .learning_rates = rates,
      .steps = steps,
      .seconds = seconds_,
      .examples_per_second =
          static_cast<double>(steps * config_.train_batch_size()) / std::max(seconds_, 1e-9)};
}

// Of a run whose steps are done there may be leftovers, in a directory that may be read-only by
// now.
void SweepIfAllowed(const Saver& saver, const Directory& dir) {
  const absl::Status swept = dir.is_open() ? saver.Sweep(dir) : absl::OkStatus();
  if (swept.ok()) return;
  LOG(WARNING) << "What a killed run has left is not removed: " << swept.message();
}

TrainResult Skipped(int64_t global_step, const std::optional<Checkpoint>& checkpoint) {
  LOG(INFO) << "Skipping training since max_steps has already saved.";
  return {.skipped = true,
          .global_step = global_step,
          .checkpoint = checkpoint.has_value() ? checkpoint->prefix() : ""};
}

TrainResult Training::Skip() const {
  SweepIfAllowed(saver_, dir_);
  return Skipped(start_step_, resumed_);
}

}  // namespace

Estimator::Estimator(EstimatorOptions options) : options_(std::move(options)) {
  // Paths in the file `checkpoint` are relative to it: "m/" and "m" must be one.
  std::string& dir = *options_.config.mutable_model_dir();
  while (dir.size() > 1 && dir.back() == '/') dir.pop_back();
}

absl::StatusOr<TrainResult> Estimator::Train(const InputFn& input_fn) {
  const proto::RunConfig& config = options_.config;
  ASSIGN_OR_RETURN(Directory dir,
                   LockModelDir(config.model_dir(), {.interrupt = options_.interrupt}));
  ASSIGN_OR_RETURN(const std::optional<Checkpoint> resumed,
                   ChooseCheckpoint(ModeKey::kTrain, config.model_dir(), ""));
  int64_t start_step = 0;
  if (resumed.has_value()) {
    ASSIGN_OR_RETURN(start_step, resumed->GlobalStep());
  }
  ASSIGN_OR_RETURN(Saver saver, Saver::Open({.model_dir = config.model_dir(),
                                             .keep_checkpoint_max = config.keep_checkpoint_max(),
                                             .keep_checkpoint_every_n_hours =
                                                 config.keep_checkpoint_every_n_hours(),
                                             .now = WallTime}));
  if (config.train().has_max_steps() && config.train().max_steps() <= start_step) {
    SweepIfAllowed(saver, dir);
    return Skipped(start_step, resumed);
  }
  RETURN_IF_ERROR(CheckWritable(config.model_dir()));
  Training training(options_, std::move(saver), resumed, start_step, std::move(dir));
  RETURN_IF_ERROR(training.Build());
  RETURN_IF_ERROR(training.OpenInput(input_fn));
  if (training.already_trained()) return training.Skip();
  RETURN_IF_ERROR(training.CheckUnlisted());
  RETURN_IF_ERROR(training.StartInput());
  RETURN_IF_ERROR(training.OpenModelDir());
  RETURN_IF_ERROR(training.Run());
  RETURN_IF_ERROR(training.Finish());
  return training.Result();
}

}  // namespace tpurun
