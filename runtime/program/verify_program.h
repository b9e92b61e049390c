// Checks what the device relies on: every buffer lies inside its arena and is aligned; a value is
// written before it is read, in the same part or across a barrier; nothing overwrites a buffer that
// another part may still read in the same phase; variables, slots and parts exist; a kernel's plan
// takes what it is given: a bias, operands in bf16 or packed.
#ifndef TPURUN_RUNTIME_PROGRAM_VERIFY_PROGRAM_H_
#define TPURUN_RUNTIME_PROGRAM_VERIFY_PROGRAM_H_

#include "absl/status/status.h"
#include "runtime/program/core_program.h"

namespace tpurun {

absl::Status VerifyProgram(const CoreProgram& program);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_PROGRAM_VERIFY_PROGRAM_H_
