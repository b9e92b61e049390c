#include "cli/config_docs.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "cli/config/field_text.h"
#include "google/protobuf/descriptor.pb.h"
#include "proto/config_descriptors.h"
#include "proto/field_rules.h"
#include "proto/run_config.pb.h"
#include "proto/source_locations.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::EnumDescriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::SourceLocation;

// The descriptors that know their comments; those of the generated code do not.
const DescriptorPool& CommentedPool() {
  static const DescriptorPool& pool = *[] {
    auto* made = new DescriptorPool;
    google::protobuf::FileDescriptorSet set;
    set.ParseFromArray(kConfigDescriptors.data(), static_cast<int>(kConfigDescriptors.size()));
    for (const google::protobuf::FileDescriptorProto& file : set.file()) made->BuildFile(file);
    return made;
  }();
  return pool;
}

// Null is what the program has and the .proto files have not: nothing.
template <typename AnyDescriptor>
std::string LeadingComment(const AnyDescriptor* commented) {
  SourceLocation location;
  if (commented == nullptr || !commented->GetSourceLocation(&location)) return "";
  const std::string line = absl::StrReplaceAll(location.leading_comments, {{"\n ", " "}});
  return std::string(absl::StripAsciiWhitespace(line));
}

// Collects the types in the order in which a reader meets them.
class Types {
 public:
  Types() { Visit(*proto::RunConfig::descriptor()); }

  std::vector<const Descriptor*> messages;
  std::vector<const EnumDescriptor*> enums;

 private:
  void Visit(const Descriptor& message) {
    if (!seen_.insert(message.full_name()).second) return;
    messages.push_back(&message);
    for (int i = 0; i < message.field_count(); ++i) {
      const FieldDescriptor& field = *message.field(i);
      if (field.message_type() != nullptr) Visit(*field.message_type());
      if (field.enum_type() != nullptr && seen_.insert(field.enum_type()->full_name()).second) {
        enums.push_back(field.enum_type());
      }
    }
  }

  std::set<std::string> seen_;
};

const Types& TheTypes() {
  static const Types& types = *new Types;
  return types;
}

class Paths {
 public:
  Paths() { Visit(*proto::RunConfig::descriptor(), "", nullptr); }

  std::vector<ConfigPath> all;

 private:
  void Visit(const Descriptor& message, const std::string& path, const FieldDescriptor* kind) {
    for (int i = 0; i < message.field_count(); ++i) {
      const FieldDescriptor& field = *message.field(i);
      ConfigPath row = {FieldPath(path, field.name()), &field, kind};
      const Descriptor* const type = field.message_type();
      if (type == nullptr || type->field_count() == 0) {
        all.push_back(row);
        continue;
      }
      const std::string within = field.is_repeated() ? row.path + ".N" : row.path;
      const auto [first, is_first] = first_of_.emplace(type, within);
      if (!is_first) row.same_as = first->second;
      all.push_back(row);
      if (is_first) Visit(*type, within, field.containing_oneof() ? &field : nullptr);
    }
  }

  std::map<const Descriptor*, std::string> first_of_;
};

std::vector<std::string> Components(std::string_view path) {
  return absl::StrSplit(ToAbsl(path), absl::ByAnyChar(".[]"), absl::SkipEmpty());
}

}  // namespace

std::string CommentOf(const Descriptor& message) {
  return LeadingComment(CommentedPool().FindMessageTypeByName(message.full_name()));
}

std::string CommentOf(const FieldDescriptor& field) {
  return LeadingComment(CommentedPool().FindFieldByName(field.full_name()));
}

std::string MeaningOf(const FieldDescriptor& field, const FieldDescriptor* kind) {
  const bool is_taken = kind == nullptr || IsOfKind(field, kind->name());
  const std::string comment = CommentOf(field), rules = is_taken ? RulesText(field, kind) : "";
  return absl::StrCat(comment, comment.empty() || rules.empty() ? "" : " ", rules);
}

std::string CommentOf(const EnumDescriptor& type) {
  return LeadingComment(CommentedPool().FindEnumTypeByName(type.full_name()));
}

std::string CommentOf(const EnumValueDescriptor& value) {
  return LeadingComment(CommentedPool().FindEnumValueByName(value.full_name()));
}

std::string TypeText(const FieldDescriptor& field) {
  std::string type = field.type_name();
  if (field.message_type() != nullptr) type = ShortName(*field.message_type());
  if (field.enum_type() != nullptr) type = ShortName(*field.enum_type());
  if (field.is_repeated()) return absl::StrCat("repeated ", type);
  if (field.has_default_value()) absl::StrAppend(&type, " = ", DefaultText(field));
  return type;
}

const std::vector<const Descriptor*>& ConfigMessages() { return TheTypes().messages; }
const std::vector<const EnumDescriptor*>& ConfigEnums() { return TheTypes().enums; }

const std::vector<ConfigPath>& ConfigPaths() {
  static const Paths& paths = *new Paths;
  return paths.all;
}

const FieldDescriptor* FindByPath(std::string_view path) {
  const Descriptor* message = proto::RunConfig::descriptor();
  const FieldDescriptor* field = nullptr;
  bool may_be_element = false;  // the component may choose one of a repeated field
  for (const std::string& component : Components(path)) {
    const FieldDescriptor* const inner =
        message == nullptr ? nullptr : message->FindFieldByName(component);
    if (inner == nullptr && may_be_element) {
      may_be_element = false;
      continue;
    }
    if (inner == nullptr) return nullptr;
    field = inner;
    message = inner->message_type();
    may_be_element = inner->is_repeated();
  }
  return field;
}

}  // namespace tpurun
