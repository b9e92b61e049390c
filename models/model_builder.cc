#include "models/model_builder.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "models/heads.h"
#include "models/layer_count.h"
#include "models/layer_stack.h"
#include "models/layers/layer.h"
#include "models/losses.h"
#include "models/metrics.h"
#include "models/model_context.h"
#include "models/optimizer_choice.h"
#include "models/regularization.h"
#include "models/summaries.h"
#include "proto/field_rules.h"
#include "proto/one_of.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/optimizers/moving_average.h"
#include "runtime/optimizers/optimizers.h"
#include "runtime/spec/dtypes.h"

namespace tpurun {
namespace {

// The tensor as it is fed: a label of names is fed as ids.
proto::Tensor FedTensor(const proto::ModelSpec& spec, const proto::Tensor& tensor, bool label) {
  proto::Tensor fed = tensor;
  if (label && !VocabularyOfLabel(spec, tensor).empty()) fed.set_dtype(proto::INT32);
  return fed;
}

// nullopt for a type that cannot be fed to any device.
std::optional<DType> FedDType(proto::DataType type) {
  return type == proto::COMPLEX64 ? std::nullopt : ToDType(type);
}

constexpr char kNumbersOfStrings[] =
    "; have the input make numbers of it: transform { lookup {} } makes ids, decode_raw reads "
    "bytes";
constexpr char kNamesOfClasses[] =
    "; or give the classification head that reads the label a label_vocabulary, the names of the "
    "classes";

// Returns the text of a transform that casts a feature to this type.
std::string CastTo(const std::string& feature, proto::DataType dtype) {
  return absl::StrCat("transform { cast { feature: ", Quote(feature),
                      " dtype: ", proto::DataType_Name(dtype), " } }");
}

// Returns the reason why the TPU's infeed refuses the type of `tensor`. Empty if it accepts the
// type.
std::string RefusalOfDType(const ModelFnArgs& args, const proto::Tensor& tensor, bool label) {
  const auto declare = [&](proto::DataType other) {
    return absl::StrCat("; declare ", proto::DataType_Name(other), " and add to the input ",
                        CastTo(tensor.name(), other));
  };
  const std::string unsupported =
      absl::StrCat("dtype ", proto::DataType_Name(tensor.dtype()),
                   " is not a supported TPU infeed type, want ", kFedDTypes);
  switch (tensor.dtype()) {
    case proto::UINT8:
      return unsupported + declare(label ? proto::INT32 : proto::FLOAT32);
    case proto::STRING:
      return absl::StrCat(unsupported, kNumbersOfStrings, label ? kNamesOfClasses : "");
    case proto::INT64:
      return args.strict_dtypes
                 ? "dtype INT64 is not fed under strict_dtypes" + declare(proto::INT32)
                 : "";
    default:
      return "";
  }
}

ConfigPlace FeaturePlace(const proto::Tensor& tensor, const char* kind, int index) {
  return {absl::StrCat(kind, " ", index, " ", Quote(tensor.name())),
          absl::StrCat("model.", kind, "[", index, "]")};
}

// Formats the shape of one example. An unknown dimension is a ?.
std::string ShapeText(const proto::Tensor& tensor) {
  std::vector<std::string> dims;
  for (const int64_t dim : tensor.shape()) {
    dims.push_back(dim < 1 ? "?" : absl::StrCat(dim));
  }
  return absl::StrCat("[", absl::StrJoin(dims, ","), "]");
}

bool IsDim(int64_t dim) { return dim >= 1 && dim <= kMaxDimension; }

// True if the tensor can be fed. Reports a tensor that cannot.
bool CheckFeature(ModelContext& m, const proto::Tensor& tensor, bool label,
                  const ConfigPlace& place) {
  bool good = true;
  const auto mistake = [&](const std::string& field, const std::string& message) {
    m.errors.Add(place, field, message);
    good = false;
  };
  const std::string refusal = m.args.use_tpu ? RefusalOfDType(m.args, tensor, label) : "";
  if (!refusal.empty()) {
    m.errors.RejectOnTpu(place, "dtype", refusal);
    good = false;
  } else if (!FedDType(tensor.dtype()).has_value()) {
    mistake("dtype",
            absl::StrCat("dtype ", proto::DataType_Name(tensor.dtype()), " cannot be fed, want ",
                         kFedDTypes, tensor.dtype() == proto::STRING ? kNumbersOfStrings : "",
                         tensor.dtype() == proto::STRING && label ? kNamesOfClasses : ""));
  }
  for (int i = 0; i < tensor.shape_size(); ++i) {
    if (IsDim(tensor.shape(i))) continue;
    const bool unknown = tensor.shape(i) < 1;
    mistake(absl::StrCat("shape[", i, "]"),
            absl::StrCat(unknown ? "must have static shape: " : "", "a dimension must be in [1, ",
                         kMaxDimension, "] (the batch is not one of them), got ", tensor.shape(i),
                         unknown ? absl::StrCat(" of ", ShapeText(tensor),
                                                "; write how many the input makes")
                                 : ""));
  }
  return good;
}

// True if the tensor, as written, is a label that can have an ignore_class. Reports another.
bool CheckIgnoreClass(ModelContext& m, const proto::Tensor& tensor, bool label,
                      const ConfigPlace& place) {
  const bool is_small = tensor.dtype() == proto::INT32;
  if (!label || (!is_small && tensor.dtype() != proto::INT64)) {
    m.errors.Add(
        place, "ignore_class",
        absl::StrCat("only a label of class ids, INT32 or INT64, has one, got ",
                     label ? "a label, " : "a feature, ", proto::DataType_Name(tensor.dtype())));
    return false;
  }
  if (is_small && tensor.ignore_class() != static_cast<int32_t>(tensor.ignore_class())) {
    m.errors.Add(
        place, "ignore_class",
        absl::StrCat("ignore_class must be an INT32 as the label is, got ", tensor.ignore_class()));
    return false;
  }
  return true;
}

// Sets where the label is not `ignored`.
void SetCounted(GraphBuilder& b, int64_t ignored, Tensor& label) {
  b.MarkIgnored(label.value, ignored);
  const DType dtype = b.shape(label.value).dtype;
  const Value is_ignored = Equal(b, label.value, ConstantInt(b, dtype, {}, {ignored}));
  label.counted = Select(b, is_ignored, Scalar(b, 0), Scalar(b, 1));
}

// Adds one infeed slot for each tensor and declares the tensors.
void BuildFeatures(ModelContext& m,
                   const google::protobuf::RepeatedPtrField<proto::Tensor>& tensors,
                   const char* kind) {
  const bool labels = std::string(kind) == "label";
  for (int i = 0; i < tensors.size(); ++i) {
    const proto::Tensor tensor = FedTensor(m.spec, tensors.Get(i), labels);
    const ConfigPlace place = FeaturePlace(tensor, kind, i);
    const bool ignores =
        tensors.Get(i).has_ignore_class() && CheckIgnoreClass(m, tensors.Get(i), labels, place);
    m.RequireName(place, NameKind::kKey, tensor.name());
    Tensor declared{.from_label = labels};
    if (labels && !m.args.has_labels) {
      declared.state = Tensor::State::kLeftOut;
    } else if (CheckFeature(m, tensor, labels, place) && !m.tensors.Has(tensor.name())) {
      Shape shape{*FedDType(tensor.dtype()), {m.args.batch_per_replica}};
      shape.dims.insert(shape.dims.end(), tensor.shape().begin(), tensor.shape().end());
      if (m.args.sequence_step == SequenceStep::kPosition && shape.rank() > 1) shape.dims[1] = 1;
      if (IsTooLarge(shape)) {
        m.errors.Add(place, "",
                     absl::StrCat("a batch of ", shape.ToString(), " is too large, want at most ",
                                  kMaxTensorBytes >> 40, " TiB"));
      } else {
        declared.value = m.b.AddInfeed(tensor.name(), shape);
        if (ignores) SetCounted(m.b, tensor.ignore_class(), declared);
        // Layers compute in f32, whatever the type of storage.
        if (shape.dtype == DType::kBF16) declared.value = Convert(m.b, declared.value, DType::kF32);
        declared.state = Tensor::State::kKnown;
      }
    }
    m.tensors.Declare(tensor.name(), declared, place, m.errors);
  }
}

void CheckComputeDType(ModelContext& m) {
  ConfigErrors errors;
  CheckComputeDType("compute_dtype", m.spec.compute_dtype(), errors);
  m.errors.Add({"model", "model"}, errors);
}

void BuildMovingAverage(ModelContext& m, EstimatorSpec& result) {
  if (!m.spec.has_moving_average()) return;
  result.moving_average = m.spec.moving_average();
}

void BuildPredictions(ModelContext& m) {
  for (int i = 0; i < m.spec.prediction_size(); ++i) {
    const proto::Named& prediction = m.spec.prediction(i);
    const ConfigPlace place = {
        absl::StrCat("prediction ", i,
                     prediction.has_name() ? absl::StrCat(" ", Quote(prediction.name())) : ""),
        absl::StrCat("model.prediction[", i, "]")};
    const std::string& tensor_name =
        prediction.has_tensor() ? prediction.tensor() : prediction.name();
    const Tensor* tensor =
        m.Argument(place, prediction.has_tensor() ? "tensor" : "name", tensor_name);
    if (tensor == nullptr) continue;
    if (m.purpose.predict && tensor->from_label) {
      m.errors.Add(place, "tensor",
                   absl::StrCat(Quote(tensor_name),
                                " is made of a label, which predict does not "
                                "have; leave it out, or see predict.forward_features"));
      continue;
    }
    m.AddPrediction(place, prediction.name(), tensor->known() ? tensor->value : Value{});
  }
}

// True if there is a trainable variable.
bool Trains(const ModelContext& m) {
  for (const Variable& variable : m.b.graph().variables()) {
    if (variable.trainable) return true;
  }
  return false;
}

// Reports a missing optimizer, loss or trainable variable.
void CheckTrainable(const ModelContext& m, ConfigErrors& errors) {
  const ConfigPlace place = {"model", "model"};
  if (m.spec.optimizer().empty()) {
    errors.Add(place, "", "there is no optimizer; training needs one");
  }
  if (!errors.empty()) return;
  if (m.losses.empty()) errors.Add(place, "", "there is no loss; training needs a head or a loss");
  if (!errors.empty()) return;
  if (!Trains(m)) {
    errors.Add(place, "", "there is no trainable variable; nothing can be trained");
  }
}

// EVAL: adds the metric `loss` to the result, and the losses apart ahead of the metrics of heads.
void AddLossMetrics(ModelContext& m, const std::vector<Value>& regularization,
                    EstimatorSpec& result) {
  std::vector<EvalMetric> losses = LossMetrics(m.b, m.losses, regularization, m.row_weight);
  result.eval_metrics.push_back(std::move(losses.front()));
  std::vector<EvalMetric> of_heads = std::move(m.metrics);
  m.metrics.clear();
  for (size_t i = 1; i < losses.size(); ++i) {
    m.AddHeadMetric({"loss", "model"}, std::move(losses[i]));
  }
  for (EvalMetric& metric : of_heads) m.metrics.push_back(std::move(metric));
}

// Builds the graph for `purpose`.
EstimatorSpec Build(const proto::ModelSpec& spec, const ModelFnArgs& args, const Purpose& purpose,
                    ConfigErrors& errors) {
  GraphBuilder b(Graph(spec.name(), args.topology.num_replicas()));
  b.set_origins({{kInputOrigin, NodeOrigin::Phase::kInput}});
  ModelContext m{.spec = spec, .args = args, .purpose = purpose, .b = b, .errors = errors};
  m.precision = args.use_tpu ? static_cast<Precision>(spec.matmul_precision()) : Precision::kF32;
  CheckComputeDType(m);
  m.RequireName({"model", "model"}, NameKind::kKey, spec.name());
  BuildFeatures(m, spec.feature(), "feature");
  BuildFeatures(m, spec.label(), "label");
  if (purpose.has_predictions()) {
    m.row_weight = b.AddInfeed(kRowWeightSlot, Shape{DType::kF32, {args.batch_per_replica}});
  }
  EstimatorSpec result;
  result.mode = args.mode;
  BuildLayers(m);
  // The builders below would read the results of layers that could not be built.
  if (!b.status().ok()) {
    if (errors.empty()) errors.Add({"model", "model"}, "", std::string(b.status().message()));
    return result;
  }
  b.set_origins({{kOutputOrigin, NodeOrigin::Phase::kOutput}});
  // After a mistake the variables of a layer may be missing: optimizers cannot be assigned then.
  const bool has_all_variables = errors.empty();
  BuildLosses(m);
  BuildHeads(m);
  CheckOptimizers(m);
  BuildMovingAverage(m, result);
  std::vector<Value> regularization;
  if (has_all_variables && purpose.has_losses()) regularization = RegularizationLosses(m);
  if (purpose.train) {
    TrainLoss loss;
    if (!m.losses.empty()) loss = ReduceLosses(b, m.losses, regularization);
    result.loss = loss.total;
    if (has_all_variables) {
      result.optimizers = ChooseOptimizers(m, result.loss, regularization);
      BuildSummaries(m, loss.parts, result);
    }
    // A spec without optimizer or loss is valid for the other modes.
    if (!purpose.is_check()) CheckTrainable(m, errors);
  }
  if (purpose.has_predictions()) BuildPredictions(m);
  if (purpose.evaluate) {
    if (!m.losses.empty()) AddLossMetrics(m, regularization, result);
    BuildMetrics(m);
    for (EvalMetric& metric : m.metrics) result.eval_metrics.push_back(std::move(metric));
  }
  result.predictions = std::move(m.predictions);
  result.export_outputs = std::move(m.export_outputs);
  result.class_names = std::move(m.class_names);
  if (!b.status().ok()) errors.Add({"model", "model"}, "", std::string(b.status().message()));
  result.graph = b.Take();
  result.layers = std::move(m.layers);
  result.positions = m.positions;
  return result;
}

void ClearInitializers(google::protobuf::Message& message) {
  const google::protobuf::Descriptor& descriptor = *message.GetDescriptor();
  for (int i = 0; i < descriptor.field_count(); ++i) {
    if (descriptor.field(i)->message_type() != proto::Initializer::descriptor()) continue;
    message.GetReflection()->ClearField(&message, descriptor.field(i));
  }
}

proto::Layer CanonicalLayer(const BuiltLayer& built, proto::DataType compute_dtype) {
  proto::Layer layer = built.spec;
  layer.set_name(built.name);
  *layer.mutable_input() = {built.inputs.begin(), built.inputs.end()};
  layer.clear_trainable();
  if (layer.dtype() == compute_dtype) layer.clear_dtype();
  const google::protobuf::FieldDescriptor& kind = *ChosenKind(layer);
  ClearInitializers(*layer.GetReflection()->MutableMessage(&layer, &kind));
  const LayerDef* const def = FindByName(LayerList(), kind.name());
  if (def != nullptr && def->canonicalize != nullptr) def->canonicalize(layer);
  return layer;
}

// Returns ParsedModel::canonical. `built` is the result of the build that checked the spec.
proto::ModelSpec CanonicalModel(const proto::ModelSpec& spec, const EstimatorSpec& built) {
  proto::ModelSpec written;
  *written.mutable_feature() = spec.feature();
  *written.mutable_label() = spec.label();
  for (const BuiltLayer& layer : built.layers) {
    // A composite layer without `build` is left out: its name is in the names of its layers.
    const LayerDef* const def = FindByName(LayerList(), layer.kind);
    if (def != nullptr && def->build == nullptr && !layer.spec.drop_mask()) continue;
    *written.add_layer() = CanonicalLayer(layer, spec.compute_dtype());
  }
  *written.mutable_head() = spec.head();
  *written.mutable_loss() = spec.loss();
  for (const proto::Optimizer& optimizer : spec.optimizer()) {
    if (optimizer.cross_shard().group_assignment().empty()) continue;
    proto::Optimizer& groups = *written.add_optimizer();
    if (optimizer.has_name()) groups.set_name(optimizer.name());
    *groups.mutable_cross_shard()->mutable_group_assignment() =
        optimizer.cross_shard().group_assignment();
  }
  if (spec.has_moving_average()) written.mutable_moving_average();  // whatever its decay
  written.set_compute_dtype(spec.compute_dtype());
  written.set_matmul_precision(spec.matmul_precision());
  return written;
}

// The spec with these first dimensions of features and labels.
proto::ModelSpec WithLengths(proto::ModelSpec spec, const std::map<std::string, int64_t>& lengths) {
  const auto set = [&](proto::Tensor& tensor) {
    const auto length = lengths.find(tensor.name());
    if (length != lengths.end() && tensor.shape_size() > 0) tensor.set_shape(0, length->second);
  };
  for (proto::Tensor& feature : *spec.mutable_feature()) set(feature);
  for (proto::Tensor& label : *spec.mutable_label()) set(label);
  return spec;
}

}  // namespace

ParsedModel ParseModel(const proto::ModelSpec& spec, const SourceLocations& locations,
                       ConfigErrors& errors, const ModelFnArgs& target) {
  ParsedModel parsed{.features = ModelFeatures(spec, target)};
  ConfigErrors found;
  CheckLayerCount(spec, found);
  EstimatorSpec checked;
  if (found.empty()) {
    // A batch of 2: no error depends on the batch size.
    const ModelFnArgs args = {.topology = target.topology,
                              .batch_per_replica = 2,
                              .use_tpu = target.use_tpu,
                              .strict_dtypes = target.strict_dtypes,
                              .device_replicas = target.device_replicas};
    checked = Build(spec, args, Purpose::Check(), found);
  }
  CheckRules(spec, "model", found);
  errors.Add(ConfigPlace(), found);
  if (!found.empty()) return parsed;
  parsed.canonical = CanonicalModel(spec, checked);
  struct Held {
    proto::ModelSpec spec;
    SourceLocations locations;
    int device_replicas;
  };
  const auto held = std::make_shared<const Held>(Held{spec, locations, target.device_replicas});
  parsed.model_fn = [held](ModelFnArgs args) -> absl::StatusOr<EstimatorSpec> {
    args.device_replicas = held->device_replicas;
    ConfigErrors errors;
    const proto::ModelSpec spec = WithLengths(held->spec, args.sequence_lengths);
    EstimatorSpec result = Build(spec, args, Purpose::Of(args.mode), errors);
    RETURN_IF_ERROR(ErrorList(errors.Lines(held->locations), errors.code()));
    return result;
  };
  return parsed;
}

std::vector<FeatureSpec> ModelFeatures(const proto::ModelSpec& spec, const ModelFnArgs& target) {
  std::vector<FeatureSpec> features;
  const auto add = [&](const proto::Tensor& declared, bool is_label) {
    const proto::Tensor tensor = FedTensor(spec, declared, is_label);
    const std::optional<DType> dtype = FedDType(tensor.dtype());
    const auto& dims = tensor.shape();
    if (!dtype.has_value() || !std::all_of(dims.begin(), dims.end(), IsDim)) return;
    if (target.use_tpu && !RefusalOfDType(target, tensor, is_label).empty()) return;
    features.push_back({.name = tensor.name(),
                        .shape = Shape{*dtype, {tensor.shape().begin(), tensor.shape().end()}},
                        .is_label = is_label});
    if (is_label) features.back().vocabulary = VocabularyOfLabel(spec, declared);
  };
  for (const proto::Tensor& tensor : spec.feature()) add(tensor, false);
  for (const proto::Tensor& tensor : spec.label()) add(tensor, true);
  return features;
}

}  // namespace tpurun
