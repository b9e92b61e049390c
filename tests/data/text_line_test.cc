// The text_line source: which lines it gives, and what it says of files it cannot read.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "tests/data/run_input.h"
#include "tests/io/temp_dir.h"

namespace tpurun {
namespace {

class TextLineTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, const std::string& text) {
    std::ofstream(dir_.Path(name), std::ios::binary) << text;
  }

  // The values of column x of the lines, or the error without the directory.
  std::string Read(const std::string& text_line, const std::string& transforms = "",
                   ModeKey mode = ModeKey::kEval) {
    auto input = Open(Config(text_line, transforms), Args(mode), dir_.path());
    if (!input.ok()) return Shortened(input.status());
    const auto batches = input->Batches();
    if (!batches.ok()) return Shortened(batches.status());
    return absl::StrReplaceAll(*batches, {{"x=", ""}, {"--\n", ""}, {"\n", " "}});
  }

  static std::string Config(const std::string& text_line, const std::string& transforms = "") {
    return absl::StrCat("train { input { source { text_line { ", text_line,
                        " } } transform { decode_csv { column { name: \"x\" dtype: INT32 } } } ",
                        transforms, " } }");
  }
  static InputFnArgs Args(ModeKey mode = ModeKey::kEval) {
    return {.mode = mode, .batch_size = 3, .features = ParseFeatures("x s32[]")};
  }

  std::string Shortened(const absl::Status& status) const {
    return absl::StrReplaceAll(status.ToString(absl::StatusToStringMode::kWithNoExtraData),
                               {{dir_.path() + "/", ""}});
  }

  const TempDir dir_;
};

TEST_F(TextLineTest, LinesEndWithNewlineOrCrlfOrTheFile) {
  Write("a", "1\n2\r\n3\n");
  Write("b", "4\r\n5");
  EXPECT_EQ(Read("file: \"a\" file: \"b\""), "1 2 3 4 5 ");
}

TEST_F(TextLineTest, FilesComeInTheOrderOfTheNamesAndAGlobSorted) {
  Write("b2", "3\n");
  Write("b10", "2\n");
  Write("a", "1\n");
  EXPECT_EQ(Read("file: \"b*\" file: \"a\""), "2 3 1 ");
}

TEST_F(TextLineTest, AFileWhoseNameLooksLikeAGlobIsTakenAsItIs) {
  Write("a[1]", "1\n");
  Write("a1", "2\n");
  EXPECT_EQ(Read("file: \"a[1]\""), "1 ");
}

TEST_F(TextLineTest, SkipLinesIsPerFile) {
  Write("a", "h\n1\n");
  Write("b", "h\n2\n");
  EXPECT_EQ(Read("file: \"a\" file: \"b\" skip_lines: 1"), "1 2 ");
}

TEST_F(TextLineTest, LinesAreCountedInTheirFile) {
  Write("a", "h\n1\n2\n");
  Write("b", "h\n3\nword\n");
  EXPECT_EQ(Read("file: \"a\" file: \"b\" skip_lines: 1"),
            "DATA_LOSS: b:3: column 1 \"x\": want INT32, got \"word\"");
  EXPECT_EQ(Read("file: \"a\" file: \"b\" skip_lines: 1", "transform { cache {} }"),
            "DATA_LOSS: b:3: column 1 \"x\": want INT32, got \"word\"");
}

TEST_F(TextLineTest, LinesLongerThanABlockAreRead) {
  const std::string blanks(700000, ' ');
  Write("a", absl::StrCat("1\n", blanks, "2\n", blanks, "3"));
  EXPECT_EQ(Read("file: \"a\""), "1 2 3 ");
}

TEST_F(TextLineTest, LinesAcrossBlocksAreRead) {
  std::string text, want;
  for (int i = 0; i < 200000; ++i) {  // about five blocks
    absl::StrAppend(&text, i, "\n");
    absl::StrAppend(&want, i, " ");
  }
  Write("a", text);
  auto input =
      Open(Config("file: \"a\""),
           {.mode = ModeKey::kEval, .batch_size = 200000, .features = ParseFeatures("x s32[]")},
           dir_.path());
  ASSERT_TRUE(input.ok()) << input.status();
  EXPECT_TRUE(absl::StrReplaceAll(input->Batches().value(), {{"x=", ""}, {"\n", " "}}) == want);
}

TEST_F(TextLineTest, AFileWithoutLineEndsIsNotReadWhole) {
  // A hole: no disk is used.
  std::ofstream(dir_.Path("a"));
  ASSERT_EQ(truncate(dir_.Path("a").c_str(), int64_t{1} << 40), 0);
  EXPECT_EQ(Read("file: \"a\""),
            "DATA_LOSS: a:1: a line of more than 16 MiB: is this a text file?");
  EXPECT_EQ(Read("file: \"a\" skip_lines: 1"),
            "DATA_LOSS: a:1: a line of more than 16 MiB: is this a text file?");
}

TEST_F(TextLineTest, AnEmptyFileIsAnError) {
  Write("empty", "");
  Write("header", "h\n");
  Write("a", "1\n");
  EXPECT_EQ(Read("file: \"empty\""), "DATA_LOSS: empty: no data rows: the file has 0 lines");
  EXPECT_EQ(Read("file: \"header\" skip_lines: 1"),
            "DATA_LOSS: header: no data rows: the file has 1 line and skip_lines is 1");
  EXPECT_EQ(Read("file: \"a\" file: \"empty\""),
            "DATA_LOSS: empty: no data rows: the file has 0 lines");
  EXPECT_EQ(Read("file: \"empty\"", "transform { repeat {} }", ModeKey::kTrain),
            "DATA_LOSS: empty: no data rows: the file has 0 lines");
  EXPECT_EQ(Read("file: \"a\" file: \"empty\"", "transform { repeat {} }", ModeKey::kTrain),
            "DATA_LOSS: empty: no data rows: the file has 0 lines");
}

TEST_F(TextLineTest, InPredictAFileWithoutRowsIsAWarningThatSaysWhy) {
  Write("empty", "");
  Write("header", "x\n");
  Write("a", "1\n");
  const auto warnings_of = [this](const std::string& text_line,
                                  const std::string& transforms = "") {
    std::vector<std::string> warnings;
    InputFnArgs args = Args(ModeKey::kPredict);
    args.warn = [&](const std::string& message) { warnings.push_back(message); };
    auto input = Open(Config(text_line, transforms), args, dir_.path());
    EXPECT_TRUE(input.ok()) << input.status();
    EXPECT_TRUE(input->Batches().ok());
    return absl::StrReplaceAll(absl::StrJoin(warnings, "\n"), {{dir_.path() + "/", ""}});
  };
  EXPECT_EQ(warnings_of("file: \"empty\""),
            "empty: no data rows: the file has 0 lines; nothing is predicted of it");
  EXPECT_EQ(warnings_of("file: \"header\" skip_lines: 1"),
            "header: no data rows: the file has 1 line and skip_lines is 1; nothing is predicted "
            "of it");
  EXPECT_EQ(warnings_of("file: \"header\" header: true"),
            "header: no data rows: the file has 1 line and the header takes one; nothing is "
            "predicted of it");
  EXPECT_EQ(warnings_of("file: \"a\" file: \"empty\""),
            "empty: no data rows: the file has 0 lines; nothing is predicted of it");
  EXPECT_EQ(warnings_of("file: \"a\"", "transform { take { count: 0 } }"),
            "run.textproto:1:9: the input has no elements: its transforms leave none of text_line "
            "\"a\"; nothing is predicted of it");
  EXPECT_EQ(warnings_of("file: \"a\"", "transform { batch { drop_remainder: true } }"),
            "run.textproto:1:9: the input has 1 element, fewer than one predict_batch_size of 3; "
            "lower it, or add transform { repeat {} } before batch; nothing is predicted of it");
  EXPECT_EQ(warnings_of("file: \"a\""), "");
}

TEST_F(TextLineTest, LinesThatEndWithCrAloneAreToldOf) {
  Write("a", "1\r2\r");
  EXPECT_EQ(Read("file: \"a\""), "DATA_LOSS: a:1: column 1 \"x\": want INT32, got \"1\\r2\"");
  Write("b", "1,3\r2,4\r");
  EXPECT_EQ(Read("file: \"b\""),
            "DATA_LOSS: b:1: want 1 column, got 3: \"1,3\\r2,4\"; it holds CR (\\r), want lines "
            "that end with LF or CR LF");
}

TEST_F(TextLineTest, AHeaderNamesTheColumnsOfItsFile) {
  Write("a", "x,y\n1,2\n3,4\n");
  Write("b", "\xef\xbb\xbfy , x\n6,5\n8,7\n");
  Write("skipped", "a comment\nx\n9\n");
  EXPECT_EQ(Read("file: \"a\" header: true"), "1 3 ");
  EXPECT_EQ(Read("file: \"a\" file: \"b\" header: true"), "1 3 5 7 ");
  EXPECT_EQ(Read("file: \"skipped\" header: true skip_lines: 1"), "9 ");
  // Rows keep theirs, whatever the order they come in.
  EXPECT_EQ(Read("file: [\"b\", \"a\"] header: true",
                 "transform { cache {} } transform { repeat { count: 2 } }"),
            "5 7 1 3 5 7 1 3 ");
  const std::string shuffled =
      Read("file: [\"b\", \"a\"] header: true", "transform { shuffle { buffer_size: 9 } }");
  std::vector<std::string> values = absl::StrSplit(shuffled, ' ', absl::SkipEmpty());
  std::sort(values.begin(), values.end());
  EXPECT_EQ(absl::StrJoin(values, " "), "1 3 5 7");
}

TEST_F(TextLineTest, AHeaderWithoutAColumnIsFoundBeforeAnyRowIsUsed) {
  Write("a", "x\n1\n");
  Write("b", "y,X\n1,2\n");
  Write("c", "x,x\n1,2\n");
  const std::string files = "file: [\"a\", \"b\"] header: true";
  const std::string want = "DATA_LOSS: b:1: the header has no column \"x\"; it names \"y\", \"X\"";
  EXPECT_EQ(Read(files), want);
  EXPECT_EQ(Shortened(Open(Config(files), Args(), dir_.path()).status()), want);
  EXPECT_EQ(Read("file: \"c\" header: true"),
            "DATA_LOSS: c:1: the header has two columns \"x\", want one");
  // That of a pipe is known with its first row.
  ASSERT_EQ(mkfifo(dir_.Path("pipe").c_str(), 0600), 0);
  std::thread writer([&] { Write("pipe", "y,X\n1,2\n"); });
  EXPECT_EQ(Read("file: \"pipe\" header: true"),
            "DATA_LOSS: pipe:2: the header has no column \"x\"; it names \"y\", \"X\"");
  writer.join();
}

TEST_F(TextLineTest, AMissingFileIsNotFound) {
  EXPECT_EQ(Read("file: \"absent\""),
            "NOT_FOUND: run.textproto:1:38: cannot read absent: No such file or directory");
  EXPECT_EQ(Read("file: \"absent-*\""),
            absl::StrCat("NOT_FOUND: run.textproto:1:38: no file matches \"absent-*\""));
  Write("a", "1\n");
  EXPECT_EQ(Read("file: \"a\" file: \"absent\""),
            "NOT_FOUND: run.textproto:1:48: cannot read absent: No such file or directory");
}

TEST_F(TextLineTest, AFileThatIsGoneAtTheNextPassIsNotFound) {
  Write("a", "1\n2\n3\n");
  auto input = Open(Config("file: \"a\"", "transform { repeat {} }"), Args(), dir_.path());
  ASSERT_TRUE(input.ok()) << input.status();
  EXPECT_EQ(input->NextBatch().value(), "x=1\nx=2\nx=3\n");
  std::filesystem::remove(dir_.Path("a"));
  EXPECT_EQ(Shortened(input->NextBatch().status()),
            "NOT_FOUND: cannot read a: No such file or directory");
}

TEST_F(TextLineTest, AFileThatCannotBeReadFromIsNotFound) {
  // As a disk that fails: see FileTest.
  EXPECT_EQ(Read("file: \"/proc/self/mem\""),
            "NOT_FOUND: /proc/self/mem:1: cannot read /proc/self/mem: Input/output error");
}

TEST_F(TextLineTest, ADirectoryIsNotAFile) {
  std::filesystem::create_directory(dir_.Path("d"));
  EXPECT_EQ(
      Read("file: \"d\""),
      "NOT_FOUND: run.textproto:1:38: d is a directory, want a file (\"d/*\" names those in it)");
}

TEST_F(TextLineTest, ANameIsNeeded) {
  EXPECT_EQ(Read(""),
            "INVALID_ARGUMENT: run.textproto:1:26: text_line: file is missing, want at least one");
}

// Puts `text` on standard input while it lives.
class StandardInputOf {
 public:
  explicit StandardInputOf(const std::string& text) : saved_(dup(STDIN_FILENO)) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    writer_ = std::thread([end = ends[1], text] {
      EXPECT_EQ(write(end, text.data(), text.size()), static_cast<ssize_t>(text.size()));
      close(end);
    });
  }
  ~StandardInputOf() {
    writer_.join();
    dup2(saved_, STDIN_FILENO);
    close(saved_);
  }

 private:
  const int saved_;
  std::thread writer_;
};

TEST_F(TextLineTest, ADashIsStandardInput) {
  const StandardInputOf input("1\n2\n3\n4\n");
  EXPECT_EQ(Read("file: \"-\""), "1 2 3 4 ");
}

TEST_F(TextLineTest, StandardInputIsNamedInMessages) {
  const StandardInputOf input("1\nword\n");
  EXPECT_EQ(Read("file: \"-\""),
            "DATA_LOSS: standard input:2: column 1 \"x\": want INT32, got \"word\"");
}

TEST_F(TextLineTest, StandardInputIsRepeatedOnlyFromACache) {
  EXPECT_EQ(
      Read("file: \"-\"", "transform { repeat {} }", ModeKey::kTrain),
      "INVALID_ARGUMENT: run.textproto:1:127: repeat: standard input can be read only once; add "
      "transform { cache {} } before it");
  const StandardInputOf input("1\n2\n");
  EXPECT_EQ(Read("file: \"-\"", "transform { cache {} } transform { repeat { count: 2 } }"),
            "1 2 1 2 ");
}

TEST_F(TextLineTest, ABatchIsGivenBeforeStandardInputEnds) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const int saved = dup(STDIN_FILENO);
  dup2(ends[0], STDIN_FILENO);
  ASSERT_EQ(write(ends[1], "1\n2\n3\n", 6), 6);
  auto input = Open(Config("file: \"-\""), Args());
  ASSERT_TRUE(input.ok()) << input.status();
  EXPECT_EQ(input->NextBatch().value(), "x=1\nx=2\nx=3\n");  // the pipe is still open
  close(ends[1]);
  EXPECT_EQ(input->NextBatch().value(), "");
  dup2(saved, STDIN_FILENO);
  close(saved);
  close(ends[0]);
}

}  // namespace
}  // namespace tpurun
