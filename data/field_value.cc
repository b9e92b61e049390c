#include "data/field_value.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "data/csv.h"
#include "runtime/base/text.h"

namespace tpurun {

bool AppendField(std::string_view field, Column* column) {
  const auto append = [&](auto value) {
    column->bytes.Append(&value, sizeof(value));
    return true;
  };
  switch (column->type.dtype) {
    case proto::FLOAT32: {
      const std::optional<float> value = ParseFloat(StripBlanks(field));
      return value.has_value() && append(*value);
    }
    case proto::INT64: {
      const std::optional<int64_t> value = ParseInt64(StripBlanks(field));
      return value.has_value() && append(*value);
    }
    case proto::INT32: {
      const std::optional<int64_t> value = ParseInt64(StripBlanks(field));
      return value.has_value() && std::in_range<int32_t>(*value) &&
             append(static_cast<int32_t>(*value));
    }
    default:
      column->AppendString(field);
      return true;
  }
}

}  // namespace tpurun
