// What a new variable holds.
#ifndef TPURUN_RUNTIME_CHECKPOINT_INITIAL_VALUES_H_
#define TPURUN_RUNTIME_CHECKPOINT_INITIAL_VALUES_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "runtime/ir/graph.h"

namespace tpurun {

// Fills `out`, of variable.shape.bytes(), as variable.initializer says: a function of the seed, the
// variable's name and, but for an orthogonal matrix, the element's index alone. Internal for an
// initializer that draws where the variable holds no floats.
absl::Status DrawInitialValues(const Variable& variable, uint64_t seed, std::byte* out);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_CHECKPOINT_INITIAL_VALUES_H_
