// fixed_length_record { file record_bytes header_bytes footer_bytes }: each record_bytes bytes of a
// file, between its header and its footer, are a record.
#include <algorithm>
#include <utility>

#include "data/sources/file_by_file.h"
#include "data/sources/files.h"
#include "data/sources/source_list.h"
#include "runtime/base/status.h"
#include "runtime/io/file.h"

namespace tpurun {
namespace {

class FixedLengthReader : public FileByFile {
 public:
  FixedLengthReader(std::vector<std::string> files, const proto::FixedLengthRecord& config,
                    OnEmpty on_empty)
      : FileByFile(std::move(files)), config_(config), on_empty_(std::move(on_empty)) {}

  std::string Where(const Origin& origin) const override {
    return absl::StrCat("record ", origin.record, " of ", FileTitle(file(origin.file)), " (offset ",
                        origin.offset, ")");
  }

 private:
  absl::Status OpenFile() override {
    ASSIGN_OR_RETURN(source_, FileSource::Open(file(current())));
    records_ = 0;
    left_ = -1;
    const std::optional<uint64_t> size = source_->remaining();
    ASSIGN_OR_RETURN(const uint64_t skipped, source_->Skip(config_.header_bytes()));
    if (size.has_value()) return CheckSize(static_cast<int64_t>(*size));
    if (config_.footer_bytes() > 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          Title(), ": where footer_bytes begin is known of files alone, not of pipes"));
    }
    const auto header = static_cast<uint64_t>(config_.header_bytes());
    return skipped == header ? absl::OkStatus() : Short(skipped, header, "a header");
  }

  absl::Status CheckSize(int64_t size) {
    const int64_t around = config_.header_bytes() + config_.footer_bytes();
    left_ = (size - around) / config_.record_bytes();
    if (size >= around && (size - around) % config_.record_bytes() == 0) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat(Title(), ": got ", size, " bytes, want ",
                                            config_.header_bytes(), " of a header, a multiple of ",
                                            config_.record_bytes(), " of records and ",
                                            config_.footer_bytes(), " of a footer"));
  }

  absl::StatusOr<bool> ReadOfFile(SourceRecord* record) override {
    if (left_ == 0) return false;
    const auto size = static_cast<uint64_t>(config_.record_bytes());
    uint64_t got = 0;
    if (record == nullptr) {
      ASSIGN_OR_RETURN(got, source_->Skip(size));
    } else {
      record->bytes.resize(size);
      ASSIGN_OR_RETURN(got, ReadFully(*source_, record->bytes.data(), size));
      record->origin = {static_cast<int32_t>(current()), records_, OffsetOf(records_)};
    }
    if (got == 0 && left_ < 0) return false;
    if (got < size) return Short(got, size, absl::StrCat("record ", records_));
    ++records_;
    if (left_ > 0) --left_;
    return true;
  }

  absl::Status CheckEnded() const override {
    if (records_ > 0) return absl::OkStatus();
    return on_empty_(absl::StrCat(Title(), " has no records"));
  }

  std::string Title() const { return FileTitle(file(current())); }
  int64_t OffsetOf(int64_t record) const {
    return config_.header_bytes() + record * config_.record_bytes();
  }
  absl::Status Short(uint64_t got, uint64_t want, const std::string& of) const {
    return absl::DataLossError(
        absl::StrCat(Title(), ": got ", got, " bytes of ", of, ", want ", want));
  }

  const proto::FixedLengthRecord config_;
  const OnEmpty on_empty_;
  std::unique_ptr<FileSource> source_;
  int64_t records_ = 0;  // read of the file
  int64_t left_ = -1;    // of the file; -1: to its end
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
                      config.header_bytes(), " footer_bytes ", config.footer_bytes());
}

const FileNames& FixedLengthRecordFileNames(const proto::Source& source) {
  return source.fixed_length_record().file();
}

}  // namespace tpurun
