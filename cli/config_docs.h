// The documentation of the configuration in its .proto files: comments, types, defaults and paths.
#ifndef TPURUN_CLI_CONFIG_DOCS_H_
#define TPURUN_CLI_CONFIG_DOCS_H_

#include <string>
#include <string_view>
#include <vector>

#include "google/protobuf/descriptor.h"

namespace tpurun {

// The comment before the declaration in its file, joined to one line. Empty if there is none.
std::string CommentOf(const google::protobuf::Descriptor& message);
std::string CommentOf(const google::protobuf::FieldDescriptor& field);
std::string CommentOf(const google::protobuf::EnumDescriptor& type);
std::string CommentOf(const google::protobuf::EnumValueDescriptor& value);

// The comment of a field and its rules. The rules are left out if `kind`, which may be nullptr,
// does not use the field.
std::string MeaningOf(const google::protobuf::FieldDescriptor& field,
                      const google::protobuf::FieldDescriptor* kind = nullptr);

// "int64 = 100", "Activation = LINEAR", "repeated Layer".
std::string TypeText(const google::protobuf::FieldDescriptor& field);

// The messages and enums of RunConfig and of everything in it, including nested ones.
const std::vector<const google::protobuf::Descriptor*>& ConfigMessages();
const std::vector<const google::protobuf::EnumDescriptor*>& ConfigEnums();

// The name without the package: "TPUConfig.PartitionDims", "Dense.units".
template <typename AnyDescriptor>
std::string ShortName(const AnyDescriptor& descriptor) {
  return descriptor.full_name().substr(descriptor.file()->package().size() + 1);
}

// A path as --set takes it, with N for the index of a repeated field.
struct ConfigPath {
  std::string path;
  const google::protobuf::FieldDescriptor* field = nullptr;
  // The oneof field that contains the field's message; nullptr if there is none.
  const google::protobuf::FieldDescriptor* kind = nullptr;
  // The earlier path that lists the fields of this field's message. Empty if the fields follow
  // here.
  std::string same_as;
};
// Every path of the RunConfig and of the ModelSpec, in the order of the files.
const std::vector<ConfigPath>& ConfigPaths();

// The field at the end of a path. Indices, names and kinds of elements may be in the path or be
// left out. nullptr if there is no such path.
const google::protobuf::FieldDescriptor* FindByPath(std::string_view path);

}  // namespace tpurun

#endif  // TPURUN_CLI_CONFIG_DOCS_H_
