// The processes of a run as threads of this process: for tests, and to emulate several processes on
// one machine without Open MPI.
#ifndef TPURUN_RUNTIME_FABRIC_THREAD_FABRIC_H_
#define TPURUN_RUNTIME_FABRIC_THREAD_FABRIC_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/fabric/fabric.h"

namespace tpurun {

// Called by both processes of an exchange, before either has its data. `begin`: when the later of
// them began. Returns when the exchange may end.
using ExchangeDelay =
    std::function<void(std::chrono::steady_clock::time_point begin, size_t sent, size_t received)>;

// The fabrics of `size` processes, in rank order; `size` is a power of 2. Each is used by a thread
// of its own, which may destroy it before the others are done: who then waits for it gets
// Unavailable. Abort wakes every thread that waits in one of them, with Unavailable; so does every
// later call.
std::vector<std::unique_ptr<Fabric>> MakeThreadFabrics(int size, ExchangeDelay delay = nullptr);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_FABRIC_THREAD_FABRIC_H_
