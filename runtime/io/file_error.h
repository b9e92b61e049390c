// Statuses of errno, for the sources and sinks of this folder.
#ifndef TPURUN_RUNTIME_IO_FILE_ERROR_H_
#define TPURUN_RUNTIME_IO_FILE_ERROR_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace tpurun {

// "ACTION PATH: strerror(error)". A failed read is NotFound, whatever the reason: DataLoss is for
// bytes that were read.
absl::Status ReadError(std::string_view action, const std::string& path, int error);
// A failed write is PermissionDenied.
absl::Status WriteError(std::string_view action, const std::string& path, int error);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IO_FILE_ERROR_H_
