// Texts and their classes, for `init`, into records of the features text and label, both bytes. The
// inputs are folders with a folder for each class, a file a text; or files of lines
// LABEL<TAB>TEXT; or, with args.labels, a file of texts, a line each, whose labels are the lines of
// that file.
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "data/convert/convert.h"
#include "data/convert/image_files.h"
#include "data/line_reader.h"
#include "data/transforms/words.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/io/file.h"

namespace tpurun {
namespace {

constexpr std::string_view kUtf8Mark = "\xef\xbb\xbf";

absl::StatusOr<tensorflow::Example> TextExample(std::string_view text, std::string_view label) {
  if (text.size() > kMostSplitBytes) {
    return absl::DataLossError(absl::StrCat("the text has ", text.size(), " bytes, want at most ",
                                            kMostSplitBytes, ": divide it"));
  }
  if (std::all_of(text.begin(), text.end(), IsWordSpace)) {
    return absl::DataLossError("the text is empty: leave it out");
  }
  if (label.empty()) return absl::DataLossError("the label is empty, want the name of a class");
  if (!IsUtf8(text) || !IsUtf8(label)) {
    return absl::DataLossError(kNotUtf8);
  }
  tensorflow::Example example;
  auto& features = *example.mutable_features()->mutable_feature();
  features["text"].mutable_bytes_list()->add_value(std::string(text));
  features["label"].mutable_bytes_list()->add_value(std::string(label));
  return example;
}

// The files of folders, in a random order as those of images.
class TextFolders : public ImageList {
 public:
  TextFolders(ImageFiles files, const ConvertArgs& args)
      : ImageList(std::move(files), args, "kind: texts\n") {}

 protected:
  absl::StatusOr<tensorflow::Example> MakeExample(const ImageFile& file,
                                                  std::string bytes) const override {
    RETURN_IF_ERROR(CheckEncoding(bytes));
    return TextExample(bytes, file.class_name);
  }
};

absl::Status AddClassFolders(const std::string& folder, ImageFiles* files) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(folder));
  bool any = false;
  for (const std::string& name : names) {
    const std::string path = JoinPath(folder, name);
    if (name[0] == '.' || !IsDirectory(path)) continue;
    const size_t before = files->files.size();
    RETURN_IF_ERROR(files->AddFilesBelow(path, name));
    if (files->files.size() == before) {
      return absl::DataLossError(
          absl::StrCat(path, ": the class has no files: add texts, or remove the folder"));
    }
    any = true;
  }
  if (any) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(folder, ": want a folder for each class with its texts, such as ",
                   JoinPath(folder, "positive/1.txt"),
                   "; or files of lines LABEL<TAB>TEXT in place of the folder"));
}

// The lines of a file.
class TextLines {
 public:
  static absl::StatusOr<std::unique_ptr<TextLines>> Open(const std::string& path) {
    ASSIGN_OR_RETURN(std::unique_ptr<ByteSource> source, OpenMaybeGzip(path));
    return std::unique_ptr<TextLines>(new TextLines(path, std::move(source)));
  }

  absl::StatusOr<bool> Read(std::string_view* line) {
    const absl::StatusOr<bool> found = reader_.Read(line);
    if (!found.ok()) return Annotate(found.status(), absl::StrCat(path_, ":", number_ + 1));
    if (!*found) return false;
    if (++number_ == 1 && line->starts_with(kUtf8Mark)) line->remove_prefix(kUtf8Mark.size());
    RETURN_IF_ERROR(Annotate(CheckLineEnds(*line), Where()));
    return true;
  }

  int64_t number() const { return number_; }  // of the last line, from 1
  std::string Where() const { return absl::StrCat(path_, ":", number_); }

 private:
  TextLines(std::string path, std::unique_ptr<ByteSource> source)
      : path_(std::move(path)), reader_(std::move(source)) {}

  const std::string path_;
  LineReader reader_;
  int64_t number_ = 0;
};

absl::Status WriteLine(std::string_view text, std::string_view label, const TextLines& lines,
                       const ExampleSink& write) {
  const absl::StatusOr<tensorflow::Example> example = TextExample(text, label);
  if (!example.ok()) return Annotate(example.status(), lines.Where());
  return write(*example);
}

absl::Status ConvertTabbedLines(const std::string& path, const ExampleSink& write) {
  ASSIGN_OR_RETURN(const std::unique_ptr<TextLines> lines, TextLines::Open(path));
  while (true) {
    std::string_view line;
    ASSIGN_OR_RETURN(const bool found, lines->Read(&line));
    if (!found) break;
    const size_t tab = line.find('\t');
    if (tab == std::string_view::npos) {
      return absl::DataLossError(
          absl::StrCat(lines->Where(),
                       ": got a line without a tab, want LABEL<TAB>TEXT; or texts alone, and "
                       "--labels=FILE with a label for each line"));
    }
    RETURN_IF_ERROR(WriteLine(line.substr(tab + 1), line.substr(0, tab), *lines, write));
  }
  if (lines->number() > 0) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(path, ": is empty, want lines LABEL<TAB>TEXT"));
}

absl::Status ConvertLabelledLines(const std::string& path, const std::string& labels_path,
                                  const ExampleSink& write) {
  ASSIGN_OR_RETURN(const std::unique_ptr<TextLines> texts, TextLines::Open(path));
  ASSIGN_OR_RETURN(const std::unique_ptr<TextLines> labels, TextLines::Open(labels_path));
  while (true) {
    std::string_view text, label;
    ASSIGN_OR_RETURN(const bool has_text, texts->Read(&text));
    ASSIGN_OR_RETURN(const bool has_label, labels->Read(&label));
    if (has_text != has_label) {
      const TextLines& shorter = has_text ? *labels : *texts;
      return absl::DataLossError(absl::StrCat(
          has_text ? labels_path : path, ": ends after ", shorter.number(), " lines, and ",
          has_text ? path : labels_path, " has more; want a label for each line"));
    }
    if (!has_text) break;
    RETURN_IF_ERROR(WriteLine(text, label, *texts, write));
  }
  if (texts->number() > 0) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(path, ": is empty, want a text a line"));
}

}  // namespace

absl::Status CheckLabelledTexts(const ConvertArgs& args) {
  if (args.labels.empty()) return absl::OkStatus();
  if (args.inputs.size() == 1 && !IsDirectory(args.inputs[0])) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "--labels has the labels of one file of texts, a line each; the class of a text in a folder "
      "is its folder, that of a line LABEL<TAB>TEXT is in the line");
}

absl::Status ConvertLabelledTexts(const ConvertArgs& args, const ExampleSink& write) {
  if (!args.labels.empty()) return ConvertLabelledLines(args.inputs[0], args.labels, write);
  ImageFiles files;
  for (const std::string& input : args.inputs) {
    if (IsDirectory(input)) {
      RETURN_IF_ERROR(AddClassFolders(input, &files));
    } else {
      RETURN_IF_ERROR(ConvertTabbedLines(input, write));
    }
  }
  return WriteList(TextFolders(std::move(files), args), write);
}

}  // namespace tpurun
