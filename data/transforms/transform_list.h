// The transforms that exist, as a table. A transform is of one of three kinds:
//   row: makes one row out of one row (decode_csv, cast);
//   item: chooses and orders whole elements without looking into them (shuffle, repeat, take);
//   structural: is done by input_plan.cc and open_input.cc (apply, cache, batch, prefetch).
#ifndef TPURUN_DATA_TRANSFORMS_TRANSFORM_LIST_H_
#define TPURUN_DATA_TRANSFORMS_TRANSFORM_LIST_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "data/item_stream.h"
#include "data/records.h"
#include "data/table.h"
#include "proto/config_errors.h"
#include "proto/input.pb.h"
#include "runtime/ir/export_graph.h"
#include "runtime/spec/spec.h"

namespace tpurun {

// What only an opened input knows.
struct RowOpenArgs {
  ModeKey mode = ModeKey::kTrain;
  std::string directory;  // relative file names are in it; empty: the working directory
  std::vector<FileHeader> headers = {};  // those that can be known before a row is read
  // The place of a field of the transform's message, for messages.
  std::function<std::string(const std::string& field)> where;
};

// A row transform, bound to the columns that come in.
struct RowTransform {
  Schema output;                    // the columns that go out
  std::vector<std::string> reads;   // the columns it needs
  std::vector<std::string> makes;   // those of `output` that are not just as they came in
  bool paired = false;              // makes[i] is made of reads[i] alone
  std::vector<std::string> labels;  // of `makes`: those that rows of PREDICT may lack
  // Sets the functions below, of a copy, when an input is opened or exported. Null: they are set.
  std::function<absl::Status(const RowOpenArgs& args, RowTransform* row)> open;
  // Fills the columns of `makes` in *out, which has those of `output`, row by row; strings may be
  // views of incoming ones. What was in the columns is of no use but for its memory. `where(row)`
  // names the row of the table in messages. A row that does not fit is DataLoss.
  std::function<absl::Status(const Table& in, Table* out,
                             const std::function<std::string(int64_t row)>& where)>
      apply;

  // ---- of an exported model

  // Adds to a graph what makes the `wanted` columns of `makes`, for any number of rows, and puts
  // them into `columns`, which has what they are made of.
  using Export = std::function<void(ExportGraph& graph, const std::set<std::string>& wanted,
                                    std::map<std::string, Value>& columns)>;
  // In each format's ops. Null: the format has no op for it.
  Export tensorflow, onnx;
  // For a transform that takes a record apart (decode_csv, parse_example): the columns of `makes`
  // are then inputs of the exported model, fed by their names. `tensorflow` and `onnx` above export
  // what the transform does to them after that.
  struct Fields {
    // Makes them of serialized tf.Examples, in TensorFlow's ops; null: they are not of such.
    Export parse_examples;
    // For the caller of the exported model. `note`: how a column is fed, such as its missing value.
    // `unsaid`: what the format cannot express. Either may be empty.
    struct Notes {
      std::string note;
      std::string unsaid;
    };
    std::function<Notes(const std::string& column, ExportFormat format)> notes;
  };
  std::optional<Fields> fields;
  // makes[0] has the bytes of reads[0], unchanged: an exported model can be fed reads[0] itself.
  bool is_bitcast = false;
  // The words that the ids of columns of `makes` stand for.
  Vocabularies vocabularies;
};

// What an item transform is made of. `records` outlives it.
struct ItemTransformArgs {
  std::unique_ptr<ItemStream> before;
  Records* records = nullptr;
  uint64_t seed = 0;         // tf_random_seed
  int ordinal = 0;           // of the transform among those of its kind in the input, from 0
  std::string empty;         // the message when the input has no elements
  std::string where;         // of the transform
  int64_t least = 0;         // elements that one pass of `before` certainly has
  int64_t memory_bytes = 0;  // a buffer may take
};

// Elements of one pass; nullopt when that is only known by reading them.
using ElementCount = std::optional<int64_t>;

// Mistakes are added to `errors`, which is empty before, by paths below the transform's own
// message.
struct TransformDef {
  proto::Transform::KindCase kind;
  const char* name;
  // Row transforms. Nullopt after a mistake.
  std::optional<RowTransform> (*bind)(const proto::Transform& transform, const Schema& input,
                                      ConfigErrors& errors) = nullptr;
  // Every kind: what of the arguments can be wrong without knowing the columns, besides their
  // rules.
  void (*check)(const proto::Transform& transform, ConfigErrors& errors) = nullptr;
  // Item transforms.
  std::unique_ptr<ItemStream> (*make_items)(const proto::Transform& transform,
                                            ItemTransformArgs args) = nullptr;
  int64_t (*count)(const proto::Transform& transform, int64_t before) = nullptr;
  // Draws random numbers, by the seed and its ordinal.
  bool random = false;
};

std::span<const TransformDef> TransformList();
// Null for a kind that does not exist (yet), and for none.
const TransformDef* FindTransform(proto::Transform::KindCase kind);
// The name of the field that is set: "shuffle"; empty when none is.
std::string TransformName(const proto::Transform& transform);
// A repeat that never ends.
bool IsEndlessRepeat(const proto::Transform& transform);

// ---- what the rows of the table point to, by file

// decode_csv.cc
std::optional<RowTransform> BindDecodeCsv(const proto::Transform& transform, const Schema& input,
                                          ConfigErrors& errors);
// parse_example.cc
std::optional<RowTransform> BindParseExample(const proto::Transform& transform, const Schema& input,
                                             ConfigErrors& errors);
// decode_raw.cc
std::optional<RowTransform> BindDecodeRaw(const proto::Transform& transform, const Schema& input,
                                          ConfigErrors& errors);
// cast.cc
std::optional<RowTransform> BindCast(const proto::Transform& transform, const Schema& input,
                                     ConfigErrors& errors);
// lookup.cc
std::optional<RowTransform> BindLookup(const proto::Transform& transform, const Schema& input,
                                       ConfigErrors& errors);
// normalize.cc
std::optional<RowTransform> BindNormalize(const proto::Transform& transform, const Schema& input,
                                          ConfigErrors& errors);
// shuffle.cc
std::unique_ptr<ItemStream> MakeShuffle(const proto::Transform& transform, ItemTransformArgs args);
int64_t CountShuffle(const proto::Transform& transform, int64_t before);
// repeat.cc
void CheckRepeat(const proto::Transform& transform, ConfigErrors& errors);
std::unique_ptr<ItemStream> MakeRepeat(const proto::Transform& transform, ItemTransformArgs args);
int64_t CountRepeat(const proto::Transform& transform, int64_t before);
// select.cc
std::unique_ptr<ItemStream> MakeTake(const proto::Transform& transform, ItemTransformArgs args);
int64_t CountTake(const proto::Transform& transform, int64_t before);
std::unique_ptr<ItemStream> MakeSkip(const proto::Transform& transform, ItemTransformArgs args);
int64_t CountSkip(const proto::Transform& transform, int64_t before);
void CheckShard(const proto::Transform& transform, ConfigErrors& errors);
std::unique_ptr<ItemStream> MakeShard(const proto::Transform& transform, ItemTransformArgs args);
int64_t CountShard(const proto::Transform& transform, int64_t before);
// Only whole groups of `size` items, for a repeat after the batch.
std::unique_ptr<ItemStream> MakeWholeBatches(int64_t size, ItemTransformArgs args);

}  // namespace tpurun

#endif  // TPURUN_DATA_TRANSFORMS_TRANSFORM_LIST_H_
