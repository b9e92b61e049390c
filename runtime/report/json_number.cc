#include "runtime/report/json_number.h"

#include <cmath>
#include <cstdlib>
#include <limits>

#include "runtime/base/text.h"

namespace tpurun {

nlohmann::ordered_json JsonNumberOf(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  if (std::abs(value) > std::numeric_limits<float>::max()) return value;
  const float as_float = static_cast<float>(value);
  if (as_float != value) return value;
  return std::strtod(ShortestText(as_float).c_str(), nullptr);
}

}  // namespace tpurun
