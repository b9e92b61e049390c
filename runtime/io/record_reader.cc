#include "runtime/io/record_reader.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/memory.h"
#include "runtime/base/status.h"
#include "runtime/io/crc32c.h"
#include "runtime/io/little_endian.h"
#include "runtime/io/zlib_stream.h"

namespace tpurun {
namespace {

// Of a header whose checksum is right.
std::optional<uint64_t> LengthOf(const char* header) {
  const uint32_t checksum = crc32c::MaskedValue({header, kRecordLengthBytes});
  if (checksum != LoadU32(header + kRecordLengthBytes)) return std::nullopt;
  return LoadU64(header);
}

}  // namespace

absl::StatusOr<std::unique_ptr<RecordReader>> RecordReader::Open(const std::string& path,
                                                                 Compression compression,
                                                                 size_t buffer_bytes) {
  ASSIGN_OR_RETURN(std::unique_ptr<ByteSource> source, FileSource::Open(path));
  if (compression != Compression::kNone) {
    source = std::make_unique<ZlibSource>(std::move(source), compression, path);
  }
  return std::make_unique<RecordReader>(std::move(source), path, buffer_bytes);
}

RecordReader::RecordReader(std::unique_ptr<ByteSource> source, std::string name,
                           size_t buffer_bytes)
    : source_(std::move(source)), name_(std::move(name)), buffer_bytes_(buffer_bytes) {}

absl::Status RecordReader::Damaged(const std::string& what) const {
  return absl::DataLossError(
      absl::StrFormat("record %d of %s: %s (offset %d)", num_records_, name_, what, offset_));
}

absl::Status RecordReader::Truncated(uint64_t got, uint64_t want) const {
  return Damaged(absl::StrFormat("truncated: got %d bytes after its header, want %d", got, want));
}

absl::StatusOr<bool> RecordReader::Read(std::string_view* record) {
  if (error_.ok() && TakeBuffered(record)) return true;
  RETURN_IF_ERROR(error_);
  absl::StatusOr<bool> read = ReadUnlatched(record);
  if (!read.ok()) error_ = read.status();
  return read;
}

absl::StatusOr<bool> RecordReader::Read(std::string* record) {
  std::string_view view;
  ASSIGN_OR_RETURN(const bool read, Read(&view));
  if (read) record->assign(view);
  return read;
}

absl::StatusOr<bool> RecordReader::Skip() {
  RETURN_IF_ERROR(error_);
  absl::StatusOr<bool> skipped = SkipUnlatched();
  if (!skipped.ok()) error_ = skipped.status();
  return skipped;
}

absl::StatusOr<uint64_t> RecordReader::Fill(uint64_t want) {
  if (end_ - next_ >= want) return end_ - next_;
  const size_t rest = end_ - next_;
  const char* const begin = buffer_.get() + next_;
  if (want > capacity_) {
    const std::string what = absl::StrCat("the read buffer of ", name_);
    const MemoryUse use(what, "lower buffer_size or num_parallel_reads");
    capacity_ = std::max<uint64_t>(want, buffer_bytes_);
    std::unique_ptr<char[]> larger = std::make_unique_for_overwrite<char[]>(capacity_);
    if (rest > 0) std::memcpy(larger.get(), begin, rest);
    buffer_ = std::move(larger);
  } else if (rest > 0) {
    std::memmove(buffer_.get(), begin, rest);
  }
  next_ = 0;
  end_ = rest;
  while (end_ < want) {
    const absl::StatusOr<size_t> got = source_->Read(buffer_.get() + end_, capacity_ - end_);
    if (!got.ok()) {
      return Annotate(got.status(),
                      absl::StrFormat("record %d (offset %d)", num_records_, offset_));
    }
    if (*got == 0) break;
    end_ += *got;
  }
  return end_;
}

absl::StatusOr<bool> RecordReader::PeekLength(uint64_t* length) {
  ASSIGN_OR_RETURN(const uint64_t got, Fill(kRecordHeaderBytes));
  if (got == 0) return false;
  if (got < kRecordHeaderBytes) {
    return Damaged(
        absl::StrFormat("truncated: got %d bytes of its header, want %d", got, kRecordHeaderBytes));
  }
  const char* const header = buffer_.get() + next_;
  const std::optional<uint64_t> found = LengthOf(header);
  if (!found.has_value()) {
    return Damaged(absl::StrFormat(
        "length checksum 0x%08x, want 0x%08x; not a TFRecord file, "
        "or of another compression?",
        crc32c::MaskedValue({header, kRecordLengthBytes}), LoadU32(header + kRecordLengthBytes)));
  }
  *length = *found;
  if (const std::optional<uint64_t> unread = source_->remaining(); unread.has_value()) {
    const uint64_t left = *unread + (end_ - next_) - kRecordHeaderBytes;
    if (left < kRecordFooterBytes || *length > left - kRecordFooterBytes) {
      return Truncated(left, std::max(*length, *length + kRecordFooterBytes));  // it may wrap
    }
  }
  if (*length > kMaxRecordBytes) {
    return Damaged(
        absl::StrFormat("a payload of %d bytes, want at most %d", *length, kMaxRecordBytes));
  }
  return true;
}

void RecordReader::Passed(uint64_t length) {
  ++num_records_;
  offset_ += kRecordHeaderBytes + length + kRecordFooterBytes;
}

bool RecordReader::TakeBuffered(std::string_view* record) {
  const uint64_t buffered = end_ - next_;
  if (buffered < kRecordHeaderBytes + kRecordFooterBytes) return false;
  const char* const header = buffer_.get() + next_;
  const std::optional<uint64_t> length = LengthOf(header);
  if (!length.has_value() || *length > kMaxRecordBytes ||
      *length > buffered - kRecordHeaderBytes - kRecordFooterBytes) {
    return false;
  }
  const std::string_view payload(header + kRecordHeaderBytes, *length);
  if (crc32c::MaskedValue(payload) != LoadU32(payload.data() + *length)) return false;
  *record = payload;
  next_ += kRecordHeaderBytes + *length + kRecordFooterBytes;
  Passed(*length);
  return true;
}

absl::StatusOr<bool> RecordReader::ReadUnlatched(std::string_view* record) {
  uint64_t length;
  ASSIGN_OR_RETURN(const bool more, PeekLength(&length));
  if (!more) return false;
  const uint64_t want = kRecordHeaderBytes + length + kRecordFooterBytes;
  ASSIGN_OR_RETURN(const uint64_t got, Fill(want));
  if (got < want) return Truncated(got - kRecordHeaderBytes, want - kRecordHeaderBytes);
  if (TakeBuffered(record)) return true;
  const std::string_view payload(buffer_.get() + next_ + kRecordHeaderBytes, length);
  return Damaged(absl::StrFormat("payload checksum 0x%08x, want 0x%08x",
                                 crc32c::MaskedValue(payload), LoadU32(payload.data() + length)));
}

absl::StatusOr<bool> RecordReader::SkipUnlatched() {
  uint64_t length;
  ASSIGN_OR_RETURN(const bool more, PeekLength(&length));
  if (!more) return false;
  const uint64_t want = kRecordHeaderBytes + length + kRecordFooterBytes;
  const uint64_t buffered = std::min<uint64_t>(want, end_ - next_);
  ASSIGN_OR_RETURN(const uint64_t skipped, source_->Skip(want - buffered));
  if (buffered + skipped < want) {
    return Truncated(buffered + skipped - kRecordHeaderBytes, want - kRecordHeaderBytes);
  }
  next_ += buffered;
  Passed(length);
  return true;
}

absl::StatusOr<Compression> GuessCompression(const std::string& path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<FileSource> file, FileSource::OpenRegular(path));
  char head[2] = {};
  ASSIGN_OR_RETURN(const size_t size, file->Read(head, sizeof head));
  ASSIGN_OR_RETURN(const std::unique_ptr<RecordReader> plain, RecordReader::Open(path));
  if (size < sizeof head || plain->Skip().ok()) return Compression::kNone;
  if (head[0] == '\x1f' && head[1] == '\x8b') return Compression::kGzip;
  if (head[0] == '\x78') return Compression::kZlib;
  return Compression::kNone;
}

}  // namespace tpurun
