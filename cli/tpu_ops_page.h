// `tpurun help tpu_ops`: the TensorFlow ops that a Cloud TPU has, and what they are in tpurun.
#ifndef TPURUN_CLI_TPU_OPS_PAGE_H_
#define TPURUN_CLI_TPU_OPS_PAGE_H_

#include <string>
#include <string_view>

namespace tpurun {

inline constexpr char kNotExpressible[] = "not expressible here";

// What a model of tpurun has in place of a TensorFlow op: "op matmul", "layer concat of ...",
// "op convert". kNotExpressible for an op that has no equivalent, empty for a name that tpurun
// knows nothing of.
std::string InTpurun(std::string_view op);

// Each row of TpuOps(): the op, whether a TPU has it, its types, its constant operands and
// InTpurun.
std::string TpuOpsPage();

}  // namespace tpurun

#endif  // TPURUN_CLI_TPU_OPS_PAGE_H_
