// CIFAR's binary versions: which byte of a file is which of a picture, and what does not fit.
#include <sys/stat.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "data/convert/convert.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/status.h"
#include "tests/data/convert/convert_fixture.h"

namespace tpurun {
namespace {

using ::testing::ElementsAre;

// Of every record another, of every pixel of a row or a column and of every colour too.
char Value(int record, int row, int column, int colour) {
  return static_cast<char>(record * 101 + row * 7 + column * 3 + colour * 85);
}

// The labels' bytes, then a plane a colour.
std::string Record(int record, const std::string& labels) {
  std::string bytes = labels;
  for (int colour = 0; colour < 3; ++colour) {
    for (int row = 0; row < 32; ++row) {
      for (int column = 0; column < 32; ++column) bytes += Value(record, row, column, colour);
    }
  }
  return bytes;
}

// Row by row, the colours of a pixel together.
std::string Pixels(int record) {
  std::string bytes;
  for (int row = 0; row < 32; ++row) {
    for (int column = 0; column < 32; ++column) {
      for (int colour = 0; colour < 3; ++colour) bytes += Value(record, row, column, colour);
    }
  }
  return bytes;
}

class CifarTest : public ConvertTest {
 protected:
  std::string ConvertFiles(const std::vector<std::string>& files,
                           std::optional<int64_t> classes = std::nullopt) const {
    return Convert("cifar", {.inputs = files, .classes = classes});
  }
  std::vector<int64_t> Labels(const char* name = "label") const {
    std::vector<int64_t> labels;
    for (const tensorflow::Example& example : Read("out")) labels.push_back(Label(example, name));
    return labels;
  }
};

TEST_F(CifarTest, FilesOfCifar10InTheirOrder) {
  Write("a.bin", Record(0, "\x07") + Record(1, std::string(1, '\0')));
  Write("b.bin.gz", Gzip(Record(2, "\x09")));
  for (const auto classes : {std::optional<int64_t>(), std::optional<int64_t>(10)}) {
    ASSERT_EQ(ConvertFiles({"b.bin.gz", "a.bin"}, classes), "");
    EXPECT_THAT(Labels(), ElementsAre(9, 7, 0));
    const auto examples = Read("out");
    EXPECT_EQ(Image(examples[0]), Pixels(2));
    EXPECT_EQ(Image(examples[1]), Pixels(0));
    EXPECT_EQ(Image(examples[2]), Pixels(1));
    EXPECT_EQ(examples[0].features().feature().size(), 2);
  }
}

TEST_F(CifarTest, TheFineLabelOfCifar100IsTheLabel) {
  Write("train.bin", Record(0, "\x13\x63") + Record(1, std::string("\0\x14", 2)));
  for (const auto classes : {std::optional<int64_t>(), std::optional<int64_t>(100)}) {
    ASSERT_EQ(ConvertFiles({"train.bin"}, classes), "");
    EXPECT_THAT(Labels("coarse_label"), ElementsAre(19, 0));
    EXPECT_THAT(Labels(), ElementsAre(99, 20));
    EXPECT_EQ(Image(Read("out")[1]), Pixels(1));
  }
}

TEST_F(CifarTest, FilesThatDoNotFit) {
  struct Case {
    std::string bytes;
    std::optional<int64_t> classes;
    std::string message;
  };
  const std::string ten = Record(0, "\x07") + Record(1, "\x09");
  const std::string hundred = Record(0, "\x13\x63") + Record(1, "\x13\x63");
  for (const Case& bad : std::vector<Case>{
           {"", {}, "a: it is empty"},
           {"", 10, "record 0 of a: truncated: got 0 bytes, want 3073 of CIFAR-10 (offset 0)"},
           {ten.substr(1),
            {},
            "a: got 6145 bytes, want a multiple of 3073 (CIFAR-10) or 3074 (CIFAR-100): truncated, "
            "or not a .bin file of the binary version"},
           {Gzip(ten + "x"),
            {},
            "a: got 6147 bytes, want a multiple of 3073 (CIFAR-10) or 3074 (CIFAR-100): truncated, "
            "or not a .bin file of the binary version"},
           {Gzip(ten).substr(0, 40), {}, "a: GZIP data: truncated (compressed offset 40)"},
           {ten.substr(0, 6145), 10,
            "record 1 of a: truncated: got 3072 bytes, want 3073 of CIFAR-10 (offset 3073)"},
           {ten + "x", 10,
            "record 2 of a: truncated: got 1 bytes, want 3073 of CIFAR-10 (offset 6146)"},
           {Record(0, "\x09") + Record(1, "\x0a"),
            {},
            "record 1 of a: label 10, want 0 to 9 of CIFAR-10 (offset 3073)"},
           {Record(0, "\xff"), {}, "record 0 of a: label 255, want 0 to 9 of CIFAR-10 (offset 0)"},
           {hundred + Record(2, "\x14\x01"),
            {},
            "record 2 of a: coarse_label 20, want 0 to 19 of CIFAR-100 (offset 6148)"},
           {hundred + Record(2, "\x01\x64"),
            {},
            "record 2 of a: label 100, want 0 to 99 of CIFAR-100 (offset 6148)"},
           {ten, 100,
            "record 1 of a: truncated: got 3072 bytes, want 3074 of CIFAR-100 (offset "
            "3074)"},
       }) {
    Write("a", bad.bytes);
    EXPECT_EQ(ConvertFiles({"a"}, bad.classes), "DATA_LOSS: " + bad.message);
    EXPECT_EQ(Names(), std::vector<std::string>{"a"});
  }
  EXPECT_EQ(ExitCode(Run("cifar", {.inputs = {"absent"}}, 1, Compression::kNone)), 66);
}

TEST_F(CifarTest, FilesOfBothVersionsAreRefused) {
  Write("ten", Record(0, "\x07"));
  Write("hundred", Record(0, "\x07\x07"));
  EXPECT_EQ(ConvertFiles({"ten", "ten", "hundred"}),
            "DATA_LOSS: ten is of CIFAR-10, hundred of CIFAR-100, want all of one");
  EXPECT_EQ(Names(), (std::vector<std::string>{"hundred", "ten"}));
}

TEST_F(CifarTest, ASizeOfBothVersionsNeedsTheFlag) {
  const std::string zeros(3073 * 3074, '\0');
  Write("plain", zeros);
  Write("gz", Gzip(zeros));
  for (const char* file : {"plain", "gz"}) {
    EXPECT_EQ(ConvertFiles({file}),
              absl::StrCat("INVALID_ARGUMENT: ", file,
                           ": 9446402 bytes are whole records of both versions: --classes=10 "
                           "(CIFAR-10) or --classes=100 says which it is"));
  }
  ASSERT_EQ(ConvertFiles({"plain"}, 100), "");
  EXPECT_EQ(Read("out").size(), 3073);
}

TEST_F(CifarTest, APipeIsReadOnceAndNeedsTheFlag) {
  const std::string pipe = dir_.Path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const auto convert = [&](std::optional<int64_t> classes) {
    std::thread writer([&] {
      const auto sink = FileSink::Create(pipe).value();
      if (!classes.has_value()) return;
      EXPECT_TRUE(sink->Append(Record(0, "\x07")).ok());
    });
    const std::string error = ConvertFiles({"pipe"}, classes);
    writer.join();
    return error;
  };
  EXPECT_EQ(convert({}),
            "INVALID_ARGUMENT: pipe is no file whose size could tell the version: --classes=10 "
            "(CIFAR-10) or --classes=100 says which it is");
  ASSERT_EQ(convert(10), "");
  EXPECT_EQ(Image(Read("out").front()), Pixels(0));
}

TEST_F(CifarTest, ArgumentsAreCheckedBeforeAnythingIsRead) {
  EXPECT_EQ(ConvertFiles({}), "INVALID_ARGUMENT: convert cifar needs a file");
  for (const int64_t classes : {0, 11, -10, 1000}) {
    EXPECT_EQ(ConvertFiles({"absent"}, classes),
              absl::StrCat("INVALID_ARGUMENT: --classes: got ", classes, ", want 10 or 100"));
  }
}

}  // namespace
}  // namespace tpurun
