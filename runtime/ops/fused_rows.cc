// `fused_rows`: runs the steps of a RowProgram on a few rows at a time.
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ops/fused_kernel.h"
#include "runtime/ops/fused_rows_kernel.h"
#include "runtime/ops/kernel_levels.h"
#include "runtime/ops/op_list.h"
#include "runtime/ops/own_scratch.h"

namespace tpurun {
namespace {

absl::StatusOr<RowProgram> ProgramOf(const Attrs& attrs) {
  absl::StatusOr<RowProgram> program = ParseRowProgram(attrs.String("program"), FindOpByName);
  return program.ok() ? std::move(program) : Annotate(program.status(), "fused_rows");
}

absl::StatusOr<std::vector<Shape>> FusedRowsShapes(std::span<const Shape> operands,
                                                   const Attrs& attrs) {
  ASSIGN_OR_RETURN(const RowProgram program, ProgramOf(attrs));
  const std::vector<int64_t> dims = attrs.Ints("dims");
  ASSIGN_OR_RETURN(const RowValues values, ValuesOf(program, operands, dims));
  std::vector<Shape> results;
  std::set<RowProgram::Input> returned;
  for (const RowProgram::Input& result : program.results) {
    if (!returned.insert(result).second) {
      return absl::InvalidArgumentError(absl::StrCat("fused_rows: returns result ", result.result,
                                                     " of step ", result.index, " twice"));
    }
    if (static_cast<size_t>(result.result) >= values.steps[result.index].size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("fused_rows: step ", result.index, " has no result ", result.result));
    }
    Shape& shape = results.emplace_back(values.Of(result));
    if (shape.rank() == 2) {
      shape.dims = dims;
    } else if (result.result > 0) {  // an element for each row
      shape.dims.assign(dims.begin(), dims.end() - 1);
    }
  }
  return results;
}

std::unique_ptr<Kernel> FusedRowsReference(const OpCall& call) {
  std::unique_ptr<FusedRowsKernel> kernel = MakeFusedRowsKernel(call, nullptr);
  const int64_t scratch_bytes = kernel->scratch_bytes();
  return WithOwnScratch(std::move(kernel), scratch_bytes);
}

const OpDef& FusedRowsOp() {
  static const OpDef& op = *new OpDef{
      .name = "fused_rows",
      .doc =
          "The ops of `program` on a few rows at a time, so that what only they read of each other "
          "stays in a cache; `dims` (..., C): the rows. A step is an element-wise op, an op along "
          "the last axis or a sum of rows (C); results have the dims of the rows, (..., C), or one "
          "element of each row. The same bits as the ops one by one, but for those of a NaN.",
      .max_operands = -1,
      .attrs = {{"program", std::string(), true}, {"dims", std::vector<int64_t>{}, true}},
      .flags = {.random = true, .any_dtype = true},
      .infer_shape = FusedRowsShapes,
      .reference = FusedRowsReference,
      .kernels = KernelsOfLevels(
          "row_tiles", KernelLevel::kAvx512BFloat16,
          [](const OpCall& call, KernelLevel level) -> std::optional<KernelOffer> {
            return KernelOffer{
                .scratch_bytes = MakeFusedRowsKernel(call, &ChainsOf(level))->scratch_bytes(),
                .native_bf16 = true};
          },
          [](const OpCall& call, KernelLevel level) -> std::unique_ptr<Kernel> {
            return MakeFusedRowsKernel(call, &ChainsOf(level));
          }),
      .cost = [](const OpCall& call, Cost& cost) {
        const absl::StatusOr<RowProgram> program = ProgramOf(call.attrs);
        if (!program.ok()) return;
        const absl::StatusOr<RowValues> values =
            ValuesOf(*program, call.operands, call.attrs.Ints("dims"));
        if (!values.ok()) return;
        for (size_t i = 0; i < program->steps.size(); ++i) {
          const RowProgram::Step& step = program->steps[i];
          OpCall of{.op = step.op, .attrs = step.attrs, .results = values->steps[i]};
          for (const RowProgram::Input& input : step.inputs)
            of.operands.push_back(values->Of(input));
          of.needed.assign(of.results.size(), true);
          const Cost of_step = CostOf(of);
          cost.vector_flops += of_step.vector_flops;
          cost.transcendentals += of_step.transcendentals;
        }
      }};
  return op;
}

}  // namespace

std::vector<const OpDef*> FusedRowsOps() { return {&FusedRowsOp()}; }

}  // namespace tpurun
