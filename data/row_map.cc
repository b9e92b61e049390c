#include "data/row_map.h"

#include <algorithm>
#include <chrono>
#include <string>

#include "runtime/base/cpu.h"
#include "runtime/base/status.h"

namespace tpurun {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Rows of a block: the columns of small ones stay in the cache of a core.
constexpr int64_t kMostRows = 128;
constexpr int64_t kBlockBytes = 256 << 10;
// With autotune, several threads work where one would need longer: to wake another takes about 50
// microseconds.
constexpr double kWorthWaking = 500e-6;
// Blocks for each thread, so that all end at about the same time.
constexpr int64_t kBlocksPerThread = 4;

bool Makes(const RowTransform& transform, std::string_view column) {
  return std::find(transform.makes.begin(), transform.makes.end(), column) != transform.makes.end();
}

// A row of a size that is not known is a block of its own.
int64_t MostRows(const Schema& schema) {
  int64_t most = kMostRows;
  for (const ColumnType& type : schema) {
    if (type.varies()) return 1;
    most = std::min(most, kBlockBytes / std::max<int64_t>(type.row_bytes(), 1));
  }
  return std::max<int64_t>(most, 1);
}

}  // namespace

RowMap::RowMap(const Records* records, RowMapArgs args)
    : records_(records),
      args_(std::move(args)),
      output_(args_.transforms.empty() ? records->schema() : args_.transforms.back().output),
      most_rows_(MostRows(records->schema())),
      pool_(args_.num_threads),
      lanes_(args_.num_threads) {
  const Schema* in = &records->schema();
  for (const RowTransform& transform : args_.transforms) {
    passed_.emplace_back();
    changed_.emplace_back();
    for (int i = 0; i < std::ssize(transform.output); ++i) {
      const std::string& name = transform.output[i].name;
      // A cache before it has dropped what nothing needs.
      const int from = FindColumn(*in, name);
      if (from < 0) continue;
      if (!Makes(transform, name)) {
        passed_.back().emplace_back(from, i);
      } else if (transform.in_place) {
        changed_.back().emplace_back(from, i);
      }
    }
    most_rows_ = std::min(most_rows_, MostRows(transform.output));
    is_random_ = is_random_ || transform.is_random;
    in = &transform.output;
  }
  for (Lane& lane : lanes_) {
    lane.tables.push_back(EmptyTable(records->schema()));
    for (const RowTransform& transform : args_.transforms) {
      lane.tables.push_back(EmptyTable(transform.output));
    }
    lane.seconds.resize(lane.tables.size());
  }
  for (const RowTransform& transform : args_.transforms) {
    lanes_[0].apply.push_back(transform.apply);
  }
}

Bytes& RowMap::NumbersOf(std::string_view column, int thread) {
  // Where it is made last; the transforms that follow pass it on with its memory.
  size_t made = args_.transforms.size();
  const auto makes = [&](const RowTransform& transform) {
    return !transform.in_place && Makes(transform, column);
  };
  while (made > 0 && !makes(args_.transforms[made - 1])) --made;
  return lanes_[thread].tables[made].column(column).bytes;
}

absl::Status RowMap::Run(
    std::span<const Item> items, const std::function<void(const Block&)>& before,
    const std::function<absl::Status(const Block&, const Table& rows)>& after) {
  const Around around = {before, after};
  const ScopedFlushDenormals flush;  // as the other threads
  const InputTimes::Timer timer(args_.times.get(), InputTimes::kNoStage);
  const Clock::time_point begin = Clock::now();
  const auto count = std::ssize(items);
  int64_t done = 0;
  absl::Status status;
  if (seconds_per_row_ == 0 || pool_.num_threads() == 1) {  // the first block shows it
    done = pool_.num_threads() == 1 ? count : std::min(count, most_rows_);
    status = RunInTurn(0, most_rows_, items.first(done), around);
    if (done > 0) seconds_per_row_ = SecondsSince(begin) / static_cast<double>(done);
  }
  const int64_t rest = count - done;
  if (status.ok() && rest > 0) {
    const Clock::time_point rest_begin = Clock::now();
    const bool together =
        !args_.autotune || static_cast<double>(rest) * seconds_per_row_ > kWorthWaking;
    const int64_t shares = kBlocksPerThread * pool_.num_threads();
    const int64_t rows =
        together ? std::clamp<int64_t>((rest + shares - 1) / shares, 1, most_rows_) : most_rows_;
    status =
        together ? RunTogether(done, rows, items, around) : RunInTurn(done, rows, items, around);
    const int threads =
        together ? static_cast<int>(std::min<int64_t>(pool_.num_threads(), rest)) : 1;
    seconds_per_row_ = SecondsSince(rest_begin) * threads / static_cast<double>(rest);
  }
  AddTimes(count);
  return status;
}

absl::Status RowMap::RunInTurn(int64_t first, int64_t rows, std::span<const Item> items,
                               const Around& around) {
  for (Block block = {.begin = first}; block.begin < std::ssize(items);
       block.begin += block.count) {
    if (*args_.cancelled) return absl::CancelledError("the input was stopped");
    block.count = std::min<int64_t>(rows, std::ssize(items) - block.begin);
    RETURN_IF_ERROR(RunBlock(block, items.subspan(block.begin, block.count), around));
  }
  return absl::OkStatus();
}

absl::Status RowMap::RunTogether(int64_t first, int64_t rows, std::span<const Item> items,
                                 const Around& around) {
  const int64_t blocks = (std::ssize(items) - first + rows - 1) / rows;
  for (Lane& lane : lanes_) {
    if (lane.apply.empty()) lane.apply = lanes_[0].apply;
  }
  std::vector<absl::Status> errors(blocks);
  std::atomic<int64_t> first_failed{blocks};
  pool_.ForEach(blocks, [&](int64_t index, int thread) {
    if (index > first_failed || *args_.cancelled) return;
    const int64_t begin = first + index * rows;
    const Block block = {.begin = begin,
                         .count = std::min<int64_t>(rows, std::ssize(items) - begin),
                         .thread = thread};
    errors[index] = RunBlock(block, items.subspan(block.begin, block.count), around);
    if (errors[index].ok()) return;
    int64_t first = first_failed;
    while (index < first && !first_failed.compare_exchange_weak(first, index)) {
    }
  });
  for (absl::Status& error : errors) RETURN_IF_ERROR(error);
  return *args_.cancelled ? absl::CancelledError("the input was stopped") : absl::OkStatus();
}

absl::Status RowMap::RunBlock(const Block& block, std::span<const Item> items,
                              const Around& around) {
  Lane& lane = lanes_[block.thread];
  const bool timed = args_.times != nullptr;
  Clock::time_point begin = timed ? Clock::now() : Clock::time_point();
  const auto add_time = [&](size_t stage) {
    if (!timed) return;
    const Clock::time_point end = Clock::now();
    lane.seconds[stage] += std::chrono::duration<double>(end - begin).count();
    begin = end;
  };
  if (around.before != nullptr) around.before(block);
  records_->Load(items, &lane.tables[0]);
  lane.ids.clear();
  for (const Item& item : items) {
    if (!is_random_) break;
    lane.ids.push_back(records_->IdOf(item));
  }
  add_time(0);
  const std::function<std::string(int64_t)> where = [&](int64_t row) {
    return records_->Where(records_->OriginOf(items[row]));
  };
  for (size_t i = 0; i < args_.transforms.size(); ++i) {
    Table& in = lane.tables[i];
    Table& out = lane.tables[i + 1];
    out.rows = in.rows;
    for (const auto& [from, to] : changed_[i]) out.columns[to].SwapValues(in.columns[from]);
    RETURN_IF_ERROR(lane.apply[i]({in, lane.ids, where}, &out));
    for (const auto& [from, to] : passed_[i]) out.columns[to].SwapValues(in.columns[from]);
    add_time(i + 1);
  }
  return around.after(block, lane.tables.back());
}

void RowMap::AddTimes(int64_t rows) {
  if (args_.times == nullptr) return;
  for (Lane& lane : lanes_) {
    args_.times->Add(args_.source_stage, 0, lane.seconds[0]);
    for (size_t i = 0; i < args_.stages.size(); ++i) {
      args_.times->Add(args_.stages[i], 0, lane.seconds[i + 1]);
    }
    std::fill(lane.seconds.begin(), lane.seconds.end(), 0);
  }
  for (const size_t stage : args_.stages) args_.times->Add(stage, rows, 0);
}

}  // namespace tpurun
