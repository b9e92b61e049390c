// What the configuration says of an input: its source and its transforms in a row, bound one to the
// other.
#ifndef TPURUN_DATA_INPUT_PLAN_H_
#define TPURUN_DATA_INPUT_PLAN_H_

#include <optional>
#include <string>
#include <vector>

#include "data/sources/source_list.h"
#include "data/table.h"
#include "data/transforms/transform_list.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "proto/config_errors.h"
#include "proto/input.pb.h"
#include "proto/source_locations.h"

namespace tpurun {

using NamedTransformsField = google::protobuf::RepeatedPtrField<proto::NamedTransforms>;
using TransformField = google::protobuf::RepeatedPtrField<proto::Transform>;

// One transform of the pipeline, `apply` being replaced by what it applies.
struct Step {
  proto::Transform transform;
  const TransformDef* def = nullptr;
  std::string path;                 // "train.input.transform[2].shuffle"
  std::string where;                // "run.textproto:23:5"
  std::optional<RowTransform> row;  // of a row transform, bound
};

struct Plan {
  proto::Source source;
  const SourceDef* source_def = nullptr;
  SourceLocations locations;
  std::string path;         // of the input
  std::string source_path;  // "train.input.source.tfrecord"
  std::string where;        // of the input
  std::string directory;
  Schema input;  // the columns of the source
  std::vector<Step> steps;
  Schema output;  // the columns after the last step
};

// Arguments and errors as of MakeInputFn; nullopt after a mistake.
std::optional<Plan> MakePlan(const proto::Input& input, const NamedTransformsField& functions,
                             const SourceLocations& locations, const std::string& path,
                             const std::string& directory, ConfigErrors& errors);

// The transforms in a row, not bound; those with a mistake of their kind or name are left out.
// `path` is that of the repeated field.
std::vector<Step> ExpandTransforms(const TransformField& transforms,
                                   const NamedTransformsField& functions,
                                   const SourceLocations& locations, const std::string& path,
                                   ConfigErrors& errors);

// The batch step; null when it is left out.
const Step* FindBatch(const Plan& plan);
bool IsEndless(const Plan& plan);
bool HasCache(const Plan& plan);
// Whether the input repeats without end, where it can be read again, without saying so.
bool ImpliesRepeat(const Plan& plan, ModeKey mode);

}  // namespace tpurun

#endif  // TPURUN_DATA_INPUT_PLAN_H_
