#include "cli/json.h"

#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "absl/strings/cord.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

constexpr char kClosedPipe[] = "tpurun/closed_pipe";

template <typename Float>
Json Number(Float value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  // The double nearest to the shortest text of a float prints as that text again.
  return std::strtod(ShortestText(value).c_str(), nullptr);
}

// What is not printable makes all of it ASCII: JSON itself escapes C0 only.
std::string StringText(const std::string& string) {
  return Json(string).dump(-1, ' ', /*ensure_ascii=*/!IsPrintable(string));
}

void AppendText(const Json& value, std::string* text) {
  if (value.is_string()) {
    const Json shown = JsonBytes(value.get_ref<const std::string&>());
    if (!shown.is_string()) return AppendText(shown, text);
    text->append(StringText(shown.get_ref<const std::string&>()));
  } else if (value.is_number_float()) {
    text->append(ShortestText(value.get<double>()));
  } else if (value.is_object()) {
    char separator = '{';
    for (const auto& [key, member] : value.items()) {
      absl::StrAppend(text, std::string(1, separator), StringText(key), ":");
      AppendText(member, text);
      separator = ',';
    }
    text->append(value.empty() ? "{}" : "}");
  } else if (value.is_array()) {
    char separator = '[';
    for (const Json& member : value) {
      text->push_back(separator);
      AppendText(member, text);
      separator = ',';
    }
    text->append(value.empty() ? "[]" : "]");
  } else {
    text->append(value.dump());
  }
}

Json Nested(std::span<const int64_t> shape, int64_t first,
            const std::function<Json(int64_t)>& element) {
  if (shape.empty()) return element(first);
  int64_t stride = 1;
  for (const int64_t dimension : shape.subspan(1)) stride *= dimension;
  Json array = Json::array();
  for (int64_t i = 0; i < shape[0]; ++i) {
    array.push_back(Nested(shape.subspan(1), first + i * stride, element));
  }
  return array;
}

}  // namespace

Json JsonNumber(float value) { return Number(value); }
Json JsonNumber(double value) { return Number(value); }

Json JsonBytes(std::string_view bytes) {
  if (IsUtf8(bytes)) return std::string(bytes);
  return Json{{"b64", absl::Base64Escape(absl::string_view(bytes.data(), bytes.size()))}};
}

Json JsonNested(std::span<const int64_t> shape, const std::function<Json(int64_t)>& element) {
  return Nested(shape, 0, element);
}

std::string JsonText(const Json& value) {
  std::string text;
  AppendText(value, &text);
  return text;
}

absl::Status WriteOutput(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<size_t>(written));
      continue;
    }
    if (errno == EINTR) continue;
    absl::Status status = absl::PermissionDeniedError(
        absl::StrCat("cannot write to standard output: ", std::strerror(errno)));
    if (errno == EPIPE) status.SetPayload(kClosedPipe, absl::Cord());
    return status;
  }
  return absl::OkStatus();
}

absl::Status WriteResult(const Json& result) {
  return WriteOutput(absl::StrCat(JsonText(result), "\n"));
}

bool IsClosedPipe(const absl::Status& status) { return status.GetPayload(kClosedPipe).has_value(); }

}  // namespace tpurun
