// The table of transforms. There are three kinds of transforms:
//   row: makes one row out of one row (decode_csv, cast);
//   item: chooses and orders elements without looking into them (shuffle, repeat, take);
//   structural: implemented by input_plan.cc and open_input.cc (apply, filter, rejection_resample,
//     cache, window, batch, prefetch).
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
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "data/images/decode.h"
#include "data/images/image.h"
#include "data/item_stream.h"
#include "data/records.h"
#include "data/table.h"
#include "proto/config_errors.h"
#include "proto/input.pb.h"
#include "runtime/ir/export_graph.h"
#include "runtime/spec/spec.h"

namespace tpurun {

// Information that is known only when an input is opened.
struct RowOpenArgs {
  ModeKey mode = ModeKey::kTrain;
  std::string directory;  // relative file names are resolved in it; empty: the working directory
  std::vector<FileHeader> headers = {};  // the headers that can be known before a row is read
  uint64_t seed = 1;                     // tf_random_seed
  int ordinal = 0;  // index among the transforms of its kind in the input, from 0
  // Returns the place of a field of the transform's message, for messages.
  std::function<std::string(const std::string& field)> where = [](const std::string& field) {
    return field;
  };
  // Is told of what is no error. Any thread may call it.
  std::function<void(const std::string& message)> warn = [](const std::string&) {};
};

// The rows that a row transform is applied to.
struct RowBatch {
  const Table& in;
  std::span<const RowId> ids;  // of each row; empty if no transform of the input is random
  // Names a row of `in` in messages.
  const std::function<std::string(int64_t row)>& where;
};

// A row transform, bound to its input columns.
struct RowTransform {
  Schema output;                   // all columns after the transform
  std::vector<std::string> reads;  // the columns that it reads
  std::vector<std::string> makes;  // the columns of `output` that it makes or changes
  bool paired = false;             // makes[i] depends on reads[i] alone
  bool is_random = false;          // `apply` reads RowBatch::ids
  // It only converts numbers, and refuses no value of their type. makes[i] depends on reads[i]
  // alone, whose dims it has.
  bool is_conversion = false;
  // The columns of `makes` are those of `reads`, of the same types, and `apply` changes their
  // values in *out, where they are before the call.
  bool in_place = false;
  std::vector<std::string> labels;  // the columns of `makes` that rows of PREDICT may lack
  // Sets the functions below in *row, a copy of this RowTransform, when an input is opened or
  // exported. nullptr if they are set already.
  std::function<absl::Status(const RowOpenArgs& args, RowTransform* row)> open;
  // Fills the columns of `makes` in *out, which has the columns of `output`, row by row. Strings
  // may be views of strings in `rows.in`. The previous contents of the columns only provide memory.
  // DataLoss for a row that does not fit. It may have state: scratch memory, and what the first row
  // of the input decides. Each thread calls a copy that was made after the first rows.
  using Apply = std::function<absl::Status(const RowBatch& rows, Table* out)>;
  Apply apply;

  // ---- for images

  // Of a transform that decodes images: opens the image of a row.
  using OpenImage =
      std::function<absl::StatusOr<std::unique_ptr<EncodedImage>>(std::string_view bytes)>;
  OpenImage open_image;
  // Of a transform that cuts a window out of each image: the window of row `row`, whose image has
  // that size. `rows` need not have the image.
  using ChooseWindow = std::function<absl::StatusOr<ImageWindow>(
      const ImageSize& size, const RowBatch& rows, int64_t row)>;
  ChooseWindow choose_window;
  // What takes an image as it is decoded: its size, and then row after row.
  struct ImageRows {
    std::function<void(const ImageSize& size)> begin;
    EncodedImage::TakeRow take;
  };
  // Of a transform that decodes images: decodes that of row `row`, for `to`. Errors name the row.
  using DecodeRows =
      std::function<absl::Status(const RowBatch& rows, int64_t row, const ImageRows& to)>;
  DecodeRows decode_rows;
  // Of a transform that mirrors images from left to right: whether it mirrors that of row `row`.
  using Mirrors = std::function<bool(const RowBatch& rows, int64_t row)>;
  Mirrors mirrors;
  // Of a transform that resizes images: makes an `apply` that does what is beside it as well.
  struct BesideResize {
    DecodeRows decode;  // nullptr: the images are decoded
    Mirrors mirrors;    // nullptr: no image is mirrored
  };
  std::function<Apply(const BesideResize& beside)> resize;
  BesideResize beside_resize;    // of `apply`
  bool resizes_by_rows = false;  // `resize` can decode

  // ---- for exported models

  // Adds the ops that make the `wanted` columns of `makes` to a graph, for any number of rows, and
  // puts the results into `columns`. `columns` has the columns that they are made of. Of a list of
  // any length it has the elements of all rows, and its row_splits (export_ops.h); where a list is
  // made of another one element by element (`paired`), the row_splits are passed on.
  using Export = std::function<void(ExportGraph& graph, const std::set<std::string>& wanted,
                                    std::map<std::string, Value>& columns)>;
  // The export in the ops of each format. nullptr if the format has no op for the transform.
  Export tensorflow, onnx;
  // For a transform that splits a record into columns (decode_csv, parse_example). The columns of
  // `makes` are then inputs of the exported model, which are fed by name. `tensorflow` and `onnx`
  // above export the rest of the transform's work on these columns.
  struct Fields {
    // Makes the columns from serialized tf.Examples, in TensorFlow's ops. nullptr if the records
    // are not tf.Examples.
    Export parse_examples;
    // For the caller of the exported model. `note`: how to feed the column, such as its missing
    // value. `unsaid`: what the format cannot express. Either may be empty.
    struct Notes {
      std::string note;
      std::string unsaid;
    };
    std::function<Notes(const std::string& column, ExportFormat format)> notes;
    // Columns that are not fed, and the one that `tensorflow` and `onnx` above make each of.
    std::map<std::string, std::string> made_of = {};
  };
  std::optional<Fields> fields;
  // makes[0] has the same bytes as reads[0]: an exported model can be fed with reads[0] itself.
  bool is_bitcast = false;
  // The words of the ids in columns of `makes`.
  Vocabularies vocabularies;
};

// The arguments that an item transform is made with. `records` must outlive it.
struct ItemTransformArgs {
  std::unique_ptr<ItemStream> before;
  Records* records = nullptr;
  uint64_t seed = 0;  // tf_random_seed
  // index among the transforms of its kind in the input, from 0
  int ordinal = 0;
  std::string empty;         // the message if the input has no elements
  std::string where;         // the place of the transform
  int64_t least = 0;         // a lower bound of the elements in one pass of `before`
  int64_t memory_bytes = 0;  // bytes that a buffer may take
};

// Says whether the element of a row stays, by the value of its feature and its identity. An error
// is DataLoss, without the place.
using KeepRow =
    std::function<absl::StatusOr<bool>(const Column& feature, int64_t row, const RowId& id)>;

// The elements of one pass. nullopt if counting requires reading them.
using ElementCount = std::optional<int64_t>;

// One row of the table. Its functions add mistakes to `errors`, which is empty before the call, by
// paths below the transform's own message.
struct TransformDef {
  proto::Transform::KindCase kind;
  const char* name;
  // Row transforms: binds the transform to its input columns. nullopt after a mistake.
  std::optional<RowTransform> (*bind)(const proto::Transform& transform, const Schema& input,
                                      ConfigErrors& errors) = nullptr;
  // Every kind: reports mistakes in the arguments that do not depend on the columns, beyond the
  // field rules.
  void (*check)(const proto::Transform& transform, ConfigErrors& errors) = nullptr;
  // Item transforms: creates the stream. `count` returns the elements after the transform.
  std::unique_ptr<ItemStream> (*make_items)(const proto::Transform& transform,
                                            ItemTransformArgs args) = nullptr;
  int64_t (*count)(const proto::Transform& transform, int64_t before) = nullptr;
  // Draws random numbers, which depend on the seed and the transform's ordinal.
  bool random = false;
  // Returns another transform that stands behind it, made of its arguments. nullopt if there is
  // none.
  std::optional<proto::Transform> (*followed_by)(const proto::Transform& transform) = nullptr;
};

std::span<const TransformDef> TransformList();
// nullptr for KIND_NOT_SET: every kind has a row.
const TransformDef* FindTransform(proto::Transform::KindCase kind);
// The name of the field that is set: "shuffle". Empty if none is set.
std::string TransformName(const proto::Transform& transform);
// True for a repeat that never ends.
bool IsEndlessRepeat(const proto::Transform& transform);

// ---- the functions that the rows of the table point to, by file

using BindRow = std::optional<RowTransform>(const proto::Transform& transform, const Schema& input,
                                            ConfigErrors& errors);
// decode_csv.cc
BindRow BindDecodeCsv;
// decode_json.cc
BindRow BindDecodeJson;
// parse_example.cc
BindRow BindParseExample;
// decode_raw.cc
BindRow BindDecodeRaw;
// cast.cc
BindRow BindCast;
// lookup.cc
BindRow BindLookup;
// normalize.cc
BindRow BindNormalize;
// parse_time.cc
BindRow BindParseTime;
// slice.cc
BindRow BindSlice;
// decode_image.cc
BindRow BindDecodeImage;
// crop.cc
BindRow BindRandomCrop;
BindRow BindCentralCrop;
BindRow BindSampleDistortedBoundingBox;
BindRow BindResizeWithCropOrPad;
// The resize that follows a sample_distorted_bounding_box with `size`. nullopt without.
std::optional<proto::Transform> ResizeOfSample(const proto::Transform& transform);
// resize.cc
BindRow BindResize;
// random_flip.cc
BindRow BindRandomFlipLeftRight;
BindRow BindRandomFlipUpDown;
// per_image_standardization.cc
BindRow BindPerImageStandardization;
// hashing.cc
BindRow BindHashBucket;
BindRow BindCross;
// bucketize.cc
BindRow BindBucketize;
// one_hot.cc
BindRow BindOneHot;
// to_tensor.cc
BindRow BindToTensor;
// split.cc
BindRow BindSplit;
// ngrams.cc
BindRow BindNgrams;
// category_encoding.cc
BindRow BindCategoryEncoding;
// change_colors.cc
BindRow BindAdjustBrightness;
BindRow BindAdjustContrast;
BindRow BindAdjustSaturation;
BindRow BindAdjustHue;
BindRow BindRandomBrightness;
BindRow BindRandomContrast;
BindRow BindRandomSaturation;
BindRow BindRandomHue;
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
// rejection_resample.cc
void CheckRejectionResample(const proto::Transform& transform, ConfigErrors& errors);
// The feature must be one of these columns and have the type of a class.
void CheckClass(const proto::RejectionResample& resample, const Schema& schema,
                ConfigErrors& errors);
KeepRow KeepClasses(const proto::RejectionResample& resample, const RowOpenArgs& args);
// Passes on only complete groups of `size` items. For a repeat after the batch.
std::unique_ptr<ItemStream> MakeWholeBatches(int64_t size, ItemTransformArgs args);

}  // namespace tpurun

#endif  // TPURUN_DATA_TRANSFORMS_TRANSFORM_LIST_H_
