// Sizes of arrays in scratch memory.
#ifndef TPURUN_RUNTIME_KERNELS_GEMM_SIZES_H_
#define TPURUN_RUNTIME_KERNELS_GEMM_SIZES_H_

#include <cstdint>

namespace tpurun::gemm {

inline constexpr int64_t kFloat = sizeof(float);

inline int64_t DivideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

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
