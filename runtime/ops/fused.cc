// `fused`: runs the steps of a TileProgram in one pass over the elements.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/ir/elementwise.h"
#include "runtime/ops/fused_kernel.h"
#include "runtime/ops/kernel_levels.h"
#include "runtime/ops/op_list.h"

namespace tpurun {
namespace {

// "x3" or "t3". An input of step `index`, which may read earlier steps.
std::optional<TileProgram::Input> ParseInput(const std::string& word, int index) {
  if (word.size() < 2 || (word[0] != 'x' && word[0] != 't')) return std::nullopt;
  const std::optional<int64_t> number = ParseInt64(word.substr(1));
  const bool is_step = word[0] == 't';
  const int64_t end = is_step ? index : kMaxTileSteps * kMaxTileOperands;
  if (!number || *number < 0 || *number >= end) return std::nullopt;
  return TileProgram::Input{is_step, static_cast<int>(*number)};
}

absl::StatusOr<TileProgram::Step> ParseStep(const std::string& text, int index) {
  std::vector<std::string> words = absl::StrSplit(text, ' ', absl::SkipEmpty());
  if (words.size() < 3 || words[0] != absl::StrCat("t", index) || words[1] != "=") {
    return absl::InvalidArgumentError(
        absl::StrCat("fused: want t", index, " = OP OPERANDS, got \"", text, "\""));
  }
  TileProgram::Step step{.op = FindOpByName(words[2]),
                         .rounds = words.size() > 3 && words.back() == "bf16"};
  if (step.rounds) words.pop_back();
  if (step.op == nullptr || step.op->tile == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("fused: ", words[2], " is no element-wise op that can be fused"));
  }
  for (size_t i = 3; i < words.size(); ++i) {
    const std::optional<TileProgram::Input> input = ParseInput(words[i], index);
    if (!input) {
      return absl::InvalidArgumentError(
          absl::StrCat("fused: no value ", words[i], " in \"", text, "\""));
    }
    step.inputs.push_back(*input);
  }
  if (static_cast<int>(step.inputs.size()) != step.op->min_operands) {
    return absl::InvalidArgumentError(absl::StrCat("fused: ", step.op->name, " wants ",
                                                   step.op->min_operands, " operands, got \"", text,
                                                   "\""));
  }
  return step;
}

absl::StatusOr<AttrValue> ParseTileProgram(const std::string& text) {
  TileProgram program;
  for (const absl::string_view step_text : absl::StrSplit(text, ';')) {
    ASSIGN_OR_RETURN(TileProgram::Step step,
                     ParseStep(std::string(step_text), static_cast<int>(program.steps.size())));
    program.steps.push_back(std::move(step));
  }
  return AttrValue(std::move(program));
}

// The index of a step's input among all values: the operands of the node come first, then the
// steps.
int ValueOf(TileProgram::Input input, size_t operands) {
  return input.index + (input.is_step ? static_cast<int>(operands) : 0);
}

// InvalidArgument unless all operands that the program reads exist and `results` are ascending
// steps of it.
absl::Status CheckProgram(size_t operands, const TileProgram& program,
                          const std::vector<int64_t>& results) {
  if (program.steps.size() > kMaxTileSteps || operands > kMaxTileSteps * kMaxTileOperands) {
    return absl::InvalidArgumentError(absl::StrCat("fused: at most ", kMaxTileSteps, " steps and ",
                                                   kMaxTileOperands, " operands each, got ",
                                                   program.steps.size(), " and ", operands));
  }
  for (const TileProgram::Step& step : program.steps) {
    for (const TileProgram::Input input : step.inputs) {
      if (input.is_step || input.index < static_cast<int>(operands)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("fused: no operand x", input.index, ", there are ", operands));
    }
  }
  bool rise = !results.empty();
  for (size_t i = 0; i < results.size(); ++i) {
    rise = rise && results[i] > (i == 0 ? -1 : results[i - 1]) &&
           results[i] < static_cast<int64_t>(program.steps.size());
  }
  if (rise) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "fused: results wants rising steps of the program, got ", DimsToString(results)));
}

// The shapes of the operands, then of the result of every step.
absl::StatusOr<std::vector<Shape>> ValueShapes(const TileProgram& program,
                                               std::span<const Shape> operands) {
  std::vector<Shape> shapes(operands.begin(), operands.end());
  for (const Shape& shape : operands) {
    const bool known = shape.dtype == DType::kF32 || shape.dtype == DType::kPred;
    if (known && shape.layout.plain()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("fused: want plain f32 or pred, got ", shape.ToString()));
  }
  for (const TileProgram::Step& step : program.steps) {
    std::vector<Shape> inputs;
    for (const TileProgram::Input input : step.inputs)
      inputs.push_back(shapes[ValueOf(input, operands.size())]);
    ASSIGN_OR_RETURN(const std::vector<Shape> result, step.op->infer_shape(inputs, Attrs()));
    shapes.push_back(result[0]);
  }
  return shapes;
}

absl::StatusOr<std::vector<Shape>> FusedShapes(std::span<const Shape> operands,
                                               const Attrs& attrs) {
  const TileProgram& program = attrs.Program("program");
  const std::vector<int64_t> steps = attrs.Ints("results");
  RETURN_IF_ERROR(CheckProgram(operands.size(), program, steps));
  ASSIGN_OR_RETURN(const std::vector<Shape> shapes, ValueShapes(program, operands));
  std::vector<Shape> results;
  for (const int64_t step : steps) results.push_back(shapes[operands.size() + step]);
  const auto check = [&](const Shape& shape) {
    if (shape.dims == results[0].dims) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("fused: values of one shape wanted, got ",
                                                   results[0].ToString(), " and ",
                                                   shape.ToString()));
  };
  for (const Shape& shape : results) RETURN_IF_ERROR(check(shape));
  for (size_t i = 0; i < shapes.size(); ++i) {
    const bool row =
        i < operands.size() && shapes[i].dtype == DType::kF32 && IsRow(shapes[i], results[0]);
    if (shapes[i].rank() > 0 && !row) RETURN_IF_ERROR(check(shapes[i]));
  }
  return results;
}

// Nothing is offered for scalars and rows in bf16.
std::optional<KernelOffer> OfferChains(const OpCall& call, KernelLevel) {
  const auto is_small_bf16 = [&](const Shape& shape) {
    return shape.dtype == DType::kBF16 && (shape.rank() == 0 || IsRow(shape, call.results[0]));
  };
  if (std::any_of(call.operands.begin(), call.operands.end(), is_small_bf16)) return std::nullopt;
  return KernelOffer{.native_bf16 = true};
}

const OpDef& FusedOp() {
  static const OpDef& op = *new OpDef{
      .name = "fused",
      .doc =
          "The element-wise ops of `program` in one pass over the elements; `results` are the "
          "steps whose values are the results. Operands and results are f32 or pred, of one shape, "
          "or operands are scalars or f32 rows. The same bits as the ops one by one.",
      .max_operands = -1,
      .attrs = {{"program", TileProgram(), true, ParseTileProgram},
                {"results", std::vector<int64_t>{}, true}},
      .flags = {.unit = WorkUnit::kElements, .elementwise = true, .row_operands = kAllOperands},
      .infer_shape = FusedShapes,
      .reference = [](const OpCall& call) { return FusedKernel(call, nullptr); },
      .kernels = KernelsOfLevels("chains", KernelLevel::kAvx512BFloat16, OfferChains,
                                 [](const OpCall& call, KernelLevel level) {
                                   return FusedKernel(call, &ChainsOf(level));
                                 }),
      .cost =
          [](const OpCall& call, Cost& cost) {
            const auto elements = static_cast<double>(call.results[0].num_elements());
            for (const TileProgram::Step& step : call.attrs.Program("program").steps) {
              cost.vector_flops += elements * step.op->element_flops;
              cost.transcendentals += elements * step.op->element_transcendentals;
            }
          }};
  return op;
}

}  // namespace

std::vector<const OpDef*> FusedOps() { return {&FusedOp()}; }

}  // namespace tpurun
