#include "cli/config/edit.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/config/field_text.h"
#include "cli/config/text_format.h"
#include "cli/config/text_tokens.h"
#include "proto/field_rules.h"
#include "proto/field_values.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::OneofDescriptor;
using google::protobuf::Reflection;

// Splits "a.b[c.d].e" into a, b, c.d, e.
absl::StatusOr<std::vector<std::string>> SplitPath(std::string_view path) {
  std::vector<std::string> components;
  const std::string whole(path);
  while (!path.empty()) {
    if (path.front() == '[') {
      const size_t end = path.find(']');
      if (end == std::string_view::npos) {
        return absl::InvalidArgumentError(absl::StrCat("got ", whole, ", want a ] after the ["));
      }
      components.emplace_back(path.substr(1, end - 1));
      path.remove_prefix(end + 1);
    } else {
      const size_t end = path.find_first_of(".[");
      components.emplace_back(path.substr(0, end));
      path.remove_prefix(std::min(end, path.size()));
    }
    if (components.back().empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("got the path ", Quote(whole), ", want names joined by single dots"));
    }
    if (!path.empty() && path.front() == '.') {
      path.remove_prefix(1);
      if (path.empty()) {
        return absl::InvalidArgumentError(
            absl::StrCat("got the path ", Quote(whole), ", want a name after the last dot"));
      }
    }
  }
  return components;
}

// What a path leads to: a field of `parent`, or one element of it.
struct Target {
  Message* parent = nullptr;
  const FieldDescriptor* field = nullptr;
  int element = -1;  // of a repeated field; -1 for the whole field
  std::string parent_path;

  std::string path() const {
    const std::string field_path = FieldPath(parent_path, field->name());
    return element < 0 ? field_path : ElementPath(field_path, element);
  }
};

// The field that identifies an element of a repeated message field: its name, or its key.
const FieldDescriptor* NameField(const Descriptor& descriptor) {
  const FieldDescriptor* field = descriptor.FindFieldByName("name");
  if (field == nullptr) field = descriptor.FindFieldByName("key");
  const bool is_string = field && field->cpp_type() == FieldDescriptor::CPPTYPE_STRING;
  return is_string && !field->is_repeated() ? field : nullptr;
}

bool IsIndex(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// How the elements of a repeated message field can be named: "0 (shuffle), 1 (batch)".
std::string ListElements(const Message& parent, const FieldDescriptor* field) {
  const Reflection& reflection = *parent.GetReflection();
  const int size = reflection.FieldSize(parent, field);
  if (size == 0) return "it has none (+= appends one)";
  std::vector<std::string> elements;
  for (int i = 0; i < size; ++i) {
    const Message& element = reflection.GetRepeatedMessage(parent, field, i);
    const FieldDescriptor* name = NameField(*element.GetDescriptor());
    std::string text = name ? element.GetReflection()->GetString(element, name) : "";
    if (text.empty() && ChosenKind(element)) text = ChosenKind(element)->name();
    elements.push_back(text.empty() ? absl::StrCat(i) : absl::StrCat(i, " (", text, ")"));
  }
  return absl::StrCat("elements: ", absl::StrJoin(elements, ", "));
}

struct Chosen {
  int element = 0;
  bool by_kind = false;
  bool left_out = false;  // what chooses: the component is a field of the only element
};

// A field that every element has, whatever its kind: of another kind it would not be its own.
bool IsFieldOfEveryKind(const Descriptor& descriptor, const std::string& name) {
  const FieldDescriptor* const field = descriptor.FindFieldByName(name);
  return field != nullptr && field->containing_oneof() == nullptr;
}

// The element that `component` chooses: by number, by name, or by a kind that only one has. Of one
// element the number may be left out.
absl::StatusOr<Chosen> ChooseElement(const Message& parent, const FieldDescriptor* field,
                                     const std::string& path, const std::string& component) {
  const Reflection& reflection = *parent.GetReflection();
  const int size = reflection.FieldSize(parent, field);
  if (IsIndex(component)) {
    const std::optional<int64_t> index = ParseInt64(component);
    if (index && *index < size) return Chosen{.element = static_cast<int>(*index)};
    return absl::InvalidArgumentError(absl::StrCat(
        path, " has no element ", component,
        size == 0 ? ": it is empty (+= appends one)" : absl::StrCat(", want 0 to ", size - 1)));
  }
  const bool is_message = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
  if (!is_message) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is a list: got ", component, ", want the number of an element"));
  }
  std::vector<Chosen> by_name;
  std::vector<Chosen> by_kind;
  for (int i = 0; i < size; ++i) {
    const Message& element = reflection.GetRepeatedMessage(parent, field, i);
    const FieldDescriptor* name = NameField(*element.GetDescriptor());
    if (name && element.GetReflection()->GetString(element, name) == component) {
      by_name.push_back({.element = i});
    }
    const FieldDescriptor* kind = ChosenKind(element);
    if (kind && kind->name() == component) by_kind.push_back({.element = i, .by_kind = true});
  }
  const std::vector<Chosen>& found = by_name.empty() ? by_kind : by_name;
  if (found.size() == 1) return found.front();
  if (found.size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(path, " has ", found.size(), " elements ",
                                                   component, ", want its number; ",
                                                   ListElements(parent, field)));
  }
  if (size == 1 && IsFieldOfEveryKind(*field->message_type(), component)) {
    return Chosen{.left_out = true};
  }
  return absl::InvalidArgumentError(absl::StrCat(path, " has no element ", Quote(component),
                                                 ", want its number or name; ",
                                                 ListElements(parent, field)));
}

// A path that ends with the kind of an element is the value of that kind or, where the element is
// wanted whole, the element: without its kind it is nothing.
absl::StatusOr<Target> FindTarget(std::string_view text, bool whole_element, Message* root) {
  ASSIGN_OR_RETURN(const std::vector<std::string> components, SplitPath(text));
  Target target;
  Message* message = root;
  std::string message_path;
  size_t next = 0;
  if (components.size() > 1 && components.front() == "model") {
    message_path = "model";
    next = 1;
  }
  while (next < components.size()) {
    if (message == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(target.path(), " has no fields: got ",
                                                     components[next], " after it, want ",
                                                     WantedValue(*target.field)));
    }
    const std::string& name = components[next++];
    const FieldDescriptor* field = message->GetDescriptor()->FindFieldByName(name);
    if (field == nullptr) {
      return absl::InvalidArgumentError(
          UnknownFieldMessage(*message->GetDescriptor(), message_path, name));
    }
    target = {.parent = message, .field = field, .parent_path = message_path};
    const bool is_message = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (field->is_repeated() && next < components.size()) {
      ASSIGN_OR_RETURN(const Chosen chosen,
                       ChooseElement(*message, field, target.path(), components[next]));
      if (!chosen.left_out) ++next;
      target.element = chosen.element;
      if (chosen.by_kind && !(whole_element && next == components.size())) {
        Message* element =
            message->GetReflection()->MutableRepeatedMessage(message, field, chosen.element);
        target = {.parent = element, .field = ChosenKind(*element), .parent_path = target.path()};
      }
    }
    message_path = target.path();
    if (next == components.size()) break;
    if (!is_message) {
      message = nullptr;
    } else if (target.element >= 0) {
      message = target.parent->GetReflection()->MutableRepeatedMessage(target.parent, target.field,
                                                                       target.element);
    } else {
      message = target.parent->GetReflection()->MutableMessage(target.parent, target.field);
    }
  }
  return target;
}

// Splits "a,b" at commas outside quotes.
std::vector<std::string> SplitList(std::string_view text) {
  std::vector<std::string> items;
  std::string item;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      item += c;
      if (c == '\\' && i + 1 < text.size()) item += text[++i];
      if (c == quote) quote = 0;
    } else if (c == ',') {
      items.push_back(std::move(item));
      item.clear();
    } else {
      if (c == '"' || c == '\'') quote = c;
      item += c;
    }
  }
  if (!items.empty() || !absl::StripAsciiWhitespace(item).empty()) items.push_back(std::move(item));
  return items;
}

bool IsQuoted(absl::string_view text) {
  return text.size() >= 2 && (text.front() == '"' || text.front() == '\'') &&
         text.back() == text.front();
}

absl::Status FirstOf(const ConfigErrors& errors) {
  const ConfigError& first = errors.all().front();
  return first.refused ? absl::UnimplementedError(first.message)
                       : absl::InvalidArgumentError(first.message);
}

// A single value in text format: strings get their quotes, enumerators lose them. The blanks around
// a string without quotes are its own.
std::string TextFormatValue(const FieldDescriptor& field, const std::string& value) {
  const absl::string_view stripped = absl::StripAsciiWhitespace(value);
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING && !IsQuoted(stripped))
    return Quote(value);
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_ENUM && IsQuoted(stripped)) {
    return std::string(stripped.substr(1, stripped.size() - 2));
  }
  return std::string(stripped);
}

// The value as the text format of a field, ready to be parsed: `units: 20`.
std::string FieldText(const Target& target, const Edit& edit) {
  const FieldDescriptor& field = *target.field;
  const bool is_string = field.cpp_type() == FieldDescriptor::CPPTYPE_STRING;
  std::string value;
  const absl::string_view stripped = absl::StripAsciiWhitespace(edit.value);
  const bool is_list = stripped.size() >= 2 && stripped.front() == '[' && stripped.back() == ']';
  if (edit.raw && is_string) {
    value = Quote(edit.value);
  } else if (field.is_repeated() && target.element < 0 && is_list) {
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      value = std::string(stripped);
    } else {
      std::vector<std::string> items = SplitList({stripped.data() + 1, stripped.size() - 2});
      for (std::string& item : items) {
        absl::StripAsciiWhitespace(&item);
        item = TextFormatValue(field, item);
      }
      value = absl::StrCat("[", absl::StrJoin(items, ", "), "]");
    }
  } else {
    value = TextFormatValue(field, edit.value);
  }
  return absl::StrCat(field.name(), ": ", value);
}

// A message of the parent's type with only the target's field set, from the edit's value.
absl::StatusOr<std::unique_ptr<Message>> ParseValue(const Target& target, const Edit& edit) {
  std::unique_ptr<Message> parsed(target.parent->New());
  const std::string text = FieldText(target, edit);
  ConfigErrors errors;
  ParseText(text, target.parent_path, /*file=*/"", parsed.get(), errors);
  if (!errors.empty()) return FirstOf(errors);
  std::vector<const FieldDescriptor*> fields;
  parsed->GetReflection()->ListFields(*parsed, &fields);
  const bool other_field = fields.size() > 1 || (fields.size() == 1 && fields[0] != target.field);
  const bool other_count =
      target.element >= 0 && parsed->GetReflection()->FieldSize(*parsed, target.field) != 1;
  if (other_field || other_count) {
    return absl::InvalidArgumentError(absl::StrCat(
        target.path(), ": got ", edit.value, ", want one value: ", WantedValue(*target.field)));
  }
  return parsed;
}

// Forgets the locations of what setting the target clears.
void ForgetSiblings(const Target& target, SourceLocations* locations) {
  const OneofDescriptor* oneof = target.field->containing_oneof();
  if (oneof == nullptr) return;
  for (int i = 0; i < oneof->field_count(); ++i) {
    locations->Erase(FieldPath(target.parent_path, oneof->field(i)->name()));
  }
}

// Of a number 0 where that is legal: it turns off what the field says, as RunConfig's None does.
bool IsOff(const Message& message, const FieldDescriptor& field) {
  return !field.is_repeated() && field.cpp_type() == FieldDescriptor::CPPTYPE_INT64 &&
         IsLegal(field, 0) && message.GetReflection()->GetInt64(message, &field) == 0;
}

// Whether another field that is set needs this one.
bool IsNeeded(const Message& message, const FieldDescriptor& field) {
  std::vector<const FieldDescriptor*> set;
  message.GetReflection()->ListFields(message, &set);
  return std::any_of(set.begin(), set.end(), [&](const FieldDescriptor* other) {
    return RulesOf(*other).needs() == field.name();
  });
}

// Clears what a file gives of the fields that exclude the target. What another flag gives is not
// replaced, unless one of the two is only off. A field that another one needs stays: the checks
// tell of the two. Returns whether the new value counts.
absl::StatusOr<bool> ClearExclusive(const Target& target, const Message& value,
                                    SourceLocations* locations) {
  if (!IsSet(value, *target.field)) return true;
  for (const FieldDescriptor* other : ExcludedBy(*target.field)) {
    if (!IsSet(*target.parent, *other) || IsNeeded(*target.parent, *other)) continue;
    const std::string other_path = FieldPath(target.parent_path, other->name());
    const std::string flag = locations->FlagOf(other_path);
    if (!flag.empty() && !IsOff(*target.parent, *other)) {
      if (IsOff(value, *target.field)) return false;
      return absl::InvalidArgumentError(
          absl::StrCat(target.path(), " is given together with ", flag, ", want one of them"));
    }
    target.parent->GetReflection()->ClearField(target.parent, other);
    locations->Erase(other_path);
  }
  return true;
}

void RemoveElement(const Target& target, SourceLocations* locations) {
  const Reflection& reflection = *target.parent->GetReflection();
  const int size = reflection.FieldSize(*target.parent, target.field);
  for (int i = target.element; i + 1 < size; ++i) {
    reflection.SwapElements(target.parent, target.field, i, i + 1);
  }
  reflection.RemoveLast(target.parent, target.field);
  locations->RemoveElement(FieldPath(target.parent_path, target.field->name()), target.element);
}

void Clear(const Target& target, SourceLocations* locations) {
  if (target.element >= 0) return RemoveElement(target, locations);
  target.parent->GetReflection()->ClearField(target.parent, target.field);
  locations->Erase(target.path());
}

void ReplaceElement(const Target& target, Message* value) {
  const Reflection& reflection = *target.parent->GetReflection();
  const int last = reflection.FieldSize(*target.parent, target.field);
  target.parent->MergeFrom(*value);
  reflection.SwapElements(target.parent, target.field, target.element, last);
  reflection.RemoveLast(target.parent, target.field);
}

bool IsDeeperThan(const Message& message, int levels) {
  if (levels == 0) return true;
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    const int size = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < size; ++i) {
      const Message& value = field->is_repeated() ? reflection.GetRepeatedMessage(message, field, i)
                                                  : reflection.GetMessage(message, field);
      if (IsDeeperThan(value, levels - 1)) return true;
    }
  }
  return false;
}

absl::Status ApplyToCopy(const Edit& edit, Message* root, SourceLocations* locations) {
  if (edit.path == "model") {
    if (edit.kind == Edit::Kind::kAppend) {
      return absl::InvalidArgumentError("model is not a list: got +=, want =");
    }
    root->Clear();
    locations->Erase("model");
    if (edit.kind == Edit::Kind::kClear) return absl::OkStatus();
    absl::string_view value = absl::StripAsciiWhitespace(edit.value);
    if (value.size() < 2 || value.front() != '{' || value.back() != '}') {
      return absl::InvalidArgumentError("model: want a message in braces: { ... }");
    }
    value = value.substr(1, value.size() - 2);
    ConfigErrors errors;
    ParseText({value.data(), value.size()}, "model", /*file=*/"", root, errors);
    if (!errors.empty()) return FirstOf(errors);
    locations->Record("model", {.flag = edit.flag});
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const Target target,
                   FindTarget(edit.path, edit.kind == Edit::Kind::kClear, root));
  const Reflection& reflection = *target.parent->GetReflection();
  if (edit.kind == Edit::Kind::kClear) {
    Clear(target, locations);
    return absl::OkStatus();
  }
  if (edit.kind == Edit::Kind::kAppend && (!target.field->is_repeated() || target.element >= 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat(target.path(), " is not a list: got +=, want ="));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<Message> value, ParseValue(target, edit));
  ASSIGN_OR_RETURN(const bool counts, ClearExclusive(target, *value, locations));
  if (!counts) return absl::OkStatus();
  if (target.element >= 0) {
    ReplaceElement(target, value.get());
    locations->Erase(target.path());
    locations->Record(target.path(), {.flag = edit.flag});
    return absl::OkStatus();
  }
  int first_new = 0;
  if (edit.kind == Edit::Kind::kAppend) {
    first_new = reflection.FieldSize(*target.parent, target.field);
  } else {
    ForgetSiblings(target, locations);
    locations->Erase(target.path());
    reflection.ClearField(target.parent, target.field);
  }
  target.parent->MergeFrom(*value);
  if (first_new == 0) locations->Record(target.path(), {.flag = edit.flag});
  if (target.field->is_repeated()) {
    const int size = reflection.FieldSize(*target.parent, target.field);
    for (int i = first_new; i < size; ++i) {
      locations->Record(ElementPath(target.path(), i), {.flag = edit.flag});
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Edit> ParseSet(std::string_view text) {
  const std::string flag = absl::StrCat("--set ", ToAbsl(text));
  // The first '=' outside brackets: names in brackets may hold one.
  size_t equals = std::string_view::npos;
  int depth = 0;
  for (size_t i = 0; i < text.size() && equals == std::string_view::npos; ++i) {
    if (text[i] == '[') ++depth;
    if (text[i] == ']') --depth;
    if (text[i] == '=' && depth <= 0) equals = i;
  }
  if (equals == std::string_view::npos || equals == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, ": want PATH=VALUE, such as --set train.max_steps=100"));
  }
  Edit edit{.value = std::string(text.substr(equals + 1)), .flag = flag};
  std::string_view path = text.substr(0, equals);
  if (path.back() == '+') {
    edit.kind = Edit::Kind::kAppend;
    path.remove_suffix(1);
  }
  edit.path = std::string(absl::StripAsciiWhitespace(ToAbsl(path)));
  // PATH = VALUE: with blanks around the sign.
  if (absl::EndsWith(ToAbsl(path), " ")) absl::StripLeadingAsciiWhitespace(&edit.value);
  if (edit.path.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(flag, ": want a path before +="));
  }
  return edit;
}

absl::StatusOr<Edit> ParseUnset(std::string_view text) {
  Edit edit{.kind = Edit::Kind::kClear,
            .path = std::string(absl::StripAsciiWhitespace(ToAbsl(text))),
            .flag = absl::StrCat("--unset ", ToAbsl(text))};
  if (edit.path.empty() || edit.path.find('=') != std::string::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat(edit.flag, ": want a path, such as --unset evaluate.0.steps"));
  }
  return edit;
}

bool IsModelEdit(const Edit& edit) {
  return edit.path == "model" || edit.path.compare(0, 6, "model.") == 0 ||
         edit.path.compare(0, 6, "model[") == 0;
}

absl::Status ApplyEdit(const Edit& edit, Message* root, SourceLocations* locations) {
  std::unique_ptr<Message> changed(root->New());
  changed->CopyFrom(*root);
  SourceLocations changed_locations = *locations;
  RETURN_IF_ERROR(ApplyToCopy(edit, changed.get(), &changed_locations));
  // Each edit alone may be shallow and hang below the one before.
  if (IsDeeperThan(*changed, kMaxNesting + 1)) {
    return absl::InvalidArgumentError(TooDeepMessage());
  }
  root->GetReflection()->Swap(root, changed.get());
  *locations = std::move(changed_locations);
  return absl::OkStatus();
}

}  // namespace tpurun
