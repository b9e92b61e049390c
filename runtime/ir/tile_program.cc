#include "runtime/ir/tile_program.h"

#include "absl/strings/str_cat.h"
#include "runtime/ir/op_def.h"

namespace tpurun {

std::string ToString(const TileProgram& program) {
  std::string text;
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const TileProgram::Step& step = program.steps[i];
    absl::StrAppend(&text, i == 0 ? "t" : "; t", i, " = ", step.op->name);
    for (const TileProgram::Input input : step.inputs)
      absl::StrAppend(&text, input.is_step ? " t" : " x", input.index);
    if (step.rounds) absl::StrAppend(&text, " bf16");
  }
  return text;
}

}  // namespace tpurun
