#include "runtime/base/name_pattern.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/text.h"

namespace tpurun {

absl::StatusOr<NamePattern> NamePattern::Parse(const std::string& expression) {
  RE2::Options options;
  options.set_log_errors(false);
  auto regex = std::make_shared<const RE2>(expression, options);
  if (regex->ok()) return NamePattern(std::move(regex));
  return absl::InvalidArgumentError(
      absl::StrCat(Quote(expression), " is not a regular expression: ", regex->error()));
}

std::string MatchesNone(const std::string& expression, const std::vector<std::string>& names) {
  return absl::StrCat(Quote(expression),
                      " matches no variable (known: ", absl::StrJoin(names, ", "), ")");
}

}  // namespace tpurun
