// The table of all ops: the structural ops and the ops of each family in this folder.
#ifndef TPURUN_RUNTIME_OPS_OP_LIST_H_
#define TPURUN_RUNTIME_OPS_OP_LIST_H_

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/dcheck.h"
#include "runtime/ir/op_def.h"
#include "runtime/ir/pass_ops.h"

namespace tpurun {

std::vector<const OpDef*> ArrayOps();
std::vector<const OpDef*> AttentionOps();
std::vector<const OpDef*> AvgPoolOps();
std::vector<const OpDef*> BatchNormOps();
std::vector<const OpDef*> ConvolutionOps();
std::vector<const OpDef*> ElementwiseOps();  // except add (structural.h)
std::vector<const OpDef*> FusedOps();
std::vector<const OpDef*> FusedRowsOps();
std::vector<const OpDef*> GatherOps();
std::vector<const OpDef*> GeluOps();
std::vector<const OpDef*> GruOps();
std::vector<const OpDef*> HistogramOps();
std::vector<const OpDef*> IotaOps();
std::vector<const OpDef*> LstmOps();
std::vector<const OpDef*> MatMulOps();
std::vector<const OpDef*> MaxPoolOps();
std::vector<const OpDef*> NormalizeRowsOps();
std::vector<const OpDef*> OneHotOps();
std::vector<const OpDef*> PackingOps();
std::vector<const OpDef*> RandomOps();
std::vector<const OpDef*> ReduceOps();
std::vector<const OpDef*> ReluOps();
std::vector<const OpDef*> ReverseOps();
std::vector<const OpDef*> SimpleRnnOps();
std::vector<const OpDef*> SliceOps();
std::vector<const OpDef*> SoftmaxOps();
std::vector<const OpDef*> TransposeOps();

// The op of that name in the list of one family; the family must have it. A family calls this for
// an op of another one: FindOpByName knows all families, which would all have to be linked.
inline const OpDef& OpOfFamily(const std::vector<const OpDef*>& family, std::string_view name) {
  const auto found =
      std::find_if(family.begin(), family.end(), [&](const OpDef* op) { return op->name == name; });
  TPURUN_DCHECK(found != family.end());
  return **found;
}

// The names and versions of the kernel libraries: "oneDNN 2.6.3".
std::string KernelLibraries();

// Every op, sorted by name.
const std::vector<const OpDef*>& AllOps();
// Returns nullptr if there is no op of that name.
const OpDef* FindOpByName(const std::string& name);
// The ops that passes create.
PassOps OpsOfPasses();

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_OP_LIST_H_
