// TileProgram: a sequence of element-wise ops over values of one shape, run on one tile of elements
// at a time. It is an attribute of the op that runs it. Its text form is a string:
//
//   t0 = square x0; t1 = add x1 t0 bf16; t2 = rsqrt t1
//
// x<i> is operand i of the node, t<i> the result of step i. A step with bf16 rounds its result to
// bf16.
#ifndef TPURUN_RUNTIME_IR_TILE_PROGRAM_H_
#define TPURUN_RUNTIME_IR_TILE_PROGRAM_H_

#include <string>
#include <vector>

namespace tpurun {

struct OpDef;

// The maximum number of steps of a program; a kernel keeps its data per step on the stack.
constexpr int kMaxTileSteps = 32;

struct TileProgram {
  struct Input {
    bool is_step = false;  // the result of step `index`, else operand `index` of the node
    int index = 0;
    bool operator==(const Input&) const = default;
  };
  struct Step {
    const OpDef* op = nullptr;  // has OpDef::tile
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
