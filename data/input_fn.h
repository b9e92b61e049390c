// MakeInputFn: an Input of the RunConfig as an InputFn. Everything the configuration alone can show
// to be wrong is found here or, where it depends on the mode, before the InputFn touches a file.
#ifndef TPURUN_DATA_INPUT_FN_H_
#define TPURUN_DATA_INPUT_FN_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "proto/config_errors.h"
#include "proto/input.pb.h"
#include "proto/source_locations.h"
#include "runtime/spec/spec.h"

namespace tpurun {

// `path` is where the Input stands in the RunConfig ("train.input", "evaluate[0].input"); relative
// file names of the source are in `directory` (empty: the working directory). What is wrong is
// added to `errors`, all that was found, and the InputFn is null then. It keeps no reference to the
// arguments and may be called again; see spec.h for what it returns.
InputFn MakeInputFn(
    const proto::Input& input,
    const google::protobuf::RepeatedPtrField<proto::NamedTransforms>& transformation_funcs,
    const SourceLocations& locations, const std::string& path, const std::string& directory,
    ConfigErrors& errors);

// Adds what is wrong with the input as MakeInputFn does, and what its InputFn would refuse for
// those arguments before it touches a file. Returns whether the input repeats without end.
bool CheckInput(
    const proto::Input& input,
    const google::protobuf::RepeatedPtrField<proto::NamedTransforms>& transformation_funcs,
    const SourceLocations& locations, const std::string& path, const InputFnArgs& args,
    ConfigErrors& errors);

// How an exported model makes its features of what this input reads, shuffles and batches left out.
// For an Input that MakeInputFn takes; of another the ErrorList.
absl::StatusOr<ExportInputFn> MakeExportInputFn(
    const proto::Input& input,
    const google::protobuf::RepeatedPtrField<proto::NamedTransforms>& transformation_funcs,
    const SourceLocations& locations, const std::string& path);

// Of the features that the input makes ids of by a vocabulary. For such an Input, too; NotFound,
// DataLoss of a vocabulary file.
absl::StatusOr<Vocabularies> InputVocabularies(
    const proto::Input& input,
    const google::protobuf::RepeatedPtrField<proto::NamedTransforms>& transformation_funcs,
    const SourceLocations& locations, const std::string& path);

// Whether the transform chooses, orders or repeats rows, without looking into them.
bool SelectsRows(const proto::Transform& transform);

// The source reads all of these files in place of its own. Returns the path of their names below
// the source ("text_line.file"); empty for a source that reads no files.
std::string SetFiles(const std::vector<std::string>& files, proto::Source* source);

// What of the input decides the values of features, for a comparison: the kind of its source, and
// the transforms of rows in order, those that draw at random left out, `apply` replaced by what it
// applies. No names of files; in place of that of a vocabulary is what is in it. What MakeInputFn
// refuses is left out.
proto::Input InputValues(
    const proto::Input& input,
    const google::protobuf::RepeatedPtrField<proto::NamedTransforms>& transformation_funcs);

}  // namespace tpurun

#endif  // TPURUN_DATA_INPUT_FN_H_
