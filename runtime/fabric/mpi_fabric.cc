#include "runtime/fabric/mpi_fabric.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/cpu.h"
#include "runtime/base/dcheck.h"
#include "runtime/base/status.h"
#include "runtime/base/threads.h"
#include "runtime/fabric/mpi_library.h"

namespace tpurun {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr int kDataTag = 0, kBeatTag = 1;
constexpr int kMostHost = 4096;        // bytes, more than MPI_MAX_PROCESSOR_NAME
constexpr int kTemporaryFailure = 75;  // EX_TEMPFAIL
// Longer data is sent in messages of so many bytes: when one is done, the wait begins anew.
constexpr size_t kMessageBytes = 4 << 20;
// Messages of one direction that are under way.
constexpr size_t kMessages = 2;
// Open MPI takes a copy of a message that is no longer than this before MPI_Isend returns. Its
// limits are below 4096 bytes within a machine and more between machines. For a longer one it asks
// the receiver first: two messages that it copies are faster than one that it does not.
constexpr size_t kCopiedBytes = 2048;
constexpr size_t kAllCopiedBytes = kMessages * kCopiedBytes;
// How often the heartbeat thread calls MPI. Data that waits for a connection or a full socket goes
// on by then, while this process computes.
constexpr milliseconds kTick(20);
// How long data may still be on its way after its sender has said that it is done.
constexpr milliseconds kLatest(1000);
// How long a failed process tries to tell the others.
constexpr milliseconds kLastWords(100);

// At most 30 years: a clock has no number for more.
Clock::duration DurationOf(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(std::min(seconds, 1e9)));
}

// A thread polls for 50 microseconds, then lets others run between two polls, from 10 milliseconds
// on it sleeps between them: 0.1 ms, and 1 ms when it has waited for a second. A wait that ends at
// the first poll needs no clock.
class PollPause {
 public:
  void Restart() { begin_ = {}; }
  // Returns the time of the end of the pause.
  Clock::time_point Pause() {
    const Clock::time_point now = Clock::now();
    if (begin_ == Clock::time_point()) begin_ = now;
    const auto waited = now - begin_;
    if (waited < microseconds(50)) {
      SpinPause();
      return now;
    }
    if (waited < milliseconds(10)) {
      sched_yield();
    } else {
      std::this_thread::sleep_for(waited < milliseconds(1000) ? microseconds(100)
                                                              : microseconds(1000));
    }
    return Clock::now();
  }

 private:
  Clock::time_point begin_;
};

// What a heartbeat says of its sender.
enum class PeerState : int32_t {
  kUntold,  // is never sent
  kAlive,
  kDone,    // needs nothing more from anybody, and will call MPI_Finalize
  kFailed,  // makes no more calls
};

struct Heartbeat {
  PeerState state = PeerState::kUntold;
  int32_t lost = -1;  // the rank that the sender has lost, or -1 if it has failed by itself
};

// One direction of an exchange, as messages of which some are under way.
class MessageStream {
 public:
  // `post` starts the message of bytes [begin, begin + count): post(begin, count, request).
  MessageStream(const MpiLibrary& mpi, size_t bytes) : mpi_(mpi), bytes_(bytes) {
    std::fill(std::begin(requests_), std::end(requests_), mpi.null);
  }

  bool done() const { return first_ == next_ && posted_ == bytes_; }

  // Tests the messages under way and starts others. Returns an MPI code. Sets `moved` where a
  // message is done.
  template <typename Post>
  int Advance(const Post& post, bool& moved) {
    while (first_ < next_) {
      int flag = 0;
      const int code = mpi_.Test(&requests_[first_ % kMessages], &flag, nullptr);
      if (code != MpiLibrary::kSuccess) return code;
      if (!flag) break;
      ++first_;
      moved = true;
    }
    while (posted_ < bytes_ && next_ - first_ < kMessages) {
      const size_t most = bytes_ <= kAllCopiedBytes ? kCopiedBytes : kMessageBytes;
      const size_t count = std::min(most, bytes_ - posted_);
      const int code = post(posted_, static_cast<int>(count), &requests_[next_ % kMessages]);
      if (code != MpiLibrary::kSuccess) return code;
      posted_ += count;
      ++next_;
    }
    return MpiLibrary::kSuccess;
  }

 private:
  const MpiLibrary& mpi_;
  const size_t bytes_;
  size_t posted_ = 0;            // bytes of which the message is started
  size_t first_ = 0, next_ = 0;  // messages: the first one under way, the next to start
  MpiLibrary::Request requests_[kMessages];
};

// What the fabric and its heartbeat thread share. MPI is called with mutex_ held.
class MpiPeers {
 public:
  MpiPeers(const MpiLibrary& mpi, MpiLibrary::Comm comm, int rank, int size,
           const MpiFabricOptions& options);

  void StartHeartbeats();
  void SetHosts(const std::vector<std::string>& hosts);
  absl::Status SendReceive(int peer, std::span<const std::byte> send, std::span<std::byte> receive);
  // Waits until all processes are done, and ends the heartbeats. Returns false after an error:
  // there are requests left then, whose buffers are in this object, and no MPI call may follow.
  bool End();
  [[noreturn]] void Abort();

 private:
  struct Peer {
    std::string name;  // "process 1 (HOST)"
    PeerState state = PeerState::kAlive;
    int lost = -1;                           // of its last heartbeat
    Clock::duration silence{0};              // since its last heartbeat
    Clock::time_point done_at;               // when it has said that it is done
    Heartbeat sent, received;                // the buffers of the requests
    MpiLibrary::Request sending, receiving;  // null: nothing is under way
  };
  // Why an exchange is not possible, and the rank that is to blame, or -1.
  struct Trouble {
    absl::Status status;
    int lost = -1;
  };

  // All with mutex_ held.
  void Tick(Clock::time_point now);
  void ReceiveHeartbeats(Peer& peer, int rank);
  // Returns true if the peer has been sent what own_ says.
  bool Tell(Peer& peer, int rank);
  bool TellAll();
  Trouble TroubleWith(int rank, Clock::time_point now) const;
  absl::Status Fail(const Trouble& trouble);
  absl::Status MpiError(int code, const char* call, int rank) const;
  bool Silent(const Peer& peer) const {
    return peer.state == PeerState::kAlive && peer.silence >= timeout_;
  }
  bool Interrupted() const { return interrupt_ != nullptr && interrupt_->load() >= 2; }

  const MpiLibrary& mpi_;
  const MpiLibrary::Comm comm_;
  const int rank_;
  const double timeout_seconds_;
  const Clock::duration timeout_, interval_;  // interval: of the heartbeats
  const std::atomic<int>* const interrupt_;

  std::mutex mutex_;
  std::condition_variable wake_;  // of the heartbeat thread
  std::vector<Peer> peers_;       // by rank; the own one is not used
  Heartbeat own_ = {.state = PeerState::kAlive};
  int silent_ = -1, failed_peer_ = -1;  // ranks, or -1 if there is none
  absl::Status failed_;
  bool stop_ = false;
  Clock::time_point last_tick_, next_tick_, next_heartbeat_;
  std::thread heartbeats_;
};

MpiPeers::MpiPeers(const MpiLibrary& mpi, MpiLibrary::Comm comm, int rank, int size,
                   const MpiFabricOptions& options)
    : mpi_(mpi),
      comm_(comm),
      rank_(rank),
      timeout_seconds_(options.host_timeout),
      timeout_(DurationOf(options.host_timeout)),
      interval_(std::min<Clock::duration>(milliseconds(1000), timeout_ / 4)),
      interrupt_(options.interrupt),
      peers_(size) {
  for (int peer = 0; peer < size; ++peer) {
    peers_[peer].name = absl::StrCat("process ", peer);
    peers_[peer].sending = peers_[peer].receiving = mpi.null;
  }
}

void MpiPeers::StartHeartbeats() {
  last_tick_ = next_heartbeat_ = Clock::now();
  heartbeats_ = StartThread([this] {
    std::unique_lock lock(mutex_);
    while (!stop_) {
      Tick(Clock::now());
      wake_.wait_for(lock, kTick);
    }
  });
}

void MpiPeers::SetHosts(const std::vector<std::string>& hosts) {
  const std::lock_guard lock(mutex_);
  for (size_t rank = 0; rank < hosts.size(); ++rank) {
    peers_[rank].name = absl::StrCat("process ", rank, " (", hosts[rank], ")");
  }
}

// A thread that waits for data calls this too: another one that always finds mutex_ locked is not
// needed then.
void MpiPeers::Tick(Clock::time_point now) {
  const auto elapsed = std::min(now - last_tick_, interval_);
  last_tick_ = now;
  next_tick_ = now + kTick;
  const bool beat = now >= next_heartbeat_;
  if (beat) next_heartbeat_ = now + interval_;
  silent_ = -1;
  for (int rank = 0; rank < static_cast<int>(peers_.size()); ++rank) {
    if (rank == rank_) continue;
    Peer& peer = peers_[rank];
    peer.silence += elapsed;
    ReceiveHeartbeats(peer, rank);
    if (silent_ < 0 && Silent(peer)) silent_ = rank;
    if (beat && peer.sending == mpi_.null) peer.sent.state = PeerState::kUntold;
    Tell(peer, rank);
  }
}

void MpiPeers::ReceiveHeartbeats(Peer& peer, int rank) {
  while (true) {
    if (peer.receiving != mpi_.null) {
      int flag = 0;
      if (mpi_.Test(&peer.receiving, &flag, nullptr) != MpiLibrary::kSuccess || !flag) return;
      peer.silence = Clock::duration::zero();
      if (peer.state != peer.received.state) peer.done_at = last_tick_;
      peer.state = peer.received.state;
      peer.lost = peer.received.lost;
      if (peer.state == PeerState::kFailed && failed_peer_ < 0) failed_peer_ = rank;
    }
    const int code = mpi_.Irecv(&peer.received, sizeof(Heartbeat), mpi_.byte, rank, kBeatTag, comm_,
                                &peer.receiving);
    if (code != MpiLibrary::kSuccess) {
      peer.receiving = mpi_.null;
      return;
    }
  }
}

bool MpiPeers::Tell(Peer& peer, int rank) {
  if (peer.sending != mpi_.null) {
    int flag = 0;
    // What is not received yet is not sent again: a peer that is stopped costs no memory.
    if (mpi_.Test(&peer.sending, &flag, nullptr) != MpiLibrary::kSuccess || !flag) return false;
  }
  if (peer.sent.state == own_.state) return true;
  peer.sent = own_;
  const int code =
      mpi_.Isend(&peer.sent, sizeof(Heartbeat), mpi_.byte, rank, kBeatTag, comm_, &peer.sending);
  if (code != MpiLibrary::kSuccess) peer.sending = mpi_.null;
  return false;
}

// Tells those that can still be told. Returns true if they all know.
bool MpiPeers::TellAll() {
  bool told = true;
  for (int rank = 0; rank < static_cast<int>(peers_.size()); ++rank) {
    Peer& peer = peers_[rank];
    if (rank == rank_ || Silent(peer) || peer.state == PeerState::kFailed) continue;
    told &= Tell(peer, rank);
  }
  return told;
}

absl::Status MpiPeers::MpiError(int code, const char* call, int rank) const {
  return absl::UnavailableError(
      absl::StrCat(call, " with ", peers_[rank].name, ": ", mpi_.ErrorText(code)));
}

MpiPeers::Trouble MpiPeers::TroubleWith(int rank, Clock::time_point now) const {
  const auto unavailable = [](int lost, const auto&... text) {
    return Trouble{absl::UnavailableError(absl::StrCat(text...)), lost};
  };
  if (failed_peer_ >= 0) {
    const Peer& failed = peers_[failed_peer_];
    const int lost = failed.lost;
    if (lost < 0) return unavailable(failed_peer_, failed.name, " has failed");
    if (lost == rank_) return unavailable(failed_peer_, failed.name, " has given up this process");
    return unavailable(lost, peers_[lost].name, " is lost, says ", failed.name);
  }
  if (silent_ >= 0) {
    return unavailable(silent_, peers_[silent_].name, " has not answered for ", timeout_seconds_,
                       " s");
  }
  const Peer& peer = peers_[rank];
  if (peer.state == PeerState::kDone && now - peer.done_at > kLatest) {
    return unavailable(rank, peer.name, " has ended");
  }
  if (Interrupted()) {
    return {absl::CancelledError(absl::StrCat("interrupted while waiting for ", peer.name)), -1};
  }
  return {};
}

absl::Status MpiPeers::Fail(const Trouble& trouble) {
  if (!failed_.ok()) return failed_;
  failed_ = trouble.status;
  own_ = {.state = PeerState::kFailed, .lost = trouble.lost};
  const Clock::time_point end = Clock::now() + kLastWords;
  for (PollPause poll; !TellAll() && Clock::now() < end;) poll.Pause();
  // Nobody touches the caller's spans from here on: this process makes no MPI call, and a peer that
  // reads them by itself looks for a failure before it uses what it has read.
  stop_ = true;
  wake_.notify_all();
  return failed_;
}

absl::Status MpiPeers::SendReceive(int rank, std::span<const std::byte> send,
                                   std::span<std::byte> receive) {
  MessageStream out(mpi_, send.size()), in(mpi_, receive.size());
  const auto post_receive = [&](size_t begin, int count, MpiLibrary::Request* request) {
    return mpi_.Irecv(receive.data() + begin, count, mpi_.byte, rank, kDataTag, comm_, request);
  };
  const auto post_send = [&](size_t begin, int count, MpiLibrary::Request* request) {
    return mpi_.Isend(send.data() + begin, count, mpi_.byte, rank, kDataTag, comm_, request);
  };
  Clock::time_point now;  // of the last pause
  PollPause poll;
  while (true) {
    bool moved = false;
    {
      const std::lock_guard lock(mutex_);
      if (!failed_.ok()) return failed_;
      int code = in.Advance(post_receive, moved);
      if (code != MpiLibrary::kSuccess) return Fail({MpiError(code, "MPI_Irecv", rank), rank});
      code = out.Advance(post_send, moved);
      if (code != MpiLibrary::kSuccess) return Fail({MpiError(code, "MPI_Isend", rank), rank});
      const bool done = in.done() && out.done();
      // A failed peer may have changed what it sent, but has told so before.
      if (done && receive.size() > kAllCopiedBytes) ReceiveHeartbeats(peers_[rank], rank);
      if (done && failed_peer_ < 0) return absl::OkStatus();
      if (now >= next_tick_) Tick(now);
      const Trouble trouble = TroubleWith(rank, now);
      if (!trouble.status.ok()) return Fail(trouble);
    }
    if (moved) poll.Restart();
    now = poll.Pause();
  }
}

bool MpiPeers::End() {
  std::unique_lock lock(mutex_);
  if (failed_.ok()) own_.state = PeerState::kDone;
  while (failed_.ok()) {
    Tick(Clock::now());
    bool all_done = true;
    for (int rank = 0; rank < static_cast<int>(peers_.size()); ++rank) {
      all_done &= rank == rank_ || peers_[rank].state == PeerState::kDone;
    }
    if (all_done && TellAll()) break;
    const Trouble trouble = TroubleWith(rank_, last_tick_);
    if (!trouble.status.ok()) Fail(trouble).IgnoreError();
    wake_.wait_for(lock, kTick / 4);
  }
  stop_ = true;
  wake_.notify_all();
  lock.unlock();
  heartbeats_.join();
  if (!failed_.ok()) return false;
  for (Peer& peer : peers_) {
    if (peer.receiving == mpi_.null) continue;
    mpi_.Cancel(&peer.receiving);
    mpi_.Wait(&peer.receiving, nullptr);
  }
  return true;
}

void MpiPeers::Abort() {
  StartThread([] {
    std::this_thread::sleep_for(std::chrono::seconds(5));
    std::_Exit(kTemporaryFailure);
  }).detach();
  for (int i = 0; i < 1000 && !mutex_.try_lock(); ++i) std::this_thread::sleep_for(milliseconds(1));
  mpi_.Abort(mpi_.world, kTemporaryFailure);
  std::_Exit(kTemporaryFailure);
}

// Whether a call has returned.
struct Progress {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;

  void Done() {
    const std::lock_guard lock(mutex);
    done = true;
    changed.notify_all();
  }
  bool WaitFor(Clock::duration most) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, most, [&] { return done; });
  }
};

// Calls MPI_Finalize in a thread, and leaves that behind if it takes longer.
void FinalizeMpi(const MpiLibrary& mpi, Clock::duration most) {
  const auto progress = std::make_shared<Progress>();
  StartThread([&mpi, progress] {
    mpi.Finalize();
    progress->Done();
  }).detach();
  progress->WaitFor(most);
}

// Calls MPI_Init_thread, which waits for all processes of the job. If it takes longer, ends this
// process, since nothing can end the call; mpirun then ends the others.
int InitMpi(const MpiLibrary& mpi, double most_seconds, int* level) {
  Progress progress;
  std::thread watch = StartThread([&progress, most_seconds] {
    if (progress.WaitFor(DurationOf(most_seconds))) return;
    std::cerr << "tpurun: MPI_Init has waited " << most_seconds
              << " s for all processes of the job: one has not started, or is another program; "
                 "--host_timeout=SECONDS waits longer\n"
              << std::flush;
    _exit(kTemporaryFailure);
  });
  const int code = mpi.Init_thread(nullptr, nullptr, MpiLibrary::kThreadSerialized, level);
  progress.Done();
  watch.join();
  return code;
}

class MpiFabric final : public Fabric {
 public:
  MpiFabric(std::unique_ptr<MpiPeers> peers, int rank, int size, std::function<void()> finalize)
      : Fabric(rank, size), peers_(std::move(peers)), finalize_(std::move(finalize)) {}

  ~MpiFabric() override {
    if (peers_->End()) {
      finalize_();
    } else {
      [[maybe_unused]] static MpiPeers* kept;  // its requests have buffers in it
      kept = peers_.release();
    }
  }

  // Gives the peers the names of their hosts.
  absl::Status Begin(const std::string& host) {
    peers_->StartHeartbeats();
    ASSIGN_OR_RETURN(const std::vector<std::string> hosts, AllGatherText(host));
    peers_->SetHosts(hosts);
    return absl::OkStatus();
  }

  void Abort(const absl::Status&) override { peers_->Abort(); }

 protected:
  absl::Status SendReceive(int peer, std::span<const std::byte> send,
                           std::span<std::byte> receive) override {
    return peers_->SendReceive(peer, send, receive);
  }

 private:
  std::unique_ptr<MpiPeers> peers_;
  const std::function<void()> finalize_;
};

constexpr char kMpirunSize[] = "OMPI_COMM_WORLD_SIZE";
constexpr char kPmixRank[] = "PMIX_RANK", kPmixNamespace[] = "PMIX_NAMESPACE";

// The value of an environment variable, or -1 if it is none.
int NumberInEnvironment(const char* name) {
  const char* const text = getenv(name);
  int number = -1;
  return text != nullptr && absl::SimpleAtoi(text, &number) ? number : -1;
}

bool ReadStartedByMpi() {
  if (getenv(kMpirunSize) != nullptr) return NumberInEnvironment(kMpirunSize) > 1;
  if (getenv(kPmixRank) == nullptr || getenv(kPmixNamespace) == nullptr) return false;
  return NumberInEnvironment("SLURM_STEP_NUM_TASKS") != 1;
}

}  // namespace

bool StartedByMpi() {
  static const bool started = ReadStartedByMpi();
  return started;
}

int RankByMpi() {
  if (!StartedByMpi()) return 0;
  const bool by_mpirun = getenv("OMPI_COMM_WORLD_RANK") != nullptr;
  return std::max(0, NumberInEnvironment(by_mpirun ? "OMPI_COMM_WORLD_RANK" : "PMIX_RANK"));
}

int LocalSizeByMpi() {
  const bool by_mpirun = getenv("OMPI_COMM_WORLD_LOCAL_SIZE") != nullptr;
  const char* const name = by_mpirun ? "OMPI_COMM_WORLD_LOCAL_SIZE" : "SLURM_NTASKS_PER_NODE";
  return StartedByMpi() ? std::max(1, NumberInEnvironment(name)) : 1;
}

absl::StatusOr<std::unique_ptr<Fabric>> OpenMpiFabric(const MpiFabricOptions& options) {
  TPURUN_DCHECK(options.host_timeout > 0);
  ASSIGN_OR_RETURN(const MpiLibrary* const library, OpenMpiLibrary());
  const MpiLibrary& mpi = *library;
  const auto check = [&mpi](int code, const char* call) {
    if (code == MpiLibrary::kSuccess) return absl::OkStatus();
    return absl::InternalError(absl::StrCat(call, ": ", mpi.ErrorText(code)));
  };
  int initialized = 0, level = 0, rank = 0, size = 0;
  RETURN_IF_ERROR(check(mpi.Initialized(&initialized), "MPI_Initialized"));
  if (initialized) {
    RETURN_IF_ERROR(check(mpi.Query_thread(&level), "MPI_Query_thread"));
  } else {
    RETURN_IF_ERROR(check(InitMpi(mpi, options.host_timeout, &level), "MPI_Init_thread"));
  }
  std::function<void()> finalize = [] {};
  if (!initialized) {
    finalize = [&mpi, most = DurationOf(options.host_timeout)] { FinalizeMpi(mpi, most); };
  }
  MpiLibrary::Comm comm = nullptr;
  std::string host(kMostHost, '\0');
  const auto open = [&]() -> absl::Status {
    RETURN_IF_ERROR(
        check(mpi.Comm_set_errhandler(mpi.world, mpi.errors_return), "MPI_Comm_set_errhandler"));
    RETURN_IF_ERROR(check(mpi.Comm_rank(mpi.world, &rank), "MPI_Comm_rank"));
    RETURN_IF_ERROR(check(mpi.Comm_size(mpi.world, &size), "MPI_Comm_size"));
    if ((size & (size - 1)) != 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the number of processes must be a power of 2, got ", size, ", want 2, 4, 8 ..."));
    }
    if (level < MpiLibrary::kThreadSerialized) {
      return absl::InternalError(absl::StrCat("Open MPI serves no threads: got level ", level,
                                              ", want MPI_THREAD_SERIALIZED, ",
                                              MpiLibrary::kThreadSerialized));
    }
    RETURN_IF_ERROR(check(mpi.Comm_dup(mpi.world, &comm), "MPI_Comm_dup"));
    RETURN_IF_ERROR(
        check(mpi.Comm_set_errhandler(comm, mpi.errors_return), "MPI_Comm_set_errhandler"));
    int length = 0;
    RETURN_IF_ERROR(check(mpi.Get_processor_name(host.data(), &length), "MPI_Get_processor_name"));
    host.resize(length);
    return absl::OkStatus();
  };
  const absl::Status opened = open();
  if (!opened.ok()) {
    finalize();
    return opened;
  }
  auto fabric = std::make_unique<MpiFabric>(
      std::make_unique<MpiPeers>(mpi, comm, rank, size, options), rank, size, std::move(finalize));
  RETURN_IF_ERROR(fabric->Begin(host));
  StartedByMpi();  // remembers it
  for (const char* name : {kMpirunSize, kPmixRank, kPmixNamespace}) unsetenv(name);
  return fabric;
}

}  // namespace tpurun
