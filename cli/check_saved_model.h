// `tpurun check --saved_model=PATH`: which ops of a SavedModel or GraphDef a Cloud TPU has.
#ifndef TPURUN_CLI_CHECK_SAVED_MODEL_H_
#define TPURUN_CLI_CHECK_SAVED_MODEL_H_

#include <cstdint>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "cli/command_line.h"

namespace tpurun {

// Prints CheckModelFile of --saved_model. Its error is that of the graph; under --strict warnings
// are one, too.
absl::Status CheckSavedModel(const CommandLine& command);

// Holds what the signatures of each meta graph compute, or of a GraphDef all nodes, against the ops
// that a TPU has. Writes tables to `out`, or with `json` one object a line: of the kinds
// "meta_graph", "signature", "op" and at the end "model". Unimplemented if an op does not run on a
// TPU, after all is written. NotFound or DataLoss if the file cannot be read; then what stands in
// `out` is not complete. `warnings` becomes the number of rows that are warnings.
absl::Status CheckModelFile(const std::string& path, bool json, std::ostream& out,
                            int64_t& warnings);

}  // namespace tpurun

#endif  // TPURUN_CLI_CHECK_SAVED_MODEL_H_
