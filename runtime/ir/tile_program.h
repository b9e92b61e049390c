// TileProgram: a straight line of element-wise ops over values of one shape, a tile of elements at
// a time. An attribute of the op that runs it, in text a string:
//
//   t0 = square x0; t1 = add x1 t0 bf16; t2 = rsqrt t1
//
// x<i> is operand i of the node, t<i> what step i gives, with bf16 rounded to that.
#ifndef TPURUN_RUNTIME_IR_TILE_PROGRAM_H_
#define TPURUN_RUNTIME_IR_TILE_PROGRAM_H_

#include <string>
#include <vector>

namespace tpurun {

struct OpDef;

// The most steps of a program: what a kernel keeps about them fits its stack.
constexpr int kMaxTileSteps = 32;

struct TileProgram {
  struct Input {
    bool is_step = false;  // what step `index` gives; else operand `index` of the node
    int index = 0;
    bool operator==(const Input&) const = default;
  };
  struct Step {
    const OpDef* op = nullptr;  // one with OpDef::tile
    std::vector<Input> inputs;
    bool rounds = false;
    bool operator==(const Step&) const = default;
  };
  std::vector<Step> steps;
  bool operator==(const TileProgram&) const = default;
};

std::string ToString(const TileProgram& program);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IR_TILE_PROGRAM_H_
