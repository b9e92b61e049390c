// The rules of fields (proto/field_rules.proto): who breaks them, and what they say in words.
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

// The largest dimension that a model may ask for: more fits into no memory, times any batch.
inline constexpr int64_t kMaxDimension = int64_t{1} << 31;

const proto::FieldRules& RulesOf(const google::protobuf::FieldDescriptor& field);

// Adds an error for each field of `message` that breaks its rules, and of the messages in it;
// `path` is the message's own, "" or "adagrad". It stops at messages that have a oneof `kind` of
// their own: whoever chooses by that checks those. A path that has an error already gets no other:
// who knows more of the field has told of it. A path that gets one here gets none later: what
// else is wrong with it follows. `kind` is the field of a oneof `kind` that the
// message is of; null: of none.
void CheckRules(const google::protobuf::Message& message, const std::string& path,
                ConfigErrors& errors, const google::protobuf::FieldDescriptor* kind = nullptr);

// Which values a field may have: "> 0", "in [0, 1)"; empty for any.
std::string RangeText(const google::protobuf::FieldDescriptor& field);
// The rules of a field as sentences for `help`: "Must be given, > 0."; empty without any. `kind`:
// the one that the message is of, which takes the field; null: any.
std::string RulesText(const google::protobuf::FieldDescriptor& field,
                      const google::protobuf::FieldDescriptor* kind = nullptr);

// Why something sets the field in vain: "not supported yet", "never", and where `with_reason` why
// ("never: REASON"); of a message that `kind` shares with other kinds "only of in_top_k" or "not of
// mean". Empty where the field is acted on. `root` is the message that a configuration begins with.
std::string WhyRefused(const google::protobuf::FieldDescriptor& field,
                       const google::protobuf::FieldDescriptor* kind, bool with_reason,
                       const google::protobuf::Descriptor& root);

// Whether the kind of a oneof acts on the field of its message, which other kinds may have too.
bool IsOfKind(const google::protobuf::FieldDescriptor& field, const std::string& kind);

// Whether the field names a file or folder.
inline bool IsPath(const google::protobuf::FieldDescriptor& field) { return RulesOf(field).path(); }

// Whether the message gives the field: of a repeated one at least one value.
bool IsSet(const google::protobuf::Message& message,
           const google::protobuf::FieldDescriptor& field);
// Whether it is set and, where it is a bool, true.
bool IsOn(const google::protobuf::Message& message, const google::protobuf::FieldDescriptor& field);
// Whether the number is within the bounds of the field.
bool IsLegal(const google::protobuf::FieldDescriptor& field, long double number);

// Those of the same message that cannot be given together with the field, whichever of them says
// so.
std::vector<const google::protobuf::FieldDescriptor*> ExcludedBy(
    const google::protobuf::FieldDescriptor& field);

}  // namespace tpurun

#endif  // TPURUN_PROTO_FIELD_RULES_H_
