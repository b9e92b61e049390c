// A report for a terminal.
#ifndef TPURUN_RUNTIME_REPORT_TEXT_REPORT_H_
#define TPURUN_RUNTIME_REPORT_TEXT_REPORT_H_

#include <string>

#include "runtime/report/report.h"
#include "runtime/report/text_chart.h"

namespace tpurun {

// The runs with their letters, a chart for each scalar tag, and the table, whose columns go on
// below each other where `width` (kMinTextWidth or more) columns are too few.
std::string TextReport(const Report& report, int width);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_REPORT_TEXT_REPORT_H_
