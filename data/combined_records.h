// Records that are made of the elements of other pipelines: zip, sample_from_datasets and window.
#ifndef TPURUN_DATA_COMBINED_RECORDS_H_
#define TPURUN_DATA_COMBINED_RECORDS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/elements.h"
#include "data/records.h"
#include "proto/input.pb.h"

namespace tpurun {

// The elements of tf.data.Dataset.zip: each has the columns of an element of every input. No two
// inputs have a column of the same name.
std::unique_ptr<Records> MakeZippedRecords(std::vector<Elements> inputs);

// The elements of tf.data.Dataset.sample_from_datasets, drawn by `seed`, the epoch and the index.
// All inputs have the same columns. `sample` has no weights or one for each input.
std::unique_ptr<Records> MakeSampledRecords(std::vector<Elements> inputs,
                                            const proto::SampleFromDatasets& sample, uint64_t seed);

// The windows of tf.data.Dataset.window: each has the columns of `size` elements, along a new first
// dimension. The columns have one size. ResourceExhausted, with the place `where`, if what it holds
// takes more than `memory_bytes`.
std::unique_ptr<Records> MakeWindows(Elements elements, const proto::Window& window,
                                     const std::string& where, int64_t memory_bytes);

// The columns of windows of `size` elements.
Schema WindowSchema(Schema schema, int64_t size);

}  // namespace tpurun

#endif  // TPURUN_DATA_COMBINED_RECORDS_H_
