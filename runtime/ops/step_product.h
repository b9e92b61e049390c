// The product that a recurrent cell computes in every step with the same weights. Weights are
// converted and packed once per call, unless they are packed already.
#ifndef TPURUN_RUNTIME_OPS_STEP_PRODUCT_H_
#define TPURUN_RUNTIME_OPS_STEP_PRODUCT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/ir/op_def.h"

namespace tpurun {

// y (n, N) = x (n, K) w + bias. w is operand `weights` of the call: (K, N), or (N, K) if
// `transposed`. n is the number of rows of a share. The precision is that of the call.
struct StepProductDef {
  int weights = 1;
  bool transposed = false;
  int bias = -1;  // operand (N); -1: none
};

// The offer of matmul's kernel `matmul` for all products of a call and every share size, or nullopt
// if one of them has none. best_operands has the layouts that the products prefer, for operands
// with a plain layout.
std::optional<KernelOffer> OfferStepProducts(const std::vector<StepProductDef>& products,
                                             const OpCall& call, const KernelDef& matmul,
                                             const Machine& machine);

class StepProduct {
 public:
  // Uses the reference, for any number of rows.
  StepProduct(const StepProductDef& def, const OpCall& call);
  // For shares of `sizes` rows, with an offer made by OfferStepProducts.
  StepProduct(const StepProductDef& def, const OpCall& call, const KernelDef& matmul,
              const KernelOffer& offer, const std::vector<int64_t>& sizes);

  // True if every kernel could be made.
  bool good() const { return good_; }
  void SetWorkers(int workers);
  // Bytes of scratch memory that must not change between Prepare and the last Run.
  int64_t prepared_bytes() const { return f32_bytes_ + packed_bytes_ + bias_bytes_; }
  absl::Status Prepare(const KernelArgs& args, std::byte* prepared) const;
  // `scratch` has at least KernelOffer::scratch_bytes.
  absl::Status Run(const KernelArgs& args, const std::byte* prepared, const float* x, int64_t rows,
                   float* y, void* scratch) const;

 private:
  // Operands of the first of the interleaved replicas; all replicas have the same weights.
  const void* Operand(const KernelArgs& args, int operand) const {
    return args.operands[operand * replicas_per_call_];
  }

  const StepProductDef def_;
  const int replicas_per_call_;
  bool good_ = true;
  Shape weights_;             // as in the call
  int64_t f32_bytes_ = 0;     // weights converted to f32; 0 unless they are bf16 in a plain layout
  int64_t packed_bytes_ = 0;  // packed weights; 0 if they are not packed here
  int64_t bias_bytes_ = 0;    // bias converted to f32; 0 if there is no bf16 bias
  int64_t bias_elements_ = 0;
  std::unique_ptr<Kernel> pack_;
  std::map<int64_t, std::unique_ptr<Kernel>> by_rows_;  // key 0: for any number of rows
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_STEP_PRODUCT_H_
