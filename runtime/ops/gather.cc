// Ops that read rows of a table by id, and their inverses.
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "runtime/base/clones.h"
#include "runtime/ir/export_graph.h"
#include "runtime/ir/literal.h"
#include "runtime/ir/tpu_stages.h"
#include "runtime/ir/typed_values.h"
#include "runtime/ops/op_list.h"
#include "runtime/ops/ops.h"

namespace tpurun {
namespace {

// Reads of the table only the rows that move.
TpuWork MovedRows(const OpCall& call) {
  const Cost cost = CostOf(call);
  return {.stages = {{.kind = TpuStage::Kind::kAlone,
                      .partial_reads = OperandArrays(call),
                      .writes = ResultArrays(call),
                      .vector_flops = cost.vector_flops,
                      .extra_bytes = cost.bytes_read}}};
}

bool AreIds(const Shape& shape) { return shape.dtype == DType::kS32 || shape.dtype == DType::kS64; }

// Reads an operand with ids.
class Ids {
 public:
  explicit Ids(const Shape& shape) : wide_(shape.dtype == DType::kS64) {}
  int64_t At(const void* ids, int64_t i) const {
    return wide_ ? static_cast<const int64_t*>(ids)[i] : static_cast<const int32_t*>(ids)[i];
  }

 private:
  bool wide_;
};

// The dimensions of `x` after the first `count`.
std::vector<int64_t> Behind(const Shape& x, int64_t count) {
  return {x.dims.begin() + count, x.dims.end()};
}

int64_t ElementsOf(const std::vector<int64_t>& dims) {
  return Shape{DType::kF32, dims}.num_elements();
}

// The first `batch_dims` dimensions of tables, ids and rows are equal. There is a table for each
// entry of these dimensions.
struct Tables {
  int64_t dims = 0;      // number of batch_dims
  int64_t rows = 0;      // rows of one table
  int64_t row_size = 1;  // elements of a row
  int64_t ids = 1;       // ids for one table
};

// The shapes must fit together.
Tables TablesOf(const Shape& tables, const Shape& ids, const Attrs& attrs) {
  Tables t{.dims = attrs.Int(kBatchDims)};
  t.rows = tables.dims[t.dims];
  t.row_size = ElementsOf(Behind(tables, t.dims + 1));
  t.ids = ElementsOf(Behind(ids, t.dims));
  return t;
}

// True if the first `batch_dims` dimensions of ids and x are equal.
bool HaveBatchDims(const Shape& ids, const Shape& x, int64_t batch_dims) {
  return batch_dims >= 0 && batch_dims <= ids.rank() && batch_dims <= x.rank() &&
         std::equal(ids.dims.begin(), ids.dims.begin() + batch_dims, x.dims.begin());
}

// Each row of dx is the gradient of its sum, or 0 if its id is out of range. The ids are clamped
// and counted from 1, and dy is placed between rows of 0.
std::vector<Value> ScatterAddGradient(GraphBuilder& b, const Node& node,
                                      std::span<const Value> dy) {
  const int64_t batch_dims = node.attrs.Int(kBatchDims);
  const DType dtype = b.shape(node.inputs[0]).dtype;
  const auto whole = [&](int64_t value) { return ConstantInt(b, dtype, {}, {value}); };
  const Value last = whole(node.attrs.Int("rows"));
  const Value ids = Add(b, Minimum(b, Maximum(b, node.inputs[0], whole(-1)), last), whole(1));
  std::vector<int64_t> row = b.shape(dy[0]).dims;
  row[batch_dims] = 1;
  const Value zeros = Constant(b, DType::kF32, row, 0);
  const Value table = Concat(b, {zeros, dy[0], zeros}, batch_dims);
  return {Value{}, Gather(b, table, ids, batch_dims)};
}

// dtable is dy summed by id.
std::vector<Value> GatherGradient(GraphBuilder& b, const Node& node, std::span<const Value> dy) {
  const int64_t batch_dims = node.attrs.Int(kBatchDims);
  const int64_t rows = b.shape(node.inputs[0]).dims[batch_dims];
  return {ScatterAdd(b, node.inputs[1], dy[0], rows, batch_dims), Value{}};
}

const OpDef& GatherOp() {
  static const OpDef& op = *new OpDef{
      .name = "gather",
      .doc =
          "table (V, D...), ids (...) s32 or s64 -> (..., D...): row ids[i] of the table; NaN for "
          "an id outside [0, V). With batch_dims (default 0) the first so many dimensions B of "
          "table and ids are the same and each entry has a table of its own: (B..., V, D...), "
          "(B..., ...) -> (B..., ..., D...). tf.gather, which refuses an id outside on CPUs; "
          "compiled by XLA it takes the nearest row.",
      .min_operands = 2,
      .max_operands = 2,
      .attrs = {{kBatchDims, int64_t{0}}},
      .flags = {.unit = WorkUnit::kRows, .row_operands = 1u << 1, .row_ids = 1u << 1},
      .refine_flags =
          [](const OpCall& call, OpFlags& flags) {
            if (call.attrs.Int(kBatchDims) > 0) flags.row_operands |= 1u << 0;
            if (call.operands[1].rank() > 0) return;
            flags.unit = WorkUnit::kWhole;
            flags.row_operands = 0;
          },
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs& attrs) -> absl::StatusOr<std::vector<Shape>> {
        const Shape &table = operands[0], &ids = operands[1];
        const int64_t batch_dims = attrs.Int(kBatchDims);
        if (table.dtype != DType::kF32 || !AreIds(ids) || !HaveBatchDims(ids, table, batch_dims) ||
            table.rank() <= batch_dims || table.dims[batch_dims] < 1) {
          const std::string batch =
              batch_dims == 0 ? "" : absl::StrCat(" with ", batch_dims, " same dimensions first");
          return absl::InvalidArgumentError(
              absl::StrCat("gather: want a table f32[", batch_dims == 0 ? "" : "...,",
                           "V,...] and ids s32 or s64", batch, ", got ", table.ToString(), " and ",
                           ids.ToString()));
        }
        Shape rows{DType::kF32, ids.dims};
        const std::vector<int64_t> row = Behind(table, batch_dims + 1);
        rows.dims.insert(rows.dims.end(), row.begin(), row.end());
        return std::vector<Shape>{rows};
      },
      .gradient = GatherGradient,
      .reference =
          [](const OpCall& call) {
            const Shape& shape = call.operands[1];
            const Tables t = TablesOf(call.operands[0], shape, call.attrs);
            const int64_t per_row = shape.rank() == 0 ? 1 : shape.row_elements();
            return KernelOf([=, ids = Ids(shape)](const KernelArgs& args) {
              const auto* tables = static_cast<const float*>(args.operands[0]);
              auto* to = static_cast<float*>(args.results[0]);
              for (int64_t i = args.begin * per_row; i < args.end * per_row; ++i) {
                const float* from = tables + i / t.ids * t.rows * t.row_size;
                const int64_t id = ids.At(args.operands[1], i);
                if (id >= 0 && id < t.rows) {
                  std::memcpy(to + i * t.row_size, from + id * t.row_size,
                              t.row_size * sizeof(float));
                } else {
                  std::fill_n(to + i * t.row_size, t.row_size,
                              std::numeric_limits<float>::quiet_NaN());
                }
              }
            });
          },
      .cost = [](const OpCall& call,
                 Cost& cost) { cost.bytes_read = cost.bytes_written + call.operands[1].bytes(); },
      .tpu = MovedRows,
      .tensorflow = [](ExportCall& call) -> absl::StatusOr<std::vector<Value>> {
        const int64_t batch_dims = call.attrs.Int(kBatchDims);
        const Value axis = call.graph.Int32(static_cast<int32_t>(batch_dims), "axis");
        return std::vector<Value>{call.graph.Add("GatherV2", {call.inputs[0], call.inputs[1], axis},
                                                 {{"Tparams", ElementType::kFloat},
                                                  {"Tindices", call.type(1)},
                                                  {"Taxis", ElementType::kInt32},
                                                  {"batch_dims", batch_dims}})};
      },
      // An id below 0 is refused, like an id after the last row. ONNX would count it from the end.
      .onnx = [](ExportCall& call) -> absl::StatusOr<std::vector<Value>> {
        ExportGraph& g = call.graph;
        Value ids = call.inputs[1];
        if (call.type(1) != ElementType::kInt64)
          ids = g.Add("Cast", {ids}, {{"to", ElementType::kInt64}});
        const int64_t batch_dims = call.attrs.Int(kBatchDims);
        const int64_t rows = call.operands[0].dims[batch_dims];
        if (rows < 0)
          return absl::InvalidArgumentError("the batch decides how many rows there are");
        const Value below = g.Add("Less", {ids, g.Int64s({0}, "first")});
        ids = g.Add("Where", {below, g.Int64s({rows}, "behind"), ids});
        if (batch_dims == 0) {
          return std::vector<Value>{g.Add("Gather", {call.inputs[0], ids}, {{"axis", int64_t{0}}})};
        }
        ids = g.Add("Unsqueeze", {ids, g.Int64s({-1}, "axes")});
        return std::vector<Value>{
            g.Add("GatherND", {call.inputs[0], ids}, {{"batch_dims", batch_dims}})};
      }};
  return op;
}

// T is float, or uint16_t for x stored in bf16.
template <typename T>
std::unique_ptr<Kernel> ScatterAddKernel(const OpCall& call) {
  const Shape& shape = call.operands[0];
  const Tables t = TablesOf(call.results[0], shape, call.attrs);
  // A unit of work is a row of the only table, or `of_unit` tables.
  const auto& dims = call.results[0].dims;
  const int64_t of_unit = t.dims == 0 ? 0 : ElementsOf({dims.begin() + 1, dims.begin() + t.dims});
  return KernelOf([=, ids = Ids(shape)](const KernelArgs& args) {
    const int64_t first_row = t.dims == 0 ? args.begin : 0;
    const int64_t last_row = t.dims == 0 ? args.end : t.rows;
    const int64_t end = t.dims == 0 ? 1 : args.end * of_unit;
    for (int64_t table = args.begin * of_unit; table < end; ++table) {
      auto* sums = static_cast<float*>(args.results[0]) + table * t.rows * t.row_size;
      std::fill(sums + first_row * t.row_size, sums + last_row * t.row_size, 0.0f);
      for (int64_t i = table * t.ids; i < (table + 1) * t.ids; ++i) {
        const int64_t id = ids.At(args.operands[0], i);
        if (id < first_row || id >= last_row) continue;
        const T* const x = static_cast<const T*>(args.operands[1]) + i * t.row_size;
        float* const sum = sums + id * t.row_size;
        RunCloned([ x, sum, n = t.row_size ]() __attribute__((always_inline)) {
#pragma GCC ivdep
          for (int64_t c = 0; c < n; ++c) sum[c] += NumberOf(x[c]);
        });
      }
    }
  });
}

const OpDef& ScatterAddOp() {
  static const OpDef& op = *new OpDef{
      .name = "scatter_add",
      .doc =
          "ids (...) s32 or s64, x (..., D...) -> (rows, D...): row r is the sum, one after the "
          "other, of the rows of x whose id is r, 0 where there is none. An id outside [0, rows) "
          "counts nowhere. With batch_dims (default 0) each entry of the first so many dimensions "
          "of both by itself: (B..., ...), (B..., ..., D...) -> (B..., rows, D...). The gradient "
          "of gather by its table.",
      .min_operands = 2,
      .max_operands = 2,
      .attrs = {{"rows", int64_t{0}, true}, {kBatchDims, int64_t{0}}},
      .flags = {.unit = WorkUnit::kRows},
      .refine_flags =
          [](const OpCall& call, OpFlags& flags) {
            if (call.attrs.Int(kBatchDims) > 0) flags.row_operands = kAllOperands;
          },
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs& attrs) -> absl::StatusOr<std::vector<Shape>> {
        const Shape &ids = operands[0], &x = operands[1];
        const int64_t rows = attrs.Int("rows"), batch_dims = attrs.Int(kBatchDims);
        if (!AreIds(ids) || x.dtype != DType::kF32 || x.rank() < ids.rank() || rows < 1 ||
            !std::equal(ids.dims.begin(), ids.dims.end(), x.dims.begin()) ||
            !HaveBatchDims(ids, x, batch_dims)) {
          return absl::InvalidArgumentError(absl::StrCat(
              "scatter_add: want ids s32 or s64, f32 of their dimensions and further ones, and a "
              "row or more, got ",
              ids.ToString(), ", ", x.ToString(), " and ", rows));
        }
        Shape sums{DType::kF32, {ids.dims.begin(), ids.dims.begin() + batch_dims}};
        sums.dims.push_back(rows);
        const std::vector<int64_t> row = Behind(x, ids.rank());
        sums.dims.insert(sums.dims.end(), row.begin(), row.end());
        return std::vector<Shape>{sums};
      },
      .gradient = ScatterAddGradient,
      .reference = ScatterAddKernel<float>,
      .kernels = {{.name = "bf16_loops",
                   .any_share = true,
                   .offer = [](const OpCall& call, const Machine&) -> std::optional<KernelOffer> {
                     const bool stores_f32 = call.results[0].dtype == DType::kF32;
                     if (call.operands[1].dtype != DType::kBF16 || !stores_f32) return std::nullopt;
                     return KernelOffer{.native_bf16 = true};
                   },
                   .make = [](const OpCall& call,
                              const KernelOffer&) { return ScatterAddKernel<uint16_t>(call); }}},
      .cost =
          [](const OpCall& call, Cost& cost) {
            cost.vector_flops = static_cast<double>(call.operands[1].num_elements());
          },
      .tpu = MovedRows};
  return op;
}

// The number of slots of the hash table for ids: a power of two, with at most half of the slots
// taken.
int64_t SlotsFor(int64_t ids) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(2 * ids + 1)));
}

// The first index at which the id ids[i] is found, at most i: the plain definition.
int64_t FindFirst(const Ids& ids, const void* at, int64_t i) {
  int64_t first = 0;
  while (ids.At(at, first) != ids.At(at, i)) ++first;
  return first;
}

// The same for i = 0, 1, 2, ..., by a hash table with `slots` entries, all -1 at first.
int64_t FindFirst(const Ids& ids, const void* at, int64_t i, int64_t slots, int32_t* places) {
  const int64_t id = ids.At(at, i);
  const auto mixed = static_cast<uint64_t>(id) * 0x9E3779B97F4A7C15u;  // 2^64 / the golden ratio
  for (auto slot = static_cast<int64_t>(mixed >> 32) & (slots - 1);;
       slot = (slot + 1) & (slots - 1)) {
    if (places[slot] < 0) places[slot] = static_cast<int32_t>(i);
    if (ids.At(at, places[slot]) == id) return places[slot];
  }
}

// `find(args, ids, i)` returns the first index with the id ids[i].
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
      .kernels = {{.name = "table",
                   .offer = [](const OpCall& call, const Machine&) -> std::optional<KernelOffer> {
                     const int64_t slots = SlotsFor(call.operands[0].num_elements());
                     return KernelOffer{.scratch_bytes =
                                            slots * static_cast<int64_t>(sizeof(int32_t))};
                   },
                   .make = [](const OpCall& call, const KernelOffer&) -> std::unique_ptr<Kernel> {
                     const int64_t slots = SlotsFor(call.operands[0].num_elements());
                     return FirstPlacesKernel(
                         call, [slots](const KernelArgs& args, const Ids& ids, int64_t i) {
                           auto* places = static_cast<int32_t*>(args.scratch);
                           if (i == 0) std::fill_n(places, slots, -1);
                           return FindFirst(ids, args.operands[0], i, slots, places);
                         });
                   }}},
      .tpu = MovedRows};
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
                if (args.not_finite != nullptr && !AllFinite(rows + i * size, size))
                  *args.not_finite = true;
              }
            });
          },
      .cost =
          [](const OpCall& call, Cost& cost) {
            cost.bytes_read =
                static_cast<double>(call.operands[1].bytes() + call.operands[2].bytes());
            cost.bytes_written = static_cast<double>(call.operands[2].bytes());
          },
      .tpu = MovedRows};
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

bool IsScatterAdd(const Node& node) {
  return node.op == &ScatterAddOp() && node.attrs.Int(kBatchDims) == 0;
}

Value Gather(GraphBuilder& b, Value table, Value ids, int64_t batch_dims,
             const std::string& label) {
  Attrs attrs;
  if (batch_dims != 0) attrs.Set(kBatchDims, batch_dims);
  return b.Add(GatherOp(), {table, ids}, std::move(attrs), label);
}

Value ScatterAdd(GraphBuilder& b, Value ids, Value x, int64_t rows, int64_t batch_dims) {
  Attrs attrs = {{"rows", rows}};
  if (batch_dims != 0) attrs.Set(kBatchDims, batch_dims);
  return b.Add(ScatterAddOp(), {ids, x}, std::move(attrs), "scatter_add");
}

}  // namespace tpurun
