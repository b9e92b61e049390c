// Whether the rows of a series are in the order of time, and how far apart, for `tpurun init`.
#ifndef TPURUN_CLI_INIT_TIMES_H_
#define TPURUN_CLI_INIT_TIMES_H_

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "data/init/csv_table.h"

namespace tpurun {

// Returns warnings of gaps, of times that recur, of a column of numbers that fall as times of the
// newest first do, and, where no column has times, of several `files` that are read as one series.
// The times of the rows are those of the first column of times in rising order, or else of the
// first one; columns of `ignored` are none. DataLoss if they fall.
absl::StatusOr<std::vector<std::string>> CheckTimes(const InspectedTable& table, size_t files,
                                                    const std::set<size_t>& ignored);

}  // namespace tpurun

#endif  // TPURUN_CLI_INIT_TIMES_H_
