// The windows of tf.data.Dataset.window.
#ifndef TPURUN_DATA_WINDOWED_RECORDS_H_
#define TPURUN_DATA_WINDOWED_RECORDS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "data/elements.h"
#include "data/records.h"
#include "data/table.h"
#include "proto/input.pb.h"

namespace tpurun {

// Each has the columns of `size` elements, along a new first dimension. The columns have one size.
// ResourceExhausted, with the place `where`, if what it holds takes more than `memory_bytes`.
std::unique_ptr<Records> MakeWindows(Elements elements, const proto::Window& window,
                                     const std::string& where, int64_t memory_bytes);

// The columns of windows of `size` elements.
Schema WindowSchema(Schema schema, int64_t size);

}  // namespace tpurun

#endif  // TPURUN_DATA_WINDOWED_RECORDS_H_
