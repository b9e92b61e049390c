// The text form of a CoreProgram; parses back to the same program.
//
//   program "iris_train" replicas=8 machine="x86_64+avx512_bf16" library="oneDNN 2.6.3"
//   arena shared=1024 core=2048 worker=4096
//   variable 0 "hidden_1/kernel" f32[4,10] uniform(-0.65,0.65) trainable
//   infeed 0 "SepalLength" f32[16]
//   outfeed 0 "loss" f32[]
//   loss core:64 after 0
//   prologue phase 0
//   step phase 0
//     matmul {precision=0} "MatMul" from "forward:dense" per_core parts=8 rows=1 kernel="gemm_avx2"
//         copies=4096 scratch=worker:0+4096
//       <- core:0 f32[16,4], variable:0 f32[4,10]
//       prefers f32[16,4], f32[4,10]{blocked_s8_s1_b8d1:256}
//       -> worker:64 f32[16,10]
//   periodic period=1 after phase 0
#ifndef TPURUN_RUNTIME_PROGRAM_PROGRAM_TEXT_H_
#define TPURUN_RUNTIME_PROGRAM_PROGRAM_TEXT_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/program/core_program.h"

namespace tpurun {

std::string PrintProgram(const CoreProgram& program);
// Skips lines that are blank or start with '#'. An error names the line.
absl::StatusOr<CoreProgram> ParseProgram(std::string_view text, const FindOp& find_op);

std::string PrintBuffer(const BufferRef& buffer);  // "core:64", "core3:64", "infeed:0", "none"

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_PROGRAM_PROGRAM_TEXT_H_
