// Rows of a table by id, and back.
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "runtime/ir/export_graph.h"
#include "runtime/ops/op_list.h"
#include "runtime/ops/ops.h"

namespace tpurun {
namespace {

bool AreIds(const Shape& shape) { return shape.dtype == DType::kS32 || shape.dtype == DType::kS64; }

// An operand that holds ids.
class Ids {
 public:
  explicit Ids(const Shape& shape) : wide_(shape.dtype == DType::kS64) {}
  int64_t At(const void* ids, int64_t i) const {
    return wide_ ? static_cast<const int64_t*>(ids)[i] : static_cast<const int32_t*>(ids)[i];
  }

 private:
  bool wide_;
};

// The dimensions of `x` behind its first `count`.
std::vector<int64_t> Behind(const Shape& x, int64_t count) {
  return {x.dims.begin() + count, x.dims.end()};
}

int64_t ElementsOf(const std::vector<int64_t>& dims) {
  return Shape{DType::kF32, dims}.num_elements();
}

// dtable: dy summed by id.
std::vector<Value> GatherGradient(GraphBuilder& b, const Node& node, std::span<const Value> dy) {
  const Value table = node.inputs[0], ids = node.inputs[1];
  return {ScatterAdd(b, ids, dy[0], b.shape(table).dims[0]), Value{}};
}

const OpDef& GatherOp() {
  static const OpDef& op = *new OpDef{
      .name = "gather",
      .doc =
          "table (V, D...), ids (...) s32 or s64 -> (..., D...): row ids[i] of the table; NaN for "
          "an id outside [0, V). tf.gather, which refuses such an id on CPUs; compiled by XLA it "
          "takes the nearest row.",
      .min_operands = 2,
      .max_operands = 2,
      .flags = {.unit = WorkUnit::kRows, .row_operands = 1u << 1, .row_ids = 1u << 1},
      .refine_flags =
          [](const OpCall& call, OpFlags& flags) {
            if (call.operands[1].rank() > 0) return;
            flags.unit = WorkUnit::kWhole;
            flags.row_operands = 0;
          },
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs&) -> absl::StatusOr<std::vector<Shape>> {
        const Shape &table = operands[0], &ids = operands[1];
        if (table.rank() < 1 || table.dtype != DType::kF32 || table.dims[0] < 1 || !AreIds(ids)) {
          return absl::InvalidArgumentError(
              absl::StrCat("gather: want a table f32[V,...] and ids s32 or s64, got ",
                           table.ToString(), " and ", ids.ToString()));
        }
        Shape rows{DType::kF32, ids.dims};
        const std::vector<int64_t> row = Behind(table, 1);
        rows.dims.insert(rows.dims.end(), row.begin(), row.end());
        return std::vector<Shape>{rows};
      },
      .gradient = GatherGradient,
      .reference =
          [](const OpCall& call) {
            const Shape &table = call.operands[0], &shape = call.operands[1];
            const int64_t rows = table.dims[0], size = table.row_elements();
            const int64_t per_row = shape.rank() == 0 ? 1 : shape.row_elements();
            return KernelOf([=, ids = Ids(shape)](const KernelArgs& args) {
              const auto* from = static_cast<const float*>(args.operands[0]);
              auto* to = static_cast<float*>(args.results[0]);
              for (int64_t i = args.begin * per_row; i < args.end * per_row; ++i) {
                const int64_t id = ids.At(args.operands[1], i);
                if (id >= 0 && id < rows) {
                  std::memcpy(to + i * size, from + id * size, size * sizeof(float));
                } else {
                  std::fill_n(to + i * size, size, std::numeric_limits<float>::quiet_NaN());
                }
              }
            });
          },
      .flops = [](const OpCall&) { return 0.0; },
      .tensorflow = [](ExportCall& call) -> absl::StatusOr<std::vector<Value>> {
        return std::vector<Value>{call.graph.Add(
            "GatherV2",
            {call.inputs[0], call.inputs[1], call.graph.Constant(ExportTensor::Int32(0), "axis")},
            {{"Tparams", ElementType::kFloat},
             {"Tindices", call.type(1)},
             {"Taxis", ElementType::kInt32},
             {"batch_dims", int64_t{0}}})};
      },
      // An id below 0 is refused as one behind the last row, not counted from there.
      .onnx = [](ExportCall& call) -> absl::StatusOr<std::vector<Value>> {
        ExportGraph& g = call.graph;
        Value ids = call.inputs[1];
        if (call.type(1) != ElementType::kInt64)
          ids = g.Add("Cast", {ids}, {{"to", ElementType::kInt64}});
        const Value below = g.Add("Less", {ids, g.Int64s({0}, "first")});
        ids = g.Add("Where", {below, g.Int64s({call.operands[0].dims[0]}, "behind"), ids});
        return std::vector<Value>{g.Add("Gather", {call.inputs[0], ids}, {{"axis", int64_t{0}}})};
      }};
  return op;
}

const OpDef& ScatterAddOp() {
  static const OpDef& op = *new OpDef{
      .name = "scatter_add",
      .doc =
          "ids (...) s32 or s64, x (..., D...) -> (rows, D...): row r is the sum, one after the "
          "other, of the rows of x whose id is r, 0 where there is none. An id outside [0, rows) "
          "counts nowhere. The gradient of gather by its table.",
      .min_operands = 2,
      .max_operands = 2,
      .attrs = {{"rows", int64_t{0}, true}},
      .flags = {.unit = WorkUnit::kRows},
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs& attrs) -> absl::StatusOr<std::vector<Shape>> {
        const Shape &ids = operands[0], &x = operands[1];
        const int64_t rows = attrs.Int("rows");
        if (!AreIds(ids) || x.dtype != DType::kF32 || x.rank() < ids.rank() || rows < 1 ||
            !std::equal(ids.dims.begin(), ids.dims.end(), x.dims.begin())) {
          return absl::InvalidArgumentError(absl::StrCat(
              "scatter_add: want ids s32 or s64, f32 of their dimensions and further ones, and a "
              "row or more, got ",
              ids.ToString(), ", ", x.ToString(), " and ", rows));
        }
        Shape sums{DType::kF32, {rows}};
        const std::vector<int64_t> row = Behind(x, ids.rank());
        sums.dims.insert(sums.dims.end(), row.begin(), row.end());
        return std::vector<Shape>{sums};
      },
      .reference =
          [](const OpCall& call) {
            const Shape& shape = call.operands[0];
            const int64_t count = shape.num_elements();
            const int64_t size = ElementsOf(Behind(call.operands[1], shape.rank()));
            return KernelOf([=, ids = Ids(shape)](const KernelArgs& args) {
              const auto* x = static_cast<const float*>(args.operands[1]);
              auto* sums = static_cast<float*>(args.results[0]);
              std::fill(sums + args.begin * size, sums + args.end * size, 0.0f);
              for (int64_t i = 0; i < count; ++i) {
                const int64_t id = ids.At(args.operands[0], i);
                if (id < args.begin || id >= args.end) continue;
                for (int64_t c = 0; c < size; ++c) sums[id * size + c] += x[i * size + c];
              }
            });
          },
      .flops =
          [](const OpCall& call) { return static_cast<double>(call.operands[1].num_elements()); }};
  return op;
}

// The slots of the table that finds an id: a power of two, at most half of them taken.
int64_t SlotsFor(int64_t ids) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(2 * ids + 1)));
}

// Where ids[i] stands first, if not behind i: the plain definition.
int64_t FindFirst(const Ids& ids, const void* at, int64_t i) {
  int64_t first = 0;
  while (ids.At(at, first) != ids.At(at, i)) ++first;
  return first;
}

// The same, given each i in turn, by a table of `slots` places that holds -1 at first.
int64_t FindFirst(const Ids& ids, const void* at, int64_t i, int64_t slots, int32_t* places) {
  const int64_t id = ids.At(at, i);
  const auto mixed = static_cast<uint64_t>(id) * 0x9E3779B97F4A7C15u;  // 2^64 / the golden ratio
  for (auto slot = static_cast<int64_t>(mixed >> 32) & (slots - 1);;
       slot = (slot + 1) & (slots - 1)) {
    if (places[slot] < 0) places[slot] = static_cast<int32_t>(i);
    if (ids.At(at, places[slot]) == id) return places[slot];
  }
}

// `find(args, i)` says where ids[i] stands first.
template <typename Find>
std::unique_ptr<Kernel> FirstPlacesKernel(const OpCall& call, Find find) {
  const int64_t count = call.operands[0].num_elements();
  const bool wide = call.operands[0].dtype == DType::kS64;
  return KernelOf([=, ids = Ids(call.operands[0])](const KernelArgs& args) {
    auto* places = static_cast<int32_t*>(args.results[0]);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t first = find(args, ids, i);
      if (places != nullptr) places[i] = static_cast<int32_t>(first);
      if (args.results[1] == nullptr) continue;
      const int64_t id = first == i ? ids.At(args.operands[0], i) : -1;
      if (wide) static_cast<int64_t*>(args.results[1])[i] = id;
      if (!wide) static_cast<int32_t*>(args.results[1])[i] = static_cast<int32_t>(id);
    }
  });
}

const OpDef& FirstPlacesOp() {
  static const OpDef& op = *new OpDef{
      .name = "first_places",
      .doc =
          "ids (K) s32 or s64 -> s32 (K), where each id stands first, and the ids (K), -1 where "
          "the "
          "same id stands further ahead.",
      .min_operands = 1,
      .max_operands = 1,
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs&) -> absl::StatusOr<std::vector<Shape>> {
        const Shape& ids = operands[0];
        if (!AreIds(ids) || ids.rank() != 1 ||
            ids.dims[0] > std::numeric_limits<int32_t>::max() / 4) {
          return absl::InvalidArgumentError(
              absl::StrCat("first_places: want ids s32[K] or s64[K], got ", ids.ToString()));
        }
        return std::vector<Shape>{Shape{DType::kS32, ids.dims}, ids};
      },
      .reference =
          [](const OpCall& call) {
            return FirstPlacesKernel(call, [](const KernelArgs& args, const Ids& ids, int64_t i) {
              return FindFirst(ids, args.operands[0], i);
            });
          },
      .plan =
          [](const OpCall& call, const Machine&) {
            const int64_t slots = SlotsFor(call.operands[0].num_elements());
            return KernelPlan{.implementation = "table",
                              .scratch_bytes = slots * static_cast<int64_t>(sizeof(int32_t))};
          },
      .make_kernel = [](const OpCall& call, const KernelPlan& plan) -> std::unique_ptr<Kernel> {
        if (plan.implementation != "table") return call.op->reference(call);
        const int64_t slots = SlotsFor(call.operands[0].num_elements());
        return FirstPlacesKernel(call, [slots](const KernelArgs& args, const Ids& ids, int64_t i) {
          auto* places = static_cast<int32_t*>(args.scratch);
          if (i == 0) std::fill_n(places, slots, -1);
          return FindFirst(ids, args.operands[0], i, slots, places);
        });
      }};
  return op;
}

const OpDef& SetRowsOp() {
  static const OpDef& op = *new OpDef{
      .name = "set_rows",
      .doc =
          "table (V, D...), ids (K) s32 or s64, rows (K, D...) -> the table with rows[i] in the "
          "place of row ids[i], of several the last. An id outside [0, V) counts nowhere.",
      .min_operands = 3,
      .max_operands = 3,
      .flags = {.unit = WorkUnit::kRows, .overwrites = true},
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs&) -> absl::StatusOr<std::vector<Shape>> {
        const Shape &table = operands[0], &ids = operands[1], &rows = operands[2];
        if (table.rank() < 1 || table.dtype != DType::kF32 || !AreIds(ids) || ids.rank() != 1 ||
            rows.dtype != DType::kF32 || rows.rank() != table.rank() ||
            rows.dims[0] != ids.dims[0] || Behind(rows, 1) != Behind(table, 1)) {
          return absl::InvalidArgumentError(
              absl::StrCat("set_rows: want a table f32[V,...], ids s32[K] or s64[K] and rows "
                           "f32[K,...] as the table's, got ",
                           table.ToString(), ", ", ids.ToString(), " and ", rows.ToString()));
        }
        return std::vector<Shape>{table};
      },
      .reference =
          [](const OpCall& call) {
            const int64_t count = call.operands[1].num_elements();
            const int64_t size = call.operands[0].row_elements();
            return KernelOf([=, ids = Ids(call.operands[1])](const KernelArgs& args) {
              const auto* table = static_cast<const float*>(args.operands[0]);
              const auto* rows = static_cast<const float*>(args.operands[2]);
              auto* result = static_cast<float*>(args.results[0]);
              if (result != table)
                std::copy(table + args.begin * size, table + args.end * size,
                          result + args.begin * size);
              for (int64_t i = 0; i < count; ++i) {
                const int64_t id = ids.At(args.operands[1], i);
                if (id < args.begin || id >= args.end) continue;
                std::copy_n(rows + i * size, size, result + id * size);
              }
            });
          },
      .flops = [](const OpCall&) { return 0.0; }};
  return op;
}

}  // namespace

std::vector<const OpDef*> GatherOps() {
  return {&GatherOp(), &ScatterAddOp(), &FirstPlacesOp(), &SetRowsOp()};
}

std::pair<Value, Value> FirstPlaces(GraphBuilder& b, Value ids) {
  const Value places = b.Add(FirstPlacesOp(), {ids});
  return {places, Value{places.node, 1}};
}

Value SetRows(GraphBuilder& b, Value table, Value ids, Value rows) {
  return b.Add(SetRowsOp(), {table, ids, rows});
}

bool IsScatterAdd(const Node& node) { return node.op == &ScatterAddOp(); }

Value Gather(GraphBuilder& b, Value table, Value ids, const std::string& label) {
  return b.Add(GatherOp(), {table, ids}, {}, label);
}

Value ScatterAdd(GraphBuilder& b, Value ids, Value x, int64_t rows) {
  return b.Add(ScatterAddOp(), {ids, x}, {{"rows", rows}}, "scatter_add");
}

}  // namespace tpurun
