// Kernels that exist once for an instruction set, in a file with its compiler options.
#ifndef TPURUN_RUNTIME_OPS_KERNEL_LEVELS_H_
#define TPURUN_RUNTIME_OPS_KERNEL_LEVELS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/ir/op_def.h"

namespace tpurun {

enum class KernelLevel : uint8_t { kPlain, kAvx2, kAvx512, kAvx512BFloat16, kAmxBFloat16 };

// The kernels of an op, the fastest first: "NAME_amx_bf16", "NAME_avx512_bf16", "NAME_avx512",
// "NAME_avx2" and "NAME_plain", up to the level `most`. `offer` and `make` get the level; `offer`
// is asked only for a machine that has the instructions.
std::vector<KernelDef> KernelsOfLevels(
    const std::string& name, KernelLevel most,
    std::function<std::optional<KernelOffer>(const OpCall& call, KernelLevel level)> offer,
    std::function<std::unique_ptr<Kernel>(const OpCall& call, KernelLevel level)> make);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_KERNEL_LEVELS_H_
