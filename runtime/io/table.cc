#include "runtime/io/table.h"

#include <leveldb/env.h>
#include <leveldb/options.h>
#include <leveldb/table_builder.h>
#include <snappy.h>

#include <cstdint>

#include "absl/strings/str_format.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/io/crc32c.h"
#include "runtime/io/little_endian.h"
#include "runtime/io/varint.h"

namespace tpurun {
namespace {

constexpr size_t kFooterBytes = 48;
constexpr size_t kMagicBytes = 8;
constexpr size_t kBlockTrailerBytes = 5;  // type and checksum
constexpr uint64_t kMagic = 0xDB4775248B80FB57;
// The most that snappy makes of a byte: a copy of 64 bytes takes 3.
constexpr size_t kMostSnappyRatio = 22;
// The most memory that the entries take for a byte of the table. A checkpoint's entry has 20 bytes
// or more after what its key shares with the one before; 12 is usual for names of 200 bytes.
constexpr size_t kMostMemoryRatio = 32;
constexpr size_t kTensorFlowBlockBytes = 256 << 10;

class StringWritableFile : public leveldb::WritableFile {
 public:
  explicit StringWritableFile(std::string* bytes) : bytes_(bytes) {}
  leveldb::Status Append(const leveldb::Slice& data) override {
    bytes_->append(data.data(), data.size());
    return leveldb::Status::OK();
  }
  leveldb::Status Close() override { return leveldb::Status::OK(); }
  leveldb::Status Flush() override { return leveldb::Status::OK(); }
  leveldb::Status Sync() override { return leveldb::Status::OK(); }

 private:
  std::string* const bytes_;
};

struct BlockHandle {
  uint64_t offset = 0;
  uint64_t size = 0;  // without the trailer
};

bool ConsumeHandle(std::string_view* bytes, BlockHandle* handle) {
  return ConsumeVarint(bytes, &handle->offset) && ConsumeVarint(bytes, &handle->size);
}

// Takes an entry of a block: how many bytes of the key before it shares, the sizes of the rest of
// its key and of its value, then these. *key holds the key before.
bool ConsumeEntry(std::string_view* entries, std::string* key, std::string_view* value) {
  uint64_t shared, unshared, length;
  if (!ConsumeVarint(entries, &shared) || !ConsumeVarint(entries, &unshared) ||
      !ConsumeVarint(entries, &length) || shared > key->size() || unshared > entries->size() ||
      length > entries->size() - unshared) {
    return false;
  }
  key->resize(shared);
  key->append(entries->substr(0, unshared));
  *value = entries->substr(unshared, length);
  entries->remove_prefix(unshared + length);
  return true;
}

// Reads a table without believing it: memory is asked for in proportion to the bytes there are,
// whatever the table says of sizes.
class TableReader {
 public:
  TableReader(std::string_view bytes, const std::string& name)
      : bytes_(bytes), name_(name), room_(kMostMemoryRatio * bytes.size()) {}

  absl::Status Read(TableEntries* entries) {
    BlockHandle metaindex, index;
    RETURN_IF_ERROR(ReadFooter(&metaindex, &index));
    std::string metaindex_memory, index_memory;
    RETURN_IF_ERROR(ReadBlock(metaindex, &metaindex_memory).status());
    ASSIGN_OR_RETURN(std::string_view rest, ReadBlock(index, &index_memory));
    uint64_t end = 0;  // of the block before
    std::string key;
    std::string_view value;
    while (!rest.empty()) {
      BlockHandle data;
      if (!ConsumeEntry(&rest, &key, &value) || !ConsumeHandle(&value, &data) || !value.empty()) {
        return Damaged("damaged entry of the index block", index.offset);
      }
      if (data.offset != end) return Damaged("a block where none should begin", data.offset);
      RETURN_IF_ERROR(ReadData(data, entries));
      end = data.offset + data.size + kBlockTrailerBytes;
    }
    if (end != metaindex.offset) return Damaged("bytes that no block has", end);
    return absl::OkStatus();
  }

 private:
  absl::Status Damaged(const std::string& what, uint64_t offset) const {
    return absl::DataLossError(absl::StrFormat("%s: %s (offset %d)", name_, what, offset));
  }

  // The footer must be the only one that its two handles can have, and the blocks follow each other
  // up to it: then every byte is verified.
  absl::Status ReadFooter(BlockHandle* metaindex, BlockHandle* index) const {
    if (bytes_.size() < kFooterBytes) {
      return absl::DataLossError(absl::StrFormat("%s: truncated: got %d bytes, want at least %d",
                                                 name_, bytes_.size(), kFooterBytes));
    }
    const size_t footer_offset = bytes_.size() - kFooterBytes;
    const std::string_view footer = bytes_.substr(footer_offset);
    const uint64_t magic = LoadU64(footer.data() + kFooterBytes - kMagicBytes);
    if (magic != kMagic) {
      return Damaged(absl::StrFormat("truncated or not a checkpoint index: magic 0x%016x, "
                                     "want 0x%016x",
                                     magic, kMagic),
                     bytes_.size() - kMagicBytes);
    }
    std::string_view rest = footer.substr(0, kFooterBytes - kMagicBytes);
    std::string canonical;
    const bool parsed = ConsumeHandle(&rest, metaindex) && ConsumeHandle(&rest, index);
    for (const BlockHandle* handle : {metaindex, index}) {
      AppendVarint(handle->offset, &canonical);
      AppendVarint(handle->size, &canonical);
    }
    canonical.resize(kFooterBytes - kMagicBytes, '\0');
    const auto ends_at = [](const BlockHandle& block, uint64_t end) {
      return block.offset <= end && block.size <= end - block.offset &&
             block.offset + block.size + kBlockTrailerBytes == end;
    };
    if (!parsed || footer.substr(0, canonical.size()) != canonical ||
        !ends_at(*index, footer_offset) || !ends_at(*metaindex, index->offset)) {
      return Damaged("damaged footer", footer_offset);
    }
    return absl::OkStatus();
  }

  // The entries of a block, verified and without its restart points; a view of `memory` when it was
  // compressed.
  absl::StatusOr<std::string_view> ReadBlock(const BlockHandle& block, std::string* memory) const {
    if (block.offset > bytes_.size() || bytes_.size() - block.offset < kBlockTrailerBytes ||
        block.size > bytes_.size() - block.offset - kBlockTrailerBytes) {
      return Damaged(absl::StrFormat("a block of %d bytes goes beyond the end", block.size),
                     block.offset);
    }
    const std::string_view stored_bytes = bytes_.substr(block.offset, block.size + 1);
    const uint32_t computed = crc32c::MaskedValue(stored_bytes);
    const uint32_t stored = LoadU32(bytes_.data() + block.offset + block.size + 1);
    if (computed != stored) {
      return Damaged(absl::StrFormat("block checksum 0x%08x, want 0x%08x", computed, stored),
                     block.offset);
    }
    std::string_view contents = stored_bytes.substr(0, block.size);
    const char type = stored_bytes.back();
    if (type == leveldb::kSnappyCompression) {
      size_t size;
      if (!snappy::GetUncompressedLength(contents.data(), contents.size(), &size) ||
          size / kMostSnappyRatio > contents.size()) {
        return Damaged("damaged size of a compressed block", block.offset);
      }
      if (!snappy::Uncompress(contents.data(), contents.size(), memory)) {
        return Damaged("damaged compressed block", block.offset);
      }
      contents = *memory;
    } else if (type != leveldb::kNoCompression) {
      return Damaged(absl::StrFormat("unknown compression %d of a block", type), block.offset);
    }
    // At the end their number, before it 4 bytes for each.
    const uint64_t restarts =
        contents.size() < 4 ? UINT32_MAX : LoadU32(contents.data() + contents.size() - 4);
    if (4 * (restarts + 1) > contents.size()) {
      return Damaged("damaged restart points of a block", block.offset);
    }
    return contents.substr(0, contents.size() - 4 * (restarts + 1));
  }

  absl::Status ReadData(const BlockHandle& block, TableEntries* entries) {
    std::string memory, key;
    ASSIGN_OR_RETURN(std::string_view rest, ReadBlock(block, &memory));
    std::string_view value;
    while (!rest.empty()) {
      if (!ConsumeEntry(&rest, &key, &value)) {
        return Damaged("damaged entry of a block", block.offset);
      }
      const size_t memory_of_entry = key.size() + value.size() + sizeof(TableEntries::value_type);
      if (memory_of_entry > room_) return Damaged("damaged: too many entries", block.offset);
      room_ -= memory_of_entry;
      if (!entries->empty() && key <= entries->back().first) {
        return Damaged("keys are not in order", block.offset);
      }
      entries->emplace_back(key, value);
    }
    return absl::OkStatus();
  }

  const std::string_view bytes_;
  const std::string& name_;
  size_t room_;  // for the memory of further entries
};

}  // namespace

absl::StatusOr<TableEntries> ReadTable(std::string_view bytes, const std::string& name) {
  TableEntries entries;
  RETURN_IF_ERROR(TableReader(bytes, name).Read(&entries));
  return entries;
}

absl::StatusOr<std::string> BuildTable(const TableEntries& entries) {
  std::string bytes;
  StringWritableFile file(&bytes);
  leveldb::Options options;
  options.compression = leveldb::kNoCompression;
  options.block_size = kTensorFlowBlockBytes;
  leveldb::TableBuilder builder(options, &file);
  const std::string* last = nullptr;
  for (const auto& [key, value] : entries) {
    if (last != nullptr && key <= *last) {
      builder.Abandon();
      return absl::InternalError(
          absl::StrCat("table key ", Quote(key), " does not come after ", Quote(*last)));
    }
    builder.Add(key, value);
    last = &key;
  }
  const leveldb::Status finished = builder.Finish();
  if (!finished.ok()) return absl::InternalError(finished.ToString());
  return bytes;
}

}  // namespace tpurun
