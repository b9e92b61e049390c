#include "data/open_input.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "data/batches.h"
#include "data/bucketed_items.h"
#include "data/combined_input.h"
#include "data/elements.h"
#include "data/filtered_items.h"
#include "data/input_cache.h"
#include "data/input_checks.h"
#include "data/item_stream.h"
#include "data/sources/files.h"
#include "data/table.h"
#include "data/timed_batches.h"
#include "data/transforms/image_rows.h"
#include "data/transforms/label_ids.h"
#include "data/windowed_records.h"
#include "runtime/base/cpu.h"
#include "runtime/base/memory.h"
#include "runtime/base/random.h"
#include "runtime/base/status.h"
#include "runtime/io/file.h"
#include "runtime/spec/input_deployment.h"

namespace tpurun {
namespace {

// In whole steps, the most that is prefetched before or after the batch step.
int64_t PrefetchedSteps(const InputPlan& plan, const InputFnArgs& args) {
  int64_t steps = 0;
  int64_t in_a_step = args.batch_size * args.batches_per_step;
  for (const Step& step : plan.steps) {
    if (step.transform.has_batch()) in_a_step = args.batches_per_step;
    if (!step.transform.has_prefetch()) continue;
    const int64_t size = step.transform.prefetch().buffer_size();
    const int64_t whole = size / in_a_step + (size % in_a_step > 0 ? 1 : 0);
    steps = std::max(steps, whole);
  }
  return steps;
}

// The columns of `before` that a later step reads, that are fed or forwarded.
Schema NeededAfter(const InputPlan& plan, size_t step, const Schema& before,
                   const std::vector<FeatureSpec>& features,
                   const std::vector<std::string>& forwarded) {
  const auto needed = [&](const std::string& name) {
    if (std::find(forwarded.begin(), forwarded.end(), name) != forwarded.end()) return true;
    for (const FeatureSpec& feature : features) {
      if (feature.name == name) return true;
    }
    return IsReadAfter(plan, step, name);
  };
  Schema schema;
  for (const ColumnType& type : before) {
    if (needed(type.name)) schema.push_back(type);
  }
  return schema;
}

// The places of the fields of the message at `path`. The plan outlives it.
std::function<std::string(const std::string& field)> WhereBelow(const InputPlan& plan,
                                                                const std::string& path) {
  return [&plan, path](const std::string& field) {
    return plan.locations.Where(FieldPath(path, field));
  };
}

// What the pipeline draws from, in place of tf_random_seed: each shard has a stream of its own.
uint64_t SeedOf(const InputFnArgs& args) {
  const auto seed = static_cast<uint64_t>(args.seed);
  if (args.shard.num_shards == 1) return seed;
  const auto lanes = PhiloxBlock(seed, StreamOf("shard"), args.shard.index, 0, 0);
  return static_cast<uint64_t>(lanes[1]) << 32 | lanes[0];
}

// What input number `part` of those that a source is made of draws from.
uint64_t SeedOfPart(const InputFnArgs& args, size_t part) {
  const auto lanes = PhiloxBlock(static_cast<uint64_t>(args.seed), StreamOf("input"), 0, 0, part);
  return static_cast<uint64_t>(lanes[1]) << 32 | lanes[0];
}

MapSettings SettingsOf(const InputPlan& plan, const InputFnArgs& args) {
  MapSettings settings;
  settings.autotune = plan.num_parallel_calls <= 0;
  settings.num_threads = settings.autotune ? static_cast<int>(AllowedCpus().size())
                                           : static_cast<int>(plan.num_parallel_calls);
  if (plan.skips_errors) settings.skipped = std::make_shared<SkippedRows>(plan.where, args.warn);
  return settings;
}

// Whether the rows of the source are lines of a table.
bool DecodesLines(const InputPlan& plan) {
  return std::any_of(plan.steps.begin(), plan.steps.end(), [](const Step& step) {
    return step.transform.has_decode_csv() || step.transform.has_decode_json();
  });
}

// The number of steps of its kind before the step.
int OrdinalOf(const InputPlan& plan, const Step& step) {
  return static_cast<int>(std::count_if(plan.steps.data(), &step, [&](const Step& before) {
    return before.transform.kind_case() == step.transform.kind_case();
  }));
}

// A stream whose time is measured.
class TimedItems : public PassingItems {
 public:
  TimedItems(std::unique_ptr<ItemStream> items, std::shared_ptr<InputTimes> times, size_t stage)
      : PassingItems(std::move(items)), times_(std::move(times)), stage_(stage) {}

  absl::StatusOr<int64_t> Next(std::span<Item> items) override {
    InputTimes::Timer timer(times_.get(), stage_);
    ASSIGN_OR_RETURN(const int64_t got, before().Next(items));
    timer.AddRows(got);
    return got;
  }

 private:
  const std::shared_ptr<InputTimes> times_;
  const size_t stage_;
};

// Builds the pipeline step by step and counts along.
class PipelineOpener {
 public:
  PipelineOpener(const InputPlan& plan, const InputFnArgs& args,
                 const std::vector<FeatureSpec>& features, MapSettings settings)
      : plan_(plan),
        args_(args),
        features_(features),
        settings_(std::move(settings)),
        of_labels_(StepsOfLabels(plan, args)),
        seed_(SeedOf(args)) {}

  absl::Status Open() {
    RETURN_IF_ERROR(OpenSteps());
    for (const FeatureSpec& feature : features_) {
      if (schema_[FindColumn(schema_, feature.name)].dtype != proto::STRING) continue;
      RowTransform ids = LabelIds(feature, schema_);
      schema_ = ids.output;
      AddRowTransform(std::move(ids), "label_vocabulary");
    }
    if (ImpliesRepeat(plan_, args_.mode) && !reads_once_) {
      proto::Transform repeat;
      repeat.mutable_repeat();
      AddItems(repeat, *FindTransform(repeat.kind_case()), plan_.steps.size());
    }
    if (FormsBuckets() && !RepeatsBatches()) AddBuckets();
    return absl::OkStatus();
  }

  // Without what the mode adds behind the transforms.
  absl::Status OpenSteps() {
    RETURN_IF_ERROR(plan_.inputs.empty() ? OpenSource() : OpenParts());
    if (args_.shard.num_shards > 1) TakeShard();
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      const Step& step = plan_.steps[i];
      if (of_labels_.count(&step) > 0) {
        schema_ = step.row->output;
      } else if (step.row.has_value()) {
        ASSIGN_OR_RETURN(RowTransform row, OpenRow(plan_, step,
                                                   {.mode = args_.mode,
                                                    .headers = headers_,
                                                    .seed = static_cast<uint64_t>(args_.seed),
                                                    .warn = args_.warn}));
        if (step.transform.has_lookup()) RefuseUnknownLabels(i, &row);
        AddRowTransform(std::move(row), step.def->name);
        num_ids_.clear();
        schema_ = step.row->output;
      } else if (step.def->make_items != nullptr) {
        AddItems(step.transform, *step.def, i);
      } else if (FilteredFeature(step.transform) != nullptr) {
        AddFilter(step);
      } else if (step.transform.has_window()) {
        AddWindow(step);
      } else if (step.transform.has_cache()) {
        RETURN_IF_ERROR(Cache(i));
      } else if (step.transform.has_batch() && RepeatsBatches()) {
        FormsBuckets() ? AddBuckets() : KeepWholeBatches(i);
      }
    }
    return absl::OkStatus();
  }

  InputSource Finish() && {
    const Step* const batch = FindBatch(plan_);
    InputSource source;
    source.features = features_;
    for (FeatureSpec& feature : source.features) {
      const auto known = num_ids_.find(feature.name);
      if (known != num_ids_.end()) feature.num_ids = known->second;
    }
    source.examples_per_epoch = count_.value_or(-1);
    source.endless = endless_;
    source.reads_once = source_reads_once_;
    source.files = std::move(files_);
    source.assets = std::move(assets_);
    source.prefetch = PrefetchedSteps(plan_, args_);
    const size_t stage = args_.times == nullptr ? 0 : NextStage("batch");
    const bool row_by_row = args_.max_wait.has_value();
    source.batches = MakeBatches(
        std::move(elements_),
        {.signature = std::move(signature_),
         .order_seed = draws_order_ ? std::optional(args_.seed) : std::nullopt,
         .features = features_,
         .forward_features = args_.forward_features,
         .batch_size = row_by_row ? 1 : args_.batch_size,
         .batches_per_step = row_by_row ? 1 : args_.batches_per_step,
         .rows = args_.rows,
         .batch_size_name = BatchSizeName(args_.mode),
         .batch_title = BatchTitle(args_),
         .where = plan_.where,
         .empty = EmptyMessage(),
         .on_empty = OnEmptyInput(),
         .drop_remainder = batch != nullptr && batch->transform.batch().drop_remainder(),
         .mixup = batch != nullptr && batch->transform.batch().has_mixup()
                      ? std::optional(batch->transform.batch().mixup())
                      : std::nullopt,
         .seed = static_cast<uint64_t>(args_.seed),
         .stage = stage,
         .bucket = bucket_});
    if (!row_by_row) return source;
    source.batches = MakeTimedBatches(std::move(source.batches),
                                      {.features = features_,
                                       .batch_size = args_.batch_size * args_.batches_per_step,
                                       .max_wait = *args_.max_wait});
    return source;
  }

 private:
  absl::Status OpenSource() {
    if (IsReadByAll(args_)) RETURN_IF_ERROR(CheckShardable());
    absl::StatusOr<OpenedSource> opened =
        plan_.source_def->open(plan_.source, {.directory = plan_.directory,
                                              .on_empty = OnEmptySource(),
                                              .count = WantedCount(),
                                              .seed = static_cast<uint64_t>(args_.seed),
                                              .trained = args_.trained,
                                              .decodes_lines = DecodesLines(plan_),
                                              .where = WhereBelow(plan_, plan_.source_path)});
    RETURN_IF_ERROR(opened.status());
    StartElements(std::move(opened->records), plan_.source_def->name);
    count_ = opened->count;
    reads_once_ = !plan_.source_def->in_memory &&
                  !std::all_of(opened->files.begin(), opened->files.end(), IsRegularFile);
    source_reads_once_ = reads_once_;
    headers_ = std::move(opened->headers);
    assets_ = std::move(opened->assets);
    num_ids_ = std::move(opened->num_ids);
    // A checkpoint is resumed with the same files; several processes read the same ones.
    if (args_.mode == ModeKey::kTrain || args_.num_processes > 1)
      RETURN_IF_ERROR(Identify(opened->files));
    schema_ = elements_.records->schema();
    signature_ = plan_.source_def->describe(plan_.source);
    return absl::OkStatus();
  }

  // Opens the inputs that the source is made of. All shards draw the same elements of them.
  absl::Status OpenParts() {
    if (IsReadByAll(args_)) RETURN_IF_ERROR(CheckShardable());
    const std::vector<FeatureSpec> no_features;
    std::vector<Elements> inputs;
    std::vector<Extent> extents;
    std::string signatures;
    for (size_t i = 0; i < plan_.inputs.size(); ++i) {
      InputFnArgs args = args_;
      args.shard = {};
      args.seed = static_cast<int64_t>(SeedOfPart(args_, i));
      args.forward_features = ColumnNames(plan_.inputs[i]->output);
      args.times = nullptr;
      PipelineOpener part(*plan_.inputs[i], args, no_features, settings_);
      part.warned_ = warned_;
      part.counts_ = counts_ && !HasCache(plan_);
      RETURN_IF_ERROR(part.OpenSteps());
      inputs.push_back(std::move(part.elements_));
      extents.push_back({part.endless_, part.count_});
      files_.insert(files_.end(), part.files_.begin(), part.files_.end());
      RETURN_IF_ERROR(AddAssets(part));
      if (FindColumn(plan_.inputs[i]->output, kHeader) >= 0)
        headers_.insert(headers_.end(), part.headers_.begin(), part.headers_.end());
      if (plan_.source.has_zip()) num_ids_.merge(part.num_ids_);
      reads_once_ = reads_once_ || part.reads_once_;
      source_reads_once_ = source_reads_once_ || part.source_reads_once_;
      absl::StrAppend(&signatures, " (", part.signature_, ")");
      draws_order_ |= part.draws_order_;
    }
    StartElements(
        CombineElements(plan_.source, std::move(inputs), static_cast<uint64_t>(args_.seed)),
        plan_.source_def->name);
    WarnOfUnpairedInputs(plan_.source, extents, plan_.directory, args_.warn);
    const Extent extent = CombineExtents(plan_.source, extents);
    count_ = extent.count;
    endless_ = extent.endless;
    schema_ = elements_.records->schema();
    signature_ = absl::StrCat(plan_.source_def->describe(plan_.source), signatures);
    return absl::OkStatus();
  }

  absl::Status AddAssets(const PipelineOpener& part) {
    for (const auto& [name, text] : part.assets_) {
      if (assets_.try_emplace(name, text).first->second == text) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          part.plan_.where, ": ", part.plan_.path, " makes another ", name,
          " than an input before it; give both the same file of it (vocabulary_file)"));
    }
    return absl::OkStatus();
  }

  // All records in their order.
  void StartElements(std::unique_ptr<Records> records, const char* stage) {
    elements_.records = std::move(records);
    elements_.items = std::make_unique<RecordItems>(elements_.records.get());
    elements_.map = {.settings = settings_, .times = args_.times};
    if (args_.times != nullptr) elements_.map.source_stage = TimeItems(stage);
  }

  OnEmpty OnEmptySource() const {
    if (args_.mode != ModeKey::kPredict) return RefuseEmpty;
    return [warn = args_.warn, warned = warned_](const std::string& message) {
      *warned = true;
      warn(absl::StrCat(message, "; nothing is predicted of it"));
      return absl::OkStatus();
    };
  }

  // Nothing more where the source has told why.
  OnEmpty OnEmptyInput() const {
    if (args_.mode != ModeKey::kPredict) return RefuseEmpty;
    return [warn = OnEmptySource(), warned = warned_](const std::string& message) {
      return *warned ? absl::OkStatus() : warn(message);
    };
  }

  static absl::Status RefuseEmpty(const std::string& message) {
    return absl::DataLossError(message);
  }

  // A pipe would be used up by the first that opens it.
  absl::Status CheckShardable() const {
    const auto where = WhereBelow(plan_, plan_.source_path);
    ASSIGN_OR_RETURN(const std::vector<std::string> files,
                     ExpandFileNames(AllFileNames(plan_.source), plan_.directory, where));
    for (const std::string& file : files) {
      if (IsRegularFile(file)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(where("file"), ": ", FileTitle(file), " ", ReadByAll(args_)));
    }
    return absl::OkStatus();
  }

  void TakeShard() {
    proto::Transform shard;
    shard.mutable_shard()->set_num_shards(args_.shard.num_shards);
    shard.mutable_shard()->add_index(args_.shard.index);
    AddItems(shard, *FindTransform(shard.kind_case()), -1);
  }

  absl::Status Identify(const std::vector<std::string>& files) {
    for (const std::string& file : files) {
      ASSIGN_OR_RETURN(std::string identity, FileIdentity(file));
      files_.push_back({FileTitle(file), std::move(identity)});
    }
    return absl::OkStatus();
  }

  CountRecords WantedCount() const {
    if (args_.mode != ModeKey::kTrain || !counts_ || HasCache(plan_)) return CountRecords::kNo;
    return args_.count_examples ? CountRecords::kYes : CountRecords::kIfQuick;
  }

  ItemTransformArgs ItemArgs(int position) {
    return {.before = std::move(elements_.items),
            .records = elements_.records.get(),
            .seed = seed_,
            .ordinal = IsStep(position) ? OrdinalOf(plan_, plan_.steps[position]) : 0,
            .empty = EmptyMessage(),
            .where = IsStep(position) ? plan_.steps[position].where : plan_.where,
            .least = endless_ ? std::numeric_limits<int64_t>::max() : count_.value_or(0),
            .memory_bytes = MemoryBytes()};
  }

  size_t NextStage(const std::string& name) { return args_.times->Number(stages_++, name); }

  // Measures the item stream from here on. Returns its stage.
  size_t TimeItems(const std::string& name) {
    const size_t stage = NextStage(name);
    elements_.items = std::make_unique<TimedItems>(std::move(elements_.items), args_.times, stage);
    return stage;
  }

  // Not so of what the mode and the shard add before and behind them.
  bool IsStep(int position) const { return position >= 0 && position < std::ssize(plan_.steps); }

  // A source without records has refused itself.
  std::string EmptyMessage() const {
    const SourceDef& def = *plan_.source_def;
    const std::string source =
        def.file_names == nullptr
            ? def.describe(plan_.source)
            : absl::StrCat(def.name, " ", JoinFileNames(def.file_names(plan_.source)));
    return absl::StrCat(
        plan_.where, ": the input has no elements: ",
        plan_.inputs.empty() ? "its transforms leave none of "
                             : "its inputs or its transforms leave none of ",
        source,
        args_.shard.num_shards == 1
            ? ""
            : absl::StrCat(" in shard ", args_.shard.index, " of ", args_.shard.num_shards,
                           ", that of ", args_.shard.fed, " ", args_.shard.index));
  }

  // What can be joined with an earlier transform counts in its stage.
  void AddRowTransform(RowTransform row, const char* name) {
    std::vector<RowTransform>& transforms = elements_.map.transforms;
    if (JoinWithEarlier(row, transforms)) return;
    transforms.push_back(std::move(row));
    if (args_.times != nullptr) elements_.map.stages.push_back(NextStage(name));
  }

  void SignItems(const proto::Transform& transform, const TransformDef& def, int ordinal) {
    absl::StrAppend(&signature_, " | ", transform.ShortDebugString());
    if (def.random) absl::StrAppend(&signature_, " (stream ", ordinal, ")");
    draws_order_ |= def.random;
  }

  void AddItems(const proto::Transform& transform, const TransformDef& def, int position) {
    ItemTransformArgs args = ItemArgs(position);
    SignItems(transform, def, args.ordinal);
    elements_.items = def.make_items(transform, std::move(args));
    if (args_.times != nullptr) TimeItems(def.name);
    if (IsEndlessRepeat(transform)) {
      endless_ = true;  // count_ stays what one pass has
    } else if (transform.has_take() && transform.take().count() >= 0 && endless_) {
      endless_ = false;
      count_ = transform.take().count();
    } else if (count_.has_value()) {
      count_ = def.count(transform, *count_);
    }
  }

  // A filter or a rejection_resample.
  void AddFilter(const Step& step) {
    const std::string& feature = *FilteredFeature(step.transform);
    const int ordinal = OrdinalOf(plan_, step);
    const KeepRow keep =
        step.transform.has_filter()
            ? KeepRow(IsNotZero)
            : KeepClasses(step.transform.rejection_resample(),
                          {.seed = static_cast<uint64_t>(args_.seed), .ordinal = ordinal});
    RowMapArgs map = {.transforms = TransformsOf(feature, elements_.map.transforms),
                      .settings = settings_,
                      .looks_only = true};
    elements_.items = std::make_unique<FilteredItems>(
        std::move(elements_.items), elements_.records.get(), std::move(map), feature, keep);
    if (args_.times != nullptr) TimeItems(step.def->name);
    SignItems(step.transform, *step.def, ordinal);
    count_ = std::nullopt;
  }

  void AddWindow(const Step& step) {
    const proto::Window& window = step.transform.window();
    StartElements(MakeWindows(std::move(elements_), window, step.where, MemoryBytes()), "window");
    const int64_t shift = window.has_shift() ? window.shift() : window.size();
    const int64_t span = (window.size() - 1) * window.stride() + 1;
    if (endless_) count_ = std::nullopt;
    if (count_.has_value()) count_ = *count_ < span ? 0 : (*count_ - span) / shift + 1;
    schema_ = WindowSchema(std::move(schema_), window.size());
    num_ids_.clear();
    absl::StrAppend(&signature_, " | ", step.transform.ShortDebugString());
  }

  // Labels of a lookup that gives those it does not know no id of its own.
  void RefuseUnknownLabels(size_t step, RowTransform* row) const {
    const proto::Lookup& lookup = plan_.steps[step].transform.lookup();
    if (lookup.has_default_value() || lookup.num_oov_buckets() > 0) return;
    for (const FeatureSpec& feature : features_) {
      const auto made = std::find(row->makes.begin(), row->makes.end(), feature.name);
      if (!feature.is_label || made == row->makes.end()) continue;
      if (!IsReadAfter(plan_, step, feature.name)) RequireKnownLabels(feature.name, row);
    }
  }

  // Whether a repeat follows the batch, whose remainder is dropped then.
  bool RepeatsBatches() const {
    const Step* const batch = FindBatch(plan_);
    if (batch == nullptr || !batch->transform.batch().drop_remainder()) return false;
    return std::any_of(batch, plan_.steps.data() + plan_.steps.size(),
                       [](const Step& step) { return step.transform.has_repeat(); });
  }

  // Whether batches have elements of similar lengths.
  bool FormsBuckets() const {
    return args_.mode == ModeKey::kTrain && FindBuckets(plan_) != nullptr;
  }

  // Behind all that orders elements, but for a repeat of batches.
  void AddBuckets() {
    const Step& batch = *FindBuckets(plan_);
    const proto::BucketBySequenceLength& buckets = *BucketsOf(batch);
    const std::vector<RowTransform>& transforms = elements_.map.transforms;
    bucket_ = std::make_shared<int>(0);
    // With on_error: SKIP an element must be whole before it counts in its bucket.
    RowMapArgs map = {.transforms = settings_.skipped != nullptr
                                        ? transforms
                                        : TransformsOf(buckets.element_length(), transforms),
                      .settings = settings_};
    elements_.items = std::make_unique<BucketedItems>(
        std::move(elements_.items), elements_.records.get(), std::move(map),
        BucketArgs{.buckets = buckets,
                   .longest = LongestSequence(plan_, buckets),
                   .batch_size = args_.batch_size,
                   .where = batch.where,
                   .memory_bytes = MemoryBytes(),
                   .bucket = bucket_});
    if (args_.times != nullptr) TimeItems("bucket_by_sequence_length");
    absl::StrAppend(&signature_, " | bucket_by_sequence_length");
    if (RepeatsBatches()) count_ = std::nullopt;  // how many are left out is not known
  }

  // A repeat that follows the batch begins each pass with a new batch.
  void KeepWholeBatches(size_t batch) {
    elements_.items = MakeWholeBatches(args_.batch_size, ItemArgs(batch));
    absl::StrAppend(&signature_, " | batch ", args_.batch_size);
    if (count_.has_value()) count_ = *count_ - *count_ % args_.batch_size;
  }

  absl::Status Cache(size_t step) {
    const Schema keep = NeededAfter(plan_, step, schema_, features_, args_.forward_features);
    Schema cached = keep;
    MovedTransforms conversions =
        TakeConversions(elements_.records->schema(), &elements_.map, &cached);
    ASSIGN_OR_RETURN(elements_, CacheElements(std::move(elements_), cached, plan_.steps[step].where,
                                              MemoryBytes()));
    if (args_.times != nullptr) elements_.map.source_stage = TimeItems("cache");
    elements_.map.transforms = std::move(conversions.transforms);
    elements_.map.stages = std::move(conversions.stages);
    count_ = elements_.records->table()->rows;
    reads_once_ = false;
    schema_ = keep;
    absl::StrAppend(&signature_, " | cache ", *count_);
    return absl::OkStatus();
  }

  const InputPlan& plan_;
  const InputFnArgs& args_;
  const std::vector<FeatureSpec>& features_;
  const MapSettings settings_;
  const std::set<const Step*> of_labels_;  // which are not run
  const uint64_t seed_;
  std::shared_ptr<bool> warned_ = std::make_shared<bool>(false);  // of a source without rows
  bool counts_ = true;                                            // the number of records is of use
  Elements elements_;
  size_t stages_ = 0;  // of elements_.times so far
  Schema schema_;      // the columns at this place
  std::string signature_;
  bool draws_order_ = DrawsOrder(plan_.source);  // by tf_random_seed, also in an item transform
  std::vector<FileHeader> headers_;
  std::vector<InputFile> files_;
  std::map<std::string, std::string> assets_;
  std::map<std::string, int64_t> num_ids_;  // of the columns, as the source has them
  ElementCount count_;  // elements of one pass at this place; when endless, of what is repeated
  bool endless_ = false;
  std::shared_ptr<int> bucket_;  // of the last batch; nullptr: there are no buckets
  bool source_reads_once_ = false;
  bool reads_once_ = false;  // a second pass cannot be: there is no cache behind such a source
};

}  // namespace

absl::StatusOr<RowTransform> OpenRow(const InputPlan& plan, const Step& step, RowOpenArgs args) {
  RowTransform row = *step.row;
  if (row.open == nullptr) return row;
  args.directory = plan.directory;
  args.ordinal = OrdinalOf(plan, step);
  args.where = WhereBelow(plan, step.path);
  RETURN_IF_ERROR(row.open(args, &row));
  return row;
}

absl::StatusOr<InputSource> OpenPlan(const InputPlan& plan, const InputFnArgs& args) {
  ConfigErrors errors;
  const std::vector<FeatureSpec> features = CheckArguments(plan, args, errors);
  RETURN_IF_ERROR(ErrorList(errors.Lines(plan.locations), errors.code()));
  PipelineOpener opening(plan, args, features, SettingsOf(plan, args));
  RETURN_IF_ERROR(opening.Open());
  return std::move(opening).Finish();
}

}  // namespace tpurun
