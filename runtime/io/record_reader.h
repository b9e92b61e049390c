// Reads the records of a file in order (record_format.h). Not thread-safe.
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

// The largest payload that is read, in bytes. A wrong length costs no more memory than that.
inline constexpr uint64_t kMaxRecordBytes = 32 << 20;

// Damage is DataLoss. The message names the file, the record (from 0), its byte offset in the
// uncompressed stream, and the got and the expected value. After an error the reader does not move:
// every further call returns the same error.
class RecordReader {
 public:
  // Reads ahead by `buffer_bytes` bytes. 256 KiB stay in a core's L2 cache.
  static absl::StatusOr<std::unique_ptr<RecordReader>> Open(
      const std::string& path, Compression compression = Compression::kNone,
      size_t buffer_bytes = 256 << 10);
  // `name` names the file in messages.
  RecordReader(std::unique_ptr<ByteSource> source, std::string name,
               size_t buffer_bytes = 256 << 10);

  // The next payload, valid until the next call. Returns false at the end of the file. Both
  // checksums are verified before the payload is returned.
  absl::StatusOr<bool> Read(std::string_view* record);
  // The same, copied into a string.
  absl::StatusOr<bool> Read(std::string* record);
  // Skips the next record. Its length is verified, its payload is not. Returns false at the end.
  absl::StatusOr<bool> Skip();

  // The number of records returned or skipped so far, and the byte offset of the next record.
  int64_t num_records() const { return num_records_; }
  uint64_t offset() const { return offset_; }

 private:
  // Returns the next payload if its whole record is buffered and correct. Else returns false and
  // does not move.
  bool TakeBuffered(std::string_view* record);
  // Reads until `want` bytes are buffered, fewer only at the end of the file. Returns the number of
  // buffered bytes.
  absl::StatusOr<uint64_t> Fill(uint64_t want);
  // Reads the length in the next header without moving. Returns false at a clean end.
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
  size_t capacity_ = 0;  // bytes of buffer_
  size_t next_ = 0;      // buffer_[next_, end_) is read and not yet returned
  size_t end_ = 0;
  int64_t num_records_ = 0;
  uint64_t offset_ = 0;
  absl::Status error_;
};

// Guesses the compression of a regular file if nothing states it: from the checksum of the first
// record if the file is not compressed, else from the first bytes.
absl::StatusOr<Compression> GuessCompression(const std::string& path);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IO_RECORD_READER_H_
