// Checks the properties of a program that the device relies on. Every buffer lies inside its arena
// and is aligned. A value is written before it is read, in the same part or in an earlier phase. No
// instruction overwrites a buffer that another part may still read in the same phase. Variables,
// slots and parts exist. A kernel's plan supports its operands: bf16 or packed ones.
#ifndef TPURUN_RUNTIME_PROGRAM_VERIFY_PROGRAM_H_
#define TPURUN_RUNTIME_PROGRAM_VERIFY_PROGRAM_H_

#include "absl/status/status.h"
#include "runtime/program/core_program.h"

namespace tpurun {

absl::Status VerifyProgram(const CoreProgram& program);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_PROGRAM_VERIFY_PROGRAM_H_
