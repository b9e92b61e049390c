// LevelDB's sorted table, the format of a checkpoint's index: sorted keys with values, in one
// string. leveldb reads and writes it. The functions below add checks that leveldb leaves out.
//   table  := data_block* metaindex_block index_block footer
//   block  := contents  type u8 (0 plain, 1 snappy)  masked crc32c u32 of contents and type
//   footer := metaindex handle, index handle, zeros up to 40 bytes, magic u64  (48 bytes)
//   handle := varint64 offset, varint64 size of contents
// Source: leveldb, doc/table_format.md.
#ifndef TPURUN_RUNTIME_IO_TABLE_H_
#define TPURUN_RUNTIME_IO_TABLE_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace tpurun {

using TableEntries = std::vector<std::pair<std::string, std::string>>;

// All entries in key order, also from snappy blocks. Every byte of the table is verified: each
// block by its checksum, the footer by its format. Damage is DataLoss with `name`, the name of the
// file in messages.
absl::StatusOr<TableEntries> ReadTable(std::string_view bytes, const std::string& name);

// The bytes that TensorFlow writes for these entries: no compression, blocks of 256 KiB. Keys must
// be strictly ascending by byte.
absl::StatusOr<std::string> BuildTable(const TableEntries& entries);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IO_TABLE_H_
