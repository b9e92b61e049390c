// text_line { file skip_lines }: each line of the files is a record, without its end ("\n" or
// "\r\n", or the end of the file).
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "data/line_reader.h"
#include "data/sources/file_by_file.h"
#include "data/sources/files.h"
#include "data/sources/source_list.h"
#include "runtime/base/status.h"
#include "runtime/io/file.h"

namespace tpurun {
namespace {

// Standard input, handed on as it comes: a pipe's rows are not kept back until a block is full.
class StandardInput : public ByteSource {
 public:
  absl::StatusOr<size_t> Read(char* out, size_t size) override {
    while (true) {
      const ssize_t got = ::read(STDIN_FILENO, out, size);
      if (got >= 0) return got;
      if (errno != EINTR) {
        return absl::NotFoundError(
            absl::StrCat("cannot read standard input: ", std::strerror(errno)));
      }
    }
  }
};

absl::StatusOr<std::unique_ptr<ByteSource>> OpenByteSource(const std::string& file) {
  if (file == kStandardInput) return std::make_unique<StandardInput>();
  ASSIGN_OR_RETURN(std::unique_ptr<FileSource> source, FileSource::Open(file));
  return source;
}

class TextLineReader : public FileByFile {
 public:
  TextLineReader(std::vector<std::string> files, int64_t skip_lines, bool allow_empty)
      : FileByFile(std::move(files)), skip_lines_(skip_lines), allow_empty_(allow_empty) {}

  std::string Where(const Origin& origin) const override {
    return Place(origin.file, skip_lines_ + origin.record + 1);
  }

 private:
  std::string Place(size_t index, int64_t line) const {
    return absl::StrCat(FileTitle(file(index)), ":", line);
  }

  absl::Status OpenFile() override {
    ASSIGN_OR_RETURN(std::unique_ptr<ByteSource> source, OpenByteSource(file(current())));
    reader_ = std::make_unique<LineReader>(std::move(source));
    for (lines_ = 0; lines_ < skip_lines_; ++lines_) {
      std::string_view line;
      const absl::StatusOr<bool> found = reader_->Read(&line);
      if (!found.ok()) return Annotate(found.status(), Place(current(), lines_ + 1));
      if (!*found) break;
    }
    return absl::OkStatus();
  }

  absl::StatusOr<bool> ReadOfFile(SourceRecord* record) override {
    std::string_view line;
    const absl::StatusOr<bool> found = reader_->Read(&line);
    if (!found.ok()) return Annotate(found.status(), Place(current(), lines_ + 1));
    if (!*found) return false;
    ++lines_;
    if (record != nullptr) {
      record->bytes.assign(line);
      record->origin = {.file = static_cast<int32_t>(current()),
                        .record = lines_ - skip_lines_ - 1};
    }
    return true;
  }

  absl::Status CheckEnded() const override {
    if (lines_ > skip_lines_ || allow_empty_) return absl::OkStatus();
    return absl::DataLossError(
        absl::StrCat(FileTitle(file(current())), ": no data rows: the file has ", lines_,
                     lines_ == 1 ? " line" : " lines",
                     skip_lines_ > 0 ? absl::StrCat(" and skip_lines is ", skip_lines_) : ""));
  }

  const int64_t skip_lines_;
  const bool allow_empty_;
  std::unique_ptr<LineReader> reader_;  // of the file that is open
  int64_t lines_ = 0;                   // read of this file, skipped ones too
};

}  // namespace

std::optional<Schema> TextLineSchema(const proto::Source& source, ConfigErrors& errors) {
  const proto::TextLine& text_line = source.text_line();
  CheckFileNames(text_line.file(), errors);
  if (text_line.skip_lines() < 0) {
    errors.Add("skip_lines", absl::StrCat("skip_lines must be >= 0, got ", text_line.skip_lines()));
  }
  if (!errors.empty()) return std::nullopt;
  return Schema{{"line", proto::STRING, {}}};
}

absl::StatusOr<OpenedSource> OpenTextLine(const proto::Source& source, const SourceArgs& args) {
  const proto::TextLine& text_line = source.text_line();
  ASSIGN_OR_RETURN(const std::vector<std::string> files,
                   ExpandFileNames(text_line.file(), args.directory, args.where));
  OpenedSource opened;
  if (args.count != CountRecords::kNo && std::all_of(files.begin(), files.end(), IsRegularFile)) {
    TextLineReader counter(files, text_line.skip_lines(), args.allow_empty);
    ASSIGN_OR_RETURN(opened.count, CountAll(counter));
  }
  opened.records = std::make_unique<StreamedRecords>(
      std::make_unique<TextLineReader>(files, text_line.skip_lines(), args.allow_empty), "line");
  opened.files = files;
  return opened;
}

std::string DescribeTextLine(const proto::Source& source) {
  return absl::StrCat("text_line skip_lines ", source.text_line().skip_lines());
}

const FileNames& TextLineFileNames(const proto::Source& source) {
  return source.text_line().file();
}

}  // namespace tpurun
