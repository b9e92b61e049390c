#include "data/convert/image_files.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/random.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/io/file.h"

namespace tpurun {
namespace {

void Shuffle(int64_t seed, std::vector<ImageFile>* files) {
  for (size_t i = files->size(); i > 1; --i) {
    const auto lanes =
        PhiloxBlock(static_cast<uint64_t>(seed), StreamOf("convert images"), 0, 0, i);
    std::swap((*files)[i - 1], (*files)[UniformBelow(lanes[0], lanes[1], i)]);
  }
}

// Keeps the files from one share of their number to another.
void KeepPart(double begin, double end, std::vector<ImageFile>* files) {
  const auto place = [count = static_cast<double>(files->size())](double share) {
    return static_cast<int64_t>(share * count);
  };
  const int64_t from = place(begin), to = place(end);
  files->erase(files->begin() + to, files->end());
  files->erase(files->begin(), files->begin() + from);
}

}  // namespace

bool IsHiddenFile(const std::string& name) {
  constexpr std::string_view kKnown[] = {"Thumbs.db", "ehthumbs.db", "desktop.ini", "Icon\r"};
  const auto is_name = [&](std::string_view known) {
    return absl::EqualsIgnoreCase(name, ToAbsl(known));
  };
  return name.starts_with('.') || std::any_of(std::begin(kKnown), std::end(kKnown), is_name);
}

absl::StatusOr<std::vector<std::string>> ImageFilesBelow(const std::string& folder) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(folder));
  std::vector<std::string> files;
  for (const std::string& name : names) {
    if (IsHiddenFile(name)) continue;
    const std::string path = JoinPath(folder, name);
    if (IsDirectory(path)) {
      ASSIGN_OR_RETURN(const std::vector<std::string> below, ImageFilesBelow(path));
      files.insert(files.end(), below.begin(), below.end());
    } else {
      files.push_back(path);
    }
  }
  return files;
}

void ImageFiles::AddFile(const std::string& path, const std::string& class_name) {
  for (const std::string& text : {path, FileStamp(path), class_name}) identity.Add(text);
  files.push_back({.name = path, .class_name = class_name});
}

absl::Status ImageFiles::AddFilesBelow(const std::string& folder, const std::string& class_name) {
  ASSIGN_OR_RETURN(const std::vector<std::string> paths, ImageFilesBelow(folder));
  for (const std::string& path : paths) AddFile(path, class_name);
  return absl::OkStatus();
}

int ImageFiles::AddArchive(const std::string& path) {
  for (const std::string& text : {path, FileStamp(path)}) identity.Add(text);
  archives.push_back(path);
  return static_cast<int>(archives.size()) - 1;
}

std::string ImageFiles::Title(const ImageFile& file) const {
  return file.archive < 0 ? file.name : absl::StrCat(archives[file.archive], ": ", file.name);
}

absl::StatusOr<std::string> ImageFiles::Read(const ImageFile& file) const {
  if (file.archive < 0) return ReadFile(file.name);
  ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> archive,
                   RandomAccessFile::Open(archives[file.archive]));
  std::string bytes(file.range.size, '\0');
  RETURN_IF_ERROR(archive->ReadAt(file.range.offset, bytes.data(), bytes.size()));
  return bytes;
}

absl::Status CheckNoStandardInput(const char* flag, const std::string& path) {
  if (path != "-") return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(flag, ": got \"-\" (standard input), want a file"));
}

absl::Status CheckImageInputs(const char* kind, const char* want, const ConvertArgs& args) {
  if (args.inputs.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("convert ", kind, " needs ", want));
  }
  for (const std::string& input : args.inputs) {
    if (input != "-") continue;
    return absl::InvalidArgumentError(
        absl::StrCat("convert ", kind, ": got \"-\" (standard input), want ", want));
  }
  const double begin = args.begin.value_or(0), end = args.end.value_or(1);
  if (begin >= 0 && begin < end && end <= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--begin and --end: got ", ShortestText(begin),
                                                 " and ", ShortestText(end),
                                                 ", want 0 <= begin < end <= 1"));
}

ImageList::ImageList(ImageFiles images, const ConvertArgs& args, std::string identity)
    : images_(std::move(images)) {
  const double begin = args.begin.value_or(0), end = args.end.value_or(1);
  Shuffle(args.seed, &images_.files);
  KeepPart(begin, end, &images_.files);
  identity_ =
      absl::StrCat(identity, "seed: ", args.seed, "\nbegin: ", ShortestText(begin),
                   "\nend: ", ShortestText(end), "\nfiles: ", images_.identity.text(), "\n");
}

std::string ImageList::Identity() const { return identity_; }

absl::StatusOr<tensorflow::Example> ImageList::Read(int64_t i) const {
  const ImageFile& file = images_.files[i];
  ASSIGN_OR_RETURN(std::string bytes, images_.Read(file));
  absl::StatusOr<tensorflow::Example> example = MakeExample(file, std::move(bytes));
  if (!example.ok()) return Annotate(example.status(), images_.Title(file));
  return example;
}

}  // namespace tpurun
