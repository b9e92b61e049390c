// What decode_json takes for a row.
#ifndef TPURUN_DATA_TRANSFORMS_CHECK_JSON_H_
#define TPURUN_DATA_TRANSFORMS_CHECK_JSON_H_

#include <string>
#include <string_view>

namespace tpurun {

// What is wrong with a line that is to be a JSON object, whatever its members are; empty if nothing
// is.
std::string WrongJson(std::string_view line);

}  // namespace tpurun

#endif  // TPURUN_DATA_TRANSFORMS_CHECK_JSON_H_
