// The few ops that the graph itself, passes and autodiff create. Every other op lives in
// runtime/ops and reaches the compiler as data (pass_ops.h, OpDef).
#ifndef TPURUN_RUNTIME_IR_STRUCTURAL_H_
#define TPURUN_RUNTIME_IR_STRUCTURAL_H_

#include <optional>
#include <vector>

#include "runtime/ir/graph_builder.h"
#include "runtime/ir/literal.h"

namespace tpurun {

// Sources: values that are there when a step starts; no instruction computes them.
const OpDef& InfeedOp();     // {slot} -> one replica's share of the slot
const OpDef& VariableOp();   // {variable} -> its value at the start of the step
const OpDef& LoopIndexOp();  // -> s32[], the step's index in this run of the loop, from 0
const OpDef& ReplicaIdOp();  // -> s32[], 0 ... num_replicas - 1

const OpDef& ConstantOp();  // {dtype, dims, value or value_int: one element or all}
const OpDef& ConvertOp();   // {dtype}: x -> x in another dtype; bf16 rounds to nearest even
const OpDef& AddOp();       // x + y, element-wise
const OpDef& CopyOp();      // x as it is, in memory of its own

// All of them, for the op table.
std::vector<const OpDef*> StructuralOps();

// True when all elements of the value are that constant; -0 is not 0.
bool IsConstant(const Graph& graph, Value value, double constant);
// The attributes of a constant of these bits; none where they cannot say it: NaN, infinities,
// subnormals (which a flushing thread would read as 0), c64, no elements.
std::optional<Attrs> ConstantAttrs(const Literal& literal);

Value Constant(GraphBuilder& b, DType dtype, std::vector<int64_t> dims, double value);
Value ConstantInt(GraphBuilder& b, DType dtype, std::vector<int64_t> dims,
                  std::vector<int64_t> values);
Value Scalar(GraphBuilder& b, double value);           // f32[]
Value Convert(GraphBuilder& b, Value x, DType dtype);  // x itself when it has that dtype
Value Add(GraphBuilder& b, Value x, Value y, const std::string& label = "add");

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IR_STRUCTURAL_H_
