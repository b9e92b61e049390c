#include "runtime/fabric/thread_fabric.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/dcheck.h"

namespace tpurun {
namespace {

// What two processes exchange. The receiver copies from the sender's span, without the lock.
struct Pair {
  enum State { kEmpty, kPosted, kCopying };  // of a message
  struct Side {
    State state = kEmpty;
    std::span<const std::byte> sent;  // while it is posted or being copied
    std::chrono::steady_clock::time_point posted_at;
    bool ended = false;  // its fabric is destroyed
  };

  std::mutex mutex;
  std::condition_variable changed;
  Side sides[2];  // of the lower rank, of the higher
  bool aborted = false;
};

// What the fabrics of one run share.
class ThreadPairs {
 public:
  explicit ThreadPairs(int size) : size_(size), pairs_(static_cast<size_t>(size) * size) {}

  Pair& Between(int low, int high) { return pairs_[static_cast<size_t>(low) * size_ + high]; }

  void Abort(const std::string& why) {
    {
      const std::lock_guard lock(mutex_);
      if (aborted_.empty()) aborted_ = why;
    }
    for (Pair& pair : pairs_) {
      const std::lock_guard lock(pair.mutex);
      pair.aborted = true;
      pair.changed.notify_all();
    }
  }

  // The error of an exchange with a peer that was aborted or has ended. A process that ends because
  // the run was aborted may wake others before Abort does.
  absl::Status ErrorWith(int peer) {
    const std::lock_guard lock(mutex_);
    return absl::UnavailableError(aborted_.empty() ? absl::StrCat("process ", peer, " has ended")
                                                   : aborted_);
  }

  void End(int rank) {
    for (int peer = 0; peer < size_; ++peer) {
      if (peer == rank) continue;
      Pair& pair = Between(std::min(rank, peer), std::max(rank, peer));
      const std::lock_guard lock(pair.mutex);
      pair.sides[rank > peer].ended = true;
      pair.changed.notify_all();
    }
  }

 private:
  const int size_;
  std::vector<Pair> pairs_;  // [low * size_ + high], low < high
  std::mutex mutex_;
  std::string aborted_;  // why the run was ended, or empty
};

class ThreadFabric final : public Fabric {
 public:
  ThreadFabric(int rank, int size, std::shared_ptr<ThreadPairs> pairs, const ExchangeDelay& delay)
      : Fabric(rank, size), pairs_(std::move(pairs)), delay_(delay) {}
  ~ThreadFabric() override { pairs_->End(rank()); }

  void Abort(const absl::Status& why) override {
    pairs_->Abort(absl::StrCat("process ", rank(), " ended the run: ", why.message()));
  }

 protected:
  absl::Status SendReceive(int peer, std::span<const std::byte> send,
                           std::span<std::byte> receive) override {
    Pair& pair = pairs_->Between(std::min(rank(), peer), std::max(rank(), peer));
    Pair::Side& own = pair.sides[rank() > peer];
    Pair::Side& theirs = pair.sides[rank() < peer];
    std::unique_lock lock(pair.mutex);
    own.sent = send;
    own.state = Pair::kPosted;
    if (delay_) own.posted_at = std::chrono::steady_clock::now();
    pair.changed.notify_all();
    pair.changed.wait(
        lock, [&] { return theirs.state == Pair::kPosted || theirs.ended || pair.aborted; });
    if (delay_ && !pair.aborted && theirs.state == Pair::kPosted) {
      const auto begin = std::max(own.posted_at, theirs.posted_at);
      lock.unlock();
      delay_(begin, send.size(), receive.size());
      lock.lock();
    }
    if (!pair.aborted && theirs.state == Pair::kPosted) {
      TPURUN_DCHECK(theirs.sent.size() == receive.size());
      theirs.state = Pair::kCopying;
      lock.unlock();
      if (!receive.empty()) std::memcpy(receive.data(), theirs.sent.data(), receive.size());
      lock.lock();
      theirs.state = Pair::kEmpty;
      pair.changed.notify_all();
    }
    // Whoever has begun to copy from the span ends before it is given back.
    pair.changed.wait(lock, [&] {
      return own.state == Pair::kEmpty ||
             (own.state == Pair::kPosted && (theirs.ended || pair.aborted));
    });
    const bool sent = own.state == Pair::kEmpty;
    own.state = Pair::kEmpty;
    return sent && !pair.aborted ? absl::OkStatus() : pairs_->ErrorWith(peer);
  }

 private:
  const std::shared_ptr<ThreadPairs> pairs_;
  const ExchangeDelay delay_;  // may be nullptr
};

}  // namespace

std::vector<std::unique_ptr<Fabric>> MakeThreadFabrics(int size, ExchangeDelay delay) {
  const auto pairs = std::make_shared<ThreadPairs>(size);
  std::vector<std::unique_ptr<Fabric>> fabrics;
  for (int rank = 0; rank < size; ++rank) {
    fabrics.push_back(std::make_unique<ThreadFabric>(rank, size, pairs, delay));
  }
  return fabrics;
}

}  // namespace tpurun
