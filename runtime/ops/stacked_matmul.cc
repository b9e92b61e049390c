#include "runtime/ops/stacked_matmul.h"

#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/ops/shares.h"

namespace tpurun {
namespace {

// The product that computes `m` rows of z.
OpCall Stacked(const MatMulDims& d, int64_t m, const OpCall& call, const OpDef& matmul) {
  const int64_t rows = call.num_replicas * d.k;
  return {.op = &matmul,
          .attrs = call.attrs,
          .operands = {Shape{call.operands[0].dtype, {rows, m}},
                       Shape{call.operands[1].dtype, {rows, d.n}}},
          .results = {Shape{call.results[0].dtype, {m, d.n}}},
          .needed = {true}};
}

// Bytes of a row of the copy of x, of a number of x, of a row of y.
struct RowBytes {
  int64_t x_row, x, y_row;
};

// Copies the columns [args.begin, args.end) of the x of all replicas, and all their y, one replica
// below the other.
void StackRows(const KernelArgs& args, const MatMulDims& d, int64_t replicas, const RowBytes& bytes,
               std::byte* x, std::byte* y) {
  const int64_t columns = (args.end - args.begin) * bytes.x;
  for (int64_t row = 0; row < replicas * d.k; ++row) {
    const auto* from = static_cast<const std::byte*>(args.operands[row / d.k]);
    std::memcpy(x + row * bytes.x_row, from + (row % d.k * d.m + args.begin) * bytes.x, columns);
  }
  const int64_t y_bytes = d.k * bytes.y_row;
  for (int64_t replica = 0; replica < replicas; ++replica)
    std::memcpy(y + replica * y_bytes, args.operands[replicas + replica], y_bytes);
}

class StackedMatMul final : public Kernel {
 public:
  StackedMatMul(const MatMulDims& dims, const OpCall& call)
      : d_(dims),
        replicas_(call.num_replicas),
        x_bytes_(ByteSize(call.operands[0].dtype)),
        y_row_bytes_(dims.n * ByteSize(call.operands[1].dtype)),
        z_row_bytes_(dims.n * ByteSize(call.results[0].dtype)) {}

  // `units`: those of the call of matmul.
  void Add(int64_t m, int64_t units, std::unique_ptr<Kernel> matmul) {
    by_rows_[m] = {units, std::move(matmul)};
  }

  void SetWorkers(int workers) override {
    for (auto& [m, share] : by_rows_) share.matmul->SetWorkers(workers);
  }

  absl::Status Run(const KernelArgs& args) const override {
    const int64_t m = args.end - args.begin, rows = replicas_ * d_.k;
    if (m == 0) return absl::OkStatus();
    const auto share = by_rows_.find(m);
    if (share == by_rows_.end()) {
      return absl::InternalError(absl::StrCat("no kernel for a share of ", m, " rows"));
    }
    std::byte* const x = static_cast<std::byte*>(args.scratch);
    std::byte* const y = x + Aligned(rows * m * x_bytes_);
    std::byte* const rest = y + Aligned(rows * y_row_bytes_);
    StackRows(args, d_, replicas_, {m * x_bytes_, x_bytes_, y_row_bytes_}, x, y);
    const void* const operands[] = {x, y};
    void* const z = static_cast<std::byte*>(args.results[0]) + args.begin * z_row_bytes_;
    return share->second.matmul->Run({.operands = operands,
                                      .results = &z,
                                      .scratch = rest,
                                      .worker = args.worker,
                                      .begin = 0,
                                      .end = share->second.units});
  }

 private:
  struct Share {
    int64_t units = 0;
    std::unique_ptr<Kernel> matmul;
  };

  const MatMulDims d_;
  const int64_t replicas_, x_bytes_, y_row_bytes_, z_row_bytes_;
  std::map<int64_t, Share> by_rows_;
};

// The sum over replicas as one chain of additions for each element of z.
class SumOfProducts final : public Kernel {
 public:
  SumOfProducts(const MatMulDims& dims, const OpCall& call, const gemm::Tiles& tiles)
      : replicas_(call.num_replicas),
        n_(dims.n),
        x_bytes_(ByteSize(call.operands[0].dtype)),
        z_row_bytes_(dims.n * ByteSize(call.results[0].dtype)) {
    for (const gemm::Def& def : DefsOf(dims, call)) products_.emplace_back(def, tiles);
  }

  // For each product of parts, the product of the first replica and those of the others.
  static std::vector<gemm::Def> DefsOf(const MatMulDims& dims, const OpCall& call) {
    std::vector<gemm::Def> defs;
    for (const gemm::Parts& parts : GemmProducts(PrecisionOf(call.attrs))) {
      gemm::Def def = GemmDefOf(dims, call, {parts});
      def.accumulates = !defs.empty();
      defs.push_back(def);
      def.accumulates = true;
      defs.push_back(def);
    }
    return defs;
  }

  absl::Status Run(const KernelArgs& args) const override {
    for (size_t i = 0; i < products_.size(); i += 2) {
      for (int replica = 0; replica < replicas_; ++replica) {
        const auto* const x = static_cast<const std::byte*>(args.operands[replica]);
        products_[replica == 0 ? i : i + 1].Run(
            {.x = x + args.begin * x_bytes_,
             .y = args.operands[replicas_ + replica],
             .z = static_cast<std::byte*>(args.results[0]) + args.begin * z_row_bytes_,
             .m = args.end - args.begin,
             .n = n_,
             .scratch = args.scratch});
      }
    }
    return absl::OkStatus();
  }

 private:
  const int replicas_;
  const int64_t n_, x_bytes_, z_row_bytes_;
  std::vector<gemm::Product> products_;
};

// The same sums, bit by bit, as a product of the rows of all replicas: each element of z is written
// once for all of them.
class StackedProduct final : public Kernel {
 public:
  // True if z is read and written again for other replicas so often that copies of x and y take
  // less time. (K is 8 rows of each of 8 replicas, M = N = 4096, AVX2: 44, now 18 ms.)
  static bool IsFaster(const MatMulDims& d, const OpCall& call, const gemm::Tiles& tiles) {
    constexpr int64_t kMostCached = 256 << 10;  // bytes of z, half of an L2 cache of 512 KB
    if (d.m * d.n * ByteSize(DType::kF32) <= kMostCached) return false;
    // An element of several numbers, or of a tile's depth, would have those of two replicas.
    if (d.k % (int64_t{tiles.numbers} * tiles.depth_unit) != 0) return false;
    const int64_t rows = call.num_replicas * d.k,
                  depth = int64_t{tiles.numbers} * tiles.block_depth;
    const auto blocks = [depth](int64_t k) { return (k + depth - 1) / depth; };
    const int64_t times = call.num_replicas * blocks(d.k) - blocks(rows);
    return times * d.m * d.n * ByteSize(DType::kF32) > CopiedBytes(d, call);
  }

  // Of all parts of the call.
  static int64_t CopiedBytes(const MatMulDims& d, const OpCall& call) {
    const int64_t rows = call.num_replicas * d.k;
    return rows * (d.m * ByteSize(call.operands[0].dtype) +
                   call.parts * d.n * ByteSize(call.operands[1].dtype));
  }

  StackedProduct(const MatMulDims& d, const OpCall& call, const gemm::Tiles& tiles)
      : d_(d),
        replicas_(call.num_replicas),
        share_(MostRows(call)),
        bytes_{.x_row = share_ * ByteSize(call.operands[0].dtype),
               .x = ByteSize(call.operands[0].dtype),
               .y_row = d.n * ByteSize(call.operands[1].dtype)},
        z_row_bytes_(d.n * ByteSize(call.results[0].dtype)),
        product_(GemmDefOf({share_, replicas_ * d.k, d.n, true, false}, call,
                           GemmProducts(PrecisionOf(call.attrs))),
                 tiles) {}

  int64_t ScratchBytes() const {
    return XBytes() + Aligned(replicas_ * d_.k * bytes_.y_row) + product_.ScratchBytes(share_);
  }

  absl::Status Run(const KernelArgs& args) const override {
    std::byte* const x = static_cast<std::byte*>(args.scratch);
    std::byte* const y = x + XBytes();
    StackRows(args, d_, replicas_, bytes_, x, y);
    product_.Run({.x = x,
                  .y = y,
                  .z = static_cast<std::byte*>(args.results[0]) + args.begin * z_row_bytes_,
                  .m = args.end - args.begin,
                  .n = d_.n,
                  .scratch = y + Aligned(replicas_ * d_.k * bytes_.y_row)});
    return absl::OkStatus();
  }

 private:
  static int64_t MostRows(const OpCall& call) {
    const std::vector<int64_t> sizes = ShareSizes(call);
    return sizes.empty() ? 0 : sizes.back();
  }
  int64_t XBytes() const { return Aligned(replicas_ * d_.k * bytes_.x_row); }

  const MatMulDims d_;
  const int64_t replicas_;
  const int64_t share_;  // rows of z of the largest part
  const RowBytes bytes_;
  const int64_t z_row_bytes_;
  const gemm::Product product_;
};

std::optional<KernelOffer> OfferSumOfProducts(const MatMulDims& dims, const OpCall& call,
                                              const gemm::Tiles& tiles) {
  std::optional<KernelOffer> offer = OfferGemm(dims, call, tiles);
  if (!offer) return offer;
  offer->native_bf16 = offer->native_bf16 && call.results[0].dtype == DType::kF32;
  offer->copied_bytes *= call.num_replicas;
  if (StackedProduct::IsFaster(dims, call, tiles)) {
    offer->scratch_bytes = StackedProduct(dims, call, tiles).ScratchBytes();
    offer->copied_bytes += StackedProduct::CopiedBytes(dims, call);
  }
  return offer;
}

std::unique_ptr<Kernel> MakeSumOfProducts(const MatMulDims& dims, const OpCall& call,
                                          const gemm::Tiles& tiles) {
  if (StackedProduct::IsFaster(dims, call, tiles))
    return std::make_unique<StackedProduct>(dims, call, tiles);
  return std::make_unique<SumOfProducts>(dims, call, tiles);
}

std::optional<KernelOffer> OfferStacks(const MatMulDims& dims, const OpCall& call,
                                       const OpDef& matmul, const KernelDef& kernel,
                                       const Machine& machine) {
  std::vector<OpCall> shares;
  for (const int64_t m : ShareSizes(call)) shares.push_back(Stacked(dims, m, call, matmul));
  return OfferForAll(shares, [&](const OpCall& share) {
    std::optional<KernelOffer> offer = kernel.offer(share, machine);
    if (!offer) return offer;
    for (const Shape& operand : share.operands) {
      offer->scratch_bytes += Aligned(operand.bytes());
      offer->copied_bytes += operand.bytes();
    }
    offer->copied_bytes *= call.parts;
    return offer;
  });
}

std::unique_ptr<Kernel> MakeStacks(const MatMulDims& dims, const OpCall& call, const OpDef& matmul,
                                   const KernelDef& kernel, const KernelOffer& offer) {
  auto stacked = std::make_unique<StackedMatMul>(dims, call);
  for (const int64_t m : ShareSizes(call)) {
    const OpCall share = Stacked(dims, m, call, matmul);
    std::unique_ptr<Kernel> product = kernel.make(share, offer);
    if (product == nullptr) return nullptr;
    stacked->Add(m, Units(share), std::move(product));
  }
  return stacked;
}

bool SumsRows(const MatMulDims& dims) { return dims.transpose_x && !dims.transpose_y; }

}  // namespace

std::vector<KernelDef> StackedMatMulKernels(MatMulDims (*dims_of)(const OpCall& call),
                                            const OpDef& matmul) {
  std::vector<KernelDef> kernels;
  for (const KernelDef& kernel : matmul.kernels) {
    if (!kernel.is_library) continue;
    kernels.push_back({.name = kernel.name,
                       .is_library = true,
                       .multiplies_bf16 = kernel.multiplies_bf16,
                       .offer = [&, dims_of](const OpCall& call,
                                             const Machine& machine) -> std::optional<KernelOffer> {
                         const MatMulDims dims = dims_of(call);
                         if (!SumsRows(dims)) return std::nullopt;
                         return OfferStacks(dims, call, matmul, kernel, machine);
                       },
                       .make =
                           [&, dims_of](const OpCall& call, const KernelOffer& offer) {
                             return MakeStacks(dims_of(call), call, matmul, kernel, offer);
                           }});
  }
  const auto offer = [dims_of](const OpCall& call,
                               const gemm::Tiles& tiles) -> std::optional<KernelOffer> {
    const MatMulDims dims = dims_of(call);
    return SumsRows(dims) ? OfferSumOfProducts(dims, call, tiles) : std::nullopt;
  };
  const auto make = [dims_of](const OpCall& call, const gemm::Tiles& tiles) {
    return MakeSumOfProducts(dims_of(call), call, tiles);
  };
  for (KernelDef& kernel : GemmKernels(offer, make)) kernels.push_back(std::move(kernel));
  return kernels;
}

}  // namespace tpurun
