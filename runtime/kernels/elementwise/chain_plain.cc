// Chains for every processor, and the plain form of those of the instruction sets.
#include "runtime/kernels/elementwise/chain_loops.h"

namespace tpurun::elementwise {

constinit const Chains kPlainChains = ChainsOf<Element>();

}  // namespace tpurun::elementwise
