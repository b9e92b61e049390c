// Batch normalization (Ioffe, Szegedy 2015). x is (..., C); statistics, gamma and beta are (C).
#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ir/bf16_conversion.h"
#include "runtime/ir/export_graph.h"
#include "runtime/ir/sum_rows.h"
#include "runtime/ops/op_list.h"
#include "runtime/ops/ops.h"

namespace tpurun {
namespace {

// InvalidArgument unless x is f32 (..., C), the next `alike` operands have the shape of x, and the
// others are f32 (C).
absl::Status WantShapes(const char* op, std::span<const Shape> operands, size_t alike) {
  const Shape& x = operands[0];
  bool good = x.dtype == DType::kF32 && x.rank() >= 2;
  for (size_t i = 1; good && i < operands.size(); ++i) {
    good = operands[i] == (i <= alike ? x : Shape{DType::kF32, {x.dims.back()}});
  }
  if (good) return absl::OkStatus();
  std::string got;
  for (const Shape& shape : operands) {
    absl::StrAppend(&got, got.empty() ? "" : " and ", shape.ToString());
  }
  return absl::InvalidArgumentError(absl::StrCat(op, ": want f32[N,...,C] and f32[C], got ", got));
}

// The formula of tf.nn.batch_normalization. Both formats broadcast rows along the last axis.
ExportRule ExportAs(std::string add, std::string divide,
                    ExportAttrs (*attrs)(const ExportCall& call)) {
  return [=](ExportCall& call) -> absl::StatusOr<std::vector<Value>> {
    const auto op = [&](const std::string& name, std::vector<Value> inputs) {
      return call.graph.Add(name, std::move(inputs), attrs(call));
    };
    const float epsilon = static_cast<float>(call.attrs.Get<double>("epsilon"));
    const Value more = call.graph.Constant(ExportTensor::Float(epsilon), "epsilon");
    const Value deviation = op("Sqrt", {op(add, {call.inputs[2], more})});
    const Value scale = op(divide, {call.inputs[3], deviation});
    const Value centered = op("Sub", {call.inputs[0], call.inputs[1]});
    return std::vector<Value>{op(add, {op("Mul", {centered, scale}), call.inputs[4]})};
  };
}

// Reads bf16 operands without conversion. The sums are f32.
KernelDef BFloat16Sums(std::unique_ptr<Kernel> (*make)(const OpCall& call)) {
  return {.name = "bf16_loops",
          .any_share = true,
          .offer = [](const OpCall& call, const Machine&) -> std::optional<KernelOffer> {
            const auto is_f32 = [](const Shape& result) { return result.dtype == DType::kF32; };
            if (!HasBF16(call) || !std::all_of(call.results.begin(), call.results.end(), is_f32))
              return std::nullopt;
            return KernelOffer{.native_bf16 = true};
          },
          .make = [make](const OpCall& call, const KernelOffer&) { return make(call); }};
}

// T is float, or uint16_t for x stored in bf16.
template <typename T>
std::unique_ptr<Kernel> MomentsKernel(const OpCall& call) {
  const int64_t rows = RowsOf(call.operands[0]), columns = call.operands[0].dims.back();
  return KernelOf([rows, columns](const KernelArgs& args) {
    const T* x = static_cast<const T*>(args.operands[0]);
    const auto result = [&](int i) {
      return args.results[i] == nullptr ? nullptr
                                        : static_cast<float*>(args.results[i]) + args.begin;
    };
    float *const mean = result(0), *const variance = result(1);
    SumMoments(x, rows, columns, args.begin, args.end, mean, variance);
    for (float* sums : {mean, variance}) {
      if (sums == nullptr) continue;  // not needed
      for (int64_t i = 0; i < args.end - args.begin; ++i) sums[i] /= static_cast<float>(rows);
    }
  });
}

// T is the type of dy and U is the type of x.
template <typename T, typename U>
std::unique_ptr<Kernel> BatchNormGradKernel(const OpCall& call) {
  const int64_t rows = RowsOf(call.operands[0]), columns = call.operands[0].dims.back();
  return KernelOf([rows, columns](const KernelArgs& args) {
    const T* dy = static_cast<const T*>(args.operands[0]);
    const U* x = static_cast<const U*>(args.operands[1]);
    const float* mean = static_cast<const float*>(args.operands[2]);
    const auto* results = reinterpret_cast<float* const*>(args.results);
    const int64_t begin = args.begin, end = args.end;
    if (results[1] == nullptr) {
      if (results[0] != nullptr) SumRows(dy, rows, columns, begin, end, results[0] + begin);
      return;
    }
    float* const sums = results[0] == nullptr ? nullptr : results[0] + begin;
    SumCentered(dy, x, mean + begin, rows, columns, begin, end, sums, results[1] + begin);
  });
}

const OpDef& MomentsOp() {
  static const OpDef& op = *new OpDef{
      .name = "moments",
      .doc =
          "x (..., C) -> the mean of each column, the mean of its squared distances from that, "
          "both (C). The mean is of the sum of sum_of_rows; squares are about the mean of each "
          "block of rows and are merged with those of other blocks, so that x is read once.",
      .min_operands = 1,
      .max_operands = 1,
      .flags = {.unit = WorkUnit::kRows, .arithmetic = true},
      .refine_flags = DivideSums,
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs&) -> absl::StatusOr<std::vector<Shape>> {
        RETURN_IF_ERROR(WantShapes("moments", operands, 0));
        return std::vector<Shape>(2, Shape{DType::kF32, {operands[0].dims.back()}});
      },
      .gradient =
          [](GraphBuilder& b, const Node& node, std::span<const Value> dy) {
            const Value x = node.inputs[0];
            const double rows = static_cast<double>(std::max<int64_t>(1, RowsOf(b.shape(x))));
            Value dx;
            if (dy[1].valid()) {
              dx = Mul(b, Sub(b, x, Value{node.id, 0}), Mul(b, dy[1], Scalar(b, 2 / rows)));
            }
            if (dy[0].valid()) {
              const Value of_mean = Mul(b, dy[0], Scalar(b, 1 / rows));
              dx = dx.valid() ? Add(b, dx, of_mean)
                              : Broadcast(b, of_mean, b.shape(x).dims, {b.shape(x).rank() - 1});
            }
            return std::vector<Value>{dx};
          },
      .reference = MomentsKernel<float>,
      .kernels = {BFloat16Sums(MomentsKernel<uint16_t>)},
      .cost =
          [](const OpCall& call, Cost& cost) {
            cost.vector_flops = 4.0 * static_cast<double>(call.operands[0].num_elements());
          }};
  return op;
}

const OpDef& BatchNormGradOp() {
  static const OpDef& op = *new OpDef{
      .name = "batch_norm_grad",
      .doc =
          "(dy, x, mean) -> the sums of dy and of dy (x - mean) over all but the last axis, both "
          "(C), as sum_of_rows. From them come all gradients of batch_norm.",
      .min_operands = 3,
      .max_operands = 3,
      .flags = {.unit = WorkUnit::kRows, .arithmetic = true},
      .refine_flags = DivideSums,
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs&) -> absl::StatusOr<std::vector<Shape>> {
        RETURN_IF_ERROR(WantShapes("batch_norm_grad", operands, 1));
        return std::vector<Shape>(2, operands[2]);
      },
      .reference = BatchNormGradKernel<float, float>,
      .kernels = {BFloat16Sums([](const OpCall& call) {
        const auto of_x = [&](auto dy) {
          using T = decltype(dy);
          return call.operands[1].dtype == DType::kBF16 ? BatchNormGradKernel<T, uint16_t>(call)
                                                        : BatchNormGradKernel<T, float>(call);
        };
        return call.operands[0].dtype == DType::kBF16 ? of_x(uint16_t{}) : of_x(float{});
      })},
      .cost =
          [](const OpCall& call, Cost& cost) {
            cost.vector_flops = 4.0 * static_cast<double>(call.operands[0].num_elements());
          }};
  return op;
}

// y = (x - m) s + beta, s = gamma r, r = 1 / sqrt(v + epsilon). With p = sum(dy) and
// q = sum(dy (x - m)):
//   dx = s dy, dm = -s p, dv = -gamma r^3 q / 2, dgamma = r q, dbeta = p.
std::vector<Value> BatchNormGradient(GraphBuilder& b, const Node& node, std::span<const Value> dy) {
  const Value x = node.inputs[0], mean = node.inputs[1], variance = node.inputs[2];
  const Value gamma = node.inputs[3];
  const Value epsilon = Scalar(b, node.attrs.Get<double>("epsilon"));
  const Value r = Rsqrt(b, Add(b, variance, epsilon));
  const Value s = Mul(b, gamma, r);
  const Value p = b.Add(BatchNormGradOp(), {dy[0], x, mean});
  const Value q = {p.node, 1};
  if (!p.valid()) return std::vector<Value>(5);
  const Value dgamma = Mul(b, r, q);
  const Value dv = Mul(b, Mul(b, dgamma, Mul(b, s, r)), Scalar(b, -0.5));
  return {Mul(b, dy[0], s), Neg(b, Mul(b, s, p)), dv, dgamma, p};
}

// The same formula as element-wise ops, so that it is fused with the ops around it.
Replacement InElementwiseOps(const Graph& graph, const Node& node) {
  const Value x = node.inputs[0], mean = node.inputs[1], variance = node.inputs[2];
  const Value gamma = node.inputs[3], beta = node.inputs[4];
  Replacement replacement;
  const auto add = [&](const OpDef& op, std::vector<Value> inputs, Attrs attrs = {}) {
    const int id = static_cast<int>(graph.nodes().size() + replacement.nodes.size());
    replacement.nodes.push_back({&op, std::move(inputs), std::move(attrs)});
    return Value{id, 0};
  };
  const auto elementwise = [](const char* name) -> const OpDef& {
    return OpOfFamily(ElementwiseOps(), name);
  };
  const Value epsilon = add(ConstantOp(), {},
                            {{"dtype", DType::kF32},
                             {"dims", std::vector<int64_t>{}},
                             {"value", std::vector<double>{node.attrs.Get<double>("epsilon")}}});
  const Value deviation = add(elementwise("rsqrt"), {add(AddOp(), {variance, epsilon})});
  const Value scale = add(elementwise("mul"), {gamma, deviation});
  const Value centered = add(elementwise("sub"), {x, mean});
  add(AddOp(), {add(elementwise("mul"), {centered, scale}), beta});
  return replacement;
}

const OpDef& BatchNormOp() {
  static const OpDef& op = *new OpDef{
      .name = "batch_norm",
      .doc =
          "(x, mean, variance, gamma, beta) -> (x - mean) gamma / sqrt(variance + epsilon) + beta, "
          "for each column of x (..., C).",
      .min_operands = 5,
      .max_operands = 5,
      .attrs = {{"epsilon", 0.001, true}},
      .flags = {.unit = WorkUnit::kRows, .row_operands = 1u << 0, .arithmetic = true},
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs& attrs) -> absl::StatusOr<std::vector<Shape>> {
        RETURN_IF_ERROR(WantShapes("batch_norm", operands, 0));
        return std::vector<Shape>{Shape{DType::kF32, operands[0].dims}};
      },
      .gradient = BatchNormGradient,
      .simplify = InElementwiseOps,
      .reference =
          [](const OpCall& call) {
            const int64_t columns = call.operands[0].dims.back();
            const int64_t row_elements = call.results[0].row_elements();
            const float epsilon = static_cast<float>(call.attrs.Get<double>("epsilon"));
            return KernelOf([=](const KernelArgs& args) {
              const auto* const* operands = reinterpret_cast<const float* const*>(args.operands);
              const float *mean = operands[1], *variance = operands[2], *gamma = operands[3];
              const int64_t end = args.end * row_elements;
              for (int64_t i = args.begin * row_elements; i < end; i += columns) {
                const float* x = operands[0] + i;
                float* y = static_cast<float*>(args.results[0]) + i;
                for (int64_t c = 0; c < columns; ++c) {
                  const float scale = gamma[c] * (1 / std::sqrt(variance[c] + epsilon));
                  y[c] = (x[c] - mean[c]) * scale + operands[4][c];
                }
              }
            });
          },
      .cost =
          [](const OpCall& call, Cost& cost) {
            cost.vector_flops = 3.0 * static_cast<double>(call.results[0].num_elements());
          },
      .tensorflow = ExportAs("AddV2", "RealDiv",
                             [](const ExportCall& call) {
                               return ExportAttrs{{"T", call.type()}};
                             }),
      .onnx = ExportAs("Add", "Div", [](const ExportCall&) { return ExportAttrs(); })};
  return op;
}

}  // namespace

std::vector<const OpDef*> BatchNormOps() {
  return {&MomentsOp(), &BatchNormOp(), &BatchNormGradOp()};
}

std::pair<Value, Value> Moments(GraphBuilder& b, Value x, const std::string& label) {
  const Value mean = b.Add(MomentsOp(), {x}, {}, label);
  return {mean, mean.valid() ? Value{mean.node, 1} : Value{}};
}

Value BatchNorm(GraphBuilder& b, Value x, Value mean, Value variance, Value gamma, Value beta,
                double epsilon, const std::string& label) {
  return b.Add(BatchNormOp(), {x, mean, variance, gamma, beta}, {{"epsilon", epsilon}}, label);
}

}  // namespace tpurun
