// Exchanges: the instructions of a phase that combine values of all processes.
#ifndef TPURUN_RUNTIME_DEVICE_EXCHANGES_H_
#define TPURUN_RUNTIME_DEVICE_EXCHANGES_H_

#include <span>
#include <vector>

#include "absl/status/status.h"
#include "runtime/device/loaded_program.h"
#include "runtime/fabric/fabric.h"
#include "runtime/fabric/rounds.h"
#include "runtime/program/core_program.h"

namespace tpurun {

// A call of the fabric, and the exchanges whose values it has.
struct ExchangeCall {
  Collective collective;
  std::vector<const Instruction*> exchanges;
};
// The calls by which Exchanges::Run runs the exchanges of a phase, in their order.
std::vector<ExchangeCall> ExchangeCalls(const Phase& phase);

class Exchanges {
 public:
  // Runs the exchanges of one phase. All processes call it with the same instructions. Small sums
  // are packed into one, since a message costs more than its bytes; every element has its bits
  // either way. Used by one thread at a time.
  absl::Status Run(const std::vector<LoadedInstruction>& exchanges, const Bases& bases,
                   Fabric& fabric);

 private:
  absl::Status RunPacked(std::span<const LoadedInstruction* const> sums, const Bases& bases,
                         Fabric& fabric);

  std::vector<float> packed_, sums_;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_DEVICE_EXCHANGES_H_
