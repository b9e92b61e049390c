#include "data/init/time_steps.h"

#include <algorithm>
#include <cmath>

namespace tpurun {
namespace {

// Of a day since 1970-01-01, a Thursday: days since the Monday before.
int64_t DayOfWeek(int64_t day) { return ((day + 3) % 7 + 7) % 7; }

// Saturdays and Sundays from an origin to before `day`.
int64_t WeekendDaysBefore(int64_t day) {
  const int64_t of_week = DayOfWeek(day);
  return (day + 3 - of_week) / 7 * 2 + std::max<int64_t>(0, of_week - 5);
}

int64_t DayOf(double days) { return static_cast<int64_t>(std::floor(days)); }

}  // namespace

TimeStep TimeSteps::StepTo(double days, std::string_view text, const std::string& where) const {
  return {.days = days - *last_,
          .from = last_text_,
          .to = std::string(text),
          .from_where = last_where_,
          .to_where = where};
}

void TimeSteps::Add(std::optional<double> days, std::string_view text, const std::string& where) {
  if (days.has_value() && last_.has_value()) {
    if (*days > *last_) AddRise(*days, text, where);
    if (*days < *last_ && ++falls_ == 1) first_fall_ = StepTo(*days, text, where);
    if (*days == *last_ && ++repeats_ == 1) first_repeat_ = StepTo(*days, text, where);
  }
  constexpr int64_t kSaturday = 5;
  if (days.has_value()) any_weekend_ |= DayOfWeek(DayOf(*days)) >= kSaturday;
  last_ = days;
  last_text_ = text;
  last_where_ = where;
}

void TimeSteps::AddRise(double days, std::string_view text, const std::string& where) {
  ++rises_;
  const int64_t weekend_days =
      WeekendDaysBefore(DayOf(days)) - WeekendDaysBefore(DayOf(*last_) + 1);
  const double of_weekdays = days - *last_ - static_cast<double>(weekend_days);
  if (all_.Add(days - *last_)) all_.largest = StepTo(days, text, where);
  if (of_weekdays_.Add(of_weekdays)) of_weekdays_.largest = StepTo(days, text, where);
}

bool TimeSteps::Lengths::Add(double days) {
  // Less than any format can write.
  constexpr double kLeast = 1e-15;
  Slot& slot = slots_[static_cast<int>(std::floor(std::log(std::max(days, kLeast)) * 100))];
  ++slot.count;
  slot.sum += days;
  if (days <= most_) return false;
  most_ = days;
  return true;
}

TimeGaps TimeSteps::Lengths::FindGaps(int64_t count) const {
  constexpr double kMostTimes = 1.5;
  TimeGaps gaps;
  int64_t shorter = 0;
  for (const auto& [length, slot] : slots_) {
    const double mean = slot.sum / static_cast<double>(slot.count);
    if (2 * shorter < count && 2 * (shorter + slot.count) >= count) gaps.usual_days = mean;
    shorter += slot.count;
    if (2 * shorter >= count && mean > kMostTimes * gaps.usual_days) gaps.count += slot.count;
  }
  if (gaps.count > 0) gaps.largest = largest;
  return gaps;
}

TimeGaps TimeSteps::FindGaps() const {
  TimeGaps weekdays = of_weekdays_.FindGaps(rises_);
  constexpr double kAboutADay = 1.1;  // a clock is put back by an hour
  if (any_weekend_ || weekdays.usual_days > kAboutADay) return all_.FindGaps(rises_);
  weekdays.skips_weekends = true;
  return weekdays;
}

}  // namespace tpurun
