#include "cli/foreign_flags.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "cli/command_line.h"
#include "cli/config_docs.h"
#include "cli/verb_table.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

std::vector<std::string> WordsOf(std::string_view text) {
  return absl::StrSplit(ToAbsl(text), absl::ByAnyChar(" ,;()"), absl::SkipEmpty());
}

bool HasFlag(const Verb& verb, const std::string& name) {
  const std::vector<Flag> flags = FlagsOfVerb(verb);
  return std::any_of(flags.begin(), flags.end(), [&](const Flag& f) { return f.name == name; });
}

// The verbs that a row speaks of.
std::vector<const Verb*> VerbsOf(const ForeignFlag& row) {
  std::vector<const Verb*> verbs;
  for (const std::string& name : WordsOf(row.verbs)) verbs.push_back(FindVerb(name, Verbs()));
  if (!verbs.empty()) return verbs;
  for (const Verb& verb : Verbs()) {
    if (verb.takes_config) verbs.push_back(&verb);
  }
  return verbs;
}

TEST(ForeignFlagsTest, NameFlagsAndPathsThatThereAre) {
  for (const ForeignFlag& row : ForeignFlags()) {
    for (const Verb* verb : VerbsOf(row)) {
      ASSERT_NE(verb, nullptr) << row.verbs;
      const std::vector<std::string> words = WordsOf(row.hint);
      for (size_t i = 0; i < words.size(); ++i) {
        if (!absl::StartsWith(words[i], "--")) continue;
        const std::string flag = words[i].substr(2, words[i].find('=') - 2);
        if (flag == "set") {
          const std::string path = words.at(i + 1).substr(0, words[i + 1].find('='));
          EXPECT_NE(FindByPath(path), nullptr) << path;
        } else {
          EXPECT_TRUE(HasFlag(*verb, flag)) << verb->name << " has no --" << flag;
        }
      }
    }
  }
}

TEST(ForeignFlagsTest, AreNoFlagsOfTheirVerbs) {
  for (const ForeignFlag& row : ForeignFlags()) {
    for (const std::string& name : WordsOf(row.names)) {
      int verbs_without = 0;
      for (const Verb* verb : VerbsOf(row)) verbs_without += !HasFlag(*verb, name);
      EXPECT_GT(verbs_without, 0) << name << " is never looked up";
    }
  }
}

TEST(ForeignFlagsTest, AreByVerb) {
  EXPECT_EQ(ForeignFlagHint("batch_size", "train"), "want --train_batch_size=N");
  EXPECT_EQ(ForeignFlagHint("batch_size", "evaluate"), "want --eval_batch_size=N");
  EXPECT_EQ(ForeignFlagHint("batch_size", "predict"), "want --predict_batch_size=N");
  EXPECT_EQ(ForeignFlagHint("batch", "train"), "");
  EXPECT_EQ(ForeignFlagHint("", "train"), "");
}

}  // namespace
}  // namespace tpurun
