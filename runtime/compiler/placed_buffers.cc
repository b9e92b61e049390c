#include "runtime/compiler/placed_buffers.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "runtime/base/dcheck.h"

namespace tpurun {
namespace {

constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();

}  // namespace

// What is left of one gap when the blocks in it are taken away, in order of their offsets.
struct PlacedBuffers::Search {
  int which;  // of Blocks::lives
  Span span;
  int64_t bytes;
  Gap gap;
  std::vector<Gap>* left;

  void Take(const Blocks& blocks) {
    Keep(blocks.begin);
    gap.begin = std::max(gap.begin, blocks.end);
  }
  void Keep(int64_t end) {
    if (end - gap.begin >= bytes) left->push_back({gap.begin, end});
  }
};

bool AliveTogether(const Lifetime& a, const Lifetime& b) {
  if (a.in_order && b.in_order) return a.written <= b.read && b.written <= a.read;
  return a.first <= b.last && b.first <= a.last;
}

void PlacedBuffers::Extent::Add(const Extent& other) {
  least_first = std::min(least_first, other.least_first);
  most_first = std::max(most_first, other.most_first);
  least_last = std::min(least_last, other.least_last);
  most_last = std::max(most_last, other.most_last);
}

void PlacedBuffers::Blocks::Append(const Blocks& behind) {
  widest_gap = std::max({widest_gap, behind.widest_gap, behind.begin - end});
  end = std::max(end, behind.end);
  for (size_t i = 0; i < lives.size(); ++i) lives[i].Add(behind.lives[i]);
}

std::array<std::array<int, PlacedBuffers::kMagnitudes>, 2> PlacedBuffers::EmptyRoots() {
  std::array<std::array<int, kMagnitudes>, 2> roots;
  for (auto& of_order : roots) of_order.fill(-1);
  return roots;
}

std::array<PlacedBuffers::Span, 2> PlacedBuffers::Spans(const Lifetime& life) {
  TPURUN_DCHECK(life.first <= life.last);
  // What one worker sees lies within what all see.
  TPURUN_DCHECK(!life.in_order || (life.first <= life.written && life.written <= life.read &&
                                   life.read <= life.last));
  const Span all{life.first, life.last};
  return {all, life.in_order ? Span{life.written, life.read} : all};
}

int64_t PlacedBuffers::FindGap(const Lifetime& life, int64_t bytes) const {
  TPURUN_DCHECK(bytes > 0);
  const std::array<Span, 2> spans = Spans(life);
  std::vector<Gap> gaps = {{0, kEnd}}, left;
  for (int magnitude = kMagnitudes; magnitude-- > 0;) {
    for (int in_order = 0; in_order < 2; ++in_order) {
      const int root = roots_[in_order][magnitude];
      if (root < 0) continue;
      const int which = life.in_order && in_order ? 1 : 0;
      left.clear();
      for (const Gap& gap : gaps) {
        Search search{which, spans[which], bytes, gap, &left};
        Cover(root, search);
        search.Keep(gap.end);
      }
      gaps.swap(left);
    }
  }
  // The last one has no end.
  return std::min_element(
             gaps.begin(), gaps.end(),
             [](const Gap& a, const Gap& b) { return a.end - a.begin < b.end - b.begin; })
      ->begin;
}

void PlacedBuffers::Cover(int root, Search& search) const {
  if (root < 0) return;
  const Node& node = nodes_[root];
  const Blocks& below = node.below;
  const Extent& lives = below.lives[search.which];
  if (below.end <= search.gap.begin || below.begin >= search.gap.end ||
      lives.NoneMeets(search.span))
    return;
  if (below.widest_gap < search.bytes && lives.AllMeet(search.span)) return search.Take(below);
  Cover(node.left, search);
  if (node.own.lives[search.which].AllMeet(search.span) && node.own.begin < search.gap.end)
    search.Take(node.own);
  Cover(node.right, search);
}

void PlacedBuffers::Add(const Lifetime& life, int64_t offset, int64_t bytes) {
  const std::array<Span, 2> spans = Spans(life);
  const Blocks own{
      .begin = offset, .end = offset + bytes, .lives = {Extent(spans[0]), Extent(spans[1])}};
  TPURUN_DCHECK(IsFree(spans, life.in_order, own));
  const int node = static_cast<int>(nodes_.size());
  nodes_.push_back(Node{life.in_order, own, own, static_cast<uint32_t>(priorities_())});
  const auto length = static_cast<uint32_t>(spans[1].last - spans[1].first);
  int& root = roots_[life.in_order ? 1 : 0][std::bit_width(length)];
  root = Insert(root, node);
}

// Without the trees, which must say the same.
bool PlacedBuffers::IsFree(const std::array<Span, 2>& spans, bool in_order,
                           const Blocks& blocks) const {
  return std::none_of(nodes_.begin(), nodes_.end(), [&](const Node& node) {
    const int which = in_order && node.in_order ? 1 : 0;
    return node.own.begin < blocks.end && blocks.begin < node.own.end &&
           node.own.lives[which].AllMeet(spans[which]);
  });
}

void PlacedBuffers::Summarize(int node) {
  Node& n = nodes_[node];
  if (n.left < 0) {
    n.below = n.own;
  } else {
    n.below = nodes_[n.left].below;
    n.below.Append(n.own);
  }
  if (n.right >= 0) n.below.Append(nodes_[n.right].below);
}

int PlacedBuffers::Insert(int root, int node) {
  const int64_t offset = nodes_[node].own.begin;
  if (root < 0) return node;
  if (nodes_[root].priority < nodes_[node].priority) {
    Split(root, offset, &nodes_[node].left, &nodes_[node].right);
    Summarize(node);
    return node;
  }
  int& child = offset < nodes_[root].own.begin ? nodes_[root].left : nodes_[root].right;
  child = Insert(child, node);
  Summarize(root);
  return root;
}

void PlacedBuffers::Split(int root, int64_t offset, int* low, int* high) {
  if (root < 0) {
    *low = *high = -1;
    return;
  }
  if (nodes_[root].own.begin < offset) {
    *low = root;
    Split(nodes_[root].right, offset, &nodes_[root].right, high);
  } else {
    *high = root;
    Split(nodes_[root].left, offset, low, &nodes_[root].left);
  }
  Summarize(root);
}

}  // namespace tpurun
