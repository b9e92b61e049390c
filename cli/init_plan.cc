#include "cli/init_plan.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "data/csv.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

using Kind = PlannedFeature::Kind;

// What the model and its input keep for themselves.
const std::set<std::string>& ReservedNames() {
  static const auto* const kNames = new std::set<std::string>{
      "loss", "global_step", "learning_rate", "global_norm", "row_weight", "line", "record"};
  return *kNames;
}

// Columns that count the rows are told from others by this many.
constexpr int64_t kFewestToCount = 20;
// Words of one column that become inputs of the model, the most frequent ones.
constexpr size_t kMostWords = 1000;
// Whole numbers that are no ids from 0 are classes up to this many, and more are measured.
constexpr int64_t kMostNumberClasses = 20;
constexpr int64_t kMostClasses = 1000;
// A run of numbers this long is one thing, such as the pixels of an image.
constexpr size_t kLongRun = 16;

// ---- names

// "pixel12" as "pixel", 12.
struct Numbered {
  std::string_view prefix;
  int64_t number = -1;  // none
};

Numbered SplitNumbered(std::string_view title) {
  const size_t end = title.find_last_not_of("0123456789") + 1;  // npos + 1 is 0
  return {title.substr(0, end), ParseInt64(title.substr(end)).value_or(-1)};
}

// ---- one scalar

std::string Plural(int64_t count, std::string_view what) {
  return absl::StrCat(count, " ", ToAbsl(what), count == 1 ? "" : "s");
}

std::string RangeText(const NumberStatistics& numbers) {
  return absl::StrCat(ShortestText(static_cast<float>(numbers.min)), " to ",
                      ShortestText(static_cast<float>(numbers.max)));
}

float PositiveOr1(double stddev) {
  const float value = static_cast<float>(stddev);
  return value > 0 && std::isfinite(value) ? value : 1;
}

void LeaveOut(const std::string& why, PlannedFeature& feature) {
  feature.kind = Kind::kLeftOut;
  feature.comment = why;
}

void PlanNumber(const InspectedColumn& column, const std::string& na_value, int64_t examples,
                PlannedFeature& feature) {
  const NumberStatistics& train = column.train();
  if (train.count == 0 || !(train.min < train.max)) {
    return LeaveOut(train.count == 0
                        ? "no value in the training part"
                        : absl::StrCat("always ", ShortestText(static_cast<float>(train.min))),
                    feature);
  }
  if (column.counts_up() && examples >= kFewestToCount) {
    return LeaveOut("counts the examples", feature);
  }
  feature.kind = Kind::kNumber;
  feature.mean = {static_cast<float>(train.mean)};
  feature.stddev = {PositiveOr1(train.stddev())};
  feature.comment = RangeText(column.all());
  const int64_t missing = column.Missing(na_value);
  if (missing == 0) return;
  feature.has_default = true;
  feature.default_value = feature.dtype == proto::INT64 ? absl::StrCat(std::llround(train.mean))
                                                        : ShortestText(feature.mean[0]);
  absl::StrAppend(&feature.comment, "; missing ", Plural(missing, "time"), ": the mean");
}

void PlanText(const InspectedColumn& column, const std::string& na_value, int64_t examples,
              PlannedFeature& feature) {
  const int64_t missing = column.Missing(na_value);
  if (!column.values().complete()) {
    return LeaveOut(absl::StrCat("more than ", ValueCounts::kMost, " different texts"), feature);
  }
  std::vector<std::pair<std::string, int64_t>> words;  // with how often they are trained on
  int64_t different = 0;
  for (const auto& [word, count] : column.values().map()) {
    if (word == na_value) continue;
    ++different;
    if (count.train > 0) words.emplace_back(word, count.train);
  }
  if (words.size() < 2) {
    return LeaveOut(words.empty() ? "no value in the training part"
                                  : absl::StrCat("always ", ShownField(words[0].first)),
                    feature);
  }
  const std::string among_numbers =
      column.numbers() > column.texts()
          ? absl::StrCat(", numbers but for texts as at ", column.first_text())
          : "";
  if (2 * different > examples - missing) {
    return LeaveOut(absl::StrCat("nearly every example has another text (", different, " in ",
                                 examples - missing, among_numbers, ")"),
                    feature);
  }
  feature.comment = Plural(different, "word");
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
  for (const auto& [word, count] : words) feature.vocabulary.push_back(word);
  absl::StrAppend(&feature.comment, among_numbers);
  if (missing > 0) absl::StrAppend(&feature.comment, "; missing ", Plural(missing, "time"));
  feature.has_default = missing > 0;
}

void PlanScalar(const InspectedColumn& column, const std::string& na_value, int64_t examples,
                PlannedFeature& feature) {
  if (column.numbers() + column.texts() + column.empty() == column.Missing(na_value)) {
    return LeaveOut("every value is missing", feature);
  }
  if (column.IsNumber(na_value)) return PlanNumber(column, na_value, examples, feature);
  PlanText(column, na_value, examples, feature);
}

// ---- the label

struct LabelClass {
  std::string text;
  double number = 0;  // where the label is of numbers
  ValueCounts::Count count;
};

// In ascending order, of numbers by value.
std::vector<LabelClass> LabelClasses(const InspectedColumn& column) {
  const bool numbers = column.texts() == 0;
  std::map<std::pair<double, std::string>, ValueCounts::Count> sorted;
  for (const auto& [text, count] : column.values().map()) {
    std::pair<double, std::string> key = {0, text};
    if (numbers) {
      key.first = ParseDouble(StripBlanks(text)).value_or(0);
      key.second = absl::StrCat(static_cast<int64_t>(key.first));
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
  if (!column.whole() || !column.values().complete()) return false;
  const int64_t count = std::ssize(classes);
  return 2 * count <= examples && count <= (AreIds(classes) ? kMostClasses : kMostNumberClasses);
}

void WarnOfRareClasses(const std::vector<LabelClass>& classes, InitPlan& plan) {
  for (const LabelClass& one : classes) {
    // That three of them should have been held out, and none is, is no chance.
    const bool none_held_out = one.count.train == one.count.all && one.count.all >= 3 * plan.shards;
    if (one.count.train > 0 && !none_held_out) continue;
    plan.warnings.push_back(
        absl::StrCat("label ", Quote(plan.label_feature().name), ": all ", one.count.all,
                     " examples of ", ShownField(one.text), " are in the ",
                     one.count.train == 0 ? "part that is held out: it cannot be learned"
                                          : "part to train: what is evaluated says nothing of it"));
  }
}

// Decides what plan.label is. It has its name; dtype is that of its values.
absl::Status PlanLabel(const InspectedColumn& column, InitPlan& plan) {
  PlannedFeature& label = plan.features[plan.label];
  label.kind = Kind::kLabel;
  const std::string title =
      absl::StrCat("label ", Quote(label.title.empty() ? label.name : label.title), ": ");
  const auto wrong = [&title](const auto&... parts) {
    return absl::DataLossError(absl::StrCat(title, parts...));
  };
  const int64_t missing = column.Missing(plan.na_value);
  if (missing == plan.examples) return wrong("every value is missing");
  if (missing > 0) {
    const std::string& where = column.empty() > 0 ? column.first_missing() : column.first_text();
    return wrong(Plural(missing, "example"), missing == 1 ? " has" : " have", " none",
                 where.empty() ? "" : absl::StrCat(", the first at ", where),
                 "; leave such examples out of the file");
  }
  const std::vector<LabelClass> classes = LabelClasses(column);
  const bool numbers = column.texts() == 0;
  if (column.values().complete() && classes.size() == 1) {
    return wrong("every example has ", ShownField(classes[0].text), ", want two classes or more");
  }
  if (numbers && !NumbersAreClasses(column, classes, plan.examples)) {
    if (!(column.train().min < column.train().max)) {
      return wrong("every example to train has ",
                   ShortestText(static_cast<float>(column.train().min)), ", want several values");
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
  for (const LabelClass& one : classes) plan.classes.push_back(one.text);
  if (!numbers) label.dtype = proto::STRING;
  if (numbers && column.integers()) label.dtype = proto::INT64;
  if (!numbers || !AreIds(classes)) label.vocabulary = plan.classes;
  label.comment = absl::StrCat(classes.size(), " classes");
  WarnOfRareClasses(classes, plan);
  return absl::OkStatus();
}

// ---- the whole

PlannedTraining ChooseTraining(const InitPlan& plan) {
  const int64_t n = plan.train_examples;
  bool images = false;
  int64_t elements = 0;
  for (const PlannedFeature& feature : plan.features) {
    images |= feature.kind == Kind::kImage;
    if (feature.kind == Kind::kCategory) elements += std::ssize(feature.vocabulary);
    if (feature.kind == Kind::kNumber || feature.kind == Kind::kImage)
      elements += feature.elements();
  }
  PlannedTraining training;
  // A multiple of the 8 cores: small for few examples, of which small batches make more in the end,
  // and large for many, of which they make more a second.
  training.train_batch_size = 8;
  const int64_t least_steps = images ? 64 : 16;  // of an epoch
  while (training.train_batch_size < 128 && n / (2 * training.train_batch_size) >= least_steps) {
    training.train_batch_size *= 2;
  }
  while (!images && training.train_batch_size < 1024 &&
         n / (2 * training.train_batch_size) >= 1000) {
    training.train_batch_size *= 2;
  }
  const int64_t held_out = plan.examples - n;
  training.eval_batch_size = std::clamp<int64_t>((held_out + 7) / 8 * 8, 8, images ? 256 : 1024);
  training.predict_batch_size = 8;
  // Some 200,000 examples, or 160,000 images of 28x28, in all.
  const double work =
      images ? 160000.0 * 784 / static_cast<double>(std::max<int64_t>(elements, 784)) : 200000.0;
  const double epochs =
      std::clamp(work / static_cast<double>(n), images ? 2.0 : 3.0, images ? 30.0 : 100.0);
  const double steps =
      epochs * static_cast<double>(n) / static_cast<double>(training.train_batch_size);
  training.max_steps = std::max<int64_t>(static_cast<int64_t>(std::ceil(steps / 100)) * 100, 200);
  training.learning_rate = images ? 0.001 : 0.002;
  training.decay_steps = training.max_steps / 5;
  training.hidden_units = images || elements >= 64 || n >= 20000 ? 128 : 64;
  training.dropout = images ? 0.4 : plan.is_regression() ? 0 : 0.2;
  return training;
}

absl::Status CheckExamples(const InitPlan& plan) {
  if (plan.examples < plan.shards) {
    return absl::DataLossError(absl::StrCat("got ", Plural(plan.examples, "example"), ", want ",
                                            plan.shards,
                                            " or more: every tenth is held out to evaluate"));
  }
  return absl::OkStatus();
}

absl::Status FinishPlan(InitPlan& plan) {
  const auto used = [](const PlannedFeature& feature) {
    return feature.kind != Kind::kLeftOut && feature.kind != Kind::kLabel;
  };
  if (std::none_of(plan.features.begin(), plan.features.end(), used)) {
    std::vector<std::string> reasons;
    for (const PlannedFeature& feature : plan.features) {
      if (feature.kind != Kind::kLeftOut) continue;
      reasons.push_back(absl::StrCat(Quote(feature.title.empty() ? feature.name : feature.title),
                                     " (", feature.comment, ")"));
    }
    constexpr size_t kShown = 5;
    if (reasons.size() > kShown) {
      reasons.resize(kShown);
      reasons.push_back("...");
    }
    return absl::DataLossError(absl::StrCat(
        "nothing is left to learn ", Quote(plan.label_feature().name),
        " from: ", reasons.empty() ? "it is all there is" : absl::StrJoin(reasons, ", ")));
  }
  plan.training = ChooseTraining(plan);
  return absl::OkStatus();
}

void SetExamples(int64_t examples, int64_t shards, InitPlan& plan) {
  plan.examples = examples;
  plan.shards = shards;
  plan.train_examples = examples - examples / shards;
}

// ---- tables

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
    SetExamples(table.rows, table.shards, plan_);
  }

  absl::StatusOr<InitPlan> Plan(const std::string& label) {
    RETURN_IF_ERROR(CheckExamples(plan_));
    ASSIGN_OR_RETURN(const size_t label_column, FindLabel(label));
    plan_.label = label_column;
    plan_.features.resize(table_.columns.size());
    for (size_t i = 0; i < plan_.features.size(); ++i) {
      PlannedFeature& feature = plan_.features[i];
      if (!table_.titles.empty()) feature.title = table_.titles[i];
      feature.name = names_.Take(i == label_column && table_.titles.empty() ? "label" : NameOf(i));
      if (i == label_column) continue;
      PlanScalar(table_.columns[i], plan_.na_value, plan_.examples, feature);
      if (feature.kind == Kind::kLeftOut) feature.dtype = proto::STRING;
    }
    RETURN_IF_ERROR(PlanLabel(table_.columns[label_column], plan_));
    if (table_.class_names.size() == plan_.classes.size()) plan_.class_names = table_.class_names;
    JoinRuns();
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
    const Numbered before = SplitNumbered(table_.titles[column - 1]);
    const Numbered own = SplitNumbered(table_.titles[column]);
    return before.number >= 0 && own.prefix == before.prefix && own.number == before.number + 1;
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
      name = LegalName(SplitNumbered(table_.titles[begin]).prefix);
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

// ---- tf.Examples

// What a label is called where nobody says.
constexpr std::string_view kLabelNames[] = {"label",  "labels", "class",
                                            "target", "y",      "image/class/label"};

using Features = std::map<std::string, InspectedFeature>;

absl::StatusOr<std::string> FindLabelKey(const Features& features, const std::string& label) {
  std::vector<std::string> known;
  for (const auto& [name, feature] : features) known.push_back(name);
  if (!label.empty()) {
    if (features.count(label) > 0) return label;
    return absl::InvalidArgumentError(
        absl::StrCat("--label: no feature is called ", Quote(label), DidYouMean(label, known)));
  }
  for (const std::string_view name : kLabelNames) {
    if (features.count(std::string(name)) > 0) return std::string(name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("no feature is called \"label\": --label=NAME says which one it is (known: ",
                   absl::StrJoin(known, ", "), ")"));
}

// Of an image whose bytes are so many: as features "height", "width" and "channels" or "depth" say,
// or a square, grey or RGB; empty where none fits.
std::vector<int64_t> GuessImageShape(const Features& features, int64_t bytes) {
  const auto constant = [&features](std::string_view name) -> int64_t {
    const auto found = features.find(std::string(name));
    if (found == features.end()) return 0;
    const NumberStatistics& all = found->second.column.all();
    return all.count > 0 && all.min == all.max ? static_cast<int64_t>(all.min) : 0;
  };
  for (const std::string_view prefix : {"", "image/"}) {
    const int64_t height = constant(absl::StrCat(ToAbsl(prefix), "height"));
    const int64_t width = constant(absl::StrCat(ToAbsl(prefix), "width"));
    if (height <= 0 || width <= 0 || height > bytes || width > bytes) continue;
    const int64_t channels = bytes / height / width;
    if (channels > 0 && height * width * channels == bytes) return {height, width, channels};
  }
  for (const int64_t channels : {1, 3}) {
    const int64_t side = std::llround(std::sqrt(static_cast<double>(bytes / channels)));
    if (side >= 4 && side * side * channels == bytes) return {side, side, channels};
  }
  return {};
}

bool IsEncodedImage(std::string_view first_bytes) {
  return first_bytes.starts_with("\xff\xd8\xff") || first_bytes.starts_with("\x89PNG");
}

void Normalize(const NumberStatistics& numbers, PlannedFeature& feature) {
  feature.mean.push_back(static_cast<float>(numbers.mean));
  feature.stddev.push_back(PositiveOr1(numbers.stddev()));
}

void PlanBytes(const InspectedFeature& seen, const std::vector<int64_t>& known,
               PlannedFeature& feature) {
  if (!seen.bytes.constant()) {
    return LeaveOut(IsEncodedImage(seen.first_bytes)
                        ? "encoded images, want their pixels as bytes"
                        : absl::StrCat("bytes of different lengths, ", seen.bytes.least, " to ",
                                       seen.bytes.most),
                    feature);
  }
  if (!(seen.pixels.min < seen.pixels.max)) return LeaveOut("always the same byte", feature);
  std::vector<int64_t> shape = known;
  if (known.size() == 2) shape = {known[0], known[1], 1};
  const bool image = shape.size() == 3;
  feature.kind = image ? Kind::kImage : Kind::kNumber;
  feature.dtype = proto::UINT8;
  feature.shape = image ? shape : std::vector<int64_t>{seen.bytes.least};
  feature.comment = image ? absl::StrCat("images of ", absl::StrJoin(shape, "x"), " bytes")
                          : Plural(seen.bytes.least, "byte");
  if (image && shape[2] == 3) {
    for (const NumberStatistics& channel : seen.channels) Normalize(channel, feature);
  } else {
    Normalize(seen.pixels, feature);
  }
}

void PlanVector(const InspectedFeature& seen, PlannedFeature& feature) {
  NumberStatistics all;
  for (const NumberStatistics& element : seen.elements) all.Merge(element);
  if (!(all.min < all.max)) return LeaveOut("always the same number", feature);
  feature.kind = Kind::kNumber;
  feature.shape = {seen.values.most};
  feature.comment = absl::StrCat(seen.values.most, " numbers, ", RangeText(all));
  for (const NumberStatistics& element : seen.elements) Normalize(element, feature);
}

void PlanFeature(const InspectedFeature& seen, int64_t examples, const std::vector<int64_t>& shape,
                 PlannedFeature& feature) {
  using tensorflow::Feature;
  if (ReservedNames().count(feature.name) > 0) return LeaveOut("the name is reserved", feature);
  if (seen.kind == Feature::KIND_NOT_SET) return LeaveOut("lists of several kinds", feature);
  if (!seen.values.constant()) {
    return LeaveOut(
        absl::StrCat("lists of different lengths, ", seen.values.least, " to ", seen.values.most),
        feature);
  }
  const bool scalar = seen.values.most == 1;
  const bool text = seen.kind == Feature::kBytesList && scalar && seen.is_text;
  if (seen.kind == Feature::kBytesList) feature.dtype = proto::STRING;
  if (seen.kind == Feature::kInt64List) feature.dtype = proto::INT64;
  InspectedColumn column = seen.column;
  for (int64_t i = seen.examples; i < examples; ++i) column.AddMissing([] { return ""; });
  if (text || (scalar && seen.kind != Feature::kBytesList)) {
    return PlanScalar(column, "", examples, feature);
  }
  if (seen.examples < examples) {
    return LeaveOut(
        absl::StrCat("missing in ", examples - seen.examples, " of ", examples, " examples"),
        feature);
  }
  if (!scalar && seen.kind == Feature::kBytesList) return LeaveOut("lists of strings", feature);
  if (scalar) return PlanBytes(seen, shape, feature);
  PlanVector(seen, feature);
}

absl::Status CheckLabel(const std::string& name, const InspectedFeature& seen) {
  const std::string title = absl::StrCat("label ", Quote(name), ": ");
  if (ReservedNames().count(name) > 0) {
    return absl::DataLossError(absl::StrCat(title, "the name is reserved, want another"));
  }
  if (seen.kind == tensorflow::Feature::KIND_NOT_SET) {
    return absl::DataLossError(absl::StrCat(title, "lists of several kinds, want one"));
  }
  if (!seen.values.constant() || seen.values.most != 1) {
    return absl::DataLossError(absl::StrCat(title, "lists of ", seen.values.least, " to ",
                                            seen.values.most, " values, want one value"));
  }
  if (seen.kind == tensorflow::Feature::kBytesList && !seen.is_text) {
    return absl::DataLossError(absl::StrCat(title, "bytes that are no text, want numbers or text"));
  }
  return absl::OkStatus();
}

}  // namespace

UniqueNames::UniqueNames() : taken_(ReservedNames()) {}

std::string UniqueNames::Take(const std::string& wanted) {
  std::string name = wanted;
  for (int i = 1; !taken_.insert(name).second; ++i) name = absl::StrCat(wanted, "_", i);
  return name;
}

std::string LegalName(std::string_view title) {
  std::string name;
  for (const char c : title) {
    if (absl::ascii_isalnum(c) || (c == '-' && !name.empty())) {
      name.push_back(c);
    } else if (!name.empty() && name.back() != '_') {
      name.push_back('_');
    }
  }
  while (!name.empty() && (name.back() == '_' || name.back() == '-')) name.pop_back();
  return name;
}

int64_t PlannedFeature::elements() const {
  int64_t product = 1;
  for (const int64_t dim : shape) product *= dim;
  return product;
}

absl::StatusOr<InitPlan> PlanTable(const InspectedTable& table, const std::string& label) {
  return TablePlanner(table).Plan(label);
}

absl::StatusOr<InitPlan> PlanExamples(const ExampleInspector& inspected,
                                      const std::map<std::string, std::vector<int64_t>>& shapes,
                                      const std::string& label) {
  InitPlan plan;
  SetExamples(inspected.examples(), inspected.shards(), plan);
  RETURN_IF_ERROR(CheckExamples(plan));
  const Features& features = inspected.features();
  ASSIGN_OR_RETURN(const std::string label_key, FindLabelKey(features, label));
  for (const auto& [name, seen] : features) {
    PlannedFeature feature{.name = name};
    if (name == label_key) {
      RETURN_IF_ERROR(CheckLabel(name, seen));
      plan.label = plan.features.size();
      if (seen.kind == tensorflow::Feature::kInt64List) feature.dtype = proto::INT64;
    } else {
      const auto shape = shapes.find(name);
      PlanFeature(
          seen, plan.examples,
          shape != shapes.end() ? shape->second : GuessImageShape(features, seen.bytes.most),
          feature);
    }
    plan.features.push_back(std::move(feature));
  }
  InspectedColumn label_column = features.at(label_key).column;
  for (int64_t i = features.at(label_key).examples; i < plan.examples; ++i) {
    label_column.AddMissing([] { return ""; });
  }
  RETURN_IF_ERROR(PlanLabel(label_column, plan));
  RETURN_IF_ERROR(FinishPlan(plan));
  return plan;
}

}  // namespace tpurun
