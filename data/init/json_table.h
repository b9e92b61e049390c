// Files of JSON lines for `tpurun init`.
#ifndef TPURUN_DATA_INIT_JSON_TABLE_H_
#define TPURUN_DATA_INIT_JSON_TABLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "data/init/csv_table.h"

namespace tpurun {

// The columns are the members of the objects, in the order in which they are first seen; those of
// nested objects are columns of their own. An absent member and null are missing. true and false
// are 1 and 0. Otherwise as InspectCsv.
absl::StatusOr<InspectedTable> InspectJson(const std::vector<std::string>& files,
                                           const std::vector<std::string>& eval_files = {},
                                           int64_t shards = kInitShards,
                                           const ChooseTexts& choose_texts = nullptr);

}  // namespace tpurun

#endif  // TPURUN_DATA_INIT_JSON_TABLE_H_
