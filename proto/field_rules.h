// The rules of fields (proto/field_rules.proto): checks messages against them, and describes them
// in words.
#ifndef TPURUN_PROTO_FIELD_RULES_H_
#define TPURUN_PROTO_FIELD_RULES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "proto/config_errors.h"
#include "proto/field_rules.pb.h"

namespace tpurun {

// The largest dimension that a model may have. A larger one, times any batch, fits into no memory.
inline constexpr int64_t kMaxDimension = int64_t{1} << 31;

const proto::FieldRules& RulesOf(const google::protobuf::FieldDescriptor& field);

// Adds an error for each field that breaks its rules, in `message` and in the messages in it.
// `path` is the message's own path, "" or "adagrad". Messages with a oneof `kind` of their own are
// skipped: the code that chooses by their kind checks them. A path that has an error already gets
// no other, because that error comes from code that knows more about the field. A path that gets an
// error here gets none later, because later errors would only follow from it. `kind` is the field
// of the oneof `kind` that contains `message`, or nullptr.
void CheckRules(const google::protobuf::Message& message, const std::string& path,
                ConfigErrors& errors, const google::protobuf::FieldDescriptor* kind = nullptr);

// The legal values of a field: "> 0", "in [0, 1)". Empty if all are legal.
std::string RangeText(const google::protobuf::FieldDescriptor& field);
// The rules of a field as sentences for `help`: "Must be given, in steps, > 0.". Empty if there are
// none. `kind` is the oneof field that contains the message and uses the field; nullptr: any.
std::string RulesText(const google::protobuf::FieldDescriptor& field,
                      const google::protobuf::FieldDescriptor* kind = nullptr);

// The reason why setting the field has no effect or is refused: "not supported yet" or "never", and
// if `with_reason` also why ("never: REASON"). For a message that `kind` shares with other kinds:
// "only of in_top_k" or "not of mean". Empty if the field has an effect. `root` is the message at
// the top of a configuration.
std::string WhyRefused(const google::protobuf::FieldDescriptor& field,
                       const google::protobuf::FieldDescriptor* kind, bool with_reason,
                       const google::protobuf::Descriptor& root);

// True if the kind of a oneof uses the field of its message, which other kinds may share.
bool IsOfKind(const google::protobuf::FieldDescriptor& field, const std::string& kind);

// True if the field names a file or folder.
inline bool IsPath(const google::protobuf::FieldDescriptor& field) { return RulesOf(field).path(); }

// True if the message sets the field. A repeated field needs at least one value.
bool IsSet(const google::protobuf::Message& message,
           const google::protobuf::FieldDescriptor& field);
// True if the message sets what the rule `needs` of the field asks for, or the field has no such
// rule.
bool HasNeeds(const google::protobuf::Message& message,
              const google::protobuf::FieldDescriptor& field);
// True if the number is within the bounds of the field.
bool IsLegal(const google::protobuf::FieldDescriptor& field, long double number);

// The fields of the same message that exclude the field or that it excludes.
std::vector<const google::protobuf::FieldDescriptor*> ExcludedBy(
    const google::protobuf::FieldDescriptor& field);

}  // namespace tpurun

#endif  // TPURUN_PROTO_FIELD_RULES_H_
