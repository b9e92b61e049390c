#include "cli/report.h"

#include <glog/logging.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/json.h"
#include "cli/report_forecasts.h"
#include "cli/signals.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/io/file.h"
#include "runtime/report/html_report.h"
#include "runtime/report/text_report.h"
#include "runtime/tpu/accelerator.h"

namespace tpurun {
namespace {

constexpr int kDefaultWidth = 80;
constexpr int kMaxWidth = 1000;

// What is asked for, or the terminal's columns.
absl::StatusOr<int> TextWidth(const CommandLine& command) {
  if (!command.Has("width")) {
    winsize size = {};
    const bool terminal = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return terminal ? std::clamp<int>(size.ws_col, kMinTextWidth, kMaxWidth) : kDefaultWidth;
  }
  const int64_t width = command.GetInt("width");
  if (width >= kMinTextWidth && width <= kMaxWidth) return static_cast<int>(width);
  return absl::InvalidArgumentError(
      absl::StrCat("--width: got ", width, ", want ", kMinTextWidth, " to ", kMaxWidth));
}

// Mistakes of the command line, before anything is read.
absl::Status CheckFlags(const CommandLine& command) {
  const bool text = command.GetBool("text");
  if (command.Has("width") && !text) {
    return absl::InvalidArgumentError("--width is for --text, which is not given");
  }
  if (command.Has("output") ? command.GetString("output").empty() : !text) {
    return absl::InvalidArgumentError(
        "report needs --output=FILE.html for a page, --text for the terminal, or both");
  }
  for (const std::string& dir : command.arguments()) {
    if (dir.empty()) return absl::InvalidArgumentError("DIR: got \"\", want a folder");
  }
  if (command.GetString("output") == "-") {
    return absl::InvalidArgumentError("--output: got \"-\", want the name of a file");
  }
  return absl::OkStatus();
}

// Every event file of the report, which the page must not replace.
std::vector<std::string> EventFiles(const Report& report) {
  std::vector<std::string> files;
  for (const ReportRun& run : report.runs) {
    files.insert(files.end(), run.folder.event_files.begin(), run.folder.event_files.end());
  }
  return files;
}

absl::Status WritePage(const Report& report, const HtmlReport& page, const std::string& output) {
  ASSIGN_OR_RETURN(const FilePath file, ReplaceableFile(output, EventFiles(report)));
  RemoveOnInterrupt({TemporaryName(file).text()});
  return WriteFileAtomically(file, page.html);
}

}  // namespace

absl::Status ReportCommand(const CommandLine& command) {
  RETURN_IF_ERROR(CheckFlags(command));
  ASSIGN_OR_RETURN(const int width, TextWidth(command));
  std::optional<Accelerator> accelerator;
  if (command.Has("accelerator_type")) {
    ASSIGN_OR_RETURN(accelerator, ParseAcceleratorType(command.GetString("accelerator_type")));
  }
  ASSIGN_OR_RETURN(Report report, ReadReport(command.arguments()));
  if (accelerator.has_value()) AddForecasts(*accelerator, report);
  for (const std::string& warning : report.warnings) LOG(WARNING) << Escape(warning);
  if (command.Has("output")) {
    const std::string output = command.GetString("output");
    const HtmlReport page = MakeHtmlReport(report);
    RETURN_IF_ERROR(WritePage(report, page, output));
    if (!command.GetBool("text")) {
      return WriteResult({{"output", output},
                          {"runs", report.runs.size()},
                          {"points", page.points},
                          {"points_shown", page.points_kept},
                          {"bytes", page.html.size()}});
    }
  }
  return WriteOutput(TextReport(report, width));
}

}  // namespace tpurun
