// Image files and their classes into the features of ImageNet's TFRecord files: image/encoded, the
// bytes of the file, image/format, image/filename, image/height, image/width, image/channels,
// image/class/label, an int64 from 0, and image/class/text, the name of the class; and the features
// of bounding_boxes.h if boxes are given. An input is a folder with a folder for each class, or a
// CSV file of rows NAME,CLASS. The names of the classes in the order of their labels are
// classes.txt beside the output; if it is there already, the images must be of its classes.
#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "data/convert/beside.h"
#include "data/convert/bounding_boxes.h"
#include "data/convert/convert.h"
#include "data/convert/encoded_example.h"
#include "data/convert/image_files.h"
#include "data/csv.h"
#include "data/csv_rows.h"
#include "data/images/decode.h"
#include "data/images/exif.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/io/file.h"

namespace tpurun {
namespace {

constexpr uint64_t kMostClassesBytes = 16 << 20;
constexpr FileBeside kClassesBeside = {kClassesFile, "the list of classes"};

// A folder with a folder for each class.
absl::Status AddFolder(const std::string& folder, ImageFiles* images) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(folder));
  const size_t before = images->files.size();
  for (const std::string& name : names) {
    const std::string path = JoinPath(folder, name);
    if (IsHiddenFile(name) || !IsDirectory(path)) continue;
    RETURN_IF_ERROR(images->AddFilesBelow(path, name));
  }
  for (ImageFile& file : std::span(images->files).subspan(before)) {
    const std::string_view below = std::string_view(file.name).substr(folder.size());
    file.name_in_input = below.substr(below.find_first_not_of('/'));
  }
  if (images->files.size() > before) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      folder, ": want a folder for each class with its images, such as ",
      JoinPath(folder, "cat/1.jpg"), "; or a CSV file of rows NAME,CLASS in place of the folder"));
}

// A table of rows NAME,CLASS; names are relative to its folder.
absl::Status AddCsvTable(const std::string& path, int64_t skip_lines, ImageFiles* images) {
  ASSIGN_OR_RETURN(std::unique_ptr<ByteSource> source, OpenMaybeGzip(path));
  CsvRows rows{CsvFormat()};
  rows.Open(std::move(source), path, skip_lines);
  while (true) {
    ASSIGN_OR_RETURN(const bool found, rows.Read());
    if (!found) return absl::OkStatus();
    const std::vector<std::string_view>& fields = rows.fields();
    if (fields.size() != 2) {
      return absl::DataLossError(
          absl::StrCat(rows.Where(), ": got ", fields.size(), " columns, want NAME,CLASS"));
    }
    const std::string name(StripBlanks(fields[0])), image = JoinPath(DirName(path), name);
    const std::string class_name(StripBlanks(fields[1]));
    if (!FileExists(image)) {
      return absl::NotFoundError(absl::StrCat(rows.Where(), ": there is no file ", image,
                                              "; leave out a header, in `convert images` by "
                                              "--skip_lines=1"));
    }
    if (class_name.empty()) {
      return absl::DataLossError(absl::StrCat(rows.Where(), ": column 1: the class is empty"));
    }
    images->AddFile(image, class_name);
    images->files.back().name_in_input = name;
  }
}

absl::StatusOr<ImageFiles> FindFiles(const ConvertArgs& args) {
  ImageFiles images;
  for (const std::string& input : args.inputs) {
    RETURN_IF_ERROR(IsDirectory(input) ? AddFolder(input, &images)
                                       : AddCsvTable(input, args.skip_lines, &images));
  }
  return images;
}

using LabelMap = std::map<std::string, int64_t>;  // by the name of the class

// Their labels: in the order of numbers if all are numbers, else of their bytes.
LabelMap LabelsOf(const std::vector<ImageFile>& files) {
  LabelMap labels;
  for (const ImageFile& file : files) labels[file.class_name] = 0;
  std::vector<std::string> names;
  bool numbers = true;
  for (const auto& [name, label] : labels) {
    names.push_back(name);
    numbers = numbers && ParseInt64(name).has_value();
  }
  if (numbers) {
    std::stable_sort(names.begin(), names.end(),
                     [](const auto& a, const auto& b) { return *ParseInt64(a) < *ParseInt64(b); });
  }
  for (size_t i = 0; i < names.size(); ++i) labels[names[i]] = static_cast<int64_t>(i);
  return labels;
}

std::string ClassesText(const LabelMap& labels) {
  std::vector<std::string> names(labels.size());
  for (const auto& [name, label] : labels) names[label] = name;
  return absl::StrCat(absl::StrJoin(names, "\n"), "\n");
}

std::string ImagesIdentity(const LabelMap& labels, const std::optional<BoundingBoxes>& boxes) {
  ListIdentity classes;
  for (const auto& [name, label] : labels) classes.Add(absl::StrCat(label, " ", name));
  return absl::StrCat("kind: images\nclasses: ", classes.text(), "\n", BoxesIdentity(boxes));
}

// Those of the classes that are beside the output: of the images to train on, while these may be
// those to evaluate with. All classes of the images must be among them. nullopt: there are none.
absl::StatusOr<std::optional<LabelMap>> LabelsBeside(const std::string& output,
                                                     const ImageFiles& images) {
  const std::string path = PathBeside(output, kClassesBeside);
  if (output.empty() || IsAbsent(path)) return std::nullopt;
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMostClassesBytes));
  std::vector<std::string> names = absl::StrSplit(text, '\n');
  if (names.back().empty()) names.pop_back();
  LabelMap labels;
  for (const std::string& name : names) {
    labels.emplace(name, static_cast<int64_t>(labels.size()));
  }
  for (const ImageFile& file : images.files) {
    if (labels.size() == names.size() && labels.count(file.class_name) > 0) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "the class ", Quote(file.class_name), " of ", images.Title(file), " is not in ", path,
        ", which has the classes of other images; leave its images out, add them to the others, or "
        "write to another folder"));
  }
  return labels;
}

// The images that viewers turn.
class TurnedImages {
 public:
  void Add(const std::string& name, int orientation) {
    const std::lock_guard lock(mutex_);
    if (++count_ == 1 || name < first_) first_ = name, orientation_of_first_ = orientation;
  }
  // nullopt if there are none.
  std::optional<std::string> Message() const {
    const std::lock_guard lock(mutex_);
    if (count_ == 0) return std::nullopt;
    return absl::StrCat(count_, count_ == 1 ? " image has" : " images have",
                        " an EXIF orientation, such as ", first_, " (", orientation_of_first_,
                        "): ", kTurnedByViewers);
  }

 private:
  mutable std::mutex mutex_;
  int64_t count_ = 0;
  std::string first_;  // by its name
  int orientation_of_first_ = 1;
};

class LabelledImages : public ImageList {
 public:
  LabelledImages(ImageFiles images, LabelMap labels, std::optional<BoundingBoxes> boxes,
                 const ConvertArgs& args)
      : ImageList(std::move(images), args, ImagesIdentity(labels, boxes)),
        labels_(std::move(labels)),
        boxes_(std::move(boxes)),
        output_(args.output),
        warn_(args.warn) {}

  absl::Status WriteBeside() const override {
    if (output_.empty()) return absl::OkStatus();
    if (const auto message = turned_.Message()) warn_(*message);
    return WriteFileAtomically(PathBeside(output_, kClassesBeside), ClassesText(labels_));
  }

 protected:
  absl::StatusOr<tensorflow::Example> MakeExample(const ImageFile& file,
                                                  std::string bytes) const override {
    ASSIGN_OR_RETURN(const std::unique_ptr<EncodedImage> image, EncodedImage::Open(bytes, {}));
    if (!image->HasEnd()) {
      return absl::DataLossError(
          absl::StrCat("a ", image->format(), " whose last bytes are missing"));
    }
    if (const int orientation = ExifOrientation(bytes); orientation != 1) {
      turned_.Add(file.name, orientation);
    }
    const int64_t label = labels_.at(file.class_name);
    tensorflow::Example example = ToExample({.bytes = std::move(bytes),
                                             .format = image->format(),
                                             .filename = BaseName(file.name),
                                             .size = image->size(),
                                             .label = label,
                                             .class_name = file.class_name});
    if (boxes_.has_value()) boxes_->AddTo(file.name_in_input, label, &example);
    return example;
  }

 private:
  const LabelMap labels_;
  const std::optional<BoundingBoxes> boxes_;
  const std::string output_;  // empty: `init` reads the images before it writes them
  const std::function<void(const std::string& message)> warn_;
  mutable TurnedImages turned_;
};

// Tells of boxes whose names are those of no image.
void WarnOfOtherBoxes(const BoundingBoxes& boxes, const std::vector<ImageFile>& files,
                      const ConvertArgs& args) {
  std::set<std::string> others;
  for (const auto& of_image : boxes.of_images()) others.insert(of_image.first);
  for (const ImageFile& file : files) others.erase(file.name_in_input);
  if (others.empty()) return;
  args.warn(absl::StrCat(args.bounding_boxes, ": has boxes of ", others.size(),
                         others.size() == 1 ? " name" : " names", " that no image has, such as ",
                         *others.begin()));
}

}  // namespace

absl::Status CheckImages(const ConvertArgs& args) {
  RETURN_IF_ERROR(CheckImageInputs(
      "images", "a folder with a folder for each class, or a CSV file of rows NAME,CLASS", args));
  RETURN_IF_ERROR(CheckNoStandardInput("--bounding_boxes", args.bounding_boxes));
  return CheckNotBeside(args.output, kClassesBeside);
}

absl::StatusOr<std::unique_ptr<ExampleList>> ListImages(const ConvertArgs& args) {
  ASSIGN_OR_RETURN(ImageFiles images, FindFiles(args));
  ASSIGN_OR_RETURN(std::optional<LabelMap> labels, LabelsBeside(args.output, images));
  if (!labels.has_value()) labels = LabelsOf(images.files);
  ASSIGN_OR_RETURN(
      std::optional<BoundingBoxes> boxes,
      BoxesOf(args, images.files, [](const ImageFile& file) { return file.name_in_input; }));
  if (boxes.has_value()) WarnOfOtherBoxes(*boxes, images.files, args);
  return std::make_unique<LabelledImages>(std::move(images), *std::move(labels), std::move(boxes),
                                          args);
}

absl::Status ConvertImages(const ConvertArgs& args, const ExampleSink& write) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ExampleList> list, ListImages(args));
  return WriteList(*list, write);
}

}  // namespace tpurun
