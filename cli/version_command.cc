#include "cli/version_command.h"

#include <zlib.h>

#include <string>

#include "absl/base/config.h"
#include "absl/strings/str_cat.h"
#include "cli/json.h"
#include "google/protobuf/stubs/common.h"
#include "runtime/ops/op_list.h"

namespace tpurun {

absl::Status VersionCommand(const CommandLine& command) {
  return WriteOutput(
      absl::StrCat("tpurun ", kVersion, "\n", "built with g++ ", __VERSION__, ", protobuf ",
                   google::protobuf::internal::VersionString(GOOGLE_PROTOBUF_VERSION), ", abseil ",
                   ABSL_LTS_RELEASE_VERSION, ", nlohmann-json ", NLOHMANN_JSON_VERSION_MAJOR, ".",
                   NLOHMANN_JSON_VERSION_MINOR, ".", NLOHMANN_JSON_VERSION_PATCH, ", zlib ",
                   ZLIB_VERSION, ", ", KernelLibraries(), "\n"));
}

}  // namespace tpurun
