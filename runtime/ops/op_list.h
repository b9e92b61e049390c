// The table of all ops: the structural ones and those of each family in this folder.
#ifndef TPURUN_RUNTIME_OPS_OP_LIST_H_
#define TPURUN_RUNTIME_OPS_OP_LIST_H_

#include <string>
#include <vector>

#include "runtime/ir/op_def.h"
#include "runtime/ir/pass_ops.h"

namespace tpurun {

std::vector<const OpDef*> ArrayOps();
std::vector<const OpDef*> AttentionOps();
std::vector<const OpDef*> AvgPoolOps();
std::vector<const OpDef*> BatchNormOps();
std::vector<const OpDef*> ConvolutionOps();
std::vector<const OpDef*> ElementwiseOps();  // but add (structural.h)
std::vector<const OpDef*> FusedOps();
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

// The kernel libraries and their versions: "oneDNN 2.6.3".
std::string KernelLibraries();

// Every op, sorted by name.
const std::vector<const OpDef*>& AllOps();
// nullptr when there is none of that name.
const OpDef* FindOpByName(const std::string& name);
// Those that passes create.
PassOps OpsOfPasses();

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_OP_LIST_H_
