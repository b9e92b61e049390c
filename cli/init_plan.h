// The decisions of `tpurun init` about the inspected data: the role of each column or feature in
// the model, the label, the batch sizes and the length of the training.
#ifndef TPURUN_CLI_INIT_PLAN_H_
#define TPURUN_CLI_INIT_PLAN_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "data/init/csv_table.h"
#include "data/init/examples.h"
#include "data/number_format.h"
#include "proto/input.pb.h"
#include "runtime/io/record_format.h"

namespace tpurun {

// Texts of a table that stand for a missing value, besides the empty text.
using NaValues = std::vector<std::string>;

// A feature of the input, or data that is left out of it.
struct PlannedFeature {
  enum class Kind {
    kLeftOut,
    kNumber,  // normalized
    kImage,   // [height, width, channels] in bytes, normalized
    // JPEG or PNG files, decoded and resized to [height, width, channels], normalized
    kEncodedImage,
    kCategory,   // text, converted to ids of the vocabulary or to hashed ids; or ids
    kText,       // text, converted to `length` ids of its words, or to a bag of its `ngrams`
    kTime,       // text, from which `times` are made; the model does not see it
    kIndicator,  // 1 where another column is missing, else 0
    kLabel,
  };
  Kind kind = Kind::kLeftOut;
  std::string name;         // a legal name, unique in the model
  std::string title;        // the name in the data; empty without a header
  std::string field_title;  // for a table with a header: the title of the feature's first column
  std::string comment;
  int64_t columns = 1;  // for a table: the number of columns in the feature
  // The type that the feature is decoded to. UINT8: decoded from a single string of bytes.
  proto::DataType dtype = proto::FLOAT32;
  std::vector<int64_t> shape;
  int64_t file_bytes = 0;    // for kEncodedImage: the most bytes of a file
  bool has_default = false;  // true if a value may be missing
  std::string default_value;
  // One value for all elements, or one per index of the last dimension. Empty: not normalized.
  std::vector<float> mean, stddev;
  // The words, indexed by id. Empty if the values are ids already. Of kText the first is "", for
  // padding, the second [UNK], for other words.
  std::vector<std::string> vocabulary;
  std::string vocabulary_file;  // its name; empty: the words are listed
  int64_t hash_buckets = 0;     // > 0: texts are hashed to so many ids
  int64_t depth = 0;            // > 0: values are ids below it, made from a time
  int64_t length = 0;           // of kText: words that the model sees
  // Of kText, > 0: its runs of up to so many words are hashed to hash_buckets.
  int64_t ngrams = 0;

  // ---- for a table
  // True if it is made from another column, which names it: it is no column itself.
  bool is_made = false;
  NumberFormat number_format;
  std::string missing_indicator;  // the name of its indicator; empty: it has none
  std::string time_format;        // of kTime
  std::string time_epoch;         // of kTime: the day that days count from
  // Of kTime: the features that are made from it, by name.
  std::vector<std::pair<std::string, proto::ParseTime::Part>> times;

  // The number of different ids of a category or of words.
  int64_t ids() const {
    return depth > 0 ? depth : hash_buckets > 0 ? hash_buckets : std::ssize(vocabulary);
  }

  int64_t elements() const;  // elements of `shape`
  bool is_image() const { return kind == Kind::kImage || kind == Kind::kEncodedImage; }
};

// The settings of a stack of layers and its training.
struct PlannedTraining {
  int64_t train_batch_size = 0, eval_batch_size = 0, predict_batch_size = 0;
  int64_t max_steps = 0;
  double learning_rate = 0;
  int64_t decay_steps = 0;  // steps in which the learning rate is halved
  int64_t hidden_units = 0;
  double dropout = 0;  // 0: no dropout
  double l2 = 0;       // scale of the L2 regularization of the weights; 0: none
  // Evaluations are this many steps apart, and the training ends after `patience` of them without a
  // lower loss. 0: no early stopping.
  int64_t steps_per_eval = 0;
  int64_t patience = 0;
};

// Windows over the rows of a time series.
struct PlannedSeries {
  enum class Model { kDense, kLstm };

  int64_t window = 0;   // rows that the model sees; 0: the examples are no series
  int64_t horizon = 0;  // rows from the last one that it sees to the one that it predicts
  Model model = Model::kDense;
  int64_t rows = 0, train_rows = 0;  // the first rows are trained on
  // What is predicted: each has the title of its column.
  std::vector<PlannedFeature> labels;

  // Rows of a window with its label.
  int64_t span() const { return window + horizon; }
};

// How the vectors of the words of a text become one.
enum class TextModel {
  kConv,  // a convolution over five words each, of which the largest values are taken
  kMean,  // their mean
  kBag,   // none: the text is a bag of hashed runs of words
};

// What its data calls it, else its name in the configuration.
inline const std::string& TitleOf(const PlannedFeature& feature) {
  return feature.title.empty() ? feature.name : feature.title;
}

struct InitPlan {
  // True for a table, false for tf.Examples.
  bool is_table = false;
  bool is_json = false;  // rows of the table are JSON objects
  char delim = ',';
  int64_t skip_lines = 0;
  bool header = false;  // true: columns are found by their field_title
  NaValues na_values;
  Compression compression = Compression::kNone, eval_compression = Compression::kNone;

  // shards of the examples, of which the last is held out; kNoShards: other files are held out
  int64_t shards = 0;
  int64_t examples = 0;
  int64_t train_examples = 0;
  // For a table in the order of its columns, for tf.Examples by name.
  std::vector<PlannedFeature> features;
  size_t label = 0;  // index into features
  // The classes of the label, indexed by id. Empty: the label is a real number.
  std::vector<std::string> classes;
  // The names of the classes where the data has them beside the labels, such as in a header; as
  // many as classes and each once, or none.
  std::vector<std::string> class_names;
  std::vector<int64_t> class_counts;  // examples to train, by class id
  // of the classes, in training; empty: 1 each
  std::vector<float> class_weight;
  PlannedTraining training;
  TextModel text_model = TextModel::kConv;
  PlannedSeries series;  // `label` is then the column of its first label
  std::vector<std::string> warnings;
  std::vector<std::string> notes;  // what was assumed of the data, and how it is said otherwise

  bool is_series() const { return series.window > 0; }
  bool is_regression() const { return classes.empty(); }
  bool has(PlannedFeature::Kind kind) const;  // a feature of the kind
  const PlannedFeature& label_feature() const { return features[label]; }
  // The label_vocabulary of the head: the names of the classes by id, empty if they have none.
  const std::vector<std::string>& label_vocabulary() const;
  int64_t eval_examples() const { return examples - train_examples; }
};

// True if the model and its input use the name themselves.
bool IsReserved(const std::string& name);

// Returns each name once, and no reserved name: "x", "x_1", "x_2".
class UniqueNames {
 public:
  UniqueNames();
  std::string Take(const std::string& wanted);

 private:
  std::set<std::string> taken_;
};

// Converts a title to a legal layer name: ASCII letters, digits and -, with one _ between words.
// Empty if the title has no such characters.
std::string LegalName(std::string_view title);

// DataLoss if there are fewer examples than shards: no example would be held out.
absl::Status SetExamples(int64_t examples, int64_t held_out, int64_t shards, InitPlan& plan);

// Sets plan.class_names, unless there is not one name for each class.
void SetClassNames(const std::vector<std::string>& names, InitPlan& plan);

// The weights of scikit-learn's class_weight='balanced': examples / (classes * examples of the
// class), of the examples to train. A class without any has weight 1, and is not counted.
std::vector<float> BalancedWeights(const InitPlan& plan);

// Decides the training of a plan that has its features and label. DataLoss if there is nothing to
// learn from.
absl::Status FinishPlan(InitPlan& plan);

// How the words of texts become ids.
struct TextOptions {
  int64_t vocabulary_size = 10000;  // words that are known, the most frequent ones
  int64_t sequence_length = 0;      // words that the model sees; 0: as the texts have them
  TextModel model = TextModel::kConv;
  int64_t ngrams = 0;           // of kBag: the most words of a run
  const char* given = nullptr;  // a flag that says one of these; nullptr: none does
};

// What the user says of the columns of a table, each by its title or its name.
struct TableOptions {
  std::string label;                // empty: the last column
  std::vector<std::string> ids;     // are ids: categories, whatever their values look like
  std::vector<std::string> ignore;  // are left out
  std::vector<std::string> texts;   // are texts, whatever their values look like
  // are numbers, even if zeros lead them
  std::vector<std::string> numbers;
  bool missing_indicator = false;  // the model is told which numbers are missing
  bool imputes = false;            // any value may be missing in new rows
  TextOptions text;
};

// Returns the columns that are texts of words: those that the options name, and others most of
// whose values are different and have several words. Their words are counted before PlanTable.
// Errors as of PlanTable.
absl::StatusOr<std::set<size_t>> FindTextColumns(const InspectedTable& table,
                                                 const TableOptions& options);

// InvalidArgument if there is no column of one of the names, or if a column has two roles. DataLoss
// if nothing can be learned from the data or about the label.
absl::StatusOr<InitPlan> PlanTable(const InspectedTable& table, const TableOptions& options = {});
struct SeriesOptions {
  std::vector<std::string> labels;  // empty: the last column of numbers
  std::vector<std::string> ignore;
  size_t files = 1;    // that the rows come from
  int64_t window = 0;  // 0: kDefaultWindow, or less for a short series
  int64_t horizon = 1;
  PlannedSeries::Model model = PlannedSeries::Model::kDense;
};
inline constexpr int64_t kDefaultWindow = 24;

// Like PlanTable, for a time series: the model sees `window` rows and predicts the labels `horizon`
// rows later.
absl::StatusOr<InitPlan> PlanSeries(const InspectedTable& table, const SeriesOptions& options);
// Like PlanTable, for tf.Examples. `label` is a feature's key; empty: the feature that is named
// like a label, InvalidArgument if there is none. `shapes` has the known shapes of the bytes
// features, by key.
absl::StatusOr<InitPlan> PlanExamples(const ExampleInspector& inspected,
                                      const std::map<std::string, std::vector<int64_t>>& shapes,
                                      const std::string& label);

}  // namespace tpurun

#endif  // TPURUN_CLI_INIT_PLAN_H_
