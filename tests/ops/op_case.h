// The golden files of ops: testdata/ops/OP.txt.
//
//   # comment
//   op matmul {precision=3}
//   replicas 8                  of a collective, before its operands: then each comes once for
//                               every replica, in replica order
//   operand f32[1,2] 1 2
//   operand f32[2,1] 3 4
//   result f32[1,1] 11
//   tolerance 1e-6              relative to the largest result, when the expected value is rounded
//   no_gradient REASON          the gradient is not checked at this point
//   constant_results 1          the last so many results are taken as constants: no gradient flows
//   error MESSAGE               in place of results
#ifndef TPURUN_TESTS_OPS_OP_CASE_H_
#define TPURUN_TESTS_OPS_OP_CASE_H_

#include <string>
#include <vector>

#include "runtime/ir/literal.h"
#include "runtime/ir/op_def.h"

namespace tpurun {

struct OpCase {
  std::string file;
  int line = 0;
  const OpDef* op = nullptr;
  Attrs attrs;
  int replicas = 1;
  std::vector<Literal> operands, results;  // operands: CopiesPerOperand(Call()) of each
  double tolerance = 0;
  bool check_gradient = true;
  int constant_results = 0;
  std::string error;

  std::string Place() const;  // "testdata/ops/matmul.txt:4"
  // The call of this case, all results needed.
  OpCall Call() const;
};

// All cases of testdata/ops, in order of files and lines. Fails the process on a malformed file.
const std::vector<OpCase>& AllOpCases();

// Runs the reference kernel on each [begin, end) share of its units in turn.
std::vector<Literal> RunReference(const OpCall& call, const std::vector<Literal>& operands,
                                  const std::vector<std::pair<int64_t, int64_t>>& shares);

// The literal in another of f32 and bf16.
Literal StoredIn(DType dtype, const Literal& literal);

}  // namespace tpurun

#endif  // TPURUN_TESTS_OPS_OP_CASE_H_
