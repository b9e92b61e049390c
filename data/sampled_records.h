// The elements of tf.data.Dataset.sample_from_datasets.
#ifndef TPURUN_DATA_SAMPLED_RECORDS_H_
#define TPURUN_DATA_SAMPLED_RECORDS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "data/elements.h"
#include "data/records.h"
#include "proto/input.pb.h"

namespace tpurun {

// Each is drawn by `seed`, the epoch and the index. All inputs have the same columns. `sample` has
// no weights or one for each input.
std::unique_ptr<Records> MakeSampledRecords(std::vector<Elements> inputs,
                                            const proto::SampleFromDatasets& sample, uint64_t seed);

}  // namespace tpurun

#endif  // TPURUN_DATA_SAMPLED_RECORDS_H_
