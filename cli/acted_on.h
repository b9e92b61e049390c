// Which fields of the configuration something acts on, from the tables that refuse the others.
#ifndef TPURUN_CLI_ACTED_ON_H_
#define TPURUN_CLI_ACTED_ON_H_

#include <string>
#include <vector>

#include "google/protobuf/descriptor.h"

namespace tpurun {

// Whether it is acted on anywhere in a RunConfig. What is not, is refused unless it has its
// default.
bool IsActedOn(const google::protobuf::FieldDescriptor& field);

// Whether it is acted on in the message of `kind`, a choice of a oneof: the same message may be
// that of several.
bool IsActedOnIn(const google::protobuf::FieldDescriptor& kind,
                 const google::protobuf::FieldDescriptor& field);

// Why a field is refused, as help says it: "never"; of other kinds than `kind`, which may be null,
// "only of in_top_k" or "not of mean"; "not supported yet". Empty where it is acted on.
// `with_reason`: why never.
std::string WhyRefused(const google::protobuf::FieldDescriptor& field,
                       const google::protobuf::FieldDescriptor* kind, bool with_reason);

// The values, in text format, that a field may have; empty for any.
std::vector<std::string> ValuesActedOn(const google::protobuf::FieldDescriptor& field);

}  // namespace tpurun

#endif  // TPURUN_CLI_ACTED_ON_H_
