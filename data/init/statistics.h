// Statistics of values in one pass and bounded memory.
#ifndef TPURUN_DATA_INIT_STATISTICS_H_
#define TPURUN_DATA_INIT_STATISTICS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>

namespace tpurun {

// The default number of shards. Example i is held out if i % shards is shards - 1. One example of
// ten is enough to see a model fail and leaves nine for training.
inline constexpr int64_t kInitShards = 10;
// The number of shards if examples recur with a period that shares a factor with 10: 11 is a prime.
inline constexpr int64_t kOtherInitShards = 11;
// The number of shards if other files are held out instead.
inline constexpr int64_t kNoShards = 0;
inline bool IsHeldOut(int64_t example, int64_t shards) {
  return shards != kNoShards && example % shards == shards - 1;
}

// Statistics of the numbers added so far.
struct NumberStatistics {
  int64_t count = 0;
  double mean = 0;
  double squares = 0;  // sum of (x - mean)^2
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();

  void Add(double value);
  // Adds all numbers of another NumberStatistics.
  void Merge(const NumberStatistics& other);
  // The standard deviation of the population. 0 if all numbers are equal.
  double stddev() const;
};

// Counts of each value. Keeps no counts if there are more than kMost different values.
class ValueCounts {
 public:
  static constexpr size_t kMost = 20000;

  struct Count {
    int64_t all = 0;
    int64_t train = 0;  // in examples that are not held out
  };
  // Lets `find` take a string_view.
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  using Map = std::unordered_map<std::string, Count, Hash, std::equal_to<>>;

  void Add(std::string_view value, bool held_out);
  // Drops all counts, permanently.
  void Drop();
  bool complete() const { return complete_; }
  const Map& map() const { return map_; }
  // The approximate size of the map, in bytes.
  size_t bytes() const { return bytes_; }

 private:
  Map map_;
  size_t bytes_ = 0;
  bool complete_ = true;
};

}  // namespace tpurun

#endif  // TPURUN_DATA_INIT_STATISTICS_H_
