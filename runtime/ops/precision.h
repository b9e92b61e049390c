// How a product of f32 values is computed from products of bf16 parts (TPU precisions DEFAULT,
// HIGH, HIGHEST).
#ifndef TPURUN_RUNTIME_OPS_PRECISION_H_
#define TPURUN_RUNTIME_OPS_PRECISION_H_

#include <vector>

#include "runtime/base/bfloat16_parts.h"
#include "runtime/ir/attrs.h"
#include "runtime/ops/ops.h"

namespace tpurun {

inline Precision PrecisionOf(const Attrs& attrs) {
  return static_cast<Precision>(attrs.Int("precision"));
}

inline bool ValidPrecision(const Attrs& attrs) {
  const int64_t precision = attrs.Int("precision");
  return precision >= 0 && precision <= static_cast<int64_t>(Precision::kF32);
}

// The parts of x and y that one product multiplies. Part 0 is the largest part.
struct PartProduct {
  int x;
  int y;
};

// The products that are summed at this precision, smallest first.
inline std::vector<PartProduct> PartProducts(Precision precision) {
  switch (precision) {
    case Precision::kHigh:
      return {{1, 0}, {0, 1}, {0, 0}};
    case Precision::kHighest:
      return {{2, 0}, {1, 1}, {0, 2}, {1, 0}, {0, 1}, {0, 0}};
    default:
      return {{0, 0}};
  }
}

// Passes of bf16 that a TPU makes for a product. It has no products of f32: those of kHighest come
// nearest.
inline double TpuPasses(const Attrs& attrs) {
  const Precision precision = PrecisionOf(attrs);
  return static_cast<double>(
      PartProducts(precision == Precision::kF32 ? Precision::kHighest : precision).size());
}

// Part `which` of a value: at kF32 the value itself, at kDefault the value rounded to bf16, else
// one of the numbers of bfloat16_parts.h.
[[gnu::always_inline]] inline float PartOf(float value, Precision precision, int which) {
  return precision == Precision::kF32 ? value : BFloat16Part(value, which);
}

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_PRECISION_H_
