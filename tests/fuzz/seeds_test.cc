// Every seed in testdata/fuzz through its target, as it is and damaged. Seeds come from
// make_seeds.cc; what tools/fuzz finds is added under a name that says what it is.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "tests/fuzz/targets.h"

namespace tpurun {
namespace {

struct Seed {
  std::string name;
  std::string bytes;
};

std::vector<Seed> SeedsOf(const FuzzTarget& target) {
  std::vector<Seed> seeds;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path("testdata/fuzz") / target.name)) {
    std::ifstream file(entry.path(), std::ios::binary);
    seeds.push_back({entry.path().filename(), {std::istreambuf_iterator<char>(file), {}}});
  }
  return seeds;
}

class Seeds : public testing::TestWithParam<FuzzTarget> {};

TEST_P(Seeds, ThoseCalledGoodAreAndTheOthersAreRefused) {
  int good = 0, refused = 0;
  for (const Seed& seed : SeedsOf(GetParam())) {
    const absl::Status status = RunTarget(GetParam(), seed.bytes);
    const bool want_good = seed.name.starts_with("good_");
    EXPECT_EQ(status.ok(), want_good) << GetParam().name << "/" << seed.name << ": " << status;
    ++(want_good ? good : refused);
  }
  EXPECT_GT(good, 0) << GetParam().name;
  EXPECT_GT(refused, 0) << GetParam().name;
}

// A flipped bit and an end, at about 50 places of each: the fuzzer's first steps.
TEST_P(Seeds, DamagedOnesEndInAStatus) {
  for (const Seed& seed : SeedsOf(GetParam())) {
    const size_t step = std::max<size_t>(seed.bytes.size() / 50, 1);
    for (size_t byte = 0; byte < seed.bytes.size(); byte += step) {
      std::string flipped = seed.bytes;
      flipped[byte] ^= 1 << (byte % 8);
      RunTarget(GetParam(), flipped).IgnoreError();
      RunTarget(GetParam(), std::string_view(seed.bytes).substr(0, byte)).IgnoreError();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Seeds, testing::ValuesIn(FuzzTargets()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tpurun
