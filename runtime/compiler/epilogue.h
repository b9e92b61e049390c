// epilogue: moves the addition of a bias into the kernel of the product before it.
#ifndef TPURUN_RUNTIME_COMPILER_EPILOGUE_H_
#define TPURUN_RUNTIME_COMPILER_EPILOGUE_H_

#include "absl/status/statusor.h"
#include "runtime/ir/graph.h"

namespace tpurun {

// Applies if a product has room for a bias (OpRules::bias) and only the op that adds the bias
// (OpRules::adds_bias) reads the product. The bias becomes the product's last
// operand. Exact by the ops' definitions; a library kernel may start its sums with the bias.
absl::StatusOr<Graph> MakeBiasEpilogues(const Graph& graph);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_COMPILER_EPILOGUE_H_
