// The verb's row and the kinds' rows say the same.
#include "data/convert/convert.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/verb_table.h"

namespace tpurun {
namespace {

// "csv: ..." is for csv alone, "text: ...; synthetic: ..." for both.
TEST(ConvertTest, EveryFlagOfAKindIsOneOfTheVerbWhoseHelpNamesTheKind) {
  std::map<std::string, std::vector<std::string>> kinds_of;
  for (const ConvertKind& kind : ConvertKinds()) {
    for (const char* const flag : kind.flags)
      kinds_of[flag].push_back(absl::StrCat(kind.name, ": .*"));
  }
  std::set<std::string> of_all_kinds;
  for (const Flag& flag : FindVerb("convert", Verbs())->flags) {
    if (kinds_of.count(flag.name) == 0) {
      of_all_kinds.insert(flag.name);
      continue;
    }
    EXPECT_THAT(flag.help, testing::MatchesRegex(absl::StrJoin(kinds_of[flag.name], "; ")));
    kinds_of.erase(flag.name);
  }
  EXPECT_EQ(of_all_kinds, (std::set<std::string>{"output", "shards", "compression"}));
  EXPECT_THAT(kinds_of, testing::IsEmpty());
}

}  // namespace
}  // namespace tpurun
