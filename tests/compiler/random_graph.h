// Random graphs for properties that every graph has.
#ifndef TPURUN_TESTS_COMPILER_RANDOM_GRAPH_H_
#define TPURUN_TESTS_COMPILER_RANDOM_GRAPH_H_

#include <cstdint>
#include <vector>

#include "runtime/base/random.h"
#include "runtime/ir/evaluate.h"
#include "runtime/ir/graph.h"

namespace tpurun {

class Dice {
 public:
  explicit Dice(uint32_t seed) : seed_(seed) {}
  int Below(int n) { return static_cast<int>(PhiloxElement(seed_, 0, 0, 0, next_++) % n); }
  float Float() { return UniformFloat(PhiloxElement(seed_, 1, 0, 0, next_++)) * 2 - 1; }

 private:
  uint32_t seed_;
  uint64_t next_ = 0;
};

struct RandomGraphOptions {
  std::vector<int64_t> widths = {2, 3, 5};
  int ops = 25;
  int replicas = 0;  // 0: 1 or 8
  // Replica r is in group r modulo their number, not in one of neighbours.
  bool interleaved_groups = false;
};

// Matrices of one batch size with three widths, joined by random ops: products, convolutions and
// pools of them as images, attention within their rows, batch norms, sums over replicas and groups
// of them; several variables, read before and after they are updated, some with a value of its own
// on each core.
Graph RandomGraph(uint32_t seed, const RandomGraphOptions& options = {});

// What it is evaluated on.
EvaluateArgs RandomArgs(const Graph& graph, uint32_t seed);

}  // namespace tpurun

#endif  // TPURUN_TESTS_COMPILER_RANDOM_GRAPH_H_
