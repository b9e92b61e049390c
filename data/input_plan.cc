#include "data/input_plan.h"

#include <algorithm>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "data/combined_input.h"
#include "data/input_fn.h"
#include "data/windowed_records.h"
#include "proto/field_rules.h"
#include "proto/field_values.h"
#include "runtime/base/text.h"
#include "runtime/io/file.h"

namespace tpurun {
namespace {

// Adds what the kind that `message` chooses breaks of its fields' rules, by paths below that kind.
void CheckRulesOfKind(const google::protobuf::Message& message, ConfigErrors& errors) {
  const google::protobuf::FieldDescriptor& kind = *ChosenKind(message);
  CheckRules(message.GetReflection()->GetMessage(message, &kind), "", errors, &kind);
}

template <typename Def>
std::string NamesOf(std::span<const Def> defs) {
  return absl::StrJoin(defs, ", ", [](std::string* out, const Def& def) { out->append(def.name); });
}

// Far more than anyone writes: functions that apply one another double their number with each.
constexpr int kMaxTransforms = 10000;

// Puts the transforms in a row, following `apply`.
class Expansion {
 public:
  Expansion(const NamedTransformsField& functions, const SourceLocations& locations,
            std::vector<Step>* steps, ConfigErrors& errors)
      : functions_(functions), locations_(locations), steps_(steps), errors_(errors) {}

  // `path` is that of the repeated field.
  void Add(const TransformField& transforms, const std::string& path) {
    for (int i = 0; i < transforms.size() && expanded_ <= kMaxTransforms; ++i) {
      AddOne(transforms[i], ElementPath(path, i));
    }
  }

 private:
  void AddOne(const proto::Transform& transform, const std::string& path) {
    const std::string name = TransformName(transform);
    const std::string kind_path = FieldPath(path, name);
    if (++expanded_ > kMaxTransforms) {
      errors_.Add(kind_path, absl::StrCat("more than ", kMaxTransforms,
                                          " transforms, with all that apply repeats"));
      return;
    }
    if (name.empty()) {
      errors_.Add(kind_path, "a transform without a kind; tpurun help transforms lists them");
      return;
    }
    const TransformDef* const def = FindTransform(transform.kind_case());
    if (transform.has_apply()) {
      Apply(transform.apply().transformation_func(), {name, kind_path});
      return;
    }
    ConfigErrors mistakes;
    CheckRulesOfKind(transform, mistakes);
    if (def->check != nullptr) def->check(transform, mistakes);
    errors_.Add({name, kind_path}, mistakes);
    Push(transform, def, kind_path);
    const auto behind = def->followed_by == nullptr ? std::nullopt : def->followed_by(transform);
    if (behind.has_value()) Push(*behind, FindTransform(behind->kind_case()), kind_path);
  }

  void Push(const proto::Transform& transform, const TransformDef* def, const std::string& path) {
    steps_->push_back(
        {.transform = transform, .def = def, .path = path, .where = locations_.Where(path)});
  }

  void Apply(const std::string& name, const ConfigPlace& place) {
    if (std::find(applied_.begin(), applied_.end(), name) != applied_.end()) {
      errors_.Add(place, "",
                  absl::StrCat("transformation_func ", Quote(name),
                               " applies itself: ", absl::StrJoin(applied_, " -> "), " -> ", name));
      return;
    }
    std::vector<std::string> names;
    for (int i = 0; i < functions_.size(); ++i) {
      names.push_back(functions_[i].name());
      if (functions_[i].name() != name) continue;
      applied_.push_back(name);
      Add(functions_[i].transform(),
          absl::StrCat(ElementPath("transformation_func", i), ".transform"));
      applied_.pop_back();
      return;
    }
    errors_.Add(place, "",
                names.empty() ? absl::StrCat("there is no transformation_func ", Quote(name),
                                             "; the configuration has none")
                              : absl::StrCat("unknown transformation_func ", Quote(name),
                                             DidYouMean(name, names)));
  }

  const NamedTransformsField& functions_;
  const SourceLocations& locations_;
  std::vector<Step>* const steps_;
  ConfigErrors& errors_;
  std::vector<std::string> applied_;  // the functions we are in
  int expanded_ = 0;                  // transforms so far
};

// Which transform may follow which.
void CheckOrder(const InputPlan& plan, ConfigErrors& errors) {
  const Step* batch = nullptr;
  bool endless = IsEndlessSource(plan);
  for (const Step& step : plan.steps) {
    const std::string name = step.def->name;
    if (batch != nullptr && step.transform.has_batch()) {
      errors.Add(step.path,
                 absl::StrCat("batch: want at most one, the first is at ", batch->where));
    } else if (batch != nullptr && step.transform.has_repeat()) {
      if (!batch->transform.batch().drop_remainder()) {
        errors.Add(
            step.path,
            "repeat after batch: short batches would come in the middle; put it before batch, "
            "or add drop_remainder: true to the batch");
      } else if (plan.skips_errors) {
        errors.Add(step.path,
                   "repeat after batch: with on_error: SKIP it is not known where a pass has its "
                   "last whole batch; put it before batch");
      }
    } else if (batch != nullptr &&
               (step.def->make_items != nullptr || step.transform.has_cache() ||
                FilteredFeature(step.transform) != nullptr || step.transform.has_window())) {
      errors.Add(
          step.path,
          absl::StrCat(name, " after batch: would work on whole batches; put it before batch"));
    } else if (endless && step.transform.has_cache()) {
      errors.Add(step.path, "cache after an endless repeat would never end; put it before repeat");
    } else if (endless && FilteredFeature(step.transform) != nullptr) {
      errors.Add(step.path,
                 absl::StrCat(name,
                              " after an endless repeat would never end if no element stays; "
                              "put it before repeat"));
    }
    if (step.transform.has_batch()) batch = &step;
    if (IsEndlessRepeat(step.transform)) endless = true;
    if (step.transform.has_take() && step.transform.take().count() >= 0) endless = false;
  }
}

// The feature of a filter, among the columns there.
void CheckFilter(const proto::Filter& filter, const Schema& schema, ConfigErrors& errors) {
  const int index = FindFeature(schema, filter.feature(), "feature", errors);
  if (index < 0) return;
  const ColumnType& type = schema[index];
  if (type.dims.empty() &&
      (type.dtype == proto::FLOAT32 || type.dtype == proto::INT32 || type.dtype == proto::INT64 ||
       type.dtype == proto::UINT8 || type.dtype == proto::UINT32 || type.dtype == proto::BOOL)) {
    return;
  }
  errors.Add("feature", absl::StrCat("feature ", Quote(type.name),
                                     " must be a scalar of FLOAT32, INT32, INT64, UINT8, UINT32 or "
                                     "BOOL, got ",
                                     type.ToString()));
}

// The columns that become windows.
void CheckWindow(const Schema& schema, ConfigErrors& errors) {
  for (const ColumnType& type : schema) {
    if (!type.varies()) continue;
    errors.Add("size", absl::StrCat("feature ", Quote(type.name),
                                    " has rows of several sizes, which a window cannot join (",
                                    type.ToString(), "); put to_tensor, resize or a crop before"));
  }
}

// The FLOAT32 features that a mixup mixes.
void CheckMixup(const proto::Mixup& mixup, const Schema& schema, ConfigErrors& errors) {
  for (int i = 0; i < mixup.feature_size(); ++i) {
    const std::string path = ElementPath("mixup.feature", i);
    const int index = FindFeature(schema, mixup.feature(i), path, errors);
    if (index < 0 || (schema[index].dtype == proto::FLOAT32 && !schema[index].varies())) continue;
    errors.Add(path, absl::StrCat("feature ", Quote(mixup.feature(i)), " must be FLOAT32, got ",
                                  schema[index].ToString(),
                                  schema[index].dims.empty() ? "; a label becomes such a vector by "
                                                               "transform { one_hot {} }"
                                                             : "; add transform { cast {} }"));
  }
}

// The length that the buckets go by, among the columns before the batch.
void CheckElementLength(const proto::BucketBySequenceLength& buckets, const Schema& schema,
                        ConfigErrors& errors) {
  const std::string path = "bucket_by_sequence_length.element_length";
  const int index = FindFeature(schema, buckets.element_length(), path, errors);
  if (index < 0) return;
  const ColumnType& type = schema[index];
  if (type.dims.empty() && (type.dtype == proto::INT32 || type.dtype == proto::INT64)) return;
  errors.Add(path, absl::StrCat("feature ", Quote(type.name),
                                " must be a scalar of INT32 or INT64, got ", type.ToString()));
}

// A row transform behind the batch must leave the length as the buckets have it.
void CheckKeepsLength(const InputPlan& plan, const Step& step, ConfigErrors& errors) {
  const Step* const batch = FindBuckets(plan);
  if (batch == nullptr || &step < batch) return;
  const std::string& length = BucketsOf(*batch)->element_length();
  const std::vector<std::string>& makes = step.row->makes;
  if (std::find(makes.begin(), makes.end(), length) == makes.end()) return;
  errors.Add("", absl::StrCat("behind the batch it changes ", Quote(length),
                              ", the element_length of its buckets; put it before the batch"));
}

// The sequences, and the boundaries of their lengths.
void CheckSequences(const proto::BucketBySequenceLength& buckets, const Schema& schema,
                    ConfigErrors& errors) {
  constexpr char kPath[] = "bucket_by_sequence_length.";
  const ColumnType* first = nullptr;
  for (int i = 0; i < buckets.feature_size(); ++i) {
    const std::string path = kPath + ElementPath("feature", i);
    const int index = FindFeature(schema, buckets.feature(i), path, errors);
    if (index < 0) continue;
    const ColumnType& type = schema[index];
    if (type.dims.empty() || type.varies()) {
      errors.Add(path,
                 absl::StrCat("feature ", Quote(type.name),
                              " must have a first dimension, of one size in all rows, got ",
                              type.ToString(), type.varies() ? "; put to_tensor before" : ""));
    } else if (first != nullptr && type.dims[0] != first->dims[0]) {
      errors.Add(path,
                 absl::StrCat("feature ", Quote(type.name), " must have ", first->dims[0],
                              " elements, as ", Quote(first->name), " has, got ", type.ToString()));
    } else if (first == nullptr) {
      first = &type;
    }
  }
  const auto& boundaries = buckets.bucket_boundaries();
  for (int i = 0; i < boundaries.size(); ++i) {
    const std::string path = kPath + ElementPath("bucket_boundaries", i);
    if (i > 0 && boundaries[i] <= boundaries[i - 1]) {
      errors.Add(path, absl::StrCat("bucket_boundaries must ascend, got ", boundaries[i], " after ",
                                    boundaries[i - 1]));
    } else if (first != nullptr && boundaries[i] > first->dims[0]) {
      errors.Add(path, absl::StrCat("a boundary must be at most ", first->dims[0],
                                    ", the length of ", Quote(first->name), ", got ", boundaries[i],
                                    ": the last bucket has that length"));
    }
  }
}

// Binds the row transforms one to the other. Stops at the first that does not fit: what follows it
// would only fail for that.
void BindRows(Schema schema, InputPlan* plan, ConfigErrors& errors) {
  for (Step& step : plan->steps) {
    ConfigErrors mistakes;
    if (step.transform.has_filter()) CheckFilter(step.transform.filter(), schema, mistakes);
    if (step.transform.has_rejection_resample()) {
      CheckClass(step.transform.rejection_resample(), schema, mistakes);
    }
    if (step.transform.has_window()) CheckWindow(schema, mistakes);
    if (const auto* const buckets = BucketsOf(step)) CheckElementLength(*buckets, schema, mistakes);
    if (step.def->bind != nullptr) step.row = step.def->bind(step.transform, schema, mistakes);
    if (step.row.has_value()) CheckKeepsLength(*plan, step, mistakes);
    errors.Add({step.def->name, step.path}, mistakes);
    if (!mistakes.empty()) return;
    if (step.row.has_value()) schema = step.row->output;
    if (step.transform.has_window()) {
      schema = WindowSchema(std::move(schema), step.transform.window().size());
      for (const ColumnType& type : schema) CheckDims(type.dims, {}, "size", mistakes);
      errors.Add({step.def->name, step.path}, mistakes);
      if (!mistakes.empty()) return;
      step.windows = schema;
    }
  }
  const Step* const batch = FindBatch(*plan);
  if (batch != nullptr) {
    ConfigErrors mistakes;
    CheckMixup(batch->transform.batch().mixup(), schema, mistakes);
    if (const auto* const buckets = BucketsOf(*batch)) CheckSequences(*buckets, schema, mistakes);
    errors.Add({batch->def->name, batch->path}, mistakes);
  }
  plan->output = std::move(schema);
}

// What an input that is a part of another one may not say.
void CheckPart(const InputPlan& plan, const proto::Input& input, ConfigErrors& errors) {
  for (const Step& step : plan.steps) {
    if (!step.transform.has_batch() && !step.transform.has_prefetch()) continue;
    errors.Add(step.path, absl::StrCat(step.def->name, ": want it in the input that ", plan.path,
                                       " is a part of, not here"));
  }
  const auto refuse = [&](bool is_set, const std::string& field) {
    if (!is_set) return;
    errors.Add(FieldPath(plan.path, field), absl::StrCat(field, ": want it in the input that ",
                                                         plan.path, " is a part of, not here"));
  };
  refuse(input.has_num_parallel_calls(), "num_parallel_calls");
  refuse(input.has_on_error(), "on_error");
}

// The columns of the source's records; nullopt after a mistake.
std::optional<Schema> CheckSource(const InputPlan& plan, ConfigErrors& errors) {
  const std::string name = SourceName(plan.source);
  if (plan.source_def == nullptr) {
    errors.Add(plan.source_path,
               name.empty()
                   ? absl::StrCat("source must be given (known: ", NamesOf(SourceList()), ")")
                   : absl::StrCat("source ", name, " is not supported yet (supported: ",
                                  NamesOf(SourceList()), ")"));
    return std::nullopt;
  }
  ConfigErrors mistakes;
  std::optional<Schema> schema;
  if (plan.source_def->inputs == nullptr) {
    CheckRulesOfKind(plan.source, mistakes);
    schema = plan.source_def->schema(plan.source, mistakes);
  } else if (std::count(plan.inputs.begin(), plan.inputs.end(), nullptr) == 0) {
    std::vector<Schema> schemas;
    for (const auto& input : plan.inputs) schemas.push_back(input->output);
    schema = CombineSchemas(plan.source, schemas, mistakes);
  }
  errors.Add({name, plan.source_path}, mistakes);
  return schema;
}

// A pipe is read by one of the inputs alone.
void CheckStandardInput(const InputPlan& plan, ConfigErrors& errors) {
  const FileNames names = AllFileNames(plan.source);
  if (plan.inputs.empty() || std::count(names.begin(), names.end(), kStandardInput) < 2) return;
  errors.Add(plan.source_path, "standard input (\"-\") can be read by one input only");
}

// The plans of the inputs that the source is made of; nullptr for one with a mistake.
std::vector<std::shared_ptr<const InputPlan>> ParseParts(const InputPlan& plan,
                                                         const NamedTransformsField& functions,
                                                         ConfigErrors& errors) {
  std::vector<std::shared_ptr<const InputPlan>> parts;
  for (const proto::Input& input : InputsOf(plan.source)) {
    const std::string path =
        ElementPath(FieldPath(plan.source_path, "input"), static_cast<int>(parts.size()));
    ConfigErrors mistakes;
    parts.push_back(ParseInput(input, functions, plan.locations, path, plan.directory, mistakes));
    if (parts.back() != nullptr) CheckPart(*parts.back(), input, mistakes);
    errors.Add({}, mistakes);
  }
  return parts;
}

}  // namespace

std::vector<Step> ExpandTransforms(const TransformField& transforms,
                                   const NamedTransformsField& functions,
                                   const SourceLocations& locations, const std::string& path,
                                   ConfigErrors& errors) {
  std::vector<Step> steps;
  Expansion(functions, locations, &steps, errors).Add(transforms, path);
  return steps;
}

std::shared_ptr<const InputPlan> ParseInput(const proto::Input& input,
                                            const NamedTransformsField& functions,
                                            const SourceLocations& locations,
                                            const std::string& path, const std::string& directory,
                                            ConfigErrors& errors) {
  InputPlan plan;
  plan.source = input.source();
  plan.source_def = FindSource(input.source().kind_case());
  plan.locations = locations;
  plan.path = path;
  plan.source_path = FieldPath(FieldPath(path, "source"), SourceName(input.source()));
  plan.where = locations.Where(path);
  plan.directory = directory;
  plan.num_parallel_calls = input.num_parallel_calls();
  plan.skips_errors = input.on_error() == proto::Input::SKIP;
  ConfigErrors mistakes;  // of this input alone
  plan.inputs = ParseParts(plan, functions, mistakes);
  CheckStandardInput(plan, mistakes);
  std::optional<Schema> schema = CheckSource(plan, mistakes);
  plan.steps = ExpandTransforms(input.transform(), functions, locations,
                                FieldPath(path, "transform"), mistakes);
  // The order depends on which of the inputs end: only where all of them have a plan.
  if (mistakes.empty() || plan.inputs.empty()) CheckOrder(plan, mistakes);
  if (schema.has_value()) plan.input = *schema;
  // Not bound after other errors: a transform that is missing would be missed by those after it.
  if (mistakes.empty()) BindRows(*std::move(schema), &plan, mistakes);
  errors.Add({}, mistakes);
  if (!mistakes.empty()) return nullptr;
  return std::make_shared<const InputPlan>(std::move(plan));
}

const std::string* FilteredFeature(const proto::Transform& transform) {
  if (transform.has_filter()) return &transform.filter().feature();
  if (transform.has_rejection_resample()) return &transform.rejection_resample().feature();
  return nullptr;
}

const Step* FindBatch(const InputPlan& plan) {
  for (const Step& step : plan.steps) {
    if (step.transform.has_batch()) return &step;
  }
  return nullptr;
}

const proto::BucketBySequenceLength* BucketsOf(const Step& step) {
  const proto::Batch& batch = step.transform.batch();
  return batch.has_bucket_by_sequence_length() ? &batch.bucket_by_sequence_length() : nullptr;
}

const Step* FindBuckets(const InputPlan& plan) {
  const Step* const batch = FindBatch(plan);
  return batch != nullptr && BucketsOf(*batch) != nullptr ? batch : nullptr;
}

int64_t LongestSequence(const InputPlan& plan, const proto::BucketBySequenceLength& buckets) {
  return plan.output[FindColumn(plan.output, buckets.feature(0))].dims[0];
}

bool SourceReadsOnce(const InputPlan& plan) {
  if (plan.inputs.empty()) return ReadsOnce(plan.source);
  return std::any_of(plan.inputs.begin(), plan.inputs.end(), [](const auto& input) {
    return SourceReadsOnce(*input) && !HasCache(*input);
  });
}

bool IsEndlessSource(const InputPlan& plan) {
  std::vector<Extent> extents;
  for (const auto& input : plan.inputs) extents.push_back({.endless = IsEndless(*input)});
  return !extents.empty() && CombineExtents(plan.source, extents).endless;
}

bool IsEndless(const InputPlan& plan) {
  bool endless = IsEndlessSource(plan);
  for (const Step& step : plan.steps) {
    if (IsEndlessRepeat(step.transform)) endless = true;
    if (step.transform.has_take() && step.transform.take().count() >= 0) endless = false;
  }
  return endless;
}

bool HasCache(const InputPlan& plan) {
  return std::any_of(plan.steps.begin(), plan.steps.end(),
                     [](const Step& step) { return step.transform.has_cache(); });
}

bool ImpliesRepeat(const InputPlan& plan, ModeKey mode) {
  return mode == ModeKey::kTrain &&
         std::none_of(plan.steps.begin(), plan.steps.end(),
                      [](const Step& step) { return step.transform.has_repeat(); });
}

bool IsReadAfter(const InputPlan& plan, size_t step, const std::string& name) {
  for (size_t later = step + 1; later < plan.steps.size(); ++later) {
    const std::string* const filtered = FilteredFeature(plan.steps[later].transform);
    if (filtered != nullptr && *filtered == name) return true;
    const auto* const buckets = BucketsOf(plan.steps[later]);
    if (buckets != nullptr && buckets->element_length() == name) return true;
    const std::optional<RowTransform>& row = plan.steps[later].row;
    if (row.has_value() &&
        std::find(row->reads.begin(), row->reads.end(), name) != row->reads.end()) {
      return true;
    }
  }
  return false;
}

}  // namespace tpurun
