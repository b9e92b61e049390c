// The text of a TpuProgram, with the forecast of each computation, for --dump_dir and tests.
#ifndef TPURUN_RUNTIME_TPU_TPU_PROGRAM_TEXT_H_
#define TPURUN_RUNTIME_TPU_TPU_PROGRAM_TEXT_H_

#include <string>

#include "runtime/tpu/forecast.h"
#include "runtime/tpu/tpu_program.h"

namespace tpurun {

std::string TpuKindName(const TpuComputation& computation);  // "matrix"
std::string PrintTpuProduct(const TpuProduct& product);      // "1 x (32,784) x (784,128)"

// Of each computation its fused ops, arrays, products and times:
//   3 matrix "dense/MatMul" {matmul, bias_add, relu} f32[32,784]{...} ... -> f32[32,128]{...}
//       1 x (32,784) x (784,128)
//       matrix unit 1.2 us, vector unit 0.1 us, HBM 2.3 us, links 0 us, starts 1 us
std::string PrintTpuProgram(const TpuProgram& program, const TpuForecast& forecast);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_TPU_TPU_PROGRAM_TEXT_H_
