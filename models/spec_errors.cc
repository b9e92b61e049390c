#include "models/spec_errors.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace tpurun {

std::string SpecErrors::TextOf(const SpecPlace& place, const std::string& field,
                               const std::string& message) const {
  const std::string where = locations_.Where(FieldPath(place.path, field));
  return absl::StrCat(place.subject, ": ", message,
                      where.empty() ? "" : absl::StrCat(" (", where, ")"));
}

void SpecErrors::Warn(const SpecPlace& place, const std::string& field,
                      const std::string& message) {
  warnings_.push_back(TextOf(place, field, message));
}

void SpecErrors::Add(const SpecPlace& place, const std::string& field, const std::string& message) {
  ++reported_;
  if (full()) return;
  const std::string text = TextOf(place, field, message);
  if (std::find(messages_.begin(), messages_.end(), text) == messages_.end()) {
    messages_.push_back(text);
  }
}

void SpecErrors::Add(const SpecPlace& place, const ConfigErrors& errors) {
  for (const ConfigError& error : errors) Add(place, error.path, error.message);
}

absl::Status SpecErrors::ToStatus() const {
  std::vector<std::string> shown = messages_;
  if (full()) {
    shown.push_back(
        absl::StrCat("the first ", kMostMessages, " mistakes are shown; there are more"));
  }
  return ErrorList(shown);
}

}  // namespace tpurun
