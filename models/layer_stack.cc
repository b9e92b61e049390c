#include "models/layer_stack.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "models/layer_defaults.h"
#include "models/layers/layer.h"
#include "proto/one_of.h"
#include "runtime/base/name_pattern.h"
#include "runtime/base/names.h"
#include "runtime/base/text.h"
#include "runtime/ir/structural.h"

namespace tpurun {
namespace {

using google::protobuf::FieldDescriptor;

// The surroundings of a list of layers.
struct Scope {
  std::string name;       // "block"; "" at the top level
  std::string variables;  // the scope of the variables' names; under `reuse` another layer's
  std::string path;       // the list's path: "model.layer", "model.layer[2].sequence.layer"
  std::string numbers;    // the numbers of the enclosing layers: "", "2."
  int depth = 0;          // the number of enclosing layers
  bool trainable = true;
  proto::DataType dtype = proto::FLOAT32;  // for layers that set no dtype
};

std::string Scoped(const std::string& scope, const std::string& name) {
  return scope.empty() ? name : absl::StrCat(scope, "/", name);
}

// Returns the bf16 value if `value` is a conversion of a bf16 value, else `value`.
Value Stored(const Graph& graph, Value value) {
  const Node& node = graph.node(value);
  const bool read = node.op == &ConvertOp() && graph.shape(node.inputs[0]).dtype == DType::kBF16;
  return read ? node.inputs[0] : value;
}

// Returns the product of the inputs' masks, or an invalid Value if no input has a mask.
Value MaskOfAll(GraphBuilder& b, const std::vector<LayerInput>& inputs) {
  Value all;
  for (const LayerInput& input : inputs) {
    if (!input.mask.valid() || input.mask == all) continue;
    all = all.valid() ? Mul(b, all, input.mask) : input.mask;
  }
  return all;
}

// Returns a layer in which only the kind is set.
proto::Layer OfKind(const FieldDescriptor& kind) {
  proto::Layer layer;
  layer.GetReflection()->MutableMessage(&layer, &kind);
  return layer;
}

class LayerStack {
 public:
  explicit LayerStack(ModelContext& m) : m_(m) {}

  void Build() {
    CheckLayerDefaults(m_.spec, m_.errors);
    for (const proto::Tensor& feature : m_.spec.feature()) {
      const Tensor* const tensor = m_.tensors.Find("", feature.name());
      if (tensor != nullptr) features_[feature.name()] = tensor->value;
    }
    if (m_.args.sequence_step != SequenceStep::kBatch) {
      carries_state_ = m_.args.sequence_step == SequenceStep::kPosition;
      for (const proto::Tensor& feature : m_.spec.feature()) {
        if (feature.shape_size() > 0) positions_ = std::max(positions_, feature.shape(0));
      }
    }
    BuildList(m_.spec.layer(), {.path = "model.layer", .dtype = m_.spec.compute_dtype()},
              OnlyFeature());
    for (const auto& [variable, value] : updates_) m_.b.Update(variable, value);
    if (counts_positions_) m_.positions = positions_;
    if (counts_positions_ && keeps_other_state_) {
      m_.errors.Add({"layer", "model.layer"}, "",
                    "states that end with the sequence and states that do not go together in no "
                    "step of one position");
    }
  }

 private:
  // The input of a layer that names no input.
  struct PreviousLayer {
    const Tensor* tensor = nullptr;  // nullptr if a layer must name its input
    std::string name;
  };

  // A layer that is being built.
  struct LayerDraft {
    ConfigPlace place;
    std::string number;             // "2.0"
    std::string name;               // the name with its scope
    std::string variables;          // the layer that owns the variables: this or the reused layer
    proto::Layer merged;            // with the defaults of its kind; empty for composite layers
    const proto::Layer* layer;      // name, inputs and other fields that all kinds have
    const proto::Layer* arguments;  // the fields of the kind; under `reuse` the reused layer's
    // The paths of merged fields: "dense.units" -> "model.layer_defaults[0].dense.units".
    std::map<std::string, std::string> default_paths;
    bool trainable = true;
    proto::DataType dtype = proto::FLOAT32;
  };

  // A layer that later layers may reuse.
  struct Built {
    const proto::Layer* written = nullptr;  // for composite layers only
    size_t row = 0;                         // index in ModelContext::layers
    std::string variables;
  };

  PreviousLayer OnlyFeature() const;
  // Sets the arguments and variables of a layer with `reuse`. Adds mistakes to `errors`.
  void Reuse(const Scope& scope, LayerDraft& layer, ConfigErrors& errors) const;
  void Report(const LayerDraft& layer, const ConfigErrors& errors);
  std::string NameOf(const proto::Layer& layer, const std::string& kind, const Scope& scope);
  std::vector<std::string> InputNames(const proto::Layer& layer, const Scope& scope,
                                      const PreviousLayer& before) const;
  // Sets `inputs` and returns true if all inputs are known. Otherwise sets the state of `result`.
  bool ResolveInputs(const LayerDraft& layer, const Scope& scope, const PreviousLayer& before,
                     std::vector<LayerInput>& inputs, Tensor& result);
  bool CheckInputCount(const LayerDraft& layer, const LayerDef& def);
  // Reports an input with a mask if the layer refuses masks, and then returns false.
  bool CheckMasks(const LayerDraft& layer, const LayerDef& def,
                  const std::vector<LayerInput>& inputs);

  // BuildList and the functions below return the result of the last layer that they build.
  Tensor BuildList(const Layers& layers, const Scope& scope, PreviousLayer before);
  Tensor BuildLayer(const proto::Layer& written, const std::string& path, const std::string& number,
                    const Scope& scope, const PreviousLayer& before, std::string* name);
  // `sound`: the fields of the layer have no mistakes and its name is free.
  Tensor BuildPlain(const LayerDef& def, const LayerDraft& layer, bool sound, const Scope& scope,
                    const PreviousLayer& before);
  Tensor BuildBlocks(const LayerDef& def, const LayerDraft& layer, const Scope& scope,
                     const PreviousLayer& before);
  // Calls LayerDef::build with known inputs. `result` already has `from_label`.
  Tensor Apply(const LayerDef& def, const LayerDraft& layer, std::vector<LayerInput> inputs,
               Tensor result);
  // Returns the result of a layer with this dtype as other layers read it: f32, with BFLOAT16 read
  // from a bf16 value. Integers and values with one number per example stay unchanged.
  Value Store(Value value, proto::DataType dtype);
  // Describes a value that is too large among the nodes from `nodes_before` on. Empty if there is
  // none.
  std::string TooLarge(size_t nodes_before) const;

  ModelContext& m_;
  // The first number that may be free, by the name without a number.
  std::unordered_map<std::string, int> numbers_;
  std::map<std::string, Built> built_;
  std::vector<std::shared_ptr<const Layers>> blocks_;  // owns layers that `built_` points to
  std::map<std::string, Value> features_;              // by name; invalid after a mistake
  std::optional<bool> carries_state_;                  // LayerArgs::carries_state
  int64_t positions_ = 0;                              // LayerArgs::positions
  bool counts_positions_ = false, keeps_other_state_ = false;  // true if any layer does so
  std::map<int, Value> updates_;                               // by the variable's index
  int64_t count_ = 0;                                          // number of non-composite layers
};

LayerStack::PreviousLayer LayerStack::OnlyFeature() const {
  if (m_.spec.feature_size() != 1) return {};
  const std::string& name = m_.spec.feature(0).name();
  return {m_.tensors.Find("", name), name};
}

void LayerStack::Reuse(const Scope& scope, LayerDraft& layer, ConfigErrors& errors) const {
  const proto::Layer& written = *layer.layer;
  if (const FieldDescriptor* const kind = ChosenKind(written)) {
    errors.Add("reuse", absl::StrCat("a layer that reuses ", Quote(written.reuse()),
                                     " is of its kind and gives none, got ", kind->name()));
    return;
  }
  if (written.has_trainable()) {
    errors.Add("trainable", absl::StrCat("the variables are those of ", Quote(written.reuse()),
                                         "; set trainable there"));
  }
  const auto found = built_.find(m_.tensors.FullName(scope.name, written.reuse()));
  if (found == built_.end()) {
    std::vector<std::string> names;
    for (const auto& [name, built] : built_) names.push_back(name);
    errors.Add("reuse", absl::StrCat(Quote(written.reuse()), " is no layer before it",
                                     DidYouMean(written.reuse(), names)));
    return;
  }
  layer.variables = found->second.variables;
  layer.arguments = found->second.written;
  if (layer.arguments == nullptr) {
    layer.merged = m_.layers[found->second.row].spec;
    layer.arguments = &layer.merged;
  }
}

// Reports a mistake in a field that layer_defaults set at the place of layer_defaults.
void LayerStack::Report(const LayerDraft& layer, const ConfigErrors& errors) {
  for (const ConfigError& error : errors.all()) {
    ConfigPlace at = layer.place;
    std::string field = error.path;
    for (const auto& [name, path] : layer.default_paths) {
      if (error.path.compare(0, name.size(), name) != 0) continue;
      const std::string rest = error.path.substr(name.size());
      if (!rest.empty() && rest[0] != '.' && rest[0] != '[') continue;
      at.path = path + rest;
      field.clear();
    }
    if (error.refused) {
      m_.errors.RejectOnTpu(at, field, error.message);
    } else {
      m_.errors.Add(at, field, error.message);
    }
  }
}

// Returns the name with its scope. An unnamed layer gets the name that TF 1.x gives it: dense,
// dense_1, ...
std::string LayerStack::NameOf(const proto::Layer& layer, const std::string& kind,
                               const Scope& scope) {
  if (layer.has_name()) return Scoped(scope.name, layer.name());
  const std::string base = Scoped(scope.name, kind);
  int& number = numbers_[base];
  const auto numbered = [&] { return number == 0 ? base : absl::StrCat(base, "_", number); };
  while (m_.tensors.Has(numbered())) ++number;
  return numbered();
}

std::vector<std::string> LayerStack::InputNames(const proto::Layer& layer, const Scope& scope,
                                                const PreviousLayer& before) const {
  std::vector<std::string> names;
  for (const std::string& name : layer.input()) {
    names.push_back(m_.tensors.FullName(scope.name, name));
  }
  if (names.empty() && before.tensor != nullptr) names.push_back(before.name);
  return names;
}

bool LayerStack::ResolveInputs(const LayerDraft& layer, const Scope& scope,
                               const PreviousLayer& before, std::vector<LayerInput>& inputs,
                               Tensor& result) {
  const proto::Layer& written = *layer.layer;
  std::vector<std::pair<std::string, const Tensor*>> read;
  if (written.input_size() == 0) {
    if (before.tensor == nullptr) {
      m_.errors.Add(layer.place, "", "the first layer of several features must name its input");
      return false;
    }
    read.push_back({before.name, before.tensor});
  }
  for (int i = 0; i < written.input_size(); ++i) {
    const std::string& name = written.input(i);
    const Tensor* tensor = m_.tensors.Find(scope.name, name);
    if (tensor == nullptr) {
      const Tensor* const layer_result =
          m_.tensors.Find(scope.name, name.substr(0, name.rfind(':')));
      if (layer_result != nullptr && !layer_result->known()) tensor = layer_result;
    }
    if (tensor == nullptr) {
      m_.errors.Add(layer.place, absl::StrCat("input[", i, "]"),
                    absl::StrCat("input ", Quote(name), " is no feature, label or layer before it",
                                 DidYouMean(name, m_.tensors.Names())));
      result.state = Tensor::State::kBroken;
      read.clear();
      return false;
    }
    read.push_back({name, tensor});
  }
  for (const auto& [name, tensor] : read) {
    result.from_label |= tensor->from_label;
    if (!tensor->known()) {
      result.state = tensor->state;
      return false;
    }
    inputs.push_back({name, tensor->value, written.drop_mask() ? Value{} : tensor->mask});
  }
  return true;
}

bool LayerStack::CheckInputCount(const LayerDraft& layer, const LayerDef& def) {
  const int given = layer.layer->input_size();
  const int read = std::max(1, given);
  if (read >= def.min_inputs && (def.max_inputs < 0 || read <= def.max_inputs)) return true;
  m_.errors.Add(layer.place, given > 1 ? "input[1]" : "",
                absl::StrCat(def.name, " wants ",
                             def.max_inputs < 0 ? absl::StrCat(def.min_inputs, " inputs or more")
                             : def.max_inputs > def.min_inputs
                                 ? absl::StrCat(def.min_inputs, " to ", def.max_inputs, " inputs")
                             : def.min_inputs == 1 ? "one input"
                                                   : absl::StrCat(def.min_inputs, " inputs"),
                             ", got ", read));
  return false;
}

bool LayerStack::CheckMasks(const LayerDraft& layer, const LayerDef& def,
                            const std::vector<LayerInput>& inputs) {
  if (def.masking != Masking::kRefused) return true;
  for (const LayerInput& input : inputs) {
    if (!input.mask.valid()) continue;
    m_.errors.Add(
        layer.place, "",
        absl::StrCat(def.name, " knows no masks, and ", Quote(input.name),
                     " has one; give this layer drop_mask: true, or take mask_zero out of the "
                     "embedding before it"));
    return false;
  }
  return true;
}

Tensor LayerStack::BuildList(const Layers& layers, const Scope& scope, PreviousLayer before) {
  Tensor last = before.tensor == nullptr ? Tensor{} : *before.tensor;
  Tensor held;  // `before` points to it from the second layer on
  for (int i = 0; i < layers.size() && !m_.errors.full(); ++i) {
    std::string name;
    last = BuildLayer(layers.Get(i), absl::StrCat(scope.path, "[", i, "]"),
                      absl::StrCat(scope.numbers, i), scope, before, &name);
    held = last;
    before = {&held, name};
  }
  return last;
}

Tensor LayerStack::BuildLayer(const proto::Layer& written, const std::string& path,
                              const std::string& number, const Scope& scope,
                              const PreviousLayer& before, std::string* name) {
  LayerDraft layer = {.place = {absl::StrCat("layer ", number), path},
                      .number = number,
                      .layer = &written,
                      .arguments = &written,
                      .trainable = scope.trainable && written.trainable()};
  ConfigErrors errors;
  if (written.has_reuse()) {
    Reuse(scope, layer, errors);
  } else if (const FieldDescriptor* kind = ChosenKind(written);
             kind == nullptr || !HoldsLayers(*kind)) {
    // Composite layers are not copied: that would copy the inner layers again at every level.
    MergeLayerDefaults(m_.spec, written, &layer.merged, &layer.default_paths);
    layer.layer = layer.arguments = &layer.merged;
    layer.trainable = scope.trainable && layer.merged.trainable();
  }
  layer.dtype = layer.layer->has_dtype() ? layer.layer->dtype() : scope.dtype;
  const FieldDescriptor* const kind = ChosenKind(*layer.arguments);
  const bool holds_layers = kind != nullptr && HoldsLayers(*kind);
  layer.name = *name = NameOf(written, kind == nullptr ? "layer" : kind->name(), scope);
  if (layer.variables.empty()) {
    const size_t outer = scope.name.empty() ? 0 : scope.name.size() + 1;
    layer.variables = Scoped(scope.variables, layer.name.substr(outer));
  }
  absl::StrAppend(&layer.place.subject, " ", Quote(*name));
  const size_t row = m_.layers.size();  // this layer's row; the rows of inner layers follow
  m_.layers.push_back({.name = *name,
                       .kind = kind == nullptr ? "" : kind->name(),
                       .inputs = InputNames(*layer.layer, scope, before),
                       .spec = holds_layers ? OfKind(*kind) : *layer.arguments,
                       .depth = scope.depth,
                       .first_node = static_cast<int>(m_.b.graph().nodes().size()),
                       .first_variable = static_cast<int>(m_.b.graph().variables().size())});
  if (layer.variables != layer.name) m_.layers[row].spec.set_reuse(layer.variables);
  m_.layers[row].spec.set_dtype(layer.dtype);
  m_.layers[row].spec.clear_drop_mask();
  if (layer.layer->drop_mask()) m_.layers[row].spec.set_drop_mask(true);

  CheckRules(*layer.layer, "", errors);
  if (layer.layer->has_dtype()) CheckComputeDType("dtype", layer.dtype, errors);
  if (written.has_name() && !name->empty()) {
    const absl::Status checked = CheckName(NameKind::kVariable, written.name());
    if (!checked.ok()) errors.Add("name", std::string(checked.message()));
  }
  const LayerDef* const def = kind == nullptr ? nullptr : FindByName(LayerList(), kind->name());
  if (def != nullptr) {
    if (def->check != nullptr) def->check(*layer.arguments, errors);
  } else if (kind != nullptr) {
    errors.Add(kind->name(),
               absl::StrCat("layer kind ", kind->name(),
                            " is not supported yet, want one of: ", NamesOf(LayerList())));
  } else if (errors.empty()) {
    errors.Add("", absl::StrCat("no kind of layer is given, want one of: ", NamesOf(LayerList())));
  }
  if (def != nullptr && def->expand == nullptr && ++count_ > kMaxLayers) {
    errors.Add("", absl::StrCat("with it the model has more than ", kMaxLayers,
                                " layers, those that are reused counted again"));
  }
  Report(layer, errors);
  Tensor result;
  if (def != nullptr && def->expand != nullptr) {
    if (errors.empty()) result = BuildBlocks(*def, layer, scope, before);
  } else if (def != nullptr) {
    // If the name is taken, the names of the variables would be taken too.
    const bool sound = errors.empty() && !m_.tensors.Has(*name);
    result = BuildPlain(*def, layer, sound, scope, before);
  }
  if (layer.layer->drop_mask()) result.mask = {};
  if (result.known()) m_.layers[row].value = Stored(m_.b.graph(), result.value);
  m_.layers[row].end_node = static_cast<int>(m_.b.graph().nodes().size());
  m_.layers[row].end_variable = static_cast<int>(m_.b.graph().variables().size());
  m_.tensors.Declare(*name, result, layer.place, m_.errors);
  if (def != nullptr && errors.empty()) {
    built_.emplace(*name, Built{holds_layers ? layer.arguments : nullptr, row, layer.variables});
  }
  return result;
}

Tensor LayerStack::BuildPlain(const LayerDef& def, const LayerDraft& layer, bool sound,
                              const Scope& scope, const PreviousLayer& before) {
  Tensor result;
  std::vector<LayerInput> inputs;
  if (!CheckInputCount(layer, def)) return result;
  if (!ResolveInputs(layer, scope, before, inputs, result)) return result;
  if (!sound || !m_.b.status().ok()) return result;
  return Apply(def, layer, std::move(inputs), result);
}

Tensor LayerStack::BuildBlocks(const LayerDef& def, const LayerDraft& layer, const Scope& scope,
                               const PreviousLayer& before) {
  Tensor input;
  std::vector<LayerInput> inputs;
  CheckInputCount(layer, def);
  if (ResolveInputs(layer, scope, before, inputs, input)) {
    input.state = Tensor::State::kKnown;
    input.value = inputs[0].value;
    input.mask = inputs[0].mask;
  }
  const std::string first_name = layer.layer->input_size() > 0
                                     ? m_.tensors.FullName(scope.name, layer.layer->input(0))
                                     : before.name;
  const std::vector<LayerBlock> blocks = def.expand(*layer.arguments);
  std::vector<Tensor> results(blocks.size());
  std::vector<std::string> names(blocks.size());  // the names of the results
  std::vector<bool> read(blocks.size(), false);
  for (size_t i = 0; i < blocks.size(); ++i) {
    const LayerBlock& block = blocks[i];
    blocks_.push_back(block.layers);
    results[i] = input;
    names[i] = first_name;
    if (block.input >= 0) {
      results[i] = results[block.input];
      names[i] = names[block.input];
      read[block.input] = true;
    }
    Scope inner = {
        .path = absl::StrCat(layer.place.path, ".", block.field.empty() ? def.name : block.field),
        .numbers = absl::StrCat(layer.number, "."),
        .depth = scope.depth + 1,
        .trainable = layer.trainable,
        .dtype = layer.dtype};
    if (block.scope.starts_with("/")) absl::StrAppend(&inner.numbers, block.scope.substr(1), ".");
    for (int64_t copy = 0; copy < block.copies; ++copy) {
      const std::string copy_scope =
          block.first_number < 0 ? block.scope
                                 : absl::StrCat(block.scope, "_", block.first_number + copy);
      inner.name = layer.name + copy_scope;
      inner.variables = layer.variables + copy_scope;
      const int mistakes = m_.errors.reported();
      const Tensor before_copy = results[i];
      results[i] = BuildList(*block.layers, inner, {&before_copy, names[i]});
      names[i] = inner.name;
      if (m_.errors.reported() == mistakes) continue;
      results[i] = Tensor{};
      break;  // the other copies would repeat the mistakes
    }
  }
  if (def.build == nullptr) return results.back();
  Tensor result;
  inputs.clear();
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (read[i]) continue;
    result.from_label |= results[i].from_label;
    if (!results[i].known()) {
      result.state = results[i].state;
      return result;
    }
    inputs.push_back({names[i], results[i].value, results[i].mask});
  }
  return Apply(def, layer, std::move(inputs), result);
}

Tensor LayerStack::Apply(const LayerDef& def, const LayerDraft& layer,
                         std::vector<LayerInput> inputs, Tensor result) {
  if (!CheckMasks(layer, def, inputs)) return result;
  if (carries_state_.value_or(false) && !def.by_position) {
    m_.errors.Add(layer.place, "", def.name + " may read other positions than its own");
    return result;
  }
  ScopedName node_scope(m_.b, layer.name);
  const ScopedOrigins origins(m_.b, layer.name, NodeOrigin::Phase::kForward);
  const size_t nodes_before = m_.b.graph().nodes().size();
  LayerContext context(m_.b, *layer.arguments,
                       {.kind = def.name,
                        .name = layer.name,
                        .variables = layer.variables,
                        .inputs = std::move(inputs),
                        .precision = m_.precision,
                        .training = m_.purpose.train,
                        .use_tpu = m_.args.use_tpu,
                        .grouped_replicas = m_.args.grouped_replicas(),
                        .carries_state = carries_state_,
                        .positions = positions_,
                        .seed = m_.args.seed,
                        .trainable =
                            [&](const std::string& variable) {
                              return layer.trainable && !MatchesAny(m_.spec.frozen(), variable);
                            },
                        .features = &features_,
                        .updates = &updates_});
  const size_t updates_before = updates_.size();
  result.value = def.build(context);
  if (context.counts_positions()) {
    counts_positions_ = true;
  } else if (updates_.size() > updates_before) {
    keeps_other_state_ = true;
  }
  if (!context.errors().empty()) {
    Report(layer, context.errors());
    return result;
  }
  if (!m_.b.status().ok()) {
    m_.errors.Add(layer.place, "", std::string(m_.b.status().message()));
    return result;
  }
  const std::string too_large = TooLarge(nodes_before);
  if (!too_large.empty()) {
    m_.errors.Add(layer.place, "", too_large);
    return result;
  }
  result.state = Tensor::State::kKnown;
  for (size_t i = 0; i < context.results().size(); ++i) {
    Tensor other = result;
    other.value = Store(context.results()[i], layer.dtype);
    m_.tensors.Declare(absl::StrCat(layer.name, ":", i + 1), other, layer.place, m_.errors);
  }
  result.value = Store(result.value, layer.dtype);
  result.mask = def.masking == Masking::kPassed ? MaskOfAll(m_.b, context.inputs) : context.mask();
  return result;
}

Value LayerStack::Store(Value value, proto::DataType dtype) {
  const Shape& shape = m_.b.shape(value);
  const bool stays =
      shape.dtype != DType::kF32 || shape.rank() < 2 || Stored(m_.b.graph(), value) != value;
  if (dtype != proto::BFLOAT16 || !m_.args.use_tpu || stays) return value;
  return Convert(m_.b, Convert(m_.b, value, DType::kBF16), DType::kF32);
}

std::string LayerStack::TooLarge(size_t nodes_before) const {
  const Graph& graph = m_.b.graph();
  for (size_t i = nodes_before; i < graph.nodes().size(); ++i) {
    for (const Shape& shape : graph.nodes()[i].shapes) {
      if (!IsTooLarge(shape)) continue;
      return absl::StrCat("values of ", shape.ToString(), " are too large, want at most ",
                          kMaxTensorBytes >> 40, " TiB a batch");
    }
  }
  return "";
}

}  // namespace

void CheckComputeDType(const std::string& field, proto::DataType dtype, ConfigErrors& errors) {
  if (dtype == proto::FLOAT32 || dtype == proto::BFLOAT16) return;
  errors.RejectOnTpu(ConfigPlace(), field,
                     absl::StrCat(field, ": unsupported data type for the TPU: ",
                                  proto::DataType_Name(dtype), ", want FLOAT32 or BFLOAT16"));
}

void BuildLayers(ModelContext& m) { LayerStack(m).Build(); }

}  // namespace tpurun
