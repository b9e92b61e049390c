// The choice that a config message makes in its `kind` oneof, and its row in a table of
// definitions.
#ifndef TPURUN_PROTO_ONE_OF_H_
#define TPURUN_PROTO_ONE_OF_H_

#include <string>
#include <utility>
#include <vector>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "proto/config_errors.h"
#include "proto/field_values.h"
#include "proto/source_locations.h"

namespace tpurun {

// "a, b, c": the names of a table's rows.
template <typename Def>
std::string NamesOf(const std::vector<Def>& list) {
  std::string names;
  for (const Def& def : list) names += (names.empty() ? "" : ", ") + std::string(def.name);
  return names;
}

// The row of that name, or null.
template <typename Def>
const Def* FindByName(const std::vector<Def>& list, const std::string& name) {
  for (const Def& def : list) {
    if (def.name == name) return &def;
  }
  return nullptr;
}

// Refuses what is set of the fields of `kind`, which `message` chooses, but not among those of its
// row.
template <typename Def>
void RefuseUnreadOfKind(const std::vector<Def>& list, const Def& row,
                        const google::protobuf::Message& message,
                        const google::protobuf::FieldDescriptor& kind, const std::string& path,
                        ConfigErrors& errors) {
  const auto other_kinds = [&](const std::string& field) {
    std::vector<Def> others;
    for (const Def& other : list) {
      const auto* const of = message.GetDescriptor()->FindFieldByName(other.name);
      if (of == nullptr || of->message_type() != kind.message_type()) continue;
      for (const std::string& read : other.fields) {
        if (read == field) others.push_back(other);
      }
    }
    return NamesOf(others);
  };
  RefuseUnreadFields(message.GetReflection()->GetMessage(message, &kind), row.fields, path, errors,
                     other_kinds);
}

// The row of the kind that `message` chooses, after refusing what is set of that kind's fields but
// not among the row's `fields`. Null, with an error, when nothing is chosen or the list has no such
// row. `noun` is what the list holds: "loss".
template <typename Def>
const Def* ChooseRow(const std::vector<Def>& list, const google::protobuf::Message& message,
                     const std::string& noun, const std::string& path, ConfigErrors& errors) {
  const google::protobuf::FieldDescriptor* kind = ChosenKind(message);
  if (kind == nullptr) {
    errors.Add(path, "no kind of " + noun + " is given, want one of: " + NamesOf(list));
    return nullptr;
  }
  const std::string kind_path = FieldPath(path, kind->name());
  const Def* def = FindByName(list, kind->name());
  if (def == nullptr) {
    errors.Add(kind_path, noun + " kind " + kind->name() +
                              " is not supported yet, want one of: " + NamesOf(list));
    return nullptr;
  }
  if (kind->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) {
    RefuseUnreadOfKind(list, *def, message, *kind, kind_path, errors);
  }
  return def;
}

// Appends what is acted on of a message with a oneof `kind`, which a table has the choices of, and
// of those; `besides` are further fields.
template <typename Def>
void AppendReadFields(const google::protobuf::Descriptor& message, const std::vector<Def>& list,
                      std::vector<std::string> besides, std::vector<ReadFields>& rows) {
  ReadFields own = {message.full_name(), std::move(besides)};
  for (const Def& def : list) {
    own.fields.push_back(def.name);
    rows.push_back({message.full_name() + "." + def.name, def.fields});
  }
  rows.push_back(std::move(own));
}

}  // namespace tpurun

#endif  // TPURUN_PROTO_ONE_OF_H_
