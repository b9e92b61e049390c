// The elements of tf.data.Dataset.zip.
#ifndef TPURUN_DATA_ZIPPED_RECORDS_H_
#define TPURUN_DATA_ZIPPED_RECORDS_H_

#include <memory>
#include <vector>

#include "data/elements.h"
#include "data/records.h"

namespace tpurun {

// Each has the columns of an element of every input. No two inputs have a column of the same name.
std::unique_ptr<Records> MakeZippedRecords(std::vector<Elements> inputs);

}  // namespace tpurun

#endif  // TPURUN_DATA_ZIPPED_RECORDS_H_
