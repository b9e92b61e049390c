#include "proto/iterations_per_loop.h"

#include <charconv>
#include <limits>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace tpurun {

absl::StatusOr<IterationsPerLoop> ParseIterationsPerLoop(std::string_view text) {
  const auto malformed = [&] {
    return absl::InvalidArgumentError(
        absl::StrCat("got \"", absl::string_view(text.data(), text.size()),
                     "\", want a positive number of steps such as \"500\" or a time such as "
                     "\"30s\", \"5m\" or \"1h\""));
  };
  if (text.empty() || text.front() < '1' || text.front() > '9') return malformed();
  int64_t count = 0;
  const char* const end = text.data() + text.size();
  const auto [unit, error] = std::from_chars(text.data(), end, count);
  if (error != std::errc()) return malformed();
  if (unit == end) return IterationsPerLoop{.steps = count};
  if (unit + 1 != end) return malformed();
  int64_t seconds_per_unit = 0;
  if (*unit == 's') seconds_per_unit = 1;
  if (*unit == 'm') seconds_per_unit = 60;
  if (*unit == 'h') seconds_per_unit = 3600;
  if (seconds_per_unit == 0) return malformed();
  if (count > std::numeric_limits<int64_t>::max() / seconds_per_unit) return malformed();
  return IterationsPerLoop{.seconds = count * seconds_per_unit};
}

}  // namespace tpurun
