#include "proto/config_errors.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tpurun {
namespace {

// The nearest place that is known; null when nothing is.
const SourceLocation* LocationOf(const ConfigError& error, const SourceLocations& locations) {
  return error.location.has_value() ? &*error.location : locations.FindEnclosing(error.path);
}

std::string Line(const ConfigError& error, const SourceLocations& locations) {
  const SourceLocation* const location = LocationOf(error, locations);
  const std::string place = location == nullptr ? error.path : ToString(*location);
  return place.empty() ? error.message : absl::StrCat(place, ": ", error.message);
}

std::string WithSubject(const ConfigPlace& place, const std::string& message) {
  return place.subject.empty() ? message : absl::StrCat(place.subject, ": ", message);
}

}  // namespace

ConfigPlace FieldPlace(const ConfigPlace& place, const std::string& field) {
  return {place.subject, FieldPath(place.path, field)};
}

void ConfigErrors::Add(const std::string& path, const std::string& message) {
  Add(ConfigError{path, message});
}

void ConfigErrors::Add(const ConfigPlace& place, const std::string& field,
                       const std::string& message) {
  Add(ConfigError{FieldPath(place.path, field), WithSubject(place, message)});
}

void ConfigErrors::Add(const ConfigPlace& place, const ConfigErrors& part) {
  const auto placed = [&](const ConfigError& error) {
    return ConfigError{FieldPath(place.path, error.path), WithSubject(place, error.message),
                       error.location, error.refused};
  };
  for (const ConfigError& error : part.errors_) Add(placed(error));
  for (const ConfigError& warning : part.warnings_) WarnOne(placed(warning));
}

void ConfigErrors::AddAt(const SourceLocation& location, const std::string& message) {
  Add(ConfigError{"", message, location});
}

void ConfigErrors::RejectOnTpu(const ConfigPlace& place, const std::string& field,
                               const std::string& message) {
  Add(ConfigError{FieldPath(place.path, field), WithSubject(place, message), std::nullopt, true});
}

void ConfigErrors::Warn(const ConfigPlace& place, const std::string& field,
                        const std::string& message) {
  WarnOne({FieldPath(place.path, field), WithSubject(place, message)});
}

void ConfigErrors::WarnOne(ConfigError warning) {
  if (std::find(warnings_.begin(), warnings_.end(), warning) != warnings_.end()) return;
  warnings_.push_back(std::move(warning));
}

absl::StatusCode ConfigErrors::code() const {
  const bool refused = std::all_of(errors_.begin(), errors_.end(),
                                   [](const ConfigError& error) { return error.refused; });
  return refused && !empty() ? absl::StatusCode::kUnimplemented
                             : absl::StatusCode::kInvalidArgument;
}

void ConfigErrors::Ignore(const std::string& path, bool below) {
  (below ? ignored_below_ : ignored_).insert(path);
}

bool ConfigErrors::IsIgnored(const std::string& path) const {
  if (ignored_.count(path) > 0) return true;
  return std::any_of(ignored_below_.begin(), ignored_below_.end(),
                     [&](const std::string& root) { return IsUnder(path, root); });
}

bool ConfigErrors::Has(const std::string& path) const {
  return std::any_of(errors_.begin(), errors_.end(),
                     [&](const ConfigError& error) { return error.path == path; });
}

void ConfigErrors::Add(ConfigError error) {
  if (!error.location.has_value() && IsIgnored(error.path)) return;
  ++reported_;
  if (full() || std::find(errors_.begin(), errors_.end(), error) != errors_.end()) return;
  errors_.push_back(std::move(error));
}

std::vector<std::string> ConfigErrors::Lines(const SourceLocations& locations) const {
  std::vector<const ConfigError*> ordered;
  for (const ConfigError& error : errors_) ordered.push_back(&error);
  const auto key = [&](const ConfigError* error) {
    static const SourceLocation kNone;
    const SourceLocation* const found = LocationOf(*error, locations);
    const SourceLocation& location = found == nullptr ? kNone : *found;
    return std::make_tuple(!location.flag.empty(), location.file, location.line, location.column);
  };
  std::stable_sort(ordered.begin(), ordered.end(),
                   [&](const ConfigError* a, const ConfigError* b) { return key(a) < key(b); });
  std::vector<std::string> lines;
  for (const ConfigError* error : ordered) {
    std::string line = Line(*error, locations);
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) {
      lines.push_back(std::move(line));
    }
  }
  if (full()) {
    lines.push_back(absl::StrCat("the first ", kMost, " mistakes are shown; there are more"));
  }
  return lines;
}

std::vector<std::string> ConfigErrors::Warnings(const SourceLocations& locations) const {
  std::vector<std::string> lines;
  for (const ConfigError& warning : warnings_) lines.push_back(Line(warning, locations));
  return lines;
}

}  // namespace tpurun
