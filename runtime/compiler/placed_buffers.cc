#include "runtime/compiler/placed_buffers.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "runtime/base/dcheck.h"

namespace tpurun {
namespace {

constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();

}  // namespace

// Searches the trees one after the other. The gaps that one tree leaves free are searched in the
// next.
struct PlacedBuffers::Search {
  const PlacedBuffers& placed;
  int which = 0;  // index into Blocks::lives
  Span span = {};
  int64_t bytes;
  std::vector<Gap> gaps = {{0, kEnd}}, left = {};  // gaps before and after this tree
  size_t at = 0;                                   // the first gap that further blocks may overlap

  void Look(const Tree& tree, Span in_span, int in_which) {
    if (placed.nodes_[tree.root].below.lives[in_which].NoneMeets(in_span)) return;
    span = in_span;
    which = in_which;
    at = 0;
    left.clear();
    Cover(tree.root);
    for (; at < gaps.size(); ++at) Keep(gaps[at].end);
    gaps.swap(left);
  }

 private:
  // Visits the blocks in the order of their offsets.
  void Cover(int root) {
    if (root < 0) return;
    const Node& node = placed.nodes_[root];
    const Blocks& below = node.below;
    const Extent& lives = below.lives[which];
    if (lives.NoneMeets(span)) return;
    for (; gaps[at].end <= below.begin; ++at) Keep(gaps[at].end);
    if (gaps[at].begin >= below.end) return;
    if (below.widest_gap < bytes && lives.AllMeet(span)) return Take(below);
    Cover(node.left);
    if (node.own.lives[which].AllMeet(span)) Take(node.own);
    Cover(node.right);
  }
  void Take(const Blocks& blocks) {
    for (; gaps[at].end <= blocks.end; ++at) Keep(blocks.begin);
    if (gaps[at].begin >= blocks.end) return;
    Keep(blocks.begin);
    gaps[at].begin = blocks.end;
  }
  // Keeps the free bytes of the current gap up to `end` if they are enough.
  void Keep(int64_t end) {
    end = std::min(end, gaps[at].end);
    if (end - gaps[at].begin >= bytes) left.push_back({gaps[at].begin, end});
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

std::array<PlacedBuffers::Span, 2> PlacedBuffers::Spans(const Lifetime& life) {
  TPURUN_DCHECK(life.first <= life.last);
  // The lifetime on one worker lies within the lifetime on all workers.
  TPURUN_DCHECK(!life.in_order || (life.first <= life.written && life.written <= life.read &&
                                   life.read <= life.last));
  const Span all{life.first, life.last};
  return {all, life.in_order ? Span{life.written, life.read} : all};
}

int64_t PlacedBuffers::FindGap(const Lifetime& life, int64_t bytes) const {
  TPURUN_DCHECK(bytes > 0);
  const std::array<Span, 2> spans = Spans(life);
  Search search{.placed = *this, .bytes = bytes};
  for (const Tree& tree : trees_) {
    const int which = life.in_order && tree.in_order ? 1 : 0;
    search.Look(tree, spans[which], which);
  }
  // The last gap has no end.
  const auto size = [](const Gap& gap) { return gap.end - gap.begin; };
  return std::min_element(search.gaps.begin(), search.gaps.end(),
                          [&](const Gap& a, const Gap& b) { return size(a) < size(b); })
      ->begin;
}

void PlacedBuffers::Add(const Lifetime& life, int64_t offset, int64_t bytes) {
  const std::array<Span, 2> spans = Spans(life);
  const Blocks own{
      .begin = offset, .end = offset + bytes, .lives = {Extent(spans[0]), Extent(spans[1])}};
  TPURUN_DCHECK(IsFree(spans, life.in_order, own));
  const int node = static_cast<int>(nodes_.size());
  nodes_.push_back(Node{life.in_order, own, own, static_cast<uint32_t>(priorities_())});
  int& root = TreeOf(life.in_order, Magnitude(spans[1]));
  root = Insert(root, node);
}

// Lifetimes up to 8 times as long as another have the same magnitude. With more trees, more gaps
// stay free in each.
int PlacedBuffers::Magnitude(Span span) {
  return (std::bit_width(static_cast<uint32_t>(span.last - span.first)) + 2) / 3;
}

int& PlacedBuffers::TreeOf(bool in_order, int magnitude) {
  const auto tree = std::find_if(trees_.begin(), trees_.end(), [&](const Tree& tree) {
    return tree.magnitude < magnitude || (tree.magnitude == magnitude && tree.in_order >= in_order);
  });
  if (tree != trees_.end() && tree->magnitude == magnitude && tree->in_order == in_order)
    return tree->root;
  return trees_.insert(tree, Tree{in_order, magnitude})->root;
}

// Searches all blocks without the trees. The result must be the same.
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

// Orders by offset. Buffers that use the same place one after the other are ordered by time.
bool PlacedBuffers::ComesBefore(int a, int b) const {
  const auto place = [&](int node) {
    const Blocks& own = nodes_[node].own;
    return std::pair(own.begin, own.lives[1].least_first);
  };
  return place(a) < place(b);
}

int PlacedBuffers::Insert(int root, int node) {
  if (root < 0) return node;
  if (nodes_[root].priority < nodes_[node].priority) {
    Split(root, node, &nodes_[node].left, &nodes_[node].right);
    Summarize(node);
    return node;
  }
  int& child = ComesBefore(node, root) ? nodes_[root].left : nodes_[root].right;
  child = Insert(child, node);
  Summarize(root);
  return root;
}

void PlacedBuffers::Split(int root, int node, int* low, int* high) {
  if (root < 0) {
    *low = *high = -1;
    return;
  }
  if (ComesBefore(root, node)) {
    *low = root;
    Split(nodes_[root].right, node, &nodes_[root].right, high);
  } else {
    *high = root;
    Split(nodes_[root].left, node, low, &nodes_[root].left);
  }
  Summarize(root);
}

}  // namespace tpurun
