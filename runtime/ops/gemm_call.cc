#include "runtime/ops/gemm_call.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "runtime/ops/kernel_levels.h"

namespace tpurun {
namespace {

const gemm::Tiles& TilesOf(KernelLevel level) {
  switch (level) {
    case KernelLevel::kAmxBFloat16:
      return gemm::kAmxBFloat16Tiles;
    case KernelLevel::kAvx512BFloat16:
      return gemm::kAvx512BFloat16Tiles;
    case KernelLevel::kAvx512:
      return gemm::kAvx512Tiles;
    case KernelLevel::kAvx2:
      return gemm::kAvx2Tiles;
    case KernelLevel::kPlain:
      break;
  }
  return gemm::kPlainTiles;
}

// Operand 1 as panels (gemm.h, PanelColumns). Its dimensions stay those of the plain weights.
Shape PackedWeights(const MatMulDims& d, const OpCall& call, const gemm::Tiles& tiles) {
  const int64_t columns = gemm::PanelColumns(d.n, tiles), panels = (d.n + columns - 1) / columns;
  const int64_t elements = (d.k + tiles.numbers - 1) / tiles.numbers;
  const int of_columns = d.transpose_y ? 0 : 1, of_k = 1 - of_columns;
  BlockedLayout layout{.strides = {columns * tiles.numbers, columns * tiles.numbers},
                       .blocks = {{of_columns, columns}}};
  layout.strides[of_columns] *= elements;
  Shape packed{DType::kF32, call.operands[1].dims};
  PackNumbers(PrecisionOf(call.attrs), tiles, of_k, layout, packed);
  packed.layout = layout.Named(panels * columns * elements * static_cast<int64_t>(sizeof(float)));
  return packed;
}

// Packing pairs of numbers would cost more than the product.
bool IsSmall(const MatMulDims& d) { return d.k * d.n <= gemm::kFewNumbers; }

// Whether operand 2, if there is one, is a bias in f32.
bool HasF32Bias(const OpCall& call) {
  return call.operands.size() < 3 || call.operands[2].dtype == DType::kF32;
}

// The rows of several replicas as those of one product: of copies, which cost little beside weights
// that a few rows read.
class ProductOfReplicas final : public Kernel {
 public:
  ProductOfReplicas(const MatMulDims& d, const OpCall& call, const gemm::Tiles& tiles)
      : replicas_(call.replicas_per_call),
        rows_(d.m),
        n_(d.n),
        x_row_bytes_(d.k * ByteSize(call.operands[0].dtype)),
        z_row_bytes_(d.n * ByteSize(call.results[0].dtype)),
        has_bias_(call.operands.size() > 2),
        product_(GemmDefOf(d, call, GemmProducts(PrecisionOf(call.attrs))), tiles) {}

  int64_t ScratchBytes() const {
    return XBytes() + ZBytes() + product_.ScratchBytes(replicas_ * rows_);
  }
  // Of the copies of one replica.
  int64_t CopiedBytes() const { return rows_ * (x_row_bytes_ + z_row_bytes_); }

  absl::Status Run(const KernelArgs& args) const override {
    auto* const x = static_cast<std::byte*>(args.scratch);
    std::byte* const z = x + XBytes();
    ForEachReplica(args, [&](int64_t replica, int64_t row, int64_t rows, int64_t at) {
      const auto* const from = static_cast<const std::byte*>(args.operands[replica]);
      std::memcpy(x + at * x_row_bytes_, from + row * x_row_bytes_, rows * x_row_bytes_);
    });
    const void* const bias = has_bias_ ? args.operands[2 * replicas_] : nullptr;
    product_.Run({.x = x,
                  .y = args.operands[replicas_],
                  .bias = static_cast<const float*>(bias),
                  .z = z,
                  .m = args.end - args.begin,
                  .n = n_,
                  .scratch = z + ZBytes()});
    ForEachReplica(args, [&](int64_t replica, int64_t row, int64_t rows, int64_t at) {
      auto* const to = static_cast<std::byte*>(args.results[replica]);
      std::memcpy(to + row * z_row_bytes_, z + at * z_row_bytes_, rows * z_row_bytes_);
    });
    return absl::OkStatus();
  }

 private:
  // f(replica, first row, rows, rows before them) for the rows [args.begin, args.end) of all.
  template <typename F>
  void ForEachReplica(const KernelArgs& args, F f) const {
    for (int64_t replica = 0; replica < replicas_; ++replica) {
      const int64_t first = replica * rows_;
      const int64_t begin = std::clamp(args.begin, first, first + rows_);
      const int64_t end = std::clamp(args.end, begin, first + rows_);
      if (begin < end) f(replica, begin - first, end - begin, begin - args.begin);
    }
  }
  int64_t XBytes() const { return Aligned(replicas_ * rows_ * x_row_bytes_); }
  int64_t ZBytes() const { return Aligned(replicas_ * rows_ * z_row_bytes_); }

  const int64_t replicas_, rows_, n_, x_row_bytes_, z_row_bytes_;
  const bool has_bias_;
  const gemm::Product product_;
};

bool TakesPackedWeights(const MatMulDims& d, const OpCall& call) {
  return !d.transpose_x && d.k > 0 && d.n > 0 && GemmProducts(PrecisionOf(call.attrs)).size() == 1;
}

}  // namespace

gemm::Storage StorageOf(const Shape& shape) {
  return shape.dtype == DType::kBF16 ? gemm::Storage::kBF16 : gemm::Storage::kF32;
}

void PackNumbers(Precision precision, const gemm::Tiles& tiles, int of_k, BlockedLayout& layout,
                 Shape& packed) {
  if (tiles.numbers > 1) {
    packed.dtype = DType::kBF16;
    layout.blocks.push_back({of_k, tiles.numbers});
    layout.reversed = !tiles.as_in_memory;
  } else {
    layout.rounded = precision == Precision::kDefault;
  }
}

bool LibraryMultiplies(Precision precision, const Machine& machine) {
  if (machine.kernels == KernelChoice::kLibrary) return true;
  const bool in_parts = precision != Precision::kF32 && precision != Precision::kDefault;
  return in_parts && machine.amx_bf16;
}

bool IsNativeBF16(const OpCall& call, const gemm::Tiles& tiles, bool native_at_default) {
  const bool rounds_f32 = PrecisionOf(call.attrs) == Precision::kDefault && tiles.numbers == 1;
  return (!rounds_f32 || native_at_default) && HasF32Bias(call);
}

std::vector<gemm::Parts> GemmProducts(Precision precision) {
  if (precision == Precision::kF32) return {{}};
  std::vector<gemm::Parts> products;
  for (const PartProduct& product : PartProducts(precision))
    products.push_back({product.x, product.y});
  return products;
}

gemm::Def GemmDefOf(const MatMulDims& d, const OpCall& call, std::vector<gemm::Parts> products) {
  gemm::Def def{.k = d.k,
                .n = d.n,
                .x = {StorageOf(call.operands[0]), d.transpose_x, d.transpose_x ? d.m : d.k},
                .y = {StorageOf(call.operands[1]), d.transpose_y, d.transpose_y ? d.k : d.n},
                .y_is_packed = !call.operands[1].layout.plain(),
                .products = std::move(products),
                .z = StorageOf(call.results[0]),
                .z_stride = d.n};
  // The numbers are rounded where they are packed.
  if (def.y_is_packed) def.products[0].y = gemm::kWhole;
  return def;
}

std::vector<KernelDef> GemmKernels(
    std::function<std::optional<KernelOffer>(const OpCall& call, const gemm::Tiles& tiles)> offer,
    std::function<std::unique_ptr<Kernel>(const OpCall& call, const gemm::Tiles& tiles)> make,
    const std::string& algorithm) {
  std::vector<KernelDef> kernels = KernelsOfLevels(
      algorithm, KernelLevel::kAmxBFloat16,
      [offer](const OpCall& call, KernelLevel level) -> std::optional<KernelOffer> {
        const gemm::Tiles& tiles = TilesOf(level);
        const bool multiplies =
            tiles.numbers == 1 || PrecisionOf(call.attrs) == Precision::kDefault;
        return multiplies ? offer(call, tiles) : std::nullopt;
      },
      [make](const OpCall& call, KernelLevel level) { return make(call, TilesOf(level)); });
  KernelDef &amx = kernels[0], &avx512_bf16 = kernels[1];  // the order of kernel_levels.h
  amx.multiplies_bf16 = avx512_bf16.multiplies_bf16 = true;
  amx.reorders_sums = true;
  for (KernelDef& kernel : kernels) kernel.any_share = true;
  return kernels;
}

std::optional<KernelOffer> OfferGemm(const MatMulDims& d, const OpCall& call,
                                     const gemm::Tiles& tiles) {
  if (tiles.numbers > 1 && IsSmall(d)) return std::nullopt;
  const bool takes_packed = TakesPackedWeights(d, call);
  const bool is_packed = !call.operands[1].layout.plain();
  if (is_packed && (!takes_packed || call.operands[1] != PackedWeights(d, call, tiles)))
    return std::nullopt;
  KernelOffer offer;
  // Large products read bf16 at less cost with f32 tiles, too: with AVX2 a step of lstm_bench takes
  // 2.9 % less time, since what several products read is rounded once.
  offer.native_bf16 = IsNativeBF16(call, tiles, !IsSmall(d));
  const gemm::Product product(GemmDefOf(d, call, GemmProducts(PrecisionOf(call.attrs))), tiles);
  const bool by_columns = ByColumns(call);
  offer.scratch_bytes = product.ScratchBytes(d.m);
  if (call.replicas_per_call > 1) {
    const ProductOfReplicas of_replicas(d, call, tiles);
    offer.scratch_bytes = of_replicas.ScratchBytes();
    offer.copied_bytes = of_replicas.CopiedBytes();
  }
  for (int part = 0; part < call.parts; ++part) {
    const int64_t share = BeginOfPart(call, part + 1) - BeginOfPart(call, part);
    offer.copied_bytes +=
        by_columns ? product.CopiedBytes(d.m, share) : product.CopiedBytes(share, d.n);
  }
  if (takes_packed) {
    offer.best_operands = call.operands;
    offer.best_operands[1] = PackedWeights(d, call, tiles);
  }
  return offer;
}

std::unique_ptr<Kernel> MakeGemm(const MatMulDims& d, const OpCall& call,
                                 const gemm::Tiles& tiles) {
  if (call.replicas_per_call > 1) return std::make_unique<ProductOfReplicas>(d, call, tiles);
  const bool by_columns = ByColumns(call);
  const int64_t x_row = (d.transpose_x ? 1 : d.k) * ByteSize(call.operands[0].dtype);
  const int64_t y_column = (d.transpose_y ? d.k : 1) * ByteSize(call.operands[1].dtype);
  const int64_t z_bytes = ByteSize(call.results[0].dtype);
  const int64_t x_unit = by_columns ? 0 : x_row, y_unit = by_columns ? y_column : 0;
  const int64_t z_unit = by_columns ? z_bytes : d.n * z_bytes;
  const bool has_bias = call.operands.size() > 2;
  return KernelOf(
      [=, product = gemm::Product(GemmDefOf(d, call, GemmProducts(PrecisionOf(call.attrs))),
                                  tiles)](const KernelArgs& args) {
        product.Run({.x = static_cast<const std::byte*>(args.operands[0]) + args.begin * x_unit,
                     .y = static_cast<const std::byte*>(args.operands[1]) + args.begin * y_unit,
                     .bias = has_bias ? static_cast<const float*>(args.operands[2]) : nullptr,
                     .z = static_cast<std::byte*>(args.results[0]) + args.begin * z_unit,
                     .m = by_columns ? d.m : args.end - args.begin,
                     .n = by_columns ? args.end - args.begin : d.n,
                     .scratch = args.scratch});
      });
}

}  // namespace tpurun
