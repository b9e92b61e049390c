// What a file that TensorFlow or tpurun wrote holds: checkpoints, event files, TFRecord files,
// SavedModels, ONNX files. All checksums are verified on the way.
#ifndef TPURUN_CLI_INSPECT_H_
#define TPURUN_CLI_INSPECT_H_

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/inspect_rows.h"
#include "cli/json.h"
#include "runtime/io/tensor_bundle.h"

namespace tpurun {

// `path` is a checkpoint (its directory, prefix, .index or data file), an event file or a directory
// of them, a SavedModel (its directory or saved_model.pb), an ONNX file (or the directory of
// model.onnx), or a TFRecord file; models are also known by their content. Writes one row a tensor,
// event value or record to `out`: aligned columns under a heading, or with `json` one compact
// object a line, which for models has its "kind". At damage the rows before it are written and the
// error is DataLoss. `limit` > 0: of a TFRecord file the first so many records, with the values of
// their features; InvalidArgument for other kinds.
absl::Status Inspect(const std::string& path, bool json, std::ostream& out, int64_t limit = 0);

// The kinds, as Inspect calls them. A checkpoint's `path` is its prefix or .index, or a directory;
// the others are files.
absl::Status InspectCheckpoint(const std::string& path, bool json, std::ostream& out);
absl::Status InspectEvents(const std::string& path, bool json, std::ostream& out);
absl::Status InspectRecords(const std::string& path, bool json, std::ostream& out,
                            int64_t limit = 0);
absl::Status InspectSavedModel(const std::string& path, bool json, std::ostream& out);
absl::Status InspectOnnx(const std::string& path, bool json, std::ostream& out);

// ---- What checkpoints and the variables of SavedModels have in common ----

std::string DTypeName(tensorflow::DataType dtype);
// {"name", "dtype", "shape", "bytes"}.
Json TensorRow(const BundleEntry& entry);
// Verifies the tensor; its value if it is a scalar of numbers, else null.
absl::StatusOr<Json> ReadValue(const BundleReader& reader, const BundleEntry& entry);
// A table of all tensors in name order, each verified before its row is written: what `row_of`
// makes of it, and "value" where there is one. Where that is null there is no row.
absl::Status WriteTensors(const BundleReader& reader,
                          const std::function<Json(const BundleEntry&)>& row_of,
                          std::vector<RowColumn> columns, RowWriter& rows);

}  // namespace tpurun

#endif  // TPURUN_CLI_INSPECT_H_
