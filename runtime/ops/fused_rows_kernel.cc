#include "runtime/ops/fused_rows_kernel.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/dcheck.h"
#include "runtime/base/status.h"
#include "runtime/ir/elementwise.h"
#include "runtime/ir/sum_rows.h"
#include "runtime/ops/fused_kernel.h"
#include "runtime/ops/op_list.h"

namespace tpurun {
namespace {

// The bytes of a tile of an f32 value. The values of a program then stay in the L2 cache, and what
// a step has just written in the L1 cache (worker time of all fused_rows in a step of bert_tiny
// with AVX2: 8 KB 37.6 ms, 16 KB 36.6, 32 KB 39.7). One row at least.
constexpr int64_t kTileBytes = 16 << 10;
// The most operands of a step, and the most results: those of `fused`.
constexpr size_t kMostPointers = kMaxTileSteps * kMaxTileOperands;

bool IsSum(const OpDef& op) { return &op == &SumOfRowsOp(); }

Shape AsMatrix(const Shape& shape, int64_t rows, int64_t columns) {
  const int64_t elements = shape.num_elements();
  if (shape.rank() < 2) return shape;
  if (shape.dims.back() == columns && elements == rows * columns)
    return {shape.dtype, {rows, columns}};
  return elements == rows ? Shape{shape.dtype, {rows}} : shape;
}

// OK if the step computes its rows one by one, or sums over them.
absl::Status CheckStep(const RowProgram& program, const RowProgram::Step& step,
                       std::span<const Shape> operands, const std::vector<Shape>& inputs,
                       const std::vector<Shape>& results, const Shape& matrix) {
  const auto bad = [&](const Shape& got) {
    return absl::InvalidArgumentError(absl::StrCat("fused_rows: ", step.op->name, " of rows ",
                                                   matrix.ToString(), " has ", got.ToString()));
  };
  const bool elementwise = step.op->flags.elementwise;
  if (!elementwise && !step.op->rules.by_last_axis && !IsSum(*step.op)) {
    return absl::InvalidArgumentError(
        absl::StrCat("fused_rows: ", step.op->name, " does not compute rows one by one"));
  }
  if (step.inputs.size() > kMostPointers || results.size() > kMostPointers) {
    return absl::InvalidArgumentError(absl::StrCat("fused_rows: ", step.op->name, " has more than ",
                                                   kMostPointers, " operands or results"));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Shape& shape = inputs[i];
    const RowProgram::Input& input = step.inputs[i];
    const bool is_matrix = shape.dims == matrix.dims;
    // A value with an element for each row looks like a row of as many columns.
    const bool row_of_one =
        shape.rank() == 1 && (input.is_step || operands[input.index].rank() > 1);
    const bool sum = input.is_step && IsSum(*program.steps[input.index].op);
    const bool small_bf16 = shape.dtype == DType::kBF16 && !is_matrix;
    if (!shape.layout.plain() || sum || (elementwise && (row_of_one || small_bf16)) ||
        (IsSum(*step.op) && !is_matrix)) {
      return bad(shape);
    }
  }
  const bool good =
      IsSum(*step.op) ? results[0].dtype == DType::kF32 : results[0].dims == matrix.dims;
  if (!good) return bad(results[0]);
  return absl::OkStatus();
}

class RowTiles final : public FusedRowsKernel {
 public:
  RowTiles(const OpCall& call, const elementwise::Chains* chains, RowProgram program)
      : values_(*ValuesOf(program, call.operands, call.attrs.Ints("dims"))),
        tile_rows_(TileRows(values_.columns)) {
    PlaceResults(call, program);
    for (size_t i = 0; i < program.steps.size(); ++i) AddStep(program, static_cast<int>(i), chains);
    scratch_bytes_ = locals_ + step_scratch_;
    for (Step& step : steps_) {
      if (step.kernel != nullptr) continue;
      step.of_blocks = scratch_bytes_;
      scratch_bytes_ += Aligned(Blocks() * values_.columns * static_cast<int64_t>(sizeof(float)));
    }
  }

  int64_t scratch_bytes() const override { return scratch_bytes_; }

  void SetWorkers(int workers) override {
    for (Step& step : steps_)
      if (step.kernel != nullptr) step.kernel->SetWorkers(workers);
  }

  absl::Status Run(const KernelArgs& args) const override {
    for (int64_t row = 0; row < values_.rows; row += tile_rows_) {
      const int64_t rows = std::min(tile_rows_, values_.rows - row);
      for (const Step& step : steps_) {
        if (step.kernel == nullptr) {
          AddToSum(args, step, row, rows);
        } else {
          RETURN_IF_ERROR(RunStep(args, step, row, rows));
        }
      }
    }
    for (const Step& step : steps_) {
      if (step.kernel != nullptr) continue;
      auto* const sums = static_cast<float*>(Pointer(args, step.results[0], 0));
      if (sums != nullptr)
        SumBlocksOfRows(BlockSums(args, step, 0), Blocks(), values_.columns, sums);
    }
    return absl::OkStatus();
  }

 private:
  // Where a value is. A local value has the rows of one tile, in scratch memory.
  struct Place {
    enum Kind : uint8_t { kNone, kOperand, kResult, kLocal } kind = kNone;
    int64_t at = 0;         // the operand, the result, or the offset in scratch memory
    int64_t row_bytes = 0;  // of a local value
  };
  struct Step {
    std::unique_ptr<Kernel> kernel;  // nullptr: a sum of rows
    std::vector<Place> operands, results;
    int64_t units_of_row = 1;  // of the kernel's work
    bool sums_bf16 = false;
    int64_t of_blocks = 0;  // of a sum: the offset of the sums of all blocks
  };

  // Whole blocks, or a power of 2 of a block's rows.
  static int64_t TileRows(int64_t columns) {
    const int64_t rows = kTileBytes / (columns * static_cast<int64_t>(sizeof(float)));
    if (rows >= kRowBlock) return rows - rows % kRowBlock;
    return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(std::max<int64_t>(rows, 1))));
  }

  int64_t Blocks() const { return (values_.rows + kRowBlock - 1) / kRowBlock; }

  // The results of the node, and when each value is read last.
  void PlaceResults(const OpCall& call, const RowProgram& program) {
    for (size_t i = 0; i < program.results.size(); ++i) {
      if (call.needed[i]) places_[program.results[i]] = {Place::kResult, static_cast<int64_t>(i)};
    }
    for (size_t i = 0; i < program.steps.size(); ++i) {
      for (const RowProgram::Input& input : program.steps[i].inputs)
        last_read_[input] = static_cast<int>(i);
    }
  }

  void AddStep(const RowProgram& program, int index, const elementwise::Chains* chains) {
    const RowProgram::Step& of = program.steps[index];
    Step& step = steps_.emplace_back();
    OpCall call{.op = of.op, .attrs = of.attrs, .results = values_.steps[index]};
    for (const RowProgram::Input& input : of.inputs) {
      call.operands.push_back(values_.Of(input));
      step.operands.push_back(input.is_step ? places_[input] : Place{Place::kOperand, input.index});
    }
    for (size_t r = 0; r < call.results.size(); ++r) {
      const RowProgram::Input value{true, index, static_cast<int>(r)};
      // No kernel goes without its first result.
      const bool wanted = r == 0 || last_read_.count(value) > 0;
      if (!IsSum(*of.op) && places_.count(value) == 0 && wanted) AddLocal(value);
      step.results.push_back(places_[value]);
      call.needed.push_back(step.results.back().kind != Place::kNone);
    }
    for (const RowProgram::Input& input : of.inputs) FreeLocal(input, index);
    if (IsSum(*of.op)) {
      step.sums_bf16 = call.operands[0].dtype == DType::kBF16;
      return;
    }
    if (OpFlagsOf(call).unit == WorkUnit::kElements) step.units_of_row = values_.columns;
    const bool is_fused = chains != nullptr && of.op->name == "fused";
    step.kernel = is_fused ? FusedKernel(call, chains) : MakeReference(call);
    if (!is_fused) step_scratch_ = std::max(step_scratch_, Aligned(ReferenceScratchBytes(call)));
  }

  // All local values have the size of f32 values, and take the place of one that is read no more.
  void AddLocal(const RowProgram::Input& value) {
    const Shape& shape = values_.Of(value);
    Place place{Place::kLocal, locals_, shape.row_elements() * ByteSize(shape.dtype)};
    if (free_.empty()) {
      locals_ += Aligned(tile_rows_ * values_.columns * static_cast<int64_t>(sizeof(float)));
    } else {
      place.at = free_.back();
      free_.pop_back();
    }
    places_[value] = place;
  }
  void FreeLocal(const RowProgram::Input& value, int step) {
    const auto place = places_.find(value);
    if (place == places_.end() || place->second.kind != Place::kLocal) return;
    int& last = last_read_[value];
    if (last != step) return;
    last = -1;  // it may be two operands
    free_.push_back(place->second.at);
  }

  static std::byte* Scratch(const KernelArgs& args, int64_t at) {
    return static_cast<std::byte*>(args.scratch) + at;
  }
  float* BlockSums(const KernelArgs& args, const Step& step, int64_t block) const {
    return reinterpret_cast<float*>(Scratch(args, step.of_blocks)) + block * values_.columns;
  }

  // The address of row 0 of the value, also of one that has only the rows of the tile from `row`
  // on: kernels add the bytes of the rows before.
  static void* Pointer(const KernelArgs& args, const Place& place, int64_t row) {
    switch (place.kind) {
      case Place::kOperand:
        return const_cast<void*>(args.operands[place.at]);  // no kernel writes an operand
      case Place::kResult:
        return args.results[place.at];
      case Place::kLocal:
        return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(Scratch(args, place.at)) -
                                       static_cast<uintptr_t>(row * place.row_bytes));
      case Place::kNone:
        break;
    }
    return nullptr;
  }

  absl::Status RunStep(const KernelArgs& args, const Step& step, int64_t row, int64_t rows) const {
    TPURUN_DCHECK(step.operands.size() <= kMostPointers && step.results.size() <= kMostPointers);
    std::array<const void*, kMostPointers> operands;
    std::array<void*, kMostPointers> results;
    for (size_t i = 0; i < step.operands.size(); ++i)
      operands[i] = Pointer(args, step.operands[i], row);
    for (size_t i = 0; i < step.results.size(); ++i)
      results[i] = Pointer(args, step.results[i], row);
    return step.kernel->Run({.operands = operands.data(),
                             .results = results.data(),
                             .scratch = Scratch(args, locals_),
                             .worker = args.worker,
                             .begin = row * step.units_of_row,
                             .end = (row + rows) * step.units_of_row});
  }

  void AddToSum(const KernelArgs& args, const Step& step, int64_t row, int64_t rows) const {
    const void* const x = Pointer(args, step.operands[0], row);
    for (const int64_t end = row + rows; row < end;) {
      float* const sums = BlockSums(args, step, row / kRowBlock);
      if (row % kRowBlock == 0) std::fill_n(sums, values_.columns, 0.0f);
      const int64_t of_block = std::min(end - row, kRowBlock - row % kRowBlock);
      const auto add = [&](auto* x) {
        AddRowsOfBlock(x + row * values_.columns, of_block, values_.columns, sums);
      };
      step.sums_bf16 ? add(static_cast<const uint16_t*>(x)) : add(static_cast<const float*>(x));
      row += of_block;
    }
  }

  const RowValues values_;
  const int64_t tile_rows_;
  std::vector<Step> steps_;
  std::map<RowProgram::Input, Place> places_;   // of steps
  std::map<RowProgram::Input, int> last_read_;  // by that step
  std::vector<int64_t> free_;                   // offsets in scratch memory
  int64_t locals_ = 0;                          // bytes of scratch memory
  int64_t step_scratch_ = 0;                    // behind them: that of a step
  int64_t scratch_bytes_ = 0;                   // and of the sums of blocks
};

}  // namespace

absl::StatusOr<RowValues> ValuesOf(const RowProgram& program, std::span<const Shape> operands,
                                   const std::vector<int64_t>& dims) {
  const Shape all{DType::kF32, dims};
  if (all.rank() < 2 || *std::min_element(dims.begin(), dims.end()) < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("fused_rows: want rows (..., C), got dims=", DimsToString(dims)));
  }
  RowValues values{.rows = RowsOf(all), .columns = dims.back()};
  const Shape matrix{DType::kF32, {values.rows, values.columns}};
  for (const Shape& shape : operands)
    values.operands.push_back(AsMatrix(shape, values.rows, values.columns));
  for (const RowProgram::Step& step : program.steps) {
    std::vector<Shape> inputs;
    for (const RowProgram::Input& input : step.inputs) {
      const size_t count =
          input.is_step ? values.steps[input.index].size() : values.operands.size();
      if (static_cast<size_t>(input.is_step ? input.result : input.index) >= count) {
        return absl::InvalidArgumentError(
            absl::StrCat("fused_rows: ", step.op->name, " reads a value that does not exist"));
      }
      inputs.push_back(values.Of(input));
    }
    ASSIGN_OR_RETURN(std::vector<Shape> results, InferShapes(*step.op, inputs, step.attrs));
    RETURN_IF_ERROR(CheckStep(program, step, operands, inputs, results, matrix));
    values.steps.push_back(std::move(results));
  }
  return values;
}

std::unique_ptr<FusedRowsKernel> MakeFusedRowsKernel(const OpCall& call,
                                                     const elementwise::Chains* chains) {
  // The shapes have been inferred.
  return std::make_unique<RowTiles>(call, chains,
                                    *ParseRowProgram(call.attrs.String("program"), FindOpByName));
}

}  // namespace tpurun
