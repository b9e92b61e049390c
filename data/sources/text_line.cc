// text_line { file skip_lines header interleave skip_blank_lines }: each line of the files is a
// record, without its end ("\n" or "\r\n", or the end of the file).
#include <algorithm>
#include <map>
#include <utility>

#include "data/csv.h"
#include "data/line_reader.h"
#include "data/sources/files.h"
#include "data/sources/interleaved_files.h"
#include "data/sources/source_file.h"
#include "data/sources/source_list.h"
#include "runtime/base/status.h"
#include "runtime/io/file.h"

namespace tpurun {
namespace {

// The key of the line ahead of a file's records; empty where there is none.
std::string HeaderKey(const proto::TextLine& config) {
  return config.header() ? kHeader : config.skip_lines() > 0 ? kSkippedLine : "";
}

struct TextLineArgs {
  int64_t skip_lines = 0;
  bool has_header = false;
  bool skip_blank_lines = false;
  OnEmpty on_empty;
};

std::string LineOf(const std::string& file, int64_t line) {
  return absl::StrCat(FileTitle(file), ":", line);
}

class TextLineFile : public SourceFile {
 public:
  // Reads the lines ahead of the records. `args` must outlive it.
  static absl::StatusOr<std::unique_ptr<TextLineFile>> Open(const std::string& name,
                                                            const TextLineArgs& args) {
    ASSIGN_OR_RETURN(std::unique_ptr<FileSource> source, FileSource::Open(name));
    std::unique_ptr<TextLineFile> file(new TextLineFile(std::move(source), name, args));
    RETURN_IF_ERROR(file->ReadAhead());
    return file;
  }

  // The origin of a record is the number of its line.
  absl::StatusOr<bool> Read(SourceRecord* record) override {
    std::string_view line;
    ASSIGN_OR_RETURN(const bool found, ReadLine(args_.skip_blank_lines, &line));
    if (!found) return false;
    has_records_ = true;
    if (record != nullptr) {
      record->bytes.assign(line);
      record->origin = {.record = lines_ - 1};
    }
    return true;
  }

  absl::Status CheckEnd() const override {
    if (has_records_) return absl::OkStatus();
    std::string ahead;
    if (args_.skip_lines > 0) absl::StrAppend(&ahead, " and skip_lines is ", args_.skip_lines);
    if (args_.has_header) absl::StrAppend(&ahead, " and the header takes one");
    return args_.on_empty(absl::StrCat(FileTitle(name_), ": no data rows: the file has ", lines_,
                                       lines_ == 1 ? " line" : " lines", ahead));
  }

  // The last line ahead of the records; nullopt if the file has no such line.
  const std::optional<std::string>& header() const { return header_; }
  // True if the file has all lines that are to be ahead of the records.
  bool has_lines_ahead() const { return has_lines_ahead_; }
  // The lines that have been read, those ahead of the records too.
  int64_t lines() const { return lines_; }

 private:
  TextLineFile(std::unique_ptr<FileSource> source, const std::string& name,
               const TextLineArgs& args)
      : reader_(std::move(source)), name_(name), args_(args) {}

  // Reads the next line, or the next that is not blank. False at the end.
  absl::StatusOr<bool> ReadLine(bool skip_blank, std::string_view* line) {
    do {
      const absl::StatusOr<bool> found = reader_.Read(line);
      if (!found.ok()) return Annotate(found.status(), LineOf(name_, lines_ + 1));
      if (!*found) return false;
      ++lines_;
    } while (skip_blank && IsBlankLine(*line));
    return true;
  }

  absl::Status ReadAhead() {
    std::string_view line;
    const int64_t ahead = args_.skip_lines + (args_.has_header ? 1 : 0);
    for (int64_t i = 0; i < ahead; ++i) {
      const bool skip_blank = args_.skip_blank_lines && i == args_.skip_lines;
      ASSIGN_OR_RETURN(const bool found, ReadLine(skip_blank, &line));
      if (!found) return absl::OkStatus();
      RETURN_IF_ERROR(Annotate(CheckLineEnds(line), LineOf(name_, lines_)));
      header_ = line;
    }
    has_lines_ahead_ = true;
    return absl::OkStatus();
  }

  LineReader reader_;
  const std::string name_;
  const TextLineArgs& args_;
  int64_t lines_ = 0;
  bool has_lines_ahead_ = false;
  bool has_records_ = false;
  std::optional<std::string> header_;
};

class TextLineReader : public InterleavedFiles {
 public:
  TextLineReader(std::vector<std::string> files, const proto::TextLine& config,
                 const SourceArgs& args)
      : InterleavedFiles(std::move(files), OrderOf(config.interleave())),
        args_{config.skip_lines(), config.header(),
              config.has_skip_blank_lines() ? config.skip_blank_lines() : args.decodes_lines,
              args.on_empty} {}

  std::string Where(const Origin& origin) const override {
    return LineOf(file(origin.file), origin.record + 1);
  }
  std::string_view HeaderOf(const Origin& origin) const override {
    return headers_.at(origin.file);
  }

  // The last line ahead of the records of a file; nullopt where it has no such line.
  absl::StatusOr<std::optional<FileHeader>> ReadHeader(size_t index) const {
    ASSIGN_OR_RETURN(const std::unique_ptr<TextLineFile> opened,
                     TextLineFile::Open(file(index), args_));
    if (!opened->has_lines_ahead()) return std::nullopt;
    return FileHeader{LineOf(file(index), opened->lines()), *opened->header()};
  }

 private:
  absl::StatusOr<std::unique_ptr<SourceFile>> OpenFile(size_t index) override {
    ASSIGN_OR_RETURN(std::unique_ptr<TextLineFile> opened, TextLineFile::Open(file(index), args_));
    if (!opened->header().has_value()) return opened;
    const auto [header, first] =
        headers_.try_emplace(static_cast<int32_t>(index), *opened->header());
    if (first || header->second == *opened->header()) return opened;
    return absl::DataLossError(absl::StrCat(LineOf(file(index), opened->lines()),
                                            ": the line has changed since the pass before"));
  }

  const TextLineArgs args_;
  // The lines ahead of the records, by file, of those that have been opened.
  std::map<int32_t, const std::string> headers_;
};

absl::StatusOr<std::vector<FileHeader>> ReadHeaders(const std::vector<std::string>& files,
                                                    const proto::TextLine& config,
                                                    const SourceArgs& args) {
  std::vector<FileHeader> headers;
  if (!config.header() && config.skip_lines() == 0) return headers;
  const TextLineReader reader(files, config, args);
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
    TextLineReader counter(files, text_line, args);
    ASSIGN_OR_RETURN(opened.count, CountAll(counter));
  }
  ASSIGN_OR_RETURN(opened.headers, ReadHeaders(files, text_line, args));
  opened.records = std::make_unique<StreamedRecords>(
      std::make_unique<TextLineReader>(files, text_line, args), kLine, HeaderKey(text_line));
  opened.files = files;
  return opened;
}

std::string DescribeTextLine(const proto::Source& source) {
  const proto::TextLine& config = source.text_line();
  const char* const blank_lines = !config.has_skip_blank_lines() ? ""
                                  : config.skip_blank_lines()    ? " skip_blank_lines"
                                                                 : " keep_blank_lines";
  return absl::StrCat("text_line skip_lines ", config.skip_lines(),
                      config.header() ? " header" : "", blank_lines,
                      DescribeInterleave(config.interleave()));
}

const FileNames& TextLineFileNames(const proto::Source& source) {
  return source.text_line().file();
}

}  // namespace tpurun
