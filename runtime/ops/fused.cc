// `fused`: runs the steps of a TileProgram in one pass over the elements.
#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/base/bfloat16.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/ir/bf16_conversion.h"
#include "runtime/ir/elementwise.h"
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

// Runs the steps on one tile after the other. The results of steps are in registers of one tile
// each. All registers together stay in the first-level cache. A result of the node is written
// directly to its memory unless an operand that is read later may have the same memory.
class FusedKernel final : public Kernel {
 public:
  explicit FusedKernel(const OpCall& call) : scalar_(call.results[0].rank() == 0) {
    const TileProgram& program = call.attrs.Program("program");
    const std::vector<int64_t> results = call.attrs.Ints("results");
    operands_.resize(call.operands.size());
    for (size_t i = 0; i < operands_.size(); ++i) {
      const Shape& shape = call.operands[i];
      operands_[i].spread = shape.rank() == 0 && !scalar_;
      operands_[i].row = IsRow(shape, call.results[0]);
      operands_[i].pred = shape.dtype == DType::kPred;
      operands_[i].bf16 = shape.dtype == DType::kBF16;
      if (operands_[i].spread || operands_[i].row || operands_[i].pred || operands_[i].bf16) {
        operands_[i].place = registers_++;
      }
    }
    for (const TileProgram::Step& step : program.steps) {
      Step& made = steps_.emplace_back(Step{.tile = step.op->tile, .rounds = step.rounds});
      for (const TileProgram::Input input : step.inputs)
        made.operands[made.operand_count++] = ValueOf(input, operands_.size());
    }
    for (size_t i = 0; i < results.size(); ++i) {
      steps_[results[i]].result = static_cast<int>(i);
      results_.push_back({.step = static_cast<int>(results[i]),
                          .pred = call.results[i].dtype == DType::kPred,
                          .bf16 = call.results[i].dtype == DType::kBF16});
    }
    PlaceSteps();
    register_ =
        std::min<int64_t>(kTileElements, kRegisterFloats / std::max(1, registers_) / 16 * 16);
    tiles_ = Tiles(register_, RowColumns(call));
  }

  absl::Status Run(const KernelArgs& args) const override {
    alignas(64) float registers[kRegisterFloats];
    std::array<float*, kMaxValues> values;   // [operand, then step]: its tile
    std::array<bool, kMaxTileSteps> direct;  // [result]
    const int64_t most = std::min(tiles_.most(), args.end - args.begin);
    const auto place = [&](int index) { return registers + index * register_; };
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (operands_[i].place >= 0) values[i] = place(operands_[i].place);
      if (operands_[i].row && !tiles_.within_rows()) {
        SpreadRow(args.operands[i], sizeof(float), tiles_.columns(), args.begin, most, values[i]);
      }
      if (!operands_[i].spread) continue;
      const float scalar = operands_[i].pred ? *static_cast<const uint8_t*>(args.operands[i])
                                             : *static_cast<const float*>(args.operands[i]);
      std::fill_n(values[i], most, scalar);
    }
    for (size_t i = 0; i < results_.size(); ++i) direct[i] = IsDirect(args, static_cast<int>(i));
    for (int64_t begin = args.begin, n = 0; begin < args.end; begin += n) {
      n = tiles_.Count(begin, args.end);
      LoadOperands(args, begin, n, values.data());
      for (size_t i = 0; i < steps_.size(); ++i) {
        const Step& step = steps_[i];
        const bool there = step.result >= 0 && direct[step.result];
        float* to =
            there ? static_cast<float*>(args.results[step.result]) + begin : place(step.place);
        values[operands_.size() + i] = to;
        std::array<const void*, kMaxTileOperands> in;
        for (int k = 0; k < step.operand_count; ++k) in[k] = values[step.operands[k]];
        step.tile(in.data(), to, n);
        if (step.rounds) RoundInFloat(to, n, to);
      }
      for (size_t i = 0; i < results_.size(); ++i) {
        if (!direct[i]) Store(args, begin, n, static_cast<int>(i), values.data());
      }
    }
    return absl::OkStatus();
  }

 private:
  // 32 KB; the rest of the cache is for operands and results
  static constexpr int64_t kRegisterFloats = 8192;
  static constexpr int kMaxValues = kMaxTileSteps * (kMaxTileOperands + 1);

  struct OperandInfo {
    bool spread = false;  // a scalar that is broadcast to every element
    bool row = false;     // a row that is broadcast to every row
    bool pred = false;    // bytes, converted to f32
    bool bf16 = false;    // bf16, converted to f32
    int place = -1;       // its register; -1: read from its own memory
  };
  struct Step {
    TileFunction tile = nullptr;
    bool rounds = false;
    int operand_count = 0;
    std::array<int, kMaxTileOperands> operands = {};
    int place = -1;   // its register
    int result = -1;  // the node's result; -1: none
  };
  struct ResultInfo {
    int step = 0;
    bool pred = false, bf16 = false;
    std::vector<int> read_later;  // operands read from their own memory after the result is written
  };

  // A register is free after the last step that reads it. Registers of results are never freed.
  void PlaceSteps() {
    const int count = static_cast<int>(steps_.size());
    std::vector<int> last_read(operands_.size() + count, -1);
    for (int i = 0; i < count; ++i) {
      for (int k = 0; k < steps_[i].operand_count; ++k) last_read[steps_[i].operands[k]] = i;
    }
    std::vector<int> free;
    for (int i = 0; i < count; ++i) {
      for (int earlier = 0; earlier < i; ++earlier) {
        const int value = static_cast<int>(operands_.size()) + earlier;
        if (last_read[value] == i && steps_[earlier].result < 0)
          free.push_back(steps_[earlier].place);
      }
      if (free.empty()) {
        steps_[i].place = registers_++;
      } else {
        steps_[i].place = free.back();
        free.pop_back();
      }
    }
    for (ResultInfo& result : results_) {
      for (size_t i = 0; i < operands_.size(); ++i) {
        if (operands_[i].spread || operands_[i].row || last_read[i] <= result.step) continue;
        result.read_later.push_back(static_cast<int>(i));
      }
    }
  }

  bool IsDirect(const KernelArgs& args, int index) const {
    const ResultInfo& result = results_[index];
    const void* to = args.results[index];
    if (to == nullptr || result.pred || result.bf16) return false;
    return std::none_of(result.read_later.begin(), result.read_later.end(),
                        [&](int operand) { return args.operands[operand] == to; });
  }

  void LoadOperands(const KernelArgs& args, int64_t begin, int64_t n, float** values) const {
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (operands_[i].spread || (operands_[i].row && !tiles_.within_rows())) continue;
      const int64_t at = operands_[i].row ? begin % tiles_.columns() : begin;
      if (operands_[i].pred) {
        const uint8_t* from = static_cast<const uint8_t*>(args.operands[i]) + at;
        std::copy(from, from + n, values[i]);
      } else if (operands_[i].bf16) {
        FromBFloat16(static_cast<const uint16_t*>(args.operands[i]) + at, n, values[i]);
      } else {
        // Steps never write to the memory of operands.
        values[i] = const_cast<float*>(static_cast<const float*>(args.operands[i])) + at;
      }
    }
  }

  void Store(const KernelArgs& args, int64_t begin, int64_t n, int index,
             float* const* values) const {
    if (args.results[index] == nullptr) return;
    const float* from = values[operands_.size() + results_[index].step];
    if (results_[index].pred) {
      uint8_t* to = static_cast<uint8_t*>(args.results[index]) + begin;
      std::transform(from, from + n, to, [](float value) { return value != 0; });
    } else if (results_[index].bf16) {
      RoundToBFloat16(from, n, static_cast<uint16_t*>(args.results[index]) + begin);
    } else {
      std::copy(from, from + n, static_cast<float*>(args.results[index]) + begin);
    }
  }

  const bool scalar_;  // one element in all: no broadcast
  int registers_ = 0;
  int64_t register_ = 0;  // size of a register in elements
  Tiles tiles_ = {0, 0};
  std::vector<OperandInfo> operands_;
  std::vector<Step> steps_;
  std::vector<ResultInfo> results_;
};

const OpDef& FusedOp() {
  static const OpDef& op = *new OpDef{
      .name = "fused",
      .doc =
          "The element-wise ops of `program` in one pass over the elements; `results` are the "
          "steps whose values are the results. Operands and results are f32 or pred, of one shape "
          "or scalars. The same bits as the ops one by one.",
      .max_operands = -1,
      .attrs = {{"program", TileProgram(), true, ParseTileProgram},
                {"results", std::vector<int64_t>{}, true}},
      .flags = {.unit = WorkUnit::kElements, .elementwise = true, .row_operands = kAllOperands},
      .infer_shape = FusedShapes,
      .reference = [](const OpCall& call) -> std::unique_ptr<Kernel> {
        return std::make_unique<FusedKernel>(call);
      },
      .kernels = {{.name = "bf16_loops",
                   .offer = [](const OpCall& call, const Machine&) -> std::optional<KernelOffer> {
                     const auto is_small_bf16 = [&](const Shape& shape) {
                       return shape.dtype == DType::kBF16 &&
                              (shape.rank() == 0 || IsRow(shape, call.results[0]));
                     };
                     if (!HasBF16(call) ||
                         std::any_of(call.operands.begin(), call.operands.end(), is_small_bf16)) {
                       return std::nullopt;
                     }
                     return KernelOffer{.native_bf16 = true};
                   },
                   .make = [](const OpCall& call, const KernelOffer&) -> std::unique_ptr<Kernel> {
                     return std::make_unique<FusedKernel>(call);
                   }}},
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
