#include "cli/init_times.h"

#include <cmath>
#include <cstdint>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/init_features.h"
#include "cli/init_lines.h"
#include "data/csv.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

std::string FileOfRow(const std::string& where) { return where.substr(0, where.rfind(':')); }

// "12 days", "1h30m".
std::string SpanText(double days) {
  if (days < 1) return absl::FormatDuration(absl::Seconds(std::round(days * 86400)));
  const float rounded = static_cast<float>(std::round(days * 10) / 10);
  return absl::StrCat(ShortestText(rounded), rounded == 1 ? " day" : " days");
}

std::string ColumnName(const InspectedTable& table, size_t column) {
  return table.titles.empty() || table.titles[column].empty() ? absl::StrCat("column_", column + 1)
                                                              : table.titles[column];
}

// The command line that runs a filter on the rows of a file. `awk 1` ends the last line, if it must
// be.
std::string Rewrite(const InspectedTable& table, const std::string& file,
                    const std::string& filter) {
  const std::string from = ShellWord(file);
  if (table.skip_lines == 0) return absl::StrCat("awk 1 ", from, " | ", filter, " >sorted.csv");
  return absl::StrCat("(head -n ", table.skip_lines, " ", from, "; tail -n +", table.skip_lines + 1,
                      " ", from, " | awk 1 | ", filter, ") >sorted.csv");
}

using Times = std::map<size_t, TimeSteps>;
Times::const_iterator ChooseTimes(const InspectedTable& table, const std::set<size_t>& ignored) {
  auto chosen = table.times.end();
  for (auto it = table.times.begin(); it != table.times.end(); ++it) {
    const TimeSteps& steps = it->second;
    if (ignored.count(it->first) > 0 || steps.rises() + steps.falls() == 0) continue;
    if (steps.falls() == 0) return it;
    if (chosen == table.times.end()) chosen = it;
  }
  return chosen;
}

class RowTimes {
 public:
  RowTimes(const InspectedTable& table, size_t column, const TimeSteps& steps)
      : table_(table), column_(column), steps_(steps) {}

  absl::Status CheckOrder() const {
    const TimeStep& fall = steps_.first_fall();
    if (steps_.falls() == 0) return absl::OkStatus();
    const std::string& assumption = format().assumption;
    return absl::DataLossError(absl::StrCat(
        Name(), ": got ", ShownField(fall.to), " at ", fall.to_where, " after ",
        ShownField(fall.from), " at ", fall.from_where,
        assumption.empty() ? "" : absl::StrCat(" (", assumption, ")"),
        ", want rows in the order of time, the oldest first; ", HowToSort(),
        "; --ignore=", ShellWord(ColumnName(table_, column_)), " takes them as they come"));
  }

  void Warn(std::vector<std::string>& warnings) const {
    if (steps_.repeats() > 0) {
      const TimeStep& repeat = steps_.first_repeat();
      warnings.push_back(absl::StrCat(
          Name(), ": ", Plural(steps_.repeats(), "row"), steps_.repeats() == 1 ? " has" : " have",
          " the time of the row before, the first at ", repeat.to_where, ": ",
          ShownField(repeat.to),
          "; several series, such as those of several places, need a file and a model each"));
    }
    const TimeGaps gaps = steps_.FindGaps();
    if (gaps.count == 0) return;
    const std::string usual =
        absl::StrCat(SpanText(gaps.usual_days), gaps.skips_weekends ? " without weekends" : "");
    const std::string longest =
        absl::StrCat(SpanText(gaps.largest.days), ", from ", ShownField(gaps.largest.from), " to ",
                     ShownField(gaps.largest.to), " at ", gaps.largest.to_where,
                     "; a window counts rows, whatever their times are: ");
    constexpr int64_t kMany = 5;
    if (gaps.count * kMany > steps_.rises()) {
      warnings.push_back(absl::StrCat(Name(), ": the rows are not equally far apart: ", usual,
                                      " in the median, at most ", longest,
                                      "resample them to equal steps"));
    } else {
      warnings.push_back(absl::StrCat(Name(), ": ", Plural(gaps.count, "gap"), " between rows ",
                                      usual, " apart, the largest of ", longest,
                                      "put the missing rows in"));
    }
  }

 private:
  std::string Name() const { return absl::StrCat("column ", Quote(ColumnName(table_, column_))); }

  std::string HowToSort() const {
    const TimeStep& fall = steps_.first_fall();
    const std::string file = FileOfRow(fall.to_where);
    if (steps_.falls() == 1 && file != FileOfRow(fall.from_where)) {
      return "name the files in the order of time, or run init for each of several series";
    }
    if (steps_.rises() == 0) {
      return absl::StrCat("all rows are the other way round: ", Rewrite(table_, file, "tac"),
                          " turns them");
    }
    const std::string sorted = SortCommand();
    return absl::StrCat(steps_.falls(), " of ", table_.rows, " rows ",
                        steps_.falls() == 1 ? "is" : "are",
                        " earlier than the row before; sort them",
                        sorted.empty() ? "" : absl::StrCat(": ", Rewrite(table_, file, sorted)),
                        ", or divide several series into a file and a model each");
  }

  const ColumnFormat& format() const { return table_.formatted.at(column_).format; }

  // Times that begin with the year are sorted as texts with numbers, which may lack zeros.
  std::string SortCommand() const {
    const std::string& format = this->format().time_format;
    const bool has_offset = absl::EndsWith(format, "%Ez");
    if (!absl::StartsWith(format, "%Y") || absl::StrContains(format, "%I") || has_offset) return "";
    const std::string delim = table_.delim == '\t' ? "$'\\t'" : ShellWord({table_.delim});
    return absl::StrCat("LC_ALL=C sort -s -t", delim, " -k", column_ + 1, ",", column_ + 1, "V");
  }

  const InspectedTable& table_;
  const size_t column_;
  const TimeSteps& steps_;
};

}  // namespace

absl::StatusOr<std::vector<std::string>> CheckTimes(const InspectedTable& table, size_t files,
                                                    const std::set<size_t>& ignored) {
  std::vector<std::string> warnings;
  const auto chosen = ChooseTimes(table, ignored);
  if (chosen != table.times.end()) {
    const RowTimes times(table, chosen->first, chosen->second);
    RETURN_IF_ERROR(times.CheckOrder());
    times.Warn(warnings);
    return warnings;
  }
  if (files > 1) {
    warnings.push_back(absl::StrCat(files,
                                    " files are taken as one series, in this order: a "
                                    "window may begin in one and end in the next; if they are "
                                    "several series, run init for each"));
  }
  // Such as seconds since 1970, or years.
  constexpr int64_t kFewestRows = 20;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const InspectedColumn& column = table.columns[i];
    if (ignored.count(i) > 0 || table.rows < kFewestRows) continue;
    if (!column.integers() || !column.falls()) continue;
    warnings.push_back(absl::StrCat("column ", Quote(ColumnName(table, i)),
                                    " falls from row to row: if it is the time, turn the rows "
                                    "by tac, to have the oldest first"));
  }
  return warnings;
}

}  // namespace tpurun
