#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "runtime/base/bfloat16.h"
#include "runtime/base/clones.h"
#include "runtime/base/memory.h"
#include "runtime/base/random.h"
#include "runtime/base/status.h"
#include "runtime/ir/elementwise.h"
#include "runtime/ops/attention.h"
#include "runtime/ops/gate_functions.h"
#include "runtime/ops/onednn/onednn.h"
#include "runtime/ops/onednn/strided_products.h"
#include "runtime/ops/rows.h"
#include "runtime/ops/vector_math.h"

namespace tpurun {
namespace {

constexpr int64_t kTileQueries = 128;
constexpr int64_t kTileKeys = 256;
// What is added to a score that is not seen (keras/layers/activation/softmax.py): a query that sees
// none weighs all keys the same, as its scores drown in it.
constexpr float kHidden = -1e9f;

// Draws of 16 bits: number i of block b of a group of keys is of its key i * kPhiloxLanes + b.
constexpr int64_t kDrawsOfBlock = 8;
constexpr int64_t kGroupKeys = kDrawsOfBlock * kPhiloxLanes;
constexpr double kDraws = 65536;

uint32_t DrawThreshold(double rate) { return static_cast<uint32_t>(std::lround(rate * kDraws)); }

// How products take their operands.
enum class Work : uint8_t {
  kFloat,
  kRounded,  // to bf16, in f32
  kBFloat16,
};
DType WorkDType(Work work) { return work == Work::kBFloat16 ? DType::kBF16 : DType::kF32; }

// `to` may be `from` where both are f32.
void ToWork(Work work, const float* from, int64_t n, void* to) {
  switch (work) {
    case Work::kFloat:
      if (from != to) std::memcpy(to, from, n * sizeof(float));
      return;
    case Work::kRounded:
      return RoundInFloat(from, n, static_cast<float*>(to));
    case Work::kBFloat16:
      return RoundToBFloat16(from, n, static_cast<uint16_t*>(to));
  }
}

// Elements of an f32 or bf16 array.
const void* At(const void* array, DType dtype, int64_t element) {
  return static_cast<const std::byte*>(array) + element * ByteSize(dtype);
}
void* At(void* array, DType dtype, int64_t element) {
  return static_cast<std::byte*>(array) + element * ByteSize(dtype);
}

// What one worker draws for the weights of a step.
struct WeightDraws {
  uint64_t seed;
  uint32_t stream, step, replica;
  int64_t blocks_per_query;
};

// draws[s] of the keys of `groups` groups from `group` on, for one query.
TPURUN_CLONES void DrawForKeys(const WeightDraws& of, int64_t query, int64_t group, int64_t groups,
                               uint16_t* draws) {
  for (int64_t g = 0; g < groups; ++g) {
    PhiloxBlocks blocks;
    DrawPhiloxBlocks(of.seed, of.stream, of.step, of.replica,
                     query * of.blocks_per_query + (group + g) * kPhiloxLanes, 1, blocks);
    for (int w = 0; w < 4; ++w) {
      uint16_t* const low = draws + g * kGroupKeys + int64_t{2} * w * kPhiloxLanes;
#pragma GCC ivdep
      for (int l = 0; l < kPhiloxLanes; ++l) {
        low[l] = static_cast<uint16_t>(blocks.words[w][l]);
        low[kPhiloxLanes + l] = static_cast<uint16_t>(blocks.words[w][l] >> 16);
      }
    }
  }
}

// draws[s * stride + t] of `keys` keys from the first of `group` on, for kPhiloxLanes queries.
TPURUN_CLONES void DrawForQueries(const WeightDraws& of, int64_t query, int64_t group, int64_t keys,
                                  int64_t stride, uint16_t* draws) {
  for (int64_t b = 0; b < std::min<int64_t>(keys, kPhiloxLanes); ++b) {
    PhiloxBlocks blocks;
    DrawPhiloxBlocks(of.seed, of.stream, of.step, of.replica,
                     query * of.blocks_per_query + group * kPhiloxLanes + b, of.blocks_per_query,
                     blocks);
    for (int64_t i = 0; i < kDrawsOfBlock && i * kPhiloxLanes + b < keys; ++i) {
      const uint32_t* const words = blocks.words[i / 2];
      uint16_t* const to = draws + (i * kPhiloxLanes + b) * stride;
      const int shift = i % 2 == 0 ? 0 : 16;
#pragma GCC ivdep
      for (int l = 0; l < kPhiloxLanes; ++l) to[l] = static_cast<uint16_t>(words[l] >> shift);
    }
  }
}

TPURUN_CLONES void DropDrawn(const uint16_t* draws, uint32_t threshold, int64_t n, float* x) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) x[i] = draws[i] >= threshold ? x[i] : 0.0f;
}

// x[s] = x[s] * scale + hide[s], the keys from `visible` on being hidden.
TPURUN_CLONES void HideScores(const float* hide, float scale, int64_t visible, int64_t n,
                              float* x) {
#pragma GCC ivdep
  for (int64_t s = 0; s < n; ++s) x[s] = x[s] * scale + (s >= visible ? kHidden : hide[s]);
}

TPURUN_CLONES void MultiplyRow(float factor, int64_t n, float* x) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) x[i] *= factor;
}

// Of one key and n queries, of which it is hidden from the first `hidden`.
struct KeyOfQueries {
  const float *max, *inverse, *delta;  // of each query
  const uint16_t* draws;
  uint32_t threshold;  // 0: all weights are kept
  float keep_scale, scale, hide;
  int64_t hidden;
};

// From a score and the gradient of its weight those of the score, in its place, and the weight as
// it was multiplied, in that of the score.
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

// Scratch memory, handed out piece by piece.
class ScratchPlan {
 public:
  int64_t Add(int64_t bytes) {
    const int64_t at = bytes_;
    bytes_ += Aligned(bytes);
    return at;
  }
  int64_t bytes() const { return bytes_; }

 private:
  int64_t bytes_ = 0;
};

// What both kernels share: tiles, products and the operands as these take them.
class AttentionTiles : public Kernel {
 public:
  // `by_library`: products are oneDNN's; else loops that split what they read at the precision.
  AttentionTiles(const Attention& attention, const OpCall& call, Work work, bool by_library)
      : a(attention),
        call_(call),
        work_(work),
        by_library_(by_library),
        threshold_(DrawThreshold(a.rate)) {
    blocks_per_query_ = (a.keys + kGroupKeys - 1) / kGroupKeys * kPhiloxLanes;
    for (const int operand : {a.dy, a.q, a.k, a.v}) {
      if (operand < 0 || !Converts(operand)) continue;
      converted_[operand] =
          scratch_.Add(call.operands[operand].row_elements() * ByteSize(WorkDType(work)));
    }
    hide_ = scratch_.Add(a.keys * static_cast<int64_t>(sizeof(float)));
  }

  // Whether every product could be made.
  bool good() const { return good_; }
  int64_t scratch_bytes() const { return scratch_.bytes() + product_bytes_; }

  void SetWorkers(int workers) override {
    for (const auto& product : products_) {
      if (product != nullptr) product->SetWorkers(workers);
    }
  }

 protected:
  // A product of every tile: of a whole number of queries, of keys, and added to what there is.
  static constexpr int kKindsOfProduct = 5;

  // makes(queries, keys) says what the product of such a tile is.
  template <typename F>
  void AddProduct(int kind, const F& make) {
    for (const bool last_query : {false, true}) {
      for (const bool last_key : {false, true}) {
        for (const bool accumulates : {false, true}) {
          const int64_t queries = Tail(a.queries, TileQueries(), last_query);
          const int64_t keys = Tail(a.keys, TileKeys(), last_key);
          if (queries == 0 || keys == 0) continue;
          StridedProductDef def = make(queries, keys);
          def.accumulates = accumulates;
          auto& product = products_[Index(kind, last_query, last_key, accumulates)];
          product = by_library_ ? MakeLibraryProduct(def, WorkDType(work_))
                                : MakePlainProduct(def, a.precision);
          good_ = good_ && product != nullptr;
          if (product != nullptr)
            product_bytes_ = std::max(product_bytes_, product->scratch_bytes());
        }
      }
    }
  }

  struct Tile {
    int64_t begin, size;
    bool is_tail;  // smaller than the others
  };
  static Tile TileAt(int64_t begin, int64_t of, int64_t most) {
    const int64_t size = std::min(most, of - begin);
    return {begin, size, size < most};
  }

  // One example as it is worked on.
  struct Example {
    const KernelArgs& args;
    int64_t n = 0;
    const void *dy = nullptr, *q = nullptr, *k = nullptr, *v = nullptr;
    int64_t first_visible = 0;  // key; S where all are hidden
    WeightDraws draws = {};
    absl::Status status = absl::OkStatus();
  };

  Example Begin(const KernelArgs& args, int64_t n) const {
    Example example{.args = args, .n = n};
    example.q = Operand(args, a.q, n);
    example.k = Operand(args, a.k, n);
    example.v = Operand(args, a.v, n);
    if (a.dy >= 0) example.dy = Operand(args, a.dy, n);
    float* const hide = Scratch<float>(args, hide_);
    std::fill_n(hide, a.keys, 0.0f);
    if (a.mask >= 0) {
      const float* const mask = static_cast<const float*>(args.operands[a.mask]) + n * a.keys;
      for (int64_t s = 0; s < a.keys; ++s) hide[s] = mask[s] == 0 ? kHidden : 0.0f;
      example.first_visible = std::find(hide, hide + a.keys, 0.0f) - hide;
    }
    if (a.step >= 0) {
      example.draws = {
          .seed = a.seed,
          .stream = a.stream,
          .step = static_cast<uint32_t>(*static_cast<const int64_t*>(args.operands[a.step])),
          .replica = static_cast<uint32_t>(*static_cast<const int32_t*>(args.operands[a.replica])),
          .blocks_per_query = blocks_per_query_};
    }
    return example;
  }

  // The row of draws of a query.
  int64_t DrawRow(const Example& example, int64_t head, int64_t query) const {
    return (example.n * a.heads + head) * a.queries + query;
  }
  // Whether a query of the tile sees a key of the other, or one of them sees none at all and
  // therefore weighs all.
  bool Sees(const Example& example, const Tile& queries, const Tile& keys) const {
    return !a.causal || queries.begin + queries.size > keys.begin || HasBlind(example, queries);
  }
  // Under `causal`, the queries ahead of the first key that is seen, which see none.
  bool HasBlind(const Example& example, const Tile& queries) const {
    return a.causal && queries.begin < example.first_visible;
  }

  void Multiply(Example& example, int kind, const Tile& queries, const Tile& keys, bool accumulates,
                const void* x, const void* y, float* z) const {
    if (!example.status.ok()) return;
    const int product = Index(kind, queries.is_tail, keys.is_tail, accumulates);
    example.status = products_[product]->Run(example.args.worker, x, y, z,
                                             Scratch<void>(example.args, scratch_.bytes()));
  }

  template <typename T>
  T* Scratch(const KernelArgs& args, int64_t at) const {
    return reinterpret_cast<T*>(static_cast<std::byte*>(args.scratch) + at);
  }

  int64_t TileQueries() const { return std::min(a.queries, kTileQueries); }
  int64_t TileKeys() const { return std::min(a.keys, kTileKeys); }
  int64_t work_bytes() const { return ByteSize(WorkDType(work_)); }
  bool drops() const { return threshold_ > 0; }
  float keep_scale() const { return static_cast<float>(1 / (1 - threshold_ / kDraws)); }

  const Attention a;
  const OpCall call_;
  const Work work_;
  const bool by_library_;
  const uint32_t threshold_;
  ScratchPlan scratch_;
  int64_t hide_ = 0;

 private:
  static int Index(int kind, bool last_query, bool last_key, bool accumulates) {
    return ((kind * 2 + (last_query ? 1 : 0)) * 2 + (last_key ? 1 : 0)) * 2 + (accumulates ? 1 : 0);
  }
  static int64_t Tail(int64_t of, int64_t tile, bool last) { return last ? of % tile : tile; }

  bool Converts(int operand) const {
    return work_ == Work::kRounded || call_.operands[operand].dtype != WorkDType(work_);
  }

  // The example's part of an operand, as products take it.
  const void* Operand(const KernelArgs& args, int operand, int64_t n) const {
    const Shape& shape = call_.operands[operand];
    const int64_t elements = shape.row_elements();
    const void* const from = At(args.operands[operand], shape.dtype, n * elements);
    if (!Converts(operand)) return from;
    void* const to = Scratch<void>(args, converted_[operand]);
    ToWork(work_, static_cast<const float*>(from), elements, to);
    return to;
  }

  int64_t blocks_per_query_ = 0;
  std::array<int64_t, 4> converted_ = {};  // by operand
  std::array<std::unique_ptr<StridedProduct>, kKindsOfProduct * 8> products_;
  int64_t product_bytes_ = 0;
  bool good_ = true;
};

class AttentionForward final : public AttentionTiles {
 public:
  AttentionForward(const Attention& attention, const OpCall& call, Work work, bool by_library)
      : AttentionTiles(attention, call, work, by_library) {
    const int64_t floats = static_cast<int64_t>(sizeof(float));
    scores_ = scratch_.Add(TileQueries() * TileKeys() * floats);
    weights_ =
        work == Work::kBFloat16 ? scratch_.Add(TileQueries() * TileKeys() * work_bytes()) : scores_;
    sums_ = scratch_.Add(TileQueries() * a.value_dim * floats);
    max_ = scratch_.Add(TileQueries() * floats);
    total_ = scratch_.Add(TileQueries() * floats);
    draws_ = scratch_.Add((TileKeys() + kGroupKeys) * static_cast<int64_t>(sizeof(uint16_t)));
    const int64_t query_row = a.heads * a.key_dim, value_row = a.heads * a.value_dim;
    AddProduct(kScores, [&](int64_t queries, int64_t keys) {
      return StridedProductDef{.m = queries,
                               .k = a.key_dim,
                               .n = keys,
                               .x_row = query_row,
                               .x_column = 1,
                               .y_row = 1,
                               .y_column = query_row,
                               .z_row = TileKeys()};
    });
    AddProduct(kValues, [&](int64_t queries, int64_t keys) {
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
        for (int64_t t = 0; t < a.queries; t += TileQueries())
          AddTile(example, head, TileAt(t, a.queries, TileQueries()));
      }
      RETURN_IF_ERROR(example.status);
    }
    return absl::OkStatus();
  }

 private:
  enum Kind : int { kScores, kValues };

  // The results of some queries of a head.
  void AddTile(Example& example, int64_t head, const Tile& queries) const {
    const KernelArgs& args = example.args;
    const DType dtype = WorkDType(work_);
    float* const scores = Scratch<float>(args, scores_);
    float* const sums = Scratch<float>(args, sums_);
    bool first = true;
    for (int64_t s = 0; s < a.keys; s += TileKeys()) {
      const Tile keys = TileAt(s, a.keys, TileKeys());
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

  // From the scores of query `t`, row `row` of the tile, their weights so far.
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
      HideScores(Scratch<float>(args, hide_) + keys.begin, a.scale, visible, count, x);
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
        DrawForKeys(example.draws, DrawRow(example, head, t), keys.begin / kGroupKeys,
                    (count + kGroupKeys - 1) / kGroupKeys, draws);
        DropDrawn(draws, threshold_, count, x);
      }
    }
    std::fill(x + count, x + keys.size, 0.0f);
    ToWork(work_, x, keys.size,
           At(Scratch<void>(args, weights_), WorkDType(work_), row * TileKeys()));
  }

  void Finish(const Example& example, int64_t head, const Tile& queries) const {
    const KernelArgs& args = example.args;
    const float* const max = Scratch<float>(args, max_);
    const float* const total = Scratch<float>(args, total_);
    const Shape& y = call_.results[0];
    for (int64_t row = 0; row < queries.size; ++row) {
      float* const sums = Scratch<float>(args, sums_) + row * a.value_dim;
      MultiplyRow(keep_scale() / total[row], a.value_dim, sums);
      const int64_t query = example.n * a.queries + queries.begin + row;
      if (args.results[0] != nullptr) {
        ToWork(y.dtype == DType::kBF16 ? Work::kBFloat16 : Work::kFloat, sums, a.value_dim,
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

class AttentionBackward final : public AttentionTiles {
 public:
  AttentionBackward(const Attention& attention, const OpCall& call, Work work, bool by_library)
      : AttentionTiles(attention, call, work, by_library) {
    const int64_t floats = static_cast<int64_t>(sizeof(float));
    const int64_t scores = TileKeys() * TileQueries();
    weights_ = scratch_.Add(scores * floats);
    gradients_ = scratch_.Add(scores * floats);
    const bool narrow = work == Work::kBFloat16;
    work_weights_ = narrow ? scratch_.Add(scores * work_bytes()) : weights_;
    work_gradients_ = narrow ? scratch_.Add(scores * work_bytes()) : gradients_;
    draws_ = scratch_.Add((TileKeys() + kGroupKeys) * DrawStride() *
                          static_cast<int64_t>(sizeof(uint16_t)));
    delta_ = scratch_.Add(a.queries * floats);
    row_ = scratch_.Add(3 * a.value_dim * floats);
    rounds_dq_ = call.results[0].dtype == DType::kBF16;
    if (rounds_dq_) dq_ = scratch_.Add(a.queries * a.key_dim * floats);
    const int64_t query_row = a.heads * a.key_dim, value_row = a.heads * a.value_dim;
    dq_row_ = rounds_dq_ ? a.key_dim : query_row;
    AddProduct(kScores, [&](int64_t queries, int64_t keys) {
      return OfKeysAndQueries(queries, keys, a.key_dim, query_row);
    });
    AddProduct(kWeightGradients, [&](int64_t queries, int64_t keys) {
      return OfKeysAndQueries(queries, keys, a.value_dim, value_row);
    });
    AddProduct(kValueGradients, [&](int64_t queries, int64_t keys) {
      return OverQueries(queries, keys, a.value_dim, value_row);
    });
    AddProduct(kKeyGradients, [&](int64_t queries, int64_t keys) {
      return OverQueries(queries, keys, a.key_dim, query_row);
    });
    AddProduct(kQueryGradients, [&](int64_t queries, int64_t keys) {
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
        for (int64_t s = 0; s < a.keys; s += TileKeys())
          AddTile(example, head, TileAt(s, a.keys, TileKeys()));
        if (rounds_dq_ && args.results[0] != nullptr) RoundQueryGradients(example, head);
      }
      RETURN_IF_ERROR(example.status);
    }
    return absl::OkStatus();
  }

 private:
  enum Kind : int { kScores, kWeightGradients, kValueGradients, kKeyGradients, kQueryGradients };

  // Keys or values times what lies like them of the queries, `width` wide: a row for each key.
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
  // Such rows times what lies like the keys or values.
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

  // The f32 numbers of `n` elements of an operand as products take them.
  void ReadRow(const KernelArgs& args, int operand, int64_t element, int64_t n, float* row) const {
    const DType dtype = call_.operands[operand].dtype;
    const void* const from = At(args.operands[operand], dtype, element);
    if (dtype == DType::kBF16) {
      FromBFloat16(static_cast<const uint16_t*>(from), n, row);
    } else {
      ToWork(a.precision == Precision::kDefault ? Work::kRounded : Work::kFloat,
             static_cast<const float*>(from), n, row);
    }
  }

  // The sum over the values of dy y of each query: what all gradients of its weights, weighed, are.
  void FindDelta(const Example& example, int64_t head) const {
    const KernelArgs& args = example.args;
    float* const dy = Scratch<float>(args, row_);
    float* const y = dy + a.value_dim;
    float* const products = y + a.value_dim;
    for (int64_t t = 0; t < a.queries; ++t) {
      const int64_t element = ((example.n * a.queries + t) * a.heads + head) * a.value_dim;
      ReadRow(args, a.dy, element, a.value_dim, dy);
      ReadRow(args, a.y, element, a.value_dim, y);
      MultiplyArrays(dy, y, a.value_dim, products);
      Scratch<float>(args, delta_)[t] = SumOfElements(products, a.value_dim);
    }
  }

  // The gradients of some keys and values, and their part in those of the queries.
  void AddTile(Example& example, int64_t head, const Tile& keys) const {
    const KernelArgs& args = example.args;
    const DType dtype = WorkDType(work_);
    const int64_t of_keys = keys.begin * a.heads + head;
    const void* const k = At(example.k, dtype, of_keys * a.key_dim);
    const void* const v = At(example.v, dtype, of_keys * a.value_dim);
    float* const dk = Result(args, 1, example.n * a.keys * a.heads + of_keys, a.key_dim);
    float* const dv = Result(args, 2, example.n * a.keys * a.heads + of_keys, a.value_dim);
    bool first = true;
    for (int64_t t = 0; t < a.queries; t += TileQueries()) {
      const Tile queries = TileAt(t, a.queries, TileQueries());
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
        // Every query sees the first keys, if it sees any.
        Multiply(example, kQueryGradients, queries, keys, keys.begin > 0, gradients, k,
                 QueryGradients(example, head) + queries.begin * dq_row_);
      }
      first = false;
    }
    if (first) ClearUnseen(keys, dk, dv);
  }

  // Keys behind all queries under `causal`.
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
        for (int64_t s = 0; s < keys.size; s += kGroupKeys) {
          DrawForQueries(example.draws, DrawRow(example, head, queries.begin + t),
                         (keys.begin + s) / kGroupKeys, std::min(kGroupKeys, keys.size - s), stride,
                         draws + s * stride + t);
        }
      }
    }
    const float* const hide = Scratch<float>(args, hide_) + keys.begin;
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
                                .keep_scale = keep_scale(),
                                .scale = a.scale,
                                .hide = hide[s],
                                .hidden = hidden - begin},
                               queries.size - begin, weights + begin, gradients + begin);
      const DType dtype = WorkDType(work_);
      ToWork(work_, weights, queries.size, At(Scratch<void>(args, work_weights_), dtype, s * ld));
      ToWork(work_, gradients, queries.size,
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

std::unique_ptr<AttentionTiles> MakeTiles(const Attention& attention, const OpCall& call, Work work,
                                          bool by_library) {
  if (attention.is_gradient)
    return std::make_unique<AttentionBackward>(attention, call, work, by_library);
  return std::make_unique<AttentionForward>(attention, call, work, by_library);
}

// With scratch memory of each call's own.
class WithOwnScratch final : public Kernel {
 public:
  explicit WithOwnScratch(std::unique_ptr<AttentionTiles> tiles) : tiles_(std::move(tiles)) {}
  absl::Status Run(const KernelArgs& args) const override {
    constexpr int64_t kAlignment = 64;
    std::vector<std::byte> memory(tiles_->scratch_bytes() + kAlignment);
    KernelArgs with_scratch = args;
    with_scratch.scratch =
        memory.data() + kAlignment - reinterpret_cast<uintptr_t>(memory.data()) % kAlignment;
    return tiles_->Run(with_scratch);
  }

 private:
  const std::unique_ptr<AttentionTiles> tiles_;
};

constexpr char kTiles[] = "tiles";
constexpr char kLibraryBf16[] = "onednn_bf16";
constexpr char kLibraryF32[] = "onednn_f32";

std::unique_ptr<AttentionTiles> MakeTiles(const Attention& attention, const OpCall& call,
                                          const std::string& implementation) {
  const bool by_library = implementation != kTiles;
  Work work = Work::kFloat;
  if (implementation == kLibraryBf16) work = Work::kBFloat16;
  if (implementation == kLibraryF32 && attention.precision == Precision::kDefault)
    work = Work::kRounded;
  return MakeTiles(attention, call, work, by_library);
}

// The library's, where a product of a whole tile is worth a call and it knows the precision.
std::string ImplementationOf(const Attention& attention, const Machine& machine) {
  const double multiply_adds = 1.0 * std::min(attention.queries, kTileQueries) *
                               std::min(attention.keys, kTileKeys) * attention.key_dim;
  if (multiply_adds < kLibraryMultiplyAdds || !machine.avx2) return kTiles;
  if (attention.precision == Precision::kF32) return kLibraryF32;
  if (attention.precision != Precision::kDefault) return kTiles;
  return machine.avx512 ? kLibraryBf16 : kLibraryF32;
}

}  // namespace

std::unique_ptr<Kernel> AttentionReference(const Attention& attention, const OpCall& call) {
  return std::make_unique<WithOwnScratch>(MakeTiles(attention, call, kTiles));
}

KernelPlan PlanAttention(const Attention& attention, const OpCall& call, const Machine& machine) {
  KernelPlan plan;
  plan.implementation = ImplementationOf(attention, machine);
  plan.narrow = plan.implementation == kLibraryBf16;
  std::unique_ptr<AttentionTiles> tiles = MakeTiles(attention, call, plan.implementation);
  if (!tiles->good()) {
    plan = {.implementation = kTiles};
    tiles = MakeTiles(attention, call, kTiles);
  }
  plan.scratch_bytes = tiles->scratch_bytes();
  return plan;
}

std::unique_ptr<Kernel> MakeAttention(const Attention& attention, const OpCall& call,
                                      const KernelPlan& plan) {
  if (plan.implementation == KernelPlan().implementation)
    return AttentionReference(attention, call);
  std::unique_ptr<AttentionTiles> tiles = MakeTiles(attention, call, plan.implementation);
  return tiles->good() ? std::move(tiles) : nullptr;
}

}  // namespace tpurun
