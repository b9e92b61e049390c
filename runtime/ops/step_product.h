// The product that a recurrent cell makes in every step, of the same weights each time: what can be
// done to them once a call is done then.
#ifndef TPURUN_RUNTIME_OPS_STEP_PRODUCT_H_
#define TPURUN_RUNTIME_OPS_STEP_PRODUCT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "runtime/ir/op_def.h"

namespace tpurun {

// y (n, N) = x (n, K) w + bias, w being operand `weights` of the call, (K, N), or (N, K) that comes
// transposed, and n the rows of a share. At the call's precision.
struct StepProductDef {
  int weights = 1;
  bool transposed = false;
  int bias = -1;  // operand (N); -1: none
};

// The plan of all products of a call: the implementation of matmul that each of them gets for every
// size of share; "dense" where they would get two. Its best operands are those that the products
// like, for operands that come plain.
KernelPlan PlanStepProducts(const std::vector<StepProductDef>& products, const OpCall& call,
                            const Machine& machine);

class StepProduct {
 public:
  // By the reference, of any number of rows.
  StepProduct(const StepProductDef& def, const OpCall& call);
  // For shares of these sizes, by a plan of PlanStepProducts.
  StepProduct(const StepProductDef& def, const OpCall& call, const KernelPlan& plan,
              const std::vector<int64_t>& sizes);

  // Whether every kernel could be made.
  bool good() const { return good_; }
  void SetWorkers(int workers);
  // Of scratch memory that stays as it is between Prepare and the last Run.
  int64_t prepared_bytes() const { return widened_bytes_ + packed_bytes_ + bias_bytes_; }
  absl::Status Prepare(const KernelArgs& args, std::byte* prepared) const;
  // `scratch`: at least KernelPlan::scratch_bytes of the plan.
  absl::Status Run(const KernelArgs& args, const std::byte* prepared, const float* x, int64_t rows,
                   float* y, void* scratch) const;

 private:
  // Of the first replica that is joined: weights are those of all.
  const void* Operand(const KernelArgs& args, int operand) const {
    return args.operands[operand * replicas_per_call_];
  }

  const StepProductDef def_;
  const int replicas_per_call_;
  bool good_ = true;
  Shape weights_;              // as they come
  int64_t widened_bytes_ = 0;  // 0: they are not bf16 in a plain layout
  int64_t packed_bytes_ = 0;   // 0: they are not packed here
  int64_t bias_bytes_ = 0;     // 0: there is none in bf16
  int64_t bias_elements_ = 0;
  std::unique_ptr<Kernel> pack_;
  std::map<int64_t, std::unique_ptr<Kernel>> by_rows_;  // 0: of any number
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_STEP_PRODUCT_H_
