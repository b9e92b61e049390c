#include "models/layer_stack.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "models/layers/layer.h"
#include "proto/one_of.h"
#include "runtime/base/name_pattern.h"
#include "runtime/base/names.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::RepeatedPtrField;

// Where a list of layers stands.
struct Scope {
  std::string name;     // "block", "" at the top
  std::string path;     // of the list: "model.layer", "model.layer[2].sequence.layer"
  std::string numbers;  // of the layers around it: "", "2."
  int depth = 0;        // layers around it
  bool trainable = true;
};

std::string Scoped(const std::string& scope, const std::string& name) {
  return scope.empty() ? name : absl::StrCat(scope, "/", name);
}

void CopyField(const Message& from, const FieldDescriptor* field, Message& to) {
  // Merging a message that has this field only.
  const std::unique_ptr<Message> one(from.New());
  one->CopyFrom(from);
  std::vector<const FieldDescriptor*> set;
  one->GetReflection()->ListFields(*one, &set);
  for (const FieldDescriptor* other : set) {
    if (other != field) one->GetReflection()->ClearField(one.get(), other);
  }
  to.MergeFrom(*one);
}

// With no more than its kind.
proto::Layer OfKind(const FieldDescriptor& kind) {
  proto::Layer layer;
  layer.GetReflection()->MutableMessage(&layer, &kind);
  return layer;
}

bool IsSet(const Message& message, const FieldDescriptor* field) {
  const Reflection& reflection = *message.GetReflection();
  return field->is_repeated() ? reflection.FieldSize(message, field) > 0
                              : reflection.HasField(message, field);
}

// More would be a slip of the hand: a graph of that many layers is never meant.
constexpr int64_t kMaxLayers = 10000;
// Counts end here.
constexpr int64_t kMany = 1000000000;

int64_t CountLayers(const RepeatedPtrField<proto::Layer>& layers);

// A count of copies that is refused makes none.
int64_t Copies(const proto::Sequence& sequence) {
  return sequence.repeat() >= 1 && sequence.repeat() <= kMaxLayers ? sequence.repeat() : 0;
}

int64_t CountLayers(const proto::Layer& layer) {
  if (layer.has_sequence()) return Copies(layer.sequence()) * CountLayers(layer.sequence().layer());
  if (!layer.has_residual()) return 1;
  return CountLayers(layer.residual().layer()) + CountLayers(layer.residual().shortcut().layer());
}

int64_t CountLayers(const RepeatedPtrField<proto::Layer>& layers) {
  int64_t count = 0;
  for (const proto::Layer& layer : layers) count = std::min(kMany, count + CountLayers(layer));
  return count;
}

class LayerStack {
 public:
  explicit LayerStack(ModelContext& m) : m_(m) {}

  void Build() {
    CheckDefaults();
    BuildList(m_.spec.layer(), {.path = "model.layer"}, OnlyFeature());
  }

 private:
  // A layer with the defaults of its kind merged under it, and where each merged field stands.
  struct Merged {
    proto::Layer layer;
    std::map<std::string, std::string>
        default_paths;  // "dense.units" -> "model.layer_defaults[0].dense.units"
  };

  // What the first layer reads when it names nothing.
  struct Before {
    const Tensor* tensor = nullptr;  // null: there is nothing to read unnamed
    std::string name;
  };

  Before OnlyFeature() const;
  void CheckDefaults();
  Merged MergeDefaults(const proto::Layer& written) const;
  void Report(const ConfigPlace& place, const Merged& merged, const ConfigErrors& errors);
  std::string NameOf(const proto::Layer& layer, const std::string& kind, const Scope& scope);
  std::vector<std::string> InputNames(const proto::Layer& layer, const Scope& scope,
                                      const Before& before) const;
  // Whether all inputs are known; else the state of the result is in *result.
  bool ResolveInputs(const proto::Layer& layer, const ConfigPlace& place, const Scope& scope,
                     const Before& before, std::vector<LayerInput>& inputs, Tensor& result);

  // Each returns the result of its last layer.
  Tensor BuildList(const RepeatedPtrField<proto::Layer>& layers, const Scope& scope, Before before);
  Tensor BuildLayer(const proto::Layer& written, const std::string& path, const std::string& number,
                    const Scope& scope, const Before& before, std::string* name);
  // `sound`: its fields are without mistakes.
  Tensor BuildPlain(const LayerDef& def, const Merged& merged, bool sound, const ConfigPlace& place,
                    const std::string& name, const Scope& scope, const Before& before);
  // What is too large of that the last layer added; empty when nothing is.
  std::string TooLarge(size_t nodes_before) const;
  Tensor BuildSequence(const proto::Sequence& sequence, const ConfigPlace& place,
                       const std::string& name, const Scope& inner, Before before);
  Tensor BuildResidual(const proto::Residual& residual, const ConfigPlace& place,
                       const std::string& name, const Scope& inner, const Before& before);

  ModelContext& m_;
  // By the name without a number: the first number that may be free.
  std::unordered_map<std::string, int> numbers_;
};

// Of a layer of any kind.
std::vector<std::string> LayerFields() { return {"name", "input", "trainable", "dtype"}; }

std::string SupportedKinds() { return NamesOf(LayerList()) + ", residual, sequence"; }

LayerStack::Before LayerStack::OnlyFeature() const {
  if (m_.spec.feature_size() != 1) return {};
  const std::string& name = m_.spec.feature(0).name();
  return {m_.tensors.Find("", name), name};
}

void LayerStack::CheckDefaults() {
  for (int i = 0; i < m_.spec.layer_defaults_size(); ++i) {
    const proto::Layer& defaults = m_.spec.layer_defaults(i);
    const ConfigPlace place = {absl::StrCat("layer_defaults ", i),
                               absl::StrCat("model.layer_defaults[", i, "]")};
    const FieldDescriptor* kind = ChosenKind(defaults);
    if (kind == nullptr) {
      m_.errors.Add(place, "",
                    absl::StrCat("no kind of layer is given, want one of: ", NamesOf(LayerList())));
    } else if (FindByName(LayerList(), kind->name()) == nullptr) {
      m_.errors.Add(place, kind->name(),
                    absl::StrCat("defaults for layer kind ", kind->name(),
                                 " are not supported yet, want one of: ", NamesOf(LayerList())));
    }
    if (defaults.has_name()) m_.errors.Add(place, "name", "defaults cannot give a name");
    if (defaults.input_size() > 0) m_.errors.Add(place, "input[0]", "defaults cannot give inputs");
  }
}

LayerStack::Merged LayerStack::MergeDefaults(const proto::Layer& written) const {
  Merged merged{.layer = written};
  const FieldDescriptor* kind = ChosenKind(written);
  // The last of several defaults for one kind wins, field by field.
  for (int i = m_.spec.layer_defaults_size() - 1; kind != nullptr && i >= 0; --i) {
    const proto::Layer& defaults = m_.spec.layer_defaults(i);
    if (ChosenKind(defaults) != kind) continue;
    const std::string path = absl::StrCat("model.layer_defaults[", i, "]");
    std::vector<const FieldDescriptor*> set;
    defaults.GetReflection()->ListFields(defaults, &set);
    for (const FieldDescriptor* field : set) {
      if (field == kind || IsSet(merged.layer, field)) continue;
      CopyField(defaults, field, merged.layer);
      merged.default_paths[field->name()] = absl::StrCat(path, ".", field->name());
    }
    const Message& arguments = defaults.GetReflection()->GetMessage(defaults, kind);
    Message& to = *merged.layer.GetReflection()->MutableMessage(&merged.layer, kind);
    arguments.GetReflection()->ListFields(arguments, &set);
    for (const FieldDescriptor* field : set) {
      if (IsSet(to, field)) continue;
      CopyField(arguments, field, to);
      const std::string name = absl::StrCat(kind->name(), ".", field->name());
      merged.default_paths[name] = absl::StrCat(path, ".", name);
    }
  }
  return merged;
}

// A mistake in a field that layer_defaults gave is shown there.
void LayerStack::Report(const ConfigPlace& place, const Merged& merged,
                        const ConfigErrors& errors) {
  for (const ConfigError& error : errors.all()) {
    ConfigPlace at = place;
    std::string field = error.path;
    for (const auto& [name, path] : merged.default_paths) {
      if (error.path.compare(0, name.size(), name) != 0) continue;
      const std::string rest = error.path.substr(name.size());
      if (!rest.empty() && rest[0] != '.' && rest[0] != '[') continue;
      at.path = path + rest;
      field.clear();
    }
    m_.errors.Add(at, field, error.message);
  }
}

// The name with its scope. An unnamed layer is called as TF 1.x would: dense, dense_1, ...
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
                                                const Before& before) const {
  std::vector<std::string> names;
  for (const std::string& name : layer.input()) {
    names.push_back(m_.tensors.FullName(scope.name, name));
  }
  if (names.empty() && before.tensor != nullptr) names.push_back(before.name);
  return names;
}

bool LayerStack::ResolveInputs(const proto::Layer& layer, const ConfigPlace& place,
                               const Scope& scope, const Before& before,
                               std::vector<LayerInput>& inputs, Tensor& result) {
  std::vector<std::pair<std::string, const Tensor*>> read;
  if (layer.input_size() == 0) {
    if (before.tensor == nullptr) {
      m_.errors.Add(place, "", "the first layer of several features must name its input");
      return false;
    }
    read.push_back({before.name, before.tensor});
  }
  for (int i = 0; i < layer.input_size(); ++i) {
    const std::string& name = layer.input(i);
    const Tensor* tensor = m_.tensors.Find(scope.name, name);
    if (tensor == nullptr) {
      m_.errors.Add(place, absl::StrCat("input[", i, "]"),
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
    inputs.push_back({name, tensor->value});
  }
  return true;
}

Tensor LayerStack::BuildList(const RepeatedPtrField<proto::Layer>& layers, const Scope& scope,
                             Before before) {
  Tensor last = before.tensor == nullptr ? Tensor{} : *before.tensor;
  Tensor held;  // what `before` points to from the second layer on
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
                              const std::string& number, const Scope& scope, const Before& before,
                              std::string* name) {
  ConfigPlace place = {absl::StrCat("layer ", number), path};
  const FieldDescriptor* kind = ChosenKind(written);
  // Layers around others have no defaults, and copying them at every level would take long.
  const bool nests = written.has_sequence() || written.has_residual();
  const Merged merged = nests ? Merged{} : MergeDefaults(written);
  const proto::Layer& layer = nests ? written : merged.layer;
  *name = NameOf(layer, kind == nullptr ? "layer" : kind->name(), scope);
  absl::StrAppend(&place.subject, " ", Quote(*name));
  const size_t row = m_.layers.size();  // of this layer; those in it follow
  m_.layers.push_back({.name = *name,
                       .kind = kind == nullptr ? "" : kind->name(),
                       .inputs = InputNames(layer, scope, before),
                       .spec = nests ? OfKind(*kind) : layer,
                       .depth = scope.depth,
                       .first_node = static_cast<int>(m_.b.graph().nodes().size()),
                       .first_variable = static_cast<int>(m_.b.graph().variables().size())});

  std::vector<std::string> read = LayerFields();
  if (kind != nullptr) read.push_back(kind->name());
  ConfigErrors errors;
  RefuseUnreadFields(layer, read, "", errors);
  if (layer.has_dtype() && layer.dtype() != proto::FLOAT32) {
    errors.Add("dtype", absl::StrCat("dtype ", proto::DataType_Name(layer.dtype()),
                                     " is not supported yet, want FLOAT32"));
  }
  if (written.has_name() && !name->empty()) {
    const absl::Status checked = CheckName(NameKind::kVariable, written.name());
    if (!checked.ok()) errors.Add("name", std::string(checked.message()));
  }
  Tensor result;
  if (kind == nullptr) {
    if (errors.empty()) {
      errors.Add("", absl::StrCat("no kind of layer is given, want one of: ", SupportedKinds()));
    }
    Report(place, merged, errors);
  } else if (nests) {
    Report(place, merged, errors);
    Scope inner = {.name = *name,
                   .path = absl::StrCat(path, ".", kind->name(), ".layer"),
                   .numbers = number + ".",
                   .depth = scope.depth + 1,
                   .trainable = scope.trainable && layer.trainable()};
    std::vector<LayerInput> inputs;
    Tensor input;
    if (layer.input_size() > 1) {
      m_.errors.Add(place, "input[1]",
                    absl::StrCat(kind->name(), " wants one input, got ", layer.input_size()));
    }
    if (ResolveInputs(layer, place, scope, before, inputs, input)) {
      input.state = Tensor::State::kKnown;
      input.value = inputs[0].value;
    }
    const Before first = {&input, layer.input_size() > 0
                                      ? m_.tensors.FullName(scope.name, layer.input(0))
                                      : before.name};
    result = layer.has_sequence() ? BuildSequence(layer.sequence(), place, *name, inner, first)
                                  : BuildResidual(layer.residual(), place, *name, inner, first);
  } else if (const LayerDef* def = FindByName(LayerList(), kind->name())) {
    RefuseUnreadFields(layer.GetReflection()->GetMessage(layer, kind), def->fields, kind->name(),
                       errors);
    def->check(layer, errors);
    Report(place, merged, errors);
    // Of a name that is taken the variables would be too.
    const bool sound = errors.empty() && !m_.tensors.Has(*name);
    result = BuildPlain(*def, merged, sound, place, *name, scope, before);
  } else {
    errors.Add(kind->name(),
               absl::StrCat("layer kind ", kind->name(),
                            " is not supported yet, want one of: ", SupportedKinds()));
    Report(place, merged, errors);
  }
  if (result.known()) m_.layers[row].value = result.value;
  m_.layers[row].end_node = static_cast<int>(m_.b.graph().nodes().size());
  m_.layers[row].end_variable = static_cast<int>(m_.b.graph().variables().size());
  m_.tensors.Declare(*name, result, place, m_.errors);
  return result;
}

Tensor LayerStack::BuildPlain(const LayerDef& def, const Merged& merged, bool sound,
                              const ConfigPlace& place, const std::string& name, const Scope& scope,
                              const Before& before) {
  const proto::Layer& layer = merged.layer;
  Tensor result;
  const int given = layer.input_size();
  const int read = std::max(1, given);
  if (read < def.min_inputs || (def.max_inputs >= 0 && read > def.max_inputs)) {
    m_.errors.Add(place, given > 1 ? "input[1]" : "",
                  absl::StrCat(def.name, " wants ",
                               def.max_inputs < 0 ? absl::StrCat(def.min_inputs, " inputs or more")
                                                  : "one input",
                               ", got ", read));
    return result;
  }
  std::vector<LayerInput> inputs;
  if (!ResolveInputs(layer, place, scope, before, inputs, result)) return result;
  if (!sound || !m_.b.status().ok()) return result;
  ScopedName node_scope(m_.b, name);
  const size_t nodes_before = m_.b.graph().nodes().size();
  const bool trainable = scope.trainable && layer.trainable();
  LayerContext context(m_.b, layer,
                       {.kind = def.name,
                        .name = name,
                        .inputs = std::move(inputs),
                        .precision = m_.precision,
                        .training = m_.args.mode == ModeKey::kTrain,
                        .seed = m_.args.seed,
                        .trainable = [&](const std::string& variable) {
                          return trainable && !MatchesAny(m_.spec.frozen(), variable);
                        }});
  result.value = def.build(context);
  if (context.error().has_value()) {
    ConfigErrors errors;
    errors.Add(context.error()->path, context.error()->message);
    Report(place, merged, errors);
    return result;
  }
  if (!m_.b.status().ok()) {
    m_.errors.Add(place, "", std::string(m_.b.status().message()));
    return result;
  }
  const std::string too_large = TooLarge(nodes_before);
  if (!too_large.empty()) {
    m_.errors.Add(place, "", too_large);
    return result;
  }
  result.state = Tensor::State::kKnown;
  return result;
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

Tensor LayerStack::BuildSequence(const proto::Sequence& sequence, const ConfigPlace& place,
                                 const std::string& name, const Scope& inner, Before before) {
  const int64_t repeat = sequence.repeat();
  if (Copies(sequence) == 0) {
    m_.errors.Add(place, "sequence.repeat",
                  absl::StrCat("repeat must be in [1, ", kMaxLayers, "], got ", repeat));
    return {};
  }
  if (sequence.layer().empty()) {
    m_.errors.Add(place, "sequence", "a sequence wants at least one layer");
    return {};
  }
  Tensor last;
  for (int64_t copy = 0; copy < repeat; ++copy) {
    Scope scope = inner;
    if (repeat > 1) scope.name = absl::StrCat(name, "_", copy);
    const int mistakes = m_.errors.reported();
    last = BuildList(sequence.layer(), scope, before);
    if (m_.errors.reported() > mistakes) return {};  // the other copies would repeat them
    before = {&last, scope.name};
  }
  return last;
}

Tensor LayerStack::BuildResidual(const proto::Residual& residual, const ConfigPlace& place,
                                 const std::string& name, const Scope& inner,
                                 const Before& before) {
  if (residual.layer().empty()) {
    m_.errors.Add(place, "residual", "a residual wants at least one layer");
    return {};
  }
  const Tensor main = BuildList(residual.layer(), inner, before);
  Tensor shortcut = *before.tensor;
  if (residual.has_shortcut()) {
    Scope scope = inner;
    scope.name = absl::StrCat(name, "/shortcut");
    scope.path = absl::StrCat(place.path, ".residual.shortcut.layer");
    scope.numbers = absl::StrCat(inner.numbers, "shortcut.");
    ConfigPlace shortcut_place = place;
    absl::StrAppend(&shortcut_place.path, ".residual.shortcut");
    if (residual.shortcut().repeat() != 1) {
      m_.errors.Add(place, "residual.shortcut.repeat", "a shortcut cannot be repeated");
    }
    shortcut = BuildList(residual.shortcut().layer(), scope, before);
  }
  Tensor result;
  result.from_label = main.from_label || shortcut.from_label;
  if (!main.known() || !shortcut.known()) {
    result.state = main.known() ? shortcut.state : main.state;
    return result;
  }
  const Shape& x = m_.b.shape(main.value);
  const Shape& y = m_.b.shape(shortcut.value);
  if (!(x == y)) {
    m_.errors.Add(place, "residual",
                  absl::StrCat("layers give ", BatchShapeText(x), ", the shortcut gives ",
                               BatchShapeText(y), "; both must have one shape"));
    return result;
  }
  ScopedName node_scope(m_.b, name);
  result.value = Add(m_.b, main.value, shortcut.value);
  result.state = Tensor::State::kKnown;
  return result;
}

}  // namespace

void CheckLayerCount(const proto::ModelSpec& spec, ConfigErrors& errors) {
  const int64_t all = CountLayers(spec.layer());
  if (all <= kMaxLayers) return;
  int64_t count = 0;
  int i = -1;
  while (count <= kMaxLayers) count += CountLayers(spec.layer(++i));
  const std::string& name = spec.layer(i).name();
  errors.Add(
      {absl::StrCat("layer ", i, name.empty() ? "" : absl::StrCat(" ", Quote(name))),
       absl::StrCat("model.layer[", i, "]")},
      "",
      absl::StrCat("with it the model has more than ", kMaxLayers, " layers: got ", all,
                   all == kMany ? " or more" : "", " with all copies, want at most ", kMaxLayers));
}

void AppendLayerFields(std::vector<ReadFields>& rows) {
  std::vector<std::string> besides = LayerFields();
  besides.insert(besides.end(), {"residual", "sequence"});
  AppendReadFields(*proto::Layer::descriptor(), LayerList(), besides, rows);
}

void BuildLayers(ModelContext& m) { LayerStack(m).Build(); }

}  // namespace tpurun
