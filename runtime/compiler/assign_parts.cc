#include "runtime/compiler/assign_parts.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "runtime/compiler/calls.h"
#include "runtime/ir/structural.h"

namespace tpurun {
namespace {

// The work of a call besides its flops and bytes: 0.1 microseconds at 80 of either a nanosecond.
constexpr double kCall = 8e3;

// A variable, or all results of a node.
struct Resource {
  bool is_variable = false;
  int index = 0;
  auto operator<=>(const Resource&) const = default;
};

// Instructions that run in one part, one after the other.
struct Chain {
  std::vector<int> instructions;
  double work = 0;
};

class PartAssignment {
 public:
  PartAssignment(const Graph& graph, Schedule* schedule) : graph_(graph), schedule_(*schedule) {}

  void Run() {
    const int count = static_cast<int>(schedule_.instructions.size());
    for (int begin = 0, end = 0; begin < count; begin = end) {
      while (end < count && SamePhase(schedule_.instructions[begin], schedule_.instructions[end])) {
        ++end;
      }
      AssignPhase(begin, end);
    }
  }

 private:
  void AssignPhase(int begin, int end) {
    std::vector<int> unpartitioned;
    for (int i = begin; i < end; ++i) {
      const Partition& partition = schedule_.instructions[i].partition;
      if (!partition.per_core && partition.parts == 1 && !partition.exchange)
        unpartitioned.push_back(i);
    }
    std::vector<Chain> chains = Chains(unpartitioned);
    Assign(chains, 0, static_cast<int>(kParts));
  }

  // The chains of a phase. Two instructions are in one chain if one writes what the other reads or
  // writes.
  std::vector<Chain> Chains(const std::vector<int>& instructions) const {
    std::vector<int> chain_of(instructions.size());
    std::iota(chain_of.begin(), chain_of.end(), 0);
    const auto find = [&](int i) {
      while (chain_of[i] != i) i = chain_of[i] = chain_of[chain_of[i]];
      return i;
    };
    struct Users {
      std::vector<int> all;
      bool written = false;
    };
    std::map<Resource, Users> users;
    for (size_t i = 0; i < instructions.size(); ++i) {
      const Scheduled& scheduled = schedule_.instructions[instructions[i]];
      ForEachResource(scheduled, [&](const Resource& resource, bool writes) {
        Users& of = users[resource];
        of.all.push_back(static_cast<int>(i));
        of.written = of.written || writes;
      });
    }
    for (const auto& [resource, of] : users) {
      if (!of.written) continue;
      // The first instruction of a chain stands for it.
      for (const int user : of.all) {
        const auto [first, second] = std::minmax({find(of.all[0]), find(user)});
        chain_of[second] = first;
      }
    }
    std::map<int, Chain> chains;
    for (size_t i = 0; i < instructions.size(); ++i) {
      Chain& chain = chains[find(static_cast<int>(i))];
      chain.instructions.push_back(instructions[i]);
      chain.work += WorkOf(schedule_.instructions[instructions[i]]);
    }
    std::vector<Chain> all;
    for (auto& [first, chain] : chains) all.push_back(std::move(chain));
    std::stable_sort(all.begin(), all.end(),
                     [](const Chain& a, const Chain& b) { return a.work > b.work; });
    return all;
  }

  // Calls f(resource, writes) for what the instruction reads and writes.
  template <typename F>
  void ForEachResource(const Scheduled& scheduled, const F& f) const {
    const auto read = [&](Value value) {
      const Value alias_of = schedule_.alias_of[value.node];
      if (alias_of.valid()) value = alias_of;
      f(Resource{false, value.node}, false);
      const int variable = schedule_.updates_variable[value.node][value.result];
      if (variable >= 0) f(Resource{true, variable}, false);
      if (const Node& node = graph_.node(value); node.op == &VariableOp())
        f(Resource{true, graph_.FindVariable(node.attrs.String("variable"))}, false);
    };
    if (scheduled.node < 0) return read(graph_.outputs()[scheduled.output].value);
    for (const Value input : graph_.nodes()[scheduled.node].inputs) read(input);
    f(Resource{false, scheduled.node}, true);
    for (const int variable : schedule_.updates_variable[scheduled.node]) {
      if (variable >= 0) f(Resource{true, variable}, true);
    }
  }

  static double WorkOf(const Scheduled& scheduled) {
    const Cost cost = CostOf(scheduled.call);
    return kCall + cost.flops() + cost.bytes();
  }

  // Divides the chains, those with the most work first, among the parts [begin, end).
  void Assign(std::span<const Chain> chains, int begin, int end) {
    if (end - begin == 1) {
      for (const Chain& chain : chains) {
        for (const int i : chain.instructions)
          schedule_.instructions[i].partition.first_part = begin;
      }
      return;
    }
    std::vector<Chain> halves[2];
    double work[2] = {0, 0};
    for (const Chain& chain : chains) {
      const int half = work[1] < work[0] ? 1 : 0;
      halves[half].push_back(chain);
      work[half] += chain.work;
    }
    const int middle = (begin + end) / 2;
    Assign(halves[0], begin, middle);
    Assign(halves[1], middle, end);
  }

  const Graph& graph_;
  Schedule& schedule_;
};

}  // namespace

void AssignParts(const Graph& graph, Schedule* schedule) { PartAssignment(graph, schedule).Run(); }

}  // namespace tpurun
