#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/init_features.h"
#include "cli/init_lines.h"
#include "cli/init_plan.h"
#include "cli/init_times.h"
#include "data/csv.h"
#include "data/line_reader.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

using Kind = PlannedFeature::Kind;

// "pixel" of "pixel12".
std::string_view WithoutNumber(std::string_view title) {
  return title.substr(0, title.find_last_not_of("0123456789") + 1);  // npos + 1 is 0
}

class TablePlanner {
 public:
  TablePlanner(const InspectedTable& table, const TableOptions& options)
      : table_(table), options_(options) {
    plan_.is_table = true;
    plan_.is_json = table.is_json;
    plan_.delim = table.delim;
    plan_.skip_lines = table.skip_lines;
    for (size_t i = 0; i < table.columns.size(); ++i) {
      const FormattedColumn* const formatted = FormattedOf(i);
      columns_.push_back(formatted == nullptr ? &table.columns[i] : &formatted->values);
    }
  }

  absl::StatusOr<InitPlan> Plan() {
    RETURN_IF_ERROR(SetExamples(table_.rows, table_.held_out, table_.shards, plan_));
    RETURN_IF_ERROR(FindColumns());
    if (!plan_.is_json) plan_.na_values = FindNaValues(columns_);
    plan_.features.resize(columns_.size());
    for (size_t i = 0; i < plan_.features.size(); ++i) PlanColumn(i);
    if (const auto array = table_.arrays.find(plan_.label); array != table_.arrays.end()) {
      const std::string& wrong = array->second.wrong;
      return absl::DataLossError(absl::StrCat("label ", Quote(plan_.label_feature().title), ": is ",
                                              wrong.empty() ? "an array" : wrong,
                                              ", want a number or a text"));
    }
    RETURN_IF_ERROR(CheckNumbers());
    if (IsCode(plan_.label)) {
      RETURN_IF_ERROR(PlanLabel(columns_[plan_.label]->AsTexts(), plan_));
      NoteCode(plan_.label);
    } else {
      RETURN_IF_ERROR(PlanLabel(*columns_[plan_.label], plan_));
      NoteAssumption(plan_.label);
    }
    WarnOfLargeIntegers(plan_.label);
    SetClassNames(table_.class_names, plan_);
    plan_.text_model = options_.text.model;
    if (options_.text.given != nullptr && !plan_.has(Kind::kText)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--", options_.text.given,
                       " is for texts, and no column is one; --text=COLUMN names one"));
    }
    RETURN_IF_ERROR(CheckEncodings());
    if (!plan_.is_json) JoinRuns();
    if (options_.imputes) {
      for (PlannedFeature& feature : plan_.features) Impute(feature);
    }
    return FinishColumns();
  }

  absl::StatusOr<std::set<size_t>> TextColumns() {
    RETURN_IF_ERROR(FindColumns());
    std::set<size_t> columns = texts_;
    for (size_t i = 0; i < columns_.size(); ++i) {
      const bool has_role = i == plan_.label || ignored_.count(i) > 0 || ids_.count(i) > 0;
      if (!has_role && table_.arrays.count(i) == 0 && HasSentences(*columns_[i])) columns.insert(i);
    }
    return columns;
  }

  absl::StatusOr<InitPlan> PlanWindows(const SeriesOptions& options) {
    is_series_ = true;
    plan_.examples = table_.rows;  // for the columns; then the windows
    RETURN_IF_ERROR(FindColumns());
    ASSIGN_OR_RETURN(plan_.warnings, CheckTimes(table_, options.files, ignored_));
    plan_.na_values = FindNaValues(columns_);
    plan_.features.resize(columns_.size());
    RETURN_IF_ERROR(FindSeriesLabels(options.labels));
    for (size_t i = 0; i < plan_.features.size(); ++i) {
      PlanColumn(i);
      LeaveOutOfWindows(plan_.features[i]);
    }
    std::erase_if(made_, [this](const PlannedFeature& made) { return !IsMadeInWindows(made); });
    RETURN_IF_ERROR(PlanSizes(options));
    RETURN_IF_ERROR(PlanSeriesLabels());
    return FinishColumns();
  }

 private:
  // Texts of another encoding would be other words than those of a UTF-8 file, or one word for
  // many.
  absl::Status CheckEncodings() const {
    for (size_t i = 0; i < columns_.size(); ++i) {
      const PlannedFeature& feature = plan_.features[i];
      const std::string& where = columns_[i]->first_not_utf8();
      if (feature.dtype != proto::STRING || !IsUsed(feature) || where.empty()) continue;
      return absl::DataLossError(absl::StrCat(where, ": ", Quote(TitleOf(feature)), " ", kNotUtf8));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<InitPlan> FinishColumns() {
    for (PlannedFeature& feature : made_) plan_.features.push_back(std::move(feature));
    if (FoundByTitle()) {
      plan_.header = true;
      plan_.skip_lines = 0;
    } else {
      WarnOfRepeatedTitle();
    }
    RETURN_IF_ERROR(FinishPlan(plan_));
    return std::move(plan_);
  }

  // ---- of a series

  bool IsMadeInWindows(const PlannedFeature& made) const {
    for (const PlannedFeature& feature : plan_.features) {
      for (const auto& [name, part] : feature.times) {
        if (name == made.name) return true;
      }
    }
    return false;
  }

  // The window and what is held out: windows whose label is in the last tenth of the rows.
  absl::Status PlanSizes(const SeriesOptions& options) {
    PlannedSeries& series = plan_.series;
    series.rows = table_.rows;
    series.train_rows = table_.rows - table_.held_out;
    series.horizon = options.horizon;
    series.model = options.model;
    series.window = options.window > 0
                        ? options.window
                        : std::clamp<int64_t>(series.train_rows / 10, 1, kDefaultWindow);
    plan_.shards = kNoShards;
    plan_.train_examples = series.train_rows - series.span() + 1;
    plan_.examples = plan_.train_examples + table_.held_out;
    constexpr int64_t kFewestWindows = 10;
    if (plan_.train_examples >= kFewestWindows) return absl::OkStatus();
    return absl::DataLossError(
        absl::StrCat("got ", Plural(table_.rows, "row"), ", want ",
                     (series.span() - 1 + kFewestWindows) * 10 / 9 + 1, " or more for windows of ",
                     series.window, " rows, a horizon of ", series.horizon,
                     " and a last tenth to evaluate with; --window=N makes shorter ones"));
  }

  absl::Status FindSeriesLabels(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      ASSIGN_OR_RETURN(const size_t column, FindColumn(name, "--label"));
      if (IsSeriesLabel(column)) {
        return absl::InvalidArgumentError(
            absl::StrCat("--label: column ", Quote(name), " is named twice"));
      }
      series_labels_.push_back(column);
    }
    return absl::OkStatus();
  }

  bool IsSeriesLabel(size_t column) const {
    return std::find(series_labels_.begin(), series_labels_.end(), column) != series_labels_.end();
  }

  absl::Status PlanSeriesLabels() {
    for (size_t i = plan_.features.size(); series_labels_.empty() && i > 0; --i) {
      if (plan_.features[i - 1].kind == Kind::kNumber) series_labels_ = {i - 1};
    }
    if (series_labels_.empty()) {
      return absl::DataLossError(
          "no column is of numbers that change and do not count the rows; --label=COLUMN names one "
          "that does");
    }
    plan_.label = series_labels_.front();
    for (const size_t column : series_labels_) {
      const PlannedFeature& feature = plan_.features[column];
      const std::string title = TitleOf(feature);
      if (feature.kind != Kind::kNumber) {
        return absl::DataLossError(absl::StrCat("label ", Quote(title), ": want numbers, got ",
                                                feature.kind == Kind::kTime ? "times" : "",
                                                feature.comment));
      }
      if (feature.has_default) {
        const int64_t missing = columns_[column]->Missing(plan_.na_values);
        return absl::DataLossError(absl::StrCat("label ", Quote(title), ": missing ",
                                                Plural(missing, "time"),
                                                "; fill them in: rows left out would be gaps"));
      }
      PlannedFeature label;
      label.kind = Kind::kLabel;
      label.title = feature.name;
      label.name = names_.Take(absl::StrCat(feature.name, "_ahead"));
      label.mean = feature.mean;
      label.stddev = feature.stddev;
      plan_.series.labels.push_back(std::move(label));
    }
    return absl::OkStatus();
  }

  // ---- of any table

  std::string NameOf(size_t column) const {
    const std::string name = table_.titles.empty() ? "" : LegalName(table_.titles[column]);
    return name.empty() ? absl::StrCat("column_", column + 1) : name;
  }

  // Arrays of numbers.
  void PlanArray(const InspectedArray& array, PlannedFeature& feature) {
    if (!array.wrong.empty()) return LeaveOut(array.wrong, feature);
    if (!(array.train.min < array.train.max)) return LeaveOut("always the same number", feature);
    feature.kind = Kind::kNumber;
    feature.shape = array.shape;
    feature.comment = absl::StrCat("arrays of numbers, ", RangeText(array.all));
    // An element that is missing has one default_value for all.
    if (!is_series_ && array.missing == 0 && !array.elements.empty()) {
      return SetScale(array.elements, feature);
    }
    feature.mean = {static_cast<float>(array.train.mean)};
    feature.stddev = {PositiveOr1(array.train.stddev())};
    if (array.missing == 0) return;
    feature.has_default = true;
    feature.default_value = ShortestText(feature.mean[0]);
    absl::StrAppend(&feature.comment, "; missing ", Plural(array.missing, "time"), ": the mean");
  }

  // Ids of JSON that are no texts, but numbers or several kinds of values.
  void PlanJsonIds(const InspectedColumn& column, PlannedFeature& feature) {
    if (column.numbers() == 0) return;
    if (column.texts() > 0 || !column.integers() || !FitsInt64(column)) {
      return LeaveOut("ids must be all texts or all integers of 64 bits", feature);
    }
    if (feature.kind != Kind::kCategory) return;
    feature.dtype = proto::INT64;
    feature.default_value = absl::StrCat(std::numeric_limits<int64_t>::min());  // no word
  }

  const FormattedColumn* FormattedOf(size_t column) const {
    const auto found = table_.formatted.find(column);
    return found == table_.formatted.end() ? nullptr : &found->second;
  }

  absl::StatusOr<size_t> FindColumn(const std::string& name, const char* flag) const {
    std::vector<std::string> known;
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (!table_.titles.empty() && table_.titles[i] == name) return i;
      known.push_back(NameOf(i));
    }
    const auto found = std::find(known.begin(), known.end(), name);
    if (found != known.end()) return found - known.begin();
    return absl::InvalidArgumentError(
        absl::StrCat(flag, ": no column is called ", Quote(name), DidYouMean(name, known)));
  }

  // The columns that the options name.
  absl::Status FindColumns() {
    std::map<size_t, std::string> flags;
    const auto add = [&](const std::string& name, const char* flag) -> absl::StatusOr<size_t> {
      ASSIGN_OR_RETURN(const size_t column, FindColumn(name, flag));
      const auto [place, is_new] = flags.emplace(column, flag);
      if (is_new || place->second == flag) return column;
      return absl::InvalidArgumentError(
          absl::StrCat(flag, ": column ", Quote(name), " is named by ", place->second, " too"));
    };
    for (const std::string& name : options_.ignore) {
      ASSIGN_OR_RETURN(const size_t column, add(name, "--ignore"));
      ignored_.insert(column);
    }
    for (const std::string& name : options_.ids) {
      ASSIGN_OR_RETURN(const size_t column, add(name, "--ids"));
      ids_.insert(column);
    }
    for (const std::string& name : options_.texts) {
      ASSIGN_OR_RETURN(const size_t column, add(name, "--text"));
      const InspectedColumn& seen = table_.columns[column];
      if (table_.arrays.count(column) > 0 || (table_.is_json && seen.numbers() > 0)) {
        return absl::InvalidArgumentError(
            absl::StrCat("--text: column ", Quote(name), " has other values than texts"));
      }
      texts_.insert(column);
    }
    // Not one of `flags`: the label may be one.
    for (const std::string& name : options_.numbers) {
      ASSIGN_OR_RETURN(const size_t column, FindColumn(name, "--numbers"));
      const auto other = flags.find(column);
      if (other != flags.end()) {
        return absl::InvalidArgumentError(absl::StrCat("--numbers: column ", Quote(name),
                                                       " is named by ", other->second, " too"));
      }
      numbers_.insert(column);
    }
    if (options_.label.empty()) {
      size_t last = columns_.size() - 1;
      while (last > 0 && flags.count(last) > 0) --last;
      plan_.label = last;
    } else {
      ASSIGN_OR_RETURN(plan_.label, add(options_.label, "--label"));
    }
    if (is_series_) return absl::OkStatus();
    // A label that is a time is a text.
    const FormattedColumn* const label = FormattedOf(plan_.label);
    if (label != nullptr && label->format.is_time()) {
      columns_[plan_.label] = &table_.columns[plan_.label];
    }
    // Ids are texts as they are written.
    for (const size_t column : ids_) columns_[column] = &table_.columns[column];
    for (const size_t column : texts_) columns_[column] = &table_.columns[column];
    return absl::OkStatus();
  }

  // Whether zeros lead the numbers of a column, and it is not said that they are numbers.
  bool IsCode(size_t column) const {
    return !is_series_ && columns_[column]->has_codes() &&
           columns_[column]->IsNumber(plan_.na_values) && numbers_.count(column) == 0;
  }

  absl::Status CheckNumbers() const {
    for (const size_t column : numbers_) {
      if (columns_[column]->IsNumber(plan_.na_values)) continue;
      return absl::InvalidArgumentError(absl::StrCat("--numbers: column ", Quote(NameOf(column)),
                                                     " has other values than numbers"));
    }
    return absl::OkStatus();
  }

  void NoteCode(size_t column) {
    const PlannedFeature& feature = plan_.features[column];
    if (feature.kind == Kind::kLeftOut) return;
    const std::string& name = TitleOf(feature);
    plan_.notes.push_back(absl::StrCat("The values of ", Quote(name),
                                       " are taken for codes, not numbers: zeros lead them, as in ",
                                       ShownField(columns_[column]->first_code()),
                                       ". --numbers=", ShellWord(name), " makes numbers of them"));
  }

  void PlanColumn(size_t i) {
    PlannedFeature& feature = plan_.features[i];
    const bool is_label = !is_series_ && i == plan_.label;
    if (!table_.titles.empty()) feature.title = feature.field_title = table_.titles[i];
    feature.name = names_.Take(is_label && table_.titles.empty() ? "label" : NameOf(i));
    const FormattedColumn* const formatted = FormattedOf(i);
    const bool is_time = formatted != nullptr && formatted->format.is_time();
    if (formatted != nullptr && !is_time) feature.number_format = formatted->format.number;
    if (is_label) return;
    if (ignored_.count(i) > 0) {
      LeaveOut("--ignore names it", feature);
    } else if (ids_.count(i) > 0) {
      PlanIds(*columns_[i], plan_.na_values, feature);
      if (plan_.is_json) PlanJsonIds(*columns_[i], feature);
    } else if (const auto words = table_.texts.find(i); words != table_.texts.end()) {
      PlanWords(*columns_[i], words->second, options_.text, feature);
    } else if (const auto array = table_.arrays.find(i); array != table_.arrays.end()) {
      PlanArray(array->second, feature);
    } else if (plan_.is_json && columns_[i]->numbers() > 0 && columns_[i]->texts() > 0 &&
               formatted == nullptr) {
      LeaveOut("numbers and texts", feature);
    } else if (is_time && formatted->values.IsNumber(plan_.na_values)) {
      PlanTimes(*formatted, feature);
    } else if (IsCode(i)) {
      PlanCodes(*columns_[i], plan_.na_values, plan_.examples, feature);
      NoteCode(i);
    } else {
      PlanScalar(*columns_[i], plan_.na_values, plan_.examples, IsSeriesLabel(i), feature);
    }
    if (feature.kind == Kind::kLeftOut) feature.dtype = proto::STRING;
    if (feature.kind == Kind::kCategory)
      NoteMissingWords(*columns_[i], plan_.na_values, feature, plan_.notes);
    NoteAssumption(i);
    WarnOfLargeIntegers(i);
    if (feature.kind != Kind::kNumber && feature.kind != Kind::kTime) return;
    if (options_.missing_indicator && feature.has_default) AddIndicator(feature);
  }

  // What stands for a value that no row to train on lacks.
  void Impute(PlannedFeature& feature) const {
    if (feature.has_default || feature.is_made || feature.mean.size() > 1) return;
    switch (feature.kind) {
      case Kind::kNumber:
        feature.default_value = FormatValue(feature.mean[0], {.number = feature.number_format});
        break;
      case Kind::kTime:  // of the time: PlanTimes has set it
      case Kind::kCategory:
        break;
      default:
        return;
    }
    feature.has_default = true;
  }

  // Says what was assumed of a column of numbers or times that can be read in two ways.
  void NoteAssumption(size_t column) {
    PlannedFeature& feature = plan_.features[column];
    if (feature.kind != Kind::kNumber && feature.kind != Kind::kTime &&
        feature.kind != Kind::kLabel) {
      return;
    }
    const FormattedColumn* const formatted = FormattedOf(column);
    const auto assumed = table_.assumptions.find(column);
    const std::string& assumption = formatted != nullptr ? formatted->format.assumption
                                    : assumed != table_.assumptions.end() ? assumed->second
                                                                          : std::string();
    if (assumption.empty()) return;
    const std::string said = absl::StrCat(Quote(TitleOf(feature)), ": ", assumption);
    if (formatted != nullptr && formatted->format.mixes_units) {
      plan_.warnings.push_back(absl::StrCat(said, "; write them in one unit"));
    } else {
      plan_.notes.push_back(absl::StrCat(said, "; run.textproto has the format"));
    }
    if (feature.kind != Kind::kTime) absl::StrAppend(&feature.comment, "; ", assumption);
  }

  void WarnOfLargeIntegers(size_t column) {
    const PlannedFeature& feature = plan_.features[column];
    const bool is_label = feature.kind == Kind::kLabel;
    if (feature.kind != Kind::kNumber && (!is_label || !plan_.is_regression())) return;
    if (table_.arrays.count(column) > 0) return;
    std::string warning = LargeIntegersWarning(*columns_[column], feature, !is_series_);
    if (!warning.empty()) plan_.warnings.push_back(std::move(warning));
  }

  void PlanTimes(const FormattedColumn& column, PlannedFeature& feature) {
    std::vector<PlannedFeature> planned = PlanTime(
        column, plan_.na_values, feature,
        [&](const char* part) { return names_.Take(absl::StrCat(feature.name, "_", part)); });
    feature = std::move(planned[0]);
    std::move(planned.begin() + 1, planned.end(), std::back_inserter(made_));
  }

  void AddIndicator(PlannedFeature& feature) {
    PlannedFeature indicator;
    indicator.kind = Kind::kIndicator;
    indicator.is_made = true;
    indicator.shape = feature.shape;
    indicator.name = feature.missing_indicator =
        names_.Take(absl::StrCat(feature.name, "_is_missing"));
    made_.push_back(std::move(indicator));
  }

  // A number without missing values that never changes.
  bool IsConstantNumber(size_t column) const {
    const InspectedColumn& seen = *columns_[column];
    return plan_.features[column].kind == Kind::kLeftOut && ignored_.count(column) == 0 &&
           FormattedOf(column) == nullptr && seen.IsNumber(plan_.na_values) &&
           seen.Missing(plan_.na_values) == 0 && seen.train().min == seen.train().max;
  }

  bool IsNumber(size_t column) const {
    const PlannedFeature& feature = plan_.features[column];
    return feature.kind == Kind::kNumber && !feature.has_default &&
           feature.number_format.is_plain();
  }

  // Whether the column is named as the next of the one before: without names, or by its number.
  bool Continues(size_t column) const {
    if (table_.titles.empty()) return true;
    return CountedName(table_.titles[column - 1], 1) == table_.titles[column];
  }

  // The end of the run of numbers that begins with the column.
  template <typename Belongs>
  size_t RunEnd(size_t begin, const Belongs& belongs) const {
    size_t end = begin;
    while (end < plan_.features.size() && belongs(end) && (end == begin || Continues(end))) ++end;
    return end;
  }

  // Neighbouring numbers become one feature: all of a long run, what is constant included, and of a
  // short one what lies between those.
  void JoinRuns() {
    const auto number = [this](size_t column) { return IsNumber(column); };
    const auto number_or_constant = [this](size_t column) {
      return IsNumber(column) || IsConstantNumber(column);
    };
    std::vector<PlannedFeature> joined;
    size_t label = 0;
    for (size_t begin = 0; begin < plan_.features.size();) {
      size_t end = RunEnd(begin, number_or_constant);
      int64_t numbers = 0;
      for (size_t i = begin; i < end; ++i) numbers += IsNumber(i);
      if (numbers < static_cast<int64_t>(kLongRun)) end = RunEnd(begin, number);
      // Columns of one scale share a default_value.
      if (options_.imputes && end > begin && !AreAlike(Trained(begin, end))) end = begin + 1;
      if (end < begin + 2) {
        if (begin == plan_.label) label = joined.size();
        joined.push_back(std::move(plan_.features[begin++]));
        continue;
      }
      joined.push_back(JoinRun(begin, end));
      begin = end;
    }
    plan_.features = std::move(joined);
    plan_.label = label;
  }

  // Statistics of the training part of columns.
  std::vector<NumberStatistics> Trained(size_t begin, size_t end) const {
    std::vector<NumberStatistics> trained;
    for (size_t i = begin; i < end; ++i) trained.push_back(columns_[i]->train());
    return trained;
  }

  PlannedFeature JoinRun(size_t begin, size_t end) {
    PlannedFeature joined;
    joined.kind = Kind::kNumber;
    joined.columns = static_cast<int64_t>(end - begin);
    joined.shape = {joined.columns};
    std::string name;
    if (!table_.titles.empty()) {
      joined.field_title = table_.titles[begin];
      name = LegalName(WithoutNumber(table_.titles[begin]));
      joined.title = absl::StrCat(table_.titles[begin], " to ", table_.titles[end - 1]);
    }
    joined.name = names_.Take(name.empty() ? absl::StrCat("columns_", begin + 1, "_", end) : name);
    NumberStatistics all;
    int64_t constant = 0;
    for (size_t i = begin; i < end; ++i) {
      all.Merge(columns_[i]->all());
      constant += !IsNumber(i);
    }
    joined.comment = absl::StrCat(joined.columns, " numbers, ", RangeText(all));
    if (constant > 0) absl::StrAppend(&joined.comment, "; ", constant, " constant");
    SetScale(Trained(begin, end), joined);
    return joined;
  }

  void WarnOfRepeatedTitle() {
    if (plan_.is_json) return;
    std::set<std::string> seen;
    for (const std::string& title : table_.titles) {
      if (title.empty() || seen.insert(title).second) continue;
      plan_.warnings.push_back(
          absl::StrCat("The header has ", Quote(title),
                       " twice: columns are found by their place, and every file must have them in "
                       "this order"));
      return;
    }
  }

  // Whether the header tells each column that is used from all others.
  bool FoundByTitle() const {
    if (table_.titles.empty() || plan_.is_json) return false;
    const auto is_one = [this](const std::string& title) {
      return !title.empty() && std::count(table_.titles.begin(), table_.titles.end(), title) == 1;
    };
    for (const PlannedFeature& feature : plan_.features) {
      if (feature.kind == Kind::kLeftOut || feature.is_made) continue;
      const auto begin = std::find(table_.titles.begin(), table_.titles.end(), feature.field_title);
      for (int64_t i = 0; i < feature.columns; ++i) {
        if (!is_one(begin[i])) return false;
      }
    }
    return true;
  }

  const InspectedTable& table_;
  const TableOptions& options_;
  // As they are read: the formatted ones as numbers.
  std::vector<const InspectedColumn*> columns_;
  std::set<size_t> ignored_, ids_, texts_, numbers_;
  bool is_series_ = false;
  std::vector<size_t> series_labels_;  // columns: those that --label names, or the last of numbers
  InitPlan plan_;
  std::vector<PlannedFeature> made_;  // from columns
  UniqueNames names_;
};

}  // namespace

absl::StatusOr<std::set<size_t>> FindTextColumns(const InspectedTable& table,
                                                 const TableOptions& options) {
  return TablePlanner(table, options).TextColumns();
}

absl::StatusOr<InitPlan> PlanTable(const InspectedTable& table, const TableOptions& options) {
  return TablePlanner(table, options).Plan();
}

absl::StatusOr<InitPlan> PlanSeries(const InspectedTable& table, const SeriesOptions& options) {
  const TableOptions columns = {.ignore = options.ignore};
  return TablePlanner(table, columns).PlanWindows(options);
}

}  // namespace tpurun
