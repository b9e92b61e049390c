// What one pass over values tells about them, in bounded memory.
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

// Example i is held out when i % shards is the last shard: one of ten is enough to see a model
// fail and leaves nine to train.
inline constexpr int64_t kInitShards = 10;
// Instead, where something recurs with a period that 10 shares: 11 is a prime.
inline constexpr int64_t kOtherInitShards = 11;
// Instead, where other files are held out.
inline constexpr int64_t kNoShards = 0;
inline bool IsHeldOut(int64_t example, int64_t shards) {
  return shards != kNoShards && example % shards == shards - 1;
}

// Of the numbers added so far.
struct NumberStatistics {
  int64_t count = 0;
  double mean = 0;
  double squares = 0;  // sum of (x - mean)^2
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();

  void Add(double value);
  // All of another's.
  void Merge(const NumberStatistics& other);
  // Of the population; 0 where all are one number.
  double stddev() const;
};

// How often each value was seen. Of more than kMost values none is kept.
class ValueCounts {
 public:
  static constexpr size_t kMost = 20000;

  struct Count {
    int64_t all = 0;
    int64_t train = 0;  // in examples that are not held out
  };
  // Lets string_view find.
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  using Map = std::unordered_map<std::string, Count, Hash, std::equal_to<>>;

  void Add(std::string_view value, bool held_out);
  // Forgets all, for good.
  void Drop();
  bool complete() const { return complete_; }
  const Map& map() const { return map_; }
  // About what the map takes.
  size_t bytes() const { return bytes_; }

 private:
  Map map_;
  size_t bytes_ = 0;
  bool complete_ = true;
};

}  // namespace tpurun

#endif  // TPURUN_DATA_INIT_STATISTICS_H_
