// bf16 operands and results for ops whose reference computes in f32.
#ifndef TPURUN_RUNTIME_OPS_THROUGH_FLOAT_H_
#define TPURUN_RUNTIME_OPS_THROUGH_FLOAT_H_

#include <functional>
#include <memory>

#include "runtime/ir/elementwise.h"
#include "runtime/ir/op_def.h"

namespace tpurun {

using ReferenceFn = std::function<std::unique_ptr<Kernel>(const OpCall& call)>;

// The op's kernel on the call's operands widened to f32, its results rounded to bf16 where the call
// has bf16 results. With nothing to widen or round it is `reference` itself. It allocates while it
// runs: for the reference interpreter and for small values.
std::unique_ptr<Kernel> ThroughFloat(const OpCall& call, const ReferenceFn& reference);

// As a value of OpDef::reference.
inline ReferenceFn InFloat(ReferenceFn reference) {
  return [reference](const OpCall& call) { return ThroughFloat(call, reference); };
}

// The dtype that the attribute `out` asks for: bf16, or f32 when it is absent.
inline DType OutType(const Attrs& attrs) { return attrs.Get<DType>("out", DType::kF32); }

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_THROUGH_FLOAT_H_
