#include "runtime/base/names.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

bool IsFileName(absl::string_view name) {
  const auto allowed = [](char c) {
    return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '-';
  };
  return !name.empty() && name != "." && name != ".." &&
         std::all_of(name.begin(), name.end(), allowed);
}

bool IsVariableName(absl::string_view name) {
  const std::vector<absl::string_view> parts = absl::StrSplit(name, '/');
  return std::all_of(parts.begin(), parts.end(), IsFileName) && name[0] != '_' && name[0] != '-';
}

absl::Status Wanted(std::string_view name, absl::string_view want) {
  return absl::InvalidArgumentError(absl::StrCat("got the name ", Quote(name), ", want ", want));
}

}  // namespace

absl::Status CheckName(NameKind kind, std::string_view name) {
  const absl::string_view text(name.data(), name.size());
  switch (kind) {
    case NameKind::kFile:
      if (IsFileName(text)) return absl::OkStatus();
      return Wanted(name, "letters, digits and _ . -, but not \".\" or \"..\"");
    case NameKind::kVariable:
      if (IsVariableName(text)) return absl::OkStatus();
      return Wanted(name,
                    "parts joined by /, each of letters, digits and _ . - but not \".\" or \"..\", "
                    "beginning with neither _ nor -");
    case NameKind::kKey:
      if (!name.empty() && IsPrintable(name)) return absl::OkStatus();
      return Wanted(name, "printable text (UTF-8)");
  }
  return absl::OkStatus();
}

}  // namespace tpurun
