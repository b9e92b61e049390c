// PlacedBuffers: the buffers of an arena that have an offset, with a search for a free offset for
// another buffer.
#ifndef TPURUN_RUNTIME_COMPILER_PLACED_BUFFERS_H_
#define TPURUN_RUNTIME_COMPILER_PLACED_BUFFERS_H_

#include <array>
#include <cstdint>
#include <random>
#include <vector>

namespace tpurun {

// The lifetime of a buffer in indices of instructions, both ends included.
struct Lifetime {
  int first = 0, last = 0;  // for all workers
  // True if only unpartitioned instructions of one phase use the buffer, in its first part: one
  // worker runs them in order. Two such buffers are alive together only if their intervals
  // [written, read] overlap. This interval lies within [first, last].
  bool in_order = false;
  int written = 0, read = 0;
};

bool AliveTogether(const Lifetime& a, const Lifetime& b);

// Trees ordered by offset, one for each order of magnitude of lifetime. Long-lived buffers fill an
// arena without gaps; short-lived buffers are placed and freed above them. The search does not
// descend into a subtree whose buffers are all alive, or none of them, and so takes about
// logarithmic time.
class PlacedBuffers {
 public:
  // Returns the start of the smallest gap of at least `bytes` > 0 between the buffers that are
  // alive together with this one; the lowest of equal gaps. If there is no gap, returns the end of
  // the last such buffer.
  int64_t FindGap(const Lifetime& life, int64_t bytes) const;
  // The bytes must be free during `life`.
  void Add(const Lifetime& life, int64_t offset, int64_t bytes);

 private:
  struct Span {
    int first, last;
  };
  // The range of the lifetimes of several buffers.
  struct Extent {
    int least_first, most_first, least_last, most_last;
    explicit Extent(Span span)
        : least_first(span.first),
          most_first(span.first),
          least_last(span.last),
          most_last(span.last) {}
    void Add(const Extent& other);
    bool AllMeet(Span span) const { return most_first <= span.last && least_last >= span.first; }
    bool NoneMeets(Span span) const { return least_first > span.last || most_last < span.first; }
  };
  // The bytes of one buffer, or the hull of several. widest_gap is at least the widest gap in it.
  struct Blocks {
    int64_t begin, end, widest_gap = 0;
    std::array<Extent, 2> lives;  // [first, last], and [written, read]
    void Append(const Blocks& behind);
  };
  struct Node {
    bool in_order;
    Blocks own, below;  // below: of the node and all nodes under it
    uint32_t priority;  // at least that of the nodes under it
    int left = -1, right = -1;
  };
  struct Gap {
    int64_t begin, end;
  };
  struct Tree {
    bool in_order;
    int magnitude;  // of the lifetimes
    int root = -1;
  };
  struct Search;

  bool IsFree(const std::array<Span, 2>& spans, bool in_order, const Blocks& blocks) const;
  static std::array<Span, 2> Spans(const Lifetime& life);
  static int Magnitude(Span span);
  // The root of the tree.
  int& TreeOf(bool in_order, int magnitude);
  void Summarize(int node);
  bool ComesBefore(int a, int b) const;
  int Insert(int root, int node);
  // Splits the tree into the nodes that come before `node` and the others.
  void Split(int root, int node, int* low, int* high);

  std::vector<Tree> trees_;  // longest lifetimes first, because they leave the fewest gaps
  std::vector<Node> nodes_;
  std::minstd_rand priorities_;  // the same in every run
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_COMPILER_PLACED_BUFFERS_H_
