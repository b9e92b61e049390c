// The events of a run through a report. Input: events, each as its length in two bytes, the lower
// first, and the serialized Event. They are framed as records here: a fuzzer does not find
// checksums by itself.
#include <algorithm>
#include <memory>
#include <string>

#include "absl/strings/str_split.h"
#include "glog/logging.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/io/file.h"
#include "runtime/io/record_writer.h"
#include "runtime/report/html_report.h"
#include "runtime/report/text_report.h"
#include "tests/fuzz/targets.h"

namespace tpurun {
namespace {

constexpr char kEventFile[] = "fuzz.tfevents";

std::string EventFile(std::string_view bytes) {
  std::string file;
  RecordWriter writer(std::make_unique<StringSink>(&file));
  while (!bytes.empty()) {
    const size_t low = TakeByte(&bytes);
    const size_t high = TakeByte(&bytes);
    const size_t length = std::min(low + 256 * high, bytes.size());
    CHECK(writer.Write(bytes.substr(0, length)).ok());
    bytes.remove_prefix(length);
  }
  CHECK(writer.Close().ok());
  return file;
}

// Nothing in the data can end the script that holds it.
void CheckPage(const std::string& html) {
  const std::string begin = "id=\"data\">";
  const size_t from = html.find(begin) + begin.size();
  CHECK_EQ(html.find('<', from), html.find("</script>", from));
}

void CheckText(const std::string& text) {
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    CHECK(IsPrintable({line.data(), line.size()})) << line;
  }
}

}  // namespace

absl::Status FuzzEvents(std::string_view bytes) {
  WriteScratch(kEventFile, EventFile(bytes));
  const absl::StatusOr<Report> report = ReadReport({DirName(ScratchPath(kEventFile))});
  if (!report.ok()) return report.status();
  CheckPage(MakeHtmlReport(*report).html);
  CheckText(TextReport(*report, kMinTextWidth));
  if (report->warnings.empty()) return absl::OkStatus();
  return absl::DataLossError(report->warnings.front());
}

}  // namespace tpurun
