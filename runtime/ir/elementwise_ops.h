// The element-wise ops, one paragraph each in elementwise_ops.cc. They are here and not in
// runtime/ops because the programs of `fused` are made of them.
#ifndef TPURUN_RUNTIME_IR_ELEMENTWISE_OPS_H_
#define TPURUN_RUNTIME_IR_ELEMENTWISE_OPS_H_

#include <string>
#include <vector>

#include "runtime/ir/graph_builder.h"

namespace tpurun {

// All of them but add (structural.h), for the op table.
std::vector<const OpDef*> ElementwiseOps();

// Operands have one shape; a rank-0 operand goes with every element.
Value Sub(GraphBuilder& b, Value x, Value y, const std::string& label = "sub");
Value Mul(GraphBuilder& b, Value x, Value y, const std::string& label = "mul");
Value Div(GraphBuilder& b, Value x, Value y, const std::string& label = "div");
Value Maximum(GraphBuilder& b, Value x, Value y);
Value Minimum(GraphBuilder& b, Value x, Value y);
Value Pow(GraphBuilder& b, Value x, Value y);
Value Neg(GraphBuilder& b, Value x);
Value Sqrt(GraphBuilder& b, Value x);
Value Rsqrt(GraphBuilder& b, Value x);
Value Square(GraphBuilder& b, Value x);
Value Exp(GraphBuilder& b, Value x);
Value Log(GraphBuilder& b, Value x);
Value Floor(GraphBuilder& b, Value x);
Value Tanh(GraphBuilder& b, Value x);
Value Sin(GraphBuilder& b, Value x);
Value Cos(GraphBuilder& b, Value x);
Value Sigmoid(GraphBuilder& b, Value x);
Value Softplus(GraphBuilder& b, Value x);
Value Relu(GraphBuilder& b, Value x, const std::string& label = "Relu");
bool IsRelu(const Node& node);
Value Equal(GraphBuilder& b, Value x, Value y);    // pred
Value Greater(GraphBuilder& b, Value x, Value y);  // pred
Value GreaterEqual(GraphBuilder& b, Value x, Value y);
Value Select(GraphBuilder& b, Value condition, Value x, Value y);  // condition ? x : y

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IR_ELEMENTWISE_OPS_H_
