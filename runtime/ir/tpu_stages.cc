#include "runtime/ir/tpu_stages.h"

#include <algorithm>
#include <utility>

namespace tpurun {
namespace {

using Array = TpuStage::Array;

// A reduction has fewer results than operands.
bool Reduces(const OpCall& call) {
  if (call.op->flags.elementwise || call.op->flags.copies_elements) return false;
  int64_t read = 0, written = 0;
  for (const Shape& shape : call.operands) read = std::max(read, shape.num_elements());
  for (const Shape& shape : call.results) written = std::max(written, shape.num_elements());
  return written < read;
}

}  // namespace

std::vector<Array> OperandArrays(const OpCall& call) {
  std::vector<Array> arrays;
  for (int i = 0; i < static_cast<int>(call.operands.size()); ++i)
    arrays.push_back({Array::Of::kOperand, i});
  return arrays;
}

std::vector<Array> ResultArrays(const OpCall& call) {
  std::vector<Array> arrays;
  for (int i = 0; i < static_cast<int>(call.results.size()); ++i) {
    if (call.needed[i]) arrays.push_back({Array::Of::kResult, i});
  }
  return arrays;
}

TpuStage WholeStage(const OpCall& call, TpuStage::Kind kind) {
  const Cost cost = CostOf(call);
  return {.kind = kind,
          .reads = OperandArrays(call),
          .writes = ResultArrays(call),
          .vector_flops = cost.vector_flops,
          .transcendentals = cost.transcendentals};
}

TpuWork ReducedRows(const OpCall& call, int reductions) {
  const Shape& x = call.operands[0];
  const Cost cost = CostOf(call);
  TpuWork work;
  const double stages = reductions + 1;
  for (int i = 0; i < reductions; ++i) {
    work.temporaries.push_back({DType::kF32, {x.dims.begin(), x.dims.end() - 1}});
    work.stages.push_back({.kind = TpuStage::Kind::kReduce,
                           .reads = OperandArrays(call),
                           .writes = {{Array::Of::kTemporary, i}}});
  }
  work.stages.push_back({.reads = OperandArrays(call), .writes = ResultArrays(call)});
  for (TpuStage& stage : work.stages) {
    for (int i = 0; i < reductions && &stage != &work.stages[i]; ++i)
      stage.reads.push_back({Array::Of::kTemporary, i});
    stage.vector_flops = cost.vector_flops / stages;
    stage.transcendentals = cost.transcendentals / stages;
  }
  return work;
}

TpuWork TpuProducts(const OpCall& call, std::vector<TpuProduct> products) {
  TpuStage stage = WholeStage(call, TpuStage::Kind::kMatrix);
  stage.products = std::move(products);
  return {.stages = {std::move(stage)}};
}

TpuWork TpuWorkOf(const OpCall& call) {
  if (call.op->tpu) return call.op->tpu(call);
  return {.stages = {
              WholeStage(call, Reduces(call) ? TpuStage::Kind::kReduce : TpuStage::Kind::kLoop)}};
}

}  // namespace tpurun
