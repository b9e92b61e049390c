// Finds the row of a table of definitions that a config message chooses by its oneof `kind`.
#ifndef TPURUN_PROTO_ONE_OF_H_
#define TPURUN_PROTO_ONE_OF_H_

#include <string>
#include <utility>
#include <vector>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "proto/config_errors.h"
#include "proto/field_rules.h"
#include "proto/field_values.h"
#include "proto/source_locations.h"

namespace tpurun {

// "a, b, c": the names of the table's rows.
template <typename Def>
std::string NamesOf(const std::vector<Def>& list) {
  std::string names;
  for (const Def& def : list) names += (names.empty() ? "" : ", ") + std::string(def.name);
  return names;
}

// Returns the row of that name, or nullptr.
template <typename Def>
const Def* FindByName(const std::vector<Def>& list, const std::string& name) {
  for (const Def& def : list) {
    if (def.name == name) return &def;
  }
  return nullptr;
}

// Returns the row of the kind that `message` chooses, after checking the rules of the message's and
// of the kind's fields. nullptr, with an error, if no kind is chosen or the list has no such row.
// `noun` names the elements of the list: "loss".
template <typename Def>
const Def* ChooseRow(const std::vector<Def>& list, const google::protobuf::Message& message,
                     const std::string& noun, const std::string& path, ConfigErrors& errors) {
  const google::protobuf::FieldDescriptor* kind = ChosenKind(message);
  const Def* const def = kind == nullptr ? nullptr : FindByName(list, kind->name());
  if (kind == nullptr) {
    errors.Add(path, "no kind of " + noun + " is given, want one of: " + NamesOf(list));
  } else if (def == nullptr) {
    errors.Add(
        FieldPath(path, kind->name()),
        noun + " kind " + kind->name() + " is not supported yet, want one of: " + NamesOf(list));
  }
  CheckRules(message, path, errors);
  return def;
}

}  // namespace tpurun

#endif  // TPURUN_PROTO_ONE_OF_H_
