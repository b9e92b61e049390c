#include "runtime/io/local_path.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace tpurun {
namespace {

constexpr char kSchemeEnd[] = "://";

// Empty where there is none.
std::string SchemeOf(const std::string& name) {
  const size_t end = name.find(kSchemeEnd);
  if (end == std::string::npos || end == 0 || !absl::ascii_isalpha(name[0])) return "";
  const std::string scheme = name.substr(0, end);
  const bool legal = std::all_of(scheme.begin(), scheme.end(), [](char c) {
    return absl::ascii_isalnum(c) || c == '+' || c == '-' || c == '.';
  });
  return legal ? absl::AsciiStrToLower(scheme) : "";
}

}  // namespace

bool HasScheme(const std::string& name) { return !SchemeOf(name).empty(); }

absl::StatusOr<std::string> LocalPath(const std::string& name) {
  const std::string scheme = SchemeOf(name);
  if (scheme.empty()) return name;
  if (scheme != "file") {
    return absl::InvalidArgumentError(absl::StrCat(scheme, kSchemeEnd, " is not supported",
                                                   scheme == "gs" ? " yet" : "",
                                                   ", copy to a local path"));
  }
  std::string path = name.substr(scheme.size() + sizeof(kSchemeEnd) - 1);
  constexpr char kHost[] = "localhost";
  if (absl::StartsWith(path, absl::StrCat(kHost, "/"))) path.erase(0, sizeof(kHost) - 1);
  if (absl::StartsWith(path, "/")) return path;
  return absl::InvalidArgumentError("want an absolute path, file:///tmp/x, or one without file://");
}

}  // namespace tpurun
