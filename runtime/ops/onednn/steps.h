// A call of an op as a list of steps. A step is a oneDNN primitive or a loop of our own that works
// on operands, results and scratch memory.
//
// Three rules of oneDNN under OpenMP, each measured. First, only threads that have called
// omp_set_num_threads(1) may create and run a primitive (the thread count is frozen at creation,
// and changes bits). Second, the caller always supplies the scratchpad (the default gave wrong
// results on two threads). Third, primitives are shared and immutable, but argument arrays and
// streams are private to a worker.
#ifndef TPURUN_RUNTIME_OPS_ONEDNN_STEPS_H_
#define TPURUN_RUNTIME_OPS_ONEDNN_STEPS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "oneapi/dnnl/dnnl.hpp"
#include "runtime/ir/op_def.h"
#include "runtime/ops/precision.h"

namespace tpurun {

// Applies the first rule to the calling thread.
void UseOneThread();
const dnnl::engine& OneDnnEngine();
// Attributes for the second rule.
dnnl::primitive_attr UserScratchpad();

// The address of an array for a step: an operand or result `index` from unit `begin` on, or an
// offset in the scratch memory.
struct CallPlace {
  enum class From { kOperand, kResult, kScratch } from = From::kScratch;
  int64_t index = 0;       // of the operand or result; for kScratch the offset in bytes
  int64_t unit_bytes = 0;  // bytes per unit; 0: the array starts at its first byte for every share

  void* In(const KernelArgs& args) const;
};
// Operand `index`, starting at the share's first unit if `unit_elements` is given.
CallPlace OperandPlace(const OpCall& call, int index, int64_t unit_elements = 0);
CallPlace ResultPlace(const OpCall& call, int64_t unit_elements = 0);

struct StepArgument {
  int id;  // DNNL_ARG_...
  dnnl::memory::desc desc;
  CallPlace place;
};

// One primitive with its arguments, or a loop of our own.
class CallStep {
 public:
  CallStep(dnnl::primitive primitive, std::vector<StepArgument> arguments)
      : primitive_(std::move(primitive)), arguments_(std::move(arguments)) {}
  explicit CallStep(std::function<void(const KernelArgs& args)> loop) : loop_(std::move(loop)) {}

  void AddWorkers(int workers);
  absl::Status Run(const KernelArgs& args) const;

 private:
  struct PerWorker {
    dnnl::stream stream;
    std::vector<dnnl::memory> memories;
    std::vector<dnnl_exec_arg_t> arguments;
  };
  dnnl::primitive primitive_;
  std::vector<StepArgument> arguments_;
  std::vector<PerWorker> workers_;
  std::function<void(const KernelArgs& args)> loop_;
};

// The steps for each share size, and the scratch memory of the largest.
struct CallSteps {
  std::map<int64_t, std::vector<CallStep>> by_size;
  int64_t scratch_bytes = 0;
  int64_t copied_bytes = 0;    // KernelOffer::copied_bytes of the largest share
  std::string library_kernel;  // KernelOffer::library_kernel
  Layout weights;              // the preferred layout of operand 1
};
std::unique_ptr<Kernel> KernelOfSteps(CallSteps steps);

// Collects the steps of one share and assigns scratch memory. Throws dnnl::error if the library
// refuses a primitive.
class StepList {
 public:
  StepList(bool bf16, Precision precision) : bf16_(bf16), precision_(precision) {}

  // The type of the operands of products.
  DType dtype() const { return bf16_ ? DType::kBF16 : DType::kF32; }
  int64_t element_bytes() const { return ByteSize(dtype()); }
  dnnl::memory::data_type type() const {
    return bf16_ ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
  }

  CallPlace Scratch(int64_t bytes);
  // A part of an operand for a product: in scratch memory, or the unchanged operand.
  CallPlace Input(CallPlace from, int64_t elements, const Shape& operand, int part);
  // Sums the products of the precision in `result`, which has `elements` elements.
  // add_product(parts, to, first) adds the steps of one product.
  void SumProducts(
      CallPlace result, int64_t elements,
      const std::function<void(PartProduct parts, CallPlace to, bool first)>& add_product);
  // `from` converted to another layout in scratch memory, or `from` itself if it has that layout.
  CallPlace InLayout(CallPlace from, const dnnl::memory::desc& is,
                     const dnnl::memory::desc& wanted);
  void Reorder(CallPlace from, const dnnl::memory::desc& is, CallPlace to,
               const dnnl::memory::desc& wanted);
  // `more_scratchpad`: bytes that the primitive writes after the scratchpad that it asks for.
  template <typename PrimitiveDesc>
  void Add(const PrimitiveDesc& pd, std::vector<StepArgument> arguments,
           int64_t more_scratchpad = 0) {
    const dnnl::memory::desc scratchpad = pd.scratchpad_desc();
    if (scratchpad.get_size() > 0) {
      const auto bytes = static_cast<int64_t>(scratchpad.get_size());
      arguments.push_back({DNNL_ARG_SCRATCHPAD, scratchpad, Scratch(bytes + more_scratchpad)});
    }
    if (library_kernel_.empty()) library_kernel_ = pd.impl_info_str();
    steps_.emplace_back(dnnl::primitive(pd.get()), std::move(arguments));
  }

  // Sets the layout that the primitives prefer for the operand that a caller may have packed.
  void SetWeights(Layout layout) { weights_ = std::move(layout); }

  // Moves the steps to `steps`, as the steps for shares of `size` units.
  void MoveTo(int64_t size, CallSteps* steps);

 private:
  const bool bf16_;
  const Precision precision_;
  std::map<std::tuple<CallPlace::From, int64_t, int>, CallPlace> inputs_;  // [array, part]
  std::vector<CallStep> steps_;
  int64_t scratch_bytes_ = 0;
  int64_t copied_bytes_ = 0;
  std::string library_kernel_;  // of the first product
  Layout weights_;
};

// The steps for shares of these sizes. Size 0 is a call that cannot be partitioned.
CallSteps StepsOfShares(const OpCall& call, bool bf16, const std::vector<int64_t>& sizes,
                        const std::function<void(int64_t size, StepList& list)>& add_steps);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_ONEDNN_STEPS_H_
