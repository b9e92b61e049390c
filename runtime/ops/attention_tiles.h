// What the kernels of attention and of its gradient share.
#ifndef TPURUN_RUNTIME_OPS_ATTENTION_TILES_H_
#define TPURUN_RUNTIME_OPS_ATTENTION_TILES_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <memory>

#include "runtime/ops/attention.h"
#include "runtime/ops/attention_draws.h"
#include "runtime/ops/strided_product.h"

namespace tpurun {

inline constexpr int64_t kTileQueries = 128;
inline constexpr int64_t kTileKeys = 256;
// What is added to a score that is not seen (keras/layers/activation/softmax.py): a query that sees
// none weighs all keys the same, as its scores drown in it.
inline constexpr float kHidden = -1e9f;

// How products take their operands.
enum class ProductDType : uint8_t {
  kFloat,
  kRounded,  // to bf16, in f32
  kBFloat16,
};
inline DType StoredDType(ProductDType product_dtype) {
  return product_dtype == ProductDType::kBFloat16 ? DType::kBF16 : DType::kF32;
}

// `to` may be `from` where both are f32.
void ToProductDType(ProductDType product_dtype, const float* from, int64_t n, void* to);
// Elements of an f32 or bf16 array.
inline const void* At(const void* array, DType dtype, int64_t element) {
  return static_cast<const std::byte*>(array) + element * ByteSize(dtype);
}
inline void* At(void* array, DType dtype, int64_t element) {
  return static_cast<std::byte*>(array) + element * ByteSize(dtype);
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
  AttentionTiles(const Attention& attention, const OpCall& call, ProductDType product_dtype,
                 bool by_library);

  // Whether every product could be made.
  bool good() const { return good_; }
  int64_t scratch_bytes() const { return scratch_.bytes() + product_bytes_; }
  void SetWorkers(int workers) override;

 protected:
  // Some queries or keys.
  struct Tile {
    int64_t begin, size;
    bool is_tail;  // smaller than the others
  };
  // One example as it is worked on.
  struct Example {
    const KernelArgs& args;
    int64_t n = 0;
    const void *dy = nullptr, *q = nullptr, *k = nullptr, *v = nullptr;  // as products take them
    int64_t first_visible = 0;                                           // key; S: all are hidden
    WeightDraws draws = {};
    absl::Status status = absl::OkStatus();
  };

  // make(queries, keys) says what product `kind` of a tile of that size is; it sets, or adds to,
  // its result.
  using MakeProduct = std::function<StridedProductDef(int64_t queries, int64_t keys)>;
  void AddProduct(int kind, const MakeProduct& make);
  // After the first failure nothing runs; it is in the example's status.
  void Multiply(Example& example, int kind, const Tile& queries, const Tile& keys, bool accumulates,
                const void* x, const void* y, float* z) const;

  Example Begin(const KernelArgs& args, int64_t n) const;
  Tile QueriesAt(int64_t begin) const { return TileAt(begin, a.queries, TileQueries()); }
  Tile KeysAt(int64_t begin) const { return TileAt(begin, a.keys, TileKeys()); }
  int64_t TileQueries() const { return std::min(a.queries, kTileQueries); }
  int64_t TileKeys() const { return std::min(a.keys, kTileKeys); }

  // Whether a query sees a key of the other tile, or one of the queries sees none at all and
  // therefore weighs all.
  bool Sees(const Example& example, const Tile& queries, const Tile& keys) const {
    return !a.causal || queries.begin + queries.size > keys.begin || HasBlind(example, queries);
  }
  // Under `causal`, the queries ahead of the first key that is seen, which see none.
  bool HasBlind(const Example& example, const Tile& queries) const {
    return a.causal && queries.begin < example.first_visible;
  }

  bool drops() const { return threshold_ > 0; }
  // The number of a query for its draws.
  int64_t DrawRow(const Example& example, int64_t head, int64_t query) const {
    return (example.n * a.heads + head) * a.queries + query;
  }

  template <typename T>
  T* Scratch(const KernelArgs& args, int64_t at) const {
    return reinterpret_cast<T*>(static_cast<std::byte*>(args.scratch) + at);
  }
  // Of each key, what is added to its scores: 0 or kHidden.
  const float* Hide(const KernelArgs& args) const { return Scratch<float>(args, hide_); }

  const Attention a;
  const OpCall call_;
  const ProductDType product_dtype_;
  const uint32_t threshold_;
  ScratchPlan scratch_;

 private:
  static constexpr int kKindsOfProduct = 5;

  static Tile TileAt(int64_t begin, int64_t of, int64_t most) {
    const int64_t size = std::min(most, of - begin);
    return {begin, size, size < most};
  }
  static int Index(int kind, bool last_query, bool last_key, bool accumulates) {
    return ((kind * 2 + (last_query ? 1 : 0)) * 2 + (last_key ? 1 : 0)) * 2 + (accumulates ? 1 : 0);
  }
  bool Converts(int operand) const;
  const void* Operand(const KernelArgs& args, int operand, int64_t n) const;

  const bool by_library_;
  int64_t hide_ = 0;
  std::array<int64_t, 4> converted_ = {};  // by operand
  // By kind, and by whether a tile is the last of its queries, of its keys, and is added.
  std::array<std::unique_ptr<StridedProduct>, kKindsOfProduct * 8> products_;
  int64_t product_bytes_ = 0;
  bool good_ = true;
};

std::unique_ptr<AttentionTiles> MakeAttentionForward(const Attention& attention, const OpCall& call,
                                                     ProductDType product_dtype, bool by_library);
std::unique_ptr<AttentionTiles> MakeAttentionBackward(const Attention& attention,
                                                      const OpCall& call,
                                                      ProductDType product_dtype, bool by_library);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_ATTENTION_TILES_H_
