// Helpers for OpDef::tpu.
#ifndef TPURUN_RUNTIME_IR_TPU_STAGES_H_
#define TPURUN_RUNTIME_IR_TPU_STAGES_H_

#include <vector>

#include "runtime/ir/op_def.h"
#include "runtime/ir/tpu_work.h"

namespace tpurun {

// How a TPU computes the call.
TpuWork TpuWorkOf(const OpCall& call);

// The arrays of the call: all operands, the needed results.
std::vector<TpuStage::Array> OperandArrays(const OpCall& call);
std::vector<TpuStage::Array> ResultArrays(const OpCall& call);

// One stage that reads all operands and writes the needed results, with the vector flops and
// transcendentals of CostOf.
TpuStage WholeStage(const OpCall& call, TpuStage::Kind kind);

// OpDef::tpu of an op that is one such stage.
template <TpuStage::Kind kind>
TpuWork OneTpuStage(const OpCall& call) {
  return {.stages = {WholeStage(call, kind)}};
}

// OpDef::tpu of an op that reduces rows of its operands `reductions` times, one reduction after the
// other, and then computes its results.
TpuWork ReducedRows(const OpCall& call, int reductions);
template <int reductions>
TpuWork ReducedRows(const OpCall& call) {
  return ReducedRows(call, reductions);
}

// One stage of products and the work of CostOf on their results.
TpuWork TpuProducts(const OpCall& call, std::vector<TpuProduct> products);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IR_TPU_STAGES_H_
