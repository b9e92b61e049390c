// Rows and errors do not depend on the number of threads, nor on where blocks begin.
#include "data/row_map.h"

#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace tpurun {
namespace {

constexpr int64_t kRows = 1000;

std::unique_ptr<TableRecords> Numbers(std::vector<RowSource> sources = {}) {
  Table table{.rows = kRows};
  table.columns.push_back({.type = {"x", proto::INT64, {}}});
  for (int64_t row = 0; row < kRows; ++row) table.columns[0].bytes.Append(&row, sizeof row);
  return std::make_unique<TableRecords>(
      std::move(table), std::move(sources),
      [](const Origin& origin) { return absl::StrCat("row ", origin.record); });
}

std::vector<Item> AllItems(uint32_t epoch = 0) {
  std::vector<Item> items;
  for (int64_t id = 0; id < kRows; ++id) items.push_back({id, epoch, -1});
  return items;
}

// y = x * 1000 + epoch, a row that `x` times 3 / 2 ... of `bad` values is refused.
RowTransform Times1000(std::set<int64_t> bad = {}) {
  RowTransform transform;
  transform.output = {{"x", proto::INT64, {}}, {"y", proto::INT64, {}}};
  transform.reads = {"x"};
  transform.makes = {"y"};
  transform.is_random = true;
  transform.apply = [bad](const RowBatch& rows, Table* out) -> absl::Status {
    Column& y = out->column("y");
    y.bytes.resize(rows.in.rows * sizeof(int64_t));
    for (int64_t row = 0; row < rows.in.rows; ++row) {
      const int64_t x = rows.in.column("x").values<int64_t>()[row];
      EXPECT_EQ(rows.ids[row].index, x);
      if (bad.count(x) > 0) return absl::DataLossError(absl::StrCat(rows.where(row), " is bad"));
      y.values<int64_t>()[row] = x * 1000 + rows.ids[row].epoch;
    }
    return absl::OkStatus();
  };
  return transform;
}

// y = x - the first x that is accepted: the state of a transform that the first row decides. Rows
// below `bad` are refused.
RowTransform FromTheFirst(int64_t bad) {
  RowTransform transform;
  transform.output = {{"x", proto::INT64, {}}, {"y", proto::INT64, {}}};
  transform.reads = {"x"};
  transform.makes = {"y"};
  transform.apply = [bad, first = int64_t{-1}](const RowBatch& rows,
                                               Table* out) mutable -> absl::Status {
    Column& y = out->column("y");
    y.bytes.resize(rows.in.rows * sizeof(int64_t));
    for (int64_t row = 0; row < rows.in.rows; ++row) {
      const int64_t x = rows.in.column("x").values<int64_t>()[row];
      if (x < bad) return absl::DataLossError(absl::StrCat(rows.where(row), " is bad"));
      if (first < 0) first = x;
      y.values<int64_t>()[row] = x - first;
    }
    return absl::OkStatus();
  };
  return transform;
}

// A column of as many zeros as x modulo 5, plus one.
RowTransform Varying() {
  RowTransform transform;
  transform.output = {
      {"x", proto::INT64, {}}, {"y", proto::INT64, {}}, {"z", proto::UINT8, {kVaries}}};
  transform.reads = {"x"};
  transform.makes = {"z"};
  transform.apply = [](const RowBatch& rows, Table* out) {
    Column& z = out->column("z");
    z.Clear();
    for (int64_t row = 0; row < rows.in.rows; ++row) {
      const int64_t dims[] = {rows.in.column("x").values<int64_t>()[row] % 5 + 1};
      std::memset(z.AddRow(dims), 7, dims[0]);
    }
    return absl::OkStatus();
  };
  return transform;
}

class RowMapTest : public testing::TestWithParam<int> {
 protected:
  RowMapArgs Args(std::vector<RowTransform> transforms) const {
    return {.transforms = std::move(transforms),
            .settings = {.num_threads = GetParam(), .autotune = false}};
  }
};

TEST_P(RowMapTest, MakesEachRowOnce) {
  const auto records = Numbers();
  RowMap map(records.get(), Args({Times1000(), Varying()}));
  for (int round = 0; round < 3; ++round) {
    const std::vector<Item> items = AllItems(round);
    std::vector<int64_t> made(kRows, -1), sizes(kRows, -1);
    const absl::Status status =
        map.Run(items, nullptr, [&](const RowMap::Block& block, const Table& rows) {
          for (int64_t row = 0; row < block.count; ++row) {
            made[block.begin + row] = rows.column("y").values<int64_t>()[row];
            sizes[block.begin + row] = rows.column("z").DimsOf(row)[0];
            EXPECT_EQ(std::ssize(rows.column("z").BytesOf(row)), sizes[block.begin + row]);
          }
          return absl::OkStatus();
        });
    ASSERT_TRUE(status.ok()) << status;
    for (int64_t row = 0; row < kRows; ++row) {
      EXPECT_EQ(made[row], row * 1000 + round);
      EXPECT_EQ(sizes[row], row % 5 + 1);
    }
  }
}

TEST_P(RowMapTest, NumbersGoToLentMemory) {
  const auto records = Numbers();
  RowMap map(records.get(), Args({Times1000()}));
  std::vector<int64_t> batch(kRows, -1);
  const std::vector<Item> items = AllItems();
  const absl::Status status = map.Run(
      items,
      [&](const RowMap::Block& block) {
        map.NumbersOf("y", block.thread)
            .Lend(reinterpret_cast<std::byte*>(&batch[block.begin]), block.count * sizeof batch[0]);
      },
      [](const RowMap::Block&, const Table&) { return absl::OkStatus(); });
  ASSERT_TRUE(status.ok()) << status;
  for (int64_t row = 0; row < kRows; ++row) EXPECT_EQ(batch[row], row * 1000);
}

// A block has 128 rows.
TEST_P(RowMapTest, TheFirstRowThatIsAcceptedDecides) {
  const auto records = Numbers();
  for (const int64_t bad : {0, 5, 128, 300}) {
    RowMapArgs args = Args({FromTheFirst(bad)});
    args.settings.skipped = std::make_shared<SkippedRows>("input", [](const std::string&) {});
    RowMap map(records.get(), std::move(args));
    std::vector<int64_t> made(kRows, -1);
    const absl::Status status =
        map.Run(AllItems(), nullptr, [&](const RowMap::Block& block, const Table& rows) {
          for (int64_t row = 0; row < block.count; ++row)
            made[block.begin + row] = rows.column("y").values<int64_t>()[row];
          return absl::OkStatus();
        });
    ASSERT_TRUE(status.ok()) << status;
    for (int64_t row = 0; row < kRows; ++row) EXPECT_EQ(made[row], row < bad ? -1 : row - bad);
  }
}

TEST_P(RowMapTest, TheFirstMistakeOfTheRecordsIsTold) {
  const auto records = Numbers();
  for (int round = 0; round < 20; ++round) {
    RowMap map(records.get(), Args({Times1000({997, 500 + round, 750})}));
    const absl::Status status = map.Run(
        AllItems(), nullptr, [](const RowMap::Block&, const Table&) { return absl::OkStatus(); });
    EXPECT_EQ(status.ToString(), absl::StrCat("DATA_LOSS: row ", 500 + round, " is bad"));
  }
}

// A transform has all rows of a block before the next transform has any.
TEST_P(RowMapTest, TheFirstMistakeMayBeOfALaterTransform) {
  const auto records = Numbers();
  RowMap map(records.get(), Args({Times1000({5, 6}), Times1000({3, 4})}));
  const absl::Status status = map.Run(
      AllItems(), nullptr, [](const RowMap::Block&, const Table&) { return absl::OkStatus(); });
  EXPECT_EQ(status.ToString(), "DATA_LOSS: row 3 is bad");
}

TEST_P(RowMapTest, CancelEndsARunEarly) {
  const auto records = Numbers();
  RowMap map(records.get(), Args({Times1000(), Varying()}));  // a row is a block
  std::mutex mutex;
  int64_t ran = 0;
  const absl::Status status = map.Run(AllItems(), nullptr, [&](const RowMap::Block&, const Table&) {
    const std::lock_guard lock(mutex);
    if (++ran == 10) map.SetCancelled(true);
    return absl::OkStatus();
  });
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
  // Each of the other threads may have been at a row already.
  EXPECT_LT(ran, 10 + GetParam());
  map.SetCancelled(false);
  EXPECT_TRUE(map.Run(AllItems(), nullptr,
                      [](const RowMap::Block&, const Table&) { return absl::OkStatus(); })
                  .ok());
}

INSTANTIATE_TEST_SUITE_P(Threads, RowMapTest, testing::Values(1, 2, 3, 8));

// Rows that were cached from two passes over the source: pass p over the cache has passes 2 p and
// 2 p + 1 of the source.
TEST(TableRecords, AnIdIsThatOfTheSource) {
  std::vector<RowSource> sources;
  for (int64_t row = 0; row < kRows; ++row) {
    sources.push_back({.id = {.epoch = static_cast<uint32_t>(row % 2), .index = row / 2}});
  }
  const auto records = Numbers(std::move(sources));
  EXPECT_EQ(records->IdOf({.id = 6, .epoch = 0}), (RowId{0, 3}));
  EXPECT_EQ(records->IdOf({.id = 7, .epoch = 5}), (RowId{11, 3}));
}

}  // namespace
}  // namespace tpurun
