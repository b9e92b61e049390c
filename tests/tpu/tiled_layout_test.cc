#include "runtime/tpu/tiled_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace tpurun {
namespace {

struct ReportedArray {
  const char* source;
  Shape shape;
  TiledLayout layout;
  const char* unpadded;
  const char* padded;
  const char* printed;  // empty: the report has no tiles
};

constexpr int64_t kMost = 8388608;

// What compilers for TPUs have printed.
const std::vector<ReportedArray>& Reports() {
  static const auto& reports = *new std::vector<ReportedArray>{
      {"DifferentiableUniverseInitiative/flowpm#27",
       {DType::kS32, {kMost, 8, 4}},
       {{2, 1, 0}},
       "1.00G",
       "32.00G",
       "s32[8388608,8,4]{2,1,0:T(8,128)}"},
      {"the same, before the copy",
       {DType::kS32, {kMost, 8, 4}},
       {{0, 2, 1}},
       "1.00G",
       "1.00G",
       "s32[8388608,8,4]{0,2,1:T(4,128)}"},
      {"tensorflow/tensorflow#30803",
       {DType::kF32, {256, 512, 128, 2}},
       {{3, 2, 1, 0}},
       "128.00M",
       "8.00G",
       ""},
      {"tensorflow/tensorflow#30803",
       {DType::kF32, {32, 128, 32, 64}},
       {{3, 0, 2, 1}},
       "32.00M",
       "64.00M",
       ""},
      {"sokrypton/ColabFold#62",
       {DType::kF32, {1024, 245, 64}},
       {{1, 2, 0}},
       "61.25M",
       "64.00M",
       "f32[1024,245,64]{1,2,0:T(8,128)}"},
      {"pytorch/xla#1965",
       {DType::kBF16, {512, 16, 3072}},
       {{2, 1, 0}},
       "48.00M",
       "48.00M",
       "bf16[512,16,3072]{2,1,0:T(8,128)(2,1)}"},
      {"pytorch/xla#1965",
       {DType::kU32, {12582912, 1}},
       {{1, 0}},
       "48.00M",
       "6.00G",
       "u32[12582912,1]{1,0:T(8,128)}"},
      {"tensorflow/tensor2tensor#1382",
       {DType::kBF16, {256, 2048, 4096}},
       {{2, 1, 0}},
       "4.00G",
       "4.00G",
       ""},
      {"docs/oom_debugging.md of openxla/xla",
       {DType::kU8, {327680, 327680}},
       {{1, 0}},
       "100.00G",
       "100.00G",
       "u8[327680,327680]{1,0:T(8,128)(4,1)}"},
      {"docs/errors/error_1000.md of openxla/xla: (256,1024)",
       {DType::kF32, {129, 1024}},
       {{0, 1}},
       "516.0K",
       "1.00M",
       ""},
      {"google/flax#1733, one image of an allocation of 140.25M",
       {DType::kF32, {1, 8, 2176, 1056, 2}},
       {{4, 3, 2, 1, 0}},
       "140.25M",
       "8.77G",
       ""},
      {"pytorch/xla#6674",
       {DType::kBF16, {2048, 1, 2048, 128}},
       {{0, 1, 3, 2}},
       "1.00G",
       "4.00G",
       "bf16[2048,1,2048,128]{0,1,3,2:T(4,128)(2,1)}"},
      {"jax-ml/jax#7502",
       {DType::kS32, {2048, 1, 128, 128, 4}},
       {{4, 3, 2, 0, 1}},
       "512.00M",
       "16.00G",
       "s32[2048,1,128,128,4]{4,3,2,0,1:T(8,128)}"},
      {"google/trax#525",
       {DType::kPred, {64, 512, 2048}},
       {{2, 1, 0}},
       "64.00M",
       "256.00M",
       "pred[64,512,2048]{2,1,0:T(8,128)E(32)}"},
      {"google/trax#525",
       {DType::kPred, {67108864}},
       {{0}},
       "64.00M",
       "256.00M",
       "pred[67108864]{0:T(1024)E(32)}"},
      {"sokrypton/ColabFold#62", {DType::kF32, {}}, {{}}, "4B", "1.0K", "f32[]{:T(256)}"},
  };
  return reports;
}

TEST(TiledLayout, HasTheSizesOfReports) {
  for (const ReportedArray& report : Reports()) {
    EXPECT_EQ(PrintTpuBytes(UnpaddedTpuBytes(report.shape)), report.unpadded) << report.source;
    EXPECT_EQ(PrintTpuBytes(PaddedTpuBytes(report.shape, report.layout)), report.padded)
        << report.source;
    if (*report.printed != '\0') {
      EXPECT_EQ(PrintTiledShape(report.shape, report.layout), report.printed) << report.source;
    }
  }
}

// Another way to the size: the places of all elements, as docs/tiled_layout.md of openxla/xla
// defines them. Physical dimensions are tiled by two; the tile's place counts first, then the place
// in it.
int64_t ElementsOfAddressSpace(const Shape& shape, const TiledLayout& layout, int64_t tile_rows) {
  const int rank = shape.rank();
  std::vector<int64_t> index(rank);
  int64_t last = -1;
  for (;;) {
    int64_t tile = 0;
    for (int physical = rank - 1; physical >= 0; --physical) {
      const int dim = layout.minor_to_major[physical];
      const int64_t side = physical == 0 ? 128 : physical == 1 ? tile_rows : 1;
      tile = tile * ((shape.dims[dim] + side - 1) / side) + index[dim] / side;
    }
    const int64_t row = index[layout.minor_to_major[1]] % tile_rows;
    const int64_t column = index[layout.minor_to_major[0]] % 128;
    last = std::max(last, (tile * tile_rows + row) * 128 + column);
    int dim = rank - 1;
    while (dim >= 0 && ++index[dim] == shape.dims[dim]) index[dim--] = 0;
    if (dim < 0) break;
  }
  const int64_t tile = tile_rows * 128;
  return (last + tile) / tile * tile;
}

TEST(TiledLayout, OfRandomShapesHasRoomForEveryElement) {
  std::mt19937 draw(1);
  const auto below = [&](int n) { return static_cast<int>(draw() % n); };
  for (int round = 0; round < 300; ++round) {
    Shape shape{below(2) == 0 ? DType::kF32 : DType::kBF16, {}};
    const int rank = 2 + below(3);
    for (int i = 0; i < rank; ++i) shape.dims.push_back(1 + below(i == 0 ? 200 : 12));
    std::shuffle(shape.dims.begin(), shape.dims.end(), draw);
    TiledLayout layout = RowMajorLayout(rank);
    std::shuffle(layout.minor_to_major.begin(), layout.minor_to_major.end(), draw);
    const int64_t rows = shape.dims[layout.sublanes()];
    const int64_t least = shape.dtype == DType::kBF16 ? 4 : 2;
    const int64_t tile_rows = rows > 4 ? 8 : rows > 2 ? 4 : least;
    EXPECT_EQ(PaddedTpuBytes(shape, layout),
              ElementsOfAddressSpace(shape, layout, tile_rows) * ByteSize(shape.dtype))
        << PrintTiledShape(shape, layout);
    EXPECT_LE(PaddedTpuBytes(shape, CheapestLayout(shape)), PaddedTpuBytes(shape, layout));
  }
}

TEST(TiledLayout, PutsTheDimensionsThatPadLeastIntoTiles) {
  EXPECT_EQ(CheapestLayout({DType::kF32, {512, 1024}}), RowMajorLayout(2));
  EXPECT_EQ(CheapestLayout({DType::kF32, {kMost, 8, 4}}), (TiledLayout{{0, 2, 1}}));
  // google/trax#525: bf16[64,512,8,64]{1,3,2,0}
  EXPECT_EQ(CheapestLayout({DType::kBF16, {64, 512, 8, 64}}), (TiledLayout{{1, 3, 2, 0}}));
}

}  // namespace
}  // namespace tpurun
