// ImageNet (ILSVRC2012) into the features of the TFRecord files that TensorFlow's own conversions
// write: image/encoded, the bytes of a JPEG, image/format "JPEG", image/colorspace "RGB",
// image/channels 3, image/height, image/width, image/filename, image/class/label, an int64 from 1,
// image/class/synset, image/class/text if the words of the synsets are given, and
// image/object/bbox/{xmin,xmax,ymin,ymax,label} if boxes are. An input is a folder of folders or
// tar archives, or a tar archive of archives, each named by a synset; or a folder or archive of
// flat files, whose synsets a file has.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "data/convert/bounding_boxes.h"
#include "data/convert/convert.h"
#include "data/convert/encoded_example.h"
#include "data/convert/image_files.h"
#include "data/csv.h"
#include "data/csv_rows.h"
#include "data/images/rgb_jpeg.h"
#include "data/line_reader.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/io/file.h"

namespace tpurun {
namespace {

constexpr std::string_view kTarSuffix = ".tar";
constexpr char kNamedBySynset[] =
    "a folder or archive that is named by a synset, such as n01440764";

// An n and 8 digits: the offset of a noun in WordNet.
bool IsSynset(std::string_view name) {
  return name.size() == 9 && name[0] == 'n' &&
         name.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

bool IsTar(std::string_view name) { return name.ends_with(kTarSuffix); }

// "a/n01440764.tar" -> "n01440764".
std::string TarStem(std::string_view path) {
  const std::string name = BaseName(path);
  return IsTar(name) ? name.substr(0, name.size() - kTarSuffix.size()) : name;
}

// ---- the files

// Finds images and their synsets: the name of the folder or archive that holds a file. Of flat
// files the synset is left empty.
class ImagenetFinder {
 public:
  explicit ImagenetFinder(bool flat) : flat_(flat) {}

  absl::Status Add(const std::string& input) {
    const size_t before = images_.files.size();
    RETURN_IF_ERROR(IsDirectory(input) ? AddFolder(input) : AddArchive(input));
    if (images_.files.size() > before) return absl::OkStatus();
    return absl::DataLossError(
        flat_ ? absl::StrCat(input, ": want the image files of --labels, such as ",
                             JoinPath(input, "ILSVRC2012_val_00000001.JPEG"))
              : absl::StrCat(input, ": has no images in ", kNamedBySynset,
                             "; --labels=FILE has the synsets of flat files"));
  }
  ImageFiles Take() { return std::move(images_); }

 private:
  absl::Status AddFolder(const std::string& folder) {
    ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(folder));
    for (const std::string& name : names) {
      const std::string path = JoinPath(folder, name);
      if (IsHiddenFile(name) || (flat_ && IsDirectory(path))) continue;
      if (flat_) {
        images_.AddFile(path, "");
      } else if (IsDirectory(path)) {
        if (!IsSynset(name)) return NoSynset(path);
        RETURN_IF_ERROR(images_.AddFilesBelow(path, name));
      } else if (IsTar(name)) {
        RETURN_IF_ERROR(AddArchive(path));
      }
    }
    return absl::OkStatus();
  }

  absl::Status AddArchive(const std::string& path) {
    ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> file, RandomAccessFile::Open(path));
    const int archive = images_.AddArchive(path);
    return AddMembers(*file, archive, {0, file->size()}, "", TarStem(path));
  }

  // Adds the files of the archive that is that part of the file. `name` is its own name within
  // another archive, or empty.
  absl::Status AddMembers(const RandomAccessFile& file, int archive, const FileRange& range,
                          const std::string& name, const std::string& stem) {
    ASSIGN_OR_RETURN(std::vector<TarMember> members, ListTar(file, range));
    for (const TarMember& member : members) {
      const std::string base = BaseName(member.name), folder = BaseName(DirName(member.name));
      if (base.empty() || IsHiddenFile(base)) continue;
      const std::string full_name = JoinPath(name, member.name);
      if (!flat_ && name.empty() && IsTar(base)) {
        RETURN_IF_ERROR(AddMembers(file, archive, member.range, full_name, TarStem(base)));
        continue;
      }
      ImageFile image = {.name = full_name, .archive = archive, .range = member.range};
      if (!flat_) {
        image.class_name = folder.empty() || folder == "." ? stem : folder;
        if (!IsSynset(image.class_name)) return NoSynset(images_.Title(image));
      }
      images_.files.push_back(std::move(image));
    }
    return absl::OkStatus();
  }

  static absl::Status NoSynset(const std::string& title) {
    return absl::DataLossError(absl::StrCat(
        title, ": want ", kNamedBySynset,
        "; --labels=FILE has the synsets of flat files, and convert images takes other folders"));
  }

  const bool flat_;
  ImageFiles images_;
};

// The order of the names, so that it is the same for folders and archives.
void SortImages(std::vector<ImageFile>* files) {
  const auto key = [](const ImageFile& file) {
    return std::pair(std::string_view(file.class_name),
                     std::string_view(file.name).substr(file.name.rfind('/') + 1));
  };
  std::stable_sort(files->begin(), files->end(),
                   [&](const ImageFile& a, const ImageFile& b) { return key(a) < key(b); });
}

// Line i of --labels is the synset of file i in the order of the names.
absl::Status SetSynsets(const ConvertArgs& args, ImageFiles* images) {
  ASSIGN_OR_RETURN(const std::vector<std::string> labels,
                   ReadVocabularyLines(args.labels, "--labels"));
  std::vector<ImageFile>& files = images->files;
  if (labels.size() != files.size()) {
    return absl::DataLossError(absl::StrCat(args.labels, ": has ", labels.size(), " lines, want ",
                                            files.size(), ", a synset for each file of ",
                                            absl::StrJoin(args.inputs, " and ")));
  }
  for (size_t i = 0; i < files.size(); ++i) {
    const std::string synset(StripBlanks(labels[i]));
    if (!IsSynset(synset)) {
      return absl::DataLossError(absl::StrCat(args.labels, ":", i + 1, ": got ", Quote(labels[i]),
                                              ", want a synset, such as n01440764"));
    }
    if (i > 0 && BaseName(files[i].name) == BaseName(files[i - 1].name)) {
      return absl::DataLossError(absl::StrCat(images->Title(files[i - 1]), " and ",
                                              images->Title(files[i]),
                                              " have one name, want another for each file"));
    }
    files[i].class_name = synset;
    images->identity.Add(synset);
  }
  return absl::OkStatus();
}

absl::StatusOr<ImageFiles> FindImagenetFiles(const ConvertArgs& args) {
  const bool flat = !args.labels.empty();
  ImagenetFinder finder(flat);
  for (const std::string& input : args.inputs) RETURN_IF_ERROR(finder.Add(input));
  ImageFiles images = finder.Take();
  SortImages(&images.files);
  if (flat) RETURN_IF_ERROR(SetSynsets(args, &images));
  return images;
}

// ---- the classes

struct ImagenetClass {
  int64_t label = 0;  // from 1
  std::optional<std::string> words;
};
using ImagenetClasses = std::map<std::string, ImagenetClass>;

// Lines SYNSET or SYNSET WORDS, in the order of the labels.
absl::StatusOr<ImagenetClasses> ReadSynsets(const std::string& path) {
  ASSIGN_OR_RETURN(const std::vector<std::string> lines, ReadVocabularyLines(path, "--synsets"));
  ImagenetClasses classes;
  bool with_words = false;
  for (size_t i = 0; i < lines.size(); ++i) {
    const auto wrong = [&](const auto&... what) {
      return absl::DataLossError(absl::StrCat(path, ":", i + 1, ": ", what...));
    };
    const std::string_view line = StripBlanks(lines[i]);
    const std::string synset(line.substr(0, line.find_first_of(" \t")));
    const std::string words(StripBlanks(line.substr(synset.size())));
    if (!IsSynset(synset)) {
      return wrong("got ", Quote(lines[i]), ", want a synset, such as n01440764, or a synset and ",
                   "its words");
    }
    if (i == 0) with_words = !words.empty();
    if (with_words == words.empty()) {
      return wrong(with_words ? "has no words" : "has words",
                   ", want words in every line or in none, as in line 1");
    }
    const ImagenetClass found = {.label = static_cast<int64_t>(i) + 1,
                                 .words = with_words ? std::optional(words) : std::nullopt};
    const auto [before, added] = classes.emplace(synset, found);
    if (!added) return wrong(synset, " is in line ", before->second.label, " too");
  }
  return classes;
}

absl::StatusOr<ImagenetClasses> ClassesOf(const ConvertArgs& args, const ImageFiles& images) {
  ImagenetClasses classes;
  if (!args.synsets.empty()) {
    ASSIGN_OR_RETURN(classes, ReadSynsets(args.synsets));
  }
  for (const ImageFile& file : images.files) {
    if (args.synsets.empty()) {
      classes[file.class_name];
    } else if (!classes.contains(file.class_name)) {
      return absl::DataLossError(absl::StrCat(images.Title(file), ": ", file.class_name,
                                              " is not one of the ", classes.size(), " synsets of ",
                                              args.synsets));
    }
  }
  if (!args.synsets.empty()) return classes;
  int64_t label = 0;
  for (auto& [synset, found] : classes) found.label = ++label;
  return classes;
}

// ---- the examples

std::string ImagenetIdentity(const ImagenetClasses& classes,
                             const std::optional<BoundingBoxes>& boxes) {
  ListIdentity of_classes;
  for (const auto& [synset, found] : classes) {
    of_classes.Add(absl::StrCat(synset, " ", found.label, " ", found.words.value_or("")));
  }
  return absl::StrCat("kind: imagenet\nsynsets: ", of_classes.text(), "\n", BoxesIdentity(boxes));
}

class ImagenetImages : public ImageList {
 public:
  ImagenetImages(ImageFiles images, ImagenetClasses classes, std::optional<BoundingBoxes> boxes,
                 const ConvertArgs& args)
      : ImageList(std::move(images), args, ImagenetIdentity(classes, boxes)),
        classes_(std::move(classes)),
        boxes_(std::move(boxes)) {}

 protected:
  absl::StatusOr<tensorflow::Example> MakeExample(const ImageFile& file,
                                                  std::string bytes) const override {
    ASSIGN_OR_RETURN(RgbJpeg jpeg, ToRgbJpeg(std::move(bytes)));
    const ImagenetClass& found = classes_.at(file.class_name);
    const std::string name = BaseName(file.name);
    // Grey images are called RGB too, as a decoder makes them.
    tensorflow::Example example = ToExample({.bytes = std::move(jpeg.bytes),
                                             .format = "JPEG",
                                             .filename = name,
                                             .size = {jpeg.size.height, jpeg.size.width, 3},
                                             .label = found.label,
                                             .class_name = found.words});
    auto& features = *example.mutable_features()->mutable_feature();
    features["image/colorspace"].mutable_bytes_list()->add_value("RGB");
    features["image/class/synset"].mutable_bytes_list()->add_value(file.class_name);
    if (boxes_.has_value()) boxes_->AddTo(name, found.label, &example);
    return example;
  }

 private:
  const ImagenetClasses classes_;
  const std::optional<BoundingBoxes> boxes_;
};

}  // namespace

absl::Status CheckImagenet(const ConvertArgs& args) {
  RETURN_IF_ERROR(CheckNoStandardInput("--labels", args.labels));
  RETURN_IF_ERROR(CheckNoStandardInput("--synsets", args.synsets));
  RETURN_IF_ERROR(CheckNoStandardInput("--bounding_boxes", args.bounding_boxes));
  return CheckImageInputs("imagenet",
                          "a folder of folders or tar archives that are named by synsets, a tar "
                          "archive of them, or a folder or tar archive of flat files and --labels",
                          args);
}

absl::StatusOr<std::unique_ptr<ExampleList>> ListImagenet(const ConvertArgs& args) {
  ASSIGN_OR_RETURN(ImageFiles images, FindImagenetFiles(args));
  ASSIGN_OR_RETURN(ImagenetClasses classes, ClassesOf(args, images));
  ASSIGN_OR_RETURN(
      std::optional<BoundingBoxes> boxes,
      BoxesOf(args, images.files, [](const ImageFile& file) { return BaseName(file.name); }));
  return std::make_unique<ImagenetImages>(std::move(images), std::move(classes), std::move(boxes),
                                          args);
}

absl::Status ConvertImagenet(const ConvertArgs& args, const ExampleSink& write) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ExampleList> list, ListImagenet(args));
  return WriteList(*list, write);
}

}  // namespace tpurun
