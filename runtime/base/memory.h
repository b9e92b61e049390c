// How much memory there is.
#ifndef TPURUN_RUNTIME_BASE_MEMORY_H_
#define TPURUN_RUNTIME_BASE_MEMORY_H_

#include <cstdint>
#include <string>

namespace tpurun {

// What this process can have at most: the machine's memory, or its control group's (a container's)
// where that is less.
int64_t MemoryBytes();

// "1.5 GiB".
std::string GibText(double bytes);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_BASE_MEMORY_H_
