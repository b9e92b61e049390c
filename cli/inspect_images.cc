#include "cli/inspect_images.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/compose.h"
#include "cli/contact_sheet.h"
#include "cli/inspect_rows.h"
#include "cli/json.h"
#include "cli/signals.h"
#include "data/convert/convert.h"
#include "data/sources/source_list.h"
#include "data/table.h"
#include "glog/logging.h"
#include "runtime/base/memory.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/estimator/setup.h"
#include "runtime/io/file.h"
#include "runtime/io/png.h"
#include "runtime/session/call_input_fn.h"
#include "runtime/spec/input_deployment.h"

namespace tpurun {
namespace {

constexpr char kStandardOutput[] = "-";
constexpr int64_t kDefaultImages = 32;
constexpr uint64_t kMostClassesBytes = 1 << 20;

// ------------------------------------------------------------------------------ what to show

struct SheetFlags {
  std::string png;
  ModeKey mode = ModeKey::kTrain;
  std::optional<std::string> evaluation;
  std::string feature;  // empty: the first image
  int64_t limit = 0;
};

absl::StatusOr<SheetFlags> SheetFlagsOf(const CommandLine& command) {
  if (!command.arguments().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("inspect --png shows what the input of --config feeds, and got ",
                     Quote(command.arguments().front()), " too; want one of them"));
  }
  SheetFlags flags{.png = command.GetString("png"),
                   .feature = command.GetString("feature"),
                   .limit = command.GetInt("limit", kDefaultImages)};
  if (flags.png.empty()) {
    return absl::InvalidArgumentError("--png: got \"\", want the name of a file, or -");
  }
  if (flags.limit < 1 || flags.limit > kMostSheetImages) {
    return absl::InvalidArgumentError(absl::StrCat("--limit: got ", flags.limit, ", want 1 to ",
                                                   kMostSheetImages, " images of --png"));
  }
  ASSIGN_OR_RETURN(flags.mode, ModeOf(command));
  if (!command.Has("name")) return flags;
  if (flags.mode != ModeKey::kEval) {
    return absl::InvalidArgumentError("--name is for --mode=evaluate, which is not given");
  }
  flags.evaluation = command.GetString("name");
  return flags;
}

std::string FeatureText(const FeatureSpec& feature) {
  const ColumnType type = {feature.name, FromDType(feature.shape.dtype), feature.shape.dims};
  return absl::StrCat(feature.is_label ? "label " : "feature ", Quote(feature.name), " ",
                      type.ToString());
}

// The index of the feature of that name, or of the first image.
absl::StatusOr<size_t> ChooseImage(const std::vector<FeatureSpec>& features,
                                   const std::string& name) {
  std::vector<std::string> names, all;
  for (size_t i = 0; i < features.size(); ++i) {
    const bool is_image = ImageSizeOf(features[i].shape).has_value();
    if (is_image && (name.empty() || features[i].name == name)) return i;
    names.push_back(features[i].name);
    all.push_back(FeatureText(features[i]));
  }
  if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--feature: the input feeds no ", Quote(name), DidYouMean(name, names)));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      name.empty() ? "--png: nothing that the model is fed with is an image"
                   : absl::StrCat("--feature: ", Quote(name), " is no image"),
      ": got ", absl::StrJoin(all, ", "),
      "; want UINT8, FLOAT32 or BFLOAT16 of shape [height,width] or [height,width,channels] with "
      "1, 3 or 4 channels"));
}

// The index of the only label that is an integer.
std::optional<size_t> LabelOf(const std::vector<FeatureSpec>& features) {
  std::optional<size_t> found;
  for (size_t i = 0; i < features.size(); ++i) {
    const Shape& shape = features[i].shape;
    const bool whole = shape.dtype == DType::kS32 || shape.dtype == DType::kS64;
    if (!features[i].is_label || !whole || shape.num_elements() != 1) continue;
    if (found.has_value()) return std::nullopt;
    found = i;
  }
  return found;
}

int64_t IntegerAt(DType dtype, const std::byte* value) {
  if (dtype == DType::kS32) {
    int32_t number;
    std::memcpy(&number, value, sizeof number);
    return number;
  }
  int64_t number;
  std::memcpy(&number, value, sizeof number);
  return number;
}

// The names of classes that `convert images` has written beside the records. Empty: there are none.
std::vector<std::string> ClassNames(const std::vector<std::string>& files) {
  if (files.empty()) return {};
  const absl::StatusOr<std::string> text =
      ReadFile(JoinPath(DirName(files.front()), kClassesFile), kMostClassesBytes);
  if (!text.ok()) return {};
  std::vector<std::string> names = absl::StrSplit(*text, '\n');
  if (names.back().empty()) names.pop_back();
  return names;
}

// ------------------------------------------------------------------------------ the rows

// The rows of an input that a sheet shows.
struct ShownRows {
  int64_t count = 0;
  std::vector<std::byte> images;     // row after row
  std::vector<int64_t> labels;       // one a row; empty without a label
  std::vector<std::string> origins;  // one a row
};

// Takes rows of the batches of an input.
class RowReader {
 public:
  RowReader(InputSource& input, size_t image, std::optional<size_t> label, int64_t batch_size)
      : input_(input), image_(image), label_(label), batch_size_(batch_size) {
    for (const FeatureSpec& feature : input.features) {
      buffers_.emplace_back(feature.shape.bytes() * batch_size);
      to_.push_back(buffers_.back().data());
    }
  }

  // The first rows. `whole`: a short batch counts as the end, as in training.
  absl::StatusOr<ShownRows> Read(int64_t limit, bool whole) {
    ShownRows rows;
    while (rows.count < limit) {
      ASSIGN_OR_RETURN(const int64_t got, input_.batches->Next(to_));
      if (got == 0 || (whole && got < batch_size_)) break;
      Add(std::min(got, limit - rows.count), rows);
    }
    return rows;
  }

 private:
  void Add(int64_t count, ShownRows& rows) const {
    const std::byte* const images = buffers_[image_].data();
    const int64_t bytes = input_.features[image_].shape.bytes();
    rows.images.insert(rows.images.end(), images, images + count * bytes);
    for (int64_t row = 0; row < count; ++row) {
      rows.origins.push_back(input_.batches->Where(row));
      if (!label_.has_value()) continue;
      const Shape& label = input_.features[*label_].shape;
      rows.labels.push_back(IntegerAt(label.dtype, buffers_[*label_].data() + row * label.bytes()));
    }
    rows.count += count;
  }

  InputSource& input_;
  const size_t image_;
  const std::optional<size_t> label_;
  const int64_t batch_size_;
  std::vector<std::vector<std::byte>> buffers_;  // a batch of each feature
  std::vector<std::byte*> to_;
};

absl::Status CheckFits(const InputSource& input, const Shape& image, int64_t batch_size,
                       int64_t limit) {
  double row = 0;
  for (const FeatureSpec& feature : input.features) {
    row += static_cast<double>(feature.shape.bytes());
  }
  // As they are fed, as floats and as pixels.
  const double images = 3 * static_cast<double>(image.bytes()) * static_cast<double>(limit);
  const double bytes = row * static_cast<double>(batch_size) + images;
  if (bytes <= static_cast<double>(MemoryBytes())) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("does not fit in memory: want ", BytesText(bytes), " for a batch and ", limit,
                   " images of --png, there is ", BytesText(static_cast<double>(MemoryBytes())),
                   "; lower --limit or the batch size"));
}

absl::StatusOr<ShownRows> ReadRows(const EstimatorOptions& options, const InputFn& input_fn,
                                   const SheetFlags& flags, const FeatureSpec& image) {
  const InputDeployment deployment = DeploymentOf(options, flags.mode);
  ASSIGN_OR_RETURN(InputSource input, CallInputFn(input_fn, deployment,
                                                  {.mode = flags.mode,
                                                   .features = options.features,
                                                   .seed = options.config.tf_random_seed()}));
  const auto fed =
      std::find_if(input.features.begin(), input.features.end(),
                   [&](const FeatureSpec& feature) { return feature.name == image.name; });
  if (fed == input.features.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--feature: the input of predict has no label ", Quote(image.name)));
  }
  RETURN_IF_ERROR(CheckFits(input, image.shape, deployment.batch_size, flags.limit));
  const MemoryUse use("the rows of --png", "lower --limit or the batch size");
  RowReader reader(input, fed - input.features.begin(), LabelOf(input.features),
                   deployment.batch_size);
  const bool whole = flags.mode == ModeKey::kTrain;
  ASSIGN_OR_RETURN(ShownRows rows, reader.Read(flags.limit, whole));
  if (rows.count > 0) return rows;
  return absl::DataLossError(
      whole ? absl::StrCat("the training input ended before its first batch: want ",
                           BatchSizeName(flags.mode), " ", deployment.batch_size, " rows")
            : "the input has no rows to show");
}

// ------------------------------------------------------------------------------ the output

struct Sheet {
  SheetPixels values;
  SheetLayout layout;
  std::string png;
};

absl::StatusOr<Sheet> MakeSheet(const ShownRows& rows, const Shape& image) {
  const ImageSize size = *ImageSizeOf(image);
  Sheet sheet{.values = ToPixels(image.dtype, rows.images),
              .layout = LayOutSheet(rows.count, size, !rows.labels.empty())};
  const ImageSize& whole = sheet.layout.sheet;
  ASSIGN_OR_RETURN(sheet.png,
                   EncodePng(ComposeSheet(sheet.layout, size, sheet.values.pixels, rows.labels),
                             whole.height, whole.width, whole.channels));
  return sheet;
}

// What the sheet shows, in sentences.
std::vector<std::string> SheetText(const std::string& png, const Sheet& sheet, int64_t count,
                                   const FeatureSpec& image) {
  const SheetLayout& layout = sheet.layout;
  std::vector<std::string> lines = {
      absl::StrCat(png == kStandardOutput ? "standard output" : Escape(png), ": ", count,
                   count == 1 ? " row of " : " rows of ", FeatureText(image), ", shown as ",
                   layout.image.width, "x", layout.image.height, " pixels in ", layout.columns,
                   layout.columns == 1 ? " column" : " columns"),
      absl::StrCat("black is ", ShortestText(sheet.values.black), ", white is ",
                   ShortestText(sheet.values.white))};
  if (sheet.values.not_finite > 0) {
    lines.push_back(absl::StrCat(sheet.values.not_finite,
                                 " values are not finite: infinity is white, -infinity and NaN are "
                                 "black"));
  }
  return lines;
}

Json SheetJson(const std::string& png, const Sheet& sheet, int64_t count,
               const FeatureSpec& image) {
  const SheetLayout& layout = sheet.layout;
  return {{"png", png},
          {"rows", count},
          {"feature", image.name},
          {"dtype", proto::DataType_Name(FromDType(image.shape.dtype))},
          {"shape", image.shape.dims},
          {"black", JsonNumber(sheet.values.black)},
          {"white", JsonNumber(sheet.values.white)},
          {"not_finite", sheet.values.not_finite},
          {"columns", layout.columns},
          {"lines", layout.lines},
          {"image_width", layout.image.width},
          {"image_height", layout.image.height},
          {"width", layout.sheet.width},
          {"height", layout.sheet.height},
          {"bytes", sheet.png.size()}};
}

// A row for each image: its place, the pixel of its upper left corner (in JSON only), its label and
// the record it is made of.
void WriteRows(const ShownRows& rows, const SheetLayout& layout,
               const std::vector<std::string>& classes, RowWriter& out) {
  const bool has_labels = !rows.labels.empty();
  std::vector<RowColumn> columns = {{.key = "row", .right = true},
                                    {.key = "line", .right = true},
                                    {.key = "column", .right = true}};
  if (has_labels) columns.push_back({.key = "label", .right = true});
  if (has_labels && !classes.empty()) columns.push_back({.key = "class"});
  columns.push_back({.key = "origin"});
  std::vector<Json> table;
  for (int64_t i = 0; i < rows.count; ++i) {
    Json row = {{"row", i},
                {"line", i / layout.columns},
                {"column", i % layout.columns},
                {"x", layout.x(i)},
                {"y", layout.y(i)}};
    if (has_labels) {
      const int64_t label = rows.labels[i];
      row["label"] = label;
      if (label >= 0 && label < std::ssize(classes)) row["class"] = JsonBytes(classes[label]);
    }
    row["origin"] = JsonBytes(rows.origins[i]);
    table.push_back(std::move(row));
  }
  out.Table(std::move(columns), table);
}

}  // namespace

absl::Status InspectImages(const CommandLine& command, bool json) {
  ASSIGN_OR_RETURN(const SheetFlags flags, SheetFlagsOf(command));
  RequiredParts required = PartsOf(flags.mode);
  required.evaluation = flags.evaluation;
  ASSIGN_OR_RETURN(const Composition composition, Compose(command, required));
  const bool evaluates = flags.mode == ModeKey::kEval;
  const EstimatorOptions options =
      evaluates ? OptionsOfEvaluation(composition.options) : composition.options;
  ASSIGN_OR_RETURN(const size_t chosen, ChooseImage(options.features, flags.feature));
  const FeatureSpec& image = options.features[chosen];
  const InputFn& input_fn = composition.InputOf(flags.mode);
  if (input_fn == nullptr) {
    return absl::InvalidArgumentError("--mode: predict.generate has no input whose images to show");
  }
  const proto::RunConfig& run = options.config;
  const proto::Input& of_mode = evaluates ? composition.evaluations.front().evaluate.input()
                                : flags.mode == ModeKey::kTrain ? run.train().input()
                                                                : run.predict().input();
  const std::vector<std::string> records = FilesOf(of_mode.source());
  std::optional<FilePath> file;
  if (flags.png != kStandardOutput) {
    ASSIGN_OR_RETURN(file, ReplaceableFile(flags.png, ProtectedFiles(options)));
  }
  ASSIGN_OR_RETURN(const ShownRows rows, ReadRows(options, input_fn, flags, image));
  ASSIGN_OR_RETURN(const Sheet sheet, MakeSheet(rows, image.shape));
  RETURN_IF_ERROR(options.after_checks());
  const std::vector<std::string> sentences = SheetText(flags.png, sheet, rows.count, image);
  if (!file.has_value()) {
    for (const std::string& sentence : sentences) LOG(INFO) << sentence;
    return WriteOutput(sheet.png);
  }
  RemoveOnInterrupt({TemporaryName(*file).text()});
  RETURN_IF_ERROR(WriteFileAtomically(*file, sheet.png));
  std::ostringstream out;
  RowWriter writer(json, out);
  for (const std::string& sentence : sentences) writer.Title(sentence);
  writer.Object(SheetJson(flags.png, sheet, rows.count, image));
  WriteRows(rows, sheet.layout, ClassNames(records), writer);
  return WriteOutput(out.str());
}

}  // namespace tpurun
