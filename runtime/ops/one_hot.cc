// The op one_hot: indices as rows with a 1 at the index and 0 elsewhere.
#include <algorithm>
#include <limits>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "runtime/ir/export_graph.h"
#include "runtime/ops/op_list.h"
#include "runtime/ops/ops.h"

namespace tpurun {
namespace {

const OpDef& OneHotOp() {
  static const OpDef& op = *new OpDef{
      .name = "one_hot",
      .doc =
          "indices (...) s32 or s64 -> f32 (..., depth): 1 at the index, else 0; an index outside "
          "[0, depth) has no 1.",
      .min_operands = 1,
      .max_operands = 1,
      .attrs = {{"depth", int64_t{0}, true}},
      .flags = {.unit = WorkUnit::kRows, .row_operands = kAllOperands},
      .refine_flags =
          [](const OpCall& call, OpFlags& flags) {
            if (call.operands[0].rank() == 0) flags = OpFlags{};
          },
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs& attrs) -> absl::StatusOr<std::vector<Shape>> {
        const int64_t depth = attrs.Int("depth");
        if (depth < 1 || (operands[0].dtype != DType::kS32 && operands[0].dtype != DType::kS64)) {
          return absl::InvalidArgumentError(
              absl::StrCat("one_hot: want s32 or s64 and a depth of 1 or more, got ",
                           operands[0].ToString(), " and ", depth));
        }
        Shape result{DType::kF32, operands[0].dims};
        result.dims.push_back(depth);
        return std::vector<Shape>{result};
      },
      .reference =
          [](const OpCall& call) {
            const int64_t depth = call.attrs.Int("depth");
            const int64_t per_row =
                call.operands[0].rank() == 0 ? 1 : call.operands[0].row_elements();
            const bool wide = call.operands[0].dtype == DType::kS64;
            return KernelOf([=](const KernelArgs& args) {
              float* y = static_cast<float*>(args.results[0]);
              for (int64_t i = args.begin * per_row; i < args.end * per_row; ++i) {
                const int64_t index = wide ? static_cast<const int64_t*>(args.operands[0])[i]
                                           : static_cast<const int32_t*>(args.operands[0])[i];
                std::fill(y + i * depth, y + (i + 1) * depth, 0.0f);
                if (index >= 0 && index < depth) y[i * depth + index] = 1.0f;
              }
            });
          },
      .tensorflow = [](ExportCall& call) -> absl::StatusOr<std::vector<Value>> {
        ExportGraph& g = call.graph;
        const int64_t depth = call.attrs.Int("depth");
        if (depth > std::numeric_limits<int32_t>::max()) {
          return absl::InvalidArgumentError("its depth does not fit int32");
        }
        return std::vector<Value>{
            g.Add("OneHot",
                  {call.inputs[0], g.Int32(static_cast<int32_t>(depth), "depth"),
                   g.Constant(ExportTensor::Float(1), "on_value"),
                   g.Constant(ExportTensor::Float(0), "off_value")},
                  {{"T", ElementType::kFloat}, {"TI", call.type()}})};
      },
      // ONNX's OneHot is not used, because it treats -1 as the last index.
      .onnx = [](ExportCall& call) -> absl::StatusOr<std::vector<Value>> {
        ExportGraph& g = call.graph;
        std::vector<int64_t> all(static_cast<size_t>(call.attrs.Int("depth")));
        std::iota(all.begin(), all.end(), 0);
        Value index = call.inputs[0];
        if (call.type() != ElementType::kInt64) {
          index = g.Add("Cast", {index}, {{"to", ElementType::kInt64}});
        }
        const Value column =
            g.Add("Unsqueeze", {index, call.graph.Int64s({call.operands[0].rank()}, "axes")});
        const Value equal = g.Add("Equal", {column, call.graph.Int64s(all, "indices")});
        return std::vector<Value>{g.Add("Cast", {equal}, {{"to", ElementType::kFloat}})};
      }};
  return op;
}

}  // namespace

std::vector<const OpDef*> OneHotOps() { return {&OneHotOp()}; }

Value OneHot(GraphBuilder& b, Value indices, int64_t depth) {
  return b.Add(OneHotOp(), {indices}, {{"depth", depth}}, "one_hot");
}

}  // namespace tpurun
