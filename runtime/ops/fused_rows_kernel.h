// The kernel of `fused_rows`.
#ifndef TPURUN_RUNTIME_OPS_FUSED_ROWS_KERNEL_H_
#define TPURUN_RUNTIME_OPS_FUSED_ROWS_KERNEL_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/ir/op_def.h"
#include "runtime/ir/row_program.h"
#include "runtime/kernels/elementwise/chain.h"

namespace tpurun {

// The values of a RowProgram, seen as matrices: (..., C) as (R, C), a value with an element for
// each row as (R).
struct RowValues {
  int64_t rows = 0, columns = 0;
  std::vector<Shape> operands;
  std::vector<std::vector<Shape>> steps;  // [step][result]

  const Shape& Of(const RowProgram::Input& input) const {
    return input.is_step ? steps[input.index][input.result] : operands[input.index];
  }
};

// `dims`: those of the rows, (..., C). InvalidArgument if a step is no op of rows or has wrong
// operands.
absl::StatusOr<RowValues> ValuesOf(const RowProgram& program, std::span<const Shape> operands,
                                   const std::vector<int64_t>& dims);

class FusedRowsKernel : public Kernel {
 public:
  // In KernelArgs::scratch.
  virtual int64_t scratch_bytes() const = 0;
};

// Runs the steps of the attribute `program` on a few rows at a time, 16 KB of an f32 value. A value
// that is no result of the node is in scratch memory, of those rows alone. `fused` runs its chains
// by `chains`, or with nullptr step by step; other steps are computed by their references.
std::unique_ptr<FusedRowsKernel> MakeFusedRowsKernel(const OpCall& call,
                                                     const elementwise::Chains* chains);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_FUSED_ROWS_KERNEL_H_
