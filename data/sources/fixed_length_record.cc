// fixed_length_record { file record_bytes header_bytes footer_bytes interleave }: each record_bytes
// bytes of a file, between its header and its footer, are a record.
#include <algorithm>
#include <utility>

#include "data/sources/files.h"
#include "data/sources/interleaved_files.h"
#include "data/sources/source_file.h"
#include "data/sources/source_list.h"
#include "runtime/base/status.h"
#include "runtime/io/file.h"

namespace tpurun {
namespace {

class FixedLengthFile : public SourceFile {
 public:
  // Reads the header. `config` must outlive it.
  static absl::StatusOr<std::unique_ptr<FixedLengthFile>> Open(
      const std::string& name, const proto::FixedLengthRecord& config, const OnEmpty& on_empty) {
    ASSIGN_OR_RETURN(std::unique_ptr<FileSource> source, FileSource::Open(name));
    std::unique_ptr<FixedLengthFile> file(
        new FixedLengthFile(std::move(source), name, config, on_empty));
    RETURN_IF_ERROR(file->SkipHeader());
    return file;
  }

  absl::StatusOr<bool> Read(SourceRecord* record) override {
    if (left_ == 0) return false;
    const auto size = static_cast<uint64_t>(config_.record_bytes());
    uint64_t got = 0;
    if (record == nullptr) {
      ASSIGN_OR_RETURN(got, source_->Skip(size));
    } else {
      record->bytes.resize(size);
      ASSIGN_OR_RETURN(got, ReadFully(*source_, record->bytes.data(), size));
      record->origin = {.record = records_, .offset = OffsetOf(records_)};
    }
    if (got == 0 && left_ < 0) return false;
    if (got < size) return Short(got, size, absl::StrCat("record ", records_));
    ++records_;
    if (left_ > 0) --left_;
    return true;
  }

  absl::Status CheckEnd() const override {
    if (records_ > 0) return absl::OkStatus();
    return on_empty_(absl::StrCat(title_, " has no records"));
  }

 private:
  FixedLengthFile(std::unique_ptr<FileSource> source, const std::string& name,
                  const proto::FixedLengthRecord& config, OnEmpty on_empty)
      : source_(std::move(source)),
        title_(FileTitle(name)),
        config_(config),
        on_empty_(std::move(on_empty)) {}

  absl::Status SkipHeader() {
    const std::optional<uint64_t> size = source_->remaining();
    ASSIGN_OR_RETURN(const uint64_t skipped, source_->Skip(config_.header_bytes()));
    if (size.has_value()) return CheckSize(static_cast<int64_t>(*size));
    if (config_.footer_bytes() > 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(title_, ": where footer_bytes begin is known of files alone, not of pipes"));
    }
    const auto header = static_cast<uint64_t>(config_.header_bytes());
    return skipped == header ? absl::OkStatus() : Short(skipped, header, "a header");
  }

  absl::Status CheckSize(int64_t size) {
    const int64_t around = config_.header_bytes() + config_.footer_bytes();
    left_ = (size - around) / config_.record_bytes();
    if (size >= around && (size - around) % config_.record_bytes() == 0) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat(title_, ": got ", size, " bytes, want ",
                                            config_.header_bytes(), " of a header, a multiple of ",
                                            config_.record_bytes(), " of records and ",
                                            config_.footer_bytes(), " of a footer"));
  }

  int64_t OffsetOf(int64_t record) const {
    return config_.header_bytes() + record * config_.record_bytes();
  }
  absl::Status Short(uint64_t got, uint64_t want, const std::string& of) const {
    return absl::DataLossError(
        absl::StrCat(title_, ": got ", got, " bytes of ", of, ", want ", want));
  }

  const std::unique_ptr<FileSource> source_;
  const std::string title_;
  const proto::FixedLengthRecord& config_;
  const OnEmpty on_empty_;
  int64_t records_ = 0;  // read of the file
  int64_t left_ = -1;    // of the file; -1: to its end
};

class FixedLengthReader : public InterleavedFiles {
 public:
  FixedLengthReader(std::vector<std::string> files, const proto::FixedLengthRecord& config,
                    OnEmpty on_empty)
      : InterleavedFiles(std::move(files), OrderOf(config.interleave())),
        config_(config),
        on_empty_(std::move(on_empty)) {}

 private:
  absl::StatusOr<std::unique_ptr<SourceFile>> OpenFile(size_t index) override {
    return FixedLengthFile::Open(file(index), config_, on_empty_);
  }

  const proto::FixedLengthRecord config_;
  const OnEmpty on_empty_;
};

}  // namespace

std::optional<Schema> FixedLengthRecordSchema(const proto::Source& source, ConfigErrors& errors) {
  const proto::FixedLengthRecord& config = source.fixed_length_record();
  CheckFileNames(config.file(), errors);
  if (!errors.empty()) return std::nullopt;
  return Schema{{kRecord, proto::STRING, {}}};
}

absl::StatusOr<OpenedSource> OpenFixedLengthRecord(const proto::Source& source,
                                                   const SourceArgs& args) {
  const proto::FixedLengthRecord& config = source.fixed_length_record();
  OpenedSource opened;
  ASSIGN_OR_RETURN(opened.files, ExpandFileNames(config.file(), args.directory, args.where));
  const auto make_reader = [&] {
    return std::make_unique<FixedLengthReader>(opened.files, config, args.on_empty);
  };
  if (args.count != CountRecords::kNo &&
      std::all_of(opened.files.begin(), opened.files.end(), IsRegularFile)) {
    ASSIGN_OR_RETURN(opened.count, CountAll(*make_reader()));
  }
  opened.records = std::make_unique<StreamedRecords>(make_reader(), kRecord);
  return opened;
}

std::string DescribeFixedLengthRecord(const proto::Source& source) {
  const proto::FixedLengthRecord& config = source.fixed_length_record();
  return absl::StrCat("fixed_length_record record_bytes ", config.record_bytes(), " header_bytes ",
                      config.header_bytes(), " footer_bytes ", config.footer_bytes(),
                      DescribeInterleave(config.interleave()));
}

const FileNames& FixedLengthRecordFileNames(const proto::Source& source) {
  return source.fixed_length_record().file();
}

}  // namespace tpurun
