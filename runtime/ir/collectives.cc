#include "runtime/ir/collectives.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <set>
#include <span>

#include "absl/strings/str_cat.h"
#include "runtime/base/clones.h"
#include "runtime/base/dcheck.h"
#include "runtime/ir/structural.h"

namespace tpurun {
namespace {

const OpDef& RowOfGroupOp();

// The number of groups, or 0 if the groups are not numbered 0, 1, 2, ... without a gap.
int64_t CountGroups(const std::vector<int64_t>& groups) {
  const std::set<int64_t> numbers(groups.begin(), groups.end());
  const int64_t count = static_cast<int64_t>(numbers.size());
  return !numbers.empty() && *numbers.begin() == 0 && *numbers.rbegin() == count - 1 ? count : 0;
}

Value SumsOfGroups(GraphBuilder& b, Value x, const std::vector<int64_t>& groups) {
  return b.Add(CrossReplicaSumOp(), {x}, {{"groups", groups}}, "CrossReplicaSum");
}

Value RowOfGroup(GraphBuilder& b, Value x, const std::vector<int64_t>& groups) {
  return b.Add(RowOfGroupOp(), {x, b.Add(ReplicaIdOp(), {})}, {{"groups", groups}});
}

// ((0+1)+(2+3))+((4+5)+(6+7)): sums the two halves recursively, for any number of replicas.
template <typename T>
T TreeSum(const void* const* operands, std::span<const int> replicas, int64_t i) {
  if (replicas.size() == 1) return static_cast<const T*>(operands[replicas[0]])[i];
  const size_t left = (replicas.size() + 1) / 2;
  return TreeSum<T>(operands, replicas.first(left), i) +
         TreeSum<T>(operands, replicas.subspan(left), i);
}

// The replicas of each group. Without groups, all replicas form one group.
std::vector<std::vector<int>> ReplicasOfGroups(const OpCall& call) {
  const std::vector<int64_t> groups = call.attrs.Ints("groups");
  std::vector<std::vector<int>> replicas(groups.empty() ? 1 : call.results[0].dims[0]);
  for (int replica = 0; replica < call.num_replicas; ++replica) {
    replicas[groups.empty() ? 0 : groups[replica]].push_back(replica);
  }
  return replicas;
}

std::unique_ptr<Kernel> CrossReplicaSumKernel(const OpCall& call) {
  const std::vector<std::vector<int>> replicas = ReplicasOfGroups(call);
  const DType dtype = call.results[0].dtype;
  if (dtype == DType::kF32 && replicas.size() == 1 && call.num_replicas == 8) {
    return KernelOf([](const KernelArgs& args) {
      const auto* const* x = reinterpret_cast<const float* const*>(args.operands);
      float* sum = static_cast<float*>(args.results[0]);
      const int64_t begin = args.begin, end = args.end;
      RunCloned([ x, sum, begin, end ]() __attribute__((always_inline)) {
        const float *x0 = x[0], *x1 = x[1], *x2 = x[2], *x3 = x[3];
        const float *x4 = x[4], *x5 = x[5], *x6 = x[6], *x7 = x[7];
#pragma GCC ivdep
        for (int64_t i = begin; i < end; ++i) {
          sum[i] = ((x0[i] + x1[i]) + (x2[i] + x3[i])) + ((x4[i] + x5[i]) + (x6[i] + x7[i]));
        }
      });
    });
  }
  const int64_t elements = call.operands[0].num_elements();
  return KernelOf([replicas, dtype, elements](const KernelArgs& args) {
    const auto sum = [&](auto type) {
      using T = decltype(type);
      for (int64_t i = args.begin; i < args.end; ++i) {
        static_cast<T*>(args.results[0])[i] =
            TreeSum<T>(args.operands, replicas[i / elements], i % elements);
      }
    };
    if (dtype == DType::kF32) sum(float{});
    if (dtype == DType::kS32) sum(int32_t{});
    if (dtype == DType::kS64) sum(int64_t{});
  });
}

const OpDef& RowOfGroupOp() {
  static const OpDef& op = *new OpDef{
      .name = "row_of_group",
      .doc =
          "(x (G, ...), replica s32[]) -> row groups[replica] of x. Its gradient is the "
          "cross_replica_sum over those groups.",
      .min_operands = 2,
      .max_operands = 2,
      .attrs = {{"groups", std::vector<int64_t>{}, true}},
      .flags = {.unit = WorkUnit::kElements},
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs& attrs) -> absl::StatusOr<std::vector<Shape>> {
        const int64_t count = CountGroups(attrs.Ints("groups"));
        Shape row = operands[0];
        if (row.rank() == 0 || row.dims[0] != count || !(operands[1] == Shape{DType::kS32, {}})) {
          return absl::InvalidArgumentError(absl::StrCat(
              "row_of_group: want a row for each of ", count, " groups and s32[], got ",
              row.ToString(), " and ", operands[1].ToString()));
        }
        row.dims.erase(row.dims.begin());
        return std::vector<Shape>{row};
      },
      .gradient =
          [](GraphBuilder& b, const Node& node, std::span<const Value> dy) {
            return std::vector<Value>{SumsOfGroups(b, dy[0], node.attrs.Ints("groups")), Value{}};
          },
      .reference =
          [](const OpCall& call) {
            const int64_t size = ByteSize(call.results[0].dtype);
            const int64_t elements = call.results[0].num_elements();
            return KernelOf(
                [size, elements, groups = call.attrs.Ints("groups")](const KernelArgs& args) {
                  const int32_t replica = *static_cast<const int32_t*>(args.operands[1]);
                  const auto* x = static_cast<const std::byte*>(args.operands[0]);
                  std::memcpy(static_cast<std::byte*>(args.results[0]) + args.begin * size,
                              x + (groups[replica] * elements + args.begin) * size,
                              (args.end - args.begin) * size);
                });
          },
      .cost = CostOfMove};
  return op;
}

const OpDef& CrossReplicaConcatOp() {
  static const OpDef& op = *new OpDef{
      .name = "cross_replica_concat",
      .doc =
          "x (K, ...) -> (replicas K, ...): the rows of replica 0, of replica 1 ... `replicas` is "
          "how many there are.",
      .min_operands = 1,
      .max_operands = 1,
      .attrs = {{"replicas", int64_t{0}, true}},
      .flags = {.unit = WorkUnit::kRows, .collective = true, .any_dtype = true},
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs& attrs) -> absl::StatusOr<std::vector<Shape>> {
        const int64_t replicas = attrs.Int("replicas");
        if (operands[0].rank() == 0 || replicas < 1) {
          return absl::InvalidArgumentError(
              absl::StrCat("cross_replica_concat: want rows and a replica or more, got ",
                           operands[0].ToString(), " and ", replicas));
        }
        Shape all = operands[0];
        all.dims[0] *= replicas;
        return std::vector<Shape>{all};
      },
      .simplify =
          [](const Graph& graph, const Node& node) {
            return graph.num_replicas() == 1 ? Replacement{.same = node.inputs[0]} : Replacement{};
          },
      .reference =
          [](const OpCall& call) {
            TPURUN_DCHECK(call.attrs.Int("replicas") == call.num_replicas);
            const int64_t rows = call.operands[0].dims[0];
            const int64_t bytes =
                call.operands[0].row_elements() * ByteSize(call.operands[0].dtype);
            return KernelOf([rows, bytes](const KernelArgs& args) {
              auto* to = static_cast<std::byte*>(args.results[0]);
              for (int64_t row = args.begin; row < args.end; ++row) {
                const auto* of_replica = static_cast<const std::byte*>(args.operands[row / rows]);
                std::memcpy(to + row * bytes, of_replica + row % rows * bytes, bytes);
              }
            });
          },
      .cost = CostOfMove};
  return op;
}

}  // namespace

const OpDef& CrossReplicaSumOp() {
  static const OpDef& op = *new OpDef{
      .name = "cross_replica_sum",
      .doc =
          "The sum of x over all replicas as a pairwise tree over replica ids: "
          "((0+1)+(2+3))+((4+5)+(6+7)). Its gradient is the same sum. With `groups`, the group of "
          "each replica, (G, ...): the sums over each group; the gradient is the group's row.",
      .min_operands = 1,
      .max_operands = 1,
      .attrs = {{"groups", std::vector<int64_t>{}}},
      .flags = {.unit = WorkUnit::kElements, .collective = true},
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs& attrs) -> absl::StatusOr<std::vector<Shape>> {
        const DType dtype = operands[0].dtype;
        if (dtype != DType::kF32 && dtype != DType::kS32 && dtype != DType::kS64) {
          return absl::InvalidArgumentError(absl::StrCat(
              "cross_replica_sum: want f32, s32 or s64, got ", operands[0].ToString()));
        }
        if (!attrs.Has("groups")) return std::vector<Shape>{operands[0]};
        const int64_t count = CountGroups(attrs.Ints("groups"));
        if (count == 0) {
          return absl::InvalidArgumentError(
              absl::StrCat("cross_replica_sum: want the group of each replica, from 0, got ",
                           DimsToString(attrs.Ints("groups"))));
        }
        Shape sums{dtype, {count}};
        sums.dims.insert(sums.dims.end(), operands[0].dims.begin(), operands[0].dims.end());
        return std::vector<Shape>{sums};
      },
      .gradient =
          [](GraphBuilder& b, const Node& node, std::span<const Value> dy) {
            const std::vector<int64_t> groups = node.attrs.Ints("groups");
            return std::vector<Value>{groups.empty() ? CrossReplicaSum(b, dy[0])
                                                     : RowOfGroup(b, dy[0], groups)};
          },
      .simplify =
          [](const Graph& graph, const Node& node) {
            return graph.num_replicas() == 1 && !node.attrs.Has("groups")
                       ? Replacement{.same = node.inputs[0]}
                       : Replacement{};
          },
      .reference = CrossReplicaSumKernel,
      .cost =
          [](const OpCall& call, Cost& cost) {
            cost.vector_flops = 1.0 * call.operands[0].num_elements() * (call.num_replicas - 1);
          }};
  return op;
}

std::vector<const OpDef*> CollectiveOps() {
  return {&CrossReplicaSumOp(), &RowOfGroupOp(), &CrossReplicaConcatOp()};
}

Value CrossReplicaConcat(GraphBuilder& b, Value x) {
  const auto replicas = static_cast<int64_t>(b.graph().num_replicas());
  return b.Add(CrossReplicaConcatOp(), {x}, {{"replicas", replicas}});
}

Value CrossReplicaSum(GraphBuilder& b, Value x, const std::string& label) {
  return b.Add(CrossReplicaSumOp(), {x}, {}, label);
}

Value CrossReplicaSum(GraphBuilder& b, Value x, const std::vector<int64_t>& groups,
                      const std::string& label) {
  if (groups.empty()) return CrossReplicaSum(b, x, label);
  const ScopedName scope(b, label);
  return RowOfGroup(b, SumsOfGroups(b, x, groups), groups);
}

}  // namespace tpurun
