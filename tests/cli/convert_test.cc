// The verb's row and the kinds' rows say the same.
#include "data/convert/convert.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/verb_table.h"

namespace tpurun {
namespace {

// "csv: ..." is for csv alone.
TEST(ConvertTest, EveryFlagOfAKindIsOneOfTheVerbWhoseHelpNamesTheKind) {
  std::map<std::string, std::string> kind_of;
  for (const ConvertKind& kind : ConvertKinds()) {
    for (const char* const flag : kind.flags) kind_of[flag] = kind.name;
  }
  std::set<std::string> of_all_kinds;
  for (const Flag& flag : FindVerb("convert", Verbs())->flags) {
    if (kind_of.count(flag.name) == 0) {
      of_all_kinds.insert(flag.name);
      continue;
    }
    EXPECT_THAT(flag.help, testing::StartsWith(absl::StrCat(kind_of[flag.name], ": ")));
    kind_of.erase(flag.name);
  }
  EXPECT_EQ(of_all_kinds, (std::set<std::string>{"output", "shards", "compression"}));
  EXPECT_THAT(kind_of, testing::IsEmpty());
}

}  // namespace
}  // namespace tpurun
