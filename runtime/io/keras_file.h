// Recognizes Keras files that this program cannot read.
#ifndef TPURUN_RUNTIME_IO_KERAS_FILE_H_
#define TPURUN_RUNTIME_IO_KERAS_FILE_H_

#include <string>

#include "absl/status/status.h"

namespace tpurun {

// FailedPrecondition if the first bytes are those of an HDF5 file (.h5, .weights.h5) or of a .keras
// archive. The message says what the file is and what to save instead. OK for other files, also for
// files that cannot be read.
absl::Status RefuseKerasFile(const std::string& path);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IO_KERAS_FILE_H_
