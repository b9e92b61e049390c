#include "cli/init_features.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/civil_time.h"
#include "cli/init_lines.h"
#include "data/csv.h"
#include "data/init/column_format.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

using Kind = PlannedFeature::Kind;

// Columns that count the rows are told from others by this many.
constexpr int64_t kFewestToCount = 20;
// Words of one column that become inputs of the model, the most frequent ones.
constexpr size_t kMostWords = 1000;
// Buckets of ids that are more.
constexpr int64_t kIdBuckets = 1024;
// Buckets of runs of words: what of 10,000 different ones shares a bucket is seldom frequent.
constexpr int64_t kNgramBuckets = 8192;
// Whole numbers that are no ids from 0 are classes up to this many, and more are measured.
constexpr int64_t kMostNumberClasses = 20;
constexpr int64_t kMostClasses = 1000;

// As the model sees it; an integer that no float holds as it is.
std::string NumberText(double number) {
  constexpr double kLargest = int64_t{1} << std::numeric_limits<double>::digits;
  const auto seen = static_cast<float>(number);
  const bool exact = number != seen && number == std::floor(number) && std::abs(number) <= kLargest;
  return exact ? absl::StrCat(static_cast<int64_t>(number)) : ShortestText(seen);
}

void PlanNumber(const InspectedColumn& column, const NaValues& na_values, int64_t examples,
                bool may_count, PlannedFeature& feature) {
  const NumberStatistics& train = column.train();
  if (train.count == 0 || !(train.min < train.max)) {
    return LeaveOut(train.count == 0 ? "no value in the training part"
                                     : absl::StrCat("always ", NumberText(train.min)),
                    feature);
  }
  if (!may_count && column.counts_up() && examples >= kFewestToCount) {
    return LeaveOut("counts the examples", feature);
  }
  feature.kind = Kind::kNumber;
  feature.mean = {static_cast<float>(train.mean)};
  feature.stddev = {PositiveOr1(train.stddev())};
  feature.comment = RangeText(column.all());
  const int64_t missing = column.Missing(na_values);
  if (missing == 0) return;
  feature.has_default = true;
  feature.default_value = feature.dtype == proto::INT64
                              ? absl::StrCat(std::llround(train.mean))
                              : FormatValue(feature.mean[0], {.number = feature.number_format});
  absl::StrAppend(&feature.comment, "; missing ", Plural(missing, "time"), ": the mean");
}

using CountedWord = std::pair<std::string, int64_t>;  // with how often it is trained on

// The words of the training part. *different: the number of those of all parts.
std::vector<CountedWord> WordsOf(const InspectedColumn& column, const NaValues& na_values,
                                 int64_t* different) {
  std::vector<CountedWord> words;
  for (const auto& [word, count] : column.values().map()) {
    if (std::find(na_values.begin(), na_values.end(), word) != na_values.end()) continue;
    ++*different;
    if (count.train > 0) words.emplace_back(word, count.train);
  }
  return words;
}

// Makes a category of the feature by its most frequent words.
void UseVocabulary(std::vector<CountedWord> words, PlannedFeature& feature) {
  if (words.size() > kMostWords) {
    std::sort(words.begin(), words.end(), [](const auto& a, const auto& b) {
      return std::tie(b.second, a.first) < std::tie(a.second, b.first);
    });
    words.resize(kMostWords);
    absl::StrAppend(&feature.comment, ", the ", kMostWords, " most frequent are known");
  }
  std::sort(words.begin(), words.end());
  feature.kind = Kind::kCategory;
  feature.dtype = proto::STRING;
  feature.number_format = {};
  for (const auto& [word, count] : words) feature.vocabulary.push_back(word);
}

void PlanText(const InspectedColumn& column, const NaValues& na_values, int64_t examples,
              PlannedFeature& feature) {
  const int64_t missing = column.Missing(na_values);
  if (!column.values().complete()) {
    return LeaveOut(absl::StrCat("more than ", ValueCounts::kMost, " different texts"), feature);
  }
  int64_t different = 0;
  std::vector<CountedWord> words = WordsOf(column, na_values, &different);
  if (words.size() < 2) {
    return LeaveOut(words.empty() ? "no value in the training part"
                                  : absl::StrCat("always ", ShownField(words[0].first)),
                    feature);
  }
  std::string but_for;
  if (column.numbers() > column.texts()) {
    but_for = absl::StrCat(", numbers but for texts as at ", column.first_text());
  } else if (const std::optional<std::string> odd = OddText(column.values())) {
    but_for = absl::StrCat(", numbers or times but for texts such as ", ShownField(*odd));
  }
  if (2 * different > examples - missing) {
    return LeaveOut(absl::StrCat("nearly every example has another text (", different, " in ",
                                 examples - missing, but_for, ")"),
                    feature);
  }
  feature.comment = Plural(different, "word");
  UseVocabulary(std::move(words), feature);
  absl::StrAppend(&feature.comment, but_for);
  if (missing > 0) absl::StrAppend(&feature.comment, "; missing ", Plural(missing, "time"));
  feature.has_default = missing > 0;
}

struct LabelClass {
  std::string text;
  double number = 0;  // where the label is of numbers
  ValueCounts::Count count;
};

// In ascending order, of numbers by value. These are whole and fit int64, or are no classes.
std::vector<LabelClass> LabelClasses(const InspectedColumn& column, const ColumnFormat& format) {
  const bool numbers = column.texts() == 0, fits = FitsInt64(column);
  std::map<std::pair<double, std::string>, ValueCounts::Count> sorted;
  for (const auto& [text, count] : column.values().map()) {
    std::pair<double, std::string> key = {0, text};
    if (numbers) {
      key.first = FormattedValue(text, format).value_or(0);
      // A double has not every int64.
      const std::optional<int64_t> exact = ParseInt64(StripBlanks(text));
      if (fits) key.second = absl::StrCat(exact.value_or(static_cast<int64_t>(key.first)));
    }
    sorted[key].all += count.all;
    sorted[key].train += count.train;
  }
  std::vector<LabelClass> classes;
  for (const auto& [key, count] : sorted) classes.push_back({key.second, key.first, count});
  return classes;
}

// Whether they are the ids 0, 1, 2 ...
bool AreIds(const std::vector<LabelClass>& classes) {
  for (size_t i = 0; i < classes.size(); ++i) {
    if (classes[i].number != static_cast<double>(i)) return false;
  }
  return true;
}

// Whether numbers are names of classes, not measured.
bool NumbersAreClasses(const InspectedColumn& column, const std::vector<LabelClass>& classes,
                       int64_t examples) {
  if (!column.whole() || !column.values().complete() || !FitsInt64(column)) return false;
  const int64_t count = std::ssize(classes);
  return 2 * count <= examples && count <= (AreIds(classes) ? kMostClasses : kMostNumberClasses);
}

NumberStatistics Together(const std::vector<NumberStatistics>& elements) {
  NumberStatistics all;
  for (const NumberStatistics& element : elements) all.Merge(element);
  return all;
}

// Whether all integers are dates such as 20240610.
bool AreDates(const InspectedColumn& column) {
  const NumberStatistics& all = column.all();
  if (!column.values().complete() || all.min < 19000101 || all.max > 21001231) return false;
  return std::all_of(column.values().map().begin(), column.values().map().end(), [](auto& value) {
    const std::optional<int64_t> number = ParseInt64(StripBlanks(value.first));
    if (!number.has_value()) return true;  // missing
    const absl::CivilDay day(*number / 10000, *number / 100 % 100, *number % 100);
    return day.month() == *number / 100 % 100 && day.day() == *number % 100;
  });
}

// Whether rounding to multiples of `step` makes one of different integers, beyond a few: of one in
// a hundred or, where their values are not kept, where they lie close together.
bool LosesIntegers(const InspectedColumn& column, const PlannedFeature& feature, double step) {
  if (!column.values().complete()) return column.all().stddev() < 65536 * step;
  std::set<double> exact;
  std::set<float> seen;
  for (const auto& [text, count] : column.values().map()) {
    const std::optional<double> number = FormattedValue(text, {.number = feature.number_format});
    if (!number.has_value()) continue;
    exact.insert(*number);
    seen.insert(static_cast<float>(*number));
  }
  return 100 * (exact.size() - seen.size()) > exact.size();
}

void WarnOfRareClasses(const std::vector<LabelClass>& classes, InitPlan& plan) {
  for (const LabelClass& one : classes) {
    // That three of them should have been held out, and none is, is no chance.
    const double expected =
        plan.shards == kNoShards
            ? static_cast<double>(one.count.all * plan.eval_examples()) /
                  static_cast<double>(plan.examples)
            : static_cast<double>(one.count.all) / static_cast<double>(plan.shards);
    const bool none_held_out = one.count.train == one.count.all && expected >= 3;
    if (one.count.train > 0 && !none_held_out) continue;
    plan.warnings.push_back(
        absl::StrCat("label ", Quote(plan.label_feature().name), ": all ", one.count.all,
                     " examples of ", ShownField(one.text), " are in the ",
                     one.count.train == 0 ? "part that is held out: it cannot be learned"
                                          : "part to train: what is evaluated says nothing of it"));
  }
}

}  // namespace

std::string Plural(int64_t count, std::string_view what) {
  return absl::StrCat(count, " ", ToAbsl(what), count == 1 ? "" : "s");
}

std::string RangeText(const NumberStatistics& numbers) {
  return absl::StrCat(NumberText(numbers.min), " to ", NumberText(numbers.max));
}

bool FitsInt64(const InspectedColumn& column) {
  constexpr double kBeyond = 9223372036854775808.0;  // 2^63
  return column.all().min >= -kBeyond && column.all().max < kBeyond;
}

float PositiveOr1(double stddev) {
  const float value = static_cast<float>(stddev);
  // A subnormal number is 0 to `normalize`.
  return value >= std::numeric_limits<float>::min() && std::isfinite(value) ? value : 1;
}

bool AreAlike(const std::vector<NumberStatistics>& elements) {
  if (elements.size() < kLongRun) return false;
  const NumberStatistics all = Together(elements);
  std::vector<double> most;
  size_t at_least = 0;
  for (const NumberStatistics& element : elements) {
    at_least += element.min == all.min;
    most.push_back(element.max - all.min);
  }
  std::nth_element(most.begin(), most.begin() + most.size() / 2, most.end());
  return 10 * at_least >= 9 * elements.size() && all.max - all.min <= 2 * most[most.size() / 2];
}

void SetScale(const std::vector<NumberStatistics>& elements, PlannedFeature& feature) {
  if (AreAlike(elements)) {
    const NumberStatistics all = Together(elements);
    feature.mean = {static_cast<float>(all.mean)};
    feature.stddev = {PositiveOr1(all.stddev())};
    return;
  }
  for (const NumberStatistics& element : elements) {
    feature.mean.push_back(static_cast<float>(element.mean));
    feature.stddev.push_back(PositiveOr1(element.stddev()));
  }
}

std::string LargeIntegersWarning(const InspectedColumn& column, const PlannedFeature& feature,
                                 bool may_be_ids) {
  constexpr int kFloatDigits = std::numeric_limits<float>::digits;
  const double most = std::max(std::abs(column.all().min), std::abs(column.all().max));
  if (!column.integers() || most <= std::exp2(kFloatDigits)) return "";
  const bool is_label = feature.kind == Kind::kLabel;
  const std::string title = absl::StrCat(is_label ? "label " : "", Quote(TitleOf(feature)), ": ");
  if (AreDates(column)) {
    const auto date = static_cast<int64_t>(column.all().max);
    return absl::StrCat(
        title, "dates such as ", date,
        " are numbers to the model, which jump at the end of a month; ",
        is_label ? "write days since one of them"
                 : absl::StrCat("written as ", date / 10000, "-",
                                absl::Dec(date / 100 % 100, absl::kZeroPad2), "-",
                                absl::Dec(date % 100, absl::kZeroPad2), " they are read as dates"));
  }
  const double step = std::exp2(std::ilogb(most) + 1 - kFloatDigits);
  if (!LosesIntegers(column, feature, step)) return "";
  return absl::StrCat(title, "integers up to ", NumberText(most), " are rounded to multiples of ",
                      step, ", and different ones become one; subtract a constant from all",
                      is_label || !may_be_ids ? ""
                                              : absl::StrCat(", or, if they are ids, say --ids=",
                                                             ShellWord(TitleOf(feature))));
}

void LeaveOut(const std::string& why, PlannedFeature& feature) {
  feature.kind = Kind::kLeftOut;
  feature.comment = why;
}

void LeaveOutOfWindows(PlannedFeature& feature) {
  if (feature.kind == Kind::kCategory) LeaveOut("texts; a series is of numbers", feature);
  if (feature.kind != Kind::kTime) return;
  std::erase_if(feature.times,
                [](const auto& time) { return time.second == proto::ParseTime::DAYS; });
  if (feature.times.empty()) LeaveOut("times; their order is that of the rows", feature);
}

NaValues FindNaValues(const std::vector<const InspectedColumn*>& columns) {
  NaValues found;
  for (size_t i = 0; i < kMissingTexts.size(); ++i) {
    const bool occurs =
        std::any_of(columns.begin(), columns.end(), [i](const InspectedColumn* column) {
          return column->missing_texts(i) > 0 && column->IsNumber();
        });
    if (occurs) found.emplace_back(kMissingTexts[i]);
  }
  return found;
}

void NoteMissingWords(const InspectedColumn& column, const NaValues& na_values,
                      const PlannedFeature& feature, std::vector<std::string>& notes) {
  if (column.IsNumber(na_values)) return;
  for (size_t i = 0; i < kMissingTexts.size(); ++i) {
    const int64_t count = column.missing_texts(i);
    if (count == 0 ||
        std::find(na_values.begin(), na_values.end(), kMissingTexts[i]) == na_values.end())
      continue;
    notes.push_back(absl::StrCat(Plural(count, "value"), " of ", Quote(TitleOf(feature)),
                                 count == 1 ? " is " : " are ", ShownField(kMissingTexts[i]),
                                 ", which ", count == 1 ? "counts" : "count",
                                 " as missing, as among the numbers of another column"));
  }
}

bool HasSentences(const InspectedColumn& column) {
  constexpr int64_t kFewestWords = 3;   // in the mean
  constexpr size_t kFewestTexts = 100;  // where many recur
  const int64_t texts = column.texts();
  if (column.numbers() * 10 > texts || column.words() <= kFewestWords * texts) return false;
  const size_t different = column.values().map().size();
  return !column.values().complete() || different > kFewestTexts ||
         2 * std::ssize(column.values().map()) > texts;
}

void PlanScalar(const InspectedColumn& column, const NaValues& na_values, int64_t examples,
                bool may_count, PlannedFeature& feature) {
  if (column.numbers() + column.texts() + column.empty() == column.Missing(na_values)) {
    return LeaveOut("every value is missing", feature);
  }
  if (column.IsNumber(na_values))
    return PlanNumber(column, na_values, examples, may_count, feature);
  PlanText(column, na_values, examples, feature);
}

void PlanIds(const InspectedColumn& column, const NaValues& na_values, PlannedFeature& feature) {
  int64_t different = 0;
  std::vector<CountedWord> words = WordsOf(column, na_values, &different);
  const bool complete = column.values().complete();
  if (complete && words.empty()) return LeaveOut("no value in the training part", feature);
  feature.number_format = {};
  feature.comment =
      complete ? Plural(different, "id") : absl::StrCat("more than ", ValueCounts::kMost, " ids");
  if (complete && words.size() <= kMostWords) {
    UseVocabulary(std::move(words), feature);
  } else {
    feature.kind = Kind::kCategory;
    feature.dtype = proto::STRING;
    feature.hash_buckets = kIdBuckets;
    absl::StrAppend(&feature.comment, ", hashed: some share a bucket");
  }
  const int64_t missing = column.Missing(na_values);
  if (missing > 0) absl::StrAppend(&feature.comment, "; missing ", Plural(missing, "time"));
  feature.has_default = missing > 0;
}

void PlanCodes(const InspectedColumn& column, const NaValues& na_values, int64_t examples,
               PlannedFeature& feature) {
  int64_t different = 0;
  const std::vector<CountedWord> words = WordsOf(column, na_values, &different);
  const int64_t present = examples - column.Missing(na_values);
  if (column.values().complete() && words.size() == 1) {
    return LeaveOut(absl::StrCat("always ", ShownField(words[0].first)), feature);
  }
  if (column.values().complete() && 2 * different > present) {
    return LeaveOut(absl::StrCat("nearly every example has another code (", different, " in ",
                                 present, "); --numbers makes numbers of a column of codes"),
                    feature);
  }
  PlanIds(column, na_values, feature);
  absl::StrAppend(&feature.comment, "; no numbers, as zeros lead ",
                  ShownField(column.first_code()));
}

void PlanWords(const InspectedColumn& column, const TextWords& words, const TextOptions& options,
               PlannedFeature& feature) {
  // A word that occurs once says little, and leaving it out is how [UNK] is learned: where enough
  // words are left.
  constexpr int64_t kManyWords = 1000;
  const int64_t least_count = words.different() > kManyWords ? 2 : 1;
  std::vector<std::string> known = words.MostFrequent(options.vocabulary_size, least_count);
  if (known.empty()) {
    return LeaveOut(words.texts() == 0 ? "no text in the training part" : "texts without words",
                    feature);
  }
  feature.kind = Kind::kText;
  feature.dtype = proto::STRING;
  feature.number_format = {};
  // A new text may be empty.
  feature.has_default = true;
  std::string missing;
  if (column.empty() > 0) missing = absl::StrCat("; missing ", Plural(column.empty(), "time"));
  if (options.ngrams > 0) {
    feature.ngrams = options.ngrams;
    feature.hash_buckets = kNgramBuckets;
    feature.comment = absl::StrCat("texts, half of them of ", Plural(words.Length(0.5), "word"),
                                   " or less", missing);
    return;
  }
  feature.vocabulary = {"", "[UNK]"};
  feature.comment =
      absl::StrCat("texts, half of them of ", Plural(words.Length(0.5), "word"), " or less; ",
                   known.size(), " of ", words.pruned() > 0 ? "more than " : "",
                   Plural(words.different(), "word"), " are known");
  feature.vocabulary.insert(feature.vocabulary.end(), known.begin(), known.end());
  constexpr int64_t kMostLength = 256;
  feature.length = options.sequence_length > 0
                       ? options.sequence_length
                       : std::clamp<int64_t>(words.Length(0.95), 1, kMostLength);
  feature.comment += missing;
}

std::vector<PlannedFeature> PlanTime(const FormattedColumn& column, const NaValues& na_values,
                                     const PlannedFeature& feature,
                                     const std::function<std::string(const char* part)>& name_of) {
  const NumberStatistics& train = column.values.train();
  std::vector<PlannedFeature> planned = {feature};
  if (train.count == 0 || !(train.min < train.max)) {
    LeaveOut(train.count == 0 ? "no value in the training part" : "always the same time",
             planned[0]);
    return planned;
  }
  planned[0].kind = Kind::kTime;
  planned[0].dtype = proto::STRING;
  planned[0].time_format = column.format.time_format;
  const double epoch = std::floor(train.min);
  planned[0].time_epoch = FormatValue(epoch, {.time_format = "%Y-%m-%d"});
  const auto text = [&column](double days) { return FormatValue(days, column.format); };
  planned[0].comment =
      absl::StrCat("times, ", text(column.values.all().min), " to ", text(column.values.all().max));
  if (!column.format.assumption.empty()) {
    absl::StrAppend(&planned[0].comment, "; ", column.format.assumption);
  }
  const int64_t missing = column.values.Missing(na_values);
  planned[0].default_value = text(train.mean);
  if (missing > 0) {
    planned[0].has_default = true;
    absl::StrAppend(&planned[0].comment, "; missing ", Plural(missing, "time"), ": the mean");
  }
  const auto make = [&](const char* part_name, proto::ParseTime::Part part) -> PlannedFeature& {
    PlannedFeature made;
    made.name = name_of(part_name);
    made.is_made = true;
    planned[0].times.emplace_back(made.name, part);
    planned.push_back(std::move(made));
    return planned.back();
  };
  PlannedFeature& days = make("days", proto::ParseTime::DAYS);
  days.kind = Kind::kNumber;
  days.mean = {static_cast<float>(train.mean - epoch)};
  days.stddev = {PositiveOr1(train.stddev())};
  const auto make_ids = [&](const char* part_name, proto::ParseTime::Part part, int64_t depth) {
    PlannedFeature& made = make(part_name, part);
    made.kind = Kind::kCategory;
    made.dtype = proto::INT64;
    made.depth = depth;
  };
  // Two of each, and they can be told from the days.
  const double span = train.max - train.min;
  if (span >= 2 * 365) make_ids("month", proto::ParseTime::MONTH, 13);  // from 1
  if (span >= 2 * 7 && HasDay(column.format.time_format)) {
    make_ids("day_of_week", proto::ParseTime::DAY_OF_WEEK, 7);
  }
  if (span >= 2 && std::popcount(column.hours) > 1) make_ids("hour", proto::ParseTime::HOUR, 24);
  return planned;
}

absl::Status PlanLabel(const InspectedColumn& column, InitPlan& plan) {
  PlannedFeature& label = plan.features[plan.label];
  label.kind = Kind::kLabel;
  const std::string title = absl::StrCat("label ", Quote(TitleOf(label)), ": ");
  const auto wrong = [&title](const auto&... parts) {
    return absl::DataLossError(absl::StrCat(title, parts...));
  };
  const int64_t missing = column.Missing(plan.na_values);
  if (missing == plan.examples) return wrong("every value is missing");
  if (missing > 0) {
    // Of numbers the first text is a missing one.
    const std::string where = column.empty() > 0                ? column.first_missing()
                              : column.IsNumber(plan.na_values) ? column.first_text()
                                                                : "";
    return wrong(Plural(missing, "example"), missing == 1 ? " has" : " have", " none",
                 where.empty() ? "" : absl::StrCat(", the first at ", where),
                 column.empty() == missing || plan.na_values.empty()
                     ? "; leave such examples out of the file"
                     : absl::StrCat("; ", absl::StrJoin(QuoteAll(plan.na_values), ", "),
                                    plan.na_values.size() == 1 ? " counts" : " count",
                                    " as missing, as among the numbers of other columns; "
                                    "leave such examples out of the file, or, if that is a class, "
                                    "write the class as another text there"));
  }
  const std::vector<LabelClass> classes = LabelClasses(column, {.number = label.number_format});
  const bool numbers = column.texts() == 0;
  if (!numbers) label.number_format = {};
  if (column.values().complete() && classes.size() == 1) {
    return wrong("every example has ", ShownField(classes[0].text), ", want two classes or more");
  }
  if (numbers && !NumbersAreClasses(column, classes, plan.examples)) {
    if (!(column.train().min < column.train().max)) {
      return wrong("every example to train has ", NumberText(column.train().min),
                   ", want several values");
    }
    label.mean = {static_cast<float>(column.train().mean)};
    label.stddev = {PositiveOr1(column.train().stddev())};
    label.comment = RangeText(column.all());
    return absl::OkStatus();
  }
  if (!column.values().complete() || std::ssize(classes) > kMostClasses ||
      2 * std::ssize(classes) > plan.examples) {
    return wrong(column.values().complete() ? absl::StrCat(classes.size())
                                            : absl::StrCat("more than ", ValueCounts::kMost),
                 " different texts in ", plan.examples,
                 " examples, want classes, each of several examples, or numbers; another column is "
                 "chosen by --label=NAME");
  }
  for (const LabelClass& one : classes) {
    // As FLOAT32, which is cast to INT64.
    if (numbers && !column.integers() && static_cast<float>(one.number) != one.number) {
      return wrong("the class ", one.text,
                   " is rounded as a FLOAT32, which numbers with a point are read as; write the "
                   "classes as integers, without a point");
    }
    if (!IsUtf8(one.text)) {
      return wrong("the class ", ShownField(one.text),
                   " is not UTF-8; iconv converts files of other encodings");
    }
    plan.classes.push_back(one.text);
    plan.class_counts.push_back(one.count.train);
  }
  if (!numbers) label.dtype = proto::STRING;
  if (numbers && column.integers()) label.dtype = proto::INT64;
  if (numbers && !AreIds(classes)) label.vocabulary = plan.classes;
  label.comment = absl::StrCat(classes.size(), " classes");
  WarnOfRareClasses(classes, plan);
  return absl::OkStatus();
}

}  // namespace tpurun
