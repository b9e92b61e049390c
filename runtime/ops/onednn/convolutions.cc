#include "runtime/ops/onednn/convolutions.h"

#include <utility>
#include <vector>

#include "runtime/ops/onednn/layout.h"
#include "runtime/ops/onednn/onednn.h"
#include "runtime/ops/onednn/plan.h"
#include "runtime/ops/shares.h"

namespace tpurun {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

// The descriptors of a convolution on `n` images.
struct ConvDescs {
  memory::desc x, bias, y, any_kernel, plain_kernel_f32;
  memory::dims strides, dilates, begin, end;
};

// The dimensions of oneDNN's weights: (G,) O, I, H, W.
memory::dims KernelDims(const ConvDims& d) {
  if (d.groups == 1) return {d.f, d.c, d.kh, d.kw};
  return {d.groups, d.group_f(), d.group_c(), d.kh, d.kw};
}

ConvDescs DescsOf(const ConvDims& d, int64_t n, memory::data_type type, memory::data_type x_type,
                  memory::data_type y_type) {
  const memory::dims kernel = KernelDims(d);
  return {.x = memory::desc({n, d.c, d.h, d.w}, x_type, Tag::nhwc),
          .bias = memory::desc({d.f}, memory::data_type::f32, Tag::a),
          .y = memory::desc({n, d.f, d.oh, d.ow}, y_type, Tag::nhwc),
          .any_kernel = memory::desc(kernel, type, Tag::any),
          .plain_kernel_f32 =
              memory::desc(kernel, memory::data_type::f32, d.groups == 1 ? Tag::hwio : Tag::hwigo),
          .strides = {d.sh, d.sw},
          .dilates = {d.dh - 1, d.dw - 1},
          .begin = {d.top, d.left},
          .end = {d.bottom, d.right}};
}

dnnl::convolution_forward::primitive_desc ForwardDesc(const ConvDescs& c, bool has_bias) {
  const auto kind = dnnl::prop_kind::forward_training;
  const auto algorithm = dnnl::algorithm::convolution_direct;
  using Desc = dnnl::convolution_forward::desc;
  const Desc desc = has_bias ? Desc(kind, algorithm, c.x, c.any_kernel, c.bias, c.y, c.strides,
                                    c.dilates, c.begin, c.end)
                             : Desc(kind, algorithm, c.x, c.any_kernel, c.y, c.strides, c.dilates,
                                    c.begin, c.end);
  return {desc, UserScratchpad(), OneDnnEngine()};
}

// The kernel in the layout that the primitive needs.
CallPlace KernelPlace(const ConvDims& d, const OpCall& call, int part, const memory::desc& wanted,
                      StepList& list) {
  if (d.groups == 1) return WeightsPlace(call, part, {2, 3, 1, 0}, wanted, list);
  return WeightsPlace(call, part, {3, 4, 2, 0, 1}, wanted, list,
                      {d.kh, d.kw, d.group_c(), d.groups, d.group_f()});
}

void ForwardSteps(const ConvDims& d, int64_t n, const OpCall& call, StepList& list) {
  const ConvDescs c = DescsOf(d, n, list.type(), list.type(), OneDnnType(call.results[0]));
  const int64_t image = d.h * d.w * d.c, result_image = d.oh * d.ow * d.f;
  const auto add = [&](PartProduct parts, CallPlace to, bool first) {
    const bool has_bias = first && call.operands.size() > 2;
    const auto pd = ForwardDesc(c, has_bias);
    const CallPlace x =
        list.Input(OperandPlace(call, 0, image), n * image, call.operands[0], parts.x);
    const CallPlace kernel = KernelPlace(d, call, parts.y, pd.weights_desc(), list);
    std::vector<StepArgument> arguments = {{DNNL_ARG_SRC, c.x, x},
                                           {DNNL_ARG_WEIGHTS, pd.weights_desc(), kernel},
                                           {DNNL_ARG_DST, c.y, to}};
    if (has_bias) arguments.push_back({DNNL_ARG_BIAS, c.bias, OperandPlace(call, 2)});
    list.Add(pd, std::move(arguments));
  };
  list.SumProducts(ResultPlace(call, result_image), n * result_image, add);
}

void InputGradSteps(const ConvDims& d, int64_t n, const OpCall& call, StepList& list) {
  const ConvDescs hint = DescsOf(d, n, list.type(), list.type(), list.type());
  const ConvDescs c = DescsOf(d, n, list.type(), OneDnnType(call.results[0]), list.type());
  const dnnl::convolution_backward_data::primitive_desc pd(
      {dnnl::algorithm::convolution_direct, c.x, c.any_kernel, c.y, c.strides, c.dilates, c.begin,
       c.end},
      UserScratchpad(), OneDnnEngine(), ForwardDesc(hint, false));
  const int64_t image = d.oh * d.ow * d.f, result_image = d.h * d.w * d.c;
  const auto add = [&](PartProduct parts, CallPlace to, bool) {
    const CallPlace dy =
        list.Input(OperandPlace(call, 0, image), n * image, call.operands[0], parts.x);
    const CallPlace kernel = KernelPlace(d, call, parts.y, pd.weights_desc(), list);
    list.Add(pd, {{DNNL_ARG_DIFF_DST, c.y, dy},
                  {DNNL_ARG_WEIGHTS, pd.weights_desc(), kernel},
                  {DNNL_ARG_DIFF_SRC, c.x, to}});
  };
  list.SumProducts(ResultPlace(call, result_image), n * result_image, add);
}

// The number of scratch bytes that oneDNN 2.6 does not ask for. Its 1x1 kernels for AVX-512 copy
// strided pixels as at least 16 channels each, but ask for memory for the actual number of
// channels.
int64_t MoreScratchpad(const ConvDims& d) {
  const bool strided = d.oh != d.h || d.ow != d.w;
  const int64_t missing = 16 - d.c;
  return d.kh == 1 && d.kw == 1 && strided && missing > 0 ? d.oh * d.ow * missing * 4 : 0;
}

// The kernel's gradient for `f` output channels, which are strided among all output channels. With
// groups, for all channels.
void FilterGradSteps(const ConvDims& all, int64_t f, const OpCall& call, StepList& list) {
  ConvDims d = all;
  d.f = f;
  const ConvDescs hint = DescsOf(d, d.n, list.type(), list.type(), list.type());
  const memory::desc any_f32(KernelDims(d), memory::data_type::f32, Tag::any);
  const dnnl::convolution_backward_weights::primitive_desc pd(
      {dnnl::algorithm::convolution_direct, hint.x, any_f32, hint.y, hint.strides, hint.dilates,
       hint.begin, hint.end},
      UserScratchpad(), OneDnnEngine(), ForwardDesc(hint, false));
  const memory::desc packed = pd.diff_weights_desc();
  const bool plain = packed == hint.plain_kernel_f32;
  const CallPlace scratch =
      plain ? CallPlace() : list.Scratch(static_cast<int64_t>(packed.get_size()));
  const memory::data_type y_type = OneDnnType(call.operands[1]);
  const ConvDescs among_all = DescsOf(all, d.n, list.type(), list.type(), y_type);
  const memory::dims start = {0, 0, 0, 0};
  const CallPlace dy_place = list.InLayout(OperandPlace(call, 1, 1),
                                           among_all.y.submemory_desc({d.n, f, d.oh, d.ow}, start),
                                           DescsOf(d, d.n, list.type(), list.type(), y_type).y);
  const int64_t elements = d.kh * d.kw * d.group_c() * f;
  const bool cut = f != all.f;
  const CallPlace dk = cut ? list.Scratch(elements * ByteSize(DType::kF32)) : ResultPlace(call);
  const auto add = [&](PartProduct parts, CallPlace to, bool) {
    const CallPlace x =
        list.Input(OperandPlace(call, 0), d.n * d.h * d.w * d.c, call.operands[0], parts.x);
    const CallPlace dy = list.Input(dy_place, d.n * d.oh * d.ow * f, call.operands[1], parts.y);
    list.Add(pd,
             {{DNNL_ARG_SRC, hint.x, x},
              {DNNL_ARG_DIFF_DST, hint.y, dy},
              {DNNL_ARG_DIFF_WEIGHTS, packed, plain ? to : scratch}},
             MoreScratchpad(d));
    if (!plain) list.Reorder(scratch, packed, to, hint.plain_kernel_f32);
  };
  list.SumProducts(dk, elements, add);
  if (cut) {
    list.Reorder(dk, hint.plain_kernel_f32, ResultPlace(call, 1),
                 among_all.plain_kernel_f32.submemory_desc({f, d.c, d.kh, d.kw}, start));
  }
}

CallSteps ConvSteps(ConvKind kind, const ConvDims& d, const OpCall& call, bool bf16) {
  if (kind == ConvKind::kFilterGrad) {
    const WorkUnit unit = OpFlagsOf(call).unit;
    if (unit == WorkUnit::kRows) throw dnnl::error(dnnl_unimplemented, "rows of a kernel");
    const bool whole = unit == WorkUnit::kWhole;
    return StepsOfShares(
        call, bf16, whole ? std::vector<int64_t>{0} : ShareSizes(call),
        [&](int64_t f, StepList& list) { FilterGradSteps(d, whole ? d.f : f, call, list); });
  }
  return StepsOfShares(call, bf16, ShareSizes(call), [&](int64_t n, StepList& list) {
    kind == ConvKind::kForward ? ForwardSteps(d, n, call, list) : InputGradSteps(d, n, call, list);
  });
}

}  // namespace

std::vector<KernelDef> LibraryConvKernels(ConvKind kind, ConvDims (*dims_of)(const OpCall& call)) {
  return LibraryKernels([=](const OpCall& call) {
    const ConvDims dims = dims_of(call);
    // The sums of a filter gradient run over the batch.
    const double images = kind == ConvKind::kFilterGrad ? 1.0 * dims.n : kJudgedRows;
    return LibraryCall{dims.MultiplyAdds(images),
                       [=](bool bf16) { return ConvSteps(kind, dims, call, bf16); }};
  });
}

}  // namespace tpurun
