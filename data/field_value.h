// Values of columns, written as text.
#ifndef TPURUN_DATA_FIELD_VALUE_H_
#define TPURUN_DATA_FIELD_VALUE_H_

#include <string_view>

#include "data/table.h"

namespace tpurun {

// Appended to a message of a missing value that no default_value stands for.
inline const char* AdviceOfMissing(bool is_label, proto::DataType dtype) {
  if (is_label) return ": leave the row out";
  if (dtype == proto::STRING) return ": leave the row out, or add one";
  return ": leave the row out, or add one, such as the mean in training";
}

// Appends one value to a FLOAT32, INT32, INT64 or STRING column. A number is in C notation and may
// have blanks around it. False, and nothing is appended, if the text is not a value of that type.
bool AppendField(std::string_view field, Column* column);

}  // namespace tpurun

#endif  // TPURUN_DATA_FIELD_VALUE_H_
