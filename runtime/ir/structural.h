// The few ops that the graph itself, passes and autodiff create. All other ops are in runtime/ops;
// the compiler gets them as data (pass_ops.h, OpDef).
#ifndef TPURUN_RUNTIME_IR_STRUCTURAL_H_
#define TPURUN_RUNTIME_IR_STRUCTURAL_H_

#include <optional>
#include <vector>

#include "runtime/ir/graph_builder.h"
#include "runtime/ir/literal.h"

namespace tpurun {

// Sources: values that exist when a step starts. No instruction computes them.
const OpDef& InfeedOp();     // {slot} -> one replica's share of the slot
const OpDef& VariableOp();   // {variable} -> the variable's value at the start of the step
const OpDef& LoopIndexOp();  // -> s32[], the step's index in this run of the loop, from 0
const OpDef& ReplicaIdOp();  // -> s32[], 0 ... num_replicas - 1

const OpDef& ConstantOp();  // {dtype, dims, value or value_int: one value for all elements or each}
const OpDef& ConvertOp();   // {dtype}: x -> x in another dtype; bf16 rounds to nearest even
const OpDef& AddOp();       // x + y, element-wise
const OpDef& CopyOp();      // a copy of x in its own memory

// All structural ops, for the op table.
std::vector<const OpDef*> StructuralOps();

// True if every element of the value is `constant`; -0 is not 0.
bool IsConstant(const Graph& graph, Value value, double constant);
// The attributes of a ConstantOp node with these bits. nullopt if attributes cannot express them:
// NaN, infinities, subnormals (a thread that flushes subnormals would read 0), c64, no elements.
std::optional<Attrs> ConstantAttrs(const Literal& literal);

Value Constant(GraphBuilder& b, DType dtype, std::vector<int64_t> dims, double value);
Value ConstantInt(GraphBuilder& b, DType dtype, std::vector<int64_t> dims,
                  std::vector<int64_t> values);
Value Scalar(GraphBuilder& b, double value);           // f32[]
Value Convert(GraphBuilder& b, Value x, DType dtype);  // x itself if it has that dtype
Value Add(GraphBuilder& b, Value x, Value y, const std::string& label = "add");

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IR_STRUCTURAL_H_
