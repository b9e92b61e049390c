#include "runtime/ops/attention_tiles.h"

#include <cstring>
#include <string>
#include <vector>

#include "runtime/base/bfloat16.h"
#include "runtime/ops/gemm_call.h"
#include "runtime/ops/onednn/onednn.h"
#include "runtime/ops/onednn/strided_products.h"

namespace tpurun {
namespace {

// Allocates the scratch memory in each call.
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

// nullptr if this processor lacks the instructions.
std::unique_ptr<AttentionTiles> MakeTiles(const Attention& attention, const OpCall& call,
                                          const std::string& implementation) {
  const Precision precision = attention.precision;
  ProductDType product_dtype = ProductDType::kFloat;
  MakeStridedProduct make = [=](const StridedProductDef& def) {
    return MakePlainProduct(def, precision);
  };
  if (implementation != kTiles && precision == Precision::kDefault) {
    product_dtype =
        implementation == kLibraryBf16 ? ProductDType::kBFloat16 : ProductDType::kRounded;
  }
  if (IsGemm(implementation)) {
    const gemm::Tiles* const tiles = GemmTiles(implementation);
    if (tiles == nullptr) return nullptr;
    // Operands that are rounded before all products are multiplied as they are.
    const Precision left = precision == Precision::kDefault ? Precision::kF32 : precision;
    make = [=](const StridedProductDef& def) { return MakeGemmProduct(def, left, *tiles); };
  } else if (implementation != kTiles) {
    make = [=](const StridedProductDef& def) {
      return MakeLibraryProduct(def, StoredDType(product_dtype));
    };
  }
  return attention.is_gradient ? MakeAttentionBackward(attention, call, product_dtype, make)
                               : MakeAttentionForward(attention, call, product_dtype, make);
}

// The library if it supports the precision and the product of a whole tile is large enough for a
// call.
std::string ImplementationOf(const Attention& attention, const Machine& machine) {
  const double multiply_adds = 1.0 * std::min(attention.queries, kTileQueries) *
                               std::min(attention.keys, kTileKeys) * attention.key_dim;
  if (multiply_adds >= kLibraryMultiplyAdds && LibraryMultiplies(attention.precision, machine)) {
    if (attention.precision == Precision::kF32) return kLibraryF32;
    if (attention.precision == Precision::kDefault) return kLibraryBf16;
  }
  return std::string(GemmFor(machine));
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

void AttentionTiles::AddProduct(int kind, const MakeProduct& make) {
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

void AttentionTiles::Multiply(Example& example, int kind, const Tile& queries, const Tile& keys,
                              bool accumulates, const void* x, const void* y, float* z) const {
  if (!example.status.ok()) return;
  const int product = Index(kind, queries.is_tail, keys.is_tail, accumulates);
  example.status = products_[product]->Run(example.args.worker, x, y, z,
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
    example.draws = {
        .seed = a.seed,
        .stream = a.stream,
        .step = static_cast<uint32_t>(*static_cast<const int64_t*>(args.operands[a.step])),
        .replica = static_cast<uint32_t>(*static_cast<const int32_t*>(args.operands[a.replica])),
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
  return std::make_unique<WithOwnScratch>(MakeTiles(attention, call, kTiles));
}

KernelPlan PlanAttention(const Attention& attention, const OpCall& call, const Machine& machine) {
  KernelPlan plan;
  plan.implementation = ImplementationOf(attention, machine);
  plan.native_bf16 = plan.implementation == kLibraryBf16;
  std::unique_ptr<AttentionTiles> tiles = MakeTiles(attention, call, plan.implementation);
  if (tiles == nullptr || !tiles->good()) {
    plan = {.implementation = kTiles};
    tiles = MakeTiles(attention, call, kTiles);
  }
  plan.scratch_bytes = tiles->scratch_bytes();
  plan.copied_bytes = tiles->copied_bytes();
  return plan;
}

std::unique_ptr<Kernel> MakeAttention(const Attention& attention, const OpCall& call,
                                      const KernelPlan& plan) {
  if (plan.implementation == KernelPlan().implementation)
    return AttentionReference(attention, call);
  std::unique_ptr<AttentionTiles> tiles = MakeTiles(attention, call, plan.implementation);
  return tiles != nullptr && tiles->good() ? std::move(tiles) : nullptr;
}

}  // namespace tpurun
