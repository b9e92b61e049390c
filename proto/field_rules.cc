#include "proto/field_rules.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/descriptor.pb.h"
#include "proto/field_values.h"
#include "proto/source_locations.h"

namespace tpurun {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using proto::FieldRules;

bool IsMessage(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
}

bool IsFloat(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_FLOAT ||
         field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE;
}

bool HasKinds(const Descriptor& message) { return message.FindOneofByName("kind") != nullptr; }

bool IsKind(const FieldDescriptor& field) {
  return field.containing_oneof() != nullptr && field.containing_oneof()->name() == "kind";
}

// The value that the needed field must have, for a field with these rules; empty: any.
std::string NeededValue(const FieldDescriptor& needed, const FieldRules& rules) {
  if (rules.has_needs_value()) return rules.needs_value();
  return needed.cpp_type() == FieldDescriptor::CPPTYPE_BOOL ? "true" : "";
}

// ------------------------------------------------------------------------------------- bounds

// `dimension` in terms of the others.
FieldRules WithBounds(const FieldRules& rules) {
  FieldRules with_bounds = rules;
  if (!rules.dimension()) return with_bounds;
  with_bounds.set_gte(1);
  with_bounds.set_lte(kMaxDimension);
  return with_bounds;
}

bool HasBounds(const FieldRules& rules) {
  return rules.finite() || rules.has_gt() || rules.has_gte() || rules.has_lt() || rules.has_lte();
}

// `value`: long double has every int64.
bool IsWithin(long double value, const FieldRules& rules) {
  return std::isfinite(value) && (!rules.has_gt() || value > rules.gt()) &&
         (!rules.has_gte() || value >= rules.gte()) && (!rules.has_lt() || value < rules.lt()) &&
         (!rules.has_lte() || value <= rules.lte());
}

// A whole number with all its digits, of which StrCat writes 6.
std::string BoundText(double bound) {
  return bound == std::floor(bound) ? absl::StrCat(static_cast<int64_t>(bound))
                                    : absl::StrCat(bound);
}

std::string RangeOf(const FieldRules& rules, bool is_float) {
  if (!HasBounds(rules)) return "";
  const bool below = rules.has_lt() || rules.has_lte();
  const bool above = rules.has_gt() || rules.has_gte();
  const std::string least = BoundText(rules.has_gt() ? rules.gt() : rules.gte());
  const std::string most = BoundText(rules.has_lt() ? rules.lt() : rules.lte());
  if (above && below) {
    return absl::StrCat("in ", rules.has_gt() ? "(" : "[", least, ", ", most,
                        rules.has_lt() ? ")" : "]");
  }
  if (!above && !below) return "finite";
  const std::string finite = is_float ? " and finite" : "";
  if (below) return absl::StrCat(rules.has_lt() ? "< " : "<= ", most, finite);
  return absl::StrCat(rules.has_gt() ? "> " : ">= ", least, finite);
}

// For the message on a whole number: its upper bound where it is too large, else its lower one, as
// "> 0" rather than ">= 1".
FieldRules BrokenBound(const FieldRules& rules, long double value) {
  FieldRules broken = rules;
  if (rules.has_gte() && rules.gte() == 1) {
    broken.clear_gte();
    broken.set_gt(0);
  }
  const bool too_large = (rules.has_lte() && value > rules.lte());
  if (too_large) {
    broken.clear_gt();
    broken.clear_gte();
  } else {
    broken.clear_lte();
  }
  return broken;
}

long double NumberOf(const Message& message, const FieldDescriptor& field, int index) {
  const Reflection& values = *message.GetReflection();
  const bool one = index < 0;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_FLOAT:
      return one ? values.GetFloat(message, &field)
                 : values.GetRepeatedFloat(message, &field, index);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return one ? values.GetDouble(message, &field)
                 : values.GetRepeatedDouble(message, &field, index);
    case FieldDescriptor::CPPTYPE_INT32:
      return one ? values.GetInt32(message, &field)
                 : values.GetRepeatedInt32(message, &field, index);
    default:
      return one ? values.GetInt64(message, &field)
                 : values.GetRepeatedInt64(message, &field, index);
  }
}

// ------------------------------------------------------------------------------------- values

int SizeOf(const Message& message, const FieldDescriptor& field) {
  const Reflection& values = *message.GetReflection();
  return field.is_repeated() ? values.FieldSize(message, &field) : values.HasField(message, &field);
}

bool IsEmptyText(const Message& message, const FieldDescriptor& field) {
  return !field.is_repeated() && field.cpp_type() == FieldDescriptor::CPPTYPE_STRING &&
         message.GetReflection()->GetString(message, &field).empty();
}

// "a", "a or b", "a, b or c".
std::string AnyOf(std::vector<std::string> values) {
  if (values.size() < 2) return absl::StrJoin(values, "");
  const std::string last = values.back();
  values.pop_back();
  return absl::StrCat(absl::StrJoin(values, ", "), " or ", last);
}

template <typename Strings>
std::vector<std::string> ListOf(const Strings& strings) {
  return {strings.begin(), strings.end()};
}

bool Has(const google::protobuf::RepeatedPtrField<std::string>& strings, const std::string& one) {
  return std::find(strings.begin(), strings.end(), one) != strings.end();
}

// One walk over a message and those in it. `name` is what a message calls the field: its path below
// the message of a kind, or below the whole.
class RuleCheck {
 public:
  explicit RuleCheck(ConfigErrors& errors) : errors_(errors) {}

  void Check(const Message& message, const std::string& path, const std::string& name,
             const FieldDescriptor* kind) {
    const Descriptor& fields = *message.GetDescriptor();
    for (int i = 0; i < fields.field_count(); ++i) {
      CheckField(message, *fields.field(i), FieldPath(path, fields.field(i)->name()),
                 FieldPath(name, fields.field(i)->name()), kind);
    }
  }

 private:
  void Add(const std::string& path, const std::string& message) { errors_.Add(path, message); }

  void CheckField(const Message& message, const FieldDescriptor& field, const std::string& path,
                  const std::string& name, const FieldDescriptor* kind) {
    const FieldRules rules = WithBounds(RulesOf(field));
    const bool is_of_kind = kind == nullptr || IsOfKind(field, kind->name());
    const int size = SizeOf(message, field);
    if (size == 0 || (rules.required() && IsEmptyText(message, field))) {
      if (rules.required() && is_of_kind) Add(path, Missing(field, name, rules));
      return;
    }
    const std::string first = field.is_repeated() ? ElementPath(path, 0) : path;
    if (!is_of_kind) {
      if (IsDefault(message, &field)) return;
      return Add(first, absl::StrCat(name, " is of ", absl::StrJoin(rules.only_of(), ", "),
                                     ", not of ", kind->name(), "; leave it out"));
    }
    if (rules.unsupported() || rules.has_never()) {
      if (!IsDefault(message, &field)) Add(first, Refused(message, field, name, rules));
      return;
    }
    std::vector<std::string> excluded;
    for (const std::string& other : rules.excludes()) {
      if (IsSet(message, *message.GetDescriptor()->FindFieldByName(other))) {
        excluded.push_back(other);
      }
    }
    if (!excluded.empty()) {
      Add(first, absl::StrCat(name, " is given together with ", absl::StrJoin(excluded, " and "),
                              excluded.size() == 1 ? ", want one of them" : ", leave it out"));
    }
    if (rules.has_needs() && !IsDefault(message, &field)) CheckNeeds(message, field, first, name);
    if (rules.has_max_items() && size > rules.max_items()) {
      Add(ElementPath(path, rules.max_items()),
          absl::StrCat(name, " has ", size, " values, want at most ", rules.max_items()));
    }
    for (int i = 0; i < size; ++i) {
      const int index = field.is_repeated() ? i : -1;
      const std::string value_path = field.is_repeated() ? ElementPath(path, i) : path;
      const std::string value_name = field.is_repeated() ? ElementPath(name, i) : name;
      if (IsMessage(field)) {
        CheckMessage(message, field, index, value_path, value_name);
      } else {
        CheckValue(message, field, index, value_path, value_name, rules);
      }
    }
  }

  static std::string Missing(const FieldDescriptor& field, const std::string& name,
                             const FieldRules& rules) {
    const std::string range =
        RangeOf(IsFloat(field) ? rules : BrokenBound(rules, 0), /*is_float=*/false);
    if (!range.empty()) {
      return absl::StrCat(name, " is missing, want ",
                          field.is_repeated() ? "numbers " : "a number ", range);
    }
    return absl::StrCat(name, " is missing", field.is_repeated() ? ", want at least one" : "");
  }

  static std::string Refused(const Message& message, const FieldDescriptor& field,
                             const std::string& name, const FieldRules& rules) {
    const std::string why =
        rules.has_never() ? absl::StrCat(": ", rules.never()) : ", which is not supported yet";
    if (IsMessage(field) || field.is_repeated()) {
      return rules.has_never() ? absl::StrCat(name, ": leave it out", why)
                               : absl::StrCat(name, " is not supported yet; leave it out");
    }
    const std::string unset = ValueText(Unset(message), &field);
    return rules.has_never() ? absl::StrCat(name, ": got ", ValueText(message, &field), ", want ",
                                            unset, " or leave it out", why)
                             : absl::StrCat(name, ": got ", ValueText(message, &field), why,
                                            ", want ", unset, " or leave it out");
  }

  void CheckNeeds(const Message& message, const FieldDescriptor& field, const std::string& path,
                  const std::string& name) {
    if (HasNeeds(message, field)) return;
    const FieldRules& rules = RulesOf(field);
    const FieldDescriptor& needed = *message.GetDescriptor()->FindFieldByName(rules.needs());
    const std::string value = NeededValue(needed, rules);
    const std::string got = rules.has_needs_value() && IsSet(message, needed)
                                ? absl::StrCat(", got ", ValueText(message, &needed))
                                : ", which is not given";
    Add(path, absl::StrCat(name, " needs ", rules.needs(), value.empty() ? "" : ": ", value, got));
  }

  void CheckMessage(const Message& message, const FieldDescriptor& field, int index,
                    const std::string& path, const std::string& name) {
    const bool is_kind = IsKind(field);
    if (!is_kind && HasKinds(*field.message_type())) return;
    const Reflection& values = *message.GetReflection();
    const Message& inner = index < 0 ? values.GetMessage(message, &field)
                                     : values.GetRepeatedMessage(message, &field, index);
    Check(inner, path, is_kind ? "" : name, is_kind ? &field : nullptr);
  }

  void CheckValue(const Message& message, const FieldDescriptor& field, int index,
                  const std::string& path, const std::string& name, const FieldRules& rules) {
    const std::string value = ValueText(message, &field, index);
    if (HasBounds(rules)) {
      const long double number = NumberOf(message, field, index);
      const std::string range =
          IsFloat(field) ? RangeOf(rules, true) : RangeOf(BrokenBound(rules, number), false);
      if (!IsWithin(number, rules)) {
        return Add(path, absl::StrCat(name, " must be ", range, ", got ", value));
      }
    }
    if (!rules.in().empty() && !Has(rules.in(), value)) {
      Add(path, absl::StrCat(name, ": got ", value, ", want ", AnyOf(ListOf(rules.in())),
                             rules.has_reason() ? absl::StrCat(": ", rules.reason()) : ""));
    }
  }

  ConfigErrors& errors_;
};

// ------------------------------------------------------------------------------------- reach

// Of each message why nothing acts on what is in it, with the reason; of one that some field leads
// to which is acted on, nothing.
using Reach = std::map<const Descriptor*, std::string>;

std::string WhyNever(const FieldRules& rules) {
  if (rules.has_never()) return absl::StrCat("never: ", rules.never());
  return rules.unsupported() ? "not supported yet" : "";
}

void Visit(const Descriptor& message, const std::string& why, Reach& reach) {
  const auto [found, is_new] = reach.emplace(&message, why);
  if (!is_new) {
    if (found->second.empty() || !why.empty()) return;
    found->second.clear();
  }
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    if (!IsMessage(field)) continue;
    const std::string of_field = WhyNever(RulesOf(field));
    Visit(*field.message_type(), why.empty() ? of_field : why, reach);
  }
}

const Reach& ReachFrom(const Descriptor& root) {
  static std::map<const Descriptor*, Reach>& of_roots = *new std::map<const Descriptor*, Reach>;
  Reach& reach = of_roots[&root];
  if (reach.empty()) Visit(root, "", reach);
  return reach;
}

}  // namespace

const FieldRules& RulesOf(const FieldDescriptor& field) {
  return field.options().GetExtension(proto::rules);
}

bool IsOfKind(const FieldDescriptor& field, const std::string& kind) {
  const auto& kinds = RulesOf(field).only_of();
  return kinds.empty() || Has(kinds, kind);
}

void CheckRules(const Message& message, const std::string& path, ConfigErrors& errors,
                const FieldDescriptor* kind) {
  ConfigErrors found;
  RuleCheck(found).Check(message, path, "", kind);
  ConfigErrors untold;
  for (const ConfigError& error : found.all()) {
    if (!errors.Has(error.path)) untold.Add(error);
  }
  errors.Add(ConfigPlace(), untold);
  for (const ConfigError& error : untold.all()) errors.Ignore(error.path, /*below=*/false);
}

bool IsSet(const Message& message, const FieldDescriptor& field) {
  return SizeOf(message, field) > 0;
}

bool IsLegal(const FieldDescriptor& field, long double number) {
  const FieldRules rules = WithBounds(RulesOf(field));
  return !HasBounds(rules) || IsWithin(number, rules);
}

std::string RangeText(const FieldDescriptor& field) {
  return RangeOf(WithBounds(RulesOf(field)), /*is_float=*/false);
}

std::string RulesText(const FieldDescriptor& field, const FieldDescriptor* kind) {
  const FieldRules& rules = RulesOf(field);
  std::vector<std::string> parts;
  if (rules.required()) {
    parts.push_back(
        absl::StrCat(field.is_repeated() ? "at least one must be given" : "must be given",
                     kind != nullptr || rules.only_of().empty() ? "" : " where the kind takes it"));
  }
  if (rules.has_unit()) parts.push_back(absl::StrCat("in ", rules.unit()));
  const std::string range = rules.dimension() ? "> 0" : RangeText(field);
  if (!range.empty() && rules.in().empty()) parts.push_back(range);
  std::string text = absl::StrJoin(parts, ", ");
  if (!text.empty())
    text = absl::StrCat(std::string(1, absl::ascii_toupper(text[0])), text.substr(1), ".");
  const auto add = [&](const std::string& sentence) {
    absl::StrAppend(&text, text.empty() ? "" : " ", sentence, ".");
  };
  if (!rules.in().empty()) {
    add(absl::StrCat("Takes ", absl::StrJoin(rules.in(), ", "),
                     rules.has_reason() ? absl::StrCat(": ", rules.reason()) : ""));
  }
  if (rules.has_max_items()) add(absl::StrCat("At most ", rules.max_items(), " values"));
  std::vector<std::string> excluded;
  for (const FieldDescriptor* other : ExcludedBy(field)) excluded.push_back(other->name());
  if (!excluded.empty()) add(absl::StrCat("Not together with ", AnyOf(excluded)));
  if (rules.has_needs())
    add(absl::StrCat("Only with ", rules.needs(), rules.has_needs_value() ? ": " : "",
                     rules.needs_value()));
  if (rules.has_never()) add(absl::StrCat("Refused: ", rules.never()));
  return text;
}

std::string WhyRefused(const FieldDescriptor& field, const FieldDescriptor* kind, bool with_reason,
                       const Descriptor& root) {
  const auto shown = [&](const std::string& why) {
    return with_reason ? why : why.substr(0, why.find(": "));
  };
  const FieldRules& rules = RulesOf(field);
  const std::string own = WhyNever(rules);
  if (!own.empty()) return shown(own);
  const std::string of_kind = kind == nullptr ? "" : WhyNever(RulesOf(*kind));
  if (!of_kind.empty()) return shown(of_kind);
  const Reach& reach = ReachFrom(root);
  const auto found = reach.find(field.containing_type());
  if (found != reach.end() && !found->second.empty()) return shown(found->second);
  if (kind == nullptr || IsOfKind(field, kind->name())) return "";
  constexpr int kNamed = 2;  // more are no word after a field
  return rules.only_of_size() > kNamed
             ? absl::StrCat("not of ", kind->name())
             : absl::StrCat("only of ", absl::StrJoin(rules.only_of(), ", "));
}

bool HasNeeds(const Message& message, const FieldDescriptor& field) {
  const FieldRules& rules = RulesOf(field);
  if (!rules.has_needs()) return true;
  const FieldDescriptor& needed = *message.GetDescriptor()->FindFieldByName(rules.needs());
  if (!IsSet(message, needed)) return false;
  const std::string value = NeededValue(needed, rules);
  return value.empty() || ValueText(message, &needed) == value;
}

std::vector<const FieldDescriptor*> ExcludedBy(const FieldDescriptor& field) {
  std::vector<const FieldDescriptor*> excluded;
  const Descriptor& message = *field.containing_type();
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor* const other = message.field(i);
    if (Has(RulesOf(field).excludes(), other->name()) ||
        Has(RulesOf(*other).excludes(), field.name())) {
      excluded.push_back(other);
    }
  }
  return excluded;
}

}  // namespace tpurun
