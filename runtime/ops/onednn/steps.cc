#include "runtime/ops/onednn/steps.h"

#include <omp.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "runtime/base/bfloat16.h"
#include "runtime/base/clones.h"

namespace tpurun {
namespace {

using dnnl::memory;

// A part of the values of an array (precision.h).
TPURUN_CLONES void SmallerParts(const float* from, int64_t n, int part, uint16_t* to) {
  for (int64_t i = 0; i < n; ++i) to[i] = BFloat16Bits(BFloat16Part(from[i], part));
}
void PartsOf(const float* from, int64_t n, int part, uint16_t* to) {
  part == 0 ? RoundToBFloat16(from, n, to) : SmallerParts(from, n, part, to);
}
void PartsOf(const float* from, int64_t n, int part, float* to) {
  part == 0 ? RoundInFloat(from, n, to) : BFloat16Parts(from, n, part, to);
}

TPURUN_CLONES void AddArray(const float* from, int64_t n, float* to) {
  for (int64_t i = 0; i < n; ++i) to[i] += from[i];
}

class StepsKernel final : public Kernel {
 public:
  explicit StepsKernel(CallSteps steps) : by_size_(std::move(steps.by_size)) { SetWorkers(1); }

  void SetWorkers(int workers) override {
    UseOneThread();
    for (auto& [size, steps] : by_size_) {
      for (CallStep& step : steps) step.AddWorkers(workers - workers_);
    }
    workers_ = workers;
  }

  absl::Status Run(const KernelArgs& args) const override {
    UseOneThread();
    if (args.begin == args.end) return absl::OkStatus();
    auto steps = by_size_.find(args.end - args.begin);
    if (steps == by_size_.end()) steps = by_size_.find(0);
    if (steps == by_size_.end()) {
      return absl::InternalError(absl::StrCat("no kernel for a share of ", args.end - args.begin));
    }
    for (const CallStep& step : steps->second) {
      absl::Status status = step.Run(args);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  std::map<int64_t, std::vector<CallStep>> by_size_;
  int workers_ = 0;
};

}  // namespace

void UseOneThread() {
  static thread_local const bool done = (omp_set_num_threads(1), true);
  static_cast<void>(done);
}

const dnnl::engine& OneDnnEngine() {
  static const dnnl::engine& engine = *new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::primitive_attr UserScratchpad() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

void* CallPlace::In(const KernelArgs& args) const {
  const int64_t behind = args.begin * unit_bytes;
  switch (from) {
    case From::kOperand:
      return const_cast<char*>(static_cast<const char*>(args.operands[index])) + behind;
    case From::kResult:
      return static_cast<char*>(args.results[index]) + behind;
    case From::kScratch:
      return static_cast<char*>(args.scratch) + index + behind;
  }
  return nullptr;
}

CallPlace OperandPlace(const OpCall& call, int index, int64_t unit_elements) {
  return {CallPlace::From::kOperand, index, unit_elements * ByteSize(call.operands[index].dtype)};
}

CallPlace ResultPlace(const OpCall& call, int64_t unit_elements) {
  return {CallPlace::From::kResult, 0, unit_elements * ByteSize(call.results[0].dtype)};
}

void CallStep::AddWorkers(int workers) {
  if (loop_) return;
  for (int worker = 0; worker < workers; ++worker) {
    PerWorker mine{.stream = dnnl::stream(OneDnnEngine())};
    for (const StepArgument& argument : arguments_) {
      mine.memories.emplace_back(argument.desc, OneDnnEngine(), nullptr);
    }
    for (size_t i = 0; i < arguments_.size(); ++i) {
      mine.arguments.push_back({arguments_[i].id, mine.memories[i].get()});
    }
    workers_.push_back(std::move(mine));
  }
}

absl::Status CallStep::Run(const KernelArgs& args) const {
  if (loop_) {
    loop_(args);
    return absl::OkStatus();
  }
  const PerWorker& mine = workers_[args.worker];
  for (size_t i = 0; i < arguments_.size(); ++i) {
    dnnl_memory_set_data_handle_v2(mine.memories[i].get(), arguments_[i].place.In(args),
                                   mine.stream.get());
  }
  const dnnl_status_t status =
      dnnl_primitive_execute(primitive_.get(), mine.stream.get(),
                             static_cast<int>(mine.arguments.size()), mine.arguments.data());
  if (status == dnnl_success) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("oneDNN failed with status ", static_cast<int>(status)));
}

std::unique_ptr<Kernel> KernelOfSteps(CallSteps steps) {
  return std::make_unique<StepsKernel>(std::move(steps));
}

CallPlace StepList::Scratch(int64_t bytes) {
  const CallPlace place{CallPlace::From::kScratch, scratch_bytes_};
  scratch_bytes_ += Aligned(bytes);
  return place;
}

CallPlace StepList::Input(CallPlace from, int64_t elements, const Shape& operand, int part) {
  if (precision_ == Precision::kF32 || operand.dtype == DType::kBF16) return from;
  const auto [known, is_new] = inputs_.try_emplace({from.from, from.index, part});
  if (!is_new) return known->second;
  const CallPlace to = known->second = Scratch(elements * element_bytes());
  copied_bytes_ += elements * element_bytes();
  if (elements == 0) return to;
  steps_.emplace_back([=, bf16 = bf16_](const KernelArgs& args) {
    const float* const values = static_cast<const float*>(from.In(args));
    if (bf16) {
      PartsOf(values, elements, part, static_cast<uint16_t*>(to.In(args)));
    } else {
      PartsOf(values, elements, part, static_cast<float*>(to.In(args)));
    }
  });
  return to;
}

void StepList::SumProducts(
    CallPlace result, int64_t elements,
    const std::function<void(PartProduct parts, CallPlace to, bool first)>& add_product) {
  const std::vector<PartProduct> products = PartProducts(precision_);
  add_product(products[0], result, true);
  if (products.size() == 1) return;
  const CallPlace term = Scratch(elements * static_cast<int64_t>(sizeof(float)));
  for (size_t i = 1; i < products.size(); ++i) {
    add_product(products[i], term, false);
    steps_.emplace_back([=](const KernelArgs& args) {
      AddArray(static_cast<const float*>(term.In(args)), elements,
               static_cast<float*>(result.In(args)));
    });
  }
}

CallPlace StepList::InLayout(CallPlace from, const memory::desc& is, const memory::desc& wanted) {
  if (is == wanted) return from;
  const CallPlace to = Scratch(static_cast<int64_t>(wanted.get_size()));
  Reorder(from, is, to, wanted);
  return to;
}

void StepList::Reorder(CallPlace from, const memory::desc& is, CallPlace to,
                       const memory::desc& wanted) {
  const dnnl::reorder::primitive_desc pd(OneDnnEngine(), is, OneDnnEngine(), wanted,
                                         UserScratchpad());
  copied_bytes_ += static_cast<int64_t>(wanted.get_size());
  const std::string product = library_kernel_;
  Add(pd, {{DNNL_ARG_FROM, is, from}, {DNNL_ARG_TO, wanted, to}});
  library_kernel_ = product;
}

void StepList::MoveTo(int64_t size, CallSteps* steps) {
  steps->scratch_bytes = std::max(steps->scratch_bytes, scratch_bytes_);
  steps->copied_bytes = std::max(steps->copied_bytes, copied_bytes_);
  steps->library_kernel = library_kernel_;
  // Weights are packed for all sizes of shares or for none.
  if (steps->by_size.empty()) steps->weights = weights_;
  if (!(steps->weights == weights_)) steps->weights = Layout();
  steps->by_size.emplace(size, std::move(steps_));
}

CallSteps StepsOfShares(const OpCall& call, bool bf16, const std::vector<int64_t>& sizes,
                        const std::function<void(int64_t size, StepList& list)>& add_steps) {
  CallSteps steps;
  for (const int64_t size : sizes) {
    StepList list(bf16, PrecisionOf(call.attrs));
    add_steps(size, list);
    list.MoveTo(size, &steps);
  }
  return steps;
}

}  // namespace tpurun
