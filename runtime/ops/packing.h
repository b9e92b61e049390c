// Blocked layouts, the form in which kernel libraries prefer the weights of a product. The op
// `pack` in packing.cc converts a value to one.
#ifndef TPURUN_RUNTIME_OPS_PACKING_H_
#define TPURUN_RUNTIME_OPS_PACKING_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/ir/op_def.h"

namespace tpurun {

// Each dimension is divided into blocks, and some blocks into smaller blocks. The innermost block
// is contiguous. Modelled on oneDNN's blocking descriptor (Developer Guide, "Understanding Memory
// Formats").
struct BlockedLayout {
  struct Block {
    int dimension = 0;
    int64_t size = 0;
    bool operator==(const Block&) const = default;
  };
  std::vector<int64_t> strides;  // elements from one outermost block of a dimension to the next
  std::vector<Block> blocks;     // the inner blocks, outermost first
  bool rounded = false;          // f32 numbers, rounded to bf16
  bool reversed = false;         // the elements of an innermost block come in falling order
  bool flipped = false;          // the indices of all but the last two dimensions fall
  bool operator==(const BlockedLayout&) const = default;

  // The name for Shapes: "blocked_s32_s1_b4d0_b2d1", "blocked_s16_s160_b16d1_rounded" or
  // "blocked_s32_s640_b16d1_b2d0_reversed"; "flipped" comes last.
  Layout Named(int64_t bytes) const;
};

// Returns the blocked layout of a shape. Returns nullopt if the layout is plain, or if its name or
// its size in bytes does not match a blocked layout of these dimensions.
std::optional<BlockedLayout> ParseBlockedLayout(const Shape& shape);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_PACKING_H_
