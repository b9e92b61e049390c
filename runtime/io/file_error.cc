#include "runtime/io/file_error.h"

#include <system_error>

#include "absl/strings/str_cat.h"

namespace tpurun {
namespace {

std::string Message(std::string_view action, const std::string& path, int error) {
  return absl::StrCat(std::string(action), " ", path, ": ", std::generic_category().message(error));
}

}  // namespace

absl::Status ReadError(std::string_view action, const std::string& path, int error) {
  return absl::NotFoundError(Message(action, path, error));
}

absl::Status WriteError(std::string_view action, const std::string& path, int error) {
  return absl::PermissionDeniedError(Message(action, path, error));
}

}  // namespace tpurun
