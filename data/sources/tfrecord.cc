// tfrecord { file compression num_parallel_reads shuffle_files interleave }: each record of the
// files is a record.
#include <algorithm>
#include <utility>

#include "data/sources/files.h"
#include "data/sources/interleaved_files.h"
#include "data/sources/source_file.h"
#include "data/sources/source_list.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/io/file.h"
#include "runtime/io/record_reader.h"

namespace tpurun {
namespace {

Compression CompressionOf(const proto::Tfrecord& tfrecord) {
  switch (tfrecord.compression()) {
    case proto::Tfrecord::GZIP:
      return Compression::kGzip;
    case proto::Tfrecord::ZLIB:
      return Compression::kZlib;
    case proto::Tfrecord::NONE:
      break;
  }
  return Compression::kNone;
}

InterleavedFiles::Order OrderOfFiles(const proto::Tfrecord& tfrecord, uint64_t seed) {
  InterleavedFiles::Order order = OrderOf(tfrecord.interleave());
  if (!tfrecord.has_interleave()) order.cycle_length = tfrecord.num_parallel_reads();
  order.shuffle_files = tfrecord.shuffle_files();
  order.seed = seed;
  order.reads_ahead = tfrecord.compression() != proto::Tfrecord::NONE;
  return order;
}

class TfrecordFile : public SourceFile {
 public:
  TfrecordFile(std::unique_ptr<RecordReader> reader, std::string name, OnEmpty on_empty)
      : reader_(std::move(reader)), name_(std::move(name)), on_empty_(std::move(on_empty)) {}

  absl::StatusOr<bool> Read(SourceRecord* record) override {
    if (record == nullptr) return reader_->Skip();
    record->origin.record = reader_->num_records();
    record->origin.offset = static_cast<int64_t>(reader_->offset());
    return reader_->Read(&record->bytes);
  }

  absl::Status CheckEnd() const override {
    if (reader_->num_records() > 0) return absl::OkStatus();
    return on_empty_(absl::StrCat(FileTitle(name_), " has no records"));
  }

 private:
  const std::unique_ptr<RecordReader> reader_;
  const std::string name_;
  const OnEmpty on_empty_;
};

class TfrecordReader : public InterleavedFiles {
 public:
  TfrecordReader(std::vector<std::string> files, const proto::Tfrecord& tfrecord, OnEmpty on_empty,
                 uint64_t seed)
      : InterleavedFiles(std::move(files), OrderOfFiles(tfrecord, seed)),
        compression_(CompressionOf(tfrecord)),
        buffer_bytes_(tfrecord.buffer_size()),
        on_empty_(std::move(on_empty)) {}

 private:
  absl::StatusOr<std::unique_ptr<SourceFile>> OpenFile(size_t index) override {
    ASSIGN_OR_RETURN(std::unique_ptr<RecordReader> reader,
                     RecordReader::Open(file(index), compression_, buffer_bytes_));
    return std::make_unique<TfrecordFile>(std::move(reader), file(index), on_empty_);
  }

  const Compression compression_;
  const size_t buffer_bytes_;
  const OnEmpty on_empty_;
};

}  // namespace

std::optional<Schema> TfrecordSchema(const proto::Source& source, ConfigErrors& errors) {
  const proto::Tfrecord& tfrecord = source.tfrecord();
  CheckFileNames(tfrecord.file(), errors);
  if (!errors.empty()) return std::nullopt;
  return Schema{{kRecord, proto::STRING, {}}};
}

absl::StatusOr<OpenedSource> OpenTfrecord(const proto::Source& source, const SourceArgs& args) {
  const proto::Tfrecord& tfrecord = source.tfrecord();
  ASSIGN_OR_RETURN(const std::vector<std::string> files,
                   ExpandFileNames(tfrecord.file(), args.directory, args.where));
  const auto make_reader = [&] {
    return std::make_unique<TfrecordReader>(files, tfrecord, args.on_empty, args.seed);
  };
  OpenedSource opened;
  // Only what is not compressed can be counted without reading all of it.
  const bool count =
      args.count == CountRecords::kYes ||
      (args.count == CountRecords::kIfQuick && tfrecord.compression() == proto::Tfrecord::NONE);
  if (count && std::all_of(files.begin(), files.end(), IsRegularFile)) {
    ASSIGN_OR_RETURN(opened.count, CountAll(*make_reader()));
  }
  opened.records = std::make_unique<StreamedRecords>(make_reader(), kRecord);
  opened.files = files;
  return opened;
}

std::string DescribeTfrecord(const proto::Source& source) {
  const proto::Tfrecord& tfrecord = source.tfrecord();
  return absl::StrCat("tfrecord num_parallel_reads ", tfrecord.num_parallel_reads(),
                      tfrecord.shuffle_files() ? " shuffle_files" : "",
                      DescribeInterleave(tfrecord.interleave()));
}

const FileNames& TfrecordFileNames(const proto::Source& source) { return source.tfrecord().file(); }

}  // namespace tpurun
