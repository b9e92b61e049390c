// Files of Keras that nothing here reads.
#ifndef TPURUN_RUNTIME_IO_KERAS_FILE_H_
#define TPURUN_RUNTIME_IO_KERAS_FILE_H_

#include <string>

#include "absl/status/status.h"

namespace tpurun {

// FailedPrecondition of an HDF5 file (.h5, .weights.h5) and of an archive .keras, by its first
// bytes: what it is and what to save instead. OK of others, those that cannot be read included.
absl::Status RefuseKerasFile(const std::string& path);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IO_KERAS_FILE_H_
