// The common base of the kernels of attention and of its gradient.
#ifndef TPURUN_RUNTIME_OPS_ATTENTION_TILES_H_
#define TPURUN_RUNTIME_OPS_ATTENTION_TILES_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <memory>

#include "runtime/ops/attention.h"
#include "runtime/ops/dropout_draws.h"
#include "runtime/ops/strided_product.h"

namespace tpurun {

inline constexpr int64_t kTileQueries = 128;
inline constexpr int64_t kTileKeys = 256;
// Added to the score of a hidden key (keras/layers/activation/softmax.py). A query that sees no key
// gives all keys the same weight, because its scores are below the rounding of this number.
inline constexpr float kHidden = -1e9f;

// The type of the operands of products.
enum class ProductDType : uint8_t {
  kFloat,
  kRounded,  // rounded to bf16, stored in f32
  kBFloat16,
};
// Returns nullptr if the product cannot be made.
using MakeStridedProduct =
    std::function<std::unique_ptr<StridedProduct>(const StridedProductDef& def)>;

inline DType StoredDType(ProductDType product_dtype) {
  return product_dtype == ProductDType::kBFloat16 ? DType::kBF16 : DType::kF32;
}

// `to` may be `from` if both are f32.
void ToProductDType(ProductDType product_dtype, const float* from, int64_t n, void* to);
// The address of element `element` of an f32 or bf16 array.
inline const void* At(const void* array, DType dtype, int64_t element) {
  return static_cast<const std::byte*>(array) + element * ByteSize(dtype);
}
inline void* At(void* array, DType dtype, int64_t element) {
  return static_cast<std::byte*>(array) + element * ByteSize(dtype);
}

// Assigns offsets in scratch memory to arrays.
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

// The common part of both kernels: tiles, products, and operands in the type of the products.
class AttentionTiles : public Kernel {
 public:
  // `make_product` makes the kernels of products.
  AttentionTiles(const Attention& attention, const OpCall& call, ProductDType product_dtype,
                 const MakeStridedProduct& make_product);

  // True if every product could be made.
  bool good() const { return good_; }
  int64_t scratch_bytes() const { return scratch_.bytes() + product_bytes_; }
  // KernelOffer::copied_bytes: of the operands that are converted, for all examples.
  int64_t copied_bytes() const;
  void SetWorkers(int workers) override;

 protected:
  // A range of queries or keys.
  struct Tile {
    int64_t begin, size;
    bool is_tail;  // smaller than the other tiles
  };
  // The state of the example that is being computed.
  struct Example {
    const KernelArgs& args;
    int64_t n = 0;
    const void *dy = nullptr, *q = nullptr, *k = nullptr, *v = nullptr;  // as products read them
    int64_t first_visible = 0;  // the first visible key; S if all keys are hidden
    WeightDraws draws = {};
    absl::Status status = absl::OkStatus();
  };

  // make(queries, keys) defines product `kind` for a tile of that size. The product is made in two
  // forms: one sets its result, the other adds to it. `triangle`: what is triangular with `causal`,
  // where a query sees no key behind it.
  using MakeProduct = std::function<StridedProductDef(int64_t queries, int64_t keys)>;
  void AddProduct(int kind, gemm::Triangle::Kind triangle, const MakeProduct& make);
  // After the first failure no product runs. The error is in example.status.
  void Multiply(Example& example, int kind, const Tile& queries, const Tile& keys, bool accumulates,
                const void* x, const void* y, float* z) const;

  Example Begin(const KernelArgs& args, int64_t n) const;
  Tile QueriesAt(int64_t begin) const { return TileAt(begin, a.queries, TileQueries()); }
  Tile KeysAt(int64_t begin) const { return TileAt(begin, a.keys, TileKeys()); }
  int64_t TileQueries() const { return std::min(a.queries, kTileQueries); }
  int64_t TileKeys() const { return std::min(a.keys, kTileKeys); }

  // True if a query of the one tile sees a key of the other, or if one of the queries sees no key
  // and therefore weighs all keys.
  bool Sees(const Example& example, const Tile& queries, const Tile& keys) const {
    return !a.causal || queries.begin + queries.size > keys.begin || HasBlind(example, queries);
  }
  // With `causal`, the queries before the first visible key see no key.
  bool HasBlind(const Example& example, const Tile& queries) const {
    return a.causal && queries.begin < example.first_visible;
  }

  bool drops() const { return threshold_ > 0; }
  // The row number of a query for its random draws.
  int64_t DrawRow(const Example& example, int64_t head, int64_t query) const {
    return (example.n * a.heads + head) * a.queries + query;
  }

  template <typename T>
  T* Scratch(const KernelArgs& args, int64_t at) const {
    return reinterpret_cast<T*>(static_cast<std::byte*>(args.scratch) + at);
  }
  // The number added to the scores of each key: 0 or kHidden.
  const float* Hide(const KernelArgs& args) const { return Scratch<float>(args, hide_); }

  const Attention a;
  const OpCall call_;
  const ProductDType product_dtype_;
  const uint32_t threshold_;
  ScratchPlan scratch_;

 private:
  static constexpr int kKindsOfProduct = 5;

  gemm::Triangle TriangleOf(const Example& example, int kind, const Tile& queries,
                            const Tile& keys) const;
  static Tile TileAt(int64_t begin, int64_t of, int64_t most) {
    const int64_t size = std::min(most, of - begin);
    return {begin, size, size < most};
  }
  static int Index(int kind, bool last_query, bool last_key, bool accumulates) {
    return ((kind * 2 + (last_query ? 1 : 0)) * 2 + (last_key ? 1 : 0)) * 2 + (accumulates ? 1 : 0);
  }
  bool Converts(int operand) const;
  const void* Operand(const KernelArgs& args, int operand, int64_t n) const;

  const MakeStridedProduct make_product_;
  int64_t hide_ = 0;
  std::array<int64_t, 4> converted_ = {};  // [operand]
  // Indexed by kind, tile is the last of the queries, tile is the last of the keys, accumulates.
  std::array<std::unique_ptr<StridedProduct>, kKindsOfProduct * 8> products_;
  std::array<gemm::Triangle::Kind, kKindsOfProduct> triangles_ = {};  // [kind]
  int64_t product_bytes_ = 0;
  bool good_ = true;
};

std::unique_ptr<AttentionTiles> MakeAttentionForward(const Attention& attention, const OpCall& call,
                                                     ProductDType product_dtype,
                                                     const MakeStridedProduct& make_product);
std::unique_ptr<AttentionTiles> MakeAttentionBackward(const Attention& attention,
                                                      const OpCall& call,
                                                      ProductDType product_dtype,
                                                      const MakeStridedProduct& make_product);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_ATTENTION_TILES_H_
