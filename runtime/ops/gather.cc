// Rows of a table by id, and back.
#include <algorithm>
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

}  // namespace

std::vector<const OpDef*> GatherOps() { return {&GatherOp(), &ScatterAddOp()}; }

Value Gather(GraphBuilder& b, Value table, Value ids, const std::string& label) {
  return b.Add(GatherOp(), {table, ids}, {}, label);
}

Value ScatterAdd(GraphBuilder& b, Value ids, Value x, int64_t rows) {
  return b.Add(ScatterAddOp(), {ids, x}, {{"rows", rows}}, "scatter_add");
}

}  // namespace tpurun
