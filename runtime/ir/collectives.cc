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

TPURUN_CLONES void AddRows(const float* x, const float* y, float* sum, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) sum[i] = x[i] + y[i];
}
template <typename T>
void AddRows(const T* x, const T* y, T* sum, int64_t n) {
  for (int64_t i = 0; i < n; ++i) sum[i] = x[i] + y[i];
}

// Elements of a sum that are computed at a time: a few of its operands stay in the first cache.
constexpr int64_t kSummedElements = 512;

// sum[i] = ((0+1)+(2+3))+((4+5)+(6+7)) of element first + i of the operands `rows`: adds the sums
// of two halves, for any number of operands. n is kSummedElements at most.
template <typename T>
void TreeSum(const void* const* operands, std::span<const int> rows, int64_t first, int64_t n,
             T* sum) {
  const auto row = [&](int r) { return static_cast<const T*>(operands[r]) + first; };
  if (rows.size() == 1) {
    std::copy_n(row(rows[0]), n, sum);
  } else if (rows.size() == 2) {
    AddRows(row(rows[0]), row(rows[1]), sum, n);
  } else {
    const size_t left = (rows.size() + 1) / 2;
    T right[kSummedElements];
    TreeSum(operands, rows.first(left), first, n, sum);
    TreeSum(operands, rows.subspan(left), first, n, right);
    AddRows(sum, right, sum, n);
  }
}

// Elements [begin, end) of G sums of `elements` each. The operands of sum g are `rows[g]`.
template <typename T>
void TreeSums(const void* const* operands, const std::vector<std::vector<int>>& rows,
              int64_t elements, int64_t begin, int64_t end, T* sums) {
  for (int64_t i = begin; i < end;) {
    const int64_t group = i / elements, first = i % elements;
    const int64_t n = std::min({end - i, elements - first, kSummedElements});
    TreeSum(operands, rows[group], first, n, sums + i);
    i += n;
  }
}

// The members of each group. Without groups, all form one group.
std::vector<std::vector<int>> MembersOfGroups(const std::vector<int64_t>& groups, int count) {
  const int64_t most = groups.empty() ? 0 : *std::max_element(groups.begin(), groups.end());
  std::vector<std::vector<int>> members(most + 1);
  for (int member = 0; member < count; ++member)
    members[groups.empty() ? 0 : groups[member]].push_back(member);
  return members;
}

std::unique_ptr<Kernel> CrossReplicaSumKernel(const OpCall& call) {
  const std::vector<std::vector<int>> replicas =
      MembersOfGroups(call.attrs.Ints("groups"), call.num_replicas);
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
      TreeSums(args.operands, replicas, elements, args.begin, args.end,
               static_cast<T*>(args.results[0]));
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

}  // namespace

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

namespace {

// The sums of groups of rows of one operand.
std::unique_ptr<Kernel> GroupSumsKernel(const OpCall& call) {
  const std::vector<int64_t> groups = call.attrs.Ints("groups");
  const DType dtype = call.results[0].dtype;
  const int64_t elements = call.operands[0].row_elements();
  return KernelOf([members = MembersOfGroups(groups, static_cast<int>(groups.size())), dtype,
                   elements, count = groups.size()](const KernelArgs& args) {
    const auto sum = [&](auto type) {
      using T = decltype(type);
      std::vector<const void*> rows(count);
      for (size_t row = 0; row < count; ++row)
        rows[row] = static_cast<const T*>(args.operands[0]) + row * elements;
      TreeSums(rows.data(), members, elements, args.begin, args.end,
               static_cast<T*>(args.results[0]));
    };
    if (dtype == DType::kF32) sum(float{});
    if (dtype == DType::kS32) sum(int32_t{});
    if (dtype == DType::kS64) sum(int64_t{});
  });
}

bool CanSum(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kS32 || dtype == DType::kS64;
}

// What an exchange is with one process.
std::unique_ptr<Kernel> OfOneProcess(const OpCall& call) {
  TPURUN_DCHECK(call.attrs.Int("processes") == 1);
  return KernelOf([bytes = call.operands[0].bytes()](const KernelArgs& args) {
    if (bytes > 0) std::memcpy(args.results[0], args.operands[0], bytes);
  });
}

}  // namespace

const OpDef& GroupSumsOp() {
  static const OpDef& op = *new OpDef{
      .name = "group_sums",
      .doc =
          "x (R, ...) -> (G, ...): the sums of the rows of each group, a pairwise tree over their "
          "numbers, as cross_replica_sum with these `groups`, the group of each row.",
      .min_operands = 1,
      .max_operands = 1,
      .attrs = {{"groups", std::vector<int64_t>{}, true}},
      .flags = {.unit = WorkUnit::kElements, .any_dtype = true},
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs& attrs) -> absl::StatusOr<std::vector<Shape>> {
        const std::vector<int64_t> groups = attrs.Ints("groups");
        Shape sums = operands[0];
        if (!CanSum(sums.dtype) || sums.rank() == 0 || sums.dims[0] != std::ssize(groups) ||
            CountGroups(groups) == 0) {
          return absl::InvalidArgumentError(
              absl::StrCat("group_sums: want the group of each row, from 0, and f32, s32 or s64, "
                           "got ",
                           DimsToString(groups), " and ", sums.ToString()));
        }
        sums.dims[0] = CountGroups(groups);
        return std::vector<Shape>{sums};
      },
      .reference = GroupSumsKernel,
      .cost = [](const OpCall& call,
                 Cost& cost) { cost.vector_flops = 1.0 * call.operands[0].num_elements(); }};
  return op;
}

const OpDef& CrossProcessSumOp() {
  static const OpDef& op = *new OpDef{
      .name = "cross_process_sum",
      .doc =
          "x -> the sum of x over the processes of the run, a pairwise tree over their ranks: "
          "with cross_replica_sum of each process's replicas the sum over all. `processes` is how "
          "many there are.",
      .min_operands = 1,
      .max_operands = 1,
      .attrs = {{"processes", int64_t{0}, true}},
      .flags = {.unit = WorkUnit::kWhole, .exchange = Exchange::kSum, .any_dtype = true},
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs& attrs) -> absl::StatusOr<std::vector<Shape>> {
        if (!CanSum(operands[0].dtype) || attrs.Int("processes") < 1) {
          return absl::InvalidArgumentError(
              absl::StrCat("cross_process_sum: want f32, s32 or s64 and a process or more, got ",
                           operands[0].ToString(), " and ", attrs.Int("processes")));
        }
        return std::vector<Shape>{operands[0]};
      },
      .reference = OfOneProcess,
      .cost = [](const OpCall& call,
                 Cost& cost) { cost.vector_flops = 1.0 * call.operands[0].num_elements(); }};
  return op;
}

const OpDef& CrossProcessConcatOp() {
  static const OpDef& op = *new OpDef{
      .name = "cross_process_concat",
      .doc =
          "x (K, ...) -> (processes K, ...): the rows of process 0, of process 1 ... `processes` "
          "is how many there are.",
      .min_operands = 1,
      .max_operands = 1,
      .attrs = {{"processes", int64_t{0}, true}},
      .flags = {.unit = WorkUnit::kWhole, .exchange = Exchange::kConcat, .any_dtype = true},
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs& attrs) -> absl::StatusOr<std::vector<Shape>> {
        Shape all = operands[0];
        if (all.rank() == 0 || attrs.Int("processes") < 1) {
          return absl::InvalidArgumentError(
              absl::StrCat("cross_process_concat: want rows and a process or more, got ",
                           all.ToString(), " and ", attrs.Int("processes")));
        }
        all.dims[0] *= attrs.Int("processes");
        return std::vector<Shape>{all};
      },
      .reference = OfOneProcess,
      .cost = CostOfMove};
  return op;
}

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
        if (!CanSum(dtype)) {
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
  return {&CrossReplicaSumOp(), &RowOfGroupOp(),      &CrossReplicaConcatOp(),
          &GroupSumsOp(),       &CrossProcessSumOp(), &CrossProcessConcatOp()};
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
