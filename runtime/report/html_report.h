// A report as one self-contained HTML page: it needs no server and no network.
#ifndef TPURUN_RUNTIME_REPORT_HTML_REPORT_H_
#define TPURUN_RUNTIME_REPORT_HTML_REPORT_H_

#include <cstddef>
#include <string>

#include "runtime/report/report.h"

namespace tpurun {

struct HtmlReport {
  std::string html;
  size_t points = 0;       // points of all curves
  size_t points_kept = 0;  // points of these that the page has
};

// All curves together keep at most kPagePoints points. Images have at most kPageImageBytes bytes in
// all, texts kPageTextBytes. The page mentions what was left out.
HtmlReport MakeHtmlReport(const Report& report);

// About 20 bytes per point: 3 MB.
inline constexpr size_t kPagePoints = 150'000;
// Points per curve: more than a screen has columns.
inline constexpr size_t kCurvePoints = 2'000;
inline constexpr size_t kPageImageBytes = 4 << 20;
inline constexpr size_t kPageTextBytes = 1 << 20;

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_REPORT_HTML_REPORT_H_
