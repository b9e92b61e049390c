// Results on standard output: one compact JSON object a line, keys in the order they were added.
#ifndef TPURUN_CLI_JSON_H_
#define TPURUN_CLI_JSON_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "nlohmann/json.hpp"

namespace tpurun {

// Integers stay integers. Floating-point values must come from JsonNumber.
using Json = nlohmann::ordered_json;

// A number with the fewest digits that read back to `value` in its own type. NaN and the infinities
// are the strings "NaN", "Infinity", "-Infinity".
Json JsonNumber(float value);
Json JsonNumber(double value);

// UTF-8 as a string, other bytes as {"b64": "..."}.
Json JsonBytes(std::string_view bytes);

// Nested lists of shape `shape`, row by row; element(i) returns value i. A scalar (no dimensions)
// is element(0).
Json JsonNested(std::span<const int64_t> shape, const std::function<Json(int64_t)>& element);

// Compact text on one line, without control characters. A string that is not UTF-8 is formatted
// like JsonBytes.
std::string JsonText(const Json& value);

// Writes and flushes the whole text to standard output. PermissionDenied if that fails. If the
// reader has closed standard output, returns a status that IsClosedPipe recognizes.
absl::Status WriteOutput(std::string_view text);
// Writes one object and a line break.
absl::Status WriteResult(const Json& result);

// True if the reader has closed standard output: the command then ends without a message.
bool IsClosedPipe(const absl::Status& status);

}  // namespace tpurun

#endif  // TPURUN_CLI_JSON_H_
