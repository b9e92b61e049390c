// A TFRecord file. Input: a byte, bits 0-1 the compression (3: none), bit 2: the checksums of an
// uncompressed file are made right first, bit 3: a reader that buffers 16 bytes, bits 4-7: which
// records are passed over unread (record i by bit i % 4); then the file.
#include <algorithm>
#include <memory>

#include "glog/logging.h"
#include "runtime/base/status.h"
#include "runtime/io/crc32c.h"
#include "runtime/io/file.h"
#include "runtime/io/little_endian.h"
#include "runtime/io/record_reader.h"
#include "runtime/io/zlib_stream.h"
#include "tests/fuzz/targets.h"

namespace tpurun {
namespace {

void PutChecksum(std::string* file, size_t begin, size_t size) {
  std::string checksum;
  AppendU32(crc32c::MaskedValue(std::string_view(*file).substr(begin, size)), &checksum);
  std::copy(checksum.begin(), checksum.end(), file->begin() + begin + size);
}

// A fuzzer does not find checksums by itself.
void RepairRecordChecksums(std::string* file) {
  size_t begin = 0;
  while (file->size() - begin >= kRecordHeaderBytes) {
    PutChecksum(file, begin, kRecordLengthBytes);
    const uint64_t length = LoadU64(file->data() + begin);
    begin += kRecordHeaderBytes;
    if (file->size() - begin < kRecordFooterBytes ||
        file->size() - begin - kRecordFooterBytes < length) {
      return;
    }
    PutChecksum(file, begin, length);
    begin += length + kRecordFooterBytes;
  }
}

}  // namespace

absl::Status FuzzTfrecord(std::string_view bytes) {
  const uint8_t variant = TakeByte(&bytes);
  const Compression compression =
      (variant & 3) == 3 ? Compression::kNone : static_cast<Compression>(variant & 3);
  std::string file(bytes);
  if (variant & 4) RepairRecordChecksums(&file);
  std::unique_ptr<ByteSource> source = std::make_unique<StringSource>(std::move(file));
  if (compression != Compression::kNone) {
    source = std::make_unique<ZlibSource>(std::move(source), compression, "f");
  }
  RecordReader reader(std::move(source), "f", variant & 8 ? 16 : 64 << 10);
  while (true) {
    const int64_t record = reader.num_records();
    const uint64_t offset = reader.offset();
    absl::StatusOr<bool> more;
    std::string_view payload;
    if (variant >> (4 + record % 4) & 1) {
      more = reader.Skip();
    } else {
      more = reader.Read(&payload);
    }
    if (!more.ok()) {
      CHECK_EQ(reader.Skip().status(), more.status());
      return more.status();
    }
    if (!*more) return absl::OkStatus();
    CHECK_EQ(reader.num_records(), record + 1);
    CHECK_GE(reader.offset(), offset + kRecordHeaderBytes + payload.size() + kRecordFooterBytes);
  }
}

}  // namespace tpurun
