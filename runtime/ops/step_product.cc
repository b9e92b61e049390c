#include "runtime/ops/step_product.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/bfloat16.h"
#include "runtime/base/status.h"
#include "runtime/ir/pass_ops.h"
#include "runtime/ops/op_list.h"
#include "runtime/ops/shares.h"

namespace tpurun {
namespace {

// bf16 weights that are not packed are converted to f32 before the first step.
Shape F32Weights(const StepProductDef& def, const OpCall& call) {
  Shape weights = call.operands[def.weights];
  if (weights.layout.plain()) weights.dtype = DType::kF32;
  return weights;
}

// The product as a call of matmul.
OpCall ProductOf(const StepProductDef& def, const OpCall& call, int64_t rows,
                 const Shape& weights) {
  static const OpDef& matmul = OpOfFamily(MatMulOps(), "matmul");
  const int inner = def.transposed ? 1 : 0;
  OpCall product{.op = &matmul,
                 .attrs = {{"precision", call.attrs.Int("precision")}},
                 .operands = {Shape{DType::kF32, {rows, weights.dims[inner]}}, weights},
                 .results = {Shape{DType::kF32, {rows, weights.dims[1 - inner]}}},
                 .needed = {true}};
  if (def.transposed) product.attrs.Set("transpose_y", true);
  if (def.bias >= 0) product.operands.push_back(Shape{DType::kF32, {weights.dims[1 - inner]}});
  return product;
}

}  // namespace

std::optional<KernelOffer> OfferStepProducts(const std::vector<StepProductDef>& products,
                                             const OpCall& call, const KernelDef& matmul,
                                             const Machine& machine) {
  std::vector<OpCall> calls;
  std::vector<Shape> best = call.operands;
  for (const StepProductDef& def : products) {
    for (const int64_t rows : ShareSizes(call)) {
      calls.push_back(ProductOf(def, call, rows, F32Weights(def, call)));
      const std::optional<KernelOffer> one = matmul.offer(calls.back(), machine);
      if (!one) return std::nullopt;
      if (!one->best_operands.empty()) best[def.weights] = one->best_operands[1];
    }
  }
  std::optional<KernelOffer> offer =
      OfferForAll(calls, [&](const OpCall& product) { return matmul.offer(product, machine); });
  if (!offer) return std::nullopt;
  const auto packed = [](const Shape& operand) { return !operand.layout.plain(); };
  if (best != call.operands || std::any_of(best.begin(), best.end(), packed))
    offer->best_operands = std::move(best);
  return offer;
}

StepProduct::StepProduct(const StepProductDef& def, const OpCall& call)
    : def_(def), replicas_per_call_(call.replicas_per_call), weights_(call.operands[def.weights]) {
  by_rows_[0] = MakeReference(ProductOf(def, call, 1, weights_));
}

StepProduct::StepProduct(const StepProductDef& def, const OpCall& call, const KernelDef& matmul,
                         const KernelOffer& offer, const std::vector<int64_t>& sizes)
    : def_(def), replicas_per_call_(call.replicas_per_call), weights_(call.operands[def.weights]) {
  Shape taken = F32Weights(def, call);
  if (taken != weights_) f32_bytes_ = Aligned(taken.bytes());
  if (!offer.best_operands.empty() && offer.best_operands[def.weights] != taken) {
    const Shape& best = offer.best_operands[def.weights];
    const OpCall pack{.op = &OpOfFamily(PackingOps(), "pack"),
                      .attrs = PackAttrs(best),
                      .operands = {taken},
                      .results = {best},
                      .needed = {true}};
    pack_ = pack.op->reference(pack);
    packed_bytes_ = Aligned(best.bytes());
    taken = best;
  }
  if (def.bias >= 0 && call.operands[def.bias].dtype == DType::kBF16) {
    bias_elements_ = call.operands[def.bias].num_elements();
    bias_bytes_ = Aligned(bias_elements_ * static_cast<int64_t>(sizeof(float)));
  }
  for (const int64_t rows : sizes) {
    by_rows_[rows] = matmul.make(ProductOf(def, call, rows, taken), offer);
    good_ = good_ && by_rows_[rows] != nullptr;
  }
}

void StepProduct::SetWorkers(int workers) {
  for (auto& [rows, kernel] : by_rows_) kernel->SetWorkers(workers);
}

absl::Status StepProduct::Prepare(const KernelArgs& args, std::byte* prepared) const {
  const void* weights = Operand(args, def_.weights);
  if (bias_bytes_ > 0) {
    FromBFloat16(static_cast<const uint16_t*>(Operand(args, def_.bias)), bias_elements_,
                 reinterpret_cast<float*>(prepared + f32_bytes_ + packed_bytes_));
  }
  if (f32_bytes_ > 0) {
    FromBFloat16(static_cast<const uint16_t*>(weights), weights_.num_elements(),
                 reinterpret_cast<float*>(prepared));
    weights = prepared;
  }
  if (packed_bytes_ == 0) return absl::OkStatus();
  void* packed = prepared + f32_bytes_;
  return pack_->Run({.operands = &weights,
                     .results = &packed,
                     .worker = args.worker,
                     .begin = 0,
                     .end = weights_.dims[0]});
}

absl::Status StepProduct::Run(const KernelArgs& args, const std::byte* prepared, const float* x,
                              int64_t rows, float* y, void* scratch) const {
  auto kernel = by_rows_.find(rows);
  if (kernel == by_rows_.end()) kernel = by_rows_.find(0);
  if (kernel == by_rows_.end()) {
    return absl::InternalError(absl::StrCat("no kernel for a share of ", rows, " rows"));
  }
  const void* const weights = packed_bytes_ > 0 ? prepared + f32_bytes_
                              : f32_bytes_ > 0  ? prepared
                                                : Operand(args, def_.weights);
  const void* const bias = bias_bytes_ > 0  ? prepared + f32_bytes_ + packed_bytes_
                           : def_.bias >= 0 ? Operand(args, def_.bias)
                                            : nullptr;
  const void* const operands[] = {x, weights, bias};
  void* const results[] = {y};
  return kernel->second->Run({.operands = operands,
                              .results = results,
                              .scratch = scratch,
                              .worker = args.worker,
                              .begin = 0,
                              .end = rows});
}

}  // namespace tpurun
