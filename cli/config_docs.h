// The configuration as its .proto files describe it: comments, types, defaults and paths.
#ifndef TPURUN_CLI_CONFIG_DOCS_H_
#define TPURUN_CLI_CONFIG_DOCS_H_

#include <string>
#include <string_view>
#include <vector>

#include "google/protobuf/descriptor.h"

namespace tpurun {

// The comment before it in its file, the lines as one; empty without.
std::string CommentOf(const google::protobuf::Descriptor& message);
std::string CommentOf(const google::protobuf::FieldDescriptor& field);
std::string CommentOf(const google::protobuf::EnumDescriptor& type);
std::string CommentOf(const google::protobuf::EnumValueDescriptor& value);

// The comment of a field, and what its rules say; of those nothing where `kind`, which may be null,
// does not take the field.
std::string MeaningOf(const google::protobuf::FieldDescriptor& field,
                      const google::protobuf::FieldDescriptor* kind = nullptr);

// "int64 = 100", "Activation = LINEAR", "repeated Layer".
std::string TypeText(const google::protobuf::FieldDescriptor& field);

// Those of RunConfig and of everything in it, nested ones included.
const std::vector<const google::protobuf::Descriptor*>& ConfigMessages();
const std::vector<const google::protobuf::EnumDescriptor*>& ConfigEnums();

// Without the package: "TPUConfig.PartitionDims", "Dense.units".
template <typename AnyDescriptor>
std::string ShortName(const AnyDescriptor& descriptor) {
  return descriptor.full_name().substr(descriptor.file()->package().size() + 1);
}

// A path as --set takes it, an element of a repeated field being N.
struct ConfigPath {
  std::string path;
  const google::protobuf::FieldDescriptor* field = nullptr;
  // The choice of a oneof in whose message it stands; null in others.
  const google::protobuf::FieldDescriptor* kind = nullptr;
  // Where the fields of its message stand already; empty when they follow.
  std::string same_as;
};
// Every path of the RunConfig and of the ModelSpec, in the order of the files.
const std::vector<ConfigPath>& ConfigPaths();

// What a path leads to; numbers, names and kinds of elements may stand in it or be left out. Null
// for no path.
const google::protobuf::FieldDescriptor* FindByPath(std::string_view path);

}  // namespace tpurun

#endif  // TPURUN_CLI_CONFIG_DOCS_H_
