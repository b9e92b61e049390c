// A report as text for a terminal.
#ifndef TPURUN_RUNTIME_REPORT_TEXT_REPORT_H_
#define TPURUN_RUNTIME_REPORT_TEXT_REPORT_H_

#include <string>

#include "runtime/report/report.h"
#include "runtime/report/text_chart.h"

namespace tpurun {

// The runs with their letters, a chart for each scalar tag, and the table. If the table is wider
// than `width` columns (kMinTextWidth or more), its columns continue in further blocks below.
std::string TextReport(const Report& report, int width);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_REPORT_TEXT_REPORT_H_
