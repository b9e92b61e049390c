// Decides the role of one column of data, or of one feature, for `tpurun init`.
#ifndef TPURUN_CLI_INIT_FEATURES_H_
#define TPURUN_CLI_INIT_FEATURES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "cli/init_plan.h"
#include "data/init/column.h"
#include "data/init/column_format.h"
#include "data/init/text_words.h"

namespace tpurun {

// "1 word", "2 words".
std::string Plural(int64_t count, std::string_view what);
// "0.5 to 7". Integers are exact.
std::string RangeText(const NumberStatistics& numbers);
// True if all numbers of the column are in the range of int64.
bool FitsInt64(const InspectedColumn& column);
// The divisor for normalization: `stddev`, or 1 if the values hardly differ.
float PositiveOr1(double stddev);

// A run of numbers this long is one thing, such as the pixels of an image.
inline constexpr size_t kLongRun = 16;
// Whether the elements are on one scale, as pixels are: many that begin at one least value (nine of
// ten elements), of which none goes far beyond the others.
bool AreAlike(const std::vector<NumberStatistics>& elements);
// Normalizes all elements alike if they are on one scale, else each by its own mean and stddev.
void SetScale(const std::vector<NumberStatistics>& elements, PlannedFeature& feature);

// What is lost of a column of integers, a number or a label, that a float does not hold; also where
// they are dates such as 20240610. Empty: nothing. `may_be_ids`: --ids can name features.
std::string LargeIntegersWarning(const InspectedColumn& column, const PlannedFeature& feature,
                                 bool may_be_ids);

void LeaveOut(const std::string& why, PlannedFeature& feature);
// Leaves out what windows of a series have no use for: texts, and of times the days, which the
// model would have to extrapolate.
void LeaveOutOfWindows(PlannedFeature& feature);

// The texts for missing values in columns that are numbers otherwise.
NaValues FindNaValues(const std::vector<const InspectedColumn*>& columns);
// Says which words of a column count as missing because they do among numbers of another column.
void NoteMissingWords(const InspectedColumn& column, const NaValues& na_values,
                      const PlannedFeature& feature, std::vector<std::string>& notes);

// Whether the texts are sentences, not a few phrases that recur.
bool HasSentences(const InspectedColumn& column);

// Decides whether a feature of one value per example is a number, a category or nothing to learn
// from, such as numbers that count the examples, unless it `may_count`.
void PlanScalar(const InspectedColumn& column, const NaValues& na_values, int64_t examples,
                bool may_count, PlannedFeature& feature);

// Makes a category of a feature, whatever its values look like: by a vocabulary, or by hashing if
// its values are too many for one.
void PlanIds(const InspectedColumn& column, const NaValues& na_values, PlannedFeature& feature);

// As PlanIds, for a column that has_codes(), unless there is nothing to learn from.
void PlanCodes(const InspectedColumn& column, const NaValues& na_values, int64_t examples,
               PlannedFeature& feature);

// Makes ids of the words of a text.
void PlanWords(const InspectedColumn& column, const TextWords& words, const TextOptions& options,
               PlannedFeature& feature);

// Decides what is made from a column of times, and gives the features their names with `name_of`,
// whose argument is a part: "month". The first result is the column.
std::vector<PlannedFeature> PlanTime(const FormattedColumn& column, const NaValues& na_values,
                                     const PlannedFeature& feature,
                                     const std::function<std::string(const char* part)>& name_of);

// Decides the kind of the label plan.label, and its classes. The label feature has its name
// already, and its dtype is the type of its values. DataLoss if nothing can be learned about it.
absl::Status PlanLabel(const InspectedColumn& column, InitPlan& plan);

}  // namespace tpurun

#endif  // TPURUN_CLI_INIT_FEATURES_H_
