// The two checkpoints were written by TensorFlow 2.15.1 (tf.compat.v1.train.Saver, no meta graph)
// from
//   a/kernel [2,3] f32 (-1.5 .. 3.5), a/bias [0] f32, global_step int64 7, flag [True, False],
//   half bfloat16 [1.5, -2], words ["", "abc", "x" * 200]
// and, with fixed_size_partitioner(3, axis=1) and sharded=True, from p [4,3] f32 = 10 * row +
// column.
#include "runtime/io/tensor_bundle.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/tensor_bundle.pb.h"
#include "runtime/base/status.h"
#include "runtime/io/file.h"
#include "runtime/io/table.h"
#include "tests/io/from_hex.h"
#include "tests/io/temp_dir.h"

namespace tpurun {
namespace {

using tensorflow::DataType;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kPlainIndex = FromHex(
    "00000608011a02080100060b612f6269617308011202120035d8ea82a20206136b65726e656c0801120812020802"
    "1202080328183587f0f2fb000411666c6167080a12041202080220182802355fb0ce81000b0d676c6f62616c5f73"
    "74657008091200201a280835bbd79f1100041168616c66080e12041202080220222804352e4a56f2000512776f72"
    "64730807120412020803202628d3013539375a9400000000010000000077df5538000000000100000000c0f2a1b0"
    "0001037800a60100000000010000000061ee2d1cab0108b8010f0000000000000000000000000000000000000000"
    "000000000000000000000000000057fb808b247547db");
const std::string kPlainData = FromHex(
    "0000c0bf000000bf0000003f0000c03f000020400000604001000700000000000000c03f00c00003c801a5e99830"
    "61626378787878787878787878787878787878787878787878787878787878787878787878787878787878787878"
    "78787878787878787878787878787878787878787878787878787878787878787878787878787878787878787878"
    "78787878787878787878787878787878787878787878787878787878787878787878787878787878787878787878"
    "78787878787878787878787878787878787878787878787878787878787878787878787878787878787878787878"
    "78787878787878787878787878787878787878");
const std::string kPartitionedIndex = FromHex(
    "00000608011a020801000a1300700001010280848081080112081202080412020801281035531b7f190802158181"
    "0801120812020804120208012010281035d7b7d4f708021582810801120812020804120208012020281035362bbe"
    "3b00012e700801120812020804120208033a080a0210040a0210013a0a0a0210040a04080110013a0a0a0210040a"
    "04080210010000000001000000000a0614c8000000000100000000c0f2a1b0000103710097010000000001000000"
    "002e72a9a49c0108a9010f0000000000000000000000000000000000000000000000000000000000000000000057"
    "fb808b247547db");
const std::string kPartitionedData = FromHex(
    "00000000000020410000a0410000f0410000803f000030410000a8410000f84100000040000040410000b0410000"
    "0042");

template <typename T>
std::string Bytes(std::initializer_list<T> values) {
  return std::string(reinterpret_cast<const char*>(std::data(values)), values.size() * sizeof(T));
}

class TensorBundleTest : public ::testing::Test {
 protected:
  TensorBundleTest() : prefix_(dir_.Path("model.ckpt-7")) {}

  void WriteFiles(const std::string& index, const std::string& data) {
    // Without the fsyncs of WriteFileAtomically: the tests of damage write thousands of files.
    std::ofstream(BundleIndexPath(prefix_), std::ios::binary) << index;
    std::ofstream(BundleDataPath(prefix_, 0, 1), std::ios::binary) << data;
  }

  // The tensors as text, or why they cannot be read.
  absl::StatusOr<std::string> Dump() {
    ASSIGN_OR_RETURN(const std::unique_ptr<BundleReader> reader, BundleReader::Open(prefix_));
    std::string dump;
    for (const BundleEntry& entry : reader->entries()) {
      absl::StrAppend(&dump, entry.name, " ", DataType_Name(entry.dtype), " [");
      for (const int64_t dim : entry.shape) absl::StrAppend(&dump, dim, ",");
      absl::StrAppend(&dump, "] ");
      if (entry.dtype == tensorflow::DT_STRING) {
        ASSIGN_OR_RETURN(const std::vector<std::string> strings, reader->ReadStrings(entry));
        for (const std::string& text : strings) absl::StrAppend(&dump, "(", text, ")");
      } else {
        ASSIGN_OR_RETURN(const std::string bytes, reader->ReadBytes(entry));
        dump += bytes;
      }
    }
    return dump;
  }

  // A table with one changed value, checksums right.
  void ChangeEntry(const std::string& key,
                   const std::function<void(tensorflow::BundleEntryProto*)>& change) {
    TableEntries rows = *ReadTable(kPlainIndex, "index");
    for (auto& [name, value] : rows) {
      if (name != key) continue;
      tensorflow::BundleEntryProto entry;
      ASSERT_TRUE(entry.ParseFromString(value));
      change(&entry);
      value = entry.SerializeAsString();
    }
    WriteFiles(*BuildTable(rows), kPlainData);
  }
  void ChangeHeader(const std::function<void(tensorflow::BundleHeaderProto*)>& change) {
    TableEntries rows = *ReadTable(kPlainIndex, "index");
    tensorflow::BundleHeaderProto header;
    ASSERT_TRUE(header.ParseFromString(rows[0].second));
    change(&header);
    rows[0].second = header.SerializeAsString();
    WriteFiles(*BuildTable(rows), kPlainData);
  }
  void Expect(absl::StatusCode code, const std::string& part) {
    const absl::Status status = Dump().status();
    EXPECT_EQ(status.code(), code);
    EXPECT_EQ(ExitCode(status), 65);
    EXPECT_THAT(std::string(status.message()), HasSubstr(part));
  }
  void ExpectDataLoss(const std::string& part) { Expect(absl::StatusCode::kDataLoss, part); }
  void ExpectOtherFormat(const std::string& part) {
    Expect(absl::StatusCode::kFailedPrecondition, part);
  }

  const TempDir dir_;
  const std::string prefix_;
};

TEST_F(TensorBundleTest, ReadsWhatTensorFlowWrote) {
  WriteFiles(kPlainIndex, kPlainData);
  const std::unique_ptr<BundleReader> reader = *BundleReader::Open(prefix_);
  std::vector<std::string> names;
  for (const BundleEntry& entry : reader->entries()) names.push_back(entry.name);
  EXPECT_THAT(names, ElementsAre("a/bias", "a/kernel", "flag", "global_step", "half", "words"));

  const BundleEntry& kernel = *reader->Find("a/kernel");
  EXPECT_EQ(kernel.dtype, tensorflow::DT_FLOAT);
  EXPECT_THAT(kernel.shape, ElementsAre(2, 3));
  EXPECT_EQ(*reader->ReadBytes(kernel), Bytes<float>({-1.5, -0.5, 0.5, 1.5, 2.5, 3.5}));
  const BundleEntry& bias = *reader->Find("a/bias");
  EXPECT_THAT(bias.shape, ElementsAre(0));
  EXPECT_EQ(*reader->ReadBytes(bias), "");
  const BundleEntry& step = *reader->Find("global_step");
  EXPECT_EQ(step.dtype, tensorflow::DT_INT64);
  EXPECT_TRUE(step.shape.empty());
  EXPECT_EQ(*reader->ReadBytes(step), Bytes<int64_t>({7}));
  EXPECT_EQ(*reader->ReadBytes(*reader->Find("flag")), Bytes<uint8_t>({1, 0}));
  // 1.5 and -2 in bfloat16.
  EXPECT_EQ(*reader->ReadBytes(*reader->Find("half")), Bytes<uint16_t>({0x3FC0, 0xC000}));
  EXPECT_THAT(*reader->ReadStrings(*reader->Find("words")),
              ElementsAre("", "abc", std::string(200, 'x')));
  EXPECT_EQ(reader->Find("a"), nullptr);
  EXPECT_EQ(reader->Find("zebra"), nullptr);
  EXPECT_TRUE(reader->Verify().ok());
  // Bytes of strings and strings of numbers are mistakes of the caller's data, not of ours.
  EXPECT_EQ(ExitCode(reader->ReadBytes(*reader->Find("words")).status()), 2);
  EXPECT_EQ(ExitCode(reader->ReadStrings(step).status()), 2);
}

void AddPlain(BundleWriter* writer) {
  ASSERT_TRUE(writer->Add("a/bias", tensorflow::DT_FLOAT, {0}, "").ok());
  ASSERT_TRUE(writer
                  ->Add("a/kernel", tensorflow::DT_FLOAT, {2, 3},
                        Bytes<float>({-1.5, -0.5, 0.5, 1.5, 2.5, 3.5}))
                  .ok());
  ASSERT_TRUE(writer->Add("flag", tensorflow::DT_BOOL, {2}, Bytes<uint8_t>({1, 0})).ok());
  ASSERT_TRUE(writer->Add("global_step", tensorflow::DT_INT64, {}, Bytes<int64_t>({7})).ok());
  ASSERT_TRUE(
      writer->Add("half", tensorflow::DT_BFLOAT16, {2}, Bytes<uint16_t>({0x3FC0, 0xC000})).ok());
  ASSERT_TRUE(writer->AddStrings("words", {3}, {"", "abc", std::string(200, 'x')}).ok());
}

TEST_F(TensorBundleTest, WritesTheBytesThatTensorFlowWrites) {
  const std::string prefix = dir_.Path("new/dir/model.ckpt-7");
  const std::unique_ptr<BundleWriter> writer = *BundleWriter::Create(prefix);
  AddPlain(writer.get());
  EXPECT_FALSE(FileExists(BundleIndexPath(prefix)));
  EXPECT_FALSE(FileExists(BundleDataPath(prefix, 0, 1)));
  ASSERT_TRUE(writer->Finish().ok());
  EXPECT_TRUE(*ReadFile(BundleIndexPath(prefix)) == kPlainIndex);
  EXPECT_TRUE(*ReadFile(BundleDataPath(prefix, 0, 1)) == kPlainData);
  EXPECT_EQ(ListDirectory(dir_.Path("new/dir"))->size(), 2u);
}

TEST_F(TensorBundleTest, AnUnfinishedWriterLeavesNothing) {
  { AddPlain(BundleWriter::Create(prefix_)->get()); }
  EXPECT_THAT(*ListDirectory(dir_.path()), ElementsAre());
}

TEST_F(TensorBundleTest, TheWriterRefusesWhatWouldBeDamaged) {
  const std::unique_ptr<BundleWriter> writer = *BundleWriter::Create(prefix_);
  ASSERT_TRUE(writer->Add("b", tensorflow::DT_INT8, {}, "x").ok());
  EXPECT_FALSE(writer->Add("b", tensorflow::DT_INT8, {}, "x").ok());
  EXPECT_FALSE(writer->Add("a", tensorflow::DT_INT8, {}, "x").ok());
  EXPECT_FALSE(writer->Add("c", tensorflow::DT_FLOAT, {2}, "1234567").ok());
  EXPECT_FALSE(writer->Add("c", tensorflow::DT_STRING, {1}, "x").ok());
  EXPECT_FALSE(writer->AddStrings("c", {2}, {"x"}).ok());
  EXPECT_TRUE(writer->Add("c", tensorflow::DT_FLOAT, {2}, "12345678").ok());
}

TEST_F(TensorBundleTest, AnUnwritablePlaceIsPermissionDenied) {
  ASSERT_TRUE(WriteFileAtomically(dir_.Path("file"), "").ok());
  const absl::Status status = BundleWriter::Create(dir_.Path("file/model.ckpt-7")).status();
  EXPECT_EQ(ExitCode(status), 74);
  EXPECT_THAT(std::string(status.message()), HasSubstr(dir_.Path("file")));
}

TEST_F(TensorBundleTest, ReadsPartitionedVariablesAsOne) {
  WriteFiles(kPartitionedIndex, kPartitionedData);
  const std::unique_ptr<BundleReader> reader = *BundleReader::Open(prefix_);
  ASSERT_EQ(reader->entries().size(), 1u);
  const BundleEntry& entry = reader->entries()[0];
  EXPECT_EQ(entry.name, "p");
  EXPECT_EQ(*reader->ReadBytes(entry), Bytes<float>({0, 1, 2, 10, 11, 12, 20, 21, 22, 30, 31, 32}));
  EXPECT_TRUE(reader->Verify().ok());
}

TEST_F(TensorBundleTest, ReadsTensorsFromSeveralShards) {
  TableEntries rows = *ReadTable(kPlainIndex, "index");
  tensorflow::BundleHeaderProto header;
  ASSERT_TRUE(header.ParseFromString(rows[0].second));
  header.set_num_shards(2);
  rows[0].second = header.SerializeAsString();
  for (auto& [name, value] : rows) {
    if (name != "flag") continue;
    tensorflow::BundleEntryProto entry;
    ASSERT_TRUE(entry.ParseFromString(value));
    entry.set_shard_id(1);
    entry.set_offset(3);
    value = entry.SerializeAsString();
  }
  ASSERT_TRUE(WriteFileAtomically(BundleIndexPath(prefix_), *BuildTable(rows)).ok());
  ASSERT_TRUE(WriteFileAtomically(BundleDataPath(prefix_, 0, 2), kPlainData).ok());
  ExpectDataLoss("is incomplete: cannot read " + BundleDataPath(prefix_, 1, 2));
  ASSERT_TRUE(
      WriteFileAtomically(prefix_ + ".data-00001-of-00002", std::string("...\x01\x00", 5)).ok());
  const std::unique_ptr<BundleReader> reader = *BundleReader::Open(prefix_);
  EXPECT_EQ(*reader->ReadBytes(*reader->Find("flag")), Bytes<uint8_t>({1, 0}));
  EXPECT_TRUE(reader->Verify().ok());
}

TEST_F(TensorBundleTest, AnAbsentCheckpointIsNotFoundAndAV1OneIsExplained) {
  EXPECT_EQ(ExitCode(BundleReader::Open(prefix_).status()), 66);
  ASSERT_TRUE(WriteFileAtomically(prefix_, "table").ok());
  ExpectOtherFormat("a V1 checkpoint");
}

struct Sample {
  const char* name;
  const std::string* index;
  const std::string* data;
};
const Sample kSamples[] = {{"plain", &kPlainIndex, &kPlainData},
                           {"partitioned", &kPartitionedIndex, &kPartitionedData}};

// Every byte of the index and of the data carries information: all damage must be noticed.
TEST_F(TensorBundleTest, EveryFlippedBitIsDataLoss) {
  for (const Sample& sample : kSamples) {
    for (int bit = 0; bit < 8; ++bit) {
      for (size_t byte = 0; byte < sample.index->size(); ++byte) {
        std::string damaged = *sample.index;
        damaged[byte] ^= 1 << bit;
        WriteFiles(damaged, *sample.data);
        EXPECT_EQ(ExitCode(Dump().status()), 65) << sample.name << " index byte " << byte;
      }
      for (size_t byte = 0; byte < sample.data->size(); ++byte) {
        std::string damaged = *sample.data;
        damaged[byte] ^= 1 << bit;
        WriteFiles(*sample.index, damaged);
        EXPECT_EQ(ExitCode(Dump().status()), 65) << sample.name << " data byte " << byte;
      }
    }
  }
}

TEST_F(TensorBundleTest, EveryCutIsDataLoss) {
  for (const Sample& sample : kSamples) {
    for (size_t size = 0; size < sample.index->size(); ++size) {
      WriteFiles(sample.index->substr(0, size), *sample.data);
      EXPECT_EQ(ExitCode(Dump().status()), 65) << sample.name << " index cut at " << size;
    }
    for (size_t size = 0; size < sample.data->size(); ++size) {
      WriteFiles(*sample.index, sample.data->substr(0, size));
      EXPECT_EQ(ExitCode(Dump().status()), 65) << sample.name << " data cut at " << size;
    }
  }
}

TEST_F(TensorBundleTest, AByteMissingOrTooManyIsDataLoss) {
  for (size_t byte = 0; byte < kPlainIndex.size(); ++byte) {
    std::string shorter = kPlainIndex, longer = kPlainIndex;
    shorter.erase(byte, 1);
    longer.insert(byte, 1, '\0');
    WriteFiles(shorter, kPlainData);
    EXPECT_EQ(ExitCode(Dump().status()), 65) << byte;
    WriteFiles(longer, kPlainData);
    EXPECT_EQ(ExitCode(Dump().status()), 65) << byte;
  }
  WriteFiles(kPlainIndex + '\0', kPlainData);
  EXPECT_EQ(ExitCode(Dump().status()), 65);
  // TensorFlow may pad data files: what no tensor claims is not looked at.
  WriteFiles(kPlainIndex, kPlainData + '\0');
  const absl::StatusOr<std::string> padded = Dump();
  WriteFiles(kPlainIndex, kPlainData);
  ASSERT_TRUE(padded.ok()) << padded.status();
  EXPECT_TRUE(*padded == *Dump());
}

TEST_F(TensorBundleTest, DamageNamesTheFileAndTheTensor) {
  std::string damaged = kPlainData;
  damaged[1] ^= 1;
  WriteFiles(kPlainIndex, damaged);
  ExpectDataLoss("tensor \"a/kernel\" of " + prefix_ + ".data-00000-of-00001: checksum 0x");
  WriteFiles(kPlainIndex, kPlainData.substr(0, 20));
  ExpectDataLoss("tensor \"a/kernel\" of " + prefix_ +
                 ".data-00000-of-00001: data file is truncated: got 20 bytes, want 24 bytes "
                 "from offset 0");
  damaged = kPlainIndex;
  damaged[20] ^= 1;
  WriteFiles(damaged, kPlainData);
  ExpectDataLoss(prefix_ + ".index: block checksum 0x");
}

// Checksums are right, the content is not.
TEST_F(TensorBundleTest, EntriesThatCannotBeAreDataLoss) {
  using Entry = tensorflow::BundleEntryProto;
  ChangeEntry("a/kernel", [](Entry* entry) { entry->set_shard_id(1); });
  ExpectDataLoss("tensor \"a/kernel\" of " + prefix_ + ".index: in data file 1, want 0 to 0");
  ChangeEntry("a/kernel", [](Entry* entry) { entry->set_shard_id(-1); });
  ExpectDataLoss("in data file -1");
  ChangeEntry("a/kernel", [](Entry* entry) { entry->set_offset(-1); });
  ExpectDataLoss("truncated");
  ChangeEntry("a/kernel", [](Entry* entry) { entry->set_size(INT64_MAX); });
  ExpectDataLoss("truncated");
  ChangeEntry("a/kernel", [](Entry* entry) { entry->set_size(20); });
  ExpectDataLoss("got 20 bytes, want 6 elements of 4 bytes");
  ChangeEntry("a/kernel",
              [](Entry* entry) { entry->mutable_shape()->mutable_dim(0)->set_size(-1); });
  ExpectDataLoss("bad shape [-1,3]");
  ChangeEntry("a/kernel", [](Entry* entry) {
    entry->mutable_shape()->mutable_dim(0)->set_size(INT64_MAX / 2);
  });
  ExpectDataLoss("bad shape");
  ChangeEntry("words", [](Entry* entry) {
    entry->mutable_shape()->mutable_dim(0)->set_size(int64_t{1} << 40);
  });
  ExpectDataLoss("tensor \"words\"");
  // A slice that is not there, of a size that is not there either.
  ChangeEntry("a/kernel", [](Entry* entry) {
    entry->mutable_shape()->mutable_dim(0)->set_size(int64_t{1} << 50);
    entry->add_slices()->add_extent();
  });
  ExpectDataLoss("its slices do not cover it");
}

TEST_F(TensorBundleTest, AnUnknownTypeNamesItsTensor) {
  for (const int dtype : {0, 24, 999, -1}) {
    ChangeEntry("a/kernel", [&](tensorflow::BundleEntryProto* entry) {
      entry->set_dtype(static_cast<DataType>(dtype));
    });
    ExpectDataLoss("tensor \"a/kernel\" of " + prefix_ + ".index: unknown dtype " +
                   std::to_string(dtype) + ", want 1 to 23");
  }
}

// Nothing was read that could be damaged.
TEST_F(TensorBundleTest, AFileThatCannotBeReadIsNotFound) {
  for (const std::string& path : {BundleIndexPath(prefix_), BundleDataPath(prefix_, 0, 1)}) {
    for (const bool pipe : {true, false}) {
      WriteFiles(kPlainIndex, kPlainData);
      ASSERT_TRUE(RemoveFile(path).ok());
      ASSERT_EQ(pipe ? mkfifo(path.c_str(), 0600) : symlink(path.c_str(), path.c_str()), 0);
      const absl::Status status = BundleReader::Open(prefix_).status();
      EXPECT_EQ(ExitCode(status), 66);
      EXPECT_EQ(status.message(), "cannot read " + path +
                                      (pipe ? ": it is a device or a pipe, want a regular file"
                                            : ": Too many levels of symbolic links"));
      ASSERT_TRUE(RemoveFile(path).ok());
    }
  }
}

TEST_F(TensorBundleTest, HeadersThatCannotBeReadAreRefused) {
  using Header = tensorflow::BundleHeaderProto;
  ChangeHeader([](Header* header) { header->set_endianness(Header::BIG); });
  ExpectOtherFormat("big-endian");
  ChangeHeader([](Header* header) { header->mutable_version()->set_min_consumer(2); });
  ExpectOtherFormat("can only be read by format 2 or later, this is 1");
  ChangeHeader([](Header* header) { header->mutable_version()->add_bad_consumers(1); });
  ExpectOtherFormat("can only be read by format 2 or later, this is 1");
  ChangeHeader([](Header* header) { header->set_num_shards(0); });
  ExpectDataLoss("got 0 data files");
  ChangeHeader([](Header* header) { header->mutable_version()->set_producer(0); });
  EXPECT_TRUE(Dump().ok());
  TableEntries rows = *ReadTable(kPlainIndex, "index");
  rows.erase(rows.begin());
  WriteFiles(*BuildTable(rows), kPlainData);
  ExpectDataLoss("has no header");
}

}  // namespace
}  // namespace tpurun
