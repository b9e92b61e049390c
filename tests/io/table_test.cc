#include "runtime/io/table.h"

#include <leveldb/env.h>
#include <leveldb/options.h>
#include <leveldb/table_builder.h>

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/status.h"
#include "runtime/io/crc32c.h"
#include "runtime/io/little_endian.h"
#include "runtime/io/varint.h"

namespace tpurun {
namespace {

using std::string_literals::operator""s;

using ::testing::HasSubstr;

class Sink : public leveldb::WritableFile {
 public:
  leveldb::Status Append(const leveldb::Slice& data) override {
    bytes.append(data.data(), data.size());
    return leveldb::Status::OK();
  }
  leveldb::Status Close() override { return leveldb::Status::OK(); }
  leveldb::Status Flush() override { return leveldb::Status::OK(); }
  leveldb::Status Sync() override { return leveldb::Status::OK(); }
  std::string bytes;
};

TableEntries Entries(int count) {
  TableEntries entries;
  for (int i = 0; i < count; ++i) {
    entries.emplace_back("layer/" + std::to_string(100000 + i), std::string(40, 'a' + i % 26));
  }
  return entries;
}

// Many small blocks, as leveldb itself writes them; TensorFlow Serving's have snappy blocks.
std::string SmallBlocks(const TableEntries& entries, leveldb::CompressionType compression) {
  leveldb::Options options;
  options.block_size = 200;
  options.compression = compression;
  Sink sink;
  leveldb::TableBuilder builder(options, &sink);
  for (const auto& [key, value] : entries) builder.Add(key, value);
  EXPECT_TRUE(builder.Finish().ok());
  return sink.bytes;
}

TEST(Table, ReadsBackWhatItBuilt) {
  for (const int count : {0, 1, 20, 20000}) {
    const absl::StatusOr<std::string> bytes = BuildTable(Entries(count));
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    const absl::StatusOr<TableEntries> read = ReadTable(*bytes, "t");
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_TRUE(*read == Entries(count));
  }
}

TEST(Table, KeysMustRise) {
  EXPECT_FALSE(BuildTable({{"b", ""}, {"a", ""}}).ok());
  EXPECT_FALSE(BuildTable({{"a", ""}, {"a", ""}}).ok());
}

TEST(Table, ReadsManyBlocksAlsoCompressedOnes) {
  const std::string plain = SmallBlocks(Entries(50), leveldb::kNoCompression);
  const std::string snappy = SmallBlocks(Entries(50), leveldb::kSnappyCompression);
  EXPECT_LT(snappy.size(), plain.size());
  EXPECT_TRUE(*ReadTable(plain, "t") == Entries(50));
  EXPECT_TRUE(*ReadTable(snappy, "t") == Entries(50));
}

TEST(Table, EveryFlippedBitAndEveryCutOfManyBlocksIsDataLoss) {
  for (const leveldb::CompressionType compression :
       {leveldb::kNoCompression, leveldb::kSnappyCompression}) {
    const std::string bytes = SmallBlocks(Entries(20), compression);
    for (size_t byte = 0; byte < bytes.size(); ++byte) {
      for (int bit = 0; bit < 8; ++bit) {
        std::string damaged = bytes;
        damaged[byte] ^= 1 << bit;
        EXPECT_EQ(ExitCode(ReadTable(damaged, "t").status()), 65) << byte;
      }
      EXPECT_EQ(ExitCode(ReadTable(bytes.substr(0, byte), "t").status()), 65) << byte;
      EXPECT_EQ(ExitCode(ReadTable(bytes.substr(byte + 1), "t").status()), 65) << byte;
    }
  }
}

// A table whose one data block, with its type, is `block`; the index claims `size` bytes for it.
std::string TableOf(const std::string& block, uint64_t size) {
  const auto add = [](std::string contents, std::string* table) {
    AppendU32(crc32c::MaskedValue(contents), &contents);
    table->append(contents);
    return contents.size() - 5;
  };
  const auto add_handle = [](uint64_t offset, uint64_t size, std::string* out) {
    AppendVarint(offset, out);
    AppendVarint(size, out);
  };
  const std::string one_restart("\0\0\0\0\1\0\0\0\0", 9);  // with the type, none
  std::string handle, table, footer;
  add_handle(0, size, &handle);
  const std::string entry =
      std::string("\0\1", 2) + static_cast<char>(handle.size()) + "a" + handle;
  add(block, &table);
  for (const std::string& contents : {one_restart, entry + one_restart}) {
    const size_t offset = table.size();
    add_handle(offset, add(contents, &table), &footer);
  }
  footer.resize(40, '\0');
  AppendU64(0xDB4775248B80FB57, &footer);
  return table + footer;
}

TEST(Table, ASizeThatLiesCostsNoMemory) {
  const std::string block("\0\1\1bc\0\0\0\0\1\0\0\0\0", 14);
  const absl::StatusOr<TableEntries> entries = ReadTable(TableOf(block, 13), "t");
  ASSERT_TRUE(entries.ok()) << entries.status();
  EXPECT_EQ(*entries, (TableEntries{{"b", "c"}}));
  for (const uint64_t size : {uint64_t{1} << 40, UINT64_MAX - 4, UINT64_MAX}) {
    EXPECT_EQ(ReadTable(TableOf(block, size), "t").status(),
              absl::DataLossError(
                  absl::StrCat("t: a block of ", size, " bytes goes beyond the end (offset 0)")));
  }
  const std::string two_gib("\x80\x80\x80\x80\x08\0a\1", 8);  // snappy's length, a byte, the type
  EXPECT_EQ(ReadTable(TableOf(two_gib, 7), "t").status(),
            absl::DataLossError("t: damaged size of a compressed block (offset 0)"));
}

TEST(Table, KeysThatShareAllCostNoMemory) {
  const auto varint = [](uint64_t value) {
    std::string bytes;
    AppendVarint(value, &bytes);
    return bytes;
  };
  const size_t bytes = 10000;
  std::string block = "\0"s + varint(bytes) + "\0"s + std::string(bytes, 'k');
  for (size_t key = bytes; key < 2 * bytes; ++key) block += varint(key) + "\1\0a"s;
  block += "\0\0\0\0\1\0\0\0\0"s;
  EXPECT_EQ(ReadTable(TableOf(block, block.size() - 1), "t").status(),
            absl::DataLossError("t: damaged: too many entries (offset 0)"));
}

TEST(Table, MessagesNameTheFile) {
  EXPECT_EQ(ReadTable("short", "t").status().message(),
            "t: truncated: got 5 bytes, want at least 48");
  EXPECT_THAT(std::string(ReadTable(std::string(100, 'x'), "t").status().message()),
              HasSubstr("t: truncated or not a checkpoint index: magic 0x7878787878787878, want "
                        "0xdb4775248b80fb57 (offset 92)"));
}

}  // namespace
}  // namespace tpurun
