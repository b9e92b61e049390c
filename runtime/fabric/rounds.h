// The rounds of the fabric's collectives: what a process sends and receives in each. The
// collectives (fabric.cc) and the forecast of their time share the constants and the division of a
// vector.
#ifndef TPURUN_RUNTIME_FABRIC_ROUNDS_H_
#define TPURUN_RUNTIME_FABRIC_ROUNDS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tpurun {

// Vectors of at most so many bytes are added as a whole by every process. Chosen by measurement of
// two processes (tests/bench/all_reduce.cc). At 8192 bytes the whole takes 4 us within a machine
// and two halves 2 us; through TCP, where each exchange waits for the network, the halves take
// twice as long as the whole.
inline constexpr int64_t kShortVectorBytes = 8192;
// Elements to add are received in pieces of at most so many bytes, which stay in a core's cache
// until they are added. Smaller pieces cost more round trips between machines.
inline constexpr int64_t kPieceBytes = 1 << 20;

struct VectorPart {
  int64_t begin = 0, end = 0;  // of a vector's elements

  int64_t size() const { return end - begin; }
  // The piece that begins `done` elements after the begin of the part.
  VectorPart Piece(int64_t done, int64_t most) const {
    return {std::min(begin + done, end), std::min(begin + done + most, end)};
  }
};

struct VectorHalves {
  VectorPart kept, given;
};

// The lower half ends at a multiple of 16 elements, so that loops over both begin aligned.
VectorHalves Halve(const VectorPart& part, bool keep_upper);

// One exchange of a process with a peer, in bytes. One of them may be 0.
struct Round {
  int64_t sent = 0, received = 0;
  bool operator==(const Round&) const = default;
};

// A call of Fabric::AllReduceSum with `count` elements of `element_bytes`, or of AllGather with
// `count` bytes of each process.
struct Collective {
  enum class Kind : uint8_t { kSum, kGather };
  Kind kind = Kind::kSum;
  int64_t count = 0;
  int64_t element_bytes = 1;
};

// The exchanges of process `rank` of `size`, a power of 2, in order.
std::vector<Round> RoundsOf(const Collective& collective, int rank, int size);

// The time of a message by the model of Hockney (1994): latency + bytes / bandwidth. A process
// sends and receives at the same time, each at the full bandwidth.
struct Link {
  double latency = 0;    // seconds
  double bandwidth = 0;  // bytes a second; 0: unlimited
  double Seconds(const Round& round) const {
    const auto bytes = static_cast<double>(std::max(round.sent, round.received));
    return latency + (bandwidth > 0 ? bytes / bandwidth : 0);
  }
};

// The time of the process whose rounds take longest.
double SecondsOf(const Collective& collective, int size, const Link& link);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_FABRIC_ROUNDS_H_
