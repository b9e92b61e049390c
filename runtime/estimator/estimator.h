// Estimator: train, evaluate and predict, after TPUEstimator.
#ifndef TPURUN_RUNTIME_ESTIMATOR_ESTIMATOR_H_
#define TPURUN_RUNTIME_ESTIMATOR_ESTIMATOR_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/run_config.pb.h"
#include "runtime/io/hparams.h"
#include "runtime/spec/spec.h"
#include "runtime/spec/topology.h"
#include "runtime/spec/trained_folder.h"

namespace tpurun {

// Where training is, for the line that is redrawn on a terminal.
struct TrainProgress {
  int64_t step = 0;
  int64_t final_step = 0;
  double loss = 0;
  double steps_per_second = 0;  // of the last loop
  double examples_per_second = 0;
};

// What only a training has.
struct TrainOptions {
  std::vector<HParam> hparams;  // what TensorBoard compares trainings by
  std::string config_text;      // the effective configuration, for TensorBoard
  // Where a resumed training would fail because its input is no longer that of the checkpoint, it
  // takes the input to the same place, or to its beginning if there is no such place.
  bool allow_changed_input = false;
  // Called just before training first writes to model_dir: until then a process that ends at once
  // leaves nothing behind. May be null.
  std::function<void()> before_first_write;
  // Called between the loops. May be null.
  std::function<void(const TrainProgress&)> progress;
};

// What every verb has that runs the model.
struct EstimatorOptions {
  proto::RunConfig config;  // the effective one, written to model_dir/run_config.pbtxt
  // The place of a field of it, "run.textproto:5:3", for messages.
  std::function<std::string(const std::string& path)> where = [](const std::string& path) {
    return path;
  };
  ModelFn model_fn;
  std::vector<FeatureSpec> features;  // what the model declares
  Topology topology = {};             // whose replicas share a batch
  int num_workers = 0;                // threads; 0: one for each CPU
  std::string dump_dir;               // artefacts of the compiler go there; empty: nowhere
  std::string dump_infeed;            // what the cores are fed goes there; empty: nowhere
  // Evaluate and Predict take fresh variables where there is no checkpoint, as TPUEstimator does.
  bool allow_untrained = false;
  // The hooks of the configuration are run.
  bool run_hooks = true;
  // What of the configuration decides the values that are computed (drift.h); checkpoints carry it.
  proto::RunConfig computed;
  // Counts signals that end a run. May be null.
  const std::atomic<int>* interrupt = nullptr;
  // Called when all that the checkpoint and the configuration show is checked and warned of, before
  // anything is written or printed; its error ends the run.
  std::function<absl::Status()> checked = [] { return absl::OkStatus(); };
  // Called after each batch that is evaluated or predicted with the examples so far, on another
  // thread. May be null.
  std::function<void(int64_t examples)> counted;
  TrainOptions train;
};

// What a generated text begins with.
struct TextStart {
  std::vector<int64_t> ids;  // of its characters, one or more
  int64_t num_ids = 0;       // that there are: 0 to num_ids - 1
};
using StartFn = std::function<absl::StatusOr<TextStart>(const TrainedFolder& trained)>;

// The bytes of the assets that go along with an exported model, by name.
using AssetsFn =
    std::function<absl::StatusOr<std::map<std::string, std::string>>(const TrainedFolder& trained)>;

struct TrainResult {
  bool skipped = false;        // already trained: nothing was done
  bool stopped_early = false;  // by early_stopping
  int64_t global_step = 0;
  std::string checkpoint;  // the latest; empty without
  double loss = 0;         // mean over the cores of the last step
  float loss_shard_0 = 0;
  // Of the last step: "learning_rate", or of several optimizers "learning_rate/NAME".
  std::vector<std::pair<std::string, float>> learning_rates;
  int64_t steps = 0;   // of this call
  double seconds = 0;  // in loops
  double examples_per_second = 0;
};

// One of the configuration's evaluations.
struct EvaluationInput {
  proto::Evaluate evaluate;
  InputFn input_fn;
  bool write_events = true;  // its metrics are a point of the evaluation's curves
};

struct Evaluation {
  std::string name;  // of the evaluation, empty for the one without
  int64_t global_step = 0;
  std::optional<std::string> checkpoint;  // nullopt: fresh variables (allow_untrained)
  int64_t examples = 0;
  std::vector<std::pair<std::string, MetricValue>> metrics;  // `loss` first
  // The mean over the batches of the loss of core 0's rows; nullopt for a model without a loss.
  std::optional<double> loss_shard_0;
};
using TakeEvaluation = std::function<absl::Status(const Evaluation& evaluation)>;

// The predictions of one batch; valid during the call.
struct PredictedBatch {
  struct Column {
    std::string name;
    Shape row;              // one row's shape
    const std::byte* data;  // row after row; null for strings
    // Of a forwarded STRING feature, row after row; `row` has only the dims. Null for numbers.
    const std::string* strings = nullptr;
  };
  int64_t rows = 0;  // without padding
  std::vector<Column> columns;
};

// A model written for other programs, in the formats of proto::Export.
struct ExportedFiles {
  std::vector<std::pair<std::string, std::string>> paths;  // format, folder; in the order asked for
  std::vector<std::string> signatures;                     // of a SavedModel
  int64_t global_step = 0;
};

// The formats that models are exported in, and the folder below which they go.
std::vector<std::string> ExportFormats(const proto::Export& config);
std::string ExportDirectory(const proto::RunConfig& config);
// The folder of the numbered folders of a format; `config` has a directory.
std::string ExportBase(const proto::Export& config, const std::string& format);

// What an exported model needs besides the model.
struct ExportInputs {
  // What the model is fed with in place of its features; null: these.
  ExportInputFn input_fn;
  Vocabularies vocabularies;  // of labels: the names of classes
  // What goes into assets/ of a SavedModel, into an ONNX file's metadata under the name without its
  // extension.
  AssetsFn assets_fn;
};

// What train_and_evaluate reads, and where its results go.
struct TrainAndEvaluateInputs {
  InputFn train;
  std::vector<EvaluationInput> evaluations;  // one or more
  ExportInputs export_inputs;
  TakeEvaluation take;  // its error ends the training
};

struct TrainStart;

class Estimator {
 public:
  explicit Estimator(EstimatorOptions options);

  // Trains for config.train()'s length, going on from the latest checkpoint of model_dir. Cancelled
  // after an interrupt (saved, unless checkpoints are off), OutOfRange when the input ended early
  // (saved too), Aborted for a NaN or an infinity in the loss or in a variable.
  absl::StatusOr<TrainResult> Train(const InputFn& input_fn);

  // The same, as config.train_and_evaluate says: evaluates and exports between loops and after the
  // last, with the variables of the training, and stops early. Goes on where a run that ended at
  // any moment has left it: with the evaluation that was pending then; steps_per_eval makes the
  // rest the same bytes. A training whose steps were done before is evaluated once more.
  absl::StatusOr<TrainResult> TrainAndEvaluate(const TrainAndEvaluateInputs& inputs);

  // Evaluates `checkpoint`, or the latest one of model_dir when empty, over one input after the
  // other, and calls `take` with each result, whose error ends it. NotFound without a checkpoint,
  // unless allow_untrained.
  absl::Status EvaluateAll(const std::vector<EvaluationInput>& evaluations,
                           const std::string& checkpoint, const TakeEvaluation& take);
  // The same of one input.
  absl::StatusOr<Evaluation> Evaluate(const InputFn& input_fn, const proto::Evaluate& evaluate,
                                      const std::string& checkpoint);

  // Calls `take` with each batch's rows in input order, on another thread: the forward_features of
  // `predict`, then the predictions of its keys. The error of `take` ends the call and is returned
  // as it is. Checkpoints are chosen as in Evaluate.
  absl::Status Predict(const InputFn& input_fn, const proto::Predict& predict,
                       const std::string& checkpoint,
                       const std::function<absl::Status(const PredictedBatch&)>& take);

  // Goes on with a text as `generate` says: calls `start_fn`, then `take` with each new character,
  // in order, on another thread. What is drawn depends on the model, the start and tf_random_seed
  // alone. InvalidArgument for a model that is not of one sequence, or whose classes are not
  // num_ids; checkpoints are chosen as in Evaluate.
  absl::Status Generate(const StartFn& start_fn, const proto::Generate& generate,
                        const std::string& checkpoint,
                        const std::function<absl::Status(int64_t id)>& take);

  // Writes what the model predicts, in f32 and for any batch, with the variables of `checkpoint`,
  // or of the latest one of model_dir when empty. NotFound without one. Either every format is
  // whole under its final name or, after an error, the one that failed and those behind it are not
  // there.
  absl::StatusOr<ExportedFiles> Export(const proto::Export& config, const std::string& checkpoint,
                                       const ExportInputs& inputs);
  // Whether the model has words in each format of `config`. InvalidArgument where not.
  absl::Status CheckExport(const proto::Export& config);

 private:
  // Calls options_.checked, and not again: what is warned of later is told at the end.
  absl::Status CheckOnce();
  // Calls `checked` ahead of the first write.
  absl::StatusOr<ExportedFiles> ExportChecked(const proto::Export& config,
                                              const std::string& checkpoint,
                                              const ExportInputs& inputs,
                                              const std::function<absl::Status()>& checked);
  // `evaluated` may be null: nothing is.
  absl::StatusOr<TrainResult> RunTraining(const InputFn& input_fn,
                                          const TrainAndEvaluateInputs* evaluated);
  // The same from what was found in model_dir; nullopt, and nothing is written, where that was
  // absent and another training has had it meanwhile: `start` then has it locked.
  absl::StatusOr<std::optional<TrainResult>> TrainFrom(TrainStart& start, const InputFn& input_fn,
                                                       const TrainAndEvaluateInputs* evaluated);

  EstimatorOptions options_;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_ESTIMATOR_H_
