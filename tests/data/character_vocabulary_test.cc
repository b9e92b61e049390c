// Characters and ids: the file, both ways, and what is refused.
#include "data/character_vocabulary.h"

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "tests/io/temp_dir.h"

namespace tpurun {
namespace {

class CharacterVocabularyTest : public ::testing::Test {
 protected:
  // The vocabulary of a file of this text.
  absl::StatusOr<CharacterVocabulary> Parse(const std::string& text) const {
    std::ofstream(dir_.Path("v"), std::ios::binary) << text;
    return CharacterVocabulary::Read(dir_.Path("v"), "here");
  }

  std::string ErrorOf(const std::string& text) const {
    return absl::StrReplaceAll(
        Parse(text).status().ToString(absl::StatusToStringMode::kWithNoExtraData),
        {{dir_.path() + "/", ""}});
  }

  const TempDir dir_;
};

using Strings = std::vector<std::string>;

TEST_F(CharacterVocabularyTest, ALineIsACharacterOrItsEscape) {
  EXPECT_EQ(
      Parse("\\n\n \n\\\\\n'\n\"\n\xc3\xa9\n\\t\n\\303\\250\n\\000\n")->characters(),
      (Strings{"\n", " ", "\\", "'", "\"", "\xc3\xa9", "\t", "\xc3\xa8", std::string(1, '\0')}));
  EXPECT_EQ(Parse("a\n\\\n")->characters(), (Strings{"a", "\\"})) << "no escape: as it is";
  EXPECT_EQ(Parse("a\r\nb")->characters(), (Strings{"a", "b"}));
}

TEST_F(CharacterVocabularyTest, WhatItWritesItReads) {
  Strings characters;
  for (int c = 0; c < 128; ++c) characters.emplace_back(1, static_cast<char>(c));
  // U+0085, a line end; an umlaut; U+2028; an emoji.
  for (const char* wide : {"\xc2\x85", "\xc3\xa4", "\xe2\x80\xa8", "\xf0\x9f\x98\x80"}) {
    characters.emplace_back(wide);
  }
  const std::string text =
      CharacterVocabulary::Of({characters.rbegin(), characters.rend()}).FileText();
  EXPECT_EQ(Parse(text)->characters(), characters);
  EXPECT_EQ(text.substr(text.find("9\n"), 8), "9\n:\n;\n<\n");
  EXPECT_NE(text.find("\n\\n\n"), std::string::npos);
  EXPECT_NE(text.find("\n\\\\\n"), std::string::npos);
  EXPECT_NE(text.find("\n\xc3\xa4\n"), std::string::npos) << "printable: as it is";
  EXPECT_NE(text.find("\n\\302\\205\n"), std::string::npos);
}

TEST_F(CharacterVocabularyTest, TextBecomesIdsAndIdsText) {
  const auto vocabulary = Parse("b\n\\n\n\xe2\x82\xac\na\n");
  ASSERT_TRUE(vocabulary.ok()) << vocabulary.status();
  const std::string text =
      "ab\n\xe2\x82\xac"
      "a";
  const std::vector<int32_t> ids = {3, 0, 1, 2, 3};
  EXPECT_EQ(vocabulary->IdsOf(text).value(), ids);
  EXPECT_EQ(vocabulary->TextOf(ids), text);
  EXPECT_EQ(vocabulary->Find(U'a'), 3);
  EXPECT_EQ(vocabulary->Find(U'c'), -1);
  EXPECT_EQ(vocabulary->Find(0x10FFFF), -1);
  EXPECT_EQ(vocabulary->IdsOf("ab\xc3\xa9").status().message(),
            "offset 2: \"\xc3\xa9\" (U+00E9) is not in the vocabulary");
  EXPECT_EQ(vocabulary->IdsOf("a\xff").status().message(), "offset 1: \"\\377\" is not UTF-8");
}

TEST_F(CharacterVocabularyTest, WhatIsNoVocabularyIsRefused) {
  EXPECT_EQ(ErrorOf(""), "DATA_LOSS: v: the vocabulary has no entries");
  EXPECT_EQ(ErrorOf("a\nb\na\n"),
            "DATA_LOSS: v:3: the character \"a\" is there already, with id 0");
  EXPECT_EQ(ErrorOf("\\n\n\\012\n"),
            "DATA_LOSS: v:2: the character \"\\n\" is there already, with id 0");
  const std::string want =
      ", want one character in UTF-8, or its C escape (\"\\n\"; \"\\\\\" is a backslash)";
  EXPECT_EQ(ErrorOf("a\n\nb\n"), "DATA_LOSS: v:2: got \"\"" + want);
  EXPECT_EQ(ErrorOf("ab\n"), "DATA_LOSS: v:1: got \"ab\"" + want);
  EXPECT_EQ(ErrorOf("\\w\n"), "DATA_LOSS: v:1: got \"\\\\w\"" + want);
  EXPECT_EQ(ErrorOf("\xff\n"), "DATA_LOSS: v:1: got \"\\377\"" + want);
  EXPECT_EQ(CharacterVocabulary::Read(dir_.Path("absent"), "here").status().message(),
            "here: cannot read " + dir_.Path("absent") + ": No such file or directory");
}

}  // namespace
}  // namespace tpurun
