#include "runtime/ops/attention_tiles.h"

#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/base/bfloat16.h"
#include "runtime/ops/gemm_call.h"
#include "runtime/ops/onednn/onednn.h"
#include "runtime/ops/onednn/strided_products.h"
#include "runtime/ops/own_scratch.h"

namespace tpurun {
namespace {

std::unique_ptr<AttentionTiles> MakeTiles(const Attention& attention, const OpCall& call,
                                          ProductDType product_dtype,
                                          const MakeStridedProduct& make) {
  return attention.is_gradient ? MakeAttentionBackward(attention, call, product_dtype, make)
                               : MakeAttentionForward(attention, call, product_dtype, make);
}

std::unique_ptr<AttentionTiles> TilesByLoops(const Attention& attention, const OpCall& call) {
  return MakeTiles(attention, call, ProductDType::kFloat,
                   [precision = attention.precision](const StridedProductDef& def) {
                     return MakePlainProduct(def, precision);
                   });
}

std::unique_ptr<AttentionTiles> TilesByGemm(const Attention& attention, const OpCall& call,
                                            const gemm::Tiles& tiles) {
  const bool rounds = attention.precision == Precision::kDefault;
  const ProductDType product_dtype = !rounds             ? ProductDType::kFloat
                                     : tiles.numbers > 1 ? ProductDType::kBFloat16
                                                         : ProductDType::kRounded;
  // Operands that are rounded before all products are multiplied as they are.
  const Precision left =
      product_dtype == ProductDType::kRounded ? Precision::kF32 : attention.precision;
  return MakeTiles(
      attention, call, product_dtype,
      [left, stored = StoredDType(product_dtype), &tiles](const StridedProductDef& def) {
        return MakeGemmProduct(def, left, stored, tiles);
      });
}

std::unique_ptr<AttentionTiles> TilesByLibrary(const Attention& attention, const OpCall& call,
                                               bool bf16) {
  const ProductDType product_dtype = bf16 ? ProductDType::kBFloat16
                                     : attention.precision == Precision::kDefault
                                         ? ProductDType::kRounded
                                         : ProductDType::kFloat;
  return MakeTiles(attention, call, product_dtype, [product_dtype](const StridedProductDef& def) {
    return MakeLibraryProduct(def, StoredDType(product_dtype));
  });
}

// True if the library supports the precision and the product of a whole tile is large enough for a
// call.
bool LibraryMultipliesTiles(const Attention& attention, bool bf16, const Machine& machine) {
  const Precision precision = attention.precision;
  const bool in_bf16 = precision == Precision::kDefault && machine.avx512_bf16;
  if (!machine.avx2 || bf16 != in_bf16 || !LibraryMultiplies(precision, machine)) return false;
  if (precision != Precision::kDefault && precision != Precision::kF32) return false;
  const double multiply_adds = 1.0 * std::min(attention.queries, kTileQueries) *
                               std::min(attention.keys, kTileKeys) * attention.key_dim;
  return multiply_adds >= kLibraryMultiplyAdds || machine.kernels == KernelChoice::kLibrary;
}

// Only the operands of products are read in bf16.
bool ReadsOthersInF32(const OpCall& call, bool is_gradient) {
  const Attention a(call, is_gradient);
  const auto is_f32 = [&](int operand) {
    return operand < 0 || call.operands[operand].dtype == DType::kF32;
  };
  return is_f32(a.mask) && is_f32(a.statistics);
}

std::optional<KernelOffer> OfferTiles(const AttentionTiles& tiles) {
  if (!tiles.good()) return std::nullopt;
  return KernelOffer{.scratch_bytes = tiles.scratch_bytes(), .copied_bytes = tiles.copied_bytes()};
}

}  // namespace

void ToProductDType(ProductDType product_dtype, const float* from, int64_t n, void* to) {
  switch (product_dtype) {
    case ProductDType::kFloat:
      if (from != to) std::memcpy(to, from, n * sizeof(float));
      return;
    case ProductDType::kRounded:
      return RoundInFloat(from, n, static_cast<float*>(to));
    case ProductDType::kBFloat16:
      return RoundToBFloat16(from, n, static_cast<uint16_t*>(to));
  }
}

AttentionTiles::AttentionTiles(const Attention& attention, const OpCall& call,
                               ProductDType product_dtype, const MakeStridedProduct& make_product)
    : a(attention),
      call_(call),
      product_dtype_(product_dtype),
      threshold_(DrawThreshold(a.rate)),
      make_product_(make_product) {
  for (const int operand : {a.dy, a.q, a.k, a.v}) {
    if (operand < 0 || !Converts(operand)) continue;
    converted_[operand] =
        scratch_.Add(call.operands[operand].row_elements() * ByteSize(StoredDType(product_dtype)));
  }
  hide_ = scratch_.Add(a.keys * static_cast<int64_t>(sizeof(float)));
}

int64_t AttentionTiles::copied_bytes() const {
  int64_t bytes = 0;
  for (const int operand : {a.dy, a.q, a.k, a.v}) {
    if (operand < 0 || !Converts(operand)) continue;
    bytes += call_.operands[operand].num_elements() * ByteSize(StoredDType(product_dtype_));
  }
  return bytes;
}

void AttentionTiles::SetWorkers(int workers) {
  for (const auto& product : products_) {
    if (product != nullptr) product->SetWorkers(workers);
  }
}

void AttentionTiles::AddProduct(int kind, gemm::Triangle::Kind triangle, const MakeProduct& make) {
  triangles_[kind] = triangle;
  for (const bool last_query : {false, true}) {
    for (const bool last_key : {false, true}) {
      const int64_t queries = last_query ? a.queries % TileQueries() : TileQueries();
      const int64_t keys = last_key ? a.keys % TileKeys() : TileKeys();
      if (queries == 0 || keys == 0) continue;
      StridedProductDef def = make(queries, keys);
      for (const bool accumulates : {false, true}) {
        def.accumulates = accumulates;
        auto& product = products_[Index(kind, last_query, last_key, accumulates)];
        product = make_product_(def);
        good_ = good_ && product != nullptr;
        if (product != nullptr) product_bytes_ = std::max(product_bytes_, product->scratch_bytes());
      }
    }
  }
}

gemm::Triangle AttentionTiles::TriangleOf(const Example& example, int kind, const Tile& queries,
                                          const Tile& keys) const {
  if (!a.causal || HasBlind(example, queries)) return {};
  const gemm::Triangle::Kind triangle = triangles_[kind];
  // Query t of the tile sees key s of the other tile if s <= t + ahead.
  const int64_t ahead = queries.begin - keys.begin;
  const bool rows_are_queries =
      triangle == gemm::Triangle::kLowerX || triangle == gemm::Triangle::kLowerZ;
  return {triangle, rows_are_queries ? ahead : -ahead};
}

void AttentionTiles::Multiply(Example& example, int kind, const Tile& queries, const Tile& keys,
                              bool accumulates, const void* x, const void* y, float* z) const {
  if (!example.status.ok()) return;
  const int product = Index(kind, queries.is_tail, keys.is_tail, accumulates);
  example.status = products_[product]->Run(example.args.worker, x, y, z,
                                           TriangleOf(example, kind, queries, keys),
                                           Scratch<void>(example.args, scratch_.bytes()));
}

AttentionTiles::Example AttentionTiles::Begin(const KernelArgs& args, int64_t n) const {
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
    example.draws = {.source = {.seed = a.seed,
                                .stream = a.stream,
                                .step = static_cast<uint32_t>(
                                    *static_cast<const int64_t*>(args.operands[a.step])),
                                .replica = static_cast<uint32_t>(
                                    *static_cast<const int32_t*>(args.operands[a.replica]))},
                     .blocks_per_query = BlocksPerQuery(a.keys)};
  }
  return example;
}

bool AttentionTiles::Converts(int operand) const {
  return product_dtype_ == ProductDType::kRounded ||
         call_.operands[operand].dtype != StoredDType(product_dtype_);
}

// The operand of example `n`, converted to the dtype of the products.
const void* AttentionTiles::Operand(const KernelArgs& args, int operand, int64_t n) const {
  const Shape& shape = call_.operands[operand];
  const int64_t elements = shape.row_elements();
  const void* const from = At(args.operands[operand], shape.dtype, n * elements);
  if (!Converts(operand)) return from;
  void* const to = Scratch<void>(args, converted_[operand]);
  ToProductDType(product_dtype_, static_cast<const float*>(from), elements, to);
  return to;
}

std::unique_ptr<Kernel> AttentionReference(const Attention& attention, const OpCall& call) {
  std::unique_ptr<AttentionTiles> tiles = TilesByLoops(attention, call);
  const int64_t scratch_bytes = tiles->scratch_bytes();
  return WithOwnScratch(std::move(tiles), scratch_bytes);
}

std::vector<KernelDef> AttentionKernels(bool is_gradient) {
  std::vector<KernelDef> kernels;
  for (const bool bf16 : {true, false}) {
    kernels.push_back(
        {.name = bf16 ? kLibraryBF16 : kLibraryF32,
         .is_library = true,
         .multiplies_bf16 = bf16,
         .offer = [=](const OpCall& call, const Machine& machine) -> std::optional<KernelOffer> {
           const Attention attention(call, is_gradient);
           if (!LibraryMultipliesTiles(attention, bf16, machine)) return std::nullopt;
           std::optional<KernelOffer> offer = OfferTiles(*TilesByLibrary(attention, call, bf16));
           if (offer) offer->native_bf16 = bf16 && ReadsOthersInF32(call, is_gradient);
           return offer;
         },
         .make = [=](const OpCall& call, const KernelOffer&) -> std::unique_ptr<Kernel> {
           auto tiles = TilesByLibrary(Attention(call, is_gradient), call, bf16);
           return tiles->good() ? std::move(tiles) : nullptr;
         }});
  }
  const auto offer = [=](const OpCall& call, const gemm::Tiles& tiles) {
    std::optional<KernelOffer> offer =
        OfferTiles(*TilesByGemm(Attention(call, is_gradient), call, tiles));
    if (offer) offer->native_bf16 = tiles.numbers > 1 && ReadsOthersInF32(call, is_gradient);
    return offer;
  };
  const auto make = [=](const OpCall& call, const gemm::Tiles& tiles) {
    return TilesByGemm(Attention(call, is_gradient), call, tiles);
  };
  for (KernelDef& kernel : GemmKernels(offer, make)) kernels.push_back(std::move(kernel));
  return kernels;
}

}  // namespace tpurun
