// Layouts of arrays in the HBM of a TPU: an order of the dimensions, and tiles of the two minor
// ones. The rules are XLA's (docs/tiled_layout.md of openxla/xla) and those that compilers for TPUs
// have printed in public reports, which tests/tpu/tiled_layout_test.cc names.
#ifndef TPURUN_RUNTIME_TPU_TILED_LAYOUT_H_
#define TPURUN_RUNTIME_TPU_TILED_LAYOUT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/ir/shape.h"

namespace tpurun {

// The dimensions of an array from the minor-most on: {1,0} is row-major. The minor-most lies on the
// 128 lanes of the vector unit, the second on its 8 sublanes.
struct TiledLayout {
  std::vector<int> minor_to_major;

  int lanes() const { return minor_to_major.at(0); }
  int sublanes() const { return minor_to_major.at(1); }
  bool operator==(const TiledLayout&) const = default;
};

TiledLayout RowMajorLayout(int rank);

// `size` rounded up to a multiple of `tile`.
constexpr int64_t WholeTiles(int64_t size, int64_t tile) { return (size + tile - 1) / tile * tile; }

// Bytes of an element in HBM: a pred has 4.
int64_t TpuElementBytes(DType dtype);
// Bytes of the elements, without padding.
int64_t UnpaddedTpuBytes(const Shape& shape);
// Bytes of the array in HBM: its two minor dimensions are rounded up to whole tiles.
int64_t PaddedTpuBytes(const Shape& shape, const TiledLayout& layout);

// The layout that pads least. Of several the one that keeps most of row-major order.
TiledLayout CheapestLayout(const Shape& shape);

// As XLA prints it: "bf16[512,16,3072]{2,1,0:T(8,128)(2,1)}".
std::string PrintTiledShape(const Shape& shape, const TiledLayout& layout);

// As in reports of a TPU's memory, in units of 1024: "528.00M", "4.0K", "12B".
std::string PrintTpuBytes(int64_t bytes);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_TPU_TILED_LAYOUT_H_
