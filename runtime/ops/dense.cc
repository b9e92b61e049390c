#include "runtime/ops/dense.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/bfloat16.h"
#include "runtime/base/clones.h"
#include "runtime/ops/precision.h"

namespace tpurun {
namespace {

constexpr int64_t kColumns = 16;  // columns of z at a time: a vector register
constexpr int64_t kRows = 4;      // rows of z at a time: independent sums

int64_t Padded(int64_t n) { return (n + kColumns - 1) / kColumns * kColumns; }

// A vector type, because GCC 12 generates slow code at -O3 for a loop over kColumns sums.
typedef float Columns __attribute__((vector_size(kColumns * sizeof(float))));

template <int64_t rows>
[[gnu::always_inline]] inline void ProductTile(const float* x, const float* y, int64_t k,
                                               int64_t stride, Columns* z) {
  Columns sums[rows] = {};
  for (int64_t i = 0; i < k; ++i) {
    Columns y_row;
    std::memcpy(&y_row, y + i * stride, sizeof(y_row));
    for (int64_t r = 0; r < rows; ++r) sums[r] += x[r * k + i] * y_row;
  }
  for (int64_t r = 0; r < rows; ++r) z[r] = sums[r];
}

// z (m, n) = x (m, k) y (k, stride) + bias. Columns n and above of y are padding.
TPURUN_CLONES void Product(const float* x, const float* y, const float* bias, int64_t m, int64_t k,
                           int64_t n, int64_t stride, float* z) {
  for (int64_t i = 0; i < m; i += kRows) {
    const int64_t rows = std::min(kRows, m - i);
    for (int64_t j = 0; j < n; j += kColumns) {
      const int64_t columns = std::min(kColumns, n - j);
      Columns tile[kRows];
      if (rows == kRows) {
        ProductTile<kRows>(x + i * k, y + j, k, stride, tile);
      } else {
        for (int64_t r = 0; r < rows; ++r)
          ProductTile<1>(x + (i + r) * k, y + j, k, stride, tile + r);
      }
      for (int64_t r = 0; r < rows; ++r) {
        float* row = z + (i + r) * n + j;
        if (bias == nullptr) {
          for (int64_t c = 0; c < columns; ++c) row[c] = tile[r][c];
        } else {
          for (int64_t c = 0; c < columns; ++c) row[c] = tile[r][c] + bias[j + c];
        }
      }
    }
  }
}

// A (rows, columns) operand, or a transposed one (columns, rows), copied as f32 to rows with a
// distance of `stride` elements.
struct Source {
  bool rounds, transposed;
  int64_t rows, columns;

  void Copy(const void* from, int64_t row_begin, int64_t row_end, int64_t stride, float* to) const {
    const float* in = static_cast<const float*>(from);
    if (rounds) {
      CopyAs(row_begin, row_end, stride, to, [in](int64_t i) { return RoundToBFloat16(in[i]); });
    } else {
      CopyAs(row_begin, row_end, stride, to, [in](int64_t i) { return in[i]; });
    }
  }

 private:
  template <typename Read>
  void CopyAs(int64_t row_begin, int64_t row_end, int64_t stride, float* to, Read read) const {
    for (int64_t r = row_begin; r < row_end; ++r) {
      float* row = to + (r - row_begin) * stride;
      if (transposed) {
        for (int64_t c = 0; c < columns; ++c) row[c] = read(c * rows + r);
      } else {
        for (int64_t c = 0; c < columns; ++c) row[c] = read(r * columns + c);
      }
      std::fill(row + columns, row + stride, 0.0f);
    }
  }
};

}  // namespace

KernelPlan PlanDense(const MatMulDims& d, const OpCall& call) {
  const Precision precision = PrecisionOf(call.attrs);
  if (precision == Precision::kHigh || precision == Precision::kHighest) return {};
  KernelPlan plan;
  plan.implementation = kDenseKernel;
  const auto bytes = static_cast<int64_t>(sizeof(float));
  plan.scratch_bytes = bytes * (d.m * d.k + d.k * Padded(d.n));
  // Each part copies its rows of x and all of y.
  plan.copied_bytes = bytes * (d.m * d.k + call.parts * d.k * Padded(d.n));
  return plan;
}

std::unique_ptr<Kernel> MakeDense(const MatMulDims& d, const OpCall& call) {
  const bool rounds = PrecisionOf(call.attrs) == Precision::kDefault;
  const Source x{rounds, d.transpose_x, d.m, d.k};
  const Source y{rounds, d.transpose_y, d.k, d.n};
  const bool has_bias = call.operands.size() > 2;
  return KernelOf([=](const KernelArgs& args) {
    const int64_t m = args.end - args.begin, stride = Padded(d.n);
    float* left = static_cast<float*>(args.scratch);
    float* right = left + d.m * d.k;
    x.Copy(args.operands[0], args.begin, args.end, d.k, left);
    y.Copy(args.operands[1], 0, d.k, stride, right);
    const float* bias = has_bias ? static_cast<const float*>(args.operands[2]) : nullptr;
    float* z = static_cast<float*>(args.results[0]) + args.begin * d.n;
    Product(left, right, bias, m, d.k, d.n, stride, z);
  });
}

}  // namespace tpurun
