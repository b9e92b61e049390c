// Plan: an input as the configuration describes it, its source and its transforms in order, each
// bound to the columns of the one before.
#ifndef TPURUN_DATA_INPUT_PLAN_H_
#define TPURUN_DATA_INPUT_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
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

// One transform of the pipeline. `apply` is replaced by the transforms that it applies.
struct Step {
  proto::Transform transform;
  const TransformDef* def = nullptr;
  std::string path;                 // "train.input.transform[2].shuffle"
  std::string where;                // "run.textproto:23:5"
  std::optional<RowTransform> row;  // the bound transform, for row transforms
  Schema windows;                   // the columns after a window
};

struct InputPlan {
  proto::Source source;
  const SourceDef* source_def = nullptr;
  SourceLocations locations;
  std::string path;         // the path of the input
  std::string source_path;  // "train.input.source.tfrecord"
  std::string where;        // the place of the input
  std::string directory;
  int64_t num_parallel_calls = -1;
  bool skips_errors = false;                               // on_error: SKIP
  std::vector<std::shared_ptr<const InputPlan>> inputs{};  // that the source is made of
  Schema input;                                            // the columns of the source
  std::vector<Step> steps;
  Schema output;  // the columns after the last step
};

// Returns the transforms in order, not bound. A transform with an invalid kind or name is left out.
// `path` is the path of the repeated field.
std::vector<Step> ExpandTransforms(const TransformField& transforms,
                                   const NamedTransformsField& functions,
                                   const SourceLocations& locations, const std::string& path,
                                   ConfigErrors& errors);

// The feature by whose value a filter or a rejection_resample leaves elements out; nullptr for
// other transforms.
const std::string* FilteredFeature(const proto::Transform& transform);
// Returns the batch step, or nullptr if there is none.
const Step* FindBatch(const InputPlan& plan);
// The buckets of a batch step; nullptr if it has none, and for other steps.
const proto::BucketBySequenceLength* BucketsOf(const Step& step);
// The batch step if it has buckets, else nullptr.
const Step* FindBuckets(const InputPlan& plan);
// The length of the sequences that the last bucket has.
int64_t LongestSequence(const InputPlan& plan, const proto::BucketBySequenceLength& buckets);
// True if the source, which may be made of inputs with transforms, can be read only once.
bool SourceReadsOnce(const InputPlan& plan);
// True if the source, or the whole input, has no end.
bool IsEndlessSource(const InputPlan& plan);
bool IsEndless(const InputPlan& plan);
bool HasCache(const InputPlan& plan);
// True if the input repeats endlessly by default, provided that it can be read again: in TRAIN,
// without a repeat of its own.
bool ImpliesRepeat(const InputPlan& plan, ModeKey mode);

// Whether a step behind step `step` reads the column.
bool IsReadAfter(const InputPlan& plan, size_t step, const std::string& name);

}  // namespace tpurun

#endif  // TPURUN_DATA_INPUT_PLAN_H_
