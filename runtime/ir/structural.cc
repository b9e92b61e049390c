// The source ops, copy and add.
#include "runtime/ir/structural.h"

#include <cstring>

#include "runtime/ir/elementwise.h"
#include "runtime/ir/export_graph.h"

namespace tpurun {
namespace {

absl::StatusOr<std::vector<Shape>> DeclaredShape(std::span<const Shape>, const Attrs& attrs) {
  return std::vector<Shape>{Shape{attrs.Get<DType>("dtype"), attrs.Ints("dims")}};
}

absl::StatusOr<std::vector<Shape>> ScalarS32(std::span<const Shape>, const Attrs&) {
  return std::vector<Shape>{Shape{DType::kS32, {}}};
}

// Sources are exported in the same way to both formats.
absl::StatusOr<std::vector<Value>> ExportInfeed(ExportCall& call) {
  const InfeedSlot& slot = call.model.infeed()[call.attrs.Int("slot")];
  const Shape& shape = call.results[0];
  return std::vector<Value>{call.graph.Input(slot.name, ElementTypeOf(shape.dtype), shape.dims)};
}

absl::StatusOr<std::vector<Value>> ExportVariable(ExportCall& call) {
  const Shape& shape = call.results[0];
  return std::vector<Value>{
      call.graph.Variable(call.attrs.String("variable"), ElementTypeOf(shape.dtype), shape.dims)};
}

}  // namespace

const OpDef& InfeedOp() {
  static const OpDef& op = *new OpDef{.name = "infeed",
                                      .doc = "One replica's share of infeed slot `slot`.",
                                      .attrs = {{"slot", int64_t{0}, true},
                                                {"dtype", DType::kF32, true},
                                                {"dims", std::vector<int64_t>{}, true}},
                                      .flags = {.per_replica = true, .source = true},
                                      .infer_shape = DeclaredShape,
                                      .tensorflow = ExportInfeed,
                                      .onnx = ExportInfeed};
  return op;
}

const OpDef& VariableOp() {
  static const OpDef& op = *new OpDef{.name = "variable",
                                      .doc =
                                          "The value of a variable at the start of the step, in "
                                          "any dimensions that hold its elements.",
                                      .attrs = {{"variable", std::string(), true},
                                                {"dtype", DType::kF32, true},
                                                {"dims", std::vector<int64_t>{}, true}},
                                      .flags = {.source = true},
                                      .infer_shape = DeclaredShape,
                                      .tensorflow = ExportVariable,
                                      .onnx = ExportVariable};
  return op;
}

const OpDef& LoopIndexOp() {
  static const OpDef& op =
      *new OpDef{.name = "loop_index",
                 .doc = "s32[]: the index of the step in this run of the loop, from 0.",
                 .flags = {.source = true},
                 .infer_shape = ScalarS32};
  return op;
}

const OpDef& ReplicaIdOp() {
  static const OpDef& op = *new OpDef{.name = "replica_id",
                                      .doc = "s32[]: 0 ... num_replicas - 1.",
                                      .flags = {.per_replica = true, .source = true},
                                      .infer_shape = ScalarS32};
  return op;
}

const OpDef& CopyOp() {
  static const OpDef& op = *new OpDef{
      .name = "copy",
      .doc =
          "x as it is, in memory of its own: into an outfeed slot, or into a variable that its "
          "producer cannot write itself.",
      .min_operands = 1,
      .max_operands = 1,
      .flags = {.unit = WorkUnit::kElements,
                .elementwise = true,
                .row_operands = kAllOperands,
                .commutes = kAllOperands,
                .any_dtype = true},
      .infer_shape = [](std::span<const Shape> operands, const Attrs&)
          -> absl::StatusOr<std::vector<Shape>> { return std::vector<Shape>{operands[0]}; },
      .gradient = [](GraphBuilder&, const Node&,
                     std::span<const Value> dy) { return std::vector<Value>{dy[0]}; },
      .reference =
          [](const OpCall& call) {
            return KernelOf([size = ByteSize(call.results[0].dtype)](const KernelArgs& args) {
              std::memcpy(static_cast<std::byte*>(args.results[0]) + args.begin * size,
                          static_cast<const std::byte*>(args.operands[0]) + args.begin * size,
                          (args.end - args.begin) * size);
            });
          },
      .cost = CostOfMove,
      .tensorflow = TensorFlowOp("Identity"),
      .onnx = OnnxOp("Identity")};
  return op;
}

constexpr auto kPlus = [](auto x, auto y) { return x + y; };

const OpDef& AddOp() {
  static const OpDef& op = *new OpDef{
      .name = "add",
      .doc = "x + y, element-wise; a scalar goes with every element, a row (C) with the last axis.",
      .min_operands = 2,
      .max_operands = 2,
      .flags = {.unit = WorkUnit::kElements,
                .elementwise = true,
                .row_operands = kAllOperands,
                .arithmetic = true},
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs&) { return ElementwiseShape("add", operands); },
      .gradient =
          [](GraphBuilder& b, const Node& node, std::span<const Value> dy) {
            return std::vector<Value>{SumToShape(b, dy[0], node.inputs[0]),
                                      SumToShape(b, dy[0], node.inputs[1])};
          },
      .simplify =
          [](const Graph& graph, const Node& node) {
            // The identity is -0, because adding +0 turns -0 into +0.
            return WithoutIdentity(graph, node, -0.0, 0, true);
          },
      .reference = [](const OpCall& call) { return BinaryKernel(call, kPlus); },
      .tile = BinaryTile(kPlus),
      .chain_op = ChainOp::kAdd,
      .tensorflow = TensorFlowOp("AddV2"),
      .onnx = OnnxOp("Add")};
  return op;
}

std::vector<const OpDef*> StructuralOps() {
  return {&InfeedOp(),  &VariableOp(), &LoopIndexOp(), &ReplicaIdOp(),     &ConstantOp(),
          &ConvertOp(), &CopyOp(),     &AddOp(),       &SumOfElementsOp(), &SumOfRowsOp()};
}

Value Add(GraphBuilder& b, Value x, Value y, const std::string& label) {
  return b.Add(AddOp(), {x, y}, {}, label);
}

}  // namespace tpurun
