// The op reverse: reverses the order of the entries along one axis.
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/ir/export_graph.h"
#include "runtime/ir/tpu_stages.h"
#include "runtime/ops/op_list.h"
#include "runtime/ops/ops.h"

namespace tpurun {
namespace {

const OpDef& ReverseOp() {
  static const OpDef& op = *new OpDef{
      .name = "reverse",
      .doc =
          "x (N, ...) -> the same with dimension `axis` from the end to the begin; not the first.",
      .min_operands = 1,
      .max_operands = 1,
      .attrs = {{"axis", int64_t{0}, true}},
      .flags = {.unit = WorkUnit::kRows,
                .row_operands = kAllOperands,
                .commutes = kAllOperands,
                .copies_elements = true,
                .any_dtype = true},
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs& attrs) -> absl::StatusOr<std::vector<Shape>> {
        const int64_t axis = attrs.Int("axis");
        if (axis < 1 || axis >= operands[0].rank()) {
          return absl::InvalidArgumentError(absl::StrCat("reverse: axis ", axis,
                                                         " is no dimension behind the first of ",
                                                         operands[0].ToString()));
        }
        return std::vector<Shape>{Shape{operands[0].dtype, operands[0].dims}};
      },
      .gradient =
          [](GraphBuilder& b, const Node& node, std::span<const Value> dy) {
            return std::vector<Value>{Reverse(b, dy[0], node.attrs.Int("axis"))};
          },
      .reference =
          [](const OpCall& call) {
            const Shape& x = call.operands[0];
            const int64_t axis = call.attrs.Int("axis"), count = x.dims[axis];
            // lists in a row; bytes of an entry of a list
            int64_t lists = 1, bytes = ByteSize(x.dtype);
            for (int64_t i = 1; i < axis; ++i) lists *= x.dims[i];
            for (int64_t i = axis + 1; i < x.rank(); ++i) bytes *= x.dims[i];
            return KernelOf([=](const KernelArgs& args) {
              for (int64_t list = args.begin * lists; list < args.end * lists; ++list) {
                const auto* from = static_cast<const std::byte*>(args.operands[0]);
                auto* to = static_cast<std::byte*>(args.results[0]);
                for (int64_t i = 0; i < count; ++i) {
                  std::memcpy(to + (list * count + i) * bytes,
                              from + (list * count + count - 1 - i) * bytes, bytes);
                }
              }
            });
          },
      .cost = CostOfMove,
      .tpu = OneTpuStage<TpuStage::Kind::kAlone>,
      .tensorflow = [](ExportCall& call) -> absl::StatusOr<std::vector<Value>> {
        const Value axis = call.graph.Int64s({call.attrs.Int("axis")}, "axis");
        return std::vector<Value>{
            call.graph.Add("ReverseV2", {call.inputs[0], axis},
                           {{"T", call.type()}, {"Tidx", ElementType::kInt64}})};
      },
      .onnx = [](ExportCall& call) -> absl::StatusOr<std::vector<Value>> {
        return std::vector<Value>{OnnxReversed(call.graph, call.inputs[0], call.attrs.Int("axis"))};
      }};
  return op;
}

}  // namespace

std::vector<const OpDef*> ReverseOps() { return {&ReverseOp()}; }

bool IsReverse(const Node& node) { return node.op == &ReverseOp(); }

Value Reverse(GraphBuilder& b, Value x, int64_t axis) {
  return b.Add(ReverseOp(), {x}, {{"axis", axis}}, "Reverse");
}

}  // namespace tpurun
