// Checks of numbers that several tables' rows share.
#ifndef TPURUN_RUNTIME_OPTIMIZERS_CHECKS_H_
#define TPURUN_RUNTIME_OPTIMIZERS_CHECKS_H_

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "proto/config_errors.h"
#include "runtime/base/text.h"

namespace tpurun {

// Reports a number (float or double) that is not > 0 and finite, by the field that `path` ends
// with.
template <typename Number>
void WantPositive(const std::string& path, Number value, ConfigErrors& errors) {
  if (value > 0 && std::isfinite(value)) return;
  errors.Add(path, absl::StrCat(path.substr(path.rfind('.') + 1), " must be > 0 and finite, got ",
                                ShortestText(value)));
}

// Reports a number that is not >= 0 and finite, likewise, or by a `noun`.
template <typename Number>
void WantAtLeastZero(const std::string& path, Number value, ConfigErrors& errors,
                     const std::string& noun = "") {
  if (value >= 0 && std::isfinite(value)) return;
  errors.Add(path, absl::StrCat(noun.empty() ? path.substr(path.rfind('.') + 1) : noun,
                                " must be >= 0 and finite, got ", ShortestText(value)));
}

// Reports a number that is not in [0, 1), likewise.
inline void WantShare(const std::string& path, float value, ConfigErrors& errors) {
  if (value >= 0 && value < 1) return;
  errors.Add(path, absl::StrCat(path.substr(path.rfind('.') + 1), " must be in [0, 1), got ",
                                ShortestText(value)));
}

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPTIMIZERS_CHECKS_H_
