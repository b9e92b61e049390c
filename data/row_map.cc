#include "data/row_map.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>

#include "runtime/base/cpu.h"
#include "runtime/base/status.h"

namespace tpurun {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// With autotune, several threads work where one would need longer: to wake another takes about 50
// microseconds.
constexpr double kWorthWaking = 500e-6;
// Blocks for each thread, so that all end at about the same time.
constexpr int64_t kBlocksPerThread = 4;

}  // namespace

RowMap::RowMap(Records* records, RowMapArgs args)
    : steps_(records->schema(), std::move(args.transforms)),
      settings_(std::move(args.settings)),
      times_(std::move(args.times)),
      source_stage_(args.source_stage),
      stages_(std::move(args.stages)),
      looks_only_(args.looks_only),
      pool_(settings_.num_threads) {
  for (int thread = 0; thread < settings_.num_threads; ++thread) {
    chains_.emplace_back(records, &steps_, thread, times_ != nullptr);
  }
  chains_[0].MakeState();
}

absl::Status RowMap::Run(
    std::span<const Item> items, const std::function<void(const Block&)>& before,
    const std::function<absl::Status(const Block&, const Table& rows)>& after) {
  std::vector<Refused> refused;
  skipped_.clear();
  const absl::Status status = RunAll(items, {before, after}, &refused);
  AddTimes(std::ssize(items));
  RETURN_IF_ERROR(status);
  return CountSkipped(refused, std::ssize(items));
}

absl::Status RowMap::RunAll(std::span<const Item> items, const Around& around,
                            std::vector<Refused>* refused) {
  const ScopedFlushDenormals flush;  // as the other threads
  const InputTimes::Timer timer(times_.get(), InputTimes::kNoStage);
  const Clock::time_point begin = Clock::now();
  const auto count = std::ssize(items);
  int64_t done = 0;
  while (done < count && (!has_first_ || seconds_per_row_ == 0 || pool_.num_threads() == 1)) {
    const int64_t end = pool_.num_threads() == 1 ? count : std::min(count, done + steps_.most_rows);
    const size_t refused_before = refused->size();
    RETURN_IF_ERROR(RunInTurn(done, steps_.most_rows, items.first(end), around, refused));
    const auto newly_refused = static_cast<int64_t>(refused->size() - refused_before);
    has_first_ = has_first_ || newly_refused < end - done;
    done = end;
    seconds_per_row_ = SecondsSince(begin) / static_cast<double>(done);
  }
  const int64_t rest = count - done;
  if (rest == 0) return absl::OkStatus();
  const Clock::time_point rest_begin = Clock::now();
  const bool together =
      !settings_.autotune || static_cast<double>(rest) * seconds_per_row_ > kWorthWaking;
  const int64_t shares = kBlocksPerThread * pool_.num_threads();
  const int64_t rows = together
                           ? std::clamp<int64_t>((rest + shares - 1) / shares, 1, steps_.most_rows)
                           : steps_.most_rows;
  const absl::Status status = together ? RunTogether(done, rows, items, around, refused)
                                       : RunInTurn(done, rows, items, around, refused);
  const int threads = together ? static_cast<int>(std::min<int64_t>(pool_.num_threads(), rest)) : 1;
  seconds_per_row_ = SecondsSince(rest_begin) * threads / static_cast<double>(rest);
  return status;
}

absl::Status RowMap::RunInTurn(int64_t first, int64_t rows, std::span<const Item> items,
                               const Around& around, std::vector<Refused>* refused) {
  for (Block block = {.begin = first}; block.begin < std::ssize(items);
       block.begin += block.count) {
    if (*settings_.cancelled) return absl::CancelledError("the input was stopped");
    block.count = std::min<int64_t>(rows, std::ssize(items) - block.begin);
    RETURN_IF_ERROR(
        RunBlockOrSkip(block, items.subspan(block.begin, block.count), around, refused));
  }
  return absl::OkStatus();
}

absl::Status RowMap::RunTogether(int64_t first, int64_t rows, std::span<const Item> items,
                                 const Around& around, std::vector<Refused>* refused) {
  const int64_t blocks = (std::ssize(items) - first + rows - 1) / rows;
  for (RowChain& chain : chains_) {
    if (!chain.has_state()) chain.TakeState(chains_[0]);
  }
  std::vector<absl::Status> errors(blocks);
  std::vector<std::vector<Refused>> refused_of(blocks);
  std::atomic<int64_t> first_failed{blocks};
  pool_.ForEach(blocks, [&](int64_t index, int thread) {
    if (index > first_failed || *settings_.cancelled) return;
    const int64_t begin = first + index * rows;
    const Block block = {.begin = begin,
                         .count = std::min<int64_t>(rows, std::ssize(items) - begin),
                         .thread = thread};
    errors[index] =
        RunBlockOrSkip(block, items.subspan(block.begin, block.count), around, &refused_of[index]);
    if (errors[index].ok()) return;
    int64_t first = first_failed;
    while (index < first && !first_failed.compare_exchange_weak(first, index)) {
    }
  });
  for (absl::Status& error : errors) RETURN_IF_ERROR(error);
  if (*settings_.cancelled) return absl::CancelledError("the input was stopped");
  for (const std::vector<Refused>& some : refused_of) {
    refused->insert(refused->end(), some.begin(), some.end());
  }
  return absl::OkStatus();
}

absl::Status RowMap::RunBlockOrSkip(const Block& block, std::span<const Item> items,
                                    const Around& around, std::vector<Refused>* refused) {
  absl::Status status = RunBlock(block, items, around);
  if (status.ok() || !SkippedRows::CanSkip(status)) return status;
  const bool skips = settings_.skipped != nullptr;
  if (block.count == 1) {
    if (!skips) return status;
    refused->push_back({block.begin, std::move(status)});
    return absl::OkStatus();
  }
  // Each transform had all rows before the next one had any: an earlier row may be refused later.
  for (int64_t i = 0; i < block.count; ++i) {
    const Block row = {.begin = block.begin + i, .count = 1, .thread = block.thread};
    RETURN_IF_ERROR(RunBlockOrSkip(row, items.subspan(i, 1), around, refused));
  }
  return skips ? absl::OkStatus() : status;
}

absl::Status RowMap::RunBlock(const Block& block, std::span<const Item> items,
                              const Around& around) {
  RowChain& chain = chains_[block.thread];
  if (around.before != nullptr) around.before(block);
  RETURN_IF_ERROR(chain.Run(items));
  return around.after(block, chain.rows());
}

absl::Status RowMap::CountSkipped(const std::vector<Refused>& refused, int64_t count) {
  if (settings_.skipped == nullptr) return absl::OkStatus();
  int64_t next = 0;  // the place behind the last one that was refused
  const auto keep_until = [&](int64_t item) {
    if (item > next && !looks_only_) settings_.skipped->Keep();
  };
  for (const auto& [item, error] : refused) {
    keep_until(item);
    RETURN_IF_ERROR(settings_.skipped->Skip(error));
    skipped_.push_back(item);
    next = item + 1;
  }
  keep_until(count);
  return absl::OkStatus();
}

void RowMap::AddTimes(int64_t rows) {
  if (times_ == nullptr) return;
  for (RowChain& chain : chains_) chain.AddTimes(source_stage_, stages_, times_.get());
  for (const size_t stage : stages_) times_->Add(stage, rows, 0);
}

}  // namespace tpurun
