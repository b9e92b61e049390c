#include "cli/check_numerics.h"

#include <cstdint>
#include <functional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/check_input.h"
#include "cli/compose.h"
#include "cli/inspect_rows.h"
#include "cli/json.h"
#include "cli/logging.h"
#include "cli/numerics_findings.h"
#include "cli/numerics_report.h"
#include "glog/logging.h"
#include "models/model_builder.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/estimator/numerics.h"
#include "runtime/estimator/sequence_lengths.h"

namespace tpurun {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using MatmulPrecision = proto::ModelSpec::MatmulPrecision;

constexpr int64_t kDefaultSteps = 100, kMostSteps = 1000000;

// Calls `visit` with the message and all messages in it.
void ForEachMessage(Message& message, const std::function<void(Message&)>& visit) {
  visit(message);
  std::vector<const FieldDescriptor*> fields;
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      ForEachMessage(*reflection.MutableMessage(&message, field), visit);
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(message, field); ++i)
      ForEachMessage(*reflection.MutableRepeatedMessage(&message, field, i), visit);
  }
}

// An op layer's own precision gives way to the model's. `attrs` is as in proto::Op: "precision=1,
// axis=0".
std::string WithoutPrecision(const std::string& attrs) {
  std::vector<std::string> kept;
  // A part without "=" goes on with the list that the part before it begins.
  bool dropped = false;
  for (const absl::string_view part : absl::StrSplit(attrs, ',')) {
    if (absl::StrContains(part, '='))
      dropped = absl::StartsWith(absl::StripAsciiWhitespace(part), "precision=");
    if (!dropped) kept.emplace_back(part);
  }
  return absl::StrJoin(kept, ",");
}

// The model with this precision of all products.
proto::ModelSpec WithPrecision(proto::ModelSpec spec, MatmulPrecision precision) {
  spec.set_matmul_precision(precision);
  ForEachMessage(spec, [](Message& message) {
    auto* const op = google::protobuf::DynamicCastToGenerated<proto::Op>(&message);
    if (op != nullptr && op->has_attrs()) op->set_attrs(WithoutPrecision(op->attrs()));
  });
  return spec;
}

// Results of layers in the message are stored as the message around it says.
void ClearDTypes(Message& message_of_layers) {
  ForEachMessage(message_of_layers, [](Message& message) {
    auto* const layer = google::protobuf::DynamicCastToGenerated<proto::Layer>(&message);
    if (layer != nullptr) layer->clear_dtype();
  });
}

// The model with all results stored in f32.
proto::ModelSpec StoredInF32(proto::ModelSpec spec) {
  spec.clear_compute_dtype();
  ClearDTypes(spec);
  return spec;
}

// The model with the results of one of its layers stored as they are, and all others in f32.
proto::ModelSpec StoredInF32But(const proto::ModelSpec& spec, int but) {
  proto::ModelSpec stored = StoredInF32(spec);
  proto::Layer& layer = *stored.mutable_layer(but);
  layer = spec.layer(but);
  if (!layer.has_dtype()) layer.set_dtype(spec.compute_dtype());
  return stored;
}

// Whether the results of layers in the message may be stored in bf16. `around` is what the message
// around it says.
bool StoresBFloat16(Message& message_of_layers, proto::DataType around) {
  bool stores = around == proto::BFLOAT16;
  ForEachMessage(message_of_layers, [&](Message& message) {
    auto* const layer = google::protobuf::DynamicCastToGenerated<proto::Layer>(&message);
    stores = stores || (layer != nullptr && layer->dtype() == proto::BFLOAT16);
  });
  return stores;
}

absl::StatusOr<ModelFn> ModelFnOf(const proto::ModelSpec& spec, const proto::RunConfig& run) {
  ConfigErrors errors;
  const SourceLocations nowhere;
  ParsedModel parsed = ParseModel(spec, nowhere, errors, TargetOf(run));
  RETURN_IF_ERROR(ErrorList(errors.Lines(nowhere), errors.code()));
  return std::move(parsed.model_fn);
}

absl::StatusOr<NumericsPlan> PlanTrainings(const proto::RunConfig& run) {
  NumericsPlan plan{
      .columns = {{kNumericsDefault, 1}, {kNumericsHigh, 3}, {kNumericsHighest, 6}, {kNumericsF32}},
      .reference = kNumericsF32,
      .highest = kNumericsHighest};
  const proto::ModelSpec& model = run.model();
  std::vector<std::pair<std::string, proto::ModelSpec>> models = {
      {kNumericsF32, WithPrecision(model, proto::ModelSpec::F32)},
      {kNumericsHighest, WithPrecision(model, proto::ModelSpec::HIGHEST)},
      {kNumericsHigh, WithPrecision(model, proto::ModelSpec::HIGH)},
      {kNumericsDefault, WithPrecision(model, proto::ModelSpec::DEFAULT)}};
  if (proto::ModelSpec read = model; StoresBFloat16(read, model.compute_dtype())) {
    models.insert(models.begin(), {kNumericsAllF32, StoredInF32(models[0].second)});
    plan.columns.push_back({kNumericsAllF32});
    plan.reference = kNumericsAllF32;
    plan.highest = kNumericsAllHighest;
    models.emplace_back(kNumericsAllHighest,
                        WithPrecision(models[0].second, proto::ModelSpec::HIGHEST));
  }
  for (const auto& [name, spec] : models) {
    ASSIGN_OR_RETURN(ModelFn model_fn, ModelFnOf(spec, run));
    plan.args.trainings.push_back({.name = name,
                                   .model_fn = std::move(model_fn),
                                   .only_gradients = name == kNumericsAllHighest});
  }
  plan.other_seed = absl::StrCat("seed_", run.tf_random_seed() + 1);
  plan.args.trainings.push_back(
      {.name = plan.other_seed, .model_fn = plan.args.trainings[0].model_fn, .seed_offset = 1});
  return plan;
}

// The trainings that find the layers whose storage in bf16 changes gradients: step 1 of the
// reference, and of models of which one layer alone stores bf16.
absl::StatusOr<NumericsArgs> PlanStorage(const proto::RunConfig& run, const NumericsPlan& plan) {
  NumericsArgs args{.steps = 1, .trainings = {plan.args.trainings[0]}};
  const proto::ModelSpec model = WithPrecision(run.model(), proto::ModelSpec::F32);
  for (int i = 0; i < model.layer_size(); ++i) {
    proto::Layer layer = model.layer(i);
    const proto::DataType around = layer.has_dtype() ? layer.dtype() : model.compute_dtype();
    if (!StoresBFloat16(layer, around)) continue;
    ASSIGN_OR_RETURN(ModelFn model_fn, ModelFnOf(StoredInF32But(model, i), run));
    args.trainings.push_back(
        {.name = layer.has_name() ? layer.name() : absl::StrCat("number ", i + 1),
         .model_fn = std::move(model_fn)});
  }
  return args;
}

absl::Status CheckFlagsOfNumerics(const CommandLine& command) {
  for (const char* const name : {"measure_input", "host_examples_per_second", "accelerator_type"}) {
    if (!command.Has(name)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--", name, " is not for --numerics, which trains on this machine"));
  }
  if (!command.Has("steps")) return absl::OkStatus();
  const int64_t steps = command.GetInt("steps");
  if (steps >= 1 && steps <= kMostSteps) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--steps: got ", steps, ", want 1 to ", kMostSteps));
}

}  // namespace

absl::Status CheckNumerics(const CommandLine& command) {
  RETURN_IF_ERROR(CheckFlagsOfNumerics(command));
  ASSIGN_OR_RETURN(const Composition composition, Compose(command, {.train = true}));
  const EstimatorOptions& options = composition.options;
  if (!options.config.use_tpu()) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.where("use_tpu"),
                     ": use_tpu: got false, which computes in f32 whatever the precision, want "
                     "true to compare precisions"));
  }
  LogFullLength(options);
  ASSIGN_OR_RETURN(NumericsPlan plan, PlanTrainings(options.config));
  plan.args.steps = command.Has("steps") ? command.GetInt("steps") : kDefaultSteps;
  plan.args.may_end_early = !command.Has("steps");
  ASSIGN_OR_RETURN(const Numerics numerics,
                   CompareNumerics(options, composition.input_fn, plan.args));
  NumericsFindings findings(plan, numerics);
  if (findings.storage_differs()) {
    LOG(INFO) << "Storage in bf16 changes gradients: looking for the layers.";
    ASSIGN_OR_RETURN(const NumericsArgs storage, PlanStorage(options.config, plan));
    ASSIGN_OR_RETURN(const Numerics of_layers,
                     CompareNumerics(options, composition.input_fn, storage));
    findings.AddStorage(of_layers);
  }
  const bool json = PrintsJson(command);
  std::ostringstream out;
  RowWriter rows(json, out);
  if (json) {
    WriteNumericsJson(plan, numerics, findings, rows);
  } else {
    WriteNumericsTables(options.config, plan, numerics, findings, rows);
  }
  RETURN_IF_ERROR(WriteOutput(out.str()));
  if (findings.reference_is_finite() && findings.follows()) return CheckWarnings(command);
  LOG(WARNING) << findings.Verdict() << ".";
  return CheckWarnings(command);
}

}  // namespace tpurun
