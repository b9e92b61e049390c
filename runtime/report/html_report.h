// A report as one HTML page that needs nothing else: no server, no network.
#ifndef TPURUN_RUNTIME_REPORT_HTML_REPORT_H_
#define TPURUN_RUNTIME_REPORT_HTML_REPORT_H_

#include <cstddef>
#include <string>

#include "runtime/report/report.h"

namespace tpurun {

struct HtmlReport {
  std::string html;
  size_t points = 0;       // of all curves
  size_t points_kept = 0;  // of those, in the page
};

// Curves keep kPagePoints points in all, images and texts kPageImageBytes and kPageTextBytes; the
// page says so where it left something out.
HtmlReport MakeHtmlReport(const Report& report);

// About 20 bytes a point: 3 MB.
inline constexpr size_t kPagePoints = 150'000;
// More than a screen has columns.
inline constexpr size_t kCurvePoints = 2'000;
inline constexpr size_t kPageImageBytes = 4 << 20;
inline constexpr size_t kPageTextBytes = 1 << 20;

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_REPORT_HTML_REPORT_H_
