#include "data/batches.h"

#include "gtest/gtest.h"
#include "runtime/base/status.h"

namespace tpurun {
namespace {

constexpr int64_t kRows = 1000;
constexpr int64_t kRowBytes = sizeof(float) + sizeof(RowSource);

Elements Numbers() {
  Table table{.rows = kRows};
  table.columns.push_back({.type = {"x", proto::FLOAT32, {}}});
  for (int64_t row = 0; row < kRows; ++row) {
    const float value = static_cast<float>(row);
    table.columns[0].bytes.Append(&value, sizeof value);
  }
  Elements elements;
  elements.records = std::make_unique<TableRecords>(
      std::move(table), std::vector<RowSource>(), [](const Origin&) { return std::string("row"); });
  elements.items = std::make_unique<RecordItems>(elements.records.get());
  return elements;
}

TEST(CacheElements, HoldsWhatFits) {
  const auto cached =
      CacheElements(Numbers(), {{"x", proto::FLOAT32, {}}}, "run.textproto:5:3", kRows * kRowBytes);
  ASSERT_TRUE(cached.ok()) << cached.status();
  const std::span<const float> values = cached->records->table()->columns[0].values<float>();
  ASSERT_EQ(values.size(), kRows);
  for (int64_t row = 0; row < kRows; ++row) EXPECT_EQ(values[row], row);
}

TEST(CacheElements, RefusesWhatMemoryDoesNotHold) {
  const absl::Status status = CacheElements(Numbers(), {{"x", proto::FLOAT32, {}}},
                                            "run.textproto:5:3", kRows * kRowBytes - 1)
                                  .status();
  EXPECT_EQ(ExitCode(status), 4) << status;
  EXPECT_EQ(
      status.message(),
      "run.textproto:5:3: does not fit in memory: the first 1000 rows take 44000 bytes, there "
      "is 43999 bytes; leave cache out, or put it before what makes rows larger or "
      "more");
}

}  // namespace
}  // namespace tpurun
