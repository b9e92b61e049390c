#include "runtime/compiler/memory_plan.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

#include "absl/strings/str_format.h"
#include "runtime/compiler/placed_buffers.h"
#include "runtime/ir/structural.h"

namespace tpurun {
namespace {

// A buffer to place in an arena.
struct Buffer {
  Space space = Space::kShared;
  int64_t bytes = 0;
  Lifetime life;
  int node = -1, result = 0;
  int scratch_of = -1;
  std::string name;
  bool by_parts = false;  // see ShareByParts
  int place_of = -1;      // the buffer whose place it takes; -1: it has a place of its own
  int64_t offset = 0;
};

// The offsets of the buffers in an arena, and the size of the arena in bytes.
struct Placement {
  int64_t arena = std::numeric_limits<int64_t>::max();
  std::vector<int64_t> offsets;
};

// Places the buffers in this order, each in the smallest gap that is large enough.
Placement PlaceInOrder(const std::vector<Buffer*>& buffers, const std::vector<int>& order) {
  Placement placement{.arena = 0, .offsets = std::vector<int64_t>(buffers.size())};
  PlacedBuffers placed;
  for (const int i : order) {
    const Buffer& buffer = *buffers[i];
    placement.offsets[i] = placed.FindGap(buffer.life, buffer.bytes);
    placed.Add(buffer.life, placement.offsets[i], buffer.bytes);
    placement.arena = std::max(placement.arena, placement.offsets[i] + buffer.bytes);
  }
  return placement;
}

// Places the buffers of one space in the best of three orders: the largest first, the longest
// lifetime first, the earliest start first. Returns the size of the arena in bytes.
int64_t PlaceAll(const std::vector<Buffer*>& buffers) {
  const auto length = [](const Lifetime& life) {
    return life.in_order ? life.read - life.written : life.last - life.first;
  };
  const std::function<bool(const Buffer&, const Buffer&)> orders[] = {
      [](const Buffer& a, const Buffer& b) {
        return a.bytes != b.bytes ? a.bytes > b.bytes : a.life.written < b.life.written;
      },
      [&](const Buffer& a, const Buffer& b) {
        const int of_a = length(a.life), of_b = length(b.life);
        return of_a != of_b ? of_a > of_b : a.bytes > b.bytes;
      },
      [](const Buffer& a, const Buffer& b) { return a.life.written < b.life.written; }};
  Placement best;
  for (const auto& before : orders) {
    std::vector<int> order(buffers.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return before(*buffers[a], *buffers[b]); });
    Placement placement = PlaceInOrder(buffers, order);
    if (placement.arena < best.arena) best = std::move(placement);
  }
  for (size_t i = 0; i < buffers.size(); ++i) buffers[i]->offset = best.offsets[i];
  return best.arena;
}

class Planner {
 public:
  Planner(const Graph& graph, const Schedule& schedule) : graph_(graph), schedule_(schedule) {}

  MemoryPlan Run() {
    const auto& instructions = schedule_.instructions;
    for (const Node& node : graph_.nodes()) plan_.values.emplace_back(node.shapes.size());
    plan_.scratch.resize(instructions.size());
    FindPhaseEnds();
    FindReaders();
    for (size_t time = 0; time < instructions.size(); ++time) {
      if (instructions[time].node >= 0 && !instructions[time].for_next_step)
        AddResults(static_cast<int>(time));
      if (instructions[time].plan.scratch_bytes > 0) {
        const int t = static_cast<int>(time);
        buffers_.push_back(Buffer{.space = Space::kWorker,
                                  .bytes = Rounded(instructions[time].plan.scratch_bytes),
                                  .life = {.first = t, .last = t, .written = t},
                                  .scratch_of = t,
                                  .name = "scratch"});
      }
    }
    ShareByParts();
    plan_.shared_bytes = Place(Space::kShared);
    plan_.core_bytes = Place(Space::kCore);
    plan_.worker_bytes = Place(Space::kWorker);
    for (Buffer& buffer : buffers_) {
      if (buffer.place_of >= 0) buffer.offset = buffers_[buffer.place_of].offset;
    }
    for (const Buffer& buffer : buffers_) {
      const BufferRef ref{buffer.space, buffer.offset};
      if (buffer.scratch_of >= 0) {
        plan_.scratch[buffer.scratch_of] = ref;
      } else {
        plan_.values[buffer.node][buffer.result] = ref;
      }
    }
    for (const Node& node : graph_.nodes()) {
      if (node.op->flags.source) plan_.values[node.id][0] = SourceBuffer(node);
    }
    for (size_t node = 0; node < graph_.nodes().size(); ++node) {
      const Value shown = schedule_.alias_of[node];
      if (shown.valid()) plan_.values[node][0] = plan_.values[shown.node][shown.result];
    }
    plan_.text = Text();
    return std::move(plan_);
  }

 private:
  BufferRef SourceBuffer(const Node& node) const {
    if (node.op == &InfeedOp()) return {Space::kInfeed, node.attrs.Int("slot")};
    if (node.op == &VariableOp())
      return {Space::kVariable, graph_.FindVariable(node.attrs.String("variable"))};
    if (node.op == &ReplicaIdOp()) return {Space::kReplicaId};
    return {Space::kLoopIndex};
  }

  static int64_t Rounded(int64_t bytes) { return Aligned(std::max<int64_t>(bytes, 1)); }

  bool SamePhase(int a, int b) const {
    return tpurun::SamePhase(schedule_.instructions[a], schedule_.instructions[b]);
  }

  void FindPhaseEnds() {
    const int count = static_cast<int>(schedule_.instructions.size());
    phase_first_.resize(count);
    phase_last_.resize(count);
    for (int t = 0; t < count; ++t)
      phase_first_[t] = t > 0 && SamePhase(t, t - 1) ? phase_first_[t - 1] : t;
    for (int t = count; t-- > 0;)
      phase_last_[t] = t + 1 < count && SamePhase(t, t + 1) ? phase_last_[t + 1] : t;
  }

  void FindReaders() {
    readers_.resize(graph_.nodes().size());
    for (size_t node = 0; node < graph_.nodes().size(); ++node)
      readers_[node].resize(graph_.nodes()[node].shapes.size());
    for (size_t time = 0; time < schedule_.instructions.size(); ++time) {
      const Scheduled& reader = schedule_.instructions[time];
      if (reader.node >= 0) {
        for (const Value input : graph_.nodes()[reader.node].inputs)
          AddReader(input, static_cast<int>(time));
      } else {
        AddReader(graph_.outputs()[reader.output].value, static_cast<int>(time));
      }
    }
  }

  // The value whose bytes `value` is.
  Value Shown(Value value) const {
    const Value shown = schedule_.alias_of[value.node];
    return shown.valid() ? shown : value;
  }

  void AddReader(Value value, int time) {
    value = Shown(value);
    readers_[value.node][value.result].push_back(time);
  }

  void AddResults(int time) {
    const Scheduled& writer = schedule_.instructions[time];
    const Node& node = graph_.nodes()[writer.node];
    for (size_t result = 0; result < node.shapes.size(); ++result) {
      if (!schedule_.needed[node.id][result]) continue;
      const int variable = schedule_.updates_variable[node.id][result];
      if (variable >= 0) {
        plan_.values[node.id][result] = BufferRef{Space::kVariable, variable};
        continue;
      }
      buffers_.push_back(BufferOf(time, node, static_cast<int>(result)));
    }
  }

  Buffer BufferOf(int time, const Node& node, int result) const {
    Buffer buffer{.bytes = Rounded(node.shapes[result].bytes()),
                  .node = node.id,
                  .result = result,
                  .name = node.name};
    Lifetime& life = buffer.life;
    const int end_of_all = static_cast<int>(schedule_.instructions.size()) - 1;
    if (schedule_.instructions[time].section == Section::kPrologue) {
      buffer.space = Space::kShared;
      life.last = end_of_all;
      return buffer;
    }
    const std::vector<int>& readers = readers_[node.id][result];
    const bool per_core = schedule_.per_core[node.id];
    const bool watched =
        node.id == schedule_.loss_node;  // the device reads it at the end of the step
    bool dies_in_phase = per_core && !watched;
    life.first = life.last = life.written = life.read = time;
    for (const int reader : readers) {
      const bool own_core = schedule_.instructions[reader].partition.per_core;
      dies_in_phase = dies_in_phase && own_core && SamePhase(time, reader);
      life.last = std::max(life.last, per_core && own_core ? reader : phase_last_[reader]);
    }
    buffer.space = !per_core ? Space::kShared : dies_in_phase ? Space::kWorker : Space::kCore;
    if (!per_core) {
      // The parts of a phase run at the same time: in order is one of them alone.
      const Partition& own = schedule_.instructions[time].partition;
      bool in_order = own.parts == 1 && own.first_part == 0;
      for (const int reader : readers) {
        const Partition& partition = schedule_.instructions[reader].partition;
        in_order =
            in_order && !partition.per_core && partition.parts == 1 && SamePhase(time, reader);
        life.read = std::max(life.read, reader);
      }
      life.in_order = in_order && !watched;
      buffer.by_parts = !watched && IsByParts(time, node, result);
      life.first = phase_first_[time];
      life.last = std::max(life.last, phase_last_[time]);
    }
    if (watched) life.last = end_of_all;
    return buffer;
  }

  // True if part p of the writer and part p of each reader use the same rows of the value alone,
  // all in one phase.
  bool IsByParts(int time, const Node& node, int result) const {
    const Partition& own = schedule_.instructions[time].partition;
    const Shape& shape = node.shapes[result];
    if (own.parts == 1 || own.by_columns || own.rows == 0 || shape.rank() == 0 ||
        !shape.layout.plain() || shape.dims[0] % own.rows != 0)
      return false;
    for (const int t : readers_[node.id][result]) {
      const Scheduled& reader = schedule_.instructions[t];
      if (reader.node < 0 || !(reader.partition == own) || !SamePhase(time, t)) return false;
      const std::vector<Value>& inputs = graph_.nodes()[reader.node].inputs;
      for (size_t i = 0; i < inputs.size(); ++i) {
        if (Shown(inputs[i]) == Value{node.id, result} &&
            !ReadsOwnRows(reader.call, static_cast<int>(i), own.rows))
          return false;
      }
    }
    return true;
  }

  // A worker runs part p of a phase's instructions in order. A buffer that each part uses by its
  // own rows may therefore take the place of one of the same size and partition that nobody reads
  // any more: part p of both is the same bytes.
  void ShareByParts() {
    std::map<std::tuple<int, Partition, int64_t>, std::vector<int>> last_of_places;
    for (int i = 0; i < static_cast<int>(buffers_.size()); ++i) {
      Buffer& buffer = buffers_[i];
      if (!buffer.by_parts) continue;
      const int written = buffer.life.written;
      std::vector<int>& places =
          last_of_places[{phase_first_[written], schedule_.instructions[written].partition,
                          graph_.nodes()[buffer.node].shapes[buffer.result].bytes()}];
      const auto free = std::find_if(places.begin(), places.end(),
                                     [&](int last) { return buffers_[last].life.read < written; });
      if (free == places.end()) {
        places.push_back(i);
        continue;
      }
      buffer.place_of = buffers_[*free].place_of >= 0 ? buffers_[*free].place_of : *free;
      *free = i;
    }
  }

  int64_t Place(Space space) {
    std::vector<Buffer*> buffers;
    for (Buffer& buffer : buffers_) {
      if (buffer.space == space && buffer.place_of < 0) buffers.push_back(&buffer);
    }
    return PlaceAll(buffers);
  }

  std::string Text() const {
    std::string text = absl::StrFormat("arenas: shared %d bytes, core %d, worker %d\n",
                                       plan_.shared_bytes, plan_.core_bytes, plan_.worker_bytes);
    absl::StrAppend(&text, "space  offset      bytes       life         value\n");
    for (const Buffer& buffer : buffers_) {
      const char* space = buffer.space == Space::kShared ? "shared"
                          : buffer.space == Space::kCore ? "core"
                                                         : "worker";
      absl::StrAppend(
          &text,
          absl::StrFormat("%-6s %-11d %-11d %5d..%-5d ", space, buffer.offset, buffer.bytes,
                          buffer.life.first, buffer.life.last),
          buffer.node >= 0 ? absl::StrFormat("%%%d:%d ", buffer.node, buffer.result) : "",
          buffer.name, "\n");
    }
    return text;
  }

  const Graph& graph_;
  const Schedule& schedule_;
  MemoryPlan plan_;
  std::vector<Buffer> buffers_;
  std::vector<int> phase_first_, phase_last_;
  std::vector<std::vector<std::vector<int>>> readers_;  // [node][result]: times of the readers
};

}  // namespace

MemoryPlan PlanMemory(const Graph& graph, const Schedule& schedule) {
  return Planner(graph, schedule).Run();
}

}  // namespace tpurun
