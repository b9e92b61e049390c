// The HBM that a program takes on each core.
#ifndef TPURUN_RUNTIME_TPU_TPU_MEMORY_H_
#define TPURUN_RUNTIME_TPU_TPU_MEMORY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/tpu/accelerator.h"
#include "runtime/tpu/tpu_program.h"

namespace tpurun {

// Sizes in bytes, with the padding of tiles, and without it.
struct TpuSize {
  int64_t padded = 0;
  int64_t unpadded = 0;

  void Add(const TpuBuffer& buffer) {
    padded += buffer.bytes();
    unpadded += UnpaddedTpuBytes(buffer.shape);
  }
  int64_t padding() const { return padded - unpadded; }
  // The share of the memory that holds elements.
  double utilization() const {
    return padded == 0 ? 1 : static_cast<double>(unpadded) / static_cast<double>(padded);
  }
};

struct TpuMemory {
  TpuSize arguments;         // the variables; their new values take their place
  TpuSize outputs;           // what leaves the device besides
  TpuSize temporaries;       // all others, where they take most
  int peak = -1;             // that computation
  std::vector<int> at_peak;  // temporary and output buffers that exist then, the largest first

  int64_t program() const { return temporaries.padded + outputs.padded; }
  int64_t used() const { return kReservedHbm + arguments.padded + program(); }
  bool fits(const Accelerator& accelerator) const {
    return used() <= accelerator.generation->hbm_bytes;
  }
};

// [computation] Bytes of the temporary buffers that exist while it runs. Without rematerialization:
// each array is kept until its last reader.
std::vector<int64_t> TemporaryBytes(const TpuProgram& program);

TpuMemory MemoryOf(const TpuProgram& program);

// What TPUs report of a program that does not fit ("Ran out of memory in memory space hbm ..."), or
// of one that does without its first line. With the `largest` allocations, each with the layer that
// it belongs to.
std::string PrintMemory(const TpuProgram& program, const TpuMemory& memory,
                        const Accelerator& accelerator, int largest);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_TPU_TPU_MEMORY_H_
