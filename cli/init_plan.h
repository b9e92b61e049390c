// What `tpurun init` decides about the data it has seen: what each column or feature is to the
// model, what is predicted, how large the batches are and how long the training.
#ifndef TPURUN_CLI_INIT_PLAN_H_
#define TPURUN_CLI_INIT_PLAN_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "data/init/csv_table.h"
#include "data/init/examples.h"
#include "proto/input.pb.h"
#include "runtime/io/record_format.h"

namespace tpurun {

// A feature of the input, or what is left out of it.
struct PlannedFeature {
  enum class Kind {
    kLeftOut,
    kNumber,    // normalized
    kImage,     // [height, width, channels] of bytes, normalized
    kCategory,  // text, as ids of the vocabulary
    kLabel,
  };
  Kind kind = Kind::kLeftOut;
  std::string name;         // legal, and of nothing else in the model
  std::string title;        // what the data calls it; empty without a header
  std::string field_title;  // of a table with a header, that of its first column
  std::string comment;
  int64_t columns = 1;  // of a table, those that it takes
  // As it is decoded. UINT8: out of the one string of bytes.
  proto::DataType dtype = proto::FLOAT32;
  std::vector<int64_t> shape;
  bool has_default = false;  // a value may be missing
  std::string default_value;
  // One value for all elements, or one each of the last dimension; none: not normalized.
  std::vector<float> mean, stddev;
  // By id; empty where the values are ids already.
  std::vector<std::string> vocabulary;

  int64_t elements() const;  // of the shape
};

// Of a stack of layers and its training.
struct PlannedTraining {
  int64_t train_batch_size = 0, eval_batch_size = 0, predict_batch_size = 0;
  int64_t max_steps = 0;
  double learning_rate = 0;
  int64_t decay_steps = 0;  // the rate is halved in
  int64_t hidden_units = 0;
  double dropout = 0;  // 0: none
};

struct InitPlan {
  // One table or set of tf.Examples.
  bool is_table = false;
  char delim = ',';
  int64_t skip_lines = 0;
  bool header = false;  // columns are found by their field_title
  std::string na_value;
  Compression compression = Compression::kNone, eval_compression = Compression::kNone;

  int64_t shards = 0;  // of the examples; the last is held out; kNoShards: other files are
  int64_t examples = 0;
  int64_t train_examples = 0;
  // A table's in the order of its columns, others by name.
  std::vector<PlannedFeature> features;
  size_t label = 0;  // of features
  // Of the label: the classes by id; none: a real number.
  std::vector<std::string> classes;
  std::vector<std::string> class_names;  // where the data has names besides; as many, or none
  PlannedTraining training;
  std::vector<std::string> warnings;

  bool is_regression() const { return classes.empty(); }
  const PlannedFeature& label_feature() const { return features[label]; }
  int64_t eval_examples() const { return examples - train_examples; }
};

// Whether the model and its input keep the name for themselves.
bool IsReserved(const std::string& name);

// Hands out each name once, and none that is reserved: "x", "x_1", "x_2".
class UniqueNames {
 public:
  UniqueNames();
  std::string Take(const std::string& wanted);

 private:
  std::set<std::string> taken_;
};

// Letters, digits and - of ASCII with one _ between them, as layers may be called; empty when there
// are none in the title.
std::string LegalName(std::string_view title);

// DataLoss when there are fewer examples than shards: none would be held out.
absl::Status SetExamples(int64_t examples, int64_t held_out, int64_t shards, InitPlan& plan);

// Decides how a plan whose features and label are planned is trained. DataLoss when there is
// nothing to learn from.
absl::Status FinishPlan(InitPlan& plan);

// `label` is a column's title or name, or a feature's key; empty for the last column, or the
// feature that is called so. InvalidArgument when there is none of that name, DataLoss when nothing
// can be learned from the data, or nothing of the label.
absl::StatusOr<InitPlan> PlanTable(const InspectedTable& table, const std::string& label);
// `shapes` has those of the features of bytes that are known.
absl::StatusOr<InitPlan> PlanExamples(const ExampleInspector& inspected,
                                      const std::map<std::string, std::vector<int64_t>>& shapes,
                                      const std::string& label);

}  // namespace tpurun

#endif  // TPURUN_CLI_INIT_PLAN_H_
