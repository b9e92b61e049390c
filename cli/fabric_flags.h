// The flags that describe a network: a latency and a bandwidth, with their units.
#ifndef TPURUN_CLI_FABRIC_FLAGS_H_
#define TPURUN_CLI_FABRIC_FLAGS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/command_line.h"
#include "runtime/fabric/rounds.h"

namespace tpurun {

// --fabric_latency and --fabric_bandwidth.
std::vector<Flag> LinkFlags();

// Seconds: "50us", "1.5ms", "0".
absl::StatusOr<double> ParseLatency(std::string_view text);
// Bytes a second: "10Gbit" is 10^10 bits a second, "1.25GB" as many bytes. "Gbit/s" and "Gbps" are
// the same.
absl::StatusOr<double> ParseBandwidth(std::string_view text);

// The link of both flags; a flag that is not given is that of `otherwise`.
absl::StatusOr<Link> LinkOf(const CommandLine& command, const Link& otherwise);

}  // namespace tpurun

#endif  // TPURUN_CLI_FABRIC_FLAGS_H_
