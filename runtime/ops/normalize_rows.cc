// Normalizes rows to mean 0 and variance 1. Layer normalization then scales and shifts them.
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/clones.h"
#include "runtime/ir/elementwise.h"
#include "runtime/ir/structural.h"
#include "runtime/ir/sum_elements.h"
#include "runtime/ir/tpu_stages.h"
#include "runtime/ops/op_list.h"
#include "runtime/ops/ops.h"
#include "runtime/ops/rows.h"

namespace tpurun {
namespace {

// The rows of an array of n columns.
struct Rows {
  int64_t count, n;
};

// y and s of the rows of x; s may be nullptr. y may be x.
[[gnu::always_inline]] inline void Normalize(const Rows& rows, const float* x, float epsilon,
                                             float* y, float* s) {
  const int64_t n = rows.n;
  const float size = static_cast<float>(n);
  for (int64_t r = 0; r < rows.count; ++r, x += n, y += n) {
    const float mean = SumOfRow<SumOf::kElements>(x, x, n) / size;
#pragma GCC ivdep
    for (int64_t c = 0; c < n; ++c) y[c] = x[c] - mean;
    const float variance = SumOfRow<SumOf::kProducts>(y, y, n) / size;
    const float scale = 1 / __builtin_sqrtf(variance + epsilon);
    for (int64_t c = 0; c < n; ++c) y[c] *= scale;
    if (s != nullptr) s[r] = scale;
  }
}

// dx[c] = s (dy[c] - mean - y[c] along) of each row. dx may be dy or y.
[[gnu::always_inline]] inline void NormalizeGrad(const Rows& rows, const float* dy, const float* y,
                                                 const float* s, float* dx) {
  const int64_t n = rows.n;
  const float size = static_cast<float>(n);
  for (int64_t r = 0; r < rows.count; ++r, dy += n, y += n, dx += n) {
    const float along = SumOfRow<SumOf::kProducts>(dy, y, n) / size;
    const float mean = SumOfRow<SumOf::kElements>(dy, dy, n) / size;
    const float scale = s[r];
#pragma GCC ivdep
    for (int64_t c = 0; c < n; ++c) dx[c] = scale * (dy[c] - mean - y[c] * along);
  }
}

// The rows of the share and the first one: work units are entries of the leading dimension.
std::pair<Rows, int64_t> RowsOfShare(const Shape& shape, const KernelArgs& args) {
  const int64_t n = shape.dims.back(), per_unit = shape.row_elements() / n;
  return {{(args.end - args.begin) * per_unit, n}, args.begin * per_unit};
}

bool IsOfRows(const Shape& x) {
  return x.dtype == DType::kF32 && x.rank() >= 2 && x.dims.back() > 0;
}

Shape WithoutLast(const Shape& x) { return {DType::kF32, {x.dims.begin(), x.dims.end() - 1}}; }

const OpDef& NormalizeRowsGradOp() {
  static const OpDef& op = *new OpDef{
      .name = "normalize_rows_grad",
      .doc =
          "The gradient of normalize_rows: dy (N, ..., C) of its y, and its results y and s -> dx "
          "= "
          "s (dy - mean dy - y mean(dy y)), means over the last axis.",
      .min_operands = 3,
      .max_operands = 3,
      .flags = {.unit = WorkUnit::kRows, .row_operands = kAllOperands, .arithmetic = true},
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs&) -> absl::StatusOr<std::vector<Shape>> {
        const Shape &dy = operands[0], &y = operands[1], &s = operands[2];
        if (!IsOfRows(dy) || y != dy || s != WithoutLast(dy)) {
          return absl::InvalidArgumentError(
              absl::StrCat("normalize_rows_grad: want f32[N,...,C] twice and f32[N,...], got ",
                           dy.ToString(), ", ", y.ToString(), " and ", s.ToString()));
        }
        return std::vector<Shape>{dy};
      },
      .reference =
          [](const OpCall& call) {
            return KernelOf([shape = call.results[0]](const KernelArgs& args) {
              const float* dy = static_cast<const float*>(args.operands[0]);
              const float* y = static_cast<const float*>(args.operands[1]);
              const float* s = static_cast<const float*>(args.operands[2]);
              float* dx = static_cast<float*>(args.results[0]);
              const auto [rows, first] = RowsOfShare(shape, args);
              const int64_t at = first * rows.n;
              RunCloned([ of = rows, dy = dy + at, y = y + at, s = s + first, dx = dx + at ]()
                            __attribute__((always_inline)) { NormalizeGrad(of, dy, y, s, dx); });
            });
          },
      .cost =
          [](const OpCall& call, Cost& cost) {
            cost.vector_flops = 7.0 * static_cast<double>(call.results[0].num_elements());
          },
      .tpu = ReducedRows<1>,
      .rules = {.by_last_axis = true}};
  return op;
}

const OpDef& NormalizeRowsOp() {
  static const OpDef& op = *new OpDef{
      .name = "normalize_rows",
      .doc =
          "x (N, ..., C) -> y = (x - mean) s and s (N, ...) = 1 / sqrt(variance + epsilon), mean "
          "and "
          "variance over the last axis; its sums are of 16, every 16th element each, added by "
          "halves.",
      .min_operands = 1,
      .max_operands = 1,
      .attrs = {{"epsilon", 0.0, true}},
      .flags = {.unit = WorkUnit::kRows, .row_operands = kAllOperands, .arithmetic = true},
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs& attrs) -> absl::StatusOr<std::vector<Shape>> {
        const Shape& x = operands[0];
        if (!IsOfRows(x)) {
          return absl::InvalidArgumentError(
              absl::StrCat("normalize_rows: want f32[N,...,C], got ", x.ToString()));
        }
        if (!(attrs.Get<double>("epsilon") > 0)) {
          return absl::InvalidArgumentError("normalize_rows: epsilon must be positive");
        }
        return std::vector<Shape>{x, WithoutLast(x)};
      },
      .gradient = [](GraphBuilder& b, const Node& node,
                     std::span<const Value> dy) -> std::vector<Value> {
        const Value y = {node.id, 0}, s = {node.id, 1};
        Value dx = dy[0].valid() ? b.Add(NormalizeRowsGradOp(), {dy[0], y, s}, {}) : Value{};
        if (!dy[1].valid()) return {dx};
        // ds / dx = -s^2 y / C
        const std::vector<int64_t> dims = b.shape(y).dims;
        const Value of_rows =
            Mul(b, Mul(b, dy[1], Square(b, s)), Scalar(b, -1.0 / static_cast<double>(dims.back())));
        const Value of_scale = Mul(b, y, AlongRows(b, of_rows, dims));
        return {dx.valid() ? Add(b, dx, of_scale) : of_scale};
      },
      .reference =
          [](const OpCall& call) {
            const float epsilon = static_cast<float>(call.attrs.Get<double>("epsilon"));
            return KernelOf([shape = call.results[0], epsilon](const KernelArgs& args) {
              const float* x = static_cast<const float*>(args.operands[0]);
              float* y = static_cast<float*>(args.results[0]);
              float* s = static_cast<float*>(args.results[1]);
              const auto [rows, first] = RowsOfShare(shape, args);
              const int64_t at = first * rows.n;
              RunCloned(
                  [ of = rows, epsilon, x = x + at, y = y + at, s = s == nullptr ? s : s + first ]()
                      __attribute__((always_inline)) { Normalize(of, x, epsilon, y, s); });
            });
          },
      .cost =
          [](const OpCall& call, Cost& cost) {
            cost.vector_flops = 7.0 * static_cast<double>(call.results[0].num_elements());
          },
      .tpu = ReducedRows<2>,
      .expand = [](GraphBuilder& b, const Node& node,
                   std::span<const Value> inputs) -> std::vector<Value> {
        const std::vector<int64_t> dims = b.shape(inputs[0]).dims;
        const int64_t last = std::ssize(dims) - 1;
        const auto mean_of = [&](Value x) { return AlongRows(b, ReduceMean(b, x, {last}), dims); };
        const Value centered = Sub(b, inputs[0], mean_of(inputs[0]));
        const Value epsilon = Scalar(b, node.attrs.Get<double>("epsilon"));
        return {Mul(b, centered, Rsqrt(b, Add(b, mean_of(Square(b, centered)), epsilon))), Value{}};
      },
      .rules = {.by_last_axis = true}};
  return op;
}

}  // namespace

std::vector<const OpDef*> NormalizeRowsOps() {
  return {&NormalizeRowsOp(), &NormalizeRowsGradOp()};
}

Value NormalizeRows(GraphBuilder& b, Value x, double epsilon) {
  return b.Add(NormalizeRowsOp(), {x}, {{"epsilon", epsilon}}, "normalize_rows");
}

}  // namespace tpurun
