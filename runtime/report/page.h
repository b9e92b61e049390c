// The report's page as it stands in report.html, report.css, chart.js and report.js: made into
// strings when tpurun is built.
#ifndef TPURUN_RUNTIME_REPORT_PAGE_H_
#define TPURUN_RUNTIME_REPORT_PAGE_H_

namespace tpurun {

// With {{style}}, {{script}} and {{data}} where the other two, and the report's JSON, go.
extern const char kPageHtml[];
extern const char kPageStyle[];
extern const char kPageScript[];

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_REPORT_PAGE_H_
