// Reads the records of a file one after the other (record_format.h). Not thread-safe.
#ifndef TPURUN_RUNTIME_IO_RECORD_READER_H_
#define TPURUN_RUNTIME_IO_RECORD_READER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/io/file.h"
#include "runtime/io/record_format.h"

namespace tpurun {

// The largest payload that is read: a length that lies costs no more memory than that.
inline constexpr uint64_t kMaxRecordBytes = 32 << 20;

// Damage is DataLoss and names the file, the record (from 0), its byte offset (in the uncompressed
// stream) and what was got and wanted. After an error the reader stays where it is: every further
// call returns the same error.
class RecordReader {
 public:
  // Reads ahead by `buffer_bytes`: 256 KiB stay in a core's L2 cache.
  static absl::StatusOr<std::unique_ptr<RecordReader>> Open(
      const std::string& path, Compression compression = Compression::kNone,
      size_t buffer_bytes = 256 << 10);
  // `name` stands for the file in messages.
  RecordReader(std::unique_ptr<ByteSource> source, std::string name,
               size_t buffer_bytes = 256 << 10);

  // The next payload, good until the next call; false at the end of the file. Both checksums are
  // verified before the payload is returned.
  absl::StatusOr<bool> Read(std::string_view* record);
  // The same into a string.
  absl::StatusOr<bool> Read(std::string* record);
  // Passes over the next record, verifying its length but not its payload; false at the end.
  absl::StatusOr<bool> Skip();

  // Records returned or skipped so far, and where the next one begins.
  int64_t num_records() const { return num_records_; }
  uint64_t offset() const { return offset_; }

 private:
  // The next payload when all of its record is buffered and as it should be; else false, and the
  // reader stays where it is.
  bool TakeBuffered(std::string_view* record);
  // Reads on until `want` bytes are buffered, fewer at the end of the file; returns how many are.
  absl::StatusOr<uint64_t> Fill(uint64_t want);
  // Looks at the next header; false at a clean end.
  absl::StatusOr<bool> PeekLength(uint64_t* length);
  absl::StatusOr<bool> ReadUnlatched(std::string_view* record);
  absl::StatusOr<bool> SkipUnlatched();
  void Passed(uint64_t length);
  absl::Status Truncated(uint64_t got, uint64_t want) const;
  absl::Status Damaged(const std::string& what) const;

  const std::unique_ptr<ByteSource> source_;
  const std::string name_;
  const size_t buffer_bytes_;
  std::unique_ptr<char[]> buffer_;
  size_t capacity_ = 0;  // of buffer_
  size_t next_ = 0;      // buffer_[next_, end_) is read and not yet returned
  size_t end_ = 0;
  int64_t num_records_ = 0;
  uint64_t offset_ = 0;
  absl::Status error_;
};

// For who is told no compression: the first record's checksum tells plain files, their first bytes
// tell the others. A regular file.
absl::StatusOr<Compression> GuessCompression(const std::string& path);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IO_RECORD_READER_H_
