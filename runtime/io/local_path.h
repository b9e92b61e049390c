// Decides which names of files and folders are paths of this machine. No other code knows URI
// schemes.
#ifndef TPURUN_RUNTIME_IO_LOCAL_PATH_H_
#define TPURUN_RUNTIME_IO_LOCAL_PATH_H_

#include <string>

#include "absl/status/statusor.h"

namespace tpurun {

// True if the name begins with a URI scheme, as "gs://" (RFC 3986, section 3.1).
bool HasScheme(const std::string& name);

// The path that a name means: "/tmp/x" for "file:///tmp/x" and "file://localhost/tmp/x". A name
// without a scheme is the path itself. InvalidArgument for any other scheme.
absl::StatusOr<std::string> LocalPath(const std::string& name);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IO_LOCAL_PATH_H_
