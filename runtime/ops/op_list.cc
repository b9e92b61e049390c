#include "runtime/ops/op_list.h"

#include <algorithm>

#include "runtime/ir/collectives.h"
#include "runtime/ir/structural.h"
#include "runtime/ops/onednn/onednn.h"

namespace tpurun {

std::string KernelLibraries() { return OneDnnVersion(); }

const std::vector<const OpDef*>& AllOps() {
  static const std::vector<const OpDef*>& ops = *new std::vector<const OpDef*>([] {
    std::vector<const OpDef*> all;
    for (const auto& family :
         {StructuralOps(), CollectiveOps(),  ArrayOps(),       AttentionOps(),     AvgPoolOps(),
          BatchNormOps(),  ConvolutionOps(), ElementwiseOps(), FusedOps(),         FusedRowsOps(),
          GatherOps(),     GeluOps(),        GruOps(),         HistogramOps(),     IotaOps(),
          LstmOps(),       MatMulOps(),      MaxPoolOps(),     NormalizeRowsOps(), OneHotOps(),
          PackingOps(),    RandomOps(),      ReduceOps(),      ReluOps(),          ReverseOps(),
          SimpleRnnOps(),  SliceOps(),       SoftmaxOps(),     TransposeOps()}) {
      all.insert(all.end(), family.begin(), family.end());
    }
    std::sort(all.begin(), all.end(),
              [](const OpDef* a, const OpDef* b) { return a->name < b->name; });
    return all;
  }());
  return ops;
}

const OpDef* FindOpByName(const std::string& name) {
  const auto& ops = AllOps();
  const auto found =
      std::lower_bound(ops.begin(), ops.end(), name,
                       [](const OpDef* op, const std::string& n) { return op->name < n; });
  return found != ops.end() && (*found)->name == name ? *found : nullptr;
}

PassOps OpsOfPasses() {
  return {.fused = FindOpByName("fused"),
          .fused_rows = FindOpByName("fused_rows"),
          .pack = FindOpByName("pack"),
          .reshape = FindOpByName("reshape"),
          .matmul = FindOpByName("matmul"),
          .gather = FindOpByName("gather"),
          .scatter_add = FindOpByName("scatter_add")};
}

}  // namespace tpurun
