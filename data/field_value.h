// Values of columns, written as text.
#ifndef TPURUN_DATA_FIELD_VALUE_H_
#define TPURUN_DATA_FIELD_VALUE_H_

#include <string_view>

#include "data/table.h"

namespace tpurun {

// Appends one value to a FLOAT32, INT32, INT64 or STRING column. A number is in C notation and may
// have blanks around it. False, and nothing is appended, if the text is not a value of that type.
bool AppendField(std::string_view field, Column* column);

}  // namespace tpurun

#endif  // TPURUN_DATA_FIELD_VALUE_H_
