#include "data/input_fn.h"

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "data/export_input.h"
#include "data/input_checks.h"
#include "data/input_plan.h"
#include "data/open_input.h"
#include "data/sources/files.h"
#include "data/sources/source_list.h"
#include "data/table.h"
#include "data/transforms/transform_list.h"
#include "google/protobuf/descriptor.h"
#include "proto/source_locations.h"
#include "runtime/base/status.h"
#include "runtime/io/crc32c.h"
#include "runtime/io/file.h"

namespace tpurun {
namespace {

// ------------------------------------------------------------------------------------ values

// Sets it to an empty message of that kind.
void SetKind(proto::Source::KindCase kind, proto::Source* source) {
  const auto* const field = proto::Source::descriptor()->FindFieldByNumber(kind);
  if (field != nullptr) source->GetReflection()->MutableMessage(source, field);
}

// The message of its kind, which is set.
google::protobuf::Message* MutableKind(proto::Source* source) {
  const auto* const field = proto::Source::descriptor()->FindFieldByNumber(source->kind_case());
  return source->GetReflection()->MutableMessage(source, field);
}

// In place of the name of a vocabulary's file what is in it: files move, and change.
void DescribeVocabulary(proto::Transform* transform) {
  const auto* const kind =
      proto::Transform::descriptor()->FindFieldByNumber(transform->kind_case());
  auto* const arguments = transform->GetReflection()->MutableMessage(transform, kind);
  const auto* const file = arguments->GetDescriptor()->FindFieldByName("vocabulary_file");
  if (file == nullptr || !arguments->GetReflection()->HasField(*arguments, file)) return;
  const std::string name = arguments->GetReflection()->GetString(*arguments, file);
  const absl::StatusOr<std::string> text =
      IsRegularFile(name) ? ReadFile(name) : absl::NotFoundError("");
  if (text.ok()) {
    arguments->GetReflection()->SetString(
        arguments, file,
        absl::StrFormat("%d bytes, crc32c 0x%08x", text->size(), crc32c::Value(*text)));
  } else {
    arguments->GetReflection()->ClearField(arguments, file);  // opening the input tells of it
  }
}

}  // namespace

InputFn MakeInputFn(std::shared_ptr<const InputPlan> plan) {
  return [plan = std::move(plan)](const InputFnArgs& args) { return OpenPlan(*plan, args); };
}

bool CheckInput(const InputPlan& plan, const InputFnArgs& args, ConfigErrors& errors) {
  CheckArguments(plan, args, errors);
  return IsEndless(plan);
}

ExportInputFn MakeExportInputFn(std::shared_ptr<const InputPlan> plan) {
  return [plan = std::move(plan)](ExportGraph& graph, ExportFormat format,
                                  const std::set<std::string>& features) {
    return ExportPlan(*plan, format, features, graph);
  };
}

std::optional<SequenceBuckets> SequenceBucketsOf(const InputPlan& plan) {
  const Step* const batch = FindBuckets(plan);
  if (batch == nullptr) return std::nullopt;
  const proto::BucketBySequenceLength& buckets = *BucketsOf(*batch);
  SequenceBuckets result{
      .features = {buckets.feature().begin(), buckets.feature().end()},
      .lengths = {},
      .where = plan.locations.Where(FieldPath(batch->path, "bucket_by_sequence_length"))};
  for (const int64_t boundary : buckets.bucket_boundaries()) result.lengths.push_back(boundary - 1);
  result.lengths.push_back(LongestSequence(plan, buckets));
  return result;
}

bool SelectsRows(const proto::Transform& transform) {
  const TransformDef* const def = FindTransform(transform.kind_case());
  return def != nullptr && def->make_items != nullptr;
}

std::string SetFiles(const std::vector<std::string>& files, proto::Source* source) {
  const SourceDef* const def = FindSource(source->kind_case());
  if (def == nullptr || def->file_names == nullptr) return "";
  if (def->read_all != nullptr) def->read_all(source);
  google::protobuf::Message* const arguments = MutableKind(source);
  const auto* const names = arguments->GetDescriptor()->FindFieldByName("file");
  arguments->GetReflection()->ClearField(arguments, names);
  for (const std::string& file : files) {
    arguments->GetReflection()->AddString(arguments, names, file);
  }
  return FieldPath(SourceName(*source), names->name());
}

proto::Input InputValues(const proto::Input& input, const NamedTransformsField& functions) {
  ConfigErrors errors;
  proto::Input values;
  // Image files are records like those of the training.
  SetKind(input.source().has_image_file() ? proto::Source::kTfrecord : input.source().kind_case(),
          values.mutable_source());
  for (const proto::Input& part : InputsOf(input.source())) {
    google::protobuf::Message* const source = MutableKind(values.mutable_source());
    const auto* const inputs = source->GetDescriptor()->FindFieldByName("input");
    source->GetReflection()->AddMessage(source, inputs)->CopyFrom(InputValues(part, functions));
  }
  for (const Step& step : ExpandTransforms(input.transform(), functions, {}, "", errors)) {
    if (step.def->bind == nullptr && !step.transform.has_window()) continue;
    if (step.def->random) continue;
    *values.add_transform() = step.transform;
    DescribeVocabulary(values.mutable_transform(values.transform_size() - 1));
  }
  return values;
}

}  // namespace tpurun
