#include "runtime/ops/onednn.h"

#include <omp.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "oneapi/dnnl/dnnl.hpp"
#include "runtime/base/bfloat16.h"
#include "runtime/base/clones.h"
#include "runtime/ops/packing.h"
#include "runtime/ops/precision.h"
#include "runtime/ops/shares.h"

namespace tpurun {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

void OneThread() {
  static thread_local const bool done = (omp_set_num_threads(1), true);
  static_cast<void>(done);
}

const dnnl::engine& Engine() {
  static const dnnl::engine& engine = *new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::primitive_attr UserScratchpad() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

// Where a step finds an array: operand or result `index` from unit `begin` on, or an offset into
// the scratch memory.
struct Place {
  enum class From { kOperand, kResult, kScratch } from = From::kScratch;
  int64_t index = 0;       // of the operand or result; the offset
  int64_t unit_bytes = 0;  // 0: from its start, whatever the share
  int64_t more_bytes = 0;  // behind that

  void* In(const KernelArgs& args) const {
    const int64_t behind = args.begin * unit_bytes + more_bytes;
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
  Place Behind(int64_t bytes) const {
    Place place = *this;
    place.more_bytes += bytes;
    return place;
  }
};

struct Argument {
  int id;  // DNNL_ARG_...
  memory::desc desc;
  Place place;
};

// The parts of the values of an array (precision.h).
TPURUN_CLONES void SmallerParts(const float* from, int64_t n, int part, uint16_t* to) {
  for (int64_t i = 0; i < n; ++i) to[i] = BFloat16Bits(PartOf(from[i], Precision::kHighest, part));
}
TPURUN_CLONES void SmallerParts(const float* from, int64_t n, int part, float* to) {
  for (int64_t i = 0; i < n; ++i) to[i] = PartOf(from[i], Precision::kHighest, part);
}
void PartsOf(const float* from, int64_t n, int part, uint16_t* to) {
  part == 0 ? RoundToBFloat16(from, n, to) : SmallerParts(from, n, part, to);
}
void PartsOf(const float* from, int64_t n, int part, float* to) {
  part == 0 ? RoundInFloat(from, n, to) : SmallerParts(from, n, part, to);
}

TPURUN_CLONES void AddArray(const float* from, int64_t n, float* to) {
  for (int64_t i = 0; i < n; ++i) to[i] += from[i];
}

// One primitive on its arguments, or a loop of our own.
class Step {
 public:
  Step(dnnl::primitive primitive, std::vector<Argument> arguments)
      : primitive_(std::move(primitive)), arguments_(std::move(arguments)) {}
  explicit Step(std::function<void(const KernelArgs& args)> loop) : loop_(std::move(loop)) {}

  void SetWorkers(int workers) {
    if (loop_) return;
    for (int worker = 0; worker < workers; ++worker) {
      PerWorker mine{.stream = dnnl::stream(Engine())};
      for (const Argument& argument : arguments_) {
        mine.memories.emplace_back(argument.desc, Engine(), nullptr);
      }
      for (size_t i = 0; i < arguments_.size(); ++i) {
        mine.arguments.push_back({arguments_[i].id, mine.memories[i].get()});
      }
      workers_.push_back(std::move(mine));
    }
  }

  absl::Status Run(const KernelArgs& args) const {
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
    return absl::InternalError(
        absl::StrCat("oneDNN failed with status ", static_cast<int>(status)));
  }

 private:
  struct PerWorker {
    dnnl::stream stream;
    std::vector<memory> memories;
    std::vector<dnnl_exec_arg_t> arguments;
  };
  dnnl::primitive primitive_;
  std::vector<Argument> arguments_;
  std::vector<PerWorker> workers_;
  std::function<void(const KernelArgs& args)> loop_;
};

// The steps for each size of share, and the scratch memory that the largest needs.
struct Steps {
  std::map<int64_t, std::vector<Step>> by_rows;
  int64_t scratch_bytes = 0;
  Layout weights;  // that operand 1 would have best
};

class LibraryKernel final : public Kernel {
 public:
  explicit LibraryKernel(Steps steps) : by_rows_(std::move(steps.by_rows)) { SetWorkers(1); }

  void SetWorkers(int workers) override {
    OneThread();
    for (auto& [rows, steps] : by_rows_) {
      for (Step& step : steps) step.SetWorkers(workers - workers_);
    }
    workers_ = workers;
  }

  absl::Status Run(const KernelArgs& args) const override {
    OneThread();
    if (args.begin == args.end) return absl::OkStatus();
    // A kernel that cannot be cut has its steps under 0.
    auto steps = by_rows_.find(args.end - args.begin);
    if (steps == by_rows_.end()) steps = by_rows_.find(0);
    if (steps == by_rows_.end()) {
      return absl::InternalError(
          absl::StrCat("no kernel for a share of ", args.end - args.begin, " rows"));
    }
    for (const Step& step : steps->second) {
      absl::Status status = step.Run(args);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  std::map<int64_t, std::vector<Step>> by_rows_;
  int workers_ = 0;
};

// Collects the steps of one share; hands out scratch memory.
class StepList {
 public:
  StepList(bool bf16, Precision precision) : bf16_(bf16), precision_(precision) {}

  DType dtype() const { return bf16_ ? DType::kBF16 : DType::kF32; }
  int64_t element_bytes() const { return ByteSize(dtype()); }
  memory::data_type type() const {
    return bf16_ ? memory::data_type::bf16 : memory::data_type::f32;
  }

  Place Scratch(int64_t bytes) {
    const Place place{Place::From::kScratch, scratch_bytes_};
    scratch_bytes_ += Aligned(bytes);
    return place;
  }
  // A part of an operand as the products take it: in scratch memory, or the operand as it is.
  Place Input(Place from, int64_t elements, const Shape& operand, int part) {
    if (precision_ == Precision::kF32 || operand.dtype == DType::kBF16) return from;
    const auto [known, is_new] = inputs_.try_emplace({from.from, from.index, part});
    if (!is_new) return known->second;
    const Place to = known->second = Scratch(elements * element_bytes());
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
  // Sums the products of the precision in `result`, of so many elements. add(parts, to, first) adds
  // the steps of one product.
  template <typename AddProduct>
  void SumProducts(Place result, int64_t elements, AddProduct add) {
    const std::vector<PartProduct> products = PartProducts(precision_);
    add(products[0], result, true);
    if (products.size() == 1) return;
    const Place term = Scratch(elements * static_cast<int64_t>(sizeof(float)));
    for (size_t i = 1; i < products.size(); ++i) {
      add(products[i], term, false);
      steps_.emplace_back([=](const KernelArgs& args) {
        AddArray(static_cast<const float*>(term.In(args)), elements,
                 static_cast<float*>(result.In(args)));
      });
    }
  }
  // `from` in another layout, in scratch memory; `from` itself when it has that layout.
  Place InLayout(Place from, const memory::desc& is, const memory::desc& wanted) {
    if (is == wanted) return from;
    const Place to = Scratch(static_cast<int64_t>(wanted.get_size()));
    Reorder(from, is, to, wanted);
    return to;
  }
  void Copy(Place from, int64_t bytes, Place to) {
    steps_.emplace_back(
        [=](const KernelArgs& args) { std::memcpy(to.In(args), from.In(args), bytes); });
  }
  void Reorder(Place from, const memory::desc& is, Place to, const memory::desc& wanted) {
    const dnnl::reorder::primitive_desc pd(Engine(), is, Engine(), wanted, UserScratchpad());
    Add(pd, {{DNNL_ARG_FROM, is, from}, {DNNL_ARG_TO, wanted, to}});
  }
  template <typename PrimitiveDesc>
  void Add(const PrimitiveDesc& pd, std::vector<Argument> arguments) {
    const memory::desc scratchpad = pd.scratchpad_desc();
    if (scratchpad.get_size() > 0) {
      arguments.push_back(
          {DNNL_ARG_SCRATCHPAD, scratchpad, Scratch(static_cast<int64_t>(scratchpad.get_size()))});
    }
    steps_.emplace_back(dnnl::primitive(pd.get()), std::move(arguments));
  }

  // How the primitives like the operand that a caller may have packed.
  void SetWeights(Layout layout) { weights_ = std::move(layout); }

  void MoveTo(int64_t key, Steps* steps) {
    steps->scratch_bytes = std::max(steps->scratch_bytes, scratch_bytes_);
    // Weights are packed for all shares or for none.
    if (steps->by_rows.empty()) steps->weights = weights_;
    if (!(steps->weights == weights_)) steps->weights = Layout();
    steps->by_rows.emplace(key, std::move(steps_));
  }

 private:
  const bool bf16_;
  const Precision precision_;
  std::map<std::tuple<Place::From, int64_t, int>, Place> inputs_;  // of an array and part
  std::vector<Step> steps_;
  int64_t scratch_bytes_ = 0;
  Layout weights_;
};

constexpr char kBf16[] = "onednn_bf16";
constexpr char kF32[] = "onednn_f32";

StepList StepsFor(const OpCall& call, const std::string& implementation) {
  return StepList(implementation == kBf16, PrecisionOf(call.attrs));
}

memory::data_type TypeOf(const Shape& shape) {
  return shape.dtype == DType::kBF16 ? memory::data_type::bf16 : memory::data_type::f32;
}

// Operand `index`; with `unit_elements`, from the share's first unit on.
Place OperandOf(const OpCall& call, int index, int64_t unit_elements = 0) {
  return {Place::From::kOperand, index, unit_elements * ByteSize(call.operands[index].dtype)};
}
Place ResultOf(const OpCall& call, int64_t unit_elements = 0) {
  return {Place::From::kResult, 0, unit_elements * ByteSize(call.results[0].dtype)};
}

// The descriptors of a convolution on `n` images.
struct ConvDescs {
  memory::desc x, bias, y, any_kernel, plain_kernel_f32;
  dnnl::memory::dims strides, begin, end;
};

ConvDescs DescsOf(const ConvDims& d, int64_t n, memory::data_type type, memory::data_type x_type,
                  memory::data_type y_type) {
  const memory::dims kernel = {d.f, d.c, d.kh, d.kw};
  return {.x = memory::desc({n, d.c, d.h, d.w}, x_type, Tag::nhwc),
          .bias = memory::desc({d.f}, memory::data_type::f32, Tag::a),
          .y = memory::desc({n, d.f, d.oh, d.ow}, y_type, Tag::nhwc),
          .any_kernel = memory::desc(kernel, type, Tag::any),
          .plain_kernel_f32 = memory::desc(kernel, memory::data_type::f32, Tag::hwio),
          .strides = {d.sh, d.sw},
          .begin = {d.top, d.left},
          .end = {d.bottom, d.right}};
}

dnnl::convolution_forward::primitive_desc ForwardDesc(const ConvDescs& c, bool has_bias) {
  const auto kind = dnnl::prop_kind::forward_training;
  const auto algorithm = dnnl::algorithm::convolution_direct;
  using Desc = dnnl::convolution_forward::desc;
  const Desc desc =
      has_bias ? Desc(kind, algorithm, c.x, c.any_kernel, c.bias, c.y, c.strides, c.begin, c.end)
               : Desc(kind, algorithm, c.x, c.any_kernel, c.y, c.strides, c.begin, c.end);
  return {desc, UserScratchpad(), Engine()};
}

// The layout of a descriptor; plain for one that is not blocked, or has more to it.
Layout LayoutOf(const memory::desc& desc) {
  const dnnl_memory_desc_t& md = desc.data;
  if (md.format_kind != dnnl_blocked || md.extra.flags != 0 || md.offset0 != 0) return {};
  const dnnl_blocking_desc_t& blocking = md.format_desc.blocking;
  BlockedLayout layout;
  layout.strides.assign(blocking.strides, blocking.strides + md.ndims);
  for (int i = 0; i < blocking.inner_nblks; ++i) {
    layout.blocks.push_back({static_cast<int>(blocking.inner_idxs[i]), blocking.inner_blks[i]});
  }
  return layout.Named(static_cast<int64_t>(desc.get_size()));
}

// A shape, plain or in a blocked layout, as a descriptor.
memory::desc DescOf(const Shape& shape) {
  const memory::data_type type = TypeOf(shape);
  memory::dims strides(shape.dims.size(), 1);
  for (size_t i = strides.size(); i-- > 1;) strides[i - 1] = strides[i] * shape.dims[i];
  memory::desc desc(shape.dims, type, strides);
  if (shape.layout.plain()) return desc;
  const std::optional<BlockedLayout> layout = ParseBlockedLayout(shape);
  if (!layout || layout->blocks.size() > DNNL_MAX_NDIMS) {
    throw dnnl::error(dnnl_invalid_arguments, "unknown layout");
  }
  dnnl_blocking_desc_t& blocking = desc.data.format_desc.blocking;
  std::copy(layout->strides.begin(), layout->strides.end(), blocking.strides);
  for (const BlockedLayout::Block& block : layout->blocks) {
    blocking.inner_idxs[blocking.inner_nblks] = block.dimension;
    blocking.inner_blks[blocking.inner_nblks++] = block.size;
  }
  for (size_t dim = 0; dim < shape.dims.size(); ++dim) {
    int64_t block = 1;
    for (const BlockedLayout::Block& inner : layout->blocks) {
      if (inner.dimension == static_cast<int>(dim)) block *= inner.size;
    }
    desc.data.padded_dims[dim] = (shape.dims[dim] + block - 1) / block * block;
  }
  if (static_cast<int64_t>(desc.get_size()) != shape.layout.bytes) {
    throw dnnl::error(dnnl_invalid_arguments, "unknown layout");
  }
  return desc;
}

// Operand 1 as the primitive wants it, packed by the caller or brought into the layout here. Axis i
// of the shape is axis axes[i] of the primitive's weights.
Place WeightsPlace(const OpCall& call, int part, const std::vector<int>& axes,
                   const memory::desc& wanted, StepList& list) {
  const Shape& shape = call.operands[1];
  Shape typed = shape;
  typed.dtype = list.dtype();
  std::vector<int> back(axes.size());
  for (size_t i = 0; i < axes.size(); ++i) back[axes[i]] = static_cast<int>(i);
  const bool as_it_is = shape.dtype == list.dtype() && wanted.permute_axes(back) == DescOf(shape);
  if (!as_it_is) list.SetWeights(LayoutOf(wanted.permute_axes(back)));
  if (!shape.layout.plain() && shape != typed) {
    throw dnnl::error(dnnl_invalid_arguments, "packed weights of another type");
  }
  const Place weights = shape.layout.plain()
                            ? list.Input(OperandOf(call, 1), shape.num_elements(), shape, part)
                            : OperandOf(call, 1);
  return list.InLayout(weights, DescOf(typed).permute_axes(axes), wanted);
}
// HWIO among oneDNN's axes of weights: O, I, H, W.
std::vector<int> KernelAxes() { return {2, 3, 1, 0}; }

void ForwardSteps(const ConvDims& d, int64_t n, const OpCall& call, StepList& list) {
  const ConvDescs c = DescsOf(d, n, list.type(), list.type(), TypeOf(call.results[0]));
  const int64_t image = d.h * d.w * d.c, result_image = d.oh * d.ow * d.f;
  const auto add = [&](PartProduct parts, Place to, bool first) {
    const bool has_bias = first && call.operands.size() > 2;
    const auto pd = ForwardDesc(c, has_bias);
    const Place x = list.Input(OperandOf(call, 0, image), n * image, call.operands[0], parts.x);
    const Place kernel = WeightsPlace(call, parts.y, KernelAxes(), pd.weights_desc(), list);
    std::vector<Argument> arguments = {{DNNL_ARG_SRC, c.x, x},
                                       {DNNL_ARG_WEIGHTS, pd.weights_desc(), kernel},
                                       {DNNL_ARG_DST, c.y, to}};
    if (has_bias) arguments.push_back({DNNL_ARG_BIAS, c.bias, OperandOf(call, 2)});
    list.Add(pd, std::move(arguments));
  };
  list.SumProducts(ResultOf(call, result_image), n * result_image, add);
}

void InputGradSteps(const ConvDims& d, int64_t n, const OpCall& call, StepList& list) {
  const ConvDescs hint = DescsOf(d, n, list.type(), list.type(), list.type());
  const ConvDescs c = DescsOf(d, n, list.type(), TypeOf(call.results[0]), list.type());
  const dnnl::convolution_backward_data::primitive_desc pd(
      {dnnl::algorithm::convolution_direct, c.x, c.any_kernel, c.y, c.strides, c.begin, c.end},
      UserScratchpad(), Engine(), ForwardDesc(hint, false));
  const int64_t image = d.oh * d.ow * d.f, result_image = d.h * d.w * d.c;
  const auto add = [&](PartProduct parts, Place to, bool) {
    const Place dy = list.Input(OperandOf(call, 0, image), n * image, call.operands[0], parts.x);
    const Place kernel = WeightsPlace(call, parts.y, KernelAxes(), pd.weights_desc(), list);
    list.Add(pd, {{DNNL_ARG_DIFF_DST, c.y, dy},
                  {DNNL_ARG_WEIGHTS, pd.weights_desc(), kernel},
                  {DNNL_ARG_DIFF_SRC, c.x, to}});
  };
  list.SumProducts(ResultOf(call, result_image), n * result_image, add);
}

// The gradient of `f` of the output channels, which lie between the others.
void FilterGradSteps(const ConvDims& all, int64_t f, const OpCall& call, StepList& list) {
  ConvDims d = all;
  d.f = f;
  const ConvDescs hint = DescsOf(d, d.n, list.type(), list.type(), list.type());
  const memory::desc any_f32({d.f, d.c, d.kh, d.kw}, memory::data_type::f32, Tag::any);
  const dnnl::convolution_backward_weights::primitive_desc pd(
      {dnnl::algorithm::convolution_direct, hint.x, any_f32, hint.y, hint.strides, hint.begin,
       hint.end},
      UserScratchpad(), Engine(), ForwardDesc(hint, false));
  const memory::desc packed = pd.diff_weights_desc();
  const bool plain = packed == hint.plain_kernel_f32;
  const Place scratch = plain ? Place() : list.Scratch(static_cast<int64_t>(packed.get_size()));
  const memory::data_type y_type = TypeOf(call.operands[1]);
  const ConvDescs among_all = DescsOf(all, d.n, list.type(), list.type(), y_type);
  const memory::dims start = {0, 0, 0, 0};
  const Place dy_place =
      list.InLayout(OperandOf(call, 1, 1), among_all.y.submemory_desc({d.n, f, d.oh, d.ow}, start),
                    DescsOf(d, d.n, list.type(), list.type(), y_type).y);
  const int64_t elements = d.kh * d.kw * d.c * f;
  const bool cut = f != all.f;
  const Place dk = cut ? list.Scratch(elements * ByteSize(DType::kF32)) : ResultOf(call);
  const auto add = [&](PartProduct parts, Place to, bool) {
    const Place x =
        list.Input(OperandOf(call, 0), d.n * d.h * d.w * d.c, call.operands[0], parts.x);
    const Place dy = list.Input(dy_place, d.n * d.oh * d.ow * f, call.operands[1], parts.y);
    list.Add(pd, {{DNNL_ARG_SRC, hint.x, x},
                  {DNNL_ARG_DIFF_DST, hint.y, dy},
                  {DNNL_ARG_DIFF_WEIGHTS, packed, plain ? to : scratch}});
    if (!plain) list.Reorder(scratch, packed, to, hint.plain_kernel_f32);
  };
  list.SumProducts(dk, elements, add);
  if (cut) {
    list.Reorder(dk, hint.plain_kernel_f32, ResultOf(call, 1),
                 among_all.plain_kernel_f32.submemory_desc({f, d.c, d.kh, d.kw}, start));
  }
}

Steps ConvSteps(ConvKind kind, const ConvDims& d, const OpCall& call,
                const std::string& implementation) {
  OneThread();
  Steps steps;
  const auto add = [&](int64_t key, auto fill) {
    StepList list = StepsFor(call, implementation);
    fill(list);
    list.MoveTo(key, &steps);
  };
  if (kind == ConvKind::kFilterGrad) {
    if (FlagsOf(call).unit == WorkUnit::kWhole) {
      add(0, [&](StepList& list) { FilterGradSteps(d, d.f, call, list); });
      return steps;
    }
    for (const int64_t f : ShareSizes(call))
      add(f, [&](StepList& list) { FilterGradSteps(d, f, call, list); });
    return steps;
  }
  for (const int64_t n : ShareSizes(call)) {
    add(n, [&](StepList& list) {
      kind == ConvKind::kForward ? ForwardSteps(d, n, call, list)
                                 : InputGradSteps(d, n, call, list);
    });
  }
  return steps;
}

// The library's general matrix product sums the last rows in another order than others, and all of
// them in another when they are more: rows that must not depend on that are given to it in blocks
// of this size. Larger ones make more of few rows, smaller ones read y more often.
constexpr int64_t kBlockRows = 12;

// The rows of a block; `m` where the number of rows changes no bit of a row.
int64_t BlockRows(const MatMulDims& d, int64_t m, const dnnl::matmul::primitive_desc& pd) {
  const bool general = std::strstr(pd.impl_info_str(), "gemm") != nullptr;
  return general && !d.transpose_x && m > 0 ? kBlockRows : m;
}

// z = x y on `m` rows of z, which are rows of x, or columns of it when it comes transposed.
void MatMulSteps(const MatMulDims& d, int64_t m, const OpCall& call, StepList& list) {
  const memory::dims x_strides = d.transpose_x ? memory::dims{1, d.m} : memory::dims{d.k, 1};
  const memory::desc any_y({d.k, d.n}, list.type(), Tag::any);
  const memory::desc bias({1, d.n}, memory::data_type::f32, Tag::ab);
  const auto x_of = [&](int64_t rows) { return memory::desc({rows, d.k}, list.type(), x_strides); };
  const auto z_of = [&](int64_t rows) {
    return memory::desc({rows, d.n}, TypeOf(call.results[0]), Tag::ab);
  };
  const auto desc_of = [&](int64_t rows, bool has_bias) {
    const dnnl::matmul::desc desc = has_bias
                                        ? dnnl::matmul::desc(x_of(rows), any_y, bias, z_of(rows))
                                        : dnnl::matmul::desc(x_of(rows), any_y, z_of(rows));
    return dnnl::matmul::primitive_desc(desc, UserScratchpad(), Engine());
  };
  const int64_t x_rows = d.transpose_x ? d.m : m;
  const int64_t x_row_bytes = d.k * list.element_bytes();
  const int64_t z_row_bytes = d.n * ByteSize(call.results[0].dtype);
  const auto add = [&](PartProduct parts, Place to, bool first) {
    const bool has_bias = first && call.operands.size() > 2;
    const int64_t rows = BlockRows(d, m, desc_of(m, has_bias));
    const dnnl::matmul::primitive_desc pd = desc_of(rows, has_bias);
    Place left = list.Input(OperandOf(call, 0, d.transpose_x ? 0 : d.k), x_rows * d.k,
                            call.operands[0], parts.x);
    if (d.transpose_x) left.unit_bytes = list.element_bytes();
    const std::vector<int> axes = d.transpose_y ? std::vector<int>{1, 0} : std::vector<int>{0, 1};
    const Place right = WeightsPlace(call, parts.y, axes, pd.weights_desc(), list);
    const auto multiply = [&](Place from, Place result) {
      std::vector<Argument> arguments = {{DNNL_ARG_SRC, x_of(rows), from},
                                         {DNNL_ARG_WEIGHTS, pd.weights_desc(), right},
                                         {DNNL_ARG_DST, z_of(rows), result}};
      if (has_bias) arguments.push_back({DNNL_ARG_BIAS, bias, OperandOf(call, 2)});
      list.Add(pd, std::move(arguments));
    };
    if (m < rows) {
      const Place some = list.Scratch(rows * x_row_bytes), all = list.Scratch(rows * z_row_bytes);
      // The rows behind are whatever the scratch memory holds; nobody reads theirs.
      list.Copy(left, m * x_row_bytes, some);
      multiply(some, all);
      list.Copy(all, m * z_row_bytes, to);
      return;
    }
    // The last block begins before the one ahead of it ends, and computes the same again.
    for (int64_t begin = 0; begin < m; begin += rows) {
      const int64_t row = std::min(begin, m - rows);
      multiply(left.Behind(row * x_row_bytes), to.Behind(row * z_row_bytes));
    }
  };
  list.SumProducts(ResultOf(call, d.n), m * d.n, add);
}

Steps MatMulStepsOf(const MatMulDims& d, const OpCall& call, const std::string& implementation) {
  OneThread();
  Steps steps;
  for (const int64_t m : ShareSizes(call)) {
    StepList list = StepsFor(call, implementation);
    MatMulSteps(d, m, call, list);
    list.MoveTo(m, &steps);
  }
  return steps;
}

// The rows by which work on a batch is judged, whatever their number: which kernel computes a row,
// and so its bits, must not depend on how many others are computed with it.
constexpr double kJudgedRows = 16;

// Plans by trying: what the library refuses is left to the reference.
template <typename Make>
KernelPlan PlanByTrying(const OpCall& call, const Machine& machine, double multiply_adds,
                        Make make) {
  // Nothing else reads packed weights.
  KernelPlan refused;
  if (!call.operands[1].layout.plain()) refused.implementation = "none";
  if (multiply_adds < kLibraryMultiplyAdds || !machine.avx2) return refused;
  const Precision precision = PrecisionOf(call.attrs);
  KernelPlan plan;
  plan.implementation = precision != Precision::kF32 && machine.avx512 ? kBf16 : kF32;
  const bool takes_bf16 = precision == Precision::kDefault && plan.implementation == kBf16;
  for (const auto* shapes : {&call.operands, &call.results}) {
    for (const Shape& shape : *shapes) {
      if (shape.dtype == DType::kBF16 && !takes_bf16) return refused;
    }
  }
  try {
    const Steps steps = make(plan.implementation);
    plan.scratch_bytes = steps.scratch_bytes;
    plan.narrow = takes_bf16;
    if (!steps.weights.plain() && (takes_bf16 || precision == Precision::kF32)) {
      plan.best_operands = call.operands;
      plan.best_operands[1].dtype = takes_bf16 ? DType::kBF16 : DType::kF32;
      plan.best_operands[1].layout = steps.weights;
    } else if (!call.operands[1].layout.plain()) {
      plan.best_operands = call.operands;
    }
  } catch (const dnnl::error&) {
    return refused;
  }
  return plan;
}

template <typename Make>
std::unique_ptr<Kernel> MakeByPlan(const OpCall& call, const KernelPlan& plan, Make make) {
  if (plan.implementation == "reference") return call.op->reference(call);
  if (plan.implementation != kBf16 && plan.implementation != kF32) return nullptr;
  try {
    return std::make_unique<LibraryKernel>(make(plan.implementation));
  } catch (const dnnl::error&) {
    return nullptr;
  }
}

}  // namespace

KernelPlan PlanConv(ConvKind kind, const ConvDims& dims, const OpCall& call,
                    const Machine& machine) {
  const double images = kind == ConvKind::kForward ? kJudgedRows : 1.0 * dims.n;
  const double work = images * dims.oh * dims.ow * dims.kh * dims.kw * dims.c * dims.f;
  return PlanByTrying(call, machine, work, [&](const std::string& implementation) {
    return ConvSteps(kind, dims, call, implementation);
  });
}

std::unique_ptr<Kernel> MakeConv(ConvKind kind, const ConvDims& dims, const OpCall& call,
                                 const KernelPlan& plan) {
  return MakeByPlan(call, plan, [&](const std::string& implementation) {
    return ConvSteps(kind, dims, call, implementation);
  });
}

KernelPlan PlanMatMul(const MatMulDims& dims, const OpCall& call, const Machine& machine) {
  // Where x comes transposed, the sums run over the batch.
  const double rows = dims.transpose_x ? 1.0 * dims.m : kJudgedRows;
  return PlanByTrying(
      call, machine, rows * dims.k * dims.n,
      [&](const std::string& implementation) { return MatMulStepsOf(dims, call, implementation); });
}

std::unique_ptr<Kernel> MakeMatMul(const MatMulDims& dims, const OpCall& call,
                                   const KernelPlan& plan) {
  return MakeByPlan(call, plan, [&](const std::string& implementation) {
    return MatMulStepsOf(dims, call, implementation);
  });
}

std::string OneDnnVersion() {
  const dnnl_version_t* version = dnnl_version();
  return absl::StrCat("oneDNN ", version->major, ".", version->minor, ".", version->patch);
}

}  // namespace tpurun

#ifdef TPURUN_SANITIZED
// ThreadSanitizer does not see the guards of the statics of a library that is not instrumented.
extern "C" const char* __tsan_default_suppressions();  // NOLINT
const char* __tsan_default_suppressions() { return "called_from_lib:libdnnl.so\n"; }
#endif
