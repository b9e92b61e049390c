// Fabric: how the processes of one run exchange values. Each process emulates an equal, contiguous
// share of the replicas. All processes make the same calls in the same order; every call blocks
// until this process has its result.
#ifndef TPURUN_RUNTIME_FABRIC_FABRIC_H_
#define TPURUN_RUNTIME_FABRIC_FABRIC_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tpurun {

// One transport implements SendReceive; the collectives are built on it here, so that their bits
// are the same on every transport. Used by one thread at a time. After an error every later call
// fails with the same error.
class Fabric {
 public:
  // `size` is a power of 2.
  Fabric(int rank, int size);
  virtual ~Fabric() = default;
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  int rank() const { return rank_; }  // of this process, from 0
  int size() const { return size_; }  // number of processes
  bool is_chief() const { return rank_ == 0; }

  // sum[i] = x[i] of all processes, added as a pairwise tree over their ranks:
  // ((0+1)+(2+3))+((4+5)+(6+7)). Every process gets the same bits. Each element is added by one
  // process (recursive halving by increasing distance), which gives it to the others (recursive
  // doubling; Thakur, Rabenseifner and Gropp, 2005): a process sends and receives 2 n (size - 1) /
  // size elements. Of a short vector each process adds all elements, which takes half the messages.
  // Subnormal f32 count as zero, as in all arithmetic on values; integers wrap around. x and sum
  // are disjoint or the same memory.
  absl::Status AllReduceSum(const float* x, float* sum, int64_t n);
  absl::Status AllReduceSum(const int32_t* x, int32_t* sum, int64_t n);
  absl::Status AllReduceSum(const int64_t* x, int64_t* sum, int64_t n);

  // all = the values of process 0, of process 1 ...: size() * bytes. `own` may be its own place in
  // `all`.
  absl::Status AllGather(const void* own, int64_t bytes, void* all);
  // The texts of all processes, in rank order.
  absl::StatusOr<std::vector<std::string>> AllGatherText(const std::string& own);
  // Gives every process the chief's bytes.
  absl::Status Broadcast(void* data, int64_t bytes);
  // Returns the chief's text. `text` of the others is not read.
  absl::StatusOr<std::string> BroadcastText(const std::string& text);

  // OK if every process gives OK. Else the status of the lowest rank that gave an error, in each
  // process, with its payloads; where it is another's, its message begins with "process 1: ". The
  // fabric can still be used. Where the exchange itself fails, `own` if that is an error, else the
  // error of the exchange.
  absl::Status FirstError(const absl::Status& own);

  // True after an error of an exchange, which is that of every later call.
  bool lost() const { return !lost_.ok(); }

  // Ends the run of all processes as soon as possible, without their cooperation: after an error
  // that only this process knows of. The others get Unavailable, or end. Any thread may call it.
  virtual void Abort(const absl::Status& why) = 0;

 protected:
  // Sends to `peer` and receives from it, at the same time; both processes call it with each
  // other's rank, and one of the spans may be empty (both processes know the sizes). Unavailable,
  // with the peer's rank and the reason, if the peer is gone or silent. After an error the
  // transport no longer reads or writes the spans.
  virtual absl::Status SendReceive(int peer, std::span<const std::byte> send,
                                   std::span<std::byte> receive) = 0;

 private:
  template <typename T>
  absl::Status Sum(const T* x, T* sum, int64_t n);
  template <typename T>
  absl::Status SumOfShort(const T* x, T* sum, int64_t n);
  template <typename T>
  absl::Status SumByHalves(const T* x, T* sum, int64_t n);
  // Gives every process the values of all, where that of `rank` is at `all` + offset(rank) and ends
  // where the next one begins. A process's own value is in its place.
  template <typename Offset>
  absl::Status Gather(const Offset& offset, std::byte* all);
  // SendReceive, unless there has been an error or there is nothing to send and receive.
  absl::Status Exchange(int peer, std::span<const std::byte> send, std::span<std::byte> receive);

  const int rank_, size_;
  absl::Status lost_;                // the first error
  std::vector<std::byte> received_;  // elements to add
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_FABRIC_FABRIC_H_
