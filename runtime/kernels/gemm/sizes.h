// Sizes of arrays in scratch memory.
#ifndef TPURUN_RUNTIME_KERNELS_GEMM_SIZES_H_
#define TPURUN_RUNTIME_KERNELS_GEMM_SIZES_H_

#include <cstdint>

namespace tpurun::gemm {

inline constexpr int64_t kFloat = sizeof(float);

// a / b rounded up; 0 where a is below 0. Without a division where there is need of none: it would
// be a good part of a small product's time.
inline int64_t DivideUp(int64_t a, int64_t b) { return a > b ? (a + b - 1) / b : a > 0 ? 1 : 0; }

// Where share `index` of `count` of n begins; share `count` begins at the end.
inline int64_t BeginOfShare(int64_t n, int64_t index, int64_t count) {
  return index == 0 ? 0 : index == count ? n : n * index / count;
}

inline int64_t RoundUp(int64_t a, int64_t unit) { return DivideUp(a, unit) * unit; }

// So many floats or more, a whole number of cache lines.
inline int64_t AlignedFloats(int64_t floats) { return RoundUp(floats, 16); }

// Arrays in scratch memory, one after the other, each at the beginning of a cache line.
class ScratchFloats {
 public:
  explicit ScratchFloats(void* scratch) : rest_(static_cast<float*>(scratch)) {}

  float* Take(int64_t floats) {
    float* const taken = rest_;
    rest_ += AlignedFloats(floats);
    return taken;
  }
  float* rest() const { return rest_; }

 private:
  float* rest_;
};

}  // namespace tpurun::gemm

#endif  // TPURUN_RUNTIME_KERNELS_GEMM_SIZES_H_
