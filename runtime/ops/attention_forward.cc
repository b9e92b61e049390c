#include <algorithm>
#include <vector>

#include "runtime/base/bfloat16.h"
#include "runtime/base/clones.h"
#include "runtime/base/status.h"
#include "runtime/ir/elementwise.h"
#include "runtime/ops/attention_tiles.h"
#include "runtime/ops/gate_functions.h"
#include "runtime/ops/rows.h"
#include "runtime/ops/vector_math.h"

namespace tpurun {
namespace {

TPURUN_CLONES void DropDrawn(const uint16_t* draws, uint32_t threshold, int64_t n, float* x) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) x[i] = draws[i] >= threshold ? x[i] : 0.0f;
}

// x[s] = x[s] * scale + hide[s]. The keys from `visible` on are hidden.
TPURUN_CLONES void HideScores(const float* hide, float scale, int64_t visible, int64_t n,
                              float* x) {
#pragma GCC ivdep
  for (int64_t s = 0; s < n; ++s) x[s] = x[s] * scale + (s >= visible ? kHidden : hide[s]);
}

TPURUN_CLONES void MultiplyRow(float factor, int64_t n, float* x) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) x[i] *= factor;
}

class AttentionForward final : public AttentionTiles {
 public:
  AttentionForward(const Attention& attention, const OpCall& call, ProductDType product_dtype,
                   const MakeStridedProduct& make_product)
      : AttentionTiles(attention, call, product_dtype, make_product) {
    const int64_t floats = static_cast<int64_t>(sizeof(float));
    scores_ = scratch_.Add(TileQueries() * TileKeys() * floats);
    weights_ =
        product_dtype == ProductDType::kBFloat16
            ? scratch_.Add(TileQueries() * TileKeys() * ByteSize(StoredDType(product_dtype_)))
            : scores_;
    sums_ = scratch_.Add(TileQueries() * a.value_dim * floats);
    max_ = scratch_.Add(TileQueries() * floats);
    total_ = scratch_.Add(TileQueries() * floats);
    draws_ = scratch_.Add((TileKeys() + kGroupValues) * static_cast<int64_t>(sizeof(uint16_t)));
    const int64_t query_row = a.heads * a.key_dim, value_row = a.heads * a.value_dim;
    AddProduct(kScores, gemm::Triangle::kLowerZ, [&](int64_t queries, int64_t keys) {
      return StridedProductDef{.m = queries,
                               .k = a.key_dim,
                               .n = keys,
                               .x_row = query_row,
                               .x_column = 1,
                               .y_row = 1,
                               .y_column = query_row,
                               .z_row = TileKeys()};
    });
    AddProduct(kValues, gemm::Triangle::kLowerX, [&](int64_t queries, int64_t keys) {
      return StridedProductDef{.m = queries,
                               .k = keys,
                               .n = a.value_dim,
                               .x_row = TileKeys(),
                               .x_column = 1,
                               .y_row = value_row,
                               .y_column = 1,
                               .z_row = a.value_dim};
    });
  }

  absl::Status Run(const KernelArgs& args) const override {
    for (int64_t n = args.begin; n < args.end; ++n) {
      Example example = Begin(args, n);
      for (int64_t head = 0; head < a.heads; ++head) {
        for (int64_t t = 0; t < a.queries; t += TileQueries()) AddTile(example, head, QueriesAt(t));
      }
      RETURN_IF_ERROR(example.status);
    }
    return absl::OkStatus();
  }

 private:
  enum Kind : int { kScores, kValues };

  // Computes the results of one tile of queries of a head.
  void AddTile(Example& example, int64_t head, const Tile& queries) const {
    const KernelArgs& args = example.args;
    const DType dtype = StoredDType(product_dtype_);
    float* const scores = Scratch<float>(args, scores_);
    float* const sums = Scratch<float>(args, sums_);
    bool first = true;
    for (int64_t s = 0; s < a.keys; s += TileKeys()) {
      const Tile keys = KeysAt(s);
      if (!Sees(example, queries, keys)) continue;
      Multiply(example, kScores, queries, keys, false,
               At(example.q, dtype, (queries.begin * a.heads + head) * a.key_dim),
               At(example.k, dtype, (keys.begin * a.heads + head) * a.key_dim), scores);
      for (int64_t t = 0; t < queries.size; ++t)
        WeighKeys(example, head, queries.begin + t, t, keys, first);
      Multiply(example, kValues, queries, keys, !first, Scratch<void>(args, weights_),
               At(example.v, dtype, (keys.begin * a.heads + head) * a.value_dim), sums);
      first = false;
    }
    Finish(example, head, queries);
  }

  // Computes the weights of query `t`, row `row` of the tile, from its scores for one tile of keys.
  void WeighKeys(const Example& example, int64_t head, int64_t t, int64_t row, const Tile& keys,
                 bool first) const {
    const KernelArgs& args = example.args;
    float* const x = Scratch<float>(args, scores_) + row * TileKeys();
    float& max = Scratch<float>(args, max_)[row];
    float& total = Scratch<float>(args, total_)[row];
    const int64_t visible = a.causal ? t + 1 - keys.begin : keys.size;
    const bool blind = t < example.first_visible;
    const int64_t count = blind ? keys.size : std::clamp<int64_t>(visible, 0, keys.size);
    if (count > 0) {
      HideScores(Hide(args) + keys.begin, a.scale, visible, count, x);
      const float most = RowMax(x, count);
      const float next = !first && max > most ? max : most;
      ExpBelow(x, next, count, x);
      if (first) {
        total = SumOfElements(x, count);
      } else {
        const float below = max - next;
        const float factor = below < kLeastExponent ? 0.0f : ExpOfNegative(below);
        total = total * factor + SumOfElements(x, count);
        if (factor != 1.0f)
          MultiplyRow(factor, a.value_dim, Scratch<float>(args, sums_) + row * a.value_dim);
      }
      max = next;
      if (drops()) {
        uint16_t* const draws = Scratch<uint16_t>(args, draws_);
        DrawForKeys(example.draws, DrawRow(example, head, t), keys.begin / kGroupValues,
                    (count + kGroupValues - 1) / kGroupValues, draws);
        DropDrawn(draws, threshold_, count, x);
      }
    }
    std::fill(x + count, x + keys.size, 0.0f);
    ToProductDType(
        product_dtype_, x, keys.size,
        At(Scratch<void>(args, weights_), StoredDType(product_dtype_), row * TileKeys()));
  }

  void Finish(const Example& example, int64_t head, const Tile& queries) const {
    const KernelArgs& args = example.args;
    const float* const max = Scratch<float>(args, max_);
    const float* const total = Scratch<float>(args, total_);
    const Shape& y = call_.results[0];
    for (int64_t row = 0; row < queries.size; ++row) {
      float* const sums = Scratch<float>(args, sums_) + row * a.value_dim;
      MultiplyRow(KeepScale(threshold_) / total[row], a.value_dim, sums);
      const int64_t query = example.n * a.queries + queries.begin + row;
      if (args.results[0] != nullptr) {
        ToProductDType(y.dtype == DType::kBF16 ? ProductDType::kBFloat16 : ProductDType::kFloat,
                       sums, a.value_dim,
                       At(args.results[0], y.dtype, (query * a.heads + head) * a.value_dim));
      }
    }
    if (args.results[1] == nullptr) return;
    float* const of_head = static_cast<float*>(args.results[1]) +
                           (example.n * a.heads + head) * 2 * a.queries + queries.begin;
    std::copy_n(max, queries.size, of_head);
    for (int64_t row = 0; row < queries.size; ++row) of_head[a.queries + row] = 1.0f / total[row];
  }

  int64_t scores_, weights_, sums_, max_, total_, draws_;
};

}  // namespace

std::unique_ptr<AttentionTiles> MakeAttentionForward(const Attention& attention, const OpCall& call,
                                                     ProductDType product_dtype,
                                                     const MakeStridedProduct& make_product) {
  return std::make_unique<AttentionForward>(attention, call, product_dtype, make_product);
}

}  // namespace tpurun
