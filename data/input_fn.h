// MakeInputFn: an Input of the RunConfig as an InputFn. Everything the configuration alone can show
// to be wrong is found here or, where it depends on the mode, before the InputFn touches a file.
#ifndef TPURUN_DATA_INPUT_FN_H_
#define TPURUN_DATA_INPUT_FN_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "proto/config_error.h"
#include "proto/input.pb.h"
#include "proto/source_locations.h"
#include "runtime/spec/spec.h"

namespace tpurun {

// `path` is where the Input stands in the RunConfig ("train.input", "evaluate[0].input"); relative
// file names of the source are in `directory` (empty: the working directory). Errors are
// InvalidArgument, all that were found, one a line, each with its place. The InputFn keeps no
// reference to the arguments and may be called again; see spec.h for what it returns.
absl::StatusOr<InputFn> MakeInputFn(
    const proto::Input& input,
    const google::protobuf::RepeatedPtrField<proto::NamedTransforms>& transformation_funcs,
    const SourceLocations& locations, const std::string& path, const std::string& directory);

// What of Source and Transform is acted on.
std::vector<ReadFields> ReadInputFields();

// How an exported model makes its features of tf.Examples as this input does, shuffles and batches
// left out. Errors as of MakeInputFn.
absl::StatusOr<ExportInputFn> MakeExportInputFn(
    const proto::Input& input,
    const google::protobuf::RepeatedPtrField<proto::NamedTransforms>& transformation_funcs,
    const SourceLocations& locations, const std::string& path);

// What of the input decides the values of features, for a comparison: the kind of its source, and
// the transforms of rows in order, those that draw at random left out, `apply` replaced by what it
// applies; no names of files. What MakeInputFn refuses is left out.
proto::Input InputValues(
    const proto::Input& input,
    const google::protobuf::RepeatedPtrField<proto::NamedTransforms>& transformation_funcs);

}  // namespace tpurun

#endif  // TPURUN_DATA_INPUT_FN_H_
