// The .proto files of the configuration with their comments, embedded in the program for `help`.
#ifndef TPURUN_PROTO_CONFIG_DESCRIPTORS_H_
#define TPURUN_PROTO_CONFIG_DESCRIPTORS_H_

#include <string_view>

namespace tpurun {

// A serialized FileDescriptorSet: run_config.proto after the files that it imports, with the
// source_code_info of each.
extern const std::string_view kConfigDescriptors;

}  // namespace tpurun

#endif  // TPURUN_PROTO_CONFIG_DESCRIPTORS_H_
