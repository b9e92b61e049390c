// The contents of report.html, report.css and the scripts as strings, made when tpurun is built.
#ifndef TPURUN_RUNTIME_REPORT_PAGE_H_
#define TPURUN_RUNTIME_REPORT_PAGE_H_

namespace tpurun {

// The page with {{style}}, {{script}} and {{data}} as places for kPageStyle, kPageScript and the
// JSON of the report.
extern const char kPageHtml[];
extern const char kPageStyle[];
extern const char kPageScript[];

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_REPORT_PAGE_H_
