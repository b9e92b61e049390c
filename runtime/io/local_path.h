// The one place that knows schemes: which names of files and folders are paths of this machine.
#ifndef TPURUN_RUNTIME_IO_LOCAL_PATH_H_
#define TPURUN_RUNTIME_IO_LOCAL_PATH_H_

#include <string>

#include "absl/status/statusor.h"

namespace tpurun {

// Whether the name begins as a URI does, "gs://" (RFC 3986, section 3.1).
bool HasScheme(const std::string& name);

// The path that a name means: of "file:///tmp/x" and "file://localhost/tmp/x" that is "/tmp/x", a
// name without a scheme is the path. InvalidArgument for any other scheme.
absl::StatusOr<std::string> LocalPath(const std::string& name);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IO_LOCAL_PATH_H_
