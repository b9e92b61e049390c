// The buffers of an arena that have their place, and where another fits beside those that are alive
// when it is.
#ifndef TPURUN_RUNTIME_COMPILER_PLACED_BUFFERS_H_
#define TPURUN_RUNTIME_COMPILER_PLACED_BUFFERS_H_

#include <array>
#include <cstdint>
#include <random>
#include <vector>

namespace tpurun {

// When a buffer is alive, in indices of instructions, both ends included.
struct Lifetime {
  int first = 0, last = 0;  // as all see it
  // Only uncut instructions of one phase touch the buffer: one worker runs them in order. Two such
  // buffers are alive together only where these ends, which lie between the two above, say so.
  bool in_order = false;
  int written = 0, read = 0;
};

bool AliveTogether(const Lifetime& a, const Lifetime& b);

// Trees by offset, one for each magnitude of the length of life: what lives long covers an arena
// without gaps, what lives shortly comes and goes above it. A subtree whose buffers are all alive,
// or all dead, is looked at once; so a place is found in about logarithmic time.
class PlacedBuffers {
 public:
  // The start of the smallest gap of at least `bytes` > 0, of several the lowest, between the
  // buffers that are alive together with this one; else the end of the last of them.
  int64_t FindGap(const Lifetime& life, int64_t bytes) const;
  // Its bytes are free while it is alive.
  void Add(const Lifetime& life, int64_t offset, int64_t bytes);

 private:
  struct Span {
    int first, last;
  };
  // Of the lives of several.
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
  // Bytes, or the hull of several and no less than their widest gap.
  struct Blocks {
    int64_t begin, end, widest_gap = 0;
    std::array<Extent, 2> lives;  // as all see them, in order
    void Append(const Blocks& behind);
  };
  struct Node {
    bool in_order;
    Blocks own, below;  // below: of the node and all under it
    uint32_t priority;  // no less than those under it
    int left = -1, right = -1;
  };
  struct Gap {
    int64_t begin, end;
  };
  struct Tree {
    bool in_order;
    int magnitude;  // of the lengths of the lives
    int root = -1;
  };
  struct Search;

  bool IsFree(const std::array<Span, 2>& spans, bool in_order, const Blocks& blocks) const;
  static std::array<Span, 2> Spans(const Lifetime& life);
  static int Magnitude(Span span);
  // The root of that tree.
  int& TreeOf(bool in_order, int magnitude);
  void Summarize(int node);
  bool ComesBefore(int a, int b) const;
  int Insert(int root, int node);
  // Parts the tree into what comes before the node and the rest.
  void Split(int root, int node, int* low, int* high);

  std::vector<Tree> trees_;  // the longest lives first: they leave the fewest gaps
  std::vector<Node> nodes_;
  std::minstd_rand priorities_;  // the same in every run
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_COMPILER_PLACED_BUFFERS_H_
