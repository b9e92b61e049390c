#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/init_features.h"
#include "cli/init_plan.h"
#include "data/csv.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

using Kind = PlannedFeature::Kind;

// A run of numbers this long is one thing, such as the pixels of an image.
constexpr size_t kLongRun = 16;

// "pixel" of "pixel12".
std::string_view WithoutNumber(std::string_view title) {
  return title.substr(0, title.find_last_not_of("0123456789") + 1);  // npos + 1 is 0
}

// The text for a missing value with which the most columns are numbers.
std::string ChooseNaValue(const std::vector<InspectedColumn>& columns) {
  std::string best;
  int64_t most = 0;
  for (const std::string_view text : kMissingTexts) {
    const int64_t numbers =
        std::count_if(columns.begin(), columns.end(), [text](const InspectedColumn& column) {
          return column.texts() > 0 && column.IsNumber(text);
        });
    if (numbers <= most) continue;
    most = numbers;
    best = text;
  }
  return best;
}

class TablePlanner {
 public:
  explicit TablePlanner(const InspectedTable& table) : table_(table) {
    plan_.is_table = true;
    plan_.delim = table.delim;
    plan_.skip_lines = table.skip_lines;
    plan_.na_value = ChooseNaValue(table.columns);
  }

  absl::StatusOr<InitPlan> Plan(const std::string& label) {
    RETURN_IF_ERROR(SetExamples(table_.rows, table_.held_out, table_.shards, plan_));
    ASSIGN_OR_RETURN(const size_t label_column, FindLabel(label));
    plan_.label = label_column;
    plan_.features.resize(table_.columns.size());
    for (size_t i = 0; i < plan_.features.size(); ++i) {
      PlannedFeature& feature = plan_.features[i];
      if (!table_.titles.empty()) feature.title = feature.field_title = table_.titles[i];
      feature.name = names_.Take(i == label_column && table_.titles.empty() ? "label" : NameOf(i));
      if (i == label_column) continue;
      PlanScalar(table_.columns[i], plan_.na_value, plan_.examples, feature);
      if (feature.kind == Kind::kLeftOut) feature.dtype = proto::STRING;
    }
    RETURN_IF_ERROR(PlanLabel(table_.columns[label_column], plan_));
    if (table_.class_names.size() == plan_.classes.size()) plan_.class_names = table_.class_names;
    JoinRuns();
    if (FoundByTitle()) {
      plan_.header = true;
      plan_.skip_lines = 0;
    }
    RETURN_IF_ERROR(FinishPlan(plan_));
    return std::move(plan_);
  }

 private:
  std::string NameOf(size_t column) const {
    const std::string name = table_.titles.empty() ? "" : LegalName(table_.titles[column]);
    return name.empty() ? absl::StrCat("column_", column + 1) : name;
  }

  absl::StatusOr<size_t> FindLabel(const std::string& label) const {
    if (label.empty()) return table_.columns.size() - 1;
    std::vector<std::string> known;
    for (size_t i = 0; i < table_.columns.size(); ++i) {
      if (!table_.titles.empty() && table_.titles[i] == label) return i;
      known.push_back(NameOf(i));
    }
    const auto found = std::find(known.begin(), known.end(), label);
    if (found != known.end()) return found - known.begin();
    return absl::InvalidArgumentError(
        absl::StrCat("--label: no column is called ", Quote(label), DidYouMean(label, known)));
  }

  // A number without missing values that never changes.
  bool IsConstantNumber(size_t column) const {
    const InspectedColumn& seen = table_.columns[column];
    return plan_.features[column].kind == Kind::kLeftOut && seen.IsNumber(plan_.na_value) &&
           seen.Missing(plan_.na_value) == 0 && seen.train().min == seen.train().max;
  }

  bool IsNumber(size_t column) const {
    return plan_.features[column].kind == Kind::kNumber && !plan_.features[column].has_default;
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
    NumberStatistics all, train;
    int64_t constant = 0;
    for (size_t i = begin; i < end; ++i) {
      all.Merge(table_.columns[i].all());
      train.Merge(table_.columns[i].train());
      constant += !IsNumber(i);
    }
    joined.comment = absl::StrCat(joined.columns, " numbers, ", RangeText(all));
    if (constant > 0) absl::StrAppend(&joined.comment, "; ", constant, " constant");
    if (AreAlike(begin, end, train)) {
      joined.mean = {static_cast<float>(train.mean)};
      joined.stddev = {PositiveOr1(train.stddev())};
      return joined;
    }
    for (size_t i = begin; i < end; ++i) {
      const NumberStatistics& own = table_.columns[i].train();
      joined.mean.push_back(static_cast<float>(own.mean));
      joined.stddev.push_back(PositiveOr1(own.stddev()));
    }
    return joined;
  }

  // Whether the header tells each column that is used from all others.
  bool FoundByTitle() const {
    if (table_.titles.empty()) return false;
    const auto is_one = [this](const std::string& title) {
      return !title.empty() && std::count(table_.titles.begin(), table_.titles.end(), title) == 1;
    };
    for (const PlannedFeature& feature : plan_.features) {
      if (feature.kind == Kind::kLeftOut) continue;
      const auto begin = std::find(table_.titles.begin(), table_.titles.end(), feature.field_title);
      for (int64_t i = 0; i < feature.columns; ++i) {
        if (!is_one(begin[i])) return false;
      }
    }
    return true;
  }

  // Whether the columns are on one scale, as pixels are: a long run that begins at one least value
  // (nine of ten columns), of which no column goes far beyond the others.
  bool AreAlike(size_t begin, size_t end, const NumberStatistics& train) const {
    if (end - begin < kLongRun) return false;
    std::vector<double> most;
    size_t at_least = 0;
    for (size_t i = begin; i < end; ++i) {
      at_least += table_.columns[i].train().min == train.min;
      most.push_back(table_.columns[i].train().max - train.min);
    }
    std::nth_element(most.begin(), most.begin() + most.size() / 2, most.end());
    return 10 * at_least >= 9 * (end - begin) && train.max - train.min <= 2 * most[most.size() / 2];
  }

  const InspectedTable& table_;
  InitPlan plan_;
  UniqueNames names_;
};

}  // namespace

absl::StatusOr<InitPlan> PlanTable(const InspectedTable& table, const std::string& label) {
  return TablePlanner(table).Plan(label);
}

}  // namespace tpurun
