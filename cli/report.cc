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
#include "cli/report_models.h"
#include "cli/signals.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/io/checkpoint_state.h"
#include "runtime/io/file.h"
#include "runtime/report/comparison.h"
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

bool PrintsText(const CommandLine& command) {
  return command.GetBool("text") || (command.Has("format") && !PrintsJson(command));
}

// What is compared stands on standard output, not only the name of a page.
bool Prints(const CommandLine& command) { return PrintsText(command) || PrintsJson(command); }

// Mistakes of the command line, before anything is read.
absl::Status CheckFlags(const CommandLine& command) {
  const bool text = PrintsText(command);
  if (command.Has("width") && !text) {
    return absl::InvalidArgumentError("--width is for --text, which is not given");
  }
  if (command.GetBool("text") && PrintsJson(command)) {
    return absl::InvalidArgumentError("--text and --format=json: want one of them");
  }
  if (command.Has("output") ? command.GetString("output").empty() : !Prints(command)) {
    return absl::InvalidArgumentError(
        "report needs --output=FILE.html for a page, --text for the terminal, --format=json for "
        "other programs, or a page and one of these");
  }
  if (command.Has("mode") && !command.Has("sort_by")) {
    return absl::InvalidArgumentError("--mode is for --sort_by, which is not given");
  }
  for (const std::string& dir : command.arguments()) {
    if (dir.empty()) return absl::InvalidArgumentError("DIR: got \"\", want a folder");
  }
  const std::string output = command.GetString("output");
  if (output == "-") {
    return absl::InvalidArgumentError("--output: got \"-\", want the name of a file");
  }
  if (output.ends_with(".json")) {
    return absl::InvalidArgumentError(
        absl::StrCat("--output: got ", Quote(output),
                     ", want the name of an HTML page, such as report.html; --format=json prints "
                     "JSON on standard output, which > writes into a file"));
  }
  return absl::OkStatus();
}

// By --sort_by and --mode.
absl::Status Sort(const CommandLine& command, Report& report) {
  if (!command.Has("sort_by")) return absl::OkStatus();
  std::optional<MetricMode> mode;
  if (command.Has("mode")) {
    mode = ParseMode(command.GetString("mode"));
    if (!mode.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--mode: got ", Quote(command.GetString("mode")), ", want MIN or MAX"));
    }
  }
  absl::StatusOr<size_t> column = FindMetric(report, command.GetString("sort_by"));
  if (!column.ok()) return Annotate(column.status(), "--sort_by");
  const absl::Status sorted = SortByMetric(*column, mode, report);
  return sorted.ok() ? sorted : Annotate(sorted, "--sort_by");
}

// The files of the report's trainings, which the page must not replace.
std::vector<std::string> FilesOf(const Report& report) {
  std::vector<std::string> files;
  for (const ReportRun& run : report.runs) {
    const std::vector<std::string> of_run = FilesOfTraining(run.folder.path);
    files.insert(files.end(), of_run.begin(), of_run.end());
  }
  return files;
}

absl::Status WritePage(const Report& report, const HtmlReport& page, const std::string& output) {
  ASSIGN_OR_RETURN(const FilePath file, ReplaceableFile(output, FilesOf(report)));
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
  RETURN_IF_ERROR(Sort(command, report));
  if (accelerator.has_value()) AddForecasts(*accelerator, report);
  if (command.Has("output")) AddModels(report);
  for (const std::string& warning : report.warnings) LOG(WARNING) << Escape(warning);
  if (command.Has("output")) {
    const std::string output = command.GetString("output");
    const HtmlReport page = MakeHtmlReport(report);
    RETURN_IF_ERROR(WritePage(report, page, output));
    if (!Prints(command)) {
      return WriteResult({{"output", output},
                          {"runs", report.rows.size()},
                          {"points", page.points},
                          {"points_shown", page.points_kept},
                          {"bytes", page.html.size()}});
    }
  }
  if (PrintsJson(command)) return WriteOutput(JsonReport(report) + "\n");
  return WriteOutput(TextReport(report, width));
}

}  // namespace tpurun
