#include "data/input_fn.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "data/at_field.h"
#include "data/batches.h"
#include "data/item_stream.h"
#include "data/sources/files.h"
#include "data/sources/source_list.h"
#include "data/table.h"
#include "data/transforms/transform_list.h"
#include "runtime/base/memory.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

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
  std::string source_path;  // "train.input.source.tfrecord"
  std::string where;        // of the input
  std::string directory;
  std::vector<Step> steps;
  Schema output;  // the columns after the last step
};

// Several messages as one error.
class Errors {
 public:
  void Add(absl::string_view where, absl::string_view message) {
    lines_.push_back(absl::StrCat(where, ": ", message));
  }
  bool empty() const { return lines_.empty(); }
  absl::Status status() const { return ErrorList(lines_); }

 private:
  std::vector<std::string> lines_;
};

// ------------------------------------------------------------------------- from Input to Plan

template <typename Def>
std::string NamesOf(std::span<const Def> defs) {
  return absl::StrJoin(defs, ", ", [](std::string* out, const Def& def) { out->append(def.name); });
}

// The place of what `status` is about, in the message at `path`.
std::string WhereOf(const absl::Status& status, const SourceLocations& locations,
                    const std::string& path) {
  return locations.Where(FieldPath(path, FieldOf(status).value_or("")));
}

// Far more than anyone writes: functions that apply one another double their number with each.
constexpr int kMaxTransforms = 10000;

// Puts the transforms in a row, following `apply`.
class Expansion {
 public:
  Expansion(const NamedTransformsField& functions, const SourceLocations& locations, Plan* plan,
            Errors* errors)
      : functions_(functions), locations_(locations), plan_(plan), errors_(errors) {}

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
    const std::string where = locations_.Where(kind_path);
    if (++expanded_ > kMaxTransforms) {
      errors_->Add(where, absl::StrCat("more than ", kMaxTransforms,
                                       " transforms, with all that apply repeats"));
      return;
    }
    if (name.empty()) {
      errors_->Add(
          where,
          absl::StrCat("a transform without a kind (known: ", NamesOf(TransformList()), ")"));
      return;
    }
    const TransformDef* const def = FindTransform(transform.kind_case());
    if (def == nullptr) {
      errors_->Add(where, absl::StrCat("transform ", name, " is not supported yet (supported: ",
                                       NamesOf(TransformList()), ")"));
      return;
    }
    if (transform.has_apply()) {
      Apply(transform.apply().transformation_func(), where);
      return;
    }
    const absl::Status checked = def->check == nullptr ? absl::OkStatus() : def->check(transform);
    if (!checked.ok()) {
      errors_->Add(WhereOf(checked, locations_, kind_path),
                   absl::StrCat(name, ": ", checked.message()));
    }
    plan_->steps.push_back({.transform = transform, .def = def, .path = kind_path, .where = where});
  }

  void Apply(const std::string& name, const std::string& where) {
    if (std::find(applied_.begin(), applied_.end(), name) != applied_.end()) {
      errors_->Add(
          where, absl::StrCat("apply: transformation_func ", Quote(name),
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
    errors_->Add(where, names.empty() ? absl::StrCat("apply: there is no transformation_func ",
                                                     Quote(name), "; the configuration has none")
                                      : absl::StrCat("apply: unknown transformation_func ",
                                                     Quote(name), DidYouMean(name, names)));
  }

  const NamedTransformsField& functions_;
  const SourceLocations& locations_;
  Plan* const plan_;
  Errors* const errors_;
  std::vector<std::string> applied_;  // the functions we are in
  int expanded_ = 0;                  // transforms so far
};

// Which transform may follow which.
void CheckOrder(const std::vector<Step>& steps, Errors* errors) {
  const Step* batch = nullptr;
  bool endless = false;
  for (const Step& step : steps) {
    const std::string name = step.def->name;
    if (batch != nullptr && step.transform.has_batch()) {
      errors->Add(step.where,
                  absl::StrCat("batch: want at most one, the first is at ", batch->where));
    } else if (batch != nullptr && step.transform.has_repeat()) {
      if (!batch->transform.batch().drop_remainder()) {
        errors->Add(
            step.where,
            "repeat after batch: short batches would come in the middle; put it before batch, "
            "or add drop_remainder: true to the batch");
      }
    } else if (batch != nullptr &&
               (step.def->make_items != nullptr || step.transform.has_cache())) {
      errors->Add(
          step.where,
          absl::StrCat(name, " after batch: would work on whole batches; put it before batch"));
    } else if (endless && step.transform.has_cache()) {
      errors->Add(step.where,
                  "cache after an endless repeat would never end; put it before repeat");
    }
    if (step.transform.has_batch()) batch = &step;
    if (IsEndlessRepeat(step.transform)) endless = true;
    if (step.transform.has_take() && step.transform.take().count() >= 0) endless = false;
  }
}

// Binds the row transforms one to the other. Stops at the first that does not fit: what follows it
// would only fail for that.
void BindRows(Schema schema, Plan* plan, Errors* errors) {
  for (Step& step : plan->steps) {
    if (step.def->bind == nullptr) continue;
    absl::StatusOr<RowTransform> bound = step.def->bind(step.transform, schema);
    if (!bound.ok()) {
      errors->Add(WhereOf(bound.status(), plan->locations, step.path),
                  absl::StrCat(step.def->name, ": ", bound.status().message()));
      return;
    }
    schema = bound->output;
    step.row = *std::move(bound);
  }
  plan->output = std::move(schema);
}

absl::StatusOr<Plan> MakePlan(const proto::Input& input, const NamedTransformsField& functions,
                              const SourceLocations& locations, const std::string& path,
                              const std::string& directory) {
  Plan plan;
  Errors errors;
  const std::string source_name = SourceName(input.source());
  plan.where = locations.Where(path);
  plan.directory = directory;
  plan.source = input.source();
  plan.source_def = FindSource(input.source().kind_case());
  plan.locations = locations;
  plan.source_path = FieldPath(FieldPath(path, "source"), source_name);
  std::optional<Schema> schema;
  if (plan.source_def == nullptr) {
    errors.Add(locations.Where(plan.source_path),
               source_name.empty()
                   ? absl::StrCat("source must be given (known: ", NamesOf(SourceList()), ")")
                   : absl::StrCat("source ", source_name, " is not supported yet (supported: ",
                                  NamesOf(SourceList()), ")"));
  } else {
    absl::StatusOr<Schema> columns = plan.source_def->schema(input.source());
    if (columns.ok()) {
      schema = *std::move(columns);
    } else {
      errors.Add(WhereOf(columns.status(), locations, plan.source_path),
                 absl::StrCat(source_name, ": ", columns.status().message()));
    }
  }
  Expansion(functions, locations, &plan, &errors)
      .Add(input.transform(), absl::StrCat(path, ".transform"));
  CheckOrder(plan.steps, &errors);
  // Not bound after other errors: a transform that is missing would be missed by those after it.
  if (schema.has_value() && errors.empty()) BindRows(*std::move(schema), &plan, &errors);
  RETURN_IF_ERROR(errors.status());
  return plan;
}

// ---------------------------------------------------------------- what depends on the arguments

// The batch step; null when it is left out.
const Step* FindBatch(const Plan& plan) {
  for (const Step& step : plan.steps) {
    if (step.transform.has_batch()) return &step;
  }
  return nullptr;
}

bool IsEndless(const Plan& plan) {
  bool endless = false;
  for (const Step& step : plan.steps) {
    if (IsEndlessRepeat(step.transform)) endless = true;
    if (step.transform.has_take() && step.transform.take().count() >= 0) endless = false;
  }
  return endless;
}

bool HasCache(const Plan& plan) {
  return std::any_of(plan.steps.begin(), plan.steps.end(),
                     [](const Step& step) { return step.transform.has_cache(); });
}

// Whether the input repeats without end, where it can be read again, without saying so.
bool ImpliesRepeat(const Plan& plan, const InputFnArgs& args) {
  return args.mode == ModeKey::kTrain &&
         std::none_of(plan.steps.begin(), plan.steps.end(),
                      [](const Step& step) { return step.transform.has_repeat(); });
}

// In batches, the elements before the batch step in whole ones; -1 without a prefetch that says.
int64_t PrefetchedBatches(const Plan& plan, int64_t batch_size) {
  int64_t batches = -1;
  bool after_batch = false;
  for (const Step& step : plan.steps) {
    if (step.transform.has_batch()) after_batch = true;
    if (!step.transform.has_prefetch()) continue;
    const int64_t size = step.transform.prefetch().buffer_size();
    const int64_t whole = size / batch_size + (size % batch_size > 0 ? 1 : 0);
    batches = std::max(batches, after_batch || size < 0 ? size : whole);
  }
  return batches;
}

void CheckBatch(const Plan& plan, const InputFnArgs& args, Errors* errors) {
  const Step* const batch = FindBatch(plan);
  const std::string& where = batch == nullptr ? plan.where : batch->where;
  if (batch != nullptr && batch->transform.batch().has_batch_size() &&
      batch->transform.batch().batch_size() != args.batch_size) {
    errors->Add(plan.locations.Where(FieldPath(batch->path, "batch_size")),
                absl::StrCat("batch: batch_size must be left out, or be that of the verb: want ",
                             args.batch_size, ", got ", batch->transform.batch().batch_size()));
  }
  const bool drops = batch != nullptr && batch->transform.batch().drop_remainder();
  const bool repeats =
      IsEndless(plan) || (ImpliesRepeat(plan, args) && (HasCache(plan) || !ReadsOnce(plan.source)));
  if (args.mode == ModeKey::kTrain && !drops && !repeats) {
    errors->Add(
        where,
        "training takes whole batches only: want transform { batch { drop_remainder: true } }, "
        "or transform { repeat {} } before the batch");
  }
}

// A source that can be read once, and something that reads it again.
void CheckReadOnce(const Plan& plan, const InputFnArgs& args, Errors* errors) {
  if (!ReadsOnce(plan.source)) return;
  for (const Step& step : plan.steps) {
    if (step.transform.has_cache()) return;
    if (!step.transform.has_repeat() || step.transform.repeat().count() == 1) continue;
    errors->Add(
        step.where,
        "repeat: standard input can be read only once; add transform { cache {} } before it");
    return;
  }
  if (args.count_examples) {
    errors->Add(
        plan.locations.Where(plan.source_path),
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
  if (got.dims != want.dims) {
    return absl::StrCat("; give it shape ", DimsToString(want.dims),
                        " where it is decoded, or in the "
                        "model");
  }
  return absl::StrCat("; add transform { cast { feature: ", Quote(got.name),
                      " dtype: ", proto::DataType_Name(want.dtype), " } }");
}

// The columns that are made of what rows of PREDICT may lack.
std::set<std::string> MadeOfLabels(const Plan& plan) {
  std::set<std::string> made;
  for (const Step& step : plan.steps) {
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
  }
  return made;
}

// The features the input has, of those the model declares; a label may be absent in PREDICT.
std::vector<FeatureSpec> MatchFeatures(const Plan& plan, const InputFnArgs& args, Errors* errors) {
  std::vector<FeatureSpec> matched;
  const std::set<std::string> labels = MadeOfLabels(plan);
  for (const FeatureSpec& feature : args.features) {
    const std::string title =
        absl::StrCat(feature.is_label ? "label " : "feature ", Quote(feature.name));
    const ColumnType want = {feature.name, FromDType(feature.shape.dtype), feature.shape.dims};
    const int column = FindColumn(plan.output, feature.name);
    if (column < 0) {
      if (feature.is_label && args.mode == ModeKey::kPredict) continue;
      errors->Add(plan.where,
                  absl::StrCat(title, " of the model is not in the input (keys present: ",
                               absl::StrJoin(ColumnNames(plan.output), ", "), ")"));
      continue;
    }
    if (labels.count(feature.name) > 0 && !feature.is_label) {
      errors->Add(plan.where, absl::StrCat(title,
                                           " of the model is made of a column with label: true, "
                                           "which rows of predict may lack; only a label of the "
                                           "model may be"));
      continue;
    }
    const ColumnType& got = plan.output[column];
    if (got.dtype != want.dtype || got.dims != want.dims) {
      errors->Add(plan.where,
                  absl::StrCat(title, ": the model wants ", want.ToString(), ", the input has ",
                               got.ToString(), HowToFeed(got, want)));
      continue;
    }
    if (labels.count(feature.name) > 0 && args.mode == ModeKey::kPredict) continue;
    matched.push_back(feature);
  }
  return matched;
}

void CheckForwarded(const Plan& plan, const InputFnArgs& args, Errors* errors) {
  const std::vector<std::string> known = ColumnNames(plan.output);
  for (size_t i = 0; i < args.forward_features.size(); ++i) {
    const std::string& name = args.forward_features[i];
    if (FindColumn(plan.output, name) >= 0) continue;
    const std::string path = ElementPath("predict.forward_features", static_cast<int>(i));
    errors->Add(plan.locations.Where(path),
                absl::StrCat("the input has no feature ", Quote(name), DidYouMean(name, known)));
  }
}

// ---------------------------------------------------------------------- from Plan to InputSource

// The columns of `before` that a later row transform reads, that are fed or forwarded.
Schema NeededAfter(const Plan& plan, size_t step, const Schema& before,
                   const std::vector<FeatureSpec>& features,
                   const std::vector<std::string>& forwarded) {
  const auto needed = [&](const std::string& name) {
    if (std::find(forwarded.begin(), forwarded.end(), name) != forwarded.end()) return true;
    for (const FeatureSpec& feature : features) {
      if (feature.name == name) return true;
    }
    for (size_t later = step + 1; later < plan.steps.size(); ++later) {
      const std::optional<RowTransform>& row = plan.steps[later].row;
      if (row.has_value() &&
          std::find(row->reads.begin(), row->reads.end(), name) != row->reads.end()) {
        return true;
      }
    }
    return false;
  };
  Schema schema;
  for (const ColumnType& type : before) {
    if (needed(type.name)) schema.push_back(type);
  }
  return schema;
}

// An error of opening; one that only the data shows names its file already.
absl::Status InPlace(const absl::Status& status, const SourceLocations& locations,
                     const std::string& path) {
  if (status.ok() || !FieldOf(status).has_value()) return status;
  return Annotate(status, WhereOf(status, locations, path));
}

absl::StatusOr<RowTransform> OpenRow(const Plan& plan, const Step& step, ModeKey mode) {
  RowTransform row = *step.row;
  if (row.open == nullptr) return row;
  const absl::Status opened = row.open({.mode = mode, .directory = plan.directory}, &row);
  RETURN_IF_ERROR(InPlace(opened, plan.locations, step.path));
  return row;
}

std::string BatchSizeName(ModeKey mode) {
  switch (mode) {
    case ModeKey::kTrain:
      return "train_batch_size";
    case ModeKey::kEval:
      return "eval_batch_size";
    case ModeKey::kPredict:
      return "predict_batch_size";
  }
  return "";
}

// Builds the pipeline step by step and counts along.
class Opening {
 public:
  Opening(const Plan& plan, const InputFnArgs& args, const std::vector<FeatureSpec>& features)
      : plan_(plan), args_(args), features_(features) {}

  absl::Status Open() {
    RETURN_IF_ERROR(OpenSource());
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      const Step& step = plan_.steps[i];
      if (step.row.has_value()) {
        ASSIGN_OR_RETURN(RowTransform row, OpenRow(plan_, step, args_.mode));
        elements_.transforms.push_back(std::move(row));
        schema_ = step.row->output;
      } else if (step.def->make_items != nullptr) {
        AddItems(step.transform, *step.def, i);
      } else if (step.transform.has_cache()) {
        RETURN_IF_ERROR(Cache(i));
      } else if (step.transform.has_batch() && step.transform.batch().drop_remainder()) {
        KeepWholeBatches(i);
      }
    }
    if (ImpliesRepeat(plan_, args_) && !reads_once_) {
      proto::Transform repeat;
      repeat.mutable_repeat();
      AddItems(repeat, *FindTransform(repeat.kind_case()), plan_.steps.size());
    }
    return absl::OkStatus();
  }

  InputSource Finish() && {
    const Step* const batch = FindBatch(plan_);
    InputSource source;
    source.features = features_;
    source.examples_per_epoch = count_.value_or(-1);
    source.endless = endless_;
    source.files = std::move(files_);
    source.prefetch = PrefetchedBatches(plan_, args_.batch_size);
    source.batches = MakeBatches(
        std::move(elements_),
        {.signature = std::move(signature_),
         .features = features_,
         .forward_features = args_.forward_features,
         .batch_size = args_.batch_size,
         .batch_size_name = BatchSizeName(args_.mode),
         .where = plan_.where,
         .empty = EmptyMessage(),
         .drop_remainder = batch != nullptr && batch->transform.batch().drop_remainder(),
         .allow_empty = args_.mode == ModeKey::kPredict});
    return source;
  }

 private:
  absl::Status OpenSource() {
    absl::StatusOr<OpenedSource> opened =
        plan_.source_def->open(plan_.source, {.directory = plan_.directory,
                                              .allow_empty = args_.mode == ModeKey::kPredict,
                                              .count = WantedCount(),
                                              .seed = static_cast<uint64_t>(args_.seed)});
    if (!opened.ok()) return InPlace(opened.status(), plan_.locations, plan_.source_path);
    elements_.records = std::move(opened->records);
    elements_.items = std::make_unique<RecordItems>(elements_.records.get());
    count_ = opened->count;
    reads_once_ = !std::all_of(opened->files.begin(), opened->files.end(), IsRegularFile);
    if (args_.mode == ModeKey::kTrain) RETURN_IF_ERROR(Identify(opened->files));
    schema_ = elements_.records->schema();
    signature_ = plan_.source_def->describe(plan_.source);
    return absl::OkStatus();
  }

  absl::Status Identify(const std::vector<std::string>& files) {
    for (const std::string& file : files) {
      ASSIGN_OR_RETURN(std::string identity, FileIdentity(file));
      files_.push_back({FileTitle(file), std::move(identity)});
    }
    return absl::OkStatus();
  }

  CountRecords WantedCount() const {
    if (args_.mode != ModeKey::kTrain || HasCache(plan_)) return CountRecords::kNo;
    return args_.count_examples ? CountRecords::kYes : CountRecords::kIfQuick;
  }

  ItemTransformArgs ItemArgs(int position) {
    return {.before = std::move(elements_.items),
            .records = elements_.records.get(),
            .seed = static_cast<uint64_t>(args_.seed),
            .ordinal = OrdinalOf(position),
            .empty = EmptyMessage(),
            .where = position < std::ssize(plan_.steps) ? plan_.steps[position].where : plan_.where,
            .least = endless_ ? std::numeric_limits<int64_t>::max() : count_.value_or(0),
            .memory_bytes = MemoryBytes()};
  }

  // How many steps of its kind come before the step.
  int OrdinalOf(int position) const {
    if (position >= std::ssize(plan_.steps)) return 0;
    const auto kind = plan_.steps[position].transform.kind_case();
    return static_cast<int>(
        std::count_if(plan_.steps.begin(), plan_.steps.begin() + position,
                      [kind](const Step& step) { return step.transform.kind_case() == kind; }));
  }

  // A source without records has refused itself.
  std::string EmptyMessage() const {
    const SourceDef& def = *plan_.source_def;
    return absl::StrCat(
        plan_.where, ": the input has no elements: its transforms leave none of ",
        def.file_names == nullptr
            ? def.describe(plan_.source)
            : absl::StrCat(def.name, " ", JoinFileNames(def.file_names(plan_.source))));
  }

  void AddItems(const proto::Transform& transform, const TransformDef& def, int position) {
    elements_.items = def.make_items(transform, ItemArgs(position));
    absl::StrAppend(&signature_, " | ", transform.ShortDebugString());
    if (def.random) absl::StrAppend(&signature_, " (stream ", OrdinalOf(position), ")");
    if (IsEndlessRepeat(transform)) {
      endless_ = true;  // count_ stays what one pass has
    } else if (transform.has_take() && transform.take().count() >= 0 && endless_) {
      endless_ = false;
      count_ = transform.take().count();
    } else if (count_.has_value()) {
      count_ = def.count(transform, *count_);
    }
  }

  // A repeat that follows the batch begins each pass with a new batch.
  void KeepWholeBatches(size_t batch) {
    const auto repeats = [](const Step& step) { return step.transform.has_repeat(); };
    if (std::none_of(plan_.steps.begin() + batch, plan_.steps.end(), repeats)) return;
    elements_.items = MakeWholeBatches(args_.batch_size, ItemArgs(batch));
    absl::StrAppend(&signature_, " | batch ", args_.batch_size);
    if (count_.has_value()) count_ = *count_ - *count_ % args_.batch_size;
  }

  absl::Status Cache(size_t step) {
    const Schema keep = NeededAfter(plan_, step, schema_, features_, args_.forward_features);
    ASSIGN_OR_RETURN(elements_, CacheElements(std::move(elements_), keep, plan_.steps[step].where,
                                              MemoryBytes()));
    count_ = elements_.records->table()->rows;
    reads_once_ = false;
    schema_ = keep;
    absl::StrAppend(&signature_, " | cache ", *count_);
    return absl::OkStatus();
  }

  const Plan& plan_;
  const InputFnArgs& args_;
  const std::vector<FeatureSpec>& features_;
  Elements elements_;
  Schema schema_;  // the columns at this place
  std::string signature_;
  std::vector<InputFile> files_;
  ElementCount count_;  // elements of one pass at this place; when endless, of what is repeated
  bool endless_ = false;
  bool reads_once_ = false;  // a second pass cannot be
};

absl::StatusOr<InputSource> OpenInput(const Plan& plan, const InputFnArgs& args) {
  Errors errors;
  CheckBatch(plan, args, &errors);
  CheckReadOnce(plan, args, &errors);
  const std::vector<FeatureSpec> features = MatchFeatures(plan, args, &errors);
  CheckForwarded(plan, args, &errors);
  RETURN_IF_ERROR(errors.status());
  if (!args.open) return InputSource{.features = features, .endless = IsEndless(plan)};
  Opening opening(plan, args, features);
  RETURN_IF_ERROR(opening.Open());
  return std::move(opening).Finish();
}

// ------------------------------------------------------------------------------------ export

// Of the columns that each step makes those that the features are made of. `wanted` are the
// features, afterwards what they are made of before the first step.
std::vector<std::set<std::string>> ColumnsOfSteps(const Plan& plan, std::set<std::string>& wanted) {
  std::vector<std::set<std::string>> columns(plan.steps.size());
  for (size_t i = plan.steps.size(); i-- > 0;) {
    if (!plan.steps[i].row.has_value()) continue;
    const RowTransform& row = *plan.steps[i].row;
    std::set<std::string> read;
    for (size_t made = 0; made < row.makes.size(); ++made) {
      if (wanted.erase(row.makes[made]) == 0) continue;
      columns[i].insert(row.makes[made]);
      if (row.paired) read.insert(row.reads[made]);
    }
    if (!row.paired && !columns[i].empty()) read.insert(row.reads.begin(), row.reads.end());
    wanted.merge(read);
  }
  return columns;
}

absl::StatusOr<std::map<std::string, ExportedColumn>> ExportPlan(
    const Plan& plan, Value serialized, const std::set<std::string>& features, ExportGraph& graph) {
  std::set<std::string> begin = features;
  const std::vector<std::set<std::string>> of_steps = ColumnsOfSteps(plan, begin);
  if (begin != std::set<std::string>{kRecord}) {
    return absl::FailedPreconditionError("the input does not parse tf.Examples");
  }
  std::map<std::string, Value> columns = {{kRecord, serialized}};
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    if (of_steps[i].empty()) continue;
    ASSIGN_OR_RETURN(const RowTransform row, OpenRow(plan, step, ModeKey::kPredict));
    if (row.tensorflow == nullptr) {
      return absl::UnimplementedError(absl::StrCat("TensorFlow has no op for the transform ",
                                                   step.def->name, " (", step.where, ")"));
    }
    graph.set_scope(step.def->name);
    row.tensorflow(graph, of_steps[i], columns);
  }
  std::map<std::string, ExportedColumn> made;
  for (const ColumnType& type : plan.output) {
    const std::optional<ElementType> exported = ExportedType(type.dtype);
    if (exported.has_value() && features.count(type.name) > 0) {
      made[type.name] = {columns.at(type.name), *exported, type.dims};
    }
  }
  return made;
}

template <typename Def>
ReadFields KindsOf(const google::protobuf::Descriptor& message, std::span<const Def> defs) {
  ReadFields row = {message.full_name(), {}};
  for (const Def& def : defs) row.fields.push_back(def.name);
  return row;
}

// ------------------------------------------------------------------------------------ values

// Sets it to an empty message of that kind.
void SetKind(proto::Source::KindCase kind, proto::Source* source) {
  const auto* const field = proto::Source::descriptor()->FindFieldByNumber(kind);
  if (field != nullptr) source->GetReflection()->MutableMessage(source, field);
}

void ClearFileNames(proto::Transform* transform) {
  const auto* const kind =
      proto::Transform::descriptor()->FindFieldByNumber(transform->kind_case());
  auto* const arguments = transform->GetReflection()->MutableMessage(transform, kind);
  const auto* const file = arguments->GetDescriptor()->FindFieldByName("vocabulary_file");
  if (file != nullptr) arguments->GetReflection()->ClearField(arguments, file);
}

}  // namespace

std::vector<ReadFields> ReadInputFields() {
  return {KindsOf(*proto::Source::descriptor(), SourceList()),
          KindsOf(*proto::Transform::descriptor(), TransformList())};
}

absl::StatusOr<InputFn> MakeInputFn(const proto::Input& input,
                                    const NamedTransformsField& functions,
                                    const SourceLocations& locations, const std::string& path,
                                    const std::string& directory) {
  ASSIGN_OR_RETURN(Plan plan, MakePlan(input, functions, locations, path, directory));
  return InputFn([plan = std::make_shared<const Plan>(std::move(plan))](const InputFnArgs& args) {
    return OpenInput(*plan, args);
  });
}

proto::Input InputValues(const proto::Input& input, const NamedTransformsField& functions) {
  const SourceLocations locations;
  Plan plan;
  Errors errors;
  Expansion(functions, locations, &plan, &errors).Add(input.transform(), "");
  proto::Input values;
  SetKind(input.source().kind_case(), values.mutable_source());
  for (const Step& step : plan.steps) {
    if (step.def->bind == nullptr || step.def->random) continue;
    *values.add_transform() = step.transform;
    ClearFileNames(values.mutable_transform(values.transform_size() - 1));
  }
  return values;
}

absl::StatusOr<ExportInputFn> MakeExportInputFn(const proto::Input& input,
                                                const NamedTransformsField& transformation_funcs,
                                                const SourceLocations& locations,
                                                const std::string& path) {
  ASSIGN_OR_RETURN(Plan made, MakePlan(input, transformation_funcs, locations, path, ""));
  const auto plan = std::make_shared<const Plan>(std::move(made));
  return ExportInputFn(
      [plan](ExportGraph& graph, Value serialized, const std::set<std::string>& features) {
        return ExportPlan(*plan, serialized, features, graph);
      });
}

}  // namespace tpurun
