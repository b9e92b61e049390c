// parse_time { feature format output { name part } epoch }: dates and times in texts as numbers.
// Exported models have no op for it.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/civil_time.h"
#include "absl/time/time.h"
#include "data/csv.h"
#include "data/transforms/transform_list.h"
#include "proto/source_locations.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

using Part = proto::ParseTime::Part;

constexpr char kEpochFormat[] = "%Y-%m-%d";

// %Y are four digits, as to Python's strptime, which is %E4Y to absl. Its own %Y takes any number
// of them: the year of "01/02/23" would be 23.
std::string FormatOfAbsl(std::string_view format) {
  std::string of_absl;
  for (size_t i = 0; i < format.size(); ++i) {
    of_absl += format[i];
    if (format[i] != '%' || ++i == format.size()) continue;
    of_absl += format[i] == 'Y' ? "E4Y" : std::string(1, format[i]);
  }
  return of_absl;
}

// absl takes "0000" and "-001" for four digits, Python's years begin with 1. A time of another zone
// may be in the year before in UTC.
bool HasYear(absl::Time time, std::string_view format) {
  return format.find("%E4Y") == std::string_view::npos ||
         absl::ToCivilDay(time, absl::UTCTimeZone()) >= absl::CivilDay(0, 12, 31);
}

// nullopt if the text is not a time of any of the formats, which are those of absl.
std::optional<absl::Time> FindTime(std::string_view text, const std::vector<std::string>& formats) {
  for (const std::string& format : formats) {
    absl::Time time;
    std::string unused;
    // "infinite-future" is one to absl.
    if (absl::ParseTime(format, ToAbsl(text), &time, &unused) && time != absl::InfiniteFuture() &&
        time != absl::InfinitePast() && HasYear(time, format)) {
      return time;
    }
  }
  return std::nullopt;
}

proto::DataType TypeOfPart(Part part) {
  return part == proto::ParseTime::DAYS ? proto::FLOAT32 : proto::INT64;
}

int64_t CalendarPart(absl::Time time, Part part) {
  const absl::CivilSecond civil = absl::ToCivilSecond(time, absl::UTCTimeZone());
  switch (part) {
    case proto::ParseTime::YEAR:
      return civil.year();
    case proto::ParseTime::MONTH:
      return civil.month();
    case proto::ParseTime::DAY:
      return civil.day();
    case proto::ParseTime::HOUR:
      return civil.hour();
    case proto::ParseTime::MINUTE:
      return civil.minute();
    case proto::ParseTime::SECOND:
      return civil.second();
    case proto::ParseTime::DAY_OF_WEEK:
      return static_cast<int64_t>(absl::GetWeekday(civil));  // monday is 0
    case proto::ParseTime::DAY_OF_YEAR:
      return absl::GetYearDay(absl::CivilDay(civil));
    default:
      return absl::ToUnixSeconds(time);
  }
}

void AppendPart(absl::Time time, Part part, absl::Time epoch, Column* to) {
  if (part == proto::ParseTime::DAYS) {
    const auto days = static_cast<float>(absl::FDivDuration(time - epoch, absl::Hours(24)));
    return to->bytes.Append(&days, sizeof(days));
  }
  const int64_t value = CalendarPart(time, part);
  to->bytes.Append(&value, sizeof(value));
}

void CheckParseTimeOutput(const proto::ParseTime& parse_time, int index, ConfigErrors& errors) {
  const proto::ParseTime::Output& output = parse_time.output(index);
  const std::string path = ElementPath("output", index);
  if (!output.has_name() || !output.has_part()) {
    errors.Add(path, absl::StrCat("output ", index + 1, " has no ",
                                  output.has_name() ? "part, such as DAYS" : "name"));
    return;
  }
  if (!CheckColumnName(output.name(), {absl::StrCat("output ", index + 1), path}, "name", errors)) {
    return;
  }
  for (int before = 0; before < index; ++before) {
    if (parse_time.output(before).name() != output.name()) continue;
    errors.Add(path, absl::StrCat("output ", Quote(output.name()), " is given twice"));
    return;
  }
}

}  // namespace

std::optional<RowTransform> BindParseTime(const proto::Transform& transform, const Schema& input,
                                          ConfigErrors& errors) {
  const proto::ParseTime& parse_time = transform.parse_time();
  const int index = FindFeature(input, parse_time.feature(), "feature", errors);
  if (index >= 0 && (input[index].dtype != proto::STRING || input[index].varies())) {
    errors.Add("feature", absl::StrCat("feature ", Quote(parse_time.feature()), " must be STRING",
                                       input[index].varies() ? " of one shape" : "", ", got ",
                                       input[index].ToString()));
  }
  const std::optional<absl::Time> epoch =
      FindTime(parse_time.epoch(), {FormatOfAbsl(kEpochFormat)});
  if (!epoch.has_value()) {
    errors.Add("epoch", absl::StrCat("epoch must be a date such as 1970-01-01, got ",
                                     Quote(parse_time.epoch())));
  }
  for (int i = 0; i < parse_time.output_size(); ++i) CheckParseTimeOutput(parse_time, i, errors);
  if (!errors.empty()) return std::nullopt;
  RowTransform bound{.output = input, .reads = {parse_time.feature()}};
  for (const proto::ParseTime::Output& output : parse_time.output()) {
    bound.makes.push_back(output.name());
    PutColumn({output.name(), TypeOfPart(output.part()), input[index].dims}, &bound.output);
  }
  std::vector<std::string> formats;
  for (const std::string& format : parse_time.format()) formats.push_back(FormatOfAbsl(format));
  bound.apply = [parse_time, formats, epoch = *epoch](const RowBatch& rows, Table* out) {
    const Column& texts = rows.in.column(parse_time.feature());
    for (const auto& output : parse_time.output()) out->column(output.name()).Clear();
    const int64_t elements = texts.type.elements();
    for (int64_t i = 0; i < rows.in.rows * elements; ++i) {
      const std::string_view text = StripBlanks(texts.string(i));
      const std::optional<absl::Time> time = FindTime(text, formats);
      if (!time.has_value()) {
        return absl::DataLossError(absl::StrCat(
            rows.where(i / elements), ": feature ", Quote(parse_time.feature()),
            ": want a time of the format ",
            absl::StrJoin(parse_time.format(), " or ",
                          [](std::string* to, const std::string& f) { to->append(Quote(f)); }),
            ", got ", ShownField(text)));
      }
      for (const auto& output : parse_time.output()) {
        AppendPart(*time, output.part(), epoch, &out->column(output.name()));
      }
    }
    return absl::OkStatus();
  };
  return bound;
}

}  // namespace tpurun
