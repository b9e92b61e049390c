// Matrix products and what a dense layer adds to them.
#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ir/elementwise.h"
#include "runtime/ir/export_graph.h"
#include "runtime/ir/sum_rows.h"
#include "runtime/ops/dense.h"
#include "runtime/ops/onednn/products.h"
#include "runtime/ops/op_list.h"
#include "runtime/ops/ops.h"
#include "runtime/ops/precision.h"
#include "runtime/ops/stacked_matmul.h"

namespace tpurun {
namespace {

MatMulDims DimsOf(const OpCall& call) {
  const bool tx = call.attrs.Get<bool>("transpose_x");
  const bool ty = call.attrs.Get<bool>("transpose_y");
  return {call.results[0].dims[0], call.operands[0].dims[tx ? 0 : 1], call.results[0].dims[1], tx,
          ty};
}

// z[i][j] = sum over k, in rising order for each product of parts, in f32; then the bias. Of all
// replicas: the k of one after those of the other.
std::unique_ptr<Kernel> MatMulReference(const OpCall& call) {
  const MatMulDims d = DimsOf(call);
  const Precision precision = PrecisionOf(call.attrs);
  const std::vector<PartProduct> products = PartProducts(precision);
  const bool has_bias = call.operands.size() > 2;
  const int copies = CopiesPerOperand(call);
  return KernelOf([=](const KernelArgs& args) {
    const auto* const* operands = reinterpret_cast<const float* const*>(args.operands);
    const float* bias = has_bias ? operands[2] : nullptr;
    float* z = static_cast<float*>(args.results[0]);
    for (int64_t i = args.begin; i < args.end; ++i) {
      float* row = z + i * d.n;
      std::fill(row, row + d.n, 0.0f);
      for (const PartProduct product : products) {
        for (int64_t at = 0; at < copies * d.k; ++at) {
          const float *x = operands[at / d.k], *y = operands[copies + at / d.k];
          const int64_t k = at % d.k;
          const float xik =
              PartOf(d.transpose_x ? x[k * d.m + i] : x[i * d.k + k], precision, product.x);
          for (int64_t j = 0; j < d.n; ++j) {
            row[j] +=
                xik * PartOf(d.transpose_y ? y[j * d.k + k] : y[k * d.n + j], precision, product.y);
          }
        }
      }
      for (int64_t j = 0; has_bias && j < d.n; ++j) row[j] += bias[j];
    }
  });
}

const OpDef& CrossReplicaMatMulOp();

// x' y of all replicas is one product of their rows, in replica order (all-gather, then matmul). In
// elements moved by each replica: it copies its k rows of x once and, into each of at most 8 parts,
// its k rows of y, in place of writing m n and reading them for the sum. That must be half at most.
const OpDef* MatMulOfAllReplicas(const OpCall& call) {
  constexpr int64_t kMostParts = 8;
  const MatMulDims d = DimsOf(call);
  const bool sums_rows = d.transpose_x && !d.transpose_y && call.operands.size() == 2;
  if (!sums_rows || 2 * d.k * (d.m + kMostParts * d.n) > d.m * d.n) return nullptr;
  return &CrossReplicaMatMulOp();
}

KernelPlan PlanOfMatMul(const OpCall& call, const Machine& machine) {
  KernelPlan plan = PlanMatMul(DimsOf(call), call, machine);
  if (plan.implementation == KernelPlan().implementation) plan = PlanDense(DimsOf(call), call);
  plan.takes_bias = true;
  return plan;
}

std::unique_ptr<Kernel> KernelOfMatMul(const OpCall& call, const KernelPlan& plan) {
  if (plan.implementation == kDenseKernel) return MakeDense(DimsOf(call), call);
  return MakeMatMul(DimsOf(call), call, plan);
}

absl::StatusOr<std::vector<Shape>> MatMulShape(const char* op, std::span<const Shape> operands,
                                               const Attrs& attrs) {
  const Shape &x = operands[0], &y = operands[1];
  if (x.rank() != 2 || y.rank() != 2 || x.dtype != DType::kF32 || y.dtype != DType::kF32) {
    return absl::InvalidArgumentError(
        absl::StrCat(op, ": want two f32 matrices, got ", x.ToString(), " and ", y.ToString()));
  }
  const bool tx = attrs.Get<bool>("transpose_x"), ty = attrs.Get<bool>("transpose_y");
  if (!ValidPrecision(attrs)) {
    return absl::InvalidArgumentError(
        absl::StrCat(op, ": precision is 0 to 3, got ", attrs.Int("precision")));
  }
  if (x.dims[tx ? 0 : 1] != y.dims[ty ? 1 : 0]) {
    return absl::InvalidArgumentError(absl::StrCat(op, ": the inner dimensions differ, ",
                                                   x.ToString(), tx ? " transposed" : "", " and ",
                                                   y.ToString(), ty ? " transposed" : ""));
  }
  const Shape z{DType::kF32, {x.dims[tx ? 1 : 0], y.dims[ty ? 0 : 1]}};
  RETURN_IF_ERROR(WantBias(op, operands, z.dims));
  return std::vector<Shape>{z};
}

std::vector<AttrDef> MatMulAttrs() {
  return {{"precision", int64_t{0}, true}, {"transpose_x", false}, {"transpose_y", false}};
}

double MatMulFlops(const OpCall& call) {
  const MatMulDims d = DimsOf(call);
  return 2.0 * d.m * d.k * d.n * PartProducts(PrecisionOf(call.attrs)).size();
}

// z = x y: dx = dz y', dy = x' dz; with transposed operands the same, transposed.
std::vector<Value> MatMulGradient(GraphBuilder& b, const Node& node, std::span<const Value> dz) {
  const Value x = node.inputs[0], y = node.inputs[1];
  const bool tx = node.attrs.Get<bool>("transpose_x"), ty = node.attrs.Get<bool>("transpose_y");
  const Precision precision = PrecisionOf(node.attrs);
  const Value dx =
      tx ? MatMul(b, y, dz[0], precision, ty, true) : MatMul(b, dz[0], y, precision, false, !ty);
  const Value dy =
      ty ? MatMul(b, dz[0], x, precision, true, tx) : MatMul(b, x, dz[0], precision, !tx, false);
  if (node.inputs.size() == 2) return {dx, dy};
  return {dx, dy, SumOfRows(b, dz[0], "BiasAddGrad")};
}

const OpDef& MatMulOp() {
  static const OpDef& op = *new OpDef{
      .name = "matmul",
      .doc =
          "x (M, K) y (K, N) (+ bias (N)) -> (M, N), x and y may come transposed. At precision 0 "
          "both are rounded to bf16, at 1 and 2 split into 2 or 3 bf16 parts of which 3 or 6 "
          "products are summed, at 3 taken as they are; sums are f32.",
      .min_operands = 2,
      .max_operands = 3,
      .attrs = MatMulAttrs(),
      .flags = {.unit = WorkUnit::kRows, .row_operands = 1u << 0, .bias = 2},
      .refine_flags =
          [](const OpCall& call, OpFlags& flags) {
            if (call.attrs.Get<bool>("transpose_x")) flags.row_operands = 0;
            if (PrecisionOf(call.attrs) == Precision::kDefault) flags.rounds = 3u;
          },
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs& attrs) { return MatMulShape("matmul", operands, attrs); },
      .gradient = MatMulGradient,
      .reference = MatMulReference,
      .plan = PlanOfMatMul,
      .make_kernel = KernelOfMatMul,
      .summed_over_replicas = MatMulOfAllReplicas,
      .flops = MatMulFlops,
      .tensorflow = [](ExportCall& call) -> absl::StatusOr<std::vector<Value>> {
        const Value z = call.graph.Add("MatMul", {call.inputs[0], call.inputs[1]},
                                       {{"T", call.type()},
                                        {"transpose_a", call.attrs.Get<bool>("transpose_x")},
                                        {"transpose_b", call.attrs.Get<bool>("transpose_y")}});
        if (call.inputs.size() == 2) return std::vector<Value>{z};
        return std::vector<Value>{
            call.graph.Add("BiasAdd", {z, call.inputs[2]}, {{"T", call.type()}})};
      },
      .onnx = [](ExportCall& call) -> absl::StatusOr<std::vector<Value>> {
        return std::vector<Value>{call.graph.Add(
            "Gemm", call.inputs,
            {{"transA", call.attrs.Get<bool>("transpose_x") ? int64_t{1} : int64_t{0}},
             {"transB", call.attrs.Get<bool>("transpose_y") ? int64_t{1} : int64_t{0}}})};
      }};
  return op;
}

const OpDef& CrossReplicaMatMulOp() {
  static const OpDef& op = *new OpDef{
      .name = "cross_replica_matmul",
      .doc =
          "The sum over all replicas of their matmul of x and y: with x' (K, M) and y (K, N) the "
          "product of the rows of all, in replica order; all-gather and matmul in one.",
      .min_operands = 2,
      .max_operands = 2,
      .attrs = MatMulAttrs(),
      .flags = {.unit = WorkUnit::kRows, .collective = true},
      .refine_flags =
          [](const OpCall& call, OpFlags& flags) {
            if (PrecisionOf(call.attrs) == Precision::kDefault) flags.rounds = 3u;
          },
      .infer_shape =
          [](std::span<const Shape> operands, const Attrs& attrs) {
            return MatMulShape("cross_replica_matmul", operands, attrs);
          },
      .reference = MatMulReference,
      .plan =
          [](const OpCall& call, const Machine& machine) {
            return PlanStackedMatMul(DimsOf(call), call, MatMulOp(), machine);
          },
      .make_kernel =
          [](const OpCall& call, const KernelPlan& plan) {
            return MakeStackedMatMul(DimsOf(call), call, MatMulOp(), plan);
          },
      .flops = [](const OpCall& call) { return MatMulFlops(call) * call.num_replicas; }};
  return op;
}

const OpDef& BiasAddOp() {
  static const OpDef& op =
      *new OpDef{.name = "bias_add",
                 .doc = "x (..., C) + bias (C). The bias gradient sums dy over all other axes.",
                 .min_operands = 2,
                 .max_operands = 2,
                 .flags = {.unit = WorkUnit::kRows, .row_operands = 1u << 0, .adds_bias = true},
                 .infer_shape = [](std::span<const Shape> operands,
                                   const Attrs&) -> absl::StatusOr<std::vector<Shape>> {
                   const Shape &x = operands[0], &bias = operands[1];
                   if (x.rank() < 2 || bias.rank() != 1 || x.dims.back() != bias.dims[0] ||
                       x.dtype != DType::kF32 || bias.dtype != DType::kF32) {
                     return absl::InvalidArgumentError(
                         absl::StrCat("bias_add: want f32[N,...,C] and f32[C], got ", x.ToString(),
                                      " and ", bias.ToString()));
                   }
                   return std::vector<Shape>{Shape{DType::kF32, x.dims}};
                 },
                 .gradient =
                     [](GraphBuilder& b, const Node&, std::span<const Value> dy) {
                       return std::vector<Value>{dy[0], SumOfRows(b, dy[0], "BiasAddGrad")};
                     },
                 .reference =
                     [](const OpCall& call) {
                       const int64_t columns = call.operands[1].dims[0];
                       const int64_t row_elements = call.results[0].row_elements();
                       return KernelOf([=](const KernelArgs& args) {
                         const float* x = static_cast<const float*>(args.operands[0]);
                         const float* bias = static_cast<const float*>(args.operands[1]);
                         float* y = static_cast<float*>(args.results[0]);
                         const int64_t end = args.end * row_elements;
                         for (int64_t i = args.begin * row_elements; i < end; i += columns) {
                           for (int64_t c = 0; c < columns; ++c) y[i + c] = x[i + c] + bias[c];
                         }
                       });
                     },
                 .tensorflow = TensorFlowOp("BiasAdd"),
                 .onnx = OnnxOp("Add")};
  return op;
}

}  // namespace

std::vector<const OpDef*> MatMulOps() {
  return {&MatMulOp(), &CrossReplicaMatMulOp(), &BiasAddOp()};
}

bool IsMatMul(const Node& node) { return node.op == &MatMulOp(); }

Value MatMul(GraphBuilder& b, Value x, Value y, Precision precision, bool transpose_x,
             bool transpose_y, const std::string& label) {
  Attrs attrs = {{"precision", static_cast<int64_t>(precision)}};
  if (transpose_x) attrs.Set("transpose_x", true);
  if (transpose_y) attrs.Set("transpose_y", true);
  return b.Add(MatMulOp(), {x, y}, std::move(attrs), label);
}

absl::Status WantBias(const char* op, std::span<const Shape> operands,
                      const std::vector<int64_t>& result) {
  if (operands.size() < 3 || operands[2] == Shape{DType::kF32, {result.back()}}) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(op, ": want a bias f32[", result.back(), "], got ", operands[2].ToString()));
}

Value BiasAdd(GraphBuilder& b, Value x, Value bias, const std::string& label) {
  return b.Add(BiasAddOp(), {x, bias}, {}, label);
}

}  // namespace tpurun
