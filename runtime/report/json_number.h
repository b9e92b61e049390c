// Numbers of events as JSON.
#ifndef TPURUN_RUNTIME_REPORT_JSON_NUMBER_H_
#define TPURUN_RUNTIME_REPORT_JSON_NUMBER_H_

#include "nlohmann/json.hpp"

namespace tpurun {

// A float prints with a float's digits, although it is held in a double. NaN and the infinities are
// the strings "NaN", "Infinity", "-Infinity".
nlohmann::ordered_json JsonNumberOf(double value);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_REPORT_JSON_NUMBER_H_
