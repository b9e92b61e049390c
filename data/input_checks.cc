#include "data/input_checks.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "data/sources/files.h"
#include "runtime/base/text.h"
#include "runtime/spec/input_deployment.h"

namespace tpurun {
namespace {

// Of the examples of a step.
int64_t PartsOf(const InputFnArgs& args) { return args.batches_per_step * args.shard.num_shards; }
bool IsPart(const InputFnArgs& args) { return PartsOf(args) > 1; }

void CheckBatch(const InputPlan& plan, const InputFnArgs& args, ConfigErrors& errors) {
  const Step* const batch = FindBatch(plan);
  if (batch != nullptr && batch->transform.batch().has_batch_size() &&
      batch->transform.batch().batch_size() != args.batch_size) {
    errors.Add(FieldPath(batch->path, "batch_size"),
               absl::StrCat("batch: batch_size must be left out, or be that of the ",
                            IsPart(args) ? BatchTitle(args) : "verb", ": want ", args.batch_size,
                            ", got ", batch->transform.batch().batch_size()));
  }
  const bool drops = batch != nullptr && batch->transform.batch().drop_remainder();
  const bool repeats = IsEndless(plan) || (ImpliesRepeat(plan, args.mode) &&
                                           (HasCache(plan) || !SourceReadsOnce(plan)));
  if (args.mode == ModeKey::kTrain && !drops && !repeats) {
    errors.Add(
        batch == nullptr ? plan.path : batch->path,
        "training takes whole batches only: want transform { batch { drop_remainder: true } }, "
        "or transform { repeat {} } before the batch");
  }
}

// True, with a mistake, if a repeat reads the source again before a cache.
bool CheckRepeats(const InputPlan& plan, ConfigErrors& errors) {
  for (const Step& step : plan.steps) {
    if (step.transform.has_cache()) return false;
    if (!step.transform.has_repeat() || step.transform.repeat().count() == 1) continue;
    errors.Add(
        step.path,
        "repeat: standard input can be read only once; add transform { cache {} } before it");
    return true;
  }
  return false;
}

// A source that can be read once, and several or something that reads it again.
void CheckReadOnce(const InputPlan& plan, const InputFnArgs& args, ConfigErrors& errors) {
  if (IsReadByAll(args) && ReadsStandardInput(plan.source)) {
    errors.Add(plan.source_path, absl::StrCat("standard input ", ReadByAll(args)));
    return;
  }
  for (const auto& input : plan.inputs) {
    if (SourceReadsOnce(*input)) CheckRepeats(*input, errors);
  }
  if (!SourceReadsOnce(plan) || CheckRepeats(plan, errors) || HasCache(plan)) return;
  if (args.count_examples) {
    errors.Add(plan.source_path,
               "epochs repeat the input, and standard input can be read only once; add transform { "
               "cache {} }");
  }
}

// The line that makes `got` into what the model wants.
std::string HowToFeed(const ColumnType& got, const ColumnType& want) {
  if (got.dtype == proto::STRING) {
    return "; a STRING cannot be fed: decode it, make ids of it with transform { lookup {} }, or "
           "give its column another dtype";
  }
  if (got.varies()) {
    return absl::StrCat("; rows of several sizes cannot be fed: ",
                        got.dims.size() == 1
                            ? "give the feature a fixed shape, or put to_tensor behind"
                        : got.dims.back() == kVaries ? "give decode_image channels, and put resize "
                                                       "or random_crop behind"
                                                     : "put resize or random_crop behind");
  }
  if (got.dims != want.dims) {
    return absl::StrCat("; give it shape ", DimsToString(want.dims),
                        " where it is decoded, or in the "
                        "model");
  }
  return absl::StrCat("; add transform { cast { feature: ", Quote(got.name),
                      " dtype: ", proto::DataType_Name(want.dtype), " } }");
}

// The columns that are made of what rows of PREDICT may lack. With `filters`, adds a mistake for
// each filter by one of them. With `alone`, the transforms that read some and make nothing else.
std::set<std::string> MadeOfLabels(const InputPlan& plan, ConfigErrors* filters = nullptr,
                                   std::set<const Step*>* alone = nullptr) {
  std::set<std::string> made;
  for (const auto& input : plan.inputs) made.merge(MadeOfLabels(*input, filters));
  for (const Step& step : plan.steps) {
    const std::string* const filtered = FilteredFeature(step.transform);
    if (filters != nullptr && filtered != nullptr && made.count(*filtered) > 0) {
      const std::string name = step.def->name;
      filters->Add(FieldPath(step.path, "feature"),
                   absl::StrCat(name, ": feature ", Quote(*filtered),
                                " is made of a column with label: true, which rows of predict may "
                                "lack; take the ",
                                name, " out of predict's input"));
    }
    if (!step.row.has_value()) continue;
    const RowTransform& row = *step.row;
    const std::set<std::string> before = made;
    const auto is_label = [&](const std::string& column) { return before.count(column) > 0; };
    for (size_t i = 0; i < row.makes.size(); ++i) {
      made.erase(row.makes[i]);
      if (row.paired ? is_label(row.reads[i])
                     : std::any_of(row.reads.begin(), row.reads.end(), is_label)) {
        made.insert(row.makes[i]);
      }
    }
    made.insert(row.labels.begin(), row.labels.end());
    if (alone != nullptr && row.labels.empty() && !row.makes.empty() &&
        std::all_of(row.makes.begin(), row.makes.end(),
                    [&](const std::string& column) { return made.count(column) > 0; })) {
      alone->insert(&step);
    }
  }
  return made;
}

// The features the input has, of those the model declares; a label may be absent in PREDICT.
std::vector<FeatureSpec> MatchFeatures(const InputPlan& plan, const InputFnArgs& args,
                                       ConfigErrors& errors) {
  std::vector<FeatureSpec> matched;
  const std::set<std::string> labels =
      MadeOfLabels(plan, args.mode == ModeKey::kPredict ? &errors : nullptr);
  for (const FeatureSpec& feature : args.features) {
    const std::string title =
        absl::StrCat(feature.is_label ? "label " : "feature ", Quote(feature.name));
    ColumnType want = {feature.name, FromDType(feature.shape.dtype), feature.shape.dims};
    const int column = FindColumn(plan.output, feature.name);
    if (column < 0) {
      if (feature.is_label && args.mode == ModeKey::kPredict) continue;
      errors.Add(plan.path, absl::StrCat(title, " of the model is not in the input (keys present: ",
                                         absl::StrJoin(ColumnNames(plan.output), ", "), ")"));
      continue;
    }
    if (labels.count(feature.name) > 0 && !feature.is_label) {
      errors.Add(plan.path, absl::StrCat(title,
                                         " of the model is made of a column with label: true, "
                                         "which rows of predict may lack; only a label of the "
                                         "model may be"));
      continue;
    }
    const ColumnType& got = plan.output[column];
    if (got.dtype == proto::STRING && !feature.vocabulary.empty()) {
      // Names of classes: the opened input makes ids of them. predict does not need them.
      if (args.mode == ModeKey::kPredict) continue;
      want.dtype = proto::STRING;
    }
    if (got.dtype != want.dtype || got.dims != want.dims) {
      errors.Add(plan.path, absl::StrCat(title, ": the model wants ", want.ToString(),
                                         ", the input has ", got.ToString(), HowToFeed(got, want)));
      continue;
    }
    if (labels.count(feature.name) > 0 && args.mode == ModeKey::kPredict) continue;
    matched.push_back(feature);
  }
  // predict feeds all labels or none of them.
  if (matched.size() < args.features.size() && args.mode == ModeKey::kPredict) {
    std::erase_if(matched, [](const FeatureSpec& feature) { return feature.is_label; });
  }
  return matched;
}

// What a mixup mixes must be fed.
void CheckMixup(const InputPlan& plan, const InputFnArgs& args, ConfigErrors& errors) {
  const Step* const batch = FindBatch(plan);
  if (batch == nullptr) return;
  const proto::Mixup& mixup = batch->transform.batch().mixup();
  for (int i = 0; i < mixup.feature_size(); ++i) {
    const auto is_mixed = [&](const FeatureSpec& fed) { return fed.name == mixup.feature(i); };
    if (std::any_of(args.features.begin(), args.features.end(), is_mixed)) continue;
    errors.Add(ElementPath(FieldPath(batch->path, "mixup.feature"), i),
               absl::StrCat("mixup: the model has no feature or label ", Quote(mixup.feature(i))));
  }
}

// The sequences must be fed, by one pipeline: several would make batches of different buckets.
void CheckBuckets(const InputPlan& plan, const InputFnArgs& args, ConfigErrors& errors) {
  const Step* const batch = FindBuckets(plan);
  if (batch == nullptr || args.mode != ModeKey::kTrain) return;
  const proto::BucketBySequenceLength& buckets = *BucketsOf(*batch);
  const std::string path = FieldPath(batch->path, "bucket_by_sequence_length");
  for (int i = 0; i < buckets.feature_size(); ++i) {
    const auto is_cut = [&](const FeatureSpec& fed) { return fed.name == buckets.feature(i); };
    if (std::any_of(args.features.begin(), args.features.end(), is_cut)) continue;
    errors.Add(ElementPath(FieldPath(path, "feature"), i),
               absl::StrCat("bucket_by_sequence_length: the model has no feature or label ",
                            Quote(buckets.feature(i))));
  }
  if (IsPart(args)) {
    errors.Add(path, absl::StrCat("bucket_by_sequence_length: a step has one batch of one bucket, "
                                  "and here it has ",
                                  PartsOf(args),
                                  " (tpu_config.per_host_input_for_training); want one pipeline: "
                                  "PER_HOST_V1 with 8 cores, or BROADCAST"));
  }
  if (args.num_processes > 1) {
    errors.Add(path, absl::StrCat("bucket_by_sequence_length: ", args.num_processes,
                                  " processes would have batches of different buckets; want one "
                                  "process"));
  }
}

void CheckForwarded(const InputPlan& plan, const InputFnArgs& args, ConfigErrors& errors) {
  const std::vector<std::string> known = ColumnNames(plan.output);
  for (size_t i = 0; i < args.forward_features.size(); ++i) {
    const std::string& name = args.forward_features[i];
    const int column = FindColumn(plan.output, name);
    const std::string path = ElementPath("predict.forward_features", static_cast<int>(i));
    if (column >= 0 && plan.output[column].varies()) {
      errors.Add(path, absl::StrCat("feature ", Quote(name), " has rows of several sizes (",
                                    plan.output[column].ToString(), "), want one size"));
    }
    if (column >= 0) continue;
    errors.Add(path,
               absl::StrCat("the input has no feature ", Quote(name), DidYouMean(name, known)));
  }
}

}  // namespace

std::string BatchTitle(const InputFnArgs& args) {
  const std::string name = BatchSizeName(args.mode);
  if (!IsPart(args)) return absl::StrCat(name, " of ", args.batch_size);
  return absl::StrCat("batch of ", args.batch_size, " (", name, " / ", PartsOf(args), ")");
}

bool IsReadByAll(const InputFnArgs& args) {
  return args.shard.num_shards > 1 || args.num_processes > 1;
}

std::string ReadByAll(const InputFnArgs& args) {
  const PipelineShard& shard = args.shard;
  if (args.num_processes > 1) {
    return absl::StrCat("can be read only once, and ", args.num_processes,
                        " processes read the input; want a file, or one process");
  }
  return absl::StrCat(
      "can be read only once, and ", shard.num_shards, " pipelines, one a ", shard.fed,
      ", read the input (tpu_config.per_host_input_for_training); want a file, or one pipeline: ",
      std::string_view(shard.fed) == "core" ? "PER_HOST_V1 with 8 cores" : "8 cores");
}

std::set<const Step*> StepsOfLabels(const InputPlan& plan, const InputFnArgs& args) {
  std::set<const Step*> alone;
  if (args.mode != ModeKey::kPredict || HasCache(plan)) return alone;
  MadeOfLabels(plan, nullptr, &alone);
  // Not those whose results are forwarded, or are read by a transform that makes other columns too.
  std::set<std::string> read(args.forward_features.begin(), args.forward_features.end());
  for (auto step = plan.steps.rbegin(); step != plan.steps.rend(); ++step) {
    if (step->transform.has_window()) return {};
    if (!step->row.has_value()) continue;
    const std::vector<std::string>& makes = step->row->makes;
    const auto is_read = [&](const std::string& column) { return read.count(column) > 0; };
    if (std::any_of(makes.begin(), makes.end(), is_read)) alone.erase(&*step);
    if (alone.count(&*step) > 0) continue;
    read.insert(step->row->reads.begin(), step->row->reads.end());
  }
  return alone;
}

std::vector<FeatureSpec> CheckArguments(const InputPlan& plan, const InputFnArgs& args,
                                        ConfigErrors& errors) {
  CheckBatch(plan, args, errors);
  CheckReadOnce(plan, args, errors);
  CheckForwarded(plan, args, errors);
  CheckMixup(plan, args, errors);
  CheckBuckets(plan, args, errors);
  return MatchFeatures(plan, args, errors);
}

}  // namespace tpurun
