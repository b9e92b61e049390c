// Conversions: the bytes of the files, the values in them, and what is said of bad input.
#include "data/convert/convert.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "data/convert/example_files.h"
#include "data/convert/shard_set.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/example.pb.h"
#include "runtime/base/status.h"
#include "runtime/io/record_reader.h"
#include "tests/data/convert/convert_fixture.h"
#include "tests/io/child.h"

namespace tpurun {
namespace {

using namespace std::string_literals;

// Three images of 2x2 and their labels.
const std::string kImages =
    "\0\0\x08\x03\0\0\0\x03\0\0\0\x02\0\0\0\x02"s
    "abcdefghijkl";
const std::string kLabels =
    "\0\0\x08\x01\0\0\0\x03"s
    "\x01\x02\xff";

constexpr char kConverted[] =
    "image_raw { bytes_list { value: \"abcd\" } } label { int64_list { value: 1 } } \n"
    "image_raw { bytes_list { value: \"efgh\" } } label { int64_list { value: 2 } } \n"
    "image_raw { bytes_list { value: \"ijkl\" } } label { int64_list { value: 255 } } \n";

TEST_F(ConvertTest, IdxFilesInEitherOrderAndCompressed) {
  Write("images", kImages);
  Write("labels", kLabels);
  Write("images.gz", Gzip(kImages));
  for (const std::vector<std::string>& inputs : std::vector<std::vector<std::string>>{
           {"images", "labels"}, {"labels", "images"}, {"images.gz", "labels"}}) {
    EXPECT_EQ(Convert("idx", {.inputs = inputs}), "");
    EXPECT_EQ(Examples("out"), kConverted);
  }
  EXPECT_EQ(Convert("idx", {.inputs = {"images", "labels"}}, 1, Compression::kGzip), "");
  EXPECT_EQ(Examples("out", Compression::kGzip), kConverted);
}

// Example { features { "image_raw" bytes, "label" int64 } }, keys sorted, as
// SerializeToString(deterministic=True) of TensorFlow's Python gives it.
TEST_F(ConvertTest, FeaturesAreSortedInTheRecord) {
  Write("images", kImages);
  Write("labels", kLabels);
  ASSERT_EQ(Convert("idx", {.inputs = {"images", "labels"}}), "");
  const auto reader = RecordReader::Open(dir_.Path("out")).value();
  std::string record;
  ASSERT_TRUE(reader->Read(&record).value());
  EXPECT_EQ(record,
            "\x0a\x27"
            "\x0a\x15\x0a\x09image_raw\x12\x08\x0a\x06\x0a\x04"
            "abcd"
            "\x0a\x0e\x0a\x05label\x12\x05\x1a\x03\x0a\x01\x01");
}

TEST_F(ConvertTest, RecordsGoToShardsInTurn) {
  Write("images", kImages);
  Write("labels", kLabels);
  ASSERT_EQ(Convert("idx", {.inputs = {"images", "labels"}}, 2), "");
  EXPECT_EQ(Names(), (std::vector<std::string>{"images", "labels", "out-00000-of-00002",
                                               "out-00001-of-00002"}));
  EXPECT_EQ(Examples("out-00000-of-00002") + Examples("out-00001-of-00002"),
            "image_raw { bytes_list { value: \"abcd\" } } label { int64_list { value: 1 } } \n"
            "image_raw { bytes_list { value: \"ijkl\" } } label { int64_list { value: 255 } } \n"
            "image_raw { bytes_list { value: \"efgh\" } } label { int64_list { value: 2 } } \n");
  // PREFIX* must not find two conversions.
  EXPECT_EQ(
      Convert("idx", {.inputs = {"images", "labels"}}, 3),
      "INVALID_ARGUMENT: --output: out-00000-of-00002 is there from another number of shards, "
      "and out* would read both: remove it, or choose another prefix");
  EXPECT_EQ(Convert("idx", {.inputs = {"images", "labels"}}, 2), "");
}

TEST_F(ConvertTest, AnInputIsNeverReplaced) {
  Write("images", kImages);
  Write("labels", kLabels);
  ASSERT_EQ(symlink("images", dir_.Path("out").c_str()), 0);
  EXPECT_EQ(Convert("idx", {.inputs = {"images", "labels"}}),
            "INVALID_ARGUMENT: out is an input too, want another name for the output");
  EXPECT_EQ(*ReadFile(dir_.Path("images")), kImages);
  EXPECT_EQ(Names(), (std::vector<std::string>{"images", "labels", "out"}));
}

TEST_F(ConvertTest, ShardsWithoutRecordsAreRefused) {
  Write("images", kImages);
  Write("labels", kLabels);
  EXPECT_EQ(Convert("idx", {.inputs = {"images", "labels"}}, 4),
            "DATA_LOSS: images and labels: 3 records in all, want 4 or more: one a shard");
  EXPECT_EQ(Names(), (std::vector<std::string>{"images", "labels"}));
}

// Three shards, of three records of one feature, not committed.
class ExampleFilesTest : public ConvertTest {
 protected:
  std::unique_ptr<ExampleFiles> Begin(const std::string& value, int shards = 3) const {
    auto files = ExampleFiles::Create(dir_.Path("out"), shards, Compression::kNone, {}).value();
    tensorflow::Example example;
    auto& feature = (*example.mutable_features()->mutable_feature())["x"];
    feature.mutable_bytes_list()->add_value(value);
    for (int record = 0; record < 3; ++record) EXPECT_TRUE(files->Write(example).ok());
    return files;
  }
  static std::string Text(const std::string& value) {
    return "x { bytes_list { value: \"" + value + "\" } } \n";
  }

  const std::vector<std::string> names_ = {"out-00000-of-00003", "out-00001-of-00003",
                                           "out-00002-of-00003"};
};

TEST_F(ExampleFilesTest, AnOlderSetStandsUntilTheNewOneIsComplete) {
  ASSERT_TRUE(Begin("old")->Commit().ok());
  Begin("new").reset();
  for (const std::string& name : names_) EXPECT_EQ(Examples(name), Text("old"));
  ASSERT_TRUE(Begin("new")->Commit().ok());
  for (const std::string& name : names_) EXPECT_EQ(Examples(name), Text("new"));
  EXPECT_EQ(Names(), names_);
}

TEST_F(ExampleFilesTest, FilesOfTwoSetsNeverStandTogether) {
  ASSERT_TRUE(Begin("old")->Commit().ok());
  const auto files = Begin("new");
  // This one cannot be removed.
  ASSERT_TRUE(RemoveFile(dir_.Path(names_[1])).ok());
  ASSERT_TRUE(MakeDirectories(dir_.Path(names_[1])).ok());
  EXPECT_EQ(ExitCode(files->Commit()), 74);
  EXPECT_FALSE(FileExists(dir_.Path(names_[0])));
  EXPECT_EQ(Examples(names_[2]), Text("old"));
}

TEST_F(ExampleFilesTest, ASetThatCannotBeNamedIsRemovedWhole) {
  ASSERT_TRUE(Begin("old")->Commit().ok());
  auto files = Begin("new");
  ASSERT_TRUE(RemoveFile(ShardSet::TemporaryPaths(dir_.Path("out"), 3)[1]).ok());
  EXPECT_EQ(ExitCode(files->Commit()), 74);
  files.reset();
  EXPECT_EQ(Names(), std::vector<std::string>{});
}

TEST_F(ExampleFilesTest, WhatKilledProcessesLeftOfThePrefixIsRemoved) {
  const std::string other = dir_.Path("outer");
  RunInChild([&] {
    Begin("killed", 3).release();
    Begin("killed", 2).release();
    Begin("killed", 1).release();
    EXPECT_NE(ExampleFiles::Create(other, 1, Compression::kNone, {}).value().release(), nullptr);
  });
  ASSERT_EQ(Names().size(), 7);
  ASSERT_TRUE(Begin("new")->Commit().ok());
  std::vector<std::string> names = Names();
  ASSERT_EQ(names.size(), 4);
  EXPECT_EQ(names[0].substr(0, 7), ".outer.");
  names.erase(names.begin());
  EXPECT_EQ(names, names_);
}

TEST_F(ExampleFilesTest, ARunningProcessKeepsItsFiles) {
  const auto running = Begin("first");
  RunInChild([&] { EXPECT_TRUE(Begin("second")->Commit().ok()); });
  EXPECT_EQ(Examples(names_[1]), Text("second"));
  ASSERT_TRUE(running->Commit().ok());
  for (const std::string& name : names_) EXPECT_EQ(Examples(name), Text("first"));
  EXPECT_EQ(Names(), names_);
}

TEST_F(ConvertTest, IdxFilesThatDoNotFit) {
  struct Case {
    std::string images, labels, message;
  };
  const std::string image_header = kImages.substr(0, 16), label_header = kLabels.substr(0, 8);
  for (const Case& bad : std::vector<Case>{
           {kImages, kImages,
            "images and labels are both of images (several dimensions), want one of each"},
           {kLabels, kLabels,
            "images and labels are both of labels (one dimension), want one of each"},
           {kImages, "\0\0\x08\x01\0\0\0\x02"s + "\x01\x02",
            "images has 3 images, labels has 2 labels, want as many"},
           {kImages.substr(0, 26), kLabels,
            "images: truncated, or its header is wrong: got 10 bytes after it (offset 16), want "
            "the 12 of 3 x 2 x 2"},
           {kImages, kLabels.substr(0, 9),
            "labels: truncated, or its header is wrong: got 1 bytes after it (offset 8), want the "
            "3 of 3"},
           {Gzip(kImages.substr(0, 26)), kLabels,
            "record 2 of images: truncated: got 2 bytes, want 4 (offset 24); its header says 3 x 2 "
            "x 2 bytes"},
           {kImages, Gzip(kLabels.substr(0, 9)),
            "record 1 of labels: truncated: got 0 bytes, want 1 (offset 9); its header says 3 "
            "bytes"},
           {kImages + "m", kLabels,
            "images: has more bytes than its header says: want an end after 3 x 2 x 2 bytes "
            "(offset "
            "28)"},
           {kImages, kLabels + "m",
            "labels: has more bytes than its header says: want an end after 3 bytes (offset 11)"},
           {"", kLabels, "images: not an idx file: it is empty"},
           {"1,2,3\n", kLabels,
            "images: not an idx file: begins with 0x312c322c, want 0x000008 and the number of "
            "dimensions"},
           {"\0\0\x0d\x03"s + kImages.substr(4), kLabels,
            "images: elements of type 0x0d, want 0x08 (unsigned bytes) (offset 2)"},
           {kImages.substr(0, 10), kLabels,
            "images: truncated: got 10 bytes of its header, want 16"},
           {kImages.substr(0, 8) + "\xff\xff\xff\xff\xff\xff\xff\xff" + kImages.substr(16), kLabels,
            "images: elements of 4294967295 bytes, want 1 to 16777216 (offset 8)"},
           {Gzip(kImages).substr(0, 30), kLabels,
            "images: GZIP data: truncated (compressed offset 30)"},
       }) {
    Write("images", bad.images);
    Write("labels", bad.labels);
    EXPECT_EQ(Convert("idx", {.inputs = {"images", "labels"}}), "DATA_LOSS: " + bad.message);
    // Nothing is left behind.
    EXPECT_EQ(Names(), (std::vector<std::string>{"images", "labels"}));
  }
  EXPECT_EQ(ExitCode(Run("idx", {.inputs = {"images", "absent"}}, 1, Compression::kNone)), 66);
}

// 2,000,000,000 images of 28x28, of which there are 20,000 and their labels.
TEST_F(ConvertTest, AHeaderThatClaimsMoreThanTheFileCanHold) {
  constexpr int kThere = 20000;
  const std::string images =
      "\0\0\x08\x03\x77\x35\x94\0\0\0\0\x1c\0\0\0\x1c"s + std::string(kThere * 28 * 28, '\0');
  const std::string labels = "\0\0\x08\x01\x77\x35\x94\0"s + std::string(kThere, '\0');
  for (const bool gzip : {false, true}) {
    const std::string file = gzip ? Gzip(images) : images;
    Write("images", file);
    Write("labels", labels);
    // A byte of deflate's is at most 1032 of the file's.
    const std::string got = gzip ? "at most [0-9]{8}" : absl::StrCat(kThere * 28 * 28);
    EXPECT_THAT(
        Convert("idx", {.inputs = {"images", "labels"}}),
        testing::MatchesRegex(absl::StrCat(
            "DATA_LOSS: images: truncated, or its header is wrong: got ", got,
            " bytes after it .offset 16., want the 1568000000000 of 2000000000 x 28 x 28")));
  }
}

// What is compressed as far as deflate can go is not refused for it.
TEST_F(ConvertTest, IdxFilesOfNothingButZeros) {
  constexpr int kCount = 1 << 18;
  const std::string header = "\0\0\x08\x03\0\x04\0\0\0\0\0\x01\0\0\0\x01"s;
  Write("images.gz", Gzip(header + std::string(kCount, '\0')));
  Write("labels.gz", Gzip("\0\0\x08\x01\0\x04\0\0"s + std::string(kCount, '\0')));
  EXPECT_EQ(Convert("idx", {.inputs = {"images.gz", "labels.gz"}}), "");
}

TEST_F(ConvertTest, ColumnsOfCsvFiles) {
  Write("a.csv", "name,p,q,label,x\nrose, 0,255,7,1.5\n\"tu,lip\",16,1,-2,-3e1\n");
  Write("b.csv.gz", Gzip("name,p,q,label,x\nlily,97,98,9,4\n"));
  EXPECT_EQ(Convert("csv", {.inputs = {"a.csv", "b.csv.gz"},
                            .features = {"image_raw:bytes:1-2", "label:int64:3", "x:float:4"},
                            .skip_lines = 1}),
            "");
  EXPECT_EQ(Examples("out"),
            "image_raw { bytes_list { value: \"\\000\\377\" } } label { int64_list { value: 7 } } "
            "x { float_list { value: 1.5 } } \n"
            "image_raw { bytes_list { value: \"\\020\\001\" } } label { int64_list { value: -2 } } "
            "x { float_list { value: -30 } } \n"
            "image_raw { bytes_list { value: \"ab\" } } label { int64_list { value: 9 } } "
            "x { float_list { value: 4 } } \n");
}

TEST_F(ConvertTest, ColumnsOfSeveralRanges) {
  Write("a.csv", "0,1,2,3,4,5\n");
  EXPECT_EQ(
      Convert("csv", {.inputs = {"a.csv"},
                      .features = {"image_raw:bytes:5+0-1", "x:float:0-1+3-4", "label:int64:2+2"}}),
      "");
  EXPECT_EQ(Examples("out"),
            "image_raw { bytes_list { value: \"\\005\\000\\001\" } } "
            "label { int64_list { value: 2 value: 2 } } "
            "x { float_list { value: 0 value: 1 value: 3 value: 4 } } \n");
  Write("b.csv", "0,1,2,3\n");
  EXPECT_EQ(Convert("csv", {.inputs = {"b.csv"}, .features = {"x:float:0-1+3-4"}}),
            "DATA_LOSS: b.csv:1: got 4 columns, want column 4 (from 0) for feature \"x\"");
}

TEST_F(ConvertTest, AByteOrderMarkIsNoPartOfACsvFile) {
  Write("a.csv", "\xef\xbb\xbfred,1\nblue,2\n");
  Write("b.csv", "\xef\xbb\xbf\"red\",3\n");
  EXPECT_EQ(Convert("csv", {.inputs = {"a.csv", "b.csv"}, .features = {"name:string:0"}}), "");
  std::vector<std::string> names;
  for (const tensorflow::Example& example : Read("out"))
    names.push_back(example.features().feature().at("name").bytes_list().value(0));
  EXPECT_EQ(names, (std::vector<std::string>{"red", "blue", "red"}));
}

// As Python's csv module and pandas write and read them.
TEST_F(ConvertTest, TextsWithCommasQuotesAndLineBreaks) {
  Write("a.csv",
        "text,label\n\"one, \"\"two\"\"\",a\n\"\",b\n\"first\nsecond, \"\"\n\"\"\n\",a\r\n"
        "\"x\r\ny\",\"\"\nplain,\"b\n\"\n");
  EXPECT_EQ(Convert("csv", {.inputs = {"a.csv"},
                            .features = {"text:string:0", "both:string:1+0"},
                            .skip_lines = 1}),
            "");
  const auto strings = [](const tensorflow::Example& example, const std::string& name) {
    const auto& values = example.features().feature().at(name).bytes_list().value();
    return std::vector<std::string>(values.begin(), values.end());
  };
  const std::vector<std::vector<std::string>> want = {{"one, \"two\"", "a"},
                                                      {"", "b"},
                                                      {"first\nsecond, \"\n\"\n", "a"},
                                                      {"x\r\ny", ""},
                                                      {"plain", "b\n"}};
  const auto examples = Read("out");
  ASSERT_EQ(examples.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(strings(examples[i], "text"), std::vector<std::string>{want[i][0]});
    EXPECT_EQ(strings(examples[i], "both"), (std::vector<std::string>{want[i][1], want[i][0]}));
  }
}

// More than what is read at a time.
TEST_F(ConvertTest, APipeIsReadOnce) {
  constexpr int kRows = 100000;
  ASSERT_EQ(mkfifo(dir_.Path("pipe").c_str(), 0600), 0);
  std::thread writer([&] {
    const auto sink = FileSink::Create(dir_.Path("pipe")).value();
    for (int row = 0; row < kRows; ++row) EXPECT_TRUE(sink->Append(absl::StrCat(row, "\n")).ok());
    EXPECT_TRUE(sink->Close().ok());
  });
  EXPECT_EQ(Convert("csv", {.inputs = {"pipe"}, .features = {"label:int64:0"}}), "");
  writer.join();
  const auto examples = Read("out");
  ASSERT_EQ(examples.size(), kRows);
  EXPECT_EQ(Label(examples.front()), 0);
  EXPECT_EQ(Label(examples.back()), kRows - 1);
}

TEST_F(ConvertTest, CsvFilesThatDoNotFit) {
  struct Case {
    std::string csv, message;
  };
  for (const Case& bad : std::vector<Case>{
           {"1,2,3\n1,256,3\n",
            "a:2: column 1: want an integer 0..255 for feature \"x\", got \"256\""},
           {"1,2,3\n1,-1,3\n",
            "a:2: column 1: want an integer 0..255 for feature \"x\", got \"-1\""},
           {"1,2,3.5\n", "a:1: column 2: want an integer for feature \"label\", got \"3.5\""},
           {"1,2,3\n1,2\n", "a:2: got 2 columns, want 3 as in the first row"},
           {"1,2\n", "a:1: got 2 columns, want column 2 (from 0) for feature \"label\""},
           {"\n1,2,3\n\n  \n1,x,3\n",
            "a:5: column 1: want an integer 0..255 for feature \"x\", got \"x\""},
           {" \n\n", "a:3: no data rows"},
           {"1;2;3\n",
            "a:1: got 1 columns, want column 1 (from 0) for feature \"x\"; --delimiter=\";\" "
            "separates "
            "the columns where the row has it"},
           {"1,2,\"3\n", "a:1: column 2 (from 0) has a quote that is not closed"},
           {"1,2,3\n1,\"2\n0\",3\n4,5,x\n",
            "a:2: column 1: want an integer 0..255 for feature \"x\", got \"2\\n0\""},
           {"1,2,3\n1,2,\"\n\n3\"\n4,5,x\n",
            "a:5: column 2: want an integer for feature \"label\", got \"x\""},
           {"", "a:1: no data rows"},
       }) {
    Write("a", bad.csv);
    EXPECT_EQ(Convert("csv", {.inputs = {"a"}, .features = {"x:bytes:0-1", "label:int64:2"}}),
              "DATA_LOSS: " + bad.message);
    EXPECT_EQ(Names(), std::vector<std::string>{"a"});
  }
}

TEST_F(ConvertTest, ArgumentsAreCheckedBeforeAnythingIsRead) {
  const std::string want =
      ", want NAME:KIND:COLUMNS with KIND bytes, string, int64 or float and COLUMNS N or N-M from "
      "0, "
      "joined by +, such as image_raw:bytes:0-26+28-63";
  for (const char* feature :
       {"x", "x:bytes", ":bytes:0", "x:text:0", "x:bytes:", "x:bytes:3-2", "x:bytes:-1",
        "x:bytes:0-", "x:bytes:a", "x:bytes:0+", "x:bytes:+1", "x:bytes:0++2", "x:bytes:0+2-1"}) {
    EXPECT_EQ(Convert("csv", {.inputs = {"absent"}, .features = {feature}}),
              absl::StrCat("INVALID_ARGUMENT: --features: got \"", feature, "\"", want));
  }
  EXPECT_EQ(Convert("csv", {.inputs = {"absent"}, .features = {"x:bytes:0", "x:int64:1"}}),
            "INVALID_ARGUMENT: --features: \"x\" is given twice");
  EXPECT_EQ(Convert("csv", {.inputs = {"absent"}, .features = {"x\n:bytes:0"}}),
            "INVALID_ARGUMENT: --features: got the name \"x\\n\", want printable text (UTF-8)");
  EXPECT_EQ(Convert("csv", {.inputs = {"absent"}}),
            "INVALID_ARGUMENT: convert csv needs --features=NAME:KIND:COLUMNS,... such as "
            "--features=image_raw:bytes:0-63,label:int64:64");
  EXPECT_EQ(Convert("idx", {.inputs = {"absent"}}),
            "INVALID_ARGUMENT: idx: got 1 file, want two: images and labels");
  EXPECT_EQ(Convert("idy", {.inputs = {"absent"}}),
            "INVALID_ARGUMENT: unknown kind \"idy\" to convert, did you mean \"idx\"?");
}

// testdata/digits/README.md says how they were made: index % 6 == 5 is for testing.
TEST(DigitsTest, AllOfThemAreThere) {
  int64_t digits_of[10] = {};
  for (const auto& [name, count] : {std::pair("testdata/digits/train.tfrecord.gz", 1498),
                                    std::pair("testdata/digits/test.tfrecord.gz", 299)}) {
    const auto reader = RecordReader::Open(name, Compression::kGzip).value();
    std::string record;
    while (reader->Read(&record).value()) {
      tensorflow::Example example;
      ASSERT_TRUE(example.ParseFromString(record));
      const auto& features = example.features().feature();
      EXPECT_EQ(features.at("image_raw").bytes_list().value(0).size(), 64);
      ++digits_of[features.at("label").int64_list().value(0)];
    }
    EXPECT_EQ(reader->num_records(), count);
  }
  // scikit-learn's table of the data set.
  const int64_t want[10] = {178, 182, 177, 183, 181, 182, 181, 179, 174, 180};
  for (int digit = 0; digit < 10; ++digit) EXPECT_EQ(digits_of[digit], want[digit]) << digit;
}

}  // namespace
}  // namespace tpurun
