// Matrix products, and the bias that a dense layer adds to them.
#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/fused_multiply_add.h"
#include "runtime/base/status.h"
#include "runtime/ir/elementwise.h"
#include "runtime/ir/export_graph.h"
#include "runtime/ir/sum_rows.h"
#include "runtime/ir/tpu_stages.h"
#include "runtime/ops/batch_matmul.h"
#include "runtime/ops/gemm_call.h"
#include "runtime/ops/onednn/products.h"
#include "runtime/ops/op_list.h"
#include "runtime/ops/ops.h"
#include "runtime/ops/precision.h"
#include "runtime/ops/stacked_matmul.h"

namespace tpurun {
namespace {

// Dimension `from_last` of a shape, where 1 is the last dimension.
int64_t Dim(const Shape& shape, int from_last) { return shape.dims[shape.rank() - from_last]; }

// The sizes of the product along the last two dimensions.
MatMulDims DimsOf(const OpCall& call) {
  const bool tx = call.attrs.Get<bool>("transpose_x");
  const bool ty = call.attrs.Get<bool>("transpose_y");
  return {Dim(call.results[0], 2), Dim(call.operands[0], tx ? 2 : 1), Dim(call.results[0], 1), tx,
          ty};
}

// z[i][j] = sum over k in f32, a chain of fused multiply-adds in ascending order, for one product
// of parts after the other. Then the bias is added. A product over all replicas sums the k of one
// replica after those of the previous one.
std::unique_ptr<Kernel> MatMulReference(const OpCall& call) {
  const MatMulDims d = DimsOf(call);
  const Precision precision = PrecisionOf(call.attrs);
  const std::vector<PartProduct> products = PartProducts(precision);
  const bool has_bias = call.operands.size() > 2;
  const int copies = CopiesPerOperand(call);
  const bool by_columns = ByColumns(call);
  return KernelOf([=](const KernelArgs& args) {
    const auto* const* operands = reinterpret_cast<const float* const*>(args.operands);
    const float* bias = has_bias ? operands[2] : nullptr;
    float* z = static_cast<float*>(args.results[0]);
    const int64_t row_begin = by_columns ? 0 : args.begin, row_end = by_columns ? d.m : args.end;
    const int64_t begin = by_columns ? args.begin : 0, end = by_columns ? args.end : d.n;
    for (int64_t i = row_begin; i < row_end; ++i) {
      float* row = z + i * d.n;
      std::fill(row + begin, row + end, 0.0f);
      for (const PartProduct product : products) {
        for (int64_t at = 0; at < copies * d.k; ++at) {
          const float *x = operands[at / d.k], *y = operands[copies + at / d.k];
          const int64_t k = at % d.k;
          const float xik =
              PartOf(d.transpose_x ? x[k * d.m + i] : x[i * d.k + k], precision, product.x);
          for (int64_t j = begin; j < end; ++j) {
            const float ykj = d.transpose_y ? y[j * d.k + k] : y[k * d.n + j];
            row[j] = FusedMultiplyAdd(xik, PartOf(ykj, precision, product.y), row[j]);
          }
        }
      }
      for (int64_t j = begin; has_bias && j < end; ++j) row[j] += bias[j];
    }
  });
}

const OpDef& CrossReplicaMatMulOp();

// x' y summed over all replicas is one product of the rows of all replicas, in replica order
// (all-gather, then matmul). Costs are elements moved by each replica. It copies its k rows of x
// once, and its k rows of y into each of at most 8 parts. This replaces writing m n elements and
// reading them for the sum. It must cost at most half as much.
const OpDef* MatMulOfAllReplicas(const OpCall& call) {
  constexpr int64_t kMostParts = 8;
  const MatMulDims d = DimsOf(call);
  const bool sums_rows = d.transpose_x && !d.transpose_y && call.operands.size() == 2;
  if (!sums_rows || 2 * d.k * (d.m + kMostParts * d.n) > d.m * d.n) return nullptr;
  return &CrossReplicaMatMulOp();
}

TpuWork ProductOnTpu(const OpCall& call) {
  const MatMulDims d = DimsOf(call);
  const int64_t of_one = d.m * d.n;
  const int64_t entries = of_one == 0 ? 0 : call.results[0].num_elements() / of_one;
  return TpuProducts(call, {{.count = TpuPasses(call.attrs) * static_cast<double>(entries),
                             .m = d.m,
                             .k = d.k,
                             .n = d.n}});
}

std::vector<KernelDef> MatMulKernels() {
  std::vector<KernelDef> kernels = LibraryMatMulKernels(DimsOf);
  for (KernelDef& kernel :
       GemmKernels([](const OpCall&call,
                      const gemm::Tiles&tiles) { return OfferGemm(DimsOf(call), call, tiles); },
                   [](const OpCall&call, const gemm::Tiles&tiles) {
                     return MakeGemm(DimsOf(call), call, tiles);
                   })) {
    kernel.spans_replicas = true;
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

// The shape of a product along the last two dimensions. The other dimensions are those of x.
absl::StatusOr<Shape> ProductShape(const char* op, const Shape& x, const Shape& y,
                                   const Attrs& attrs) {
  const bool tx = attrs.Get<bool>("transpose_x"), ty = attrs.Get<bool>("transpose_y");
  if (!ValidPrecision(attrs)) {
    return absl::InvalidArgumentError(
        absl::StrCat(op, ": precision is 0 to 3, got ", attrs.Int("precision")));
  }
  if (Dim(x, tx ? 2 : 1) != Dim(y, ty ? 1 : 2)) {
    return absl::InvalidArgumentError(absl::StrCat(op, ": the inner dimensions differ, ",
                                                   x.ToString(), tx ? " transposed" : "", " and ",
                                                   y.ToString(), ty ? " transposed" : ""));
  }
  Shape z{DType::kF32, x.dims};
  z.dims[z.rank() - 2] = Dim(x, tx ? 1 : 2);
  z.dims[z.rank() - 1] = Dim(y, ty ? 2 : 1);
  return z;
}

absl::StatusOr<std::vector<Shape>> MatMulShape(const char* op, std::span<const Shape> operands,
                                               const Attrs& attrs) {
  const Shape &x = operands[0], &y = operands[1];
  if (x.rank() != 2 || y.rank() != 2 || x.dtype != DType::kF32 || y.dtype != DType::kF32) {
    return absl::InvalidArgumentError(
        absl::StrCat(op, ": want two f32 matrices, got ", x.ToString(), " and ", y.ToString()));
  }
  ASSIGN_OR_RETURN(const Shape z, ProductShape(op, x, y, attrs));
  RETURN_IF_ERROR(WantBias(op, operands, z.dims));
  return std::vector<Shape>{z};
}

absl::StatusOr<std::vector<Shape>> BatchMatMulShape(std::span<const Shape> operands,
                                                    const Attrs& attrs) {
  const Shape &x = operands[0], &y = operands[1];
  const bool fits = x.rank() > 2 && x.rank() == y.rank() && x.dtype == DType::kF32 &&
                    y.dtype == DType::kF32 &&
                    std::equal(x.dims.begin(), x.dims.end() - 2, y.dims.begin());
  if (!fits) {
    return absl::InvalidArgumentError(
        absl::StrCat("batch_matmul: want f32[B...,M,K] and f32[B...,K,N] with one B or more, got ",
                     x.ToString(), " and ", y.ToString()));
  }
  ASSIGN_OR_RETURN(const Shape z, ProductShape("batch_matmul", x, y, attrs));
  return std::vector<Shape>{z};
}

std::vector<AttrDef> MatMulAttrs() {
  return {{"precision", int64_t{0}, true}, {"transpose_x", false}, {"transpose_y", false}};
}

std::vector<AttrDef> CrossReplicaMatMulAttrs() {
  std::vector<AttrDef> attrs = MatMulAttrs();
  attrs.push_back({kOfReplicas, std::vector<int64_t>{}});
  return attrs;
}

void RoundsAtDefault(const OpCall& call, OpFlags& flags) {
  if (PrecisionOf(call.attrs) == Precision::kDefault) flags.rounds = 3u;
}

// A gradient of weights reads the rows of a whole batch, and each of its parts packs the operand
// that they do not divide. Parts of the larger dimension pack less. `results` may be unknown yet.
bool IsDividedByColumns(const OpCall& call) {
  constexpr int64_t kLeastElements = 1 << 15;
  const bool sums_rows =
      call.attrs.Get<bool>("transpose_x") && !call.attrs.Get<bool>("transpose_y");
  const bool is_one_product = PartProducts(PrecisionOf(call.attrs)).size() == 1;
  if (!sums_rows || !is_one_product || call.operands.size() > 2) return false;
  const int64_t m = Dim(call.operands[0], 1), n = Dim(call.operands[1], 1);
  return n > m && m * n >= kLeastElements;
}

void MatMulCost(const OpCall& call, Cost& cost) {
  cost.matrix_flops = 2.0 * call.results[0].num_elements() * DimsOf(call).k *
                      PartProducts(PrecisionOf(call.attrs)).size();
  const bool has_bias = call.operands.size() > 2;
  if (has_bias) cost.vector_flops = static_cast<double>(call.results[0].num_elements());
}

// z = x y gives dx = dz y' and dy = x' dz. With transposed operands, dx and dy are transposed too.
// multiply(x, y, transpose_x, transpose_y) is the product op of the node.
template <typename Multiply>
std::vector<Value> ProductGradient(const Node& node, Value dz, const Multiply& multiply) {
  const Value x = node.inputs[0], y = node.inputs[1];
  const bool tx = node.attrs.Get<bool>("transpose_x"), ty = node.attrs.Get<bool>("transpose_y");
  const Value dx = tx ? multiply(y, dz, ty, true) : multiply(dz, y, false, !ty);
  const Value dy = ty ? multiply(dz, x, true, tx) : multiply(x, dz, !tx, false);
  return {dx, dy};
}

std::vector<Value> MatMulGradient(GraphBuilder& b, const Node& node, std::span<const Value> dz) {
  std::vector<Value> gradients =
      ProductGradient(node, dz[0], [&](Value x, Value y, bool tx, bool ty) {
        return MatMul(b, x, y, PrecisionOf(node.attrs), tx, ty);
      });
  if (node.inputs.size() > 2) gradients.push_back(SumOfRows(b, dz[0], "BiasAddGrad"));
  return gradients;
}

std::vector<Value> BatchMatMulGradient(GraphBuilder& b, const Node& node,
                                       std::span<const Value> dz) {
  return ProductGradient(node, dz[0], [&](Value x, Value y, bool tx, bool ty) {
    return BatchMatMul(b, x, y, PrecisionOf(node.attrs), tx, ty);
  });
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
      .flags = {.unit = WorkUnit::kRows, .row_operands = 1u << 0},
      .refine_flags =
          [](const OpCall& call, OpFlags& flags) {
            if (call.attrs.Get<bool>("transpose_x")) flags.row_operands = 0;
            if (IsDividedByColumns(call)) flags.unit = WorkUnit::kColumns;
            RoundsAtDefault(call, flags);
          },
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs& attrs) { return MatMulShape("matmul", operands, attrs); },
      .gradient = MatMulGradient,
      .reference = MatMulReference,
      .kernels = MatMulKernels(),
      .summed_over_replicas = MatMulOfAllReplicas,
      .cost = MatMulCost,
      .tpu = ProductOnTpu,
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
      },
      .rules = {.bias = 2}};
  return op;
}

const OpDef& CrossReplicaMatMulOp() {
  static const OpDef& op = *new OpDef{
      .name = "cross_replica_matmul",
      .doc =
          "The sum over all replicas of their matmul of x and y: with x' (K, M) and y (K, N) the "
          "product of the rows of all, in replica order; all-gather and matmul in one. With "
          "of_replicas [first, count] over these.",
      .min_operands = 2,
      .max_operands = 2,
      .attrs = CrossReplicaMatMulAttrs(),
      .flags = {.unit = WorkUnit::kRows, .collective = true},
      .refine_flags = RoundsAtDefault,
      .infer_shape =
          [](std::span<const Shape> operands, const Attrs& attrs) {
            return MatMulShape("cross_replica_matmul", operands, attrs);
          },
      .reference = MatMulReference,
      .kernels = StackedMatMulKernels(DimsOf, MatMulOp()),
      .cost =
          [](const OpCall& call, Cost& cost) {
            MatMulCost(call, cost);
            cost.matrix_flops *= call.num_replicas;
          },
      .tpu = ProductOnTpu};
  return op;
}

// x with its last two dimensions exchanged, as an ONNX op.
Value OnnxTransposed(ExportGraph& graph, Value x, int rank) {
  std::vector<int64_t> perm(rank);
  std::iota(perm.begin(), perm.end(), int64_t{0});
  std::swap(perm[rank - 2], perm[rank - 1]);
  return graph.Add("Transpose", {x}, {{"perm", perm}});
}

const OpDef& BatchMatMulOp() {
  static const OpDef& op = *new OpDef{
      .name = "batch_matmul",
      .doc =
          "x (B..., M, K) y (B..., K, N) -> (B..., M, N): a product as matmul's for each entry of "
          "the leading dimensions, of which there is one at least. x and y may come with their "
          "last two dimensions exchanged.",
      .min_operands = 2,
      .max_operands = 2,
      .attrs = MatMulAttrs(),
      .flags = {.unit = WorkUnit::kRows, .row_operands = kAllOperands},
      .refine_flags = RoundsAtDefault,
      .infer_shape = BatchMatMulShape,
      .gradient = BatchMatMulGradient,
      .reference = [](const OpCall& call) { return BatchMatMulReference(call, MatMulOp()); },
      .kernels = BatchMatMulKernels(DimsOf),
      .cost = MatMulCost,
      .tpu = ProductOnTpu,
      .tensorflow = [](ExportCall& call) -> absl::StatusOr<std::vector<Value>> {
        return std::vector<Value>{call.graph.Add("BatchMatMulV2", call.inputs,
                                                 {{"T", call.type()},
                                                  {"adj_x", call.attrs.Get<bool>("transpose_x")},
                                                  {"adj_y", call.attrs.Get<bool>("transpose_y")}})};
      },
      .onnx = [](ExportCall& call) -> absl::StatusOr<std::vector<Value>> {
        Value x = call.inputs[0], y = call.inputs[1];
        const int rank = call.results[0].rank();
        if (call.attrs.Get<bool>("transpose_x")) x = OnnxTransposed(call.graph, x, rank);
        if (call.attrs.Get<bool>("transpose_y")) y = OnnxTransposed(call.graph, y, rank);
        return std::vector<Value>{call.graph.Add("MatMul", {x, y})};
      }};
  return op;
}

const OpDef& BiasAddOp() {
  static const OpDef& op =
      *new OpDef{.name = "bias_add",
                 .doc = "x (..., C) + bias (C). The bias gradient sums dy over all other axes.",
                 .min_operands = 2,
                 .max_operands = 2,
                 .flags = {.unit = WorkUnit::kRows, .row_operands = 1u << 0},
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
                 .onnx = OnnxOp("Add"),
                 .rules = {.adds_bias = true}};
  return op;
}

Attrs AttrsOf(Precision precision, bool transpose_x, bool transpose_y) {
  Attrs attrs = {{"precision", static_cast<int64_t>(precision)}};
  if (transpose_x) attrs.Set("transpose_x", true);
  if (transpose_y) attrs.Set("transpose_y", true);
  return attrs;
}

}  // namespace

std::vector<const OpDef*> MatMulOps() {
  return {&MatMulOp(), &CrossReplicaMatMulOp(), &BatchMatMulOp(), &BiasAddOp()};
}

bool IsMatMul(const Node& node) { return node.op == &MatMulOp(); }

Value MatMul(GraphBuilder& b, Value x, Value y, Precision precision, bool transpose_x,
             bool transpose_y, const std::string& label) {
  return b.Add(MatMulOp(), {x, y}, AttrsOf(precision, transpose_x, transpose_y), label);
}

Value BatchMatMul(GraphBuilder& b, Value x, Value y, Precision precision, bool transpose_x,
                  bool transpose_y, const std::string& label) {
  return b.Add(BatchMatMulOp(), {x, y}, AttrsOf(precision, transpose_x, transpose_y), label);
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
