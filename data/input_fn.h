// An Input of the RunConfig as an InputFn. ParseInput finds every error that the configuration
// alone shows; CheckInput finds those that depend on the mode, before the InputFn opens a file.
#ifndef TPURUN_DATA_INPUT_FN_H_
#define TPURUN_DATA_INPUT_FN_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "proto/config_errors.h"
#include "proto/input.pb.h"
#include "proto/source_locations.h"
#include "runtime/spec/spec.h"

namespace tpurun {

// An Input that has been parsed: its source and its transforms, each bound to the columns that the
// one before it makes (data/input_plan.h).
struct InputPlan;

// Parses an Input of the RunConfig. `path` is its path in the RunConfig ("train.input",
// "evaluate[0].input"); relative file names of the source are below `directory` (empty: the working
// directory). Adds all errors that it finds to `errors` and then returns nullptr. The plan keeps no
// reference to the arguments.
std::shared_ptr<const InputPlan> ParseInput(
    const proto::Input& input,
    const google::protobuf::RepeatedPtrField<proto::NamedTransforms>& transformation_funcs,
    const SourceLocations& locations, const std::string& path, const std::string& directory,
    ConfigErrors& errors);

// The InputFn may be called again and again; see spec.h for what it returns.
InputFn MakeInputFn(std::shared_ptr<const InputPlan> plan);

// Adds the errors that the InputFn would return for those arguments before it opens a file. Returns
// true if the input repeats without end.
bool CheckInput(const InputPlan& plan, const InputFnArgs& args, ConfigErrors& errors);

// The graph that makes an exported model's features of the records that this input reads. Shuffles,
// batches and other transforms of the order of records are left out.
ExportInputFn MakeExportInputFn(std::shared_ptr<const InputPlan> plan);

// The buckets of a training's batches; nullopt if the input makes none.
std::optional<SequenceBuckets> SequenceBucketsOf(const InputPlan& plan);

// The vocabularies of the features that the input turns into ids. NotFound or DataLoss if a
// vocabulary file cannot be read.
absl::StatusOr<Vocabularies> InputVocabularies(const InputPlan& plan);

// True if the transform chooses, orders or repeats rows without looking into them.
bool SelectsRows(const proto::Transform& transform);

// Makes the source read all of these files instead of its own. Returns the path of the file names
// below the source ("text_line.file"), or "" if the source reads no files.
std::string SetFiles(const std::vector<std::string>& files, proto::Source* source);

// Returns, for a comparison, the parts of the input that decide the values of features: the kind of
// its source, and its row transforms in order. Random transforms are left out, and `apply` is
// replaced by the transforms that it applies. File names are left out: the name of a vocabulary
// file is replaced by the length and checksum of its content. Transforms that ParseInput rejects
// are left out.
proto::Input InputValues(
    const proto::Input& input,
    const google::protobuf::RepeatedPtrField<proto::NamedTransforms>& transformation_funcs);

}  // namespace tpurun

#endif  // TPURUN_DATA_INPUT_FN_H_
