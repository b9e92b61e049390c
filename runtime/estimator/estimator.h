// Estimator: train, evaluate and predict, after TPUEstimator.
#ifndef TPURUN_RUNTIME_ESTIMATOR_ESTIMATOR_H_
#define TPURUN_RUNTIME_ESTIMATOR_ESTIMATOR_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/run_config.pb.h"
#include "runtime/base/host_trace.h"
#include "runtime/fabric/fabric.h"
#include "runtime/io/hparams.h"
#include "runtime/ir/machine.h"
#include "runtime/spec/spec.h"
#include "runtime/spec/topology.h"
#include "runtime/spec/trained_folder.h"

namespace tpurun {

// The progress of a training, for the line that a terminal redraws.
struct TrainProgress {
  int64_t step = 0;  // completed, also within a loop
  int64_t final_step = 0;
  std::optional<double> loss;   // of the last step of the last complete loop
  double steps_per_second = 0;  // in the present loop; before its first step, in the loop before
  double examples_per_second = 0;
};

// Steps as global_step counts them after each: 1 is the first step of a training.
struct StepRange {
  int64_t first = 1, last = 1;
};

// Options of a training only.
struct TrainOptions {
  // Steps whose profile is written to model_dir/plugins/profile.
  std::optional<StepRange> profiled;
  std::vector<HParam> hparams;  // hyperparameters for TensorBoard's comparison of trainings
  std::string config_text;      // the effective configuration, for TensorBoard
  // If a resumed training would fail because its input differs from the input of the checkpoint, it
  // moves the input to the same position, or to its beginning if there is no such position.
  bool allow_changed_input = false;
  // The buckets that the input makes batches of.
  std::optional<SequenceBuckets> buckets;
  // Called just before training first writes to model_dir. Before this call, a process that ends at
  // once leaves no files. May be nullptr.
  std::function<void()> before_first_write;
  // Called after each loop and, while a loop runs, every second, on the thread of the training. May
  // be nullptr.
  std::function<void(const TrainProgress&)> progress;
};

// Options of every verb that runs the model.
struct EstimatorOptions {
  proto::RunConfig config;  // the effective one, written to model_dir/run_config.pbtxt
  // Returns the place of a field of `config` in the configuration file, "run.textproto:5:3", for
  // messages.
  std::function<std::string(const std::string& path)> where = [](const std::string& path) {
    return path;
  };
  // Returns the files of the configuration and those that it names. No output may replace them.
  std::function<std::vector<std::string>()> files_read = [] { return std::vector<std::string>(); };
  ModelFn model_fn;
  std::vector<FeatureSpec> features;  // features that the model declares
  Topology topology = {};             // the replicas of one batch
  // The processes that train together, of topology.num_processes. nullptr: this one alone.
  Fabric* fabric = nullptr;
  int num_workers = 0;  // number of threads; 0: one for each CPU
  // The kernels that programs may have.
  KernelChoice kernels = KernelChoice::kFastest;
  std::string dump_dir;     // folder for artefacts of the compiler; empty: none
  std::string dump_infeed;  // folder for dumps of the infeed; empty: none
  // Without a checkpoint, Evaluate and Predict use fresh variables, as TPUEstimator does.
  bool allow_untrained = false;
  // Whether the hooks of the configuration are run.
  bool run_hooks = true;
  // The part of the configuration that decides the computed values (drift.h). Checkpoints store it.
  proto::RunConfig canonical;
  // Counts signals that end a run. May be nullptr.
  const std::atomic<int>* interrupt = nullptr;
  // Called after everything that the checkpoint and the configuration show has been checked and
  // warned of, and before anything is written or printed. Its error ends the run.
  std::function<absl::Status()> after_checks = [] { return absl::OkStatus(); };
  // Called on another thread after each evaluated or predicted batch, with the examples so far. May
  // be nullptr.
  std::function<void(int64_t examples)> on_examples;
  // Receives what the infeed, the outfeed and checkpoints do. May be nullptr.
  std::shared_ptr<HostTrace> host_trace;
  TrainOptions train;
};

// The beginning of a generated text.
struct TextStart {
  std::vector<int64_t> ids;  // ids of its characters, one or more
  int64_t num_ids = 0;       // number of different ids: 0 to num_ids - 1
};
using StartFn = std::function<absl::StatusOr<TextStart>(const TrainedFolder& trained)>;

// Returns the bytes of the assets that are exported with a model, by name.
using AssetsFn =
    std::function<absl::StatusOr<std::map<std::string, std::string>>(const TrainedFolder& trained)>;

// The best evaluation of train_and_evaluate so far, by its monitor.
struct BestEvaluation {
  int64_t step = 0;
  std::string checkpoint;                                    // its prefix; empty if none is saved
  std::vector<std::pair<std::string, MetricValue>> metrics;  // `loss`, `loss_shard_0`, the others
};

struct TrainResult {
  bool skipped = false;                // true: already trained, and nothing was done
  bool stopped_early = false;          // true: early_stopping ended the training
  int64_t global_step = 0;             // of the latest checkpoint, after restore_best too
  std::string checkpoint;              // prefix of the latest checkpoint; empty if there is none
  std::optional<BestEvaluation> best;  // of train_and_evaluate
  struct Step {
    double loss = 0;  // mean over the cores
    float loss_shard_0 = 0;
    // "learning_rate", or "learning_rate/NAME" if there are several optimizers.
    std::vector<std::pair<std::string, float>> learning_rates;
  };
  // The last step of this call. nullopt: it had none, or global_step is another one (restore_best).
  std::optional<Step> last_step;
  int64_t steps = 0;   // steps of this call
  double seconds = 0;  // seconds spent in loops
  double examples_per_second = 0;
};

// One of the configuration's evaluations.
struct EvaluationInput {
  proto::Evaluate evaluate;
  InputFn input_fn;
  bool write_events = true;  // its metrics become points of the evaluation's curves
};

struct Evaluation {
  std::string name;  // name of the evaluation; empty for the unnamed one
  int64_t global_step = 0;
  std::optional<std::string> checkpoint;  // nullopt: fresh variables (allow_untrained)
  int64_t examples = 0;
  std::vector<std::pair<std::string, MetricValue>> metrics;  // `loss` first
  // The loss of core 0's rows: mean over the batches. nullopt for a model without a loss.
  std::optional<double> loss_shard_0;
  // As EstimatorSpec::class_names.
  std::map<std::string, std::vector<std::string>> class_names;
};
using OnEvaluation = std::function<absl::Status(const Evaluation& evaluation)>;

// The predictions of one batch. Valid during the call.
struct PredictedBatch {
  struct Column {
    std::string name;
    Shape row;              // shape of one row
    const std::byte* data;  // row after row; nullptr for strings
    // A forwarded STRING feature or names of classes, row after row; of `row` only the dims count.
    // nullptr for numbers.
    const std::string* strings = nullptr;
  };
  int64_t rows = 0;  // rows without padding
  std::vector<Column> columns;
};

struct ExportFormatDef;

// An exported model, in the formats of proto::Export.
struct ExportedFiles {
  std::vector<std::pair<std::string, std::string>> paths;  // format, folder; in the requested order
  std::vector<std::string> signatures;                     // keys of a SavedModel's signatures
  int64_t global_step = 0;
};

// The folder of exported models.
std::string ExportDirectory(const proto::RunConfig& config);
// The folder that contains the numbered folders of a format. `config` must have a directory.
std::string ExportBase(const proto::Export& config, const ExportFormatDef& format);

// The inputs of an export besides the model.
struct ExportInputs {
  // Adds the fields that the model is fed with in place of its features. nullptr: it is fed with
  // the features.
  ExportInputFn input_fn;
  Vocabularies vocabularies;  // vocabularies of labels: the names of classes
  // The files for assets/ of a SavedModel. In an ONNX file they are metadata under their names
  // without extension.
  AssetsFn assets_fn;
};

// The inputs of train_and_evaluate, and the receiver of its results.
struct TrainAndEvaluateInputs {
  InputFn train;
  std::vector<EvaluationInput> evaluations;  // one or more
  ExportInputs export_inputs;
  OnEvaluation on_result;  // receives each result; its error ends the training
};

class MemoryReserve;
class TrainInput;
class TrainPeers;
struct TrainProgram;
struct TrainStart;

class Estimator {
 public:
  explicit Estimator(EstimatorOptions options);

  // Trains for the length in config.train(), starting from the latest checkpoint of model_dir. With
  // options.fabric all processes call it; the first writes and returns the result.
  // Cancelled after an interrupt (after saving, unless checkpoints are off). OutOfRange if the
  // input ended early (after saving). Aborted if the loss or a variable has a NaN or an infinity.
  absl::StatusOr<TrainResult> Train(const InputFn& input_fn,
                                    const TrainAndEvaluateInputs* evaluated = nullptr);

  // The same, according to config.train_and_evaluate: also evaluates and exports between loops and
  // after the last loop, with the variables of the training, and may stop early. It resumes a run
  // that ended at any moment, beginning with the evaluation that was pending. With steps_per_eval
  // the final files are then the same bytes. A training that was already complete is evaluated once
  // more.
  absl::StatusOr<TrainResult> TrainAndEvaluate(const TrainAndEvaluateInputs& inputs);

  // Evaluates `checkpoint`, or the latest checkpoint of model_dir if it is empty, or the best one
  // if it is kBestCheckpoint (NotFound if there is none), over each input in turn. Calls
  // `on_result` with each result; an error of `on_result` ends the call. NotFound if there is no
  // checkpoint, unless allow_untrained.
  absl::Status EvaluateAll(const std::vector<EvaluationInput>& evaluations,
                           const std::string& checkpoint, const OnEvaluation& on_result);
  // The same for one input.
  absl::StatusOr<Evaluation> Evaluate(const InputFn& input_fn, const proto::Evaluate& evaluate,
                                      const std::string& checkpoint);

  // Calls `on_result` on another thread with the rows of each batch in input order: the
  // forward_features of `predict`, then the predictions of its keys. An error of `on_result` ends
  // the call and is returned unchanged. Checkpoints are chosen as in Evaluate. With options.fabric
  // all processes call it; the first calls `on_result`.
  absl::Status Predict(const InputFn& input_fn, const proto::Predict& predict,
                       const std::string& checkpoint,
                       const std::function<absl::Status(const PredictedBatch&)>& on_result);

  // Continues a text according to `generate`: calls `start_fn`, then `on_result` on another thread
  // with each new character, in order. The drawn characters depend only on the model, the start and
  // tf_random_seed. InvalidArgument if the model does not read one sequence or has fewer classes
  // than num_ids. Checkpoints are chosen as in Evaluate.
  absl::Status Generate(const StartFn& start_fn, const proto::Generate& generate,
                        const std::string& checkpoint,
                        const std::function<absl::Status(int64_t id)>& on_result);

  // Exports the predictions of the model, in f32 and for any batch size, with the variables of
  // `checkpoint`, which is chosen as in Evaluate. NotFound if there is none. Each format appears
  // under its final name only when it is complete. After an error, the format that failed and the
  // later ones are absent.
  absl::StatusOr<ExportedFiles> Export(const proto::Export& config, const std::string& checkpoint,
                                       const ExportInputs& inputs);
  // Checks that the model can be exported in each format of `config`. InvalidArgument if not.
  absl::Status CheckExport(const proto::Export& config);

 private:
  // Calls options_.after_checks the first time only: the end of the run reports later warnings.
  absl::Status CheckOnce();
  // Calls `after_checks` before the first write. `once`: if the newest model in the folder has the
  // same bytes, nothing is written; older ones with these bytes are removed.
  absl::StatusOr<ExportedFiles> ExportChecked(const proto::Export& config,
                                              const std::string& checkpoint,
                                              const ExportInputs& inputs,
                                              const std::function<absl::Status()>& after_checks,
                                              bool once);
  // Trains from `start`, the contents of model_dir. Returns nullopt and writes nothing if
  // model_dir was absent and another training has used it meanwhile: `start` has then locked it.
  absl::StatusOr<std::optional<TrainResult>> TrainFrom(TrainPeers& peers, TrainStart& start,
                                                       const InputFn& input_fn,
                                                       const TrainAndEvaluateInputs* evaluated);
  // The same in a process that is not the chief, from the opened input on.
  absl::StatusOr<std::optional<TrainResult>> Follow(TrainPeers& peers, TrainProgram& program,
                                                    TrainInput& input, MemoryReserve& reserve);

  EstimatorOptions options_;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_ESTIMATOR_H_
