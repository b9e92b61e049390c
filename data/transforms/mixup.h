// Mixup (Zhang et al. 2017), the option of `batch`.
#ifndef TPURUN_DATA_TRANSFORMS_MIXUP_H_
#define TPURUN_DATA_TRANSFORMS_MIXUP_H_

#include <cstdint>
#include <span>

#include "data/records.h"

namespace tpurun {

// max(x, 1 - x), where x is drawn from Beta(alpha, alpha), alpha > 0, by the seed and the identity
// of an element.
float DrawMixupLambda(float alpha, uint64_t seed, const RowId& id);

// Two rows of the same size: each becomes its lambda times itself plus (1 - lambda) times the other
// one as it was.
void MixRows(float lambda_a, std::span<float> a, float lambda_b, std::span<float> b);

}  // namespace tpurun

#endif  // TPURUN_DATA_TRANSFORMS_MIXUP_H_
