// The random numbers of one synthetic example.
#ifndef TPURUN_DATA_CONVERT_DRAWS_H_
#define TPURUN_DATA_CONVERT_DRAWS_H_

#include <cstdint>

#include "runtime/base/random.h"

namespace tpurun {

// A sequence of random numbers. The sequence of example `i` depends only on the seed, the stream
// and `i`, not on which other examples are drawn.
class Draws {
 public:
  Draws(uint64_t seed, uint32_t stream, uint64_t i) : seed_(seed), stream_(stream), i_(i) {}

  float Uniform(float low, float high) {
    const uint32_t bits = PhiloxElement(seed_, stream_, static_cast<uint32_t>(i_),
                                        static_cast<uint32_t>(i_ >> 32), next_++);
    return low + UniformFloat(bits) * (high - low);
  }
  // `n` is 1 to 2^24.
  int64_t Below(int64_t n) { return static_cast<int64_t>(Uniform(0, static_cast<float>(n))); }

 private:
  const uint64_t seed_;
  const uint32_t stream_;
  const uint64_t i_;
  uint64_t next_ = 0;
};

}  // namespace tpurun

#endif  // TPURUN_DATA_CONVERT_DRAWS_H_
