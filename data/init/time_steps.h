// TimeSteps: how the times of a series follow each other from row to row.
#ifndef TPURUN_DATA_INIT_TIME_STEPS_H_
#define TPURUN_DATA_INIT_TIME_STEPS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace tpurun {

// From one row to the next.
struct TimeStep {
  double days = 0;
  std::string from, to;              // the two times as they are written
  std::string from_where, to_where;  // the places of the rows
};

// Steps that are longer than the usual one.
struct TimeGaps {
  int64_t count = 0;
  double usual_days = 0;        // the median of the steps
  bool skips_weekends = false;  // Saturdays and Sundays are not counted
  TimeStep largest;
};

class TimeSteps {
 public:
  // The next row, with its time in days since 1970-01-01 as `text` writes it, at the place `where`.
  // nullopt: it has none, and its neighbours are not compared.
  void Add(std::optional<double> days, std::string_view text, const std::string& where);

  // The steps to a later, an earlier and the same time.
  int64_t rises() const { return rises_; }
  int64_t falls() const { return falls_; }
  int64_t repeats() const { return repeats_; }
  // The first of them; empty if there is none.
  const TimeStep& first_fall() const { return first_fall_; }
  const TimeStep& first_repeat() const { return first_repeat_; }

  // Steps to a later time that are longer than 1.5 times the median: months and years of different
  // length are none. Saturdays and Sundays are not counted where no row is of one and the usual
  // step is a day or less.
  TimeGaps FindGaps() const;

 private:
  // Steps by their length: those of one slot are within 1% of each other.
  class Lengths {
   public:
    // True if it is the longest so far: it is to be the largest of the gaps.
    bool Add(double days);
    // Of `count` steps to a later time.
    TimeGaps FindGaps(int64_t count) const;
    TimeStep largest;

   private:
    struct Slot {
      int64_t count = 0;
      double sum = 0;
    };
    std::map<int, Slot> slots_;
    double most_ = 0;
  };

  TimeStep StepTo(double days, std::string_view text, const std::string& where) const;
  void AddRise(double days, std::string_view text, const std::string& where);

  int64_t rises_ = 0, falls_ = 0, repeats_ = 0;
  TimeStep first_fall_, first_repeat_;
  Lengths all_, of_weekdays_;
  bool any_weekend_ = false;
  std::optional<double> last_;
  std::string last_text_, last_where_;
};

}  // namespace tpurun

#endif  // TPURUN_DATA_INIT_TIME_STEPS_H_
