// The interfaces of a model and of an input: ModelFn and InputFn, after TPUEstimator's model_fn and
// input_fn. models/ and data/ implement them without knowing each other.
#ifndef TPURUN_RUNTIME_SPEC_SPEC_H_
#define TPURUN_RUNTIME_SPEC_SPEC_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/model_spec.pb.h"
#include "runtime/ir/export_graph.h"
#include "runtime/ir/graph.h"
#include "runtime/spec/input_times.h"
#include "runtime/spec/topology.h"
#include "runtime/spec/trained_folder.h"

namespace tpurun {

enum class ModeKey { kTrain, kEval, kPredict };

// A feature or label as the model declares it. The shape is the shape of one example, without the
// batch.
struct FeatureSpec {
  std::string name;
  Shape shape;
  bool is_label = false;
  // The values are ids in [0, num_ids). 0: unknown. Set by an input that knows the number.
  int64_t num_ids = 0;
  // The words of the ids. Not empty: the input may have strings, and feeds their indices in this
  // list. Another string is an error.
  std::vector<std::string> vocabulary = {};
};

// ------------------------------------------------------------------------------------ the model

// The part of a sequence that one step reads. Only a model that is built for PREDICT reads less
// than the batch has.
enum class SequenceStep : uint8_t {
  kBatch,     // as configured; layers with a state behave as configured
  kPosition,  // one position: layers with a state carry it to the next step
  kWhole,  // all positions: layers with a state start from 0 in each step, as in an exported model
};

struct ModelFnArgs {
  ModeKey mode = ModeKey::kTrain;
  Topology topology = {};
  int64_t batch_per_replica = 0;  // rows of each infeed slot
  bool has_labels = true;         // false for predict, or for an input without labels
  bool use_tpu = true;            // false: matmuls in f32, storage in f32, and any dtype may be fed
  bool strict_dtypes = false;     // together with use_tpu: no s64 is fed
  int64_t seed = 1;               // tf_random_seed
  SequenceStep sequence_step = SequenceStep::kBatch;
  // First dimensions of features and labels, in place of the declared ones: of sequences that are
  // cut to the length of a bucket.
  std::map<std::string, int64_t> sequence_lengths = {};
  // The replicas of the device that the configuration names. The groups of a program on one core
  // must cover them too, so that a configuration is right or wrong on both. Set by ParseModel's
  // caller, and by its model_fn itself.
  int device_replicas = kDevice.num_replicas();

  int grouped_replicas() const {
    return topology.num_replicas() > 1 ? topology.num_replicas() : device_replicas;
  }
};

// The infeed slot of the row weights, f32[batch]: 1, or 0 for a padding row. It is the last slot of
// every EVAL and PREDICT graph. A TRAIN graph has none.
inline constexpr char kRowWeightSlot[] = "row_weight";

// What a checkpoint has besides variables has names that begin so.
inline constexpr char kNoVariable[] = "tpurun/";

// The value of a metric: a number or an array.
struct MetricValue {
  MetricValue(double number) : values{number} {}  // implicit: most metrics are numbers
  // `array_values` has as many values as the product of `array_dims`.
  MetricValue(std::vector<int64_t> array_dims, std::vector<double> array_values)
      : dims(std::move(array_dims)), values(std::move(array_values)) {}

  bool is_number() const { return dims.empty(); }
  bool operator==(const MetricValue&) const = default;

  std::vector<int64_t> dims;   // empty for a number
  std::vector<double> values;  // row-major
};

// A metric is a function of sums over all rows. The graph gives each row's share of every sum. The
// host adds the shares in double, row by row, in core order. The bits therefore do not depend on
// how the rows are grouped into batches.
struct EvalMetric {
  std::string name;
  // Per core, f32[batch, ...] each: the rows' shares of as many sums as a row has elements. 0 for a
  // padding row.
  std::vector<Value> statistics;
  // Computes the metric from the sums. The sums of all statistics are concatenated in order.
  std::function<MetricValue(std::span<const double> sums)> result;
  // Per core, f32[batch]: how many values of the row the metric is not defined for. If there is
  // any, the evaluation fails and says that it wants `wanted`. Invalid: the metric is defined for
  // all.
  Value undefined = {};
  std::string wanted = {};
};

// A built layer, for display.
struct BuiltLayer {
  std::string name;                 // with its scope: "block/dense"
  std::string kind;                 // name of its field in the oneof of proto::Layer
  std::vector<std::string> inputs;  // names of the layers or features that it reads
  proto::Layer spec;  // with layer_defaults; a layer that contains layers has its kind only
  int depth = 0;      // number of enclosing layers; they precede it in the list
  Value value;        // (batch, ...); invalid if it depends on an absent label
  // The nodes and variables of the layer and the layers in it: index ranges of the graph, the ends
  // excluded.
  int first_node = 0;
  int end_node = 0;
  int first_variable = 0;
  int end_variable = 0;
};

struct NamedValue {
  std::string name;
  Value value;  // (batch, ...) per core
};

// A head's description of its predictions for model servers, after TensorFlow's ExportOutput.
struct ExportOutput {
  enum class Kind : uint8_t { kClassification, kRegression };
  Kind kind = Kind::kClassification;
  // classification: scores, f32 (batch, classes); regression: values, f32 (batch, ...)
  Value value;
  std::vector<int64_t> row_dims = {};         // dimensions of one row of `value`
  std::string label = {};                     // the feature that the scores are for, if any
  std::vector<std::string> class_names = {};  // names by class id; empty if there are none
};

// An optimizer with the trainable variables it updates (indices in the graph).
struct OptimizerSpec {
  proto::Optimizer optimizer;  // has passed CheckOptimizer
  std::string name;
  Value loss;
  std::vector<int> variables;
};

// A value that training writes to the event file.
struct TrainSummary {
  enum class Kind : uint8_t { kScalar, kHistogram, kImage };
  enum class Source : uint8_t { kValue, kVariable, kGradient, kLearningRate, kGlobalNorm };
  Kind kind = Kind::kScalar;
  Source source = Source::kValue;
  std::string tag;
  // kValue: the value of one core. A scalar is the mean of its elements. An image is f32 or u8 with
  // shape (N, height, width, C), where C is 1, 3 or 4.
  Value value;
  // kVariable, kGradient: the variable, which must be trained for kGradient. kLearningRate: the
  // optimizer.
  std::string name;
  // The summary is written if this divides global_step before the step's update. 0: at the steps of
  // save_summary_steps, if any.
  int64_t every_n_steps = 0;
};

// A variable that TensorBoard's projector shows.
struct Embedding {
  std::string variable;         // a variable with two dimensions
  std::string vocabulary_file;  // one line per row; may be empty
};

// "learning_rate", or "learning_rate/NAME" if there are several optimizers.
inline std::string LearningRateTag(const OptimizerSpec& optimizer, size_t num_optimizers) {
  return num_optimizers == 1 ? "learning_rate" : "learning_rate/" + optimizer.name;
}

// The result of a ModelFn. The graph has the forward pass and the loss. The training step is added
// to it.
struct EstimatorSpec {
  ModeKey mode = ModeKey::kTrain;
  Graph graph;  // with only the model's own outputs and updates (moving statistics)
  std::vector<BuiltLayer> layers;  // in order
  // TRAIN: the scalar loss of one core, f32[] (mean over its rows, SUM_BY_NONZERO_WEIGHTS).
  Value loss;
  std::vector<NamedValue> predictions;  // EVAL and PREDICT
  // The names of the classes of heads that have a label_vocabulary, by the prediction whose ids
  // they name: "classes", or "NAME/classes".
  std::map<std::string, std::vector<std::string>> class_names;
  std::vector<ExportOutput> export_outputs;  // PREDICT
  std::vector<EvalMetric> eval_metrics;      // EVAL: `loss` first, then the model's own in order
  std::vector<OptimizerSpec> optimizers;     // TRAIN
  std::vector<TrainSummary> summaries;       // TRAIN; no tag twice
  std::vector<Embedding> embeddings;         // TRAIN
  // Moving averages of the trainable variables; nullopt: none.
  std::optional<proto::MovingAverage> moving_average;
  // With SequenceStep::kPosition: the number of positions that the state can hold. The next step
  // after them is the first of another sequence. 0: any number.
  int64_t positions = 0;
};

using ModelFn = std::function<absl::StatusOr<EstimatorSpec>(const ModelFnArgs& args)>;

// ------------------------------------------------------------------------------------ the input

// A feature of a batch that stays on the host, unchanged from the input.
struct HostFeature {
  std::string name;
  std::vector<int64_t> dims;         // dimensions of one row
  std::optional<DType> dtype;        // nullopt for strings
  std::vector<std::byte> numbers;    // row after row; empty for strings
  std::vector<std::string> strings;  // row after row
};

// The destination of a batch: for each FeatureSpec, in order, memory for all rows of the batch,
// row-major.
using BatchBuffers = std::span<std::byte* const>;

// A stream of batches. Used by one thread at a time.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  // Fills the buffers with the next batch, or with all batches of a step one after the other; of
  // these rows with those in InputFnArgs::rows. Returns the number of rows of the whole step: all
  // that were asked for, fewer at the end of a finite input and after InputFnArgs::max_wait (the
  // rest of the buffers is unchanged), and 0 after the end. Blocks on files, never on the device.
  virtual absl::StatusOr<int64_t> Next(BatchBuffers buffers) = 0;
  // While it is set, a Next that works on rows returns Cancelled soon. May be called by any thread.
  virtual void SetCancelled(bool cancelled) {}
  // The position after the last batch that Next returned: an opaque, printable text of at most some
  // KiB. A shuffle that crosses epochs adds its buffered record ids. Invalid after an error or the
  // end. Restore continues at the position with the same rows in the same order if the files are
  // the same. InvalidArgument for a position of another input (other transforms); nothing is
  // changed then.
  virtual std::string Position() const = 0;
  virtual absl::Status Restore(const std::string& position) = 0;
  // The InputFnArgs::forward_features of all rows of the last step, in that order.
  virtual std::vector<HostFeature> Forwarded() const { return {}; }
  // The bucket of the last batch, an index of SequenceBuckets::lengths; 0 for an input without
  // buckets.
  virtual int bucket() const { return 0; }
  // The origin of row `row` (from 0) of the last whole step ("train.csv:17"), for messages.
  virtual std::string Where(int64_t row) const = 0;
};

// The buckets of a training input whose batches have sequences of similar lengths. All rows of a
// batch of bucket i have padding from their first dimension's element lengths[i] on.
struct SequenceBuckets {
  std::vector<std::string> features;  // features and labels that are sequences
  std::vector<int64_t> lengths;       // ascending; the last is the first dimension of the features
  std::string where;                  // their place in the configuration, "run.textproto:23:5"
};

// The share of one of several pipelines that read the same source: record i belongs to pipeline i
// modulo num_shards.
struct PipelineShard {
  int num_shards = 1;
  int index = 0;
  const char* fed = "core";  // what each pipeline feeds, for messages: a core or a host
};

// Some of the rows of a step.
struct RowRange {
  int64_t begin = 0;
  int64_t count = -1;  // -1: all rows; `begin` is 0 then

  bool all() const { return count < 0; }
  // The number of rows in the range, of a step with that many rows.
  int64_t CountIn(int64_t rows) const {
    return all() ? rows : std::clamp<int64_t>(rows - begin, 0, count);
  }
};

struct InputFnArgs {
  ModeKey mode = ModeKey::kTrain;
  int64_t batch_size = 0;             // rows of a batch that the input makes
  int64_t batches_per_step = 1;       // batches in one BatchSource::Next
  PipelineShard shard = {};           // the records to read, before any transform
  std::vector<FeatureSpec> features;  // features that the model declares: the slots, in order
  RowRange rows = {};                 // the rows of each step that Next loads
  int num_processes = 1;              // that open the input, each for its pipelines or rows
  int64_t seed = 1;                   // tf_random_seed; each shard draws other random numbers
  // PREDICT: features to forward, declared by the model or not
  std::vector<std::string> forward_features;
  // PREDICT: once so much time has passed since its first row was read, Next returns the rows that
  // there are. nullopt: it waits until all are there.
  std::optional<std::chrono::milliseconds> max_wait = {};
  bool count_examples = false;  // count examples_per_epoch even if that is slow (for epochs)
  // The training that this input belongs to or resumes. nullopt: a training from its beginning.
  std::optional<TrainedFolder> trained = {};
  // Receives messages for the user that are not errors: in PREDICT, a file without rows; elements
  // that were skipped; images that viewers turn. Any thread may call it until the BatchSource is
  // destroyed.
  std::function<void(const std::string& message)> warn = [](const std::string&) {};
  // Receives the time of each stage of the pipeline. nullptr: not measured.
  std::shared_ptr<InputTimes> times = nullptr;
  // In PREDICT labels may be absent: a missing label is not an error and is left out of
  // InputSource::features. In TRAIN an input that can be read again and has no repeat of its own
  // repeats without end.
};

// A file of an input.
struct InputFile {
  std::string name;  // the name in messages
  // Identifies the content of the file: equal for a copy of the file, whatever its name.
  std::string identity;
};

// An opened input.
struct InputSource {
  std::unique_ptr<BatchSource> batches;
  // The features that it feeds: args.features, without absent labels in PREDICT.
  std::vector<FeatureSpec> features;
  // Elements of one pass over the input, before an endless repeat. -1 if they can only be counted
  // by reading everything (a pipe, or a streamed input of EVAL and PREDICT).
  int64_t examples_per_epoch = -1;
  bool endless = false;     // true: repeats without end
  bool reads_once = false;  // true for a pipe, which cannot be opened again
  int64_t prefetch = 0;     // batches to prepare ahead, in addition to the infeed's queue
  // TRAIN, and where several processes read: the files that the input reads, in order. A position
  // is valid for exactly these files.
  std::vector<InputFile> files;
  // Files, by name, that training writes beside its checkpoints. Other inputs of the trained model
  // need them to transform their data in the same way.
  std::map<std::string, std::string> assets;
};

struct ExportedColumn {
  Value value;
  ElementType type = ElementType::kFloat;
  std::vector<int64_t> row_dims;
};

// What an exported model is fed with in place of its features: the fields that its input reads.
struct ExportedInput {
  // A field is a column of a CSV file or a feature of a tf.Example.
  struct Field {
    std::string name;
    ExportedColumn column;  // an input of the graph
    std::string note;       // a hint for the caller: how to give a missing value
  };
  std::vector<Field> fields;                       // in the order of the input
  std::map<std::string, ExportedColumn> features;  // features computed from the fields, by name
  // An input of the graph, strings (batch): serialized tf.Examples. The fields that are not fed are
  // parsed from them. Invalid if the fields, or some of them, cannot be parsed from tf.Examples.
  Value serialized;
  // What the format cannot express of the input, one sentence each.
  std::vector<std::string> unsaid;
};
// Adds to a graph the computation of the features from the fields that the input reads. Only the
// fields that these features need are added. Unimplemented if the input does not make the features.
using ExportInputFn = std::function<absl::StatusOr<ExportedInput>(
    ExportGraph& graph, ExportFormat format, const std::set<std::string>& features)>;

// The words for the ids of each feature.
using Vocabularies = std::map<std::string, std::vector<std::string>>;

// Opens an input. Errors name file, record and feature: NotFound, DataLoss, InvalidArgument.
using InputFn = std::function<absl::StatusOr<InputSource>(const InputFnArgs& args)>;

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_SPEC_SPEC_H_
