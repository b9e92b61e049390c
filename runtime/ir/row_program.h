// RowProgram: a sequence of ops that compute each row of their results from the same row of their
// operands, and of sums over all rows, run on a few rows at a time. It is an attribute of the op
// that runs it. Its text form is a string:
//
//   t0 = mul x0 x1; t1 = normalize_rows t0 {epsilon=1e-06f}; t2 = sum_of_rows t1; return t1:1 t2
//
// x<i> is operand i of the node, t<i> result 0 of step i, t<i>:<r> its result r.
#ifndef TPURUN_RUNTIME_IR_ROW_PROGRAM_H_
#define TPURUN_RUNTIME_IR_ROW_PROGRAM_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/ir/op_def.h"

namespace tpurun {

struct RowProgram {
  struct Input {
    bool is_step = false;  // result `result` of step `index`, else operand `index` of the node
    int index = 0;
    int result = 0;
    auto operator<=>(const Input&) const = default;
  };
  struct Step {
    const OpDef* op = nullptr;
    Attrs attrs;
    std::vector<Input> inputs;
  };
  std::vector<Step> steps;
  std::vector<Input> results;  // of steps
};

std::string ToString(const RowProgram& program);
// Checks that steps read operands and earlier steps; not how many operands there are, nor shapes.
absl::StatusOr<RowProgram> ParseRowProgram(std::string_view text, const FindOp& find_op);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IR_ROW_PROGRAM_H_
