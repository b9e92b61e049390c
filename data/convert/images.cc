// Image files and their classes into the features of ImageNet's TFRecord files: image/encoded, the
// bytes of the file, image/format, image/filename, image/height, image/width, image/channels,
// image/class/label, an int64 from 0, and image/class/text, the name of the class. An input is a
// folder with a folder for each class, or a CSV file of rows NAME,CLASS. The names of the classes
// in the order of their labels are classes.txt beside the output.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "data/convert/convert.h"
#include "data/convert/encoded_example.h"
#include "data/csv.h"
#include "data/csv_rows.h"
#include "data/images/decode.h"
#include "data/thread_pool.h"
#include "runtime/base/cpu.h"
#include "runtime/base/random.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/io/file.h"

namespace tpurun {
namespace {

// Files that are read at a time.
constexpr int64_t kFilesAtATime = 64;

struct ImageFile {
  std::string path;
  std::string class_name;
};

// Adds the files below a folder, in the order of their names. Hidden ones are left out.
absl::Status AddFilesBelow(const std::string& folder, const std::string& class_name,
                           std::vector<ImageFile>* files) {
  ASSIGN_OR_RETURN(std::vector<std::string> names, ListDirectory(folder));
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    if (name[0] == '.') continue;
    const std::string path = JoinPath(folder, name);
    if (IsDirectory(path)) {
      RETURN_IF_ERROR(AddFilesBelow(path, class_name, files));
    } else {
      files->push_back({path, class_name});
    }
  }
  return absl::OkStatus();
}

// A folder with a folder for each class.
absl::Status AddFolder(const std::string& folder, std::vector<ImageFile>* files) {
  ASSIGN_OR_RETURN(std::vector<std::string> names, ListDirectory(folder));
  std::sort(names.begin(), names.end());
  const size_t before = files->size();
  for (const std::string& name : names) {
    const std::string path = JoinPath(folder, name);
    if (name[0] == '.' || !IsDirectory(path)) continue;
    RETURN_IF_ERROR(AddFilesBelow(path, name, files));
  }
  if (files->size() > before) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      folder, ": want a folder for each class with its images, such as ",
      JoinPath(folder, "cat/1.jpg"), "; or a CSV file of rows NAME,CLASS in place of the folder"));
}

// A table of rows NAME,CLASS; names are relative to its folder.
absl::Status AddCsvTable(const std::string& path, int64_t skip_lines,
                         std::vector<ImageFile>* files) {
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
    const std::string image = JoinPath(DirName(path), std::string(StripBlanks(fields[0])));
    const std::string class_name(StripBlanks(fields[1]));
    if (!FileExists(image)) {
      return absl::NotFoundError(absl::StrCat(rows.Where(), ": there is no file ", image,
                                              "; --skip_lines=1 leaves out a header"));
    }
    if (class_name.empty()) {
      return absl::DataLossError(absl::StrCat(rows.Where(), ": column 1: the class is empty"));
    }
    files->push_back({image, class_name});
  }
}

absl::StatusOr<std::vector<ImageFile>> FindFiles(const ConvertArgs& args) {
  std::vector<ImageFile> files;
  for (const std::string& input : args.inputs) {
    RETURN_IF_ERROR(IsDirectory(input) ? AddFolder(input, &files)
                                       : AddCsvTable(input, args.skip_lines, &files));
  }
  return files;
}

// Their labels by name: in the order of numbers if all are numbers, else of their bytes.
std::map<std::string, int64_t> LabelsOf(const std::vector<ImageFile>& files) {
  std::map<std::string, int64_t> labels;
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

// A random order, so that every shard and every part has images of all classes.
void Shuffle(int64_t seed, std::vector<ImageFile>* files) {
  for (size_t i = files->size(); i > 1; --i) {
    const auto lanes =
        PhiloxBlock(static_cast<uint64_t>(seed), StreamOf("convert images"), 0, 0, i);
    std::swap((*files)[i - 1], (*files)[UniformBelow(lanes[0], lanes[1], i)]);
  }
}

absl::Status ReadImage(const ImageFile& file, const std::map<std::string, int64_t>& labels,
                       tensorflow::Example* example) {
  ASSIGN_OR_RETURN(std::string bytes, ReadFile(file.path));
  const absl::StatusOr<std::unique_ptr<EncodedImage>> image = EncodedImage::Open(bytes, {});
  if (!image.ok()) return Annotate(image.status(), file.path);
  *example = ToExample({.bytes = std::move(bytes),
                        .format = (*image)->format(),
                        .filename = BaseName(file.path),
                        .size = (*image)->size(),
                        .label = labels.at(file.class_name),
                        .class_name = file.class_name});
  return absl::OkStatus();
}

absl::Status WriteImages(std::span<const ImageFile> files,
                         const std::map<std::string, int64_t>& labels, const ExampleSink& write) {
  ThreadPool pool(static_cast<int>(AllowedCpus().size()));
  std::vector<tensorflow::Example> examples;
  std::vector<absl::Status> errors;
  for (size_t begin = 0; begin < files.size(); begin += kFilesAtATime) {
    const auto some = files.subspan(begin, std::min<size_t>(kFilesAtATime, files.size() - begin));
    examples.assign(some.size(), {});
    errors.assign(some.size(), absl::OkStatus());
    pool.ForEach(std::ssize(some),
                 [&](int64_t i, int) { errors[i] = ReadImage(some[i], labels, &examples[i]); });
    for (size_t i = 0; i < some.size(); ++i) {
      RETURN_IF_ERROR(errors[i]);
      RETURN_IF_ERROR(write(examples[i]));
    }
  }
  return absl::OkStatus();
}

std::string ClassesPath(const ConvertArgs& args) {
  return JoinPath(DirName(args.output), kClassesFile);
}

std::string ClassesText(const std::map<std::string, int64_t>& labels) {
  std::vector<std::string> names(labels.size());
  for (const auto& [name, label] : labels) names[label] = name;
  return absl::StrCat(absl::StrJoin(names, "\n"), "\n");
}

// Files of other labels may lie beside classes that are there: they are never replaced by others.
absl::Status CheckClassesPath(const ConvertArgs& args, const std::string& classes) {
  const std::string path = ClassesPath(args);
  if (IsAbsent(path)) return absl::OkStatus();
  const absl::StatusOr<std::string> there = ReadFile(path, classes.size() + 1);
  if (there.ok() && *there == classes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--output: ", path,
      " is there already and has not the classes of these images; write to another folder"));
}

}  // namespace

absl::Status CheckImages(const ConvertArgs& args) {
  if (args.inputs.empty()) {
    return absl::InvalidArgumentError(
        "convert images needs a folder with a folder for each class, or a CSV file of rows "
        "NAME,CLASS");
  }
  for (const std::string& input : args.inputs) {
    if (input == "-") {
      return absl::InvalidArgumentError(
          "convert images: got \"-\" (standard input), want a folder or a CSV file");
    }
  }
  const double begin = args.begin.value_or(0), end = args.end.value_or(1);
  if (!(begin >= 0 && begin < end && end <= 1)) {
    return absl::InvalidArgumentError(absl::StrCat("--begin and --end: got ", ShortestText(begin),
                                                   " and ", ShortestText(end),
                                                   ", want 0 <= begin < end <= 1"));
  }
  if (BaseName(args.output) == kClassesFile) {
    return absl::InvalidArgumentError(
        absl::StrCat("--output: ", args.output,
                     " is the name of the list of classes, which is written beside it"));
  }
  return absl::OkStatus();
}

absl::Status ConvertImages(const ConvertArgs& args, const ExampleSink& write) {
  ASSIGN_OR_RETURN(std::vector<ImageFile> files, FindFiles(args));
  const std::map<std::string, int64_t> labels = LabelsOf(files);
  const std::string classes = ClassesText(labels);
  // `init` reads the images before it writes them.
  const bool writes = !args.output.empty();
  if (writes) RETURN_IF_ERROR(CheckClassesPath(args, classes));
  Shuffle(args.seed, &files);
  const auto place = [&](double share) {
    return static_cast<size_t>(share * static_cast<double>(files.size()));
  };
  const size_t begin = place(args.begin.value_or(0)), end = place(args.end.value_or(1));
  RETURN_IF_ERROR(WriteImages(std::span(files).subspan(begin, end - begin), labels, write));
  return writes ? WriteFileAtomically(ClassesPath(args), classes) : absl::OkStatus();
}

}  // namespace tpurun
