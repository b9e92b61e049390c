// The initial values of a new variable.
#ifndef TPURUN_RUNTIME_CHECKPOINT_INITIAL_VALUES_H_
#define TPURUN_RUNTIME_CHECKPOINT_INITIAL_VALUES_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "runtime/ir/graph.h"

namespace tpurun {

// Fills `out`, variable.shape.bytes() bytes, as variable.initializer says. The value of an element
// is a function of the seed, the name of the variable and the index of the element only, except in
// an orthogonal matrix. Internal if a random initializer is given to a variable that does not hold
// floats.
absl::Status DrawInitialValues(const Variable& variable, uint64_t seed, std::byte* out);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_CHECKPOINT_INITIAL_VALUES_H_
