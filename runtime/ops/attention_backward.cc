#include <algorithm>
#include <vector>

#include "runtime/base/bfloat16.h"
#include "runtime/base/clones.h"
#include "runtime/base/status.h"
#include "runtime/ir/sum_elements.h"
#include "runtime/ops/attention_tiles.h"
#include "runtime/ops/vector_math.h"

namespace tpurun {
namespace {

// One key and n queries. The key is hidden from the first `hidden` queries.
struct KeyOfQueries {
  const float *max, *inverse, *delta;  // [query]
  const uint16_t* draws;
  uint32_t threshold;  // draws below it drop the weight; 0: no weight is dropped
  float keep_scale, scale, hide;
  int64_t hidden;
};

// Replaces `gradients`, the gradients of the weights, by the gradients of the scores, and `scores`
// by the weights after dropout.
TPURUN_CLONES void WeightsAndScoreGradients(const KeyOfQueries& of, int64_t n, float* scores,
                                            float* gradients) {
  const float *const max = of.max, *const inverse = of.inverse, *const delta = of.delta;
  const uint16_t* const draws = of.draws;
  const uint32_t threshold = of.threshold;
  const float keep_scale = of.keep_scale, scale = of.scale, hide = of.hide;
  const int64_t hidden = of.hidden;
#pragma GCC ivdep
  for (int64_t t = 0; t < n; ++t) {
    const float below = scores[t] * scale + (t < hidden ? kHidden : hide) - max[t];
    const float power = ExpOfNegative(below);
    const float weight = below < kLeastExponent ? 0.0f : power * inverse[t];
    const float keep = draws[t] >= threshold ? keep_scale : 0.0f;
    scores[t] = weight * keep;
    gradients[t] = weight * (gradients[t] * keep - delta[t]) * scale;
  }
}

// A number of an operand, rounded as in products with kRounds.
template <bool kRounds>
[[gnu::always_inline]] inline float AsMultiplied(uint16_t bits) {
  return FromBFloat16Bits(bits);
}
template <bool kRounds>
[[gnu::always_inline]] inline float AsMultiplied(float x) {
  return kRounds ? RoundToBFloat16(x) : x;
}

// The rows of a head in an operand, f32 or bf16, `step` elements from one to the next.
struct RowsOfHead {
  const void* first;
  DType dtype;
  int64_t step;
};

// sums[t] = the sum over dy[t] y[t], rows of n elements. `products` has room for n.
template <bool kRounds, typename DyType, typename YType>
void SumProductsOfRows(const RowsOfHead& of_dy, const RowsOfHead& of_y, int64_t rows, int64_t n,
                       float* products, float* sums) {
  RunCloned([=]() __attribute__((always_inline)) {
    for (int64_t t = 0; t < rows; ++t) {
      const DyType* const dy = static_cast<const DyType*>(of_dy.first) + t * of_dy.step;
      const YType* const y = static_cast<const YType*>(of_y.first) + t * of_y.step;
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i)
        products[i] = AsMultiplied<kRounds>(dy[i]) * AsMultiplied<kRounds>(y[i]);
      sums[t] = SumOfRow<SumOf::kElements>(products, products, n);
    }
  });
}

template <bool kRounds>
auto* SumProductsOf(DType dy, DType y) {
  if (dy == DType::kBF16) {
    return y == DType::kBF16 ? SumProductsOfRows<kRounds, uint16_t, uint16_t>
                             : SumProductsOfRows<kRounds, uint16_t, float>;
  }
  return y == DType::kBF16 ? SumProductsOfRows<kRounds, float, uint16_t>
                           : SumProductsOfRows<kRounds, float, float>;
}

class AttentionBackward final : public AttentionTiles {
 public:
  AttentionBackward(const Attention& attention, const OpCall& call, ProductDType product_dtype,
                    const MakeStridedProduct& make_product)
      : AttentionTiles(attention, call, product_dtype, make_product) {
    const int64_t floats = static_cast<int64_t>(sizeof(float));
    const int64_t scores = TileKeys() * TileQueries();
    weights_ = scratch_.Add(scores * floats);
    gradients_ = scratch_.Add(scores * floats);
    const bool bf16 = product_dtype == ProductDType::kBFloat16;
    work_weights_ = bf16 ? scratch_.Add(scores * ByteSize(StoredDType(product_dtype_))) : weights_;
    work_gradients_ =
        bf16 ? scratch_.Add(scores * ByteSize(StoredDType(product_dtype_))) : gradients_;
    draws_ = scratch_.Add((TileKeys() + kGroupValues) * DrawStride() *
                          static_cast<int64_t>(sizeof(uint16_t)));
    delta_ = scratch_.Add(a.queries * floats);
    row_ = scratch_.Add(a.value_dim * floats);
    rounds_dq_ = call.results[0].dtype == DType::kBF16;
    if (rounds_dq_) dq_ = scratch_.Add(a.queries * a.key_dim * floats);
    const int64_t query_row = a.heads * a.key_dim, value_row = a.heads * a.value_dim;
    dq_row_ = rounds_dq_ ? a.key_dim : query_row;
    AddProduct(kScores, gemm::Triangle::kUpperZ, [&](int64_t queries, int64_t keys) {
      return OfKeysAndQueries(queries, keys, a.key_dim, query_row);
    });
    AddProduct(kWeightGradients, gemm::Triangle::kUpperZ, [&](int64_t queries, int64_t keys) {
      return OfKeysAndQueries(queries, keys, a.value_dim, value_row);
    });
    AddProduct(kValueGradients, gemm::Triangle::kUpperX, [&](int64_t queries, int64_t keys) {
      return OverQueries(queries, keys, a.value_dim, value_row);
    });
    AddProduct(kKeyGradients, gemm::Triangle::kUpperX, [&](int64_t queries, int64_t keys) {
      return OverQueries(queries, keys, a.key_dim, query_row);
    });
    AddProduct(kQueryGradients, gemm::Triangle::kLowerX, [&](int64_t queries, int64_t keys) {
      return StridedProductDef{.m = queries,
                               .k = keys,
                               .n = a.key_dim,
                               .x_row = 1,
                               .x_column = TileQueries(),
                               .y_row = query_row,
                               .y_column = 1,
                               .z_row = dq_row_};
    });
  }

  absl::Status Run(const KernelArgs& args) const override {
    for (int64_t n = args.begin; n < args.end; ++n) {
      Example example = Begin(args, n);
      for (int64_t head = 0; head < a.heads; ++head) {
        FindDelta(example, head);
        for (int64_t s = 0; s < a.keys; s += TileKeys()) AddTile(example, head, KeysAt(s));
        if (rounds_dq_ && args.results[0] != nullptr) RoundQueryGradients(example, head);
      }
      RETURN_IF_ERROR(example.status);
    }
    return absl::OkStatus();
  }

 private:
  enum Kind : int { kScores, kWeightGradients, kValueGradients, kKeyGradients, kQueryGradients };

  // Keys or values times arrays of the queries with the same layout, `width` elements wide. The
  // result has a row for each key.
  StridedProductDef OfKeysAndQueries(int64_t queries, int64_t keys, int64_t width,
                                     int64_t row) const {
    return {.m = keys,
            .k = width,
            .n = queries,
            .x_row = row,
            .x_column = 1,
            .y_row = 1,
            .y_column = row,
            .z_row = TileQueries()};
  }
  // A result of OfKeysAndQueries times arrays of the queries, `width` elements wide. The product
  // has the layout of the keys or values.
  StridedProductDef OverQueries(int64_t queries, int64_t keys, int64_t width, int64_t row) const {
    return {.m = keys,
            .k = queries,
            .n = width,
            .x_row = TileQueries(),
            .x_column = 1,
            .y_row = row,
            .y_column = 1,
            .z_row = row};
  }

  int64_t DrawStride() const {
    return (TileQueries() + kPhiloxLanes - 1) / kPhiloxLanes * kPhiloxLanes;
  }

  // The rows of a head in an operand with the layout of the values.
  RowsOfHead Rows(const Example& example, int operand, int64_t head) const {
    const DType dtype = call_.operands[operand].dtype;
    const int64_t first = (example.n * a.queries * a.heads + head) * a.value_dim;
    return {.first = At(example.args.operands[operand], dtype, first),
            .dtype = dtype,
            .step = a.heads * a.value_dim};
  }

  // For each query, the sum of dy y over the values. It equals the sum of weight times gradient
  // over all weights of the query.
  void FindDelta(const Example& example, int64_t head) const {
    const RowsOfHead dy = Rows(example, a.dy, head), y = Rows(example, a.y, head);
    const bool rounds = a.precision == Precision::kDefault;
    const auto sum =
        rounds ? SumProductsOf<true>(dy.dtype, y.dtype) : SumProductsOf<false>(dy.dtype, y.dtype);
    sum(dy, y, a.queries, a.value_dim, Scratch<float>(example.args, row_),
        Scratch<float>(example.args, delta_));
  }

  // Computes the gradients of one tile of keys and values, and adds the tile's part to the
  // gradients of the queries.
  void AddTile(Example& example, int64_t head, const Tile& keys) const {
    const KernelArgs& args = example.args;
    const DType dtype = StoredDType(product_dtype_);
    const int64_t of_keys = keys.begin * a.heads + head;
    const void* const k = At(example.k, dtype, of_keys * a.key_dim);
    const void* const v = At(example.v, dtype, of_keys * a.value_dim);
    float* const dk = Result(args, 1, example.n * a.keys * a.heads + of_keys, a.key_dim);
    float* const dv = Result(args, 2, example.n * a.keys * a.heads + of_keys, a.value_dim);
    bool first = true;
    for (int64_t t = 0; t < a.queries; t += TileQueries()) {
      const Tile queries = QueriesAt(t);
      if (!Sees(example, queries, keys)) continue;
      const int64_t of_queries = queries.begin * a.heads + head;
      const void* const q = At(example.q, dtype, of_queries * a.key_dim);
      const void* const dy = At(example.dy, dtype, of_queries * a.value_dim);
      Multiply(example, kScores, queries, keys, false, k, q, Scratch<float>(args, weights_));
      Multiply(example, kWeightGradients, queries, keys, false, v, dy,
               Scratch<float>(args, gradients_));
      FindScoreGradients(example, head, queries, keys);
      const void* const weights = Scratch<void>(args, work_weights_);
      const void* const gradients = Scratch<void>(args, work_gradients_);
      if (dv != nullptr) Multiply(example, kValueGradients, queries, keys, !first, weights, dy, dv);
      if (dk != nullptr) Multiply(example, kKeyGradients, queries, keys, !first, gradients, q, dk);
      if (args.results[0] != nullptr) {
        // A query that sees any key sees the first keys.
        Multiply(example, kQueryGradients, queries, keys, keys.begin > 0, gradients, k,
                 QueryGradients(example, head) + queries.begin * dq_row_);
      }
      first = false;
    }
    if (first) ClearUnseen(keys, dk, dv);
  }

  // Sets the gradients of keys that no query sees under `causal` to 0.
  void ClearUnseen(const Tile& keys, float* dk, float* dv) const {
    for (int64_t s = 0; s < keys.size; ++s) {
      if (dk != nullptr) std::fill_n(dk + s * a.heads * a.key_dim, a.key_dim, 0.0f);
      if (dv != nullptr) std::fill_n(dv + s * a.heads * a.value_dim, a.value_dim, 0.0f);
    }
  }

  void FindScoreGradients(const Example& example, int64_t head, const Tile& queries,
                          const Tile& keys) const {
    const KernelArgs& args = example.args;
    const int64_t ld = TileQueries(), stride = DrawStride();
    const float* const statistics = static_cast<const float*>(args.operands[a.statistics]) +
                                    (example.n * a.heads + head) * 2 * a.queries + queries.begin;
    uint16_t* const draws = Scratch<uint16_t>(args, draws_);
    if (drops()) {
      for (int64_t t = 0; t < queries.size; t += kPhiloxLanes) {
        for (int64_t s = 0; s < keys.size; s += kGroupValues) {
          DrawForQueries(example.draws, DrawRow(example, head, queries.begin + t),
                         (keys.begin + s) / kGroupValues, std::min(kGroupValues, keys.size - s),
                         stride, draws + s * stride + t);
        }
      }
    }
    const float* const hide = Hide(args) + keys.begin;
    const bool has_blind = HasBlind(example, queries);
    for (int64_t s = 0; s < keys.size; ++s) {
      float* const weights = Scratch<float>(args, weights_) + s * ld;
      float* const gradients = Scratch<float>(args, gradients_) + s * ld;
      const int64_t hidden =
          a.causal ? std::clamp<int64_t>(keys.begin + s - queries.begin, 0, queries.size) : 0;
      const int64_t begin = has_blind ? 0 : hidden;
      std::fill_n(weights, begin, 0.0f);
      std::fill_n(gradients, begin, 0.0f);
      WeightsAndScoreGradients({.max = statistics + begin,
                                .inverse = statistics + a.queries + begin,
                                .delta = Scratch<float>(args, delta_) + queries.begin + begin,
                                .draws = draws + s * stride + begin,
                                .threshold = threshold_,
                                .keep_scale = KeepScale(threshold_),
                                .scale = a.scale,
                                .hide = hide[s],
                                .hidden = hidden - begin},
                               queries.size - begin, weights + begin, gradients + begin);
      const DType dtype = StoredDType(product_dtype_);
      ToProductDType(product_dtype_, weights, queries.size,
                     At(Scratch<void>(args, work_weights_), dtype, s * ld));
      ToProductDType(product_dtype_, gradients, queries.size,
                     At(Scratch<void>(args, work_gradients_), dtype, s * ld));
    }
  }

  float* Result(const KernelArgs& args, int result, int64_t row, int64_t width) const {
    float* const all = static_cast<float*>(args.results[result]);
    return all == nullptr ? nullptr : all + row * width;
  }

  float* QueryGradients(const Example& example, int64_t head) const {
    if (rounds_dq_) return Scratch<float>(example.args, dq_);
    return Result(example.args, 0, example.n * a.queries * a.heads + head, a.key_dim);
  }

  void RoundQueryGradients(const Example& example, int64_t head) const {
    const float* const dq = Scratch<float>(example.args, dq_);
    for (int64_t t = 0; t < a.queries; ++t) {
      const int64_t row = (example.n * a.queries + t) * a.heads + head;
      RoundToBFloat16(dq + t * a.key_dim, a.key_dim,
                      static_cast<uint16_t*>(example.args.results[0]) + row * a.key_dim);
    }
  }

  int64_t weights_, gradients_, work_weights_, work_gradients_, draws_, delta_, row_;
  bool rounds_dq_;
  int64_t dq_ = 0, dq_row_;
};

}  // namespace

std::unique_ptr<AttentionTiles> MakeAttentionBackward(const Attention& attention,
                                                      const OpCall& call,
                                                      ProductDType product_dtype,
                                                      const MakeStridedProduct& make_product) {
  return std::make_unique<AttentionBackward>(attention, call, product_dtype, make_product);
}

}  // namespace tpurun
