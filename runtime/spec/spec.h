// What the estimator asks of a model and of an input: ModelFn and InputFn, after TPUEstimator's
// model_fn and input_fn. models/ and data/ implement them; neither knows the other.
#ifndef TPURUN_RUNTIME_SPEC_SPEC_H_
#define TPURUN_RUNTIME_SPEC_SPEC_H_

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
#include "runtime/spec/topology.h"
#include "runtime/spec/trained_folder.h"

namespace tpurun {

enum class ModeKey { kTrain, kEval, kPredict };

// A feature or label as the model declares it; the shape is one example's, without the batch.
struct FeatureSpec {
  std::string name;
  Shape shape;
  bool is_label = false;
  int64_t num_ids =
      0;  // of an input that knows: its values are ids in [0, num_ids); 0: it does not
};

// ------------------------------------------------------------------------------------ the model

// What a step reads of a sequence. Only a model that is built in PREDICT reads less than a batch
// has.
enum class SequenceStep : uint8_t {
  kBatch,     // what the configuration says, and layers with a state do what it says
  kPosition,  // one position: layers with a state carry that to the next step
  kWhole,     // all: they start from 0 in each step, as an exported model does
};

struct ModelFnArgs {
  ModeKey mode = ModeKey::kTrain;
  Topology topology = {};
  int64_t batch_per_replica = 0;  // rows of each infeed slot
  bool has_labels = true;         // false: predict, or an input that has none
  bool use_tpu = true;            // false: matmuls at f32, f32 stored, and any dtype is fed
  bool strict_dtypes = false;     // with use_tpu: no s64 is fed
  int64_t seed = 1;               // tf_random_seed
  SequenceStep sequence_step = SequenceStep::kBatch;
};

// The infeed slot of the weights of the rows, f32[batch]: 1, or 0 for a row that is padding. It is
// the last slot of every EVAL and PREDICT graph; a TRAIN graph has none.
inline constexpr char kRowWeightSlot[] = "row_weight";

// What a metric comes to: a number, or an array.
struct MetricValue {
  MetricValue(double number) : values{number} {}  // implicit: most metrics are numbers
  // As many values as the product of the dimensions.
  MetricValue(std::vector<int64_t> array_dims, std::vector<double> array_values)
      : dims(std::move(array_dims)), values(std::move(array_values)) {}

  bool is_number() const { return dims.empty(); }
  bool operator==(const MetricValue&) const = default;

  std::vector<int64_t> dims;   // of a number none
  std::vector<double> values;  // row-major
};

// A metric is a function of sums over all rows. The graph gives each row's share of every sum; the
// host adds the shares in double, row by row, cores in order, so that no bit depends on how the
// rows make batches.
struct EvalMetric {
  std::string name;
  // f32[batch, ...] each, per core: the rows' shares of as many sums as a row has elements; 0 for a
  // row that is padding.
  std::vector<Value> statistics;
  // From the sums, a statistic's behind those of the one before, to the metric.
  std::function<MetricValue(std::span<const double> sums)> result;
};

// A layer as it was built, for people to look at.
struct BuiltLayer {
  std::string name;                 // with its scope: "block/dense"
  std::string kind;                 // its field in the oneof of proto::Layer
  std::vector<std::string> inputs;  // names of what it reads
  proto::Layer spec;                // with layer_defaults; of one that holds others the kind alone
  int depth = 0;                    // layers around it, which stand before it
  Value value;                      // (batch, ...); invalid where it depends on an absent label
  // What was added to the graph for it and the layers in it: indices, ends excluded.
  int first_node = 0;
  int end_node = 0;
  int first_variable = 0;
  int end_variable = 0;
};

struct NamedValue {
  std::string name;
  Value value;  // (batch, ...) per core
};

// What a head says of its predictions to who serves the model, after TensorFlow's ExportOutput.
struct ExportOutput {
  enum class Kind : uint8_t { kClassification, kRegression };
  Kind kind = Kind::kClassification;
  Value value;  // the scores, f32 (batch, classes); the values, f32 (batch, ...)
  std::vector<int64_t> row_dims = {};  // of a row of it
  std::string label = {};              // the feature of which the scores are, where it has one
  std::vector<std::string> class_names = {};  // by id, where they have names
};

// An optimizer with the trainable variables it updates (indices in the graph).
struct OptimizerSpec {
  const proto::Optimizer* optimizer = nullptr;  // lives as long as the ModelSpec
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
  // kValue, per core: of one element for a scalar; f32 or u8 (N, height, width, 1, 3 or 4) for
  // images.
  Value value;
  // kVariable, kGradient: of the variable, which is trained for the latter; kLearningRate: of the
  // optimizer.
  std::string name;
  // It is written at the steps that this divides, of global_step before the step's update. 0: at
  // those of save_summary_steps, if any.
  int64_t every_n_steps = 0;
};

// A variable that TensorBoard's projector shows.
struct Embedding {
  std::string variable;         // of two dimensions
  std::string vocabulary_file;  // a line for each row; may be empty
};

// "learning_rate", or of one of several optimizers "learning_rate/NAME".
inline std::string LearningRateTag(const OptimizerSpec& optimizer, size_t num_optimizers) {
  return num_optimizers == 1 ? "learning_rate" : "learning_rate/" + optimizer.name;
}

// What a ModelFn returns. The graph holds forward and loss; the training step is built upon it.
struct EstimatorSpec {
  ModeKey mode = ModeKey::kTrain;
  Graph graph;  // outputs and updates of the model's own (moving statistics) only
  std::vector<BuiltLayer> layers;  // in order
  // TRAIN: the scalar loss of one core, f32[] (mean over its rows, SUM_BY_NONZERO_WEIGHTS).
  Value loss;
  std::vector<NamedValue> predictions;       // EVAL and PREDICT
  std::vector<ExportOutput> export_outputs;  // PREDICT
  std::vector<EvalMetric> eval_metrics;      // EVAL: `loss` first, then the model's own in order
  std::vector<OptimizerSpec> optimizers;     // TRAIN
  std::vector<TrainSummary> summaries;       // TRAIN; no tag twice
  std::vector<Embedding> embeddings;         // TRAIN
  // Of the trainable variables; null: none. Lives as long as the ModelSpec.
  const proto::MovingAverage* moving_average = nullptr;
  // SequenceStep::kPosition: the state holds so many positions, and the step behind them is of the
  // first one of another sequence; 0: it holds any number.
  int64_t positions = 0;
};

using ModelFn = std::function<absl::StatusOr<EstimatorSpec>(const ModelFnArgs& args)>;

// ------------------------------------------------------------------------------------ the input

// A feature of a batch's rows that stays on the host, as the input has it.
struct HostFeature {
  std::string name;
  std::vector<int64_t> dims;         // of a row
  std::optional<DType> dtype;        // nullopt: strings
  std::vector<std::byte> numbers;    // row after row, unless they are strings
  std::vector<std::string> strings;  // row after row
};

// Where the next row goes: for each FeatureSpec, in order, memory of batch rows, row-major.
using BatchBuffers = std::span<std::byte* const>;

// A stream of batches. One thread at a time.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  // Fills the buffers with the next batch, or the batches of a step one after the other, and
  // returns its rows: all that were asked for, fewer only at the end of a finite input (the rest of
  // the buffers is left as it was), 0 behind it. Blocks on files, never on the device.
  virtual absl::StatusOr<int64_t> Next(BatchBuffers buffers) = 0;
  // The position after the last batch that Next returned: opaque, printable, at most some KiB
  // (a shuffle that crosses epochs: its buffered record ids). Of no use after an error or the end.
  // Restore continues right there, with the same rows in the same order, if the files are the same;
  // a position of another input (other transforms) is InvalidArgument and changes nothing.
  virtual std::string Position() const = 0;
  virtual absl::Status Restore(const std::string& position) = 0;
  // The InputFnArgs::forward_features of the last batch, in that order.
  virtual std::vector<HostFeature> Forwarded() const { return {}; }
  // Where a row of the last batch, from 0, came from ("train.csv:17"), for messages.
  virtual std::string Where(int64_t row) const = 0;
};

// Of several pipelines that read the same source: record i is that of pipeline i modulo num_shards.
struct PipelineShard {
  int num_shards = 1;
  int index = 0;
};

struct InputFnArgs {
  ModeKey mode = ModeKey::kTrain;
  int64_t batch_size = 0;                     // of the batches that the input makes
  int64_t batches_per_step = 1;               // as many are one BatchSource::Next
  PipelineShard shard = {};                   // which records, before any transform
  std::vector<FeatureSpec> features;          // what the model declares: the slots, in order
  int64_t seed = 1;                           // tf_random_seed; a shard draws apart from the others
  std::vector<std::string> forward_features;  // PREDICT: the model need not declare them
  bool count_examples = false;  // examples_per_epoch is needed, whatever it takes (epochs)
  // The training that this is of, or goes on with. nullopt: a training from its beginning.
  std::optional<TrainedFolder> trained = {};
  // Is told what a user should know and what is no error: in PREDICT a file without rows. By the
  // thread that opens the input, or that reads its batches.
  std::function<void(const std::string& message)> warn = [](const std::string&) {};
  // Labels may be absent (PREDICT): a missing label is then no error and is left out of `features`
  // of the InputSource.
  // In TRAIN an input without a repeat of its own that can be read again repeats without end.
};

// A file of an input.
struct InputFile {
  std::string name;  // as messages have it
  // What tells it from other files, however it is named: equal for a copy of it.
  std::string identity;
};

// An opened input.
struct InputSource {
  std::unique_ptr<BatchSource> batches;
  std::vector<FeatureSpec>
      features;  // those it feeds: args.features, less absent labels in PREDICT
  // Elements of one pass, of what is repeated when endless; -1 when that is only known by reading
  // it all (a pipe; a streamed input of EVAL and PREDICT).
  int64_t examples_per_epoch = -1;
  bool endless = false;     // an unbounded repeat
  bool reads_once = false;  // a pipe: it cannot be opened again
  int64_t prefetch = 0;     // batches to prepare ahead, besides those in the infeed's queue
  // TRAIN: those that it reads, in their order. A position is of these and no others.
  std::vector<InputFile> files;
  // Files, by name, that training puts beside its checkpoints: what inputs of the trained model
  // need to make of their data what this one does.
  std::map<std::string, std::string> assets;
};

struct ExportedColumn {
  Value value;
  ElementType type = ElementType::kFloat;
  std::vector<int64_t> row_dims;
};

// What an exported model is fed with in place of its features: what its input reads.
struct ExportedInput {
  // A column of a CSV file, a feature of a tf.Example.
  struct Field {
    std::string name;
    ExportedColumn column;  // an input of the graph
    std::string note;       // what who feeds it should know: how a missing value is said
  };
  std::vector<Field> fields;                       // in the order of the input
  std::map<std::string, ExportedColumn> features;  // made of the fields, by name
  // An input of the graph, strings (batch), each a serialized tf.Example, of which the fields are
  // parsed that are not fed. Invalid: they are not, or not all of them.
  Value serialized;
  // What the format cannot say of the input, a sentence each.
  std::vector<std::string> unsaid;
};
// Adds to a graph how the input makes the features of what it reads; of that only what they are
// made of is there. Unimplemented where it does not make them.
using ExportInputFn = std::function<absl::StatusOr<ExportedInput>(
    ExportGraph& graph, ExportFormat format, const std::set<std::string>& features)>;

// By feature, the words that its ids stand for.
using Vocabularies = std::map<std::string, std::vector<std::string>>;

// Errors name file, record and feature: NotFound, DataLoss, InvalidArgument.
using InputFn = std::function<absl::StatusOr<InputSource>(const InputFnArgs& args)>;

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_SPEC_SPEC_H_
