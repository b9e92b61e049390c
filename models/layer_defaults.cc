#include "models/layer_defaults.h"

#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "models/layers/layer.h"
#include "proto/field_rules.h"
#include "proto/one_of.h"

namespace tpurun {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

void CopyField(const Message& from, const FieldDescriptor* field, Message& to) {
  // Merges a message in which only this field is set.
  const std::unique_ptr<Message> one(from.New());
  one->CopyFrom(from);
  std::vector<const FieldDescriptor*> set;
  one->GetReflection()->ListFields(*one, &set);
  for (const FieldDescriptor* other : set) {
    if (other != field) one->GetReflection()->ClearField(one.get(), other);
  }
  to.MergeFrom(*one);
}

// True if the other fields of `message` allow `field` to have an effect (field rules `excludes` and
// `needs`).
bool IsUseful(const Message& message, const FieldDescriptor& field) {
  for (const FieldDescriptor* other : ExcludedBy(field)) {
    if (IsSet(message, *other)) return false;
  }
  return HasNeeds(message, field);
}

// Clears the fields of `arguments` (the layer's field `path`) that a default set, according to
// `paths`, and that have no effect. If two of them exclude each other, the first is cleared.
void DropUselessDefaults(const std::string& path, Message& arguments,
                         std::map<std::string, std::string>& paths) {
  const google::protobuf::Descriptor& fields = *arguments.GetDescriptor();
  for (int i = 0; i < fields.field_count(); ++i) {
    const FieldDescriptor& field = *fields.field(i);
    if (!IsSet(arguments, field) || IsUseful(arguments, field)) continue;
    if (paths.erase(absl::StrCat(path, ".", field.name())) == 0) continue;
    arguments.GetReflection()->ClearField(&arguments, &field);
  }
}

}  // namespace

bool HoldsLayers(const FieldDescriptor& kind) {
  const google::protobuf::Descriptor& message = *kind.message_type();
  for (int i = 0; i < message.field_count(); ++i) {
    const google::protobuf::Descriptor* const type = message.field(i)->message_type();
    if (type == proto::Layer::descriptor() || type == proto::Sequence::descriptor()) return true;
  }
  return false;
}

void CheckLayerDefaults(const proto::ModelSpec& spec, ConfigErrors& errors) {
  for (int i = 0; i < spec.layer_defaults_size(); ++i) {
    const proto::Layer& defaults = spec.layer_defaults(i);
    const ConfigPlace place = {absl::StrCat("layer_defaults ", i),
                               absl::StrCat("model.layer_defaults[", i, "]")};
    const FieldDescriptor* kind = ChosenKind(defaults);
    if (kind == nullptr) {
      errors.Add(place, "",
                 absl::StrCat("no kind of layer is given, want one of: ", NamesOf(LayerList())));
    } else if (FindByName(LayerList(), kind->name()) == nullptr) {
      errors.Add(place, kind->name(),
                 absl::StrCat("defaults for layer kind ", kind->name(),
                              " are not supported yet, want one of: ", NamesOf(LayerList())));
    } else if (HoldsLayers(*kind)) {
      errors.Add(place, kind->name(),
                 absl::StrCat("a ", kind->name(),
                              " has no defaults; give them to the kinds of "
                              "layers in it"));
    }
    if (defaults.has_reuse()) errors.Add(place, "reuse", "defaults cannot reuse a layer");
    if (defaults.has_name()) errors.Add(place, "name", "defaults cannot give a name");
    if (defaults.input_size() > 0) errors.Add(place, "input[0]", "defaults cannot give inputs");
  }
}

void MergeLayerDefaults(const proto::ModelSpec& spec, const proto::Layer& written,
                        proto::Layer* merged, std::map<std::string, std::string>* paths) {
  *merged = written;
  const FieldDescriptor* kind = ChosenKind(written);
  for (int i = spec.layer_defaults_size() - 1; kind != nullptr && i >= 0; --i) {
    const proto::Layer& defaults = spec.layer_defaults(i);
    if (ChosenKind(defaults) != kind) continue;
    const std::string path = absl::StrCat("model.layer_defaults[", i, "]");
    std::vector<const FieldDescriptor*> set;
    defaults.GetReflection()->ListFields(defaults, &set);
    for (const FieldDescriptor* field : set) {
      if (field == kind || IsSet(*merged, *field)) continue;
      CopyField(defaults, field, *merged);
      (*paths)[field->name()] = absl::StrCat(path, ".", field->name());
    }
    const Message& arguments = defaults.GetReflection()->GetMessage(defaults, kind);
    Message& to = *merged->GetReflection()->MutableMessage(merged, kind);
    arguments.GetReflection()->ListFields(arguments, &set);
    for (const FieldDescriptor* field : set) {
      if (IsSet(to, *field)) continue;
      CopyField(arguments, field, to);
      const std::string name = absl::StrCat(kind->name(), ".", field->name());
      (*paths)[name] = absl::StrCat(path, ".", name);
    }
  }
  if (kind == nullptr) return;
  DropUselessDefaults(kind->name(), *merged->GetReflection()->MutableMessage(merged, kind), *paths);
}

}  // namespace tpurun
