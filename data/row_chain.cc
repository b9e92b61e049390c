#include "data/row_chain.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <numeric>
#include <string>

#include "runtime/base/status.h"

namespace tpurun {
namespace {

// Rows that are transformed at a time: the columns of small ones stay in the cache of a core.
constexpr int64_t kMostRows = 128;
constexpr int64_t kBlockBytes = 256 << 10;

bool Makes(const RowTransform& transform, std::string_view column) {
  return std::find(transform.makes.begin(), transform.makes.end(), column) != transform.makes.end();
}

bool Varies(const Schema& schema) {
  return std::any_of(schema.begin(), schema.end(),
                     [](const ColumnType& type) { return type.varies(); });
}

// A row of a size that is not known is transformed alone: transforms bound the memory of a row.
int64_t MostRows(const Schema& schema) {
  if (Varies(schema)) return 1;
  int64_t most = kMostRows;
  for (const ColumnType& type : schema) {
    most = std::min(most, kBlockBytes / std::max<int64_t>(type.row_bytes(), 1));
  }
  return std::max<int64_t>(most, 1);
}

}  // namespace

RowSteps::RowSteps(const Schema& input, std::vector<RowTransform> transforms)
    : input(input),
      transforms(std::move(transforms)),
      most_rows(MostRows(input)),
      varies(Varies(input)) {
  const Schema* in = &this->input;
  for (const RowTransform& transform : this->transforms) {
    passed.emplace_back();
    changed.emplace_back();
    for (int i = 0; i < std::ssize(transform.output); ++i) {
      const std::string& name = transform.output[i].name;
      // A cache before it has dropped what nothing needs.
      const int from = FindColumn(*in, name);
      if (from < 0) continue;
      if (!Makes(transform, name)) {
        passed.back().emplace_back(from, i);
      } else if (transform.in_place) {
        changed.back().emplace_back(from, i);
      }
    }
    most_rows = std::min(most_rows, MostRows(transform.output));
    varies = varies || Varies(transform.output);
    is_random = is_random || transform.is_random;
    in = &transform.output;
  }
}

RowChain::RowChain(Records* records, const RowSteps* steps, int thread, bool timed)
    : records_(records), steps_(steps), thread_(thread), timed_(timed) {
  tables_.push_back(EmptyTable(steps_->input));
  for (const RowTransform& transform : steps_->transforms) {
    tables_.push_back(EmptyTable(transform.output));
  }
  seconds_.resize(tables_.size());
}

absl::Status RowChain::Run(std::span<const Item> items) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin = timed_ ? Clock::now() : Clock::time_point();
  const auto add_time = [&](size_t stage) {
    if (!timed_) return;
    const Clock::time_point end = Clock::now();
    seconds_[stage] += std::chrono::duration<double>(end - begin).count();
    begin = end;
  };
  RETURN_IF_ERROR(records_->Load(items, thread_, &tables_[0]));
  if (timed_) seconds_[0] -= records_->InnerSeconds(thread_);
  ids_.clear();
  for (const Item& item : items) {
    if (!steps_->is_random) break;
    ids_.push_back(records_->IdOf(item));
  }
  add_time(0);
  const std::function<std::string(int64_t)> where = [&](int64_t row) {
    return records_->Where(records_->OriginOf(items[row]));
  };
  for (size_t i = 0; i < apply_.size(); ++i) {
    Table& in = tables_[i];
    Table& out = tables_[i + 1];
    out.rows = in.rows;
    for (const auto& [from, to] : steps_->changed[i]) {
      out.columns[to].SwapValues(in.columns[from]);
    }
    RETURN_IF_ERROR(apply_[i]({in, ids_, where}, &out));
    for (const auto& [from, to] : steps_->passed[i]) out.columns[to].SwapValues(in.columns[from]);
    add_time(i + 1);
  }
  return absl::OkStatus();
}

Bytes& RowChain::NumbersOf(std::string_view column) {
  // Where it is made last; the transforms that follow pass it on with its memory.
  const std::vector<RowTransform>& transforms = steps_->transforms;
  size_t made = transforms.size();
  const auto makes = [&](const RowTransform& transform) {
    return !transform.in_place && Makes(transform, column);
  };
  while (made > 0 && !makes(transforms[made - 1])) --made;
  return tables_[made].column(column).bytes;
}

void RowChain::MakeState() {
  for (const RowTransform& transform : steps_->transforms) apply_.push_back(transform.apply);
}

double RowChain::Seconds() const { return std::accumulate(seconds_.begin(), seconds_.end(), 0.0); }

void RowChain::AddTimes(size_t source_stage, std::span<const size_t> stages, InputTimes* times) {
  times->Add(source_stage, 0, seconds_[0]);
  for (size_t i = 0; i < stages.size(); ++i) times->Add(stages[i], 0, seconds_[i + 1]);
  std::fill(seconds_.begin(), seconds_.end(), 0);
}

}  // namespace tpurun
