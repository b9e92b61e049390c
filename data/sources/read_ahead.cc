#include "data/sources/read_ahead.h"

#include <algorithm>
#include <deque>
#include <system_error>
#include <utility>

#include "runtime/base/threads.h"

namespace tpurun {
namespace {

// Blocks of a file that wait for their use.
constexpr size_t kBlocksAhead = 2;
constexpr size_t kAheadBytes = 256 << 10;
constexpr size_t kAheadRecords = 1024;

}  // namespace

class ReadAhead::AheadFile : public SourceFile {
 public:
  AheadFile(ReadAhead* ahead, std::unique_ptr<SourceFile> file)
      : ahead_(ahead), file_(std::move(file)) {
    const std::lock_guard<std::mutex> lock(ahead_->mutex_);
    ahead_->files_.push_back(this);
  }

  ~AheadFile() override {
    std::unique_lock<std::mutex> lock(ahead_->mutex_);
    std::vector<AheadFile*>& files = ahead_->files_;
    files.erase(std::find(files.begin(), files.end(), this));
    ahead_->made_.wait(lock, [this] { return !is_read_; });
  }

  absl::StatusOr<bool> Read(SourceRecord* record) override {
    if (!is_started_) {
      if (record == nullptr) return file_->Read(nullptr);
      Start();
    }
    if (next_ == current_.count) {
      if (current_.is_last)
        return current_.status.ok() ? absl::StatusOr<bool>(false)
                                    : absl::StatusOr<bool>(current_.status);
      TakeBlock();
      return Read(record);
    }
    if (record != nullptr) std::swap(*record, current_.records[next_]);
    ++next_;
    return true;
  }

  absl::Status CheckEnd() const override { return file_->CheckEnd(); }

  // The functions below need mutex_.
  bool wants_block() const {
    return is_started_ && !is_read_ && !ended_ && blocks_.size() < kBlocksAhead;
  }
  size_t num_blocks() const { return blocks_.size(); }
  // Reads a block, without the lock.
  void ReadBlock(std::unique_lock<std::mutex>& lock) {
    Block block;
    if (!free_.empty()) {
      block = std::move(free_.back());
      free_.pop_back();
    }
    is_read_ = true;
    lock.unlock();
    Fill(*file_, &block);
    lock.lock();
    is_read_ = false;
    ended_ = block.is_last;
    blocks_.push_back(std::move(block));
    ahead_->made_.notify_all();
  }

 private:
  // Consecutive records of the file.
  struct Block {
    std::vector<SourceRecord> records;  // with memory of earlier blocks behind `count`
    size_t count = 0;
    absl::Status status;  // the error behind the records
    bool is_last = false;
  };

  static void Fill(SourceFile& file, Block* block) {
    block->count = 0;
    size_t bytes = 0;
    while (bytes < kAheadBytes && block->count < kAheadRecords) {
      if (block->count == block->records.size()) block->records.emplace_back();
      SourceRecord& record = block->records[block->count];
      const absl::StatusOr<bool> found = file.Read(&record);
      block->status = found.status();
      block->is_last = !found.ok() || !*found;
      if (block->is_last) return;
      bytes += record.bytes.size();
      ++block->count;
    }
  }

  void Start() {
    ahead_->StartThreads();
    const std::lock_guard<std::mutex> lock(ahead_->mutex_);
    is_started_ = true;
    ahead_->wanted_.notify_one();
  }

  void TakeBlock() {
    std::unique_lock<std::mutex> lock(ahead_->mutex_);
    free_.push_back(std::move(current_));
    if (blocks_.empty() && !is_read_) ReadBlock(lock);  // no thread has begun with it
    ahead_->made_.wait(lock, [this] { return !blocks_.empty(); });
    current_ = std::move(blocks_.front());
    blocks_.pop_front();
    next_ = 0;
    ahead_->wanted_.notify_one();
  }

  ReadAhead* const ahead_;
  const std::unique_ptr<SourceFile> file_;  // of the thread that has set is_read_
  // Of the thread that uses the file.
  Block current_;
  size_t next_ = 0;  // of current_
  // Guarded by mutex_; is_started_ is set by the thread that uses the file.
  bool is_started_ = false;
  bool is_read_ = false;  // a thread reads a block
  bool ended_ = false;    // the last block is read
  std::deque<Block> blocks_;
  std::vector<Block> free_;
};

ReadAhead::~ReadAhead() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  wanted_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

std::unique_ptr<SourceFile> ReadAhead::Wrap(std::unique_ptr<SourceFile> file) {
  return std::make_unique<AheadFile>(this, std::move(file));
}

void ReadAhead::StartThreads() {
  if (!threads_.empty()) return;
  try {
    while (std::ssize(threads_) < num_threads_) threads_.push_back(StartThread([this] { Run(); }));
  } catch (const std::system_error&) {  // those that there are do
  }
}

void ReadAhead::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    AheadFile* file = nullptr;
    wanted_.wait(lock, [&] { return stopping_ || (file = NextFile()) != nullptr; });
    if (stopping_) return;
    file->ReadBlock(lock);
  }
}

ReadAhead::AheadFile* ReadAhead::NextFile() {
  AheadFile* next = nullptr;
  for (AheadFile* file : files_) {
    if (!file->wants_block()) continue;
    if (next == nullptr || file->num_blocks() < next->num_blocks()) next = file;
  }
  return next;
}

}  // namespace tpurun
