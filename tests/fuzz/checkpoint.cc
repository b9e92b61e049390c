// A checkpoint of one shard, all of it read. Input: a byte, the number of bytes in the data file,
// then these; a byte, the variant; then, by the variant,
//   0  the index file, its checksums made right first
//   1  the index file as it is
//   2  the index's entries: key length (a byte), value length (a byte), key, value; in any order
#include <algorithm>
#include <map>
#include <memory>

#include "glog/logging.h"
#include "runtime/base/status.h"
#include "runtime/io/crc32c.h"
#include "runtime/io/little_endian.h"
#include "runtime/io/table.h"
#include "runtime/io/tensor_bundle.h"
#include "runtime/io/varint.h"
#include "tests/fuzz/targets.h"

namespace tpurun {
namespace {

constexpr char kPrefix[] = "c";
constexpr size_t kFooterBytes = 48;
constexpr size_t kTrailerBytes = 5;

std::string_view TakeBytes(size_t size, std::string_view* bytes) {
  const std::string_view taken = bytes->substr(0, size);
  bytes->remove_prefix(taken.size());
  return taken;
}

struct Handle {
  uint64_t offset = 0, size = 0;
};

bool ConsumeHandle(std::string_view* bytes, Handle* handle) {
  return ConsumeVarint(bytes, &handle->offset) && ConsumeVarint(bytes, &handle->size);
}

// Makes the checksum of a block right; the block, empty when it does not lie in the file.
std::string_view RepairBlock(const Handle& block, std::string* file) {
  if (block.offset > file->size() || file->size() - block.offset < kTrailerBytes ||
      file->size() - block.offset - kTrailerBytes < block.size) {
    return {};
  }
  const std::string_view bytes = std::string_view(*file).substr(block.offset, block.size + 1);
  std::string checksum;
  AppendU32(crc32c::MaskedValue(bytes), &checksum);
  std::copy(checksum.begin(), checksum.end(), file->begin() + block.offset + block.size + 1);
  return bytes.substr(0, block.size);
}

// A fuzzer does not find checksums by itself. What does not look like a table is left as it is.
void RepairChecksums(std::string* file) {
  if (file->size() < kFooterBytes) return;
  std::string_view footer = std::string_view(*file).substr(file->size() - kFooterBytes);
  Handle metaindex, index;
  if (!ConsumeHandle(&footer, &metaindex) || !ConsumeHandle(&footer, &index)) return;
  RepairBlock(metaindex, file);
  // An entry of the index block: shared, unshared and value length, rest of the key, data block.
  std::string_view entries = RepairBlock(index, file);
  uint64_t shared, unshared, length;
  while (ConsumeVarint(&entries, &shared) && ConsumeVarint(&entries, &unshared) &&
         ConsumeVarint(&entries, &length) && unshared <= entries.size() &&
         length <= entries.size() - unshared) {
    entries.remove_prefix(unshared);
    std::string_view value = TakeBytes(length, &entries);
    Handle data;
    if (ConsumeHandle(&value, &data)) RepairBlock(data, file);
  }
  RepairBlock(index, file);  // where a data block overlaps it
}

std::string BuildIndex(std::string_view bytes) {
  std::map<std::string, std::string> sorted;
  while (!bytes.empty()) {
    const size_t key_size = TakeByte(&bytes);
    const size_t value_size = TakeByte(&bytes);
    const std::string key(TakeBytes(key_size, &bytes));
    sorted[key] = TakeBytes(value_size, &bytes);
  }
  absl::StatusOr<std::string> table = BuildTable({sorted.begin(), sorted.end()});
  CHECK(table.ok()) << table.status();
  return *std::move(table);
}

}  // namespace

absl::Status FuzzCheckpoint(std::string_view bytes) {
  const size_t data_bytes = TakeByte(&bytes);
  const std::string_view data = TakeBytes(data_bytes, &bytes);
  const uint8_t variant = TakeByte(&bytes) % 3;
  std::string index = variant == 2 ? BuildIndex(bytes) : std::string(bytes);
  if (variant == 0) RepairChecksums(&index);
  WriteScratch(BundleDataPath(kPrefix, 0, 1), data);
  WriteScratch(BundleIndexPath(kPrefix), index);
  ASSIGN_OR_RETURN(const std::unique_ptr<BundleReader> reader,
                   BundleReader::Open(ScratchPath(kPrefix)));
  for (const BundleEntry& entry : reader->entries()) CHECK_EQ(reader->Find(entry.name), &entry);
  return reader->Verify();
}

}  // namespace tpurun
