#include "runtime/tpu/tiled_layout.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "runtime/base/text.h"
#include "runtime/ir/tpu_work.h"

namespace tpurun {
namespace {

// Elements that share a word of 32 bits: rows of bf16 are interleaved by two, bytes by four.
int PackedRows(DType dtype) {
  if (dtype == DType::kBF16) return 2;
  return dtype == DType::kU8 ? 4 : 1;
}

// Rows of a tile, fewer where the second-minor dimension is small ("compact second-minor"). A tile
// of packed rows has at least 4: bf16[2048,1,2048,128]{0,1,3,2:T(4,128)(2,1)} of pytorch/xla#6674.
int64_t TileRows(DType dtype, int64_t rows) {
  if (rows > 4) return kTpuSublanes;
  return rows > 2 || PackedRows(dtype) > 1 ? 4 : 2;
}

// Elements of a tile of a vector or scalar: f32[]{:T(256)}, f32[512]{0:T(512)},
// pred[67108864]{0:T(1024)}.
int64_t VectorTile(int64_t elements) {
  return std::clamp<int64_t>(static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(elements))),
                             256, 1024);
}

}  // namespace

TiledLayout RowMajorLayout(int rank) {
  TiledLayout layout;
  layout.minor_to_major.resize(rank);
  std::iota(layout.minor_to_major.rbegin(), layout.minor_to_major.rend(), 0);
  return layout;
}

int64_t TpuElementBytes(DType dtype) { return dtype == DType::kPred ? 4 : ByteSize(dtype); }

int64_t UnpaddedTpuBytes(const Shape& shape) {
  return shape.num_elements() * ByteSize(shape.dtype);
}

int64_t PaddedTpuBytes(const Shape& shape, const TiledLayout& layout) {
  const int64_t elements = shape.num_elements();
  const int64_t element = TpuElementBytes(shape.dtype);
  if (shape.rank() < 2) return WholeTiles(elements, VectorTile(elements)) * element;
  if (elements == 0) return 0;
  const int64_t columns = shape.dims[layout.lanes()];
  const int64_t rows = shape.dims[layout.sublanes()];
  return elements / columns / rows * WholeTiles(columns, kTpuLanes) *
         WholeTiles(rows, TileRows(shape.dtype, rows)) * element;
}

TiledLayout CheapestLayout(const Shape& shape) {
  const int rank = shape.rank();
  TiledLayout best = RowMajorLayout(rank);
  if (rank < 2) return best;
  int64_t least = PaddedTpuBytes(shape, best);
  for (int lanes = rank - 1; lanes >= 0; --lanes) {
    for (int sublanes = rank - 1; sublanes >= 0; --sublanes) {
      if (sublanes == lanes) continue;
      TiledLayout layout{{lanes, sublanes}};
      for (int dim = rank - 1; dim >= 0; --dim) {
        if (dim != lanes && dim != sublanes) layout.minor_to_major.push_back(dim);
      }
      const int64_t bytes = PaddedTpuBytes(shape, layout);
      if (bytes >= least) continue;
      least = bytes;
      best = layout;
    }
  }
  return best;
}

std::string PrintTiledShape(const Shape& shape, const TiledLayout& layout) {
  std::string tile;
  if (shape.rank() < 2) {
    tile = absl::StrCat("T(", VectorTile(shape.num_elements()), ")");
  } else {
    tile = absl::StrCat("T(", TileRows(shape.dtype, shape.dims[layout.sublanes()]), ",", kTpuLanes,
                        ")");
  }
  if (PackedRows(shape.dtype) > 1) absl::StrAppend(&tile, "(", PackedRows(shape.dtype), ",1)");
  if (shape.dtype == DType::kPred) tile += "E(32)";
  return absl::StrCat(ToAbsl(Name(shape.dtype)), "[", absl::StrJoin(shape.dims, ","), "]{",
                      absl::StrJoin(layout.minor_to_major, ","), ":", tile, "}");
}

std::string PrintTpuBytes(int64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "K", "M", "G", "T", "P", "E"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024; ++unit) value /= 1024;
  return absl::StrFormat("%.*f%s", unit == 0 ? 0 : unit == 1 ? 1 : 2, value, kUnits[unit]);
}

}  // namespace tpurun
