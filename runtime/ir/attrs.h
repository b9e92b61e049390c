// Attrs: the attributes of a node, a sorted map from name to typed value. It prints as {axis=1,
// value=[1,2]}.
#ifndef TPURUN_RUNTIME_IR_ATTRS_H_
#define TPURUN_RUNTIME_IR_ATTRS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/ir/shape.h"
#include "runtime/ir/tile_program.h"

namespace tpurun {

// Printed forms, in the order of the types: 3; 0.5f; true; "text"; [1,2]; [0.5f,1f]; f32; "t0 = neg
// x0".
using AttrValue = std::variant<int64_t, double, bool, std::string, std::vector<int64_t>,
                               std::vector<double>, DType, TileProgram>;

// The text that Attrs::ToString prints for the value.
std::string ToString(const AttrValue& value);

class Attrs {
 public:
  Attrs() = default;
  Attrs(std::initializer_list<std::pair<const std::string, AttrValue>> values) : values_(values) {}

  bool Has(const std::string& name) const { return values_.count(name) > 0; }
  void Erase(const std::string& name) { values_.erase(name); }
  void Set(const std::string& name, AttrValue value) { values_[name] = std::move(value); }
  // Returns the attribute, or `otherwise` if it is absent. The verifier checks types against OpDef.
  template <typename T>
  T Get(const std::string& name, T otherwise = T()) const {
    const auto found = values_.find(name);
    if (found == values_.end()) return otherwise;
    const T* value = std::get_if<T>(&found->second);
    return value == nullptr ? otherwise : *value;
  }
  int64_t Int(const std::string& name, int64_t otherwise = 0) const {
    return Get<int64_t>(name, otherwise);
  }
  std::vector<int64_t> Ints(const std::string& name) const {
    return Get<std::vector<int64_t>>(name);
  }
  std::string String(const std::string& name) const { return Get<std::string>(name); }
  // Returns a program without steps if the attribute is absent.
  const TileProgram& Program(const std::string& name) const {
    static const TileProgram& none = *new TileProgram;
    const auto found = values_.find(name);
    const auto* program =
        found == values_.end() ? nullptr : std::get_if<TileProgram>(&found->second);
    return program == nullptr ? none : *program;
  }

  const std::map<std::string, AttrValue>& values() const { return values_; }
  std::string ToString() const;  // "{axis=1}", or "{}"
  bool operator==(const Attrs&) const = default;

 private:
  std::map<std::string, AttrValue> values_;
};

// Parses the output of ToString. Tile programs stay strings (TypedAttrs in op_def.h converts them).
absl::StatusOr<Attrs> ParseAttrs(std::string_view text);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IR_ATTRS_H_
