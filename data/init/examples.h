// ExampleInspector: what `tpurun init` learns about tf.Examples: the kind, length and range of each
// feature.
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

// The minimum and the maximum of some sizes.
struct SizeRange {
  int64_t least = std::numeric_limits<int64_t>::max();
  int64_t most = 0;

  void Add(int64_t size);
  bool constant() const { return least == most; }
};

struct InspectedFeature {
  // bytes_list, int64_list or float_list; KIND_NOT_SET if the examples have several kinds.
  tensorflow::Feature::KindCase kind = tensorflow::Feature::KIND_NOT_SET;
  int64_t examples = 0;  // the examples that have the feature
  SizeRange values;      // the number of values in one example
  // For features of one value: the value's statistics. For one bytes value: only if the values are
  // text.
  InspectedColumn column;
  // For features of several numbers: the statistics of each position, or of all positions together
  // if an example has more than kMostElements numbers.
  std::vector<NumberStatistics> elements;
  static constexpr int64_t kMostElements = 1 << 16;
  int64_t not_finite = 0;  // the examples with a NaN or an infinity, which are in no statistics
  // For bytes features: the size of a value, in bytes; whether every value is printable text; the
  // bytes as numbers 0..255 of examples that are not held out, all together and by index modulo 3;
  // the first bytes of one value.
  SizeRange bytes;
  bool is_text = true;
  NumberStatistics pixels, channels[3];
  std::string first_bytes;
  // For bytes features: the values that are a JPEG or a PNG, the shorter sides of these images in
  // pixels, and the most channels of one.
  int64_t images = 0;
  NumberStatistics shorter_sides;
  int64_t most_channels = 0;
};

// Add the examples in order.
class ExampleInspector {
 public:
  // The last shard of `shards` is held out; with kNoShards none is.
  explicit ExampleInspector(int64_t shards = kInitShards) : shards_(shards) {}

  void Add(const tensorflow::Example& example);
  // All examples that are added from now on are held out.
  void HoldOut() { holds_out_ = true; }
  int64_t shards() const { return shards_; }
  int64_t examples() const { return examples_; }
  int64_t held_out() const { return held_out_; }
  // The features by key.
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

// Reads all TFRecord files once and adds their examples to `inspector`. Returns their compression.
// DataLoss for a record that is damaged or is not a tf.Example, and for a file that is compressed
// differently from the first.
absl::StatusOr<Compression> InspectRecordFiles(const std::vector<std::string>& files,
                                               ExampleInspector& inspector);

}  // namespace tpurun

#endif  // TPURUN_DATA_INIT_EXAMPLES_H_
