#include "data/init/examples.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "absl/strings/str_cat.h"
#include "data/images/decode.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/io/record_reader.h"

namespace tpurun {
namespace {

using tensorflow::Feature;

constexpr int64_t kExamplesBetweenBounds = 1000;
// Longer strings are no words of a vocabulary.
constexpr size_t kMostTextBytes = 1000;
constexpr size_t kFirstBytes = 8;

int64_t NumValues(const Feature& feature) {
  switch (feature.kind_case()) {
    case Feature::kBytesList:
      return feature.bytes_list().value_size();
    case Feature::kFloatList:
      return feature.float_list().value_size();
    case Feature::kInt64List:
      return feature.int64_list().value_size();
    default:
      return 0;
  }
}

void AddImage(const std::string& bytes, InspectedFeature& seen) {
  const absl::StatusOr<std::unique_ptr<EncodedImage>> image = EncodedImage::Open(bytes, {});
  if (!image.ok()) return;
  const ImageSize& size = (*image)->size();
  ++seen.images;
  seen.shorter_sides.Add(static_cast<double>(std::min(size.height, size.width)));
  seen.most_channels = std::max(seen.most_channels, size.channels);
}

void AddBytes(const std::string& bytes, bool held_out, InspectedFeature& seen) {
  // If one value is no image, the feature is none.
  if (seen.images == seen.examples - 1) AddImage(bytes, seen);
  seen.bytes.Add(std::ssize(bytes));
  if (seen.first_bytes.empty()) seen.first_bytes = bytes.substr(0, kFirstBytes);
  seen.is_text = seen.is_text && bytes.size() <= kMostTextBytes && IsPrintable(bytes);
  if (seen.is_text) {
    seen.column.AddText(bytes, held_out, [] { return std::string(); });
  } else {
    seen.column.values().Drop();
  }
  // Sums of integers are exact, and quicker than Welford's.
  if (held_out || !seen.bytes.constant()) return;
  int64_t counts[3] = {}, sums[3] = {}, squares[3] = {};
  uint8_t least[3] = {255, 255, 255}, most[3] = {};
  for (size_t i = 0; i < bytes.size(); ++i) {
    const uint8_t value = static_cast<uint8_t>(bytes[i]);
    const size_t channel = i % 3;
    ++counts[channel];
    sums[channel] += value;
    squares[channel] += value * value;
    least[channel] = std::min(least[channel], value);
    most[channel] = std::max(most[channel], value);
  }
  for (int channel = 0; channel < 3; ++channel) {
    if (counts[channel] == 0) continue;
    const double n = static_cast<double>(counts[channel]);
    const double sum = static_cast<double>(sums[channel]);
    const NumberStatistics added{
        .count = counts[channel],
        .mean = sum / n,
        .squares = static_cast<double>(squares[channel]) - sum * sum / n,
        .min = static_cast<double>(least[channel]),
        .max = static_cast<double>(most[channel]),
    };
    seen.pixels.Merge(added);
    seen.channels[channel].Merge(added);
  }
}

// `values` are the numbers of one list.
template <typename Values>
void AddNumbers(const Values& values, bool is_integer, bool held_out, InspectedFeature& seen) {
  const bool finite = std::all_of(values.begin(), values.end(), [](auto value) {
    return std::isfinite(static_cast<double>(value));
  });
  if (!finite) {
    ++seen.not_finite;
    return;
  }
  if (values.size() == 1) {
    const double value = static_cast<double>(values[0]);
    seen.column.AddNumber(value, is_integer,
                          is_integer ? absl::StrCat(values[0]) : ShortestText(value), held_out);
  }
  if (held_out) return;
  const bool one = values.size() > InspectedFeature::kMostElements;
  if (seen.elements.empty()) seen.elements.resize(one ? 1 : values.size());
  if (!one && seen.elements.size() != static_cast<size_t>(values.size()))
    return;  // of no fixed length
  for (int i = 0; i < values.size(); ++i) {
    seen.elements[one ? 0 : i].Add(static_cast<double>(values[i]));
  }
}

}  // namespace

void SizeRange::Add(int64_t size) {
  least = std::min(least, size);
  most = std::max(most, size);
}

void ExampleInspector::AddFeature(const Feature& feature, InspectedFeature& seen) const {
  const int64_t count = NumValues(feature);
  if (count == 0) return;  // as good as none
  seen.kind = seen.examples == 0 || seen.kind == feature.kind_case() ? feature.kind_case()
                                                                     : Feature::KIND_NOT_SET;
  ++seen.examples;
  seen.values.Add(count);
  const bool held_out = IsNextHeldOut();
  switch (feature.kind_case()) {
    case Feature::kBytesList:
      if (count == 1) AddBytes(feature.bytes_list().value(0), held_out, seen);
      break;
    case Feature::kFloatList:
      AddNumbers(feature.float_list().value(), false, held_out, seen);
      break;
    case Feature::kInt64List:
      AddNumbers(feature.int64_list().value(), true, held_out, seen);
      break;
    default:
      break;
  }
}

void ExampleInspector::Add(const tensorflow::Example& example) {
  for (const auto& [name, feature] : example.features().feature()) {
    AddFeature(feature, features_[name]);
  }
  held_out_ += IsNextHeldOut();
  ++examples_;
  if (examples_ % kExamplesBetweenBounds != 0) return;
  std::vector<InspectedColumn*> columns;
  for (auto& [name, feature] : features_) columns.push_back(&feature.column);
  if (!columns.empty()) BoundValueCounts(columns);
}

absl::StatusOr<Compression> InspectRecordFiles(const std::vector<std::string>& files,
                                               ExampleInspector& inspector) {
  ASSIGN_OR_RETURN(const Compression compression, GuessCompression(files.front()));
  tensorflow::Example example;
  const int64_t before = inspector.examples();
  for (const std::string& file : files) {
    ASSIGN_OR_RETURN(const Compression own, GuessCompression(file));
    if (own != compression) {
      return absl::DataLossError(
          absl::StrCat(file, ": not compressed as ", files.front(), ", want all files alike"));
    }
    ASSIGN_OR_RETURN(const std::unique_ptr<RecordReader> reader,
                     RecordReader::Open(file, compression));
    while (true) {
      std::string_view record;
      const int64_t number = reader->num_records();
      ASSIGN_OR_RETURN(const bool found, reader->Read(&record));
      if (!found) break;
      if (!example.ParseFromArray(record.data(), static_cast<int>(record.size()))) {
        return absl::DataLossError(
            absl::StrCat("record ", number, " of ", file, ": is not a tf.Example"));
      }
      inspector.Add(example);
    }
  }
  if (inspector.examples() == before) {
    return absl::DataLossError(absl::StrCat(files.front(), ": no records"));
  }
  if (inspector.features().empty()) {
    return absl::DataLossError(
        absl::StrCat(files.front(), ": no record has a feature, want tf.Examples"));
  }
  return compression;
}

}  // namespace tpurun
