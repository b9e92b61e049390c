#include "runtime/ops/onednn/products.h"

#include <cstring>
#include <functional>
#include <numeric>
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

// A transposed x is reordered first if the product has at least this many columns. Such a product
// reads x so often that this is faster, by a third for 512x800x2048 on AMX. The library would
// transpose x during the product.
constexpr int64_t kColumnsToStraighten = 512;
constexpr int64_t kDepthToStraighten = 64;

// The library's general matrix product sums the last rows in another order than the others. With
// more rows it sums all of them in another order. It is refused where the bits of a row must not
// depend on this.
void RefuseGeneralProduct(const dnnl::matmul::primitive_desc& pd) {
  if (std::strstr(pd.impl_info_str(), "gemm") != nullptr)
    throw dnnl::error(dnnl_unimplemented, "the bits of a row depend on the other rows");
}

// The first n columns of y from the share's first one on, as the library wants them.
CallPlace ColumnsOfY(const MatMulDims& d, int64_t n, const OpCall& call, int part,
                     const memory::desc& wanted, StepList& list) {
  const Shape& shape = call.operands[1];
  if (!shape.layout.plain()) throw dnnl::error(dnnl_invalid_arguments, "packed columns");
  CallPlace columns = list.Input(OperandPlace(call, 1), d.k * d.n, shape, part);
  columns.unit_bytes = list.element_bytes();
  return list.InLayout(columns, memory::desc({d.k, n}, list.type(), memory::dims{d.n, 1}), wanted);
}

// z = x y for so many units of z: rows, which are rows of x or columns of a transposed x, or
// columns.
void MatMulSteps(const MatMulDims& d, int64_t units, const OpCall& call, StepList& list) {
  const bool by_columns = ByColumns(call);
  const int64_t m = by_columns ? d.m : units, n = by_columns ? units : d.n;
  const bool straighten = d.transpose_x && list.dtype() == DType::kBF16 &&
                          d.n >= kColumnsToStraighten && d.k >= kDepthToStraighten;
  const memory::dims transposed = {1, d.m};
  const memory::dims x_strides = d.transpose_x && !straighten ? transposed : memory::dims{d.k, 1};
  const memory::desc x({m, d.k}, list.type(), x_strides);
  const memory::desc y({d.k, n}, list.type(), Tag::any);
  const memory::desc bias({1, d.n}, memory::data_type::f32, Tag::ab);
  const memory::desc z({m, n}, OneDnnType(call.results[0]), memory::dims{d.n, 1});
  const auto add = [&](PartProduct parts, CallPlace to, bool first) {
    const bool has_bias = first && call.operands.size() > 2;
    const dnnl::matmul::desc desc =
        has_bias ? dnnl::matmul::desc(x, y, bias, z) : dnnl::matmul::desc(x, y, z);
    const dnnl::matmul::primitive_desc pd(desc, UserScratchpad(), OneDnnEngine());
    if (!d.transpose_x) RefuseGeneralProduct(pd);
    CallPlace left = list.Input(OperandPlace(call, 0, d.transpose_x ? 0 : d.k),
                                (d.transpose_x ? d.m : m) * d.k, call.operands[0], parts.x);
    if (d.transpose_x) left.unit_bytes = by_columns ? 0 : list.element_bytes();
    if (straighten) left = list.InLayout(left, {{m, d.k}, list.type(), transposed}, x);
    const std::vector<int> axes = d.transpose_y ? std::vector<int>{1, 0} : std::vector<int>{0, 1};
    const CallPlace right = by_columns ? ColumnsOfY(d, n, call, parts.y, pd.weights_desc(), list)
                                       : WeightsPlace(call, parts.y, axes, pd.weights_desc(), list);
    std::vector<StepArgument> arguments = {{DNNL_ARG_SRC, x, left},
                                           {DNNL_ARG_WEIGHTS, pd.weights_desc(), right},
                                           {DNNL_ARG_DST, z, to}};
    if (has_bias) arguments.push_back({DNNL_ARG_BIAS, bias, OperandPlace(call, 2)});
    list.Add(pd, std::move(arguments));
  };
  list.SumProducts(ResultPlace(call, by_columns ? 1 : d.n), m * n, add);
}

CallSteps MatMulStepsOf(const MatMulDims& d, const OpCall& call, bool bf16) {
  return StepsOfShares(call, bf16, ShareSizes(call),
                       [&](int64_t units, StepList& list) { MatMulSteps(d, units, call, list); });
}

// The number of products of a call.
int64_t Products(const OpCall& call) {
  const std::vector<int64_t>& dims = call.results[0].dims;
  return std::accumulate(dims.begin(), dims.end() - 2, int64_t{1}, std::multiplies<>());
}

// z = x y for each pair. Both stay in their layout: packing y for only one product takes too long,
// a third of the total time for 128x64x128 on AMX.
void AddPairs(const MatMulDims& d, const OpCall& call, StepList& list) {
  const int64_t count = Products(call);
  const auto pairs_of = [&](int64_t rows, int64_t columns, memory::data_type type,
                            bool transposed) {
    const memory::dims strides = transposed ? memory::dims{rows * columns, 1, rows}
                                            : memory::dims{rows * columns, columns, 1};
    return memory::desc({count, rows, columns}, type, strides);
  };
  const memory::desc x = pairs_of(d.m, d.k, list.type(), d.transpose_x);
  const memory::desc y = pairs_of(d.k, d.n, list.type(), d.transpose_y);
  const memory::desc z = pairs_of(d.m, d.n, OneDnnType(call.results[0]), false);
  const dnnl::matmul::primitive_desc pd(dnnl::matmul::desc(x, y, z), UserScratchpad(),
                                        OneDnnEngine());
  const auto operand = [&](int index, int part) {
    const Shape& shape = call.operands[index];
    return list.Input(OperandPlace(call, index), shape.num_elements(), shape, part);
  };
  list.SumProducts(ResultPlace(call), count * d.m * d.n,
                   [&](PartProduct parts, CallPlace to, bool) {
                     list.Add(pd, {{DNNL_ARG_SRC, x, operand(0, parts.x)},
                                   {DNNL_ARG_WEIGHTS, y, operand(1, parts.y)},
                                   {DNNL_ARG_DST, z, to}});
                   });
}

CallSteps StepsOfPairs(const MatMulDims& d, const OpCall& call, bool bf16) {
  return StepsOfShares(call, bf16, {0}, [&](int64_t, StepList& list) { AddPairs(d, call, list); });
}

std::vector<KernelDef> WhereTheLibraryMultiplies(std::vector<KernelDef> kernels) {
  for (KernelDef& kernel : kernels) {
    kernel.offer = [offer = std::move(kernel.offer)](
                       const OpCall& call, const Machine& machine) -> std::optional<KernelOffer> {
      if (!LibraryMultiplies(PrecisionOf(call.attrs), machine)) return std::nullopt;
      return offer(call, machine);
    };
  }
  return kernels;
}

}  // namespace

std::vector<KernelDef> LibraryMatMulKernels(MatMulDims (*dims_of)(const OpCall& call)) {
  return WhereTheLibraryMultiplies(LibraryKernels([dims_of](const OpCall& call) {
    const MatMulDims dims = dims_of(call);
    // If x is transposed, the sums run over the batch.
    const double rows = dims.transpose_x ? 1.0 * dims.m : kJudgedRows;
    return LibraryCall{rows * dims.k * dims.n,
                       [=](bool bf16) { return MatMulStepsOf(dims, call, bf16); }};
  }));
}

std::vector<KernelDef> LibraryKernelsOfPairs(MatMulDims (*dims_of)(const OpCall& call)) {
  return WhereTheLibraryMultiplies(LibraryKernels([dims_of](const OpCall& call) {
    const MatMulDims dims = dims_of(call);
    return LibraryCall{1.0 * Products(call) * dims.m * dims.k * dims.n,
                       [=](bool bf16) { return StepsOfPairs(dims, call, bf16); }};
  }));
}

}  // namespace tpurun
