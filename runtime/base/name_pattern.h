// Name patterns: regular expressions over variable names (proto/model_spec.proto has the rule).
#ifndef TPURUN_RUNTIME_BASE_NAME_PATTERN_H_
#define TPURUN_RUNTIME_BASE_NAME_PATTERN_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "re2/re2.h"

namespace tpurun {

// A regular expression in RE2's syntax (Python's without look-around and back-references). It
// matches a name that contains a match: "^generator/". Matching takes time linear in the length of
// the name, whatever the expression.
class NamePattern {
 public:
  // InvalidArgument says what is wrong with the expression.
  static absl::StatusOr<NamePattern> Parse(const std::string& expression);

  bool Matches(const std::string& name) const { return RE2::PartialMatch(name, *regex_); }
  const std::string& expression() const { return regex_->pattern(); }

 private:
  explicit NamePattern(std::shared_ptr<const RE2> regex) : regex_(std::move(regex)) {}

  std::shared_ptr<const RE2> regex_;  // RE2 itself is not copyable
};

// True if one of the expressions, a repeated string field, matches the name. A malformed expression
// matches nothing.
template <typename Strings>
bool MatchesAny(const Strings& expressions, const std::string& name) {
  for (const std::string& expression : expressions) {
    const absl::StatusOr<NamePattern> pattern = NamePattern::Parse(expression);
    if (pattern.ok() && pattern->Matches(name)) return true;
  }
  return false;
}

// The message for an expression without a match: "\"hiden\" matches no variable (known:
// hidden/bias, hidden/kernel)".
std::string MatchesNone(const std::string& expression, const std::vector<std::string>& names);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_BASE_NAME_PATTERN_H_
