// The .proto files of the configuration with their comments, in the program: what `help` shows.
#ifndef TPURUN_PROTO_CONFIG_DESCRIPTORS_H_
#define TPURUN_PROTO_CONFIG_DESCRIPTORS_H_

#include <string_view>

namespace tpurun {

// A serialized FileDescriptorSet: run_config.proto behind what it imports, with the
// source_code_info of each.
extern const std::string_view kConfigDescriptors;

}  // namespace tpurun

#endif  // TPURUN_PROTO_CONFIG_DESCRIPTORS_H_
