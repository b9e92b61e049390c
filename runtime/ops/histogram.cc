// The counts and statistics for TensorBoard's histograms.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "runtime/base/histogram_limits.h"
#include "runtime/ops/op_list.h"
#include "runtime/ops/ops.h"

namespace tpurun {
namespace {

// A row with fewer elements is not worth its own counts.
constexpr int64_t kRowElements = 65536;
constexpr int64_t kMaxRows = 8;
constexpr int64_t kStatistics = 4;

int64_t Buckets() { return static_cast<int64_t>(HistogramLimits().size()); }

// The index of the first limit above x.
int64_t BucketOf(float x) {
  const std::vector<double>& limits = HistogramLimits();
  return std::upper_bound(limits.begin(), limits.end(), double{x}) - limits.begin();
}

// The same as BucketOf, by a table over the sign, the exponent and three bits of the mantissa. At
// most two limits are left to compare.
class BucketTable {
 public:
  BucketTable() : limits_(HistogramLimits().data()) {
    for (uint32_t key = 0; key < first_.size(); ++key) {
      const bool negative = key >= first_.size() / 2;
      const uint32_t bits = key << kRestBits | (negative ? (1u << kRestBits) - 1 : 0);
      const float lowest = std::bit_cast<float>(bits);
      first_[key] = std::isfinite(lowest) ? static_cast<uint16_t>(BucketOf(lowest)) : 0;
    }
  }
  int64_t operator()(float x) const {
    int64_t bucket = first_[std::bit_cast<uint32_t>(x) >> kRestBits];
    while (limits_[bucket] <= x) ++bucket;
    return bucket;
  }

 private:
  static constexpr int kRestBits = 20;
  const double* limits_;
  std::array<uint16_t, 1 << (32 - kRestBits)> first_;
};

template <typename BucketOfElement>
void CountRow(const float* x, int64_t n, const BucketOfElement& bucket_of, int64_t* counts,
              float* statistics) {
  std::fill_n(counts, Buckets() + 1, 0);
  constexpr double kMax = std::numeric_limits<float>::max();
  double min = kMax, max = -kMax, sum = 0, sum_squares = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (!std::isfinite(x[i])) {
      ++counts[Buckets()];
      continue;
    }
    ++counts[bucket_of(x[i])];
    const double value = x[i];
    min = std::min(min, value);
    max = std::max(max, value);
    sum += value;
    sum_squares += value * value;
  }
  const double all[kStatistics] = {min, max, sum, sum_squares};
  for (int64_t i = 0; i < kStatistics; ++i) {
    statistics[i] = static_cast<float>(std::clamp(all[i], -kMax, kMax));
  }
}

template <typename BucketOfElement>
std::unique_ptr<Kernel> CountKernel(const OpCall& call, BucketOfElement bucket_of) {
  const int64_t n = call.operands[0].num_elements(), rows = call.results[0].dims[0];
  return KernelOf([=](const KernelArgs& args) {
    const float* x = static_cast<const float*>(args.operands[0]);
    std::array<int64_t, 2048> unused_counts;
    std::array<float, kStatistics> unused_statistics;
    for (int64_t row = args.begin; row < args.end; ++row) {
      auto* counts = static_cast<int64_t*>(args.results[0]);
      auto* statistics = static_cast<float*>(args.results[1]);
      const int64_t begin = n * row / rows, end = n * (row + 1) / rows;
      CountRow(x + begin, end - begin, bucket_of,
               counts ? counts + row * (Buckets() + 1) : unused_counts.data(),
               statistics ? statistics + row * kStatistics : unused_statistics.data());
    }
  });
}

const OpDef& HistogramOp() {
  static const OpDef& op = *new OpDef{
      .name = "histogram",
      .doc =
          "x f32 of n elements -> counts s64 (R, B + 1) and statistics f32 (R, 4), R = n / 65536 "
          "in [1, 8]. Row r is of the elements from n r / R on, row-major: how many are in each "
          "of the B buckets of HistogramLimits(), and how many are NaN or infinite; of those "
          "that are neither the least, the largest, the sum and the sum of squares (summed in "
          "f64).",
      .min_operands = 1,
      .max_operands = 1,
      .flags = {.unit = WorkUnit::kRows},
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs&) -> absl::StatusOr<std::vector<Shape>> {
        const Shape& x = operands[0];
        if (x.dtype != DType::kF32) {
          return absl::InvalidArgumentError(
              absl::StrCat("histogram: want f32, got ", x.ToString()));
        }
        const int64_t rows = std::clamp<int64_t>(x.num_elements() / kRowElements, 1, kMaxRows);
        return std::vector<Shape>{Shape{DType::kS64, {rows, Buckets() + 1}},
                                  Shape{DType::kF32, {rows, kStatistics}}};
      },
      .reference = [](const OpCall& call) { return CountKernel(call, BucketOf); },
      .kernels = {{.name = "table",
                   .make = [](const OpCall& call,
                              const KernelOffer&) { return CountKernel(call, BucketTable()); }}},
      .cost =
          [](const OpCall& call, Cost& cost) {
            cost.vector_flops = 3.0 * static_cast<double>(call.operands[0].num_elements());
          }};
  return op;
}

}  // namespace

std::vector<const OpDef*> HistogramOps() { return {&HistogramOp()}; }

Value Histogram(GraphBuilder& b, Value x, const std::string& label) {
  return b.Add(HistogramOp(), {x}, {}, label);
}

}  // namespace tpurun
