// per_image_standardization { feature }: (x - mean) / max(stddev, 1 / sqrt(values)) of each image,
// as FLOAT32: tf.image.per_image_standardization.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "data/transforms/image_rows.h"
#include "data/transforms/number_types.h"
#include "data/transforms/transform_list.h"
#include "runtime/base/clones.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

// Sums in double: the mean and the variance are those of exact sums but for their last bit.
// Eight sums, one for each value modulo 8, are added up at the end: they are a vector.
constexpr int kSums = 8;

template <typename From>
TPURUN_CLONES double SumOfPixels(const From* from, int64_t count) {
  double sums[kSums] = {};
  int64_t i = 0;
  for (; i + kSums <= count; i += kSums) {
    for (int k = 0; k < kSums; ++k) sums[k] += static_cast<double>(Number(from[i + k]));
  }
  for (; i < count; ++i) sums[i % kSums] += static_cast<double>(Number(from[i]));
  return std::accumulate(sums, sums + kSums, 0.0);
}

template <typename From>
TPURUN_CLONES double SumOfSquares(const From* from, int64_t count, double mean) {
  double sums[kSums] = {};
  int64_t i = 0;
  for (; i + kSums <= count; i += kSums) {
    for (int k = 0; k < kSums; ++k) {
      const double apart = static_cast<double>(Number(from[i + k])) - mean;
      sums[k] += apart * apart;
    }
  }
  for (; i < count; ++i) {
    const double apart = static_cast<double>(Number(from[i])) - mean;
    sums[i % kSums] += apart * apart;
  }
  return std::accumulate(sums, sums + kSums, 0.0);
}

template <typename From>
TPURUN_CLONES void StandardizePixels(const From* from, int64_t count, float mean, float stddev,
                                     float* to) {
  for (int64_t i = 0; i < count; ++i) {
    to[i] = (static_cast<float>(Number(from[i])) - mean) / stddev;
  }
}

template <typename From>
void StandardizeImage(const std::byte* bytes, int64_t count, float* to) {
  const auto* const from = reinterpret_cast<const From*>(bytes);
  const auto values = static_cast<double>(count);
  const double mean = SumOfPixels(from, count) / values;
  const double stddev = std::sqrt(SumOfSquares(from, count, mean) / values);
  StandardizePixels(from, count, static_cast<float>(mean),
                    static_cast<float>(std::max(stddev, 1 / std::sqrt(values))), to);
}

using StandardizeFunction = void (*)(const std::byte* bytes, int64_t count, float* to);

StandardizeFunction FindStandardize(proto::DataType dtype) {
  return ForNumberType(
      dtype, [](auto value) -> StandardizeFunction { return StandardizeImage<decltype(value)>; });
}

}  // namespace

std::optional<RowTransform> BindPerImageStandardization(const proto::Transform& transform,
                                                        const Schema& input, ConfigErrors& errors) {
  std::vector<StandardizeFunction> functions;
  const auto made = [&](ColumnType* type) {
    functions.push_back(FindStandardize(type->dtype));
    if (functions.back() == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("feature ", Quote(type->name),
                                                     " must be of numbers (", kNumberTypes,
                                                     "), got ", type->ToString()));
    }
    type->dtype = proto::FLOAT32;
    return absl::OkStatus();
  };
  std::optional<RowTransform> bound =
      BindImages(transform.per_image_standardization().feature(), input, made, errors);
  if (!bound.has_value()) return std::nullopt;
  bound->apply = [features = bound->makes, functions](const RowBatch& rows, Table* out) {
    for (size_t i = 0; i < features.size(); ++i) {
      const Column& from = rows.in.column(features[i]);
      Column& to = out->column(features[i]);
      to.Clear();
      for (int64_t row = 0; row < rows.in.rows; ++row) {
        const std::span<const int64_t> dims = from.DimsOf(row);
        functions[i](from.BytesOf(row).data(), ImageSizeOf(dims).elements(),
                     reinterpret_cast<float*>(to.AddRow(dims)));
      }
    }
    return absl::OkStatus();
  };
  return bound;
}

}  // namespace tpurun
