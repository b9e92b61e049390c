// text_line { file skip_lines header }: each line of the files is a record, without its end ("\n"
// or
// "\r\n", or the end of the file).
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
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

// The key of the line ahead of a file's records; empty where there is none.
std::string HeaderKey(const proto::TextLine& config) {
  return config.header() ? kHeader : config.skip_lines() > 0 ? kSkippedLine : "";
}

class TextLineReader : public FileByFile {
 public:
  TextLineReader(std::vector<std::string> files, const proto::TextLine& config, OnEmpty on_empty)
      : FileByFile(std::move(files)),
        skip_lines_(config.skip_lines()),
        has_header_(config.header()),
        on_empty_(std::move(on_empty)) {}

  std::string Where(const Origin& origin) const override {
    return Place(origin.file, lines_ahead() + origin.record + 1);
  }
  std::string_view HeaderOf(const Origin& origin) const override {
    return headers_.at(origin.file);
  }

  // The last line ahead of the records of a file; nullopt where it has no such line.
  absl::StatusOr<std::optional<FileHeader>> ReadHeader(size_t index) {
    headers_.clear();
    RETURN_IF_ERROR(OpenFile(index));
    if (lines_ < lines_ahead()) return std::nullopt;
    return FileHeader{Place(index, lines_), headers_.at(static_cast<int32_t>(index))};
  }

 private:
  int64_t lines_ahead() const { return skip_lines_ + (has_header_ ? 1 : 0); }

  std::string Place(size_t index, int64_t line) const {
    return absl::StrCat(FileTitle(file(index)), ":", line);
  }

  absl::Status OpenFile() override { return OpenFile(current()); }

  absl::Status OpenFile(size_t index) {
    ASSIGN_OR_RETURN(std::unique_ptr<ByteSource> source, OpenByteSource(file(index)));
    reader_ = std::make_unique<LineReader>(std::move(source));
    std::string_view line;
    for (lines_ = 0; lines_ < lines_ahead(); ++lines_) {
      const absl::StatusOr<bool> found = reader_->Read(&line);
      if (!found.ok()) return Annotate(found.status(), Place(index, lines_ + 1));
      if (!*found) return absl::OkStatus();
      RETURN_IF_ERROR(Annotate(CheckLineEnds(line), Place(index, lines_ + 1)));
    }
    if (lines_ == 0) return absl::OkStatus();
    const auto [header, first] = headers_.try_emplace(static_cast<int32_t>(index), line);
    if (first || header->second == line) return absl::OkStatus();
    return absl::DataLossError(
        absl::StrCat(Place(index, lines_), ": the line has changed since the pass before"));
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
                        .record = lines_ - lines_ahead() - 1};
    }
    return true;
  }

  absl::Status CheckEnded() const override {
    if (lines_ > lines_ahead()) return absl::OkStatus();
    std::string ahead;
    if (skip_lines_ > 0) absl::StrAppend(&ahead, " and skip_lines is ", skip_lines_);
    if (has_header_) absl::StrAppend(&ahead, " and the header takes one");
    return on_empty_(absl::StrCat(FileTitle(file(current())), ": no data rows: the file has ",
                                  lines_, lines_ == 1 ? " line" : " lines", ahead));
  }

  const int64_t skip_lines_;
  const bool has_header_;
  const OnEmpty on_empty_;
  std::unique_ptr<LineReader> reader_;  // of the file that is open
  int64_t lines_ = 0;                   // read of this file, those ahead of the records too
  // By file, the last line ahead of the records, of those that have been opened.
  std::map<int32_t, const std::string> headers_;
};

absl::StatusOr<std::vector<FileHeader>> ReadHeaders(const std::vector<std::string>& files,
                                                    const proto::TextLine& config) {
  std::vector<FileHeader> headers;
  if (!config.header() && config.skip_lines() == 0) return headers;
  TextLineReader reader(files, config, nullptr);
  for (size_t i = 0; i < files.size(); ++i) {
    if (!IsRegularFile(files[i])) continue;
    ASSIGN_OR_RETURN(std::optional<FileHeader> header, reader.ReadHeader(i));
    if (header.has_value()) headers.push_back(*std::move(header));
  }
  return headers;
}

}  // namespace

std::optional<Schema> TextLineSchema(const proto::Source& source, ConfigErrors& errors) {
  const proto::TextLine& text_line = source.text_line();
  CheckFileNames(text_line.file(), errors);
  if (!errors.empty()) return std::nullopt;
  Schema schema = {{kLine, proto::STRING, {}}};
  const std::string header_key = HeaderKey(text_line);
  if (!header_key.empty()) schema.push_back({header_key, proto::STRING, {}});
  return schema;
}

absl::StatusOr<OpenedSource> OpenTextLine(const proto::Source& source, const SourceArgs& args) {
  const proto::TextLine& text_line = source.text_line();
  ASSIGN_OR_RETURN(const std::vector<std::string> files,
                   ExpandFileNames(text_line.file(), args.directory, args.where));
  OpenedSource opened;
  if (args.count != CountRecords::kNo && std::all_of(files.begin(), files.end(), IsRegularFile)) {
    TextLineReader counter(files, text_line, args.on_empty);
    ASSIGN_OR_RETURN(opened.count, CountAll(counter));
  }
  ASSIGN_OR_RETURN(opened.headers, ReadHeaders(files, text_line));
  opened.records = std::make_unique<StreamedRecords>(
      std::make_unique<TextLineReader>(files, text_line, args.on_empty), kLine,
      HeaderKey(text_line));
  opened.files = files;
  return opened;
}

std::string DescribeTextLine(const proto::Source& source) {
  return absl::StrCat("text_line skip_lines ", source.text_line().skip_lines(),
                      source.text_line().header() ? " header" : "");
}

const FileNames& TextLineFileNames(const proto::Source& source) {
  return source.text_line().file();
}

}  // namespace tpurun
