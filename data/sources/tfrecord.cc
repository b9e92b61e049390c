// tfrecord { file compression num_parallel_reads shuffle_files }: each record of the files is a
// record. num_parallel_reads files are read in turn, a record of each; where one has ended, the
// next file is opened when its turn comes again, as tf.data's interleave does (its block_length
// being 1). shuffle_files draws the order of the files anew for every pass.
#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_join.h"
#include "data/sources/files.h"
#include "data/sources/source_list.h"
#include "runtime/base/random.h"
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

class TfrecordReader : public SourceReader {
 public:
  TfrecordReader(std::vector<std::string> files, const proto::Tfrecord& tfrecord, OnEmpty on_empty,
                 uint64_t seed)
      : files_(std::move(files)),
        compression_(CompressionOf(tfrecord)),
        buffer_bytes_(tfrecord.buffer_size()),
        shuffle_(tfrecord.shuffle_files()),
        on_empty_(std::move(on_empty)),
        seed_(seed),
        open_(std::min<size_t>(tfrecord.num_parallel_reads(), files_.size())) {
    OrderFiles(0);
  }

  absl::StatusOr<bool> Read(SourceRecord* record) override {
    while (num_open_ > 0 || next_file_ < order_.size()) {
      OpenFile& file = open_[turn_];
      if (file.reader == nullptr) {
        if (next_file_ == order_.size()) {
          NextTurn();
          continue;
        }
        RETURN_IF_ERROR(OpenNextFile(&file));
      }
      const Origin origin = {file.index, file.reader->num_records(),
                             static_cast<int64_t>(file.reader->offset())};
      ASSIGN_OR_RETURN(const bool found,
                       record == nullptr ? file.reader->Skip() : file.reader->Read(&record->bytes));
      if (found) {
        if (record != nullptr) record->origin = origin;
        NextTurn();
        return true;
      }
      if (origin.record == 0) {
        RETURN_IF_ERROR(on_empty_(absl::StrCat(FileTitle(files_[file.index]), " has no records")));
      }
      file.reader = nullptr;
      --num_open_;
      NextTurn();
    }
    return false;
  }

  bool order_varies() const override { return shuffle_; }

  absl::Status StartEpoch(int64_t epoch) override {
    // At the start of a pass nothing was read, and a pipe need not be read again.
    if (next_file_ > 0) RETURN_IF_ERROR(CheckReadableAgain(files_));
    for (OpenFile& file : open_) file.reader = nullptr;
    num_open_ = 0;
    turn_ = 0;
    next_file_ = 0;
    OrderFiles(epoch);
    return absl::OkStatus();
  }

  std::string Where(const Origin& origin) const override {
    return absl::StrCat("record ", origin.record, " of ", FileTitle(files_[origin.file]),
                        " (offset ", origin.offset, ")");
  }

 private:
  struct OpenFile {
    int32_t index = 0;
    std::unique_ptr<RecordReader> reader;
  };

  void OrderFiles(int64_t epoch) {
    order_.resize(files_.size());
    std::iota(order_.begin(), order_.end(), 0);
    if (!shuffle_) return;
    for (size_t i = order_.size(); i > 1; --i) {
      const auto lanes =
          PhiloxBlock(seed_, StreamOf("shuffle_files"), static_cast<uint32_t>(epoch), 0, i);
      std::swap(order_[i - 1], order_[UniformBelow(lanes[0], lanes[1], i)]);
    }
  }

  absl::Status OpenNextFile(OpenFile* file) {
    file->index = order_[next_file_++];
    ASSIGN_OR_RETURN(file->reader,
                     RecordReader::Open(files_[file->index], compression_, buffer_bytes_));
    ++num_open_;
    return absl::OkStatus();
  }

  void NextTurn() {
    if (++turn_ == open_.size()) turn_ = 0;
  }

  const std::vector<std::string> files_;
  const Compression compression_;
  const size_t buffer_bytes_;
  const bool shuffle_;
  const OnEmpty on_empty_;
  const uint64_t seed_;
  std::vector<int32_t> order_;  // of files_ in this pass
  size_t next_file_ = 0;        // of order_
  std::vector<OpenFile> open_;  // a null reader where no file is open
  size_t num_open_ = 0;
  size_t turn_ = 0;  // the file of open_ that gives the next record
};

}  // namespace

std::optional<Schema> TfrecordSchema(const proto::Source& source, ConfigErrors& errors) {
  const proto::Tfrecord& tfrecord = source.tfrecord();
  CheckFileNames(tfrecord.file(), errors);
  if (!errors.empty()) return std::nullopt;
  if (tfrecord.num_parallel_reads() > 1) {
    errors.Warn({.path = "num_parallel_reads"}, "",
                absl::StrCat("num_parallel_reads: ", tfrecord.num_parallel_reads(),
                             " takes a record of each file in turn, and reads no faster yet: one "
                             "thread reads them all"));
  }
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
                      tfrecord.shuffle_files() ? " shuffle_files" : "");
}

const FileNames& TfrecordFileNames(const proto::Source& source) { return source.tfrecord().file(); }

}  // namespace tpurun
