// The text source: windows worked out on paper, its vocabulary, and what it says of bad files.
#include <unistd.h>

#include <fstream>
#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "runtime/io/identity.h"
#include "tests/data/run_input.h"
#include "tests/io/temp_dir.h"

namespace tpurun {
namespace {

class TextTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, const std::string& text) {
    std::ofstream(dir_.Path(name), std::ios::binary) << text;
  }

  // The rows, "0,1>1,2 " each, "| " between batches of 4; or the error without the directory.
  std::string Read(const std::string& text, int64_t length, const std::string& transforms = "",
                   InputFnArgs args = {.mode = ModeKey::kEval}) {
    const bool labels = text.find("with_labels: false") == std::string::npos;
    args.batch_size = 4;
    const bool starts = text.find("with_starts: true") != std::string::npos;
    args.features = ParseFeatures(absl::StrCat(
        "text s32[", length, "]", labels ? absl::StrCat(" next s32[", length, "]") : "",
        starts ? " start s32[]" : ""));
    auto input = Open(absl::StrCat("train { input { source { text { sequence_length: ", length, " ",
                                   text, " } } ", transforms, " } }"),
                      args, dir_.path());
    if (!input.ok()) return Shortened(input.status());
    assets_ = input->source().assets;
    examples_ = input->source().examples_per_epoch;
    const auto batches = input->Batches(20);
    if (!batches.ok()) return Shortened(batches.status());
    return absl::StrReplaceAll(
        *batches, {{"text=", ""}, {" next=", ">"}, {" start=", ":"}, {"--\n", "| "}, {"\n", " "}});
  }

  std::string Shortened(const absl::Status& status) const {
    return absl::StrReplaceAll(status.ToString(absl::StatusToStringMode::kWithNoExtraData),
                               {{dir_.path() + "/", ""}});
  }

  InputFnArgs TrainedHere(ModeKey mode = ModeKey::kEval) const {
    return {.mode = mode, .trained = TrainedFolder{.dir = dir_.path()}};
  }

  const TempDir dir_;
  std::map<std::string, std::string> assets_;
  int64_t examples_ = 0;
};

TEST_F(TextTest, WindowsFollowOneAnother) {
  Write("a", "abcdefghij");
  EXPECT_EQ(Read("file: \"a\"", 3), "0,1,2>1,2,3 3,4,5>4,5,6 6,7,8>7,8,9 ");
  EXPECT_EQ(examples_, 3);
  Write("a", "abcdefghi");  // the last window has no next one
  EXPECT_EQ(Read("file: \"a\"", 3), "0,1,2>1,2,3 3,4,5>4,5,6 ");
  EXPECT_EQ(Read("file: \"a\" with_labels: false", 3), "0,1,2 3,4,5 6,7,8 ");
}

TEST_F(TextTest, ShiftIsWhereTheNextOneBegins) {
  Write("a", "abcdefg");
  EXPECT_EQ(Read("file: \"a\" shift: 1", 3), "0,1,2>1,2,3 1,2,3>2,3,4 2,3,4>3,4,5 3,4,5>4,5,6 ");
  EXPECT_EQ(Read("file: \"a\" shift: 4", 2), "0,1>1,2 4,5>5,6 ");
  EXPECT_EQ(Read("file: \"a\" shift: 281474976710656", 2), "0,1>1,2 ");
}

TEST_F(TextTest, TheFilesAreOneText) {
  Write("a", "ab");
  Write("b", "cde");
  EXPECT_EQ(Read("file: [\"a\", \"b\"]", 2), "0,1>1,2 2,3>3,4 ");
  EXPECT_EQ(Read("file: \"b\" file: \"a\"", 2), "2,3>3,4 4,0>0,1 ");
}

TEST_F(TextTest, StreamsGoOnFromRowToRow) {
  Write("a", "abcdefghijk");  // abcde fghij k
  EXPECT_EQ(Read("file: \"a\" streams: 2", 2), "0,1>1,2 5,6>6,7 2,3>3,4 7,8>8,9 ");
  EXPECT_EQ(Read("file: \"a\" streams: 2 with_labels: false", 2), "0,1 5,6 2,3 7,8 ");
  Write("a", "abcdefghijklmnopqrst");  // 4 streams of 5: the batches are of 4 rows
  EXPECT_EQ(Read("file: \"a\" streams: 4", 2),
            "0,1>1,2 5,6>6,7 10,11>11,12 15,16>16,17 | 2,3>3,4 7,8>8,9 12,13>13,14 17,18>18,19 ");
  EXPECT_EQ(Read("file: \"a\" streams: 4 shift: 1 with_labels: false", 4),
            "0,1,2,3 5,6,7,8 10,11,12,13 15,16,17,18 | 1,2,3,4 6,7,8,9 11,12,13,14 16,17,18,19 ");
}

TEST_F(TextTest, TheFirstWindowOfAStreamIsAStart) {
  Write("a", "abcdefg");
  EXPECT_EQ(Read("file: \"a\" with_starts: true", 2), "0,1>1,2:1 2,3>3,4:0 4,5>5,6:0 ");
  EXPECT_EQ(Read("file: \"a\" with_starts: true with_labels: false", 3), "0,1,2:1 3,4,5:0 ");
  EXPECT_EQ(Read("file: \"a\" with_starts: true streams: 2 with_labels: false", 1),
            "0:1 3:1 1:0 4:0 | 2:0 5:0 ");
  // In each epoch; a batch has the end of one and the beginning of the next.
  EXPECT_EQ(Read("file: \"a\" with_starts: true streams: 2 with_labels: false", 1,
                 "transform { repeat { count: 2 } }"),
            "0:1 3:1 1:0 4:0 | 2:0 5:0 0:1 3:1 | 1:0 4:0 2:0 5:0 ");
}

TEST_F(TextTest, APartIsASharesOfTheCharacters) {
  Write("a", "abcdefghijk");  // 0.7 of 11 is 7.7
  EXPECT_EQ(Read("file: \"a\" end: 0.7", 2), "0,1>1,2 2,3>3,4 4,5>5,6 ");
  EXPECT_EQ(Read("file: \"a\" begin: 0.7", 2), "7,8>8,9 ");
  EXPECT_EQ(Read("file: \"a\" begin: 0.2 end: 0.7 with_labels: false", 5), "2,3,4,5,6 ");
  EXPECT_EQ(Read("file: \"a\" begin: 0.2 end: 0.75 streams: 2", 2), "2,3>3,4 5,6>6,7 ");
}

TEST_F(TextTest, CharactersAreCodePointsInTheirOrder) {
  Write("a",
        "\xf0\x9f\x98\x80"
        "a\xc3\xa9\n\xe2\x82\xac"
        "a");  // U+1F600, U+E9, U+20AC
  EXPECT_EQ(Read("file: \"a\" with_labels: false", 3), "4,1,2 0,3,1 ");
  EXPECT_EQ(assets_["vocabulary.txt"], "\\n\na\n\xc3\xa9\n\xe2\x82\xac\n\xf0\x9f\x98\x80\n");
}

TEST_F(TextTest, ACharacterAcrossBlocksIsOne) {
  for (int before = (1 << 20) - 4; before <= 1 << 20; ++before) {
    Write("a", std::string(before, 'a') +
                   "\xf0\x9f\x98\x80"
                   "bc");
    EXPECT_EQ(Read(absl::StrCat("file: \"a\" shift: ", before), 3), "0,0,0>0,0,0 ") << before;
    EXPECT_EQ(Read(absl::StrCat("file: \"a\" with_labels: false shift: ", before), 3),
              "0,0,0 3,1,2 ")
        << before;
  }
}

TEST_F(TextTest, BytesThatAreNoUtf8AreAnError) {
  const std::string iconv = ": iconv -t UTF-8 makes it of other encodings";
  Write("good", "abc\xc3\xa9");
  Write("latin", "caf\xe9s");
  EXPECT_EQ(Read("file: \"good\" file: \"latin\"", 2),
            "DATA_LOSS: latin: want UTF-8, got the byte \"\\351\" at offset 3" + iconv);
  Write("cut", "abc\xc3");
  EXPECT_EQ(Read("file: \"cut\" file: \"good\"", 2),
            "DATA_LOSS: cut: want UTF-8, got the byte \"\\303\" at offset 3" + iconv);
  Write("rest", "\xa9");
  EXPECT_EQ(Read("file: \"cut\" file: \"rest\"", 2),
            "DATA_LOSS: cut: want UTF-8, got the byte \"\\303\" at offset 3" + iconv);
  Write("surrogate", "\xed\xa0\x80");
  EXPECT_EQ(Read("file: \"surrogate\"", 2),
            "DATA_LOSS: surrogate: want UTF-8, got the byte \"\\355\" at offset 0" + iconv);
}

TEST_F(TextTest, AVocabularyFileSaysTheIds) {
  Write("a", "ab\nab");
  Write("v", "b\n\\n\na\n");
  EXPECT_EQ(Read("file: \"a\" vocabulary_file: \"v\"", 2), "2,0>0,1 1,2>2,0 ");
  EXPECT_EQ(assets_["vocabulary.txt"], "b\n\\n\na\n");
}

TEST_F(TextTest, ACharacterOutsideOfTheVocabularyIsAnErrorOrAnId) {
  Write("v", "a\nb\n");
  Write("a", "abab");
  Write("b",
        "a\xc3\xa9"
        "bcb");
  const std::string remedy = "; train with a vocabulary_file that has it, or give an unknown_id";
  EXPECT_EQ(
      Read("file: \"a\" file: \"b\" vocabulary_file: \"v\"", 2),
      "DATA_LOSS: offset 1 of b: the character \"\xc3\xa9\" (U+00E9) is not in the vocabulary" +
          remedy);
  EXPECT_EQ(Read("file: \"b\" begin: 0.5 vocabulary_file: \"v\"", 2),
            "DATA_LOSS: offset 4 of b: the character \"c\" is not in the vocabulary" + remedy);
  EXPECT_EQ(Read("file: \"b\" end: 0.2 vocabulary_file: \"v\" with_labels: false", 1), "0 ");
  EXPECT_EQ(Read("file: \"b\" vocabulary_file: \"v\" unknown_id: 7", 2), "0,7>7,1 1,7>7,1 ");
}

TEST_F(TextTest, TheVocabularyOfTrainingIsReadFromItsFolder) {
  Write("a", "cab");
  EXPECT_EQ(Read("file: \"a\"", 2, "", {.mode = ModeKey::kTrain}).substr(0, 8), "2,0>0,1 ");
  Write("vocabulary.txt", assets_["vocabulary.txt"]);
  Write("b", "acc");
  EXPECT_EQ(Read("file: \"b\"", 2, "", TrainedHere()), "0,2>2,2 ");
  EXPECT_EQ(assets_["vocabulary.txt"], "a\nb\nc\n");
  EXPECT_EQ(Read("file: \"b\" vocabulary_file: \"vocabulary.txt\"", 2, "", TrainedHere()),
            "0,2>2,2 ");
  EXPECT_EQ(assets_["vocabulary.txt"], "a\nb\nc\n");
}

TEST_F(TextTest, WithoutOneATrainedModelNeedsAVocabularyFile) {
  Write("a", "abc");
  EXPECT_EQ(Read("file: \"a\"", 2, "", TrainedHere()),
            "NOT_FOUND: run.textproto:1:26: there is no vocabulary.txt, which train writes with a "
            "source of text; give the vocabulary_file that the model was trained with");
  Write("v", "c\nb\na\n");
  EXPECT_EQ(Read("file: \"a\" vocabulary_file: \"v\"", 2, "", TrainedHere()), "2,1>1,0 ");
  EXPECT_EQ(assets_["vocabulary.txt"], "c\nb\na\n");
}

TEST_F(TextTest, AnotherVocabularyThanThatOfTrainingIsRefused) {
  Write("a", "abc");
  Write("vocabulary.txt", "a\nb\nc\n");
  const std::string of =
      "DATA_LOSS: v is not the vocabulary that the model was trained with, vocabulary.txt: of id ";
  const std::string remedy = "; leave vocabulary_file out, or train in another model_dir";
  Write("v", "a\nc\nb\n");
  EXPECT_EQ(Read("file: \"a\" vocabulary_file: \"v\"", 2, "", TrainedHere()),
            of + "1 got \"c\", want \"b\"" + remedy);
  Write("v", "a\nb\n");
  EXPECT_EQ(Read("file: \"a\" vocabulary_file: \"v\"", 2, "", TrainedHere()),
            of + "2 got none, want \"c\"" + remedy);
  Write("v", "a\nb\nc\n\\n\n");
  EXPECT_EQ(Read("file: \"a\" vocabulary_file: \"v\"", 2, "", TrainedHere()),
            of + "3 got \"\\n\", want none" + remedy);
}

TEST_F(TextTest, AnotherVocabularyThanTheCheckpointSaysIsRefused) {
  Write("a", "abc");
  InputFnArgs trained = TrainedHere();
  trained.trained->assets["vocabulary.txt"] = IdentityOf("a\nb\nc\n");
  const std::string is_another =
      " is not the vocabulary that the model was trained with: got length and checksum ";
  const std::string want = absl::StrCat(
      ", want ", IdentityOf("a\nb\nc\n"),
      " as the checkpoint says; restore it from a copy, such as assets/vocabulary.txt of an "
      "exported model");
  // Where there is none, a given one has to be it.
  Write("v", "c\nb\na\n");
  const std::string given = "file: \"a\" vocabulary_file: \"v\"";
  EXPECT_EQ(Read(given, 2, "", trained),
            absl::StrCat("DATA_LOSS: v", is_another, IdentityOf("c\nb\na\n"), want));
  Write("v", "a\nb\nc\n");
  EXPECT_EQ(Read(given, 2, "", trained), "0,1>1,2 ");
  for (const char* const other : {"c\nb\na\n", "a\nb\n", "a\nb\nd\n"}) {
    Write("vocabulary.txt", other);
    const std::string refused =
        absl::StrCat("DATA_LOSS: vocabulary.txt", is_another, IdentityOf(other), want);
    EXPECT_EQ(Read("file: \"a\"", 2, "", trained), refused);
    EXPECT_EQ(Read(given, 2, "", trained), refused);
  }
  // What its characters are counts, not how they are written.
  for (const char* const same : {"a\nb\nc\n", "a\r\nb\r\nc\r\n", "a\n\\142\nc"}) {
    Write("vocabulary.txt", same);
    EXPECT_EQ(Read("file: \"a\"", 2, "", trained), "0,1>1,2 ");
  }
}

TEST_F(TextTest, ATextWithoutAWindowIsAnError) {
  Write("a", "abc");
  Write("empty", "");
  const std::string of = "DATA_LOSS: text \"a\": the text has 3 characters, want ";
  EXPECT_EQ(Read("file: \"a\"", 3), of + "4 (sequence_length, and one that is next) at least");
  EXPECT_EQ(Read("file: \"a\" with_labels: false", 4), of + "4 (sequence_length) at least");
  EXPECT_EQ(Read("file: \"a\" with_labels: false streams: 2", 2),
            of + "2 (sequence_length) or more for each of 2 streams at least");
  EXPECT_EQ(Read("file: \"a\" with_labels: false begin: 0.5", 3),
            "DATA_LOSS: text \"a\": the part of the text has 2 characters, want 3 "
            "(sequence_length) at least");
  EXPECT_EQ(
      Read("file: \"empty\"", 1),
      "DATA_LOSS: text \"empty\": the text has 0 characters, want 2 (sequence_length, and one "
      "that is next) at least");
  EXPECT_EQ(Read("file: \"a\"", 3, "", {.mode = ModeKey::kPredict}), "");
  EXPECT_EQ(Read("file: \"empty\"", 3, "", {.mode = ModeKey::kPredict}), "");
}

TEST_F(TextTest, ATextThatDoesNotFitInMemoryIsNotRead) {
  // A hole: no disk is used.
  std::ofstream(dir_.Path("a"));
  ASSERT_EQ(truncate(dir_.Path("a").c_str(), int64_t{1} << 40), 0);
  const std::string error = Read("file: \"a\"", 3);
  EXPECT_TRUE(absl::StartsWith(
      error, "RESOURCE_EXHAUSTED: the text of a does not fit in memory: there is room for "))
      << error;
  EXPECT_TRUE(absl::EndsWith(error, " of text; give fewer or smaller files")) << error;
}

TEST_F(TextTest, AWindowIsNamedByItsFileAndOffset) {
  Write("a", "abc");
  Write("b",
        "\xc3\xa9"
        "abcabc");
  auto input =
      Open("train { input { source { text { file: [\"a\", \"b\"] sequence_length: 2 } } } }",
           {.mode = ModeKey::kEval, .batch_size = 1, .features = ParseFeatures("text s32[2]")},
           dir_.path());
  ASSERT_TRUE(input.ok()) << input.status();
  std::string places;
  while (!input->NextBatch().value().empty()) {
    absl::StrAppend(&places, input->WhereLast(), "; ");
  }
  EXPECT_EQ(absl::StrReplaceAll(places, {{dir_.path() + "/", ""}}),
            "offset 0 of a; offset 2 of a; offset 2 of b; offset 4 of b; ");
}

TEST_F(TextTest, BadFieldsAreRefused) {
  Write("a", "abc");
  const std::string error = "INVALID_ARGUMENT: run.textproto:1:";
  EXPECT_EQ(Read("file: \"a\" shift: 0", 1), error + "62: text: shift must be > 0, got 0");
  EXPECT_EQ(Read("file: \"a\" streams: -2", 1), error + "62: text: streams must be > 0, got -2");
  EXPECT_EQ(Read("file: \"a\" unknown_id: -1", 1),
            error + "62: text: unknown_id must be >= 0, got -1");
  EXPECT_EQ(Read("file: \"a\" begin: 0.5 end: 0.5", 1),
            error + "62: text: want begin < end, got begin 0.5 and end 0.5");
  EXPECT_EQ(Read("file: \"a\" end: 1.5", 1), error + "62: text: end must be in (0, 1], got 1.5");
  EXPECT_EQ(Read("file: \"a\" begin: nan", 1),
            error + "62: text: begin must be in [0, 1), got nan");
  EXPECT_EQ(Read("file: \"a\" vocabulary_file: \"\"", 1),
            error + "62: text: vocabulary_file must not be empty");
  EXPECT_EQ(Shortened(Open("train { input { source { text { file: \"a\" } } } }",
                           {.mode = ModeKey::kEval, .batch_size = 1})
                          .status()),
            error + "26: text: sequence_length is missing, want a number > 0");
}

}  // namespace
}  // namespace tpurun
