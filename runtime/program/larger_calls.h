// Plans for the calls of a compiled program that become larger for few workers.
#ifndef TPURUN_RUNTIME_PROGRAM_LARGER_CALLS_H_
#define TPURUN_RUNTIME_PROGRAM_LARGER_CALLS_H_

#include <cstdint>

#include "runtime/ir/machine.h"
#include "runtime/program/core_program.h"

namespace tpurun {

// The machine that the program was compiled for.
Machine MachineOf(const CoreProgram& program);

class LargerCalls {
 public:
  // `program` must outlive the object.
  explicit LargerCalls(CoreProgram& program);

  // Gives an instruction whose calls have been changed the offer of its kernel for them. If they
  // need more scratch memory than before, that is behind the worker memory that the program had at
  // first, in one place for all instructions. Returns false, and changes nothing, if the kernel has
  // no offer for such calls on these operands.
  bool Plan(Instruction& instruction);

 private:
  CoreProgram& program_;
  const Machine machine_;
  const int64_t scratch_;  // the offset of that memory
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_PROGRAM_LARGER_CALLS_H_
