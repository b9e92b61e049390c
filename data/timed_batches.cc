#include "data/timed_batches.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <iterator>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "runtime/base/cpu.h"
#include "runtime/base/status.h"
#include "runtime/base/threads.h"

namespace tpurun {
namespace {

using Clock = std::chrono::steady_clock;

// A longer time is as good as for ever, and can be added to any time.
constexpr std::chrono::hours kLongestWait(24 * 365);
// The time that the thread may need to notice that it must end.
constexpr std::chrono::seconds kRowStuckAfter(1);

struct TimedRow {
  std::vector<std::vector<std::byte>> features;
  std::vector<HostFeature> forwarded;
  std::string where;
  Clock::time_point read_at;
};

// The rows that a thread reads ahead. The thread may be blocked for ever in a read of a silent
// pipe: it shares the queue and never touches anything else.
struct RowQueue {
  std::unique_ptr<BatchSource> source;  // of the thread, except SetCancelled
  std::vector<int64_t> row_bytes;       // of each feature
  size_t most_rows = 0;

  std::mutex mutex;  // guards the fields below
  std::condition_variable changed;
  std::deque<TimedRow> rows;
  std::vector<TimedRow> free;  // with memory of earlier rows
  bool ended = false;          // the thread reads no more
  absl::Status status;         // the error after the rows
  bool cancelled = false;
};

// Reads the next row into *row. False at the end.
absl::StatusOr<bool> ReadRow(RowQueue& queue, TimedRow* row) {
  row->features.resize(queue.row_bytes.size());
  std::vector<std::byte*> buffers;
  for (size_t i = 0; i < row->features.size(); ++i) {
    row->features[i].resize(queue.row_bytes[i]);
    buffers.push_back(row->features[i].data());
  }
  ASSIGN_OR_RETURN(const int64_t got, queue.source->Next(buffers));
  if (got == 0) return false;
  row->read_at = Clock::now();
  row->forwarded = queue.source->Forwarded();
  row->where = queue.source->Where(0);
  return true;
}

void ReadRows(RowQueue& queue) {
  const ScopedFlushDenormals flush;
  std::unique_lock lock(queue.mutex);
  while (true) {
    queue.changed.wait(lock,
                       [&] { return queue.cancelled || queue.rows.size() < queue.most_rows; });
    if (queue.cancelled) break;
    TimedRow row;
    if (!queue.free.empty()) {
      row = std::move(queue.free.back());
      queue.free.pop_back();
    }
    lock.unlock();
    const absl::StatusOr<bool> found = ReadRow(queue, &row);
    lock.lock();
    queue.status = found.status();
    if (!found.ok() || !*found) break;
    queue.rows.push_back(std::move(row));
    queue.changed.notify_all();
  }
  queue.ended = true;
  queue.changed.notify_all();
}

void AppendForwarded(const std::vector<HostFeature>& row, std::vector<HostFeature>* all) {
  if (all->empty()) {
    *all = row;
    return;
  }
  for (size_t i = 0; i < row.size(); ++i) {
    HostFeature& to = (*all)[i];
    to.numbers.insert(to.numbers.end(), row[i].numbers.begin(), row[i].numbers.end());
    to.strings.insert(to.strings.end(), row[i].strings.begin(), row[i].strings.end());
  }
}

class TimedBatches : public BatchSource {
 public:
  TimedBatches(std::unique_ptr<BatchSource> rows, TimedBatchesArgs args)
      : batch_size_(args.batch_size),
        max_wait_(std::min<std::chrono::milliseconds>(args.max_wait, kLongestWait)),
        queue_(std::make_shared<RowQueue>()) {
    queue_->source = std::move(rows);
    for (const FeatureSpec& feature : args.features) {
      queue_->row_bytes.push_back(feature.shape.bytes());
    }
    queue_->most_rows = 2 * static_cast<size_t>(batch_size_);
  }

  ~TimedBatches() override {
    if (!thread_.joinable()) return;
    SetCancelled(true);
    std::unique_lock lock(queue_->mutex);
    const bool ended =
        queue_->changed.wait_for(lock, kRowStuckAfter, [this] { return queue_->ended; });
    lock.unlock();
    if (ended) {
      thread_.join();
    } else {
      thread_.detach();
    }
  }

  absl::StatusOr<int64_t> Next(BatchBuffers buffers) override {
    if (!thread_.joinable()) thread_ = StartThread([queue = queue_] { ReadRows(*queue); });
    RETURN_IF_ERROR(TakeBatch());
    for (size_t row = 0; row < batch_.size(); ++row) {
      for (size_t i = 0; i < buffers.size(); ++i) {
        const std::vector<std::byte>& from = batch_[row].features[i];
        if (from.empty()) continue;
        std::memcpy(buffers[i] + row * from.size(), from.data(), from.size());
      }
    }
    return std::ssize(batch_);
  }

  void SetCancelled(bool cancelled) override {
    if (!cancelled) return;  // the thread has ended, perhaps within a row
    {
      const std::lock_guard lock(queue_->mutex);
      queue_->cancelled = true;
      queue_->changed.notify_all();
    }
    queue_->source->SetCancelled(true);
  }

  std::string Position() const override { return ""; }
  absl::Status Restore(const std::string& position) override {
    return absl::UnimplementedError("an input of batches that wait for rows has no positions");
  }

  std::vector<HostFeature> Forwarded() const override {
    std::vector<HostFeature> all;
    for (const TimedRow& row : batch_) AppendForwarded(row.forwarded, &all);
    return all;
  }

  std::string Where(int64_t row) const override {
    return row < 0 || row >= std::ssize(batch_) ? "the start of the input" : batch_[row].where;
  }

 private:
  // Moves the rows of the next batch to batch_: none at the end.
  absl::Status TakeBatch() {
    RowQueue& queue = *queue_;
    std::unique_lock lock(queue.mutex);
    std::move(batch_.begin(), batch_.end(), std::back_inserter(queue.free));
    batch_.clear();
    queue.changed.wait(lock, [&] { return queue.cancelled || queue.ended || !queue.rows.empty(); });
    if (queue.cancelled) return absl::CancelledError("the input was stopped");
    if (queue.rows.empty()) return queue.status;
    const auto is_full = [&] {
      return queue.cancelled || queue.ended || std::ssize(queue.rows) >= batch_size_;
    };
    queue.changed.wait_until(lock, queue.rows.front().read_at + max_wait_, is_full);
    if (queue.cancelled) return absl::CancelledError("the input was stopped");
    const auto count = std::min<int64_t>(batch_size_, std::ssize(queue.rows));
    std::move(queue.rows.begin(), queue.rows.begin() + count, std::back_inserter(batch_));
    queue.rows.erase(queue.rows.begin(), queue.rows.begin() + count);
    queue.changed.notify_all();
    return absl::OkStatus();
  }

  const int64_t batch_size_;
  const std::chrono::milliseconds max_wait_;
  const std::shared_ptr<RowQueue> queue_;
  std::thread thread_;           // started by the first Next
  std::vector<TimedRow> batch_;  // the last one
};

}  // namespace

std::unique_ptr<BatchSource> MakeTimedBatches(std::unique_ptr<BatchSource> rows,
                                              TimedBatchesArgs args) {
  return std::make_unique<TimedBatches>(std::move(rows), std::move(args));
}

}  // namespace tpurun
