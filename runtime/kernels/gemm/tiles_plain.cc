// Tiles for every processor, and the plain form of those of the instruction sets.
#include "runtime/base/bfloat16.h"
#include "runtime/base/fused_multiply_add.h"
#include "runtime/kernels/gemm/tile_loops.h"

namespace tpurun::gemm {
namespace {

struct PlainVector {
  static constexpr int kLanes = 4;
  struct Type {
    float lanes[kLanes];
  };
  static Type Zero() { return {}; }
  static Type Load(const float* from) { return {{from[0], from[1], from[2], from[3]}}; }
  static Type Load(const uint16_t* from) {
    return {{FromBFloat16Bits(from[0]), FromBFloat16Bits(from[1]), FromBFloat16Bits(from[2]),
             FromBFloat16Bits(from[3])}};
  }
  static Type Broadcast(const float* from) { return {{*from, *from, *from, *from}}; }
  static Type FusedMultiplyAdd(const Type& x, const Type& y, Type z) {
    for (int i = 0; i < kLanes; ++i)
      z.lanes[i] = tpurun::FusedMultiplyAdd(x.lanes[i], y.lanes[i], z.lanes[i]);
    return z;
  }
  static Type MultiplyAddBroadcast(const float* x, const Type& y, const Type& z) {
    return FusedMultiplyAdd(Broadcast(x), y, z);
  }
  static Type Add(Type x, const Type& y) {
    for (int i = 0; i < kLanes; ++i) x.lanes[i] += y.lanes[i];
    return x;
  }
  static void Store(const Type& x, float* to) {
    for (int i = 0; i < kLanes; ++i) to[i] = x.lanes[i];
  }
  static Type LoadPart(const float* from, int lanes) {
    Type x = Zero();
    for (int i = 0; i < lanes; ++i) x.lanes[i] = from[i];
    return x;
  }
  static void StorePart(const Type& x, float* to, int lanes) {
    for (int i = 0; i < lanes; ++i) to[i] = x.lanes[i];
  }
  static void StoreRounded(const Type& x, uint16_t* to, int lanes) {
    for (int i = 0; i < lanes; ++i) to[i] = BFloat16Bits(x.lanes[i]);
  }
};

void PlainTranspose(const float* from, int64_t from_row, int64_t rows, int64_t columns, float* to,
                    int64_t to_row) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) to[c * to_row + r] = from[r * from_row + c];
  }
}

constexpr Tiles MakePlainTiles() {
  Tiles tiles{.lanes = PlainVector::kLanes, .transpose = PlainTranspose};
  SetTiles<PlainVector, 3, 4>(tiles);
  SetTiles<PlainVector, 2, 4>(tiles);
  SetTiles<PlainVector, 1, 4>(tiles);
  return tiles;
}

}  // namespace

constinit const Tiles kPlainTiles = MakePlainTiles();

}  // namespace tpurun::gemm

#undef TPURUN_UNROLL
