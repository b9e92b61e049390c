// What of the RunConfig is acted on, what may be some day and what is refused for good.
#ifndef TPURUN_CLI_SUPPORTED_FIELDS_H_
#define TPURUN_CLI_SUPPORTED_FIELDS_H_

#include <string>
#include <vector>

namespace tpurun {

// What of the RunConfig is acted on: a field (indices left out) and the values it may have, in text
// format, and why no others; no values means any. A row covers everything under its field. Every
// other field must be left at its default.
struct SupportedField {
  std::string path;
  std::vector<std::string> values = {};
  std::string reason = {};
};
const std::vector<SupportedField>& SupportedFields();

// A field of the RunConfig that is refused for good, with everything under it, and why. Its comment
// in the .proto file says so too.
struct RefusedField {
  std::string path;
  std::string reason;
};
const std::vector<RefusedField>& RefusedFields();

// Whether the row of the path `of` speaks of `path`.
bool CoversField(const std::string& of, const std::string& path);

}  // namespace tpurun

#endif  // TPURUN_CLI_SUPPORTED_FIELDS_H_
