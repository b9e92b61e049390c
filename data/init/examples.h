// What `tpurun init` learns about tf.Examples: of which kind, length and range each feature is.
#ifndef TPURUN_DATA_INIT_EXAMPLES_H_
#define TPURUN_DATA_INIT_EXAMPLES_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/init/column.h"
#include "proto/example.pb.h"
#include "runtime/io/record_format.h"

namespace tpurun {

// The least and the most of some sizes.
struct SizeRange {
  int64_t least = std::numeric_limits<int64_t>::max();
  int64_t most = 0;

  void Add(int64_t size);
  bool constant() const { return least == most; }
};

struct InspectedFeature {
  // bytes_list, int64_list or float_list; KIND_NOT_SET of several kinds.
  tensorflow::Feature::KindCase kind = tensorflow::Feature::KIND_NOT_SET;
  int64_t examples = 0;  // that have it
  SizeRange values;      // in one example
  // Of one value: that; of one of bytes when they are text.
  InspectedColumn column;
  // Of several numbers, each; of more than kMostElements in an example, all as one.
  std::vector<NumberStatistics> elements;
  static constexpr int64_t kMostElements = 1 << 16;
  // Of bytes: those of a value; whether each value is printable text; as numbers 0..255 of examples
  // that are not held out, all and by index modulo 3; the first ones of some value.
  SizeRange bytes;
  bool is_text = true;
  NumberStatistics pixels, channels[3];
  std::string first_bytes;
};

// Takes examples in their order.
class ExampleInspector {
 public:
  // The last of so many shards is held out, of kNoShards none.
  explicit ExampleInspector(int64_t shards = kInitShards) : shards_(shards) {}

  void Add(const tensorflow::Example& example);
  // All that follow are held out.
  void HoldOut() { holds_out_ = true; }
  int64_t shards() const { return shards_; }
  int64_t examples() const { return examples_; }
  int64_t held_out() const { return held_out_; }
  // By key.
  const std::map<std::string, InspectedFeature>& features() const { return features_; }

 private:
  bool IsNextHeldOut() const { return holds_out_ || IsHeldOut(examples_, shards_); }
  void AddFeature(const tensorflow::Feature& feature, InspectedFeature& seen) const;

  const int64_t shards_;
  int64_t examples_ = 0;
  int64_t held_out_ = 0;
  bool holds_out_ = false;
  std::map<std::string, InspectedFeature> features_;
};

// Reads all of the TFRecord files once, into `inspector`; returns how they are compressed. DataLoss
// for what is damaged, is no tf.Example, or not compressed as the first.
absl::StatusOr<Compression> InspectRecordFiles(const std::vector<std::string>& files,
                                               ExampleInspector& inspector);

}  // namespace tpurun

#endif  // TPURUN_DATA_INIT_EXAMPLES_H_
