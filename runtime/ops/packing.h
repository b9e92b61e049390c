// Blocked layouts, as kernel libraries like the weights of a product. `pack`, in packing.cc, brings
// a value into one.
#ifndef TPURUN_RUNTIME_OPS_PACKING_H_
#define TPURUN_RUNTIME_OPS_PACKING_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/ir/op_def.h"

namespace tpurun {

// Each dimension is cut into blocks, some of them into blocks of blocks; an innermost block lies
// together. After oneDNN's blocking descriptor (Developer Guide, "Understanding Memory Formats").
struct BlockedLayout {
  struct Block {
    int dimension = 0;
    int64_t size = 0;
    bool operator==(const Block&) const = default;
  };
  std::vector<int64_t> strides;  // elements from one outermost block of a dimension to the next
  std::vector<Block> blocks;     // the inner ones, the outermost first
  bool operator==(const BlockedLayout&) const = default;

  // The name for Shapes: "blocked_s32_s1_b4d0_b2d1".
  Layout Named(int64_t bytes) const;
};

// The layout of a shape that has one; nothing when it is plain, or its name or its bytes are not
// those of a blocked layout of these dimensions.
std::optional<BlockedLayout> ParseBlockedLayout(const Shape& shape);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_PACKING_H_
