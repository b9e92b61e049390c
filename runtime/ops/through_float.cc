#include "runtime/ops/through_float.h"

#include <utility>
#include <vector>

#include "runtime/base/bfloat16.h"

namespace tpurun {
namespace {

class Widened final : public Kernel {
 public:
  Widened(const OpCall& call, const ReferenceFn& reference) : call_(call) {
    OpCall wide = call;
    for (auto* shapes : {&wide.operands, &wide.results}) {
      for (Shape& shape : *shapes) {
        if (shape.dtype == DType::kBF16) shape.dtype = DType::kF32;
      }
    }
    kernel_ = reference(wide);
  }

  absl::Status Run(const KernelArgs& args) const override {
    std::vector<std::vector<float>> buffers;
    std::vector<const void*> operands;
    std::vector<void*> results;
    const size_t copies = CopiesPerOperand(call_);
    for (size_t i = 0; i < call_.operands.size() * copies; ++i) {
      const Shape& shape = call_.operands[i / copies];
      operands.push_back(args.operands[i]);
      if (shape.dtype != DType::kBF16) continue;
      const uint16_t* from = static_cast<const uint16_t*>(args.operands[i]);
      std::vector<float>& wide = buffers.emplace_back(shape.num_elements());
      for (size_t at = 0; at < wide.size(); ++at) wide[at] = FromBFloat16Bits(from[at]);
      operands.back() = wide.data();
    }
    for (size_t i = 0; i < call_.results.size(); ++i) {
      results.push_back(args.results[i]);
      if (call_.results[i].dtype != DType::kBF16 || args.results[i] == nullptr) continue;
      results.back() = buffers.emplace_back(call_.results[i].num_elements()).data();
    }
    KernelArgs wide = args;
    wide.operands = operands.data();
    wide.results = results.data();
    absl::Status status = kernel_->Run(wide);
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i] == args.results[i]) continue;
      uint16_t* to = static_cast<uint16_t*>(args.results[i]);
      const float* from = static_cast<const float*>(results[i]);
      const Share share = ShareOf(call_.results[i], args);
      for (int64_t run = 0; run < share.runs; ++run) {
        for (int64_t at = share.begin + run * share.stride; at < share.end + run * share.stride;
             ++at)
          to[at] = BFloat16Bits(from[at]);
      }
    }
    return status;
  }

 private:
  // The elements of a result that this call computes, [begin, end) and the same in every `stride`;
  // the others belong to other parts.
  struct Share {
    int64_t begin, end;
    int64_t runs = 1, stride = 0;
  };
  Share ShareOf(const Shape& result, const KernelArgs& args) const {
    switch (FlagsOf(call_).unit) {
      case WorkUnit::kElements:
        return {args.begin, args.end};
      case WorkUnit::kRows:
        return {args.begin * result.row_elements(), args.end * result.row_elements()};
      case WorkUnit::kColumns: {
        const int64_t columns = result.dims.back();
        return {args.begin, args.end, result.num_elements() / columns, columns};
      }
      case WorkUnit::kWhole:
        return {0, result.num_elements()};
    }
    return {0, 0};
  }

  const OpCall call_;
  std::unique_ptr<Kernel> kernel_;
};

}  // namespace

std::unique_ptr<Kernel> ThroughFloat(const OpCall& call, const ReferenceFn& reference) {
  bool narrow = false;
  for (const auto* shapes : {&call.operands, &call.results}) {
    for (const Shape& shape : *shapes) narrow = narrow || shape.dtype == DType::kBF16;
  }
  if (!narrow) return reference(call);
  return std::make_unique<Widened>(call, reference);
}

}  // namespace tpurun
