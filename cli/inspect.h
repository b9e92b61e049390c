// Lists the contents of files that TensorFlow or tpurun wrote: checkpoints, event files, TFRecord
// files, SavedModels, ONNX files. Verifies all checksums.
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
// of event files, a SavedModel (its directory or saved_model.pb), an ONNX file (or the directory of
// model.onnx), or a TFRecord file. Models are also recognized by their content. Writes one row per
// tensor, event value or record to `out`: aligned columns under a heading, or with `json` one
// compact object a line, which for models has a "kind". DataLoss for damage, after the rows before
// it are written. `limit` > 0: writes only the first `limit` records of a TFRecord file, with the
// values of their features; InvalidArgument for other kinds.
absl::Status Inspect(const std::string& path, bool json, std::ostream& out, int64_t limit = 0);

// The kinds of files that Inspect distinguishes. A checkpoint's `path` is its prefix, its .index or
// a directory; the other paths are files.
absl::Status InspectCheckpoint(const std::string& path, bool json, std::ostream& out);
absl::Status InspectEvents(const std::string& path, bool json, std::ostream& out);
absl::Status InspectRecords(const std::string& path, bool json, std::ostream& out,
                            int64_t limit = 0);
absl::Status InspectSavedModel(const std::string& path, bool json, std::ostream& out);
absl::Status InspectOnnx(const std::string& path, bool json, std::ostream& out);

// ---- Shared by checkpoints and the variables of SavedModels ----

std::string DTypeName(tensorflow::DataType dtype);
// {"name", "dtype", "shape", "bytes"}.
Json TensorRow(const BundleEntry& entry);
// Verifies the tensor. Returns its value if it is a numeric scalar, else null.
absl::StatusOr<Json> ReadValue(const BundleReader& reader, const BundleEntry& entry);
// Writes a table of all tensors in name order. Each tensor is verified before its row is written. A
// row is `row_of(entry)` plus "value" if the tensor has one. A tensor whose `row_of` is null gets
// no row.
absl::Status WriteTensors(const BundleReader& reader,
                          const std::function<Json(const BundleEntry&)>& row_of,
                          std::vector<RowColumn> columns, RowWriter& rows);

}  // namespace tpurun

#endif  // TPURUN_CLI_INSPECT_H_
