#include "cli/help_synonyms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "cli/command_line.h"
#include "cli/help_search.h"
#include "cli/help_topics.h"
#include "cli/verb_table.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::vector<std::string> WordsOf(std::string_view text) {
  return absl::StrSplit(ToAbsl(text), ' ', absl::SkipEmpty());
}

TEST(HelpSynonymsTest, LeadToPages) {
  for (const HelpSynonym& row : HelpSynonyms()) {
    for (const std::string& name : WordsOf(row.names)) {
      EXPECT_TRUE(HelpPage(name).has_value() || FindVerb(name, Verbs()) != nullptr ||
                  !FlagPage(name, Verbs()).empty())
          << row.words << ": " << name;
    }
  }
}

TEST(HelpSynonymsTest, StandInOneRowEach) {
  std::set<std::string> words;
  for (const HelpSynonym& row : HelpSynonyms()) {
    for (const std::string& word : WordsOf(row.words)) {
      EXPECT_TRUE(words.insert(Singular(word)).second) << word;
    }
  }
}

TEST(HelpSynonymsTest, TopicsAreFoundInTheSingular) {
  EXPECT_EQ(Singular("losses"), "loss");
  EXPECT_EQ(Singular("loss"), "loss");
  EXPECT_EQ(Singular("summaries"), "summary");
  EXPECT_EQ(Singular("batches"), "batch");
  EXPECT_EQ(Singular("metrics"), "metric");
  EXPECT_THAT(RelatedHelp("loss").names, ElementsAre("losses"));
  EXPECT_THAT(RelatedHelp("metric").names, ElementsAre("metrics"));
  EXPECT_THAT(RelatedHelp("losses").names, IsEmpty());
  EXPECT_THAT(RelatedHelp("optimizer").names, ElementsAre("optimizers"));
  EXPECT_THAT(RelatedHelp("checkpoints").names, testing::Contains("warm_start_from"));
  EXPECT_THAT(RelatedHelp("frobnicate").names, IsEmpty());
  EXPECT_THAT(RelatedHelp("cuda").note, HasSubstr("There is no GPU"));
}

TEST(HelpSearchTest, FindsEveryKindOfThingByNameAndText) {
  const auto found = [](const std::string& word) { return "\n" + HelpSearch(word, Verbs()); };
  EXPECT_THAT(found("onnx"), HasSubstr("\nverb      export "));
  EXPECT_THAT(found("dump_infeed"), HasSubstr("\nflag      --dump_infeed "));
  EXPECT_THAT(found("how variables start"), HasSubstr("\ntopic     initializers "));
  EXPECT_THAT(found("hangup"), HasSubstr("\ntopic     exit_codes "));  // in its page
  EXPECT_THAT(found("x * kernel"), HasSubstr("\nlayer     dense "));
  EXPECT_THAT(found("tf.train.polynomial_decay"), HasSubstr("\nschedule  polynomial_decay "));
  EXPECT_THAT(found("largest k predictions"), "\n");
  EXPECT_THAT(found("k largest predictions"), HasSubstr("\nmetric    in_top_k "));
  EXPECT_THAT(found("warmup_steps"),
              HasSubstr("\nfield     model.optimizer.N.learning_rate.linear_warmup.warmup_steps "));
  EXPECT_THAT(found("gelu_tanh"), HasSubstr("\nvalue     GELU_TANH "));
  EXPECT_THAT(found("normal distribution"), HasSubstr("\nop        gelu "));
  EXPECT_EQ(found("Warmup Steps"), found("warmup-steps"));
  EXPECT_EQ(found(""), "\n");
  EXPECT_EQ(found("_"), "\n");
  // What lists others is not found for each of them.
  EXPECT_THAT(found("units"), Not(HasSubstr("\ntopic     fields ")));
}

}  // namespace
}  // namespace tpurun
