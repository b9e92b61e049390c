#include "runtime/estimator/profile.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "runtime/base/status.h"
#include "runtime/estimator/processes.h"
#include "runtime/estimator/sequence_lengths.h"
#include "runtime/estimator/setup.h"
#include "runtime/estimator/step_graph.h"
#include "runtime/estimator/train_step.h"
#include "runtime/profile/analyze.h"
#include "runtime/profile/machine_peaks.h"
#include "runtime/session/call_input_fn.h"
#include "runtime/session/infeed.h"
#include "runtime/session/outfeed.h"
#include "runtime/session/session.h"
#include "runtime/spec/input_deployment.h"

namespace tpurun {
namespace {

// Steps that are run first: they load code and weights into the caches and run the prologue.
constexpr int64_t kWarmUpSteps = 5;
constexpr int64_t kLeastProfiled = 10, kMostProfiled = 1000;
constexpr double kProfiledSeconds = 2;

std::string VerbOf(ModeKey mode) {
  return mode == ModeKey::kTrain ? "train" : mode == ModeKey::kEval ? "evaluate" : "predict";
}

// Opens an input again at its end, so that a short one lasts for all steps. Like a finite input it
// returns fewer rows at the end of each pass.
class ReopenedInput : public BatchSource {
 public:
  using Open = std::function<absl::StatusOr<InputSource>()>;

  ReopenedInput(std::unique_ptr<BatchSource> batches, Open open)
      : batches_(std::move(batches)), open_(std::move(open)) {}

  absl::StatusOr<int64_t> Next(BatchBuffers buffers) override {
    ASSIGN_OR_RETURN(int64_t rows, batches_->Next(buffers));
    if (rows > 0) return rows;
    ASSIGN_OR_RETURN(InputSource again, open_());
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      batches_ = std::move(again.batches);
      batches_->SetCancelled(cancelled_);
    }
    return batches_->Next(buffers);
  }
  void SetCancelled(bool cancelled) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    cancelled_ = cancelled;
    batches_->SetCancelled(cancelled);
  }
  std::string Position() const override { return batches_->Position(); }
  absl::Status Restore(const std::string& position) override { return batches_->Restore(position); }
  std::vector<HostFeature> Forwarded() const override { return batches_->Forwarded(); }
  std::string Where(int64_t row) const override { return batches_->Where(row); }

 private:
  std::mutex mutex_;  // guards cancelled_, and batches_ where another thread uses it
  bool cancelled_ = false;
  std::unique_ptr<BatchSource> batches_;
  Open open_;
};

// One opened input and, from Start on, its queues.
class Feeds {
 public:
  static absl::StatusOr<std::unique_ptr<Feeds>> Open(const EstimatorOptions& options,
                                                     const InputFn& input_fn, ModeKey mode) {
    std::unique_ptr<Feeds> feeds(new Feeds);
    const ReopenedInput::Open open = [input_fn, deployment = DeploymentOf(options, mode),
                                      args = InputFnArgs{.mode = mode,
                                                         .features = options.features,
                                                         .seed = options.config.tf_random_seed(),
                                                         .times = feeds->times_}] {
      return CallInputFn(input_fn, deployment, args);
    };
    ASSIGN_OR_RETURN(feeds->input_, open());
    if (!feeds->input_.endless && !feeds->input_.reads_once) {
      feeds->input_.batches =
          std::make_unique<ReopenedInput>(std::move(feeds->input_.batches), open);
    }
    return feeds;
  }

  absl::Status Start(const EstimatorOptions& options, ModeKey mode, const Graph& graph,
                     const CoreProgram& program) {
    const bool pads = mode != ModeKey::kTrain;
    ASSIGN_OR_RETURN(infeed_, CreateInfeed(options, mode, "profile", 1, input_, program,
                                           {.pad = pads,
                                            .ended_message =
                                                [](int64_t batches) {
                                                  return absl::StrCat("the input ended after ",
                                                                      batches, " batches");
                                                },
                                            .classes = ClassesOf(graph)}));
    if (!program.outfeed.empty()) {
      Infeed* const infeed = infeed_.get();
      outfeed_ = std::make_unique<Outfeed>(
          program, [=, this, trace = options.host_trace](int64_t index, const std::byte*) {
            const HostTrace::Scope scope(trace.get(), HostTrace::Lane::kOutfeed, "outputs of step",
                                         index);
            if (pads) {
              infeed->TakeForwarded();
              const int64_t rows = infeed->TakeRows();
              if (outputs_++ >= counted_from_.load()) rows_ += rows;
            }
            return absl::OkStatus();
          });
    }
    infeed_->Start();
    return absl::OkStatus();
  }

  // Runs steps. Fewer if the input ends before.
  absl::StatusOr<RunResult> Run(Session& session, const RunArgs& args) {
    RunResult result = session.RunLoop(args, *infeed_, outfeed_.get());
    if (result.interrupted) return absl::CancelledError("interrupted");
    const bool ended = absl::IsOutOfRange(result.status) && infeed_->ended();
    if (!ended) RETURN_IF_ERROR(result.status);
    return result;
  }

  // Ends the threads. The batch of the last step stays in memory.
  absl::Status Finish() {
    infeed_->Stop();
    return outfeed_ == nullptr ? absl::OkStatus() : outfeed_->Finish();
  }

  // Counts the rows of the steps from now on, of which `steps` have run.
  void CountRows(int64_t steps) { counted_from_.store(steps); }
  // Those rows, after Finish; 0 in a training, whose batches are full.
  int64_t rows() const { return rows_; }
  const InputSource& input() const { return input_; }
  const std::vector<InputTimes::Stage>& stages() const { return times_->stages(); }

 private:
  Feeds() = default;

  const std::shared_ptr<InputTimes> times_ = std::make_shared<InputTimes>();
  InputSource input_;
  std::atomic<int64_t> counted_from_ = std::numeric_limits<int64_t>::max();
  int64_t outputs_ = 0, rows_ = 0;  // of the thread of the outfeed
  InfeedPtr infeed_;
  std::unique_ptr<Outfeed> outfeed_;
};

int64_t StepsOf(const ProfileArgs& args, double warm_up_seconds, int64_t warm_up_steps) {
  if (args.steps > 0) return args.steps;
  if (warm_up_steps == 0 || warm_up_seconds <= 0) return kLeastProfiled;
  const double steps = kProfiledSeconds / warm_up_seconds * static_cast<double>(warm_up_steps);
  return std::clamp(static_cast<int64_t>(std::min(steps, 1e9)), kLeastProfiled, kMostProfiled);
}

bool WritesVariable(const Instruction& instruction) {
  return std::any_of(instruction.results.begin(), instruction.results.end(),
                     [](const Operand& result) { return result.buffer.space == Space::kVariable; });
}

// [instruction]: seconds of the first call alone, for products that the step runs.
absl::StatusOr<std::vector<double>> TimeProducts(Session& session) {
  std::vector<double> seconds;
  for (const Instruction* instruction : session.program().Instructions()) {
    const Cost cost = CostOfInstruction(*instruction, session.program().num_replicas);
    const bool measured = cost.matrix_flops > 0 && !WritesVariable(*instruction);
    const auto number = static_cast<int>(seconds.size());
    seconds.push_back(0);
    if (!measured) continue;
    ASSIGN_OR_RETURN(seconds.back(), session.TimeAlone(number));
  }
  return seconds;
}

// The time of a step in which a worker exchanged values or all waited for that.
double ExchangeSeconds(const RunProfile& run, int64_t steps) {
  int64_t ticks = 0;
  const auto add = [&](const std::vector<ProfileSpan>& spans) {
    for (const ProfileSpan& span : spans)
      if (span.kind == ProfileSpan::Kind::kExchange) ticks += span.end - span.begin;
  };
  add(run.waits());
  for (int worker = 0; worker < run.num_workers(); ++worker) add(run.spans(worker));
  return static_cast<double>(ticks) * run.seconds_per_tick() / static_cast<double>(steps);
}

// What all processes did in the steps.
absl::Status AddProcesses(Fabric& fabric, const RunProfile& run, proto::Profile& profile) {
  struct Times {
    double busy = 0, exchange = 0;
  };
  Times own;
  for (const proto::WorkerTime& worker : profile.worker()) {
    own.busy += worker.busy_seconds() / profile.worker_size();
  }
  own.exchange = ExchangeSeconds(run, profile.steps());
  std::vector<Times> all(fabric.size());
  RETURN_IF_ERROR(fabric.AllGather(&own, sizeof(own), all.data()));
  double least = own.exchange;
  for (const Times& times : all) least = std::min(least, times.exchange);
  for (size_t process = 0; process < all.size(); ++process) {
    proto::ProcessTime& row = *profile.add_process();
    row.set_process(static_cast<int>(process));
    row.set_busy_seconds(all[process].busy);
    row.set_exchange_seconds(all[process].exchange);
    row.set_waiting_seconds(all[process].exchange - least);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ProfiledSteps> ProfileSteps(const EstimatorOptions& of_run, const InputFn& input_fn,
                                           const ProfileArgs& args) {
  const bool trains = args.mode == ModeKey::kTrain;
  EstimatorOptions options = args.mode == ModeKey::kEval ? OptionsOfEvaluation(of_run) : of_run;
  options.host_trace = std::make_shared<HostTrace>();
  ASSIGN_OR_RETURN(const std::optional<Checkpoint> checkpoint,
                   ChooseCheckpoint(args.mode, options.config.model_dir(), args.checkpoint));
  ASSIGN_OR_RETURN(StepGraph step, BuildStepGraph(of_run, args.mode));
  ASSIGN_OR_RETURN(const std::unique_ptr<Feeds> feeds, Feeds::Open(options, input_fn, args.mode));
  if (args.mode == ModeKey::kPredict && FeedsLabels(feeds->input(), options.features)) {
    ASSIGN_OR_RETURN(step, BuildStepGraph(of_run, args.mode, {}, true));
  }
  Session session(options.num_workers, options.topology);
  CompileOptions compile = MakeCompileOptions(options);
  if (trains) compile.loss_output = kLossOutput;
  RETURN_IF_ERROR(session.Load(step.graph, compile));
  RETURN_IF_ERROR(SetVariables(options, checkpoint, trains, step.model_variables, session));
  RETURN_IF_ERROR(feeds->Start(options, args.mode, step.graph, session.program()));
  RETURN_IF_ERROR(options.after_checks());
  if (options.fabric != nullptr) {
    const InputSource& input = feeds->input();
    RETURN_IF_ERROR(CheckAlike(options.fabric, LikenessesOf(session, input.files, input.assets)));
  }
  const auto start = std::chrono::steady_clock::now();
  ASSIGN_OR_RETURN(const RunResult warm_up, feeds->Run(session, {.iterations = kWarmUpSteps,
                                                                 .fabric = options.fabric,
                                                                 .interrupt = options.interrupt}));
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  int64_t steps = StepsOf(args, elapsed.count(), warm_up.steps);
  if (options.fabric != nullptr) RETURN_IF_ERROR(options.fabric->Broadcast(&steps, sizeof(steps)));
  auto run = std::make_unique<RunProfile>(
      session.program(), session.num_workers(), steps, 0,
      args.records_every_call ? ProfileDetail::kEveryStep : ProfileDetail::kSomeSteps);
  LOG(INFO) << "Profiling " << steps << " steps.";
  if (trains) LogFullLength(options);
  feeds->CountRows(warm_up.steps);
  ASSIGN_OR_RETURN(const RunResult result, feeds->Run(session, {.iterations = steps,
                                                                .first_step = warm_up.steps,
                                                                .fabric = options.fabric,
                                                                .profile = run.get(),
                                                                .interrupt = options.interrupt}));
  RETURN_IF_ERROR(feeds->Finish());
  if (result.steps == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the input ended after ", warm_up.steps,
                     " batches, before a step could be measured; want a longer input"));
  }
  if (!run->complete()) LOG(WARNING) << "The profile is not complete: its memory is full.";
  ASSIGN_OR_RETURN(std::vector<double> alone, TimeProducts(session));
  proto::MachinePeaks peaks = MeasurePeaks(session.num_workers());
  peaks.set_name(session.program().machine);
  ProfiledSteps profiled{.program = session.program()};
  profiled.profile = Analyze({.program = session.program(),
                              .run = *run,
                              .machine = std::move(peaks),
                              .alone = std::move(alone),
                              .batch_size = BatchSizeOf(options.config, args.mode),
                              .examples = options.fabric == nullptr ? feeds->rows() : 0,
                              .input = feeds->stages()});
  profiled.profile.set_mode(VerbOf(args.mode));
  if (options.fabric != nullptr)
    RETURN_IF_ERROR(AddProcesses(*options.fabric, *run, profiled.profile));
  proto::ProfileMemory& memory = *profiled.profile.mutable_memory();
  memory.set_infeed_bytes(static_cast<int64_t>(Infeed::RingBytes(profiled.program)));
  if (!profiled.program.outfeed.empty())
    memory.set_outfeed_bytes(static_cast<int64_t>(Outfeed::RingBytes(profiled.program)));
  profiled.run = std::move(run);
  profiled.host_spans = options.host_trace->spans();
  return profiled;
}

}  // namespace tpurun
