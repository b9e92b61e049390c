#include "runtime/ops/fused_kernel.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "runtime/base/bfloat16.h"
#include "runtime/ir/elementwise.h"

namespace tpurun {
namespace {

// 32 KB; the rest of the cache is for operands and results
constexpr int64_t kRegisterFloats = 8192;
constexpr int kMaxValues = kMaxTileSteps * (kMaxTileOperands + 1);

// Values are in registers of one tile each. All registers together stay in the first-level cache. A
// result of the node is written directly to its memory unless an operand that is read later may
// have the same memory.
class TileSteps final : public Kernel {
 public:
  TileSteps(const OpCall& call, elementwise::RunChain run_chain)
      : run_chain_(run_chain), scalar_(call.results[0].rank() == 0) {
    for (const Shape& shape : call.operands) {
      operands_.push_back({.spread = shape.rank() == 0 && !scalar_,
                           .row = IsRow(shape, call.results[0]),
                           .pred = shape.dtype == DType::kPred,
                           .bf16 = shape.dtype == DType::kBF16});
    }
    AddSteps(call);
    FormChains();
    PlaceOperands();
    PlaceSteps();
    register_ =
        std::min<int64_t>(kTileElements, kRegisterFloats / std::max(1, registers_) / 16 * 16);
    tiles_ = Tiles(register_, RowColumns(call));
  }

  absl::Status Run(const KernelArgs& args) const override {
    alignas(64) float registers[kRegisterFloats];
    Tile tile{.registers = registers};
    SpreadOperands(args, tile);
    for (size_t i = 0; i < results_.size(); ++i)
      tile.direct[i] = IsDirect(args, static_cast<int>(i));
    for (tile.begin = args.begin; tile.begin < args.end; tile.begin += tile.n) {
      tile.n = tiles_.Count(tile.begin, args.end);
      LoadOperands(args, tile);
      for (int i = 0; i < step_count(); i = steps_[i].end) {
        if (steps_[i].in_chain) {
          RunSteps(args, i, tile);
        } else {
          RunStep(args, i, tile);
        }
      }
      for (size_t i = 0; i < results_.size(); ++i) {
        if (!tile.direct[i]) Store(args, tile, static_cast<int>(i));
      }
    }
    return absl::OkStatus();
  }

 private:
  struct OperandInfo {
    bool spread = false;  // a scalar that is broadcast to every element
    bool row = false;     // a row that is broadcast to every row
    bool pred = false;    // bytes, converted to f32
    bool bf16 = false;    // bf16, converted to f32 for steps outside of chains
    int place = -1;       // its register; -1: read from its own memory
  };
  struct Step {
    TileFunction tile = nullptr;
    ChainOp chain_op = ChainOp::kNone;
    bool rounds = false;
    int operand_count = 0;
    std::array<int, kMaxTileOperands> operands = {};
    int result = -1;  // the node's result; -1: none
    bool in_chain = false;
    bool swaps = false;  // in a chain: operand 1 is the value of the chain
    int end = 0;         // of the first step of a chain, or of a step outside: the next one's index
    bool is_read_later = false;  // by a step that does not take it from the chain
    int place = -1;              // its register; -1: its value stays in the chain
  };
  struct ResultInfo {
    int step = 0;
    bool pred = false, bf16 = false;
    std::vector<int> read_later;  // operands read from their own memory after the result is written
  };
  // The elements [begin, begin + n).
  struct Tile {
    float* registers = nullptr;
    int64_t begin = 0, n = 0;
    std::array<float*, kMaxValues> values;   // [operand, then step], f32
    std::array<bool, kMaxTileSteps> direct;  // [result]: written to its own memory by its step
    std::array<elementwise::ChainStep, kMaxTileSteps> chain;
  };

  int operand_count() const { return static_cast<int>(operands_.size()); }
  int step_count() const { return static_cast<int>(steps_.size()); }

  void AddSteps(const OpCall& call) {
    for (const TileProgram::Step& step : call.attrs.Program("program").steps) {
      const int index = step_count();
      Step& made = steps_.emplace_back(Step{.tile = step.op->tile,
                                            .chain_op = step.op->chain_op,
                                            .rounds = step.rounds,
                                            .end = index + 1});
      for (const TileProgram::Input input : step.inputs) {
        made.operands[made.operand_count++] =
            input.is_step ? operand_count() + input.index : input.index;
      }
    }
    const std::vector<int64_t> results = call.attrs.Ints("results");
    for (size_t i = 0; i < results.size(); ++i) {
      steps_[results[i]].result = static_cast<int>(i);
      results_.push_back({.step = static_cast<int>(results[i]),
                          .pred = call.results[i].dtype == DType::kPred,
                          .bf16 = call.results[i].dtype == DType::kBF16});
    }
  }

  // A chain goes on with a step that reads the value before it once.
  void FormChains() {
    int first = 0;  // of the chain
    for (int i = 0; i < step_count(); ++i) {
      Step& step = steps_[i];
      step.in_chain = run_chain_ != nullptr && step.chain_op != ChainOp::kNone;
      const int before = operand_count() + i - 1;
      const int *const operands = step.operands.data(), *const end = operands + step.operand_count;
      const bool goes_on = i > 0 && step.in_chain && steps_[i - 1].in_chain &&
                           std::count(operands, end, before) == 1;
      if (goes_on) {
        steps_[first].end = i + 1;
        step.swaps = step.operands[0] != before;
      } else {
        first = i;
      }
      for (int k = 0; k < step.operand_count; ++k) {
        const int value = step.operands[k] - operand_count();
        if (value >= 0 && !(goes_on && value == i - 1)) steps_[value].is_read_later = true;
      }
    }
  }

  void PlaceOperands() {
    for (int i = 0; i < operand_count(); ++i) {
      OperandInfo& operand = operands_[i];
      const bool is_read_in_f32 = std::any_of(steps_.begin(), steps_.end(), [&](const Step& step) {
        return !step.in_chain &&
               std::count(step.operands.data(), step.operands.data() + step.operand_count, i) > 0;
      });
      if (operand.spread || operand.row || operand.pred || (operand.bf16 && is_read_in_f32))
        operand.place = registers_++;
    }
  }

  // A register is free after the last step that reads it. Registers of results are never freed.
  void PlaceSteps() {
    std::vector<int> last_read(operands_.size() + steps_.size(), -1);
    for (int i = 0; i < step_count(); ++i) {
      for (int k = 0; k < steps_[i].operand_count; ++k) last_read[steps_[i].operands[k]] = i;
    }
    std::vector<int> free;
    for (int i = 0; i < step_count(); ++i) {
      for (int earlier = 0; earlier < i; ++earlier) {
        const Step& step = steps_[earlier];
        const bool is_free = step.result < 0 && last_read[operand_count() + earlier] == i;
        if (is_free && step.place >= 0) free.push_back(step.place);
      }
      Step& step = steps_[i];
      if (step.in_chain && !step.is_read_later && step.result < 0) continue;
      if (free.empty()) {
        step.place = registers_++;
      } else {
        step.place = free.back();
        free.pop_back();
      }
    }
    for (ResultInfo& result : results_) {
      for (int i = 0; i < operand_count(); ++i) {
        if (operands_[i].spread || operands_[i].row || last_read[i] <= result.step) continue;
        result.read_later.push_back(i);
      }
    }
  }

  bool IsDirect(const KernelArgs& args, int index) const {
    const ResultInfo& result = results_[index];
    const void* to = args.results[index];
    if (to == nullptr || result.pred || (result.bf16 && !steps_[result.step].in_chain))
      return false;
    return std::none_of(result.read_later.begin(), result.read_later.end(),
                        [&](int operand) { return args.operands[operand] == to; });
  }

  float* Register(const Tile& tile, int place) const { return tile.registers + place * register_; }

  // Scalars, and rows unless a tile is within a row: they are the same in every tile.
  void SpreadOperands(const KernelArgs& args, Tile& tile) const {
    const int64_t most = std::min(tiles_.most(), args.end - args.begin);
    for (int i = 0; i < operand_count(); ++i) {
      const OperandInfo& operand = operands_[i];
      if (operand.place >= 0) tile.values[i] = Register(tile, operand.place);
      if (operand.row && !tiles_.within_rows()) {
        SpreadRow(args.operands[i], sizeof(float), tiles_.columns(), args.begin, most,
                  tile.values[i]);
      }
      if (!operand.spread) continue;
      const float scalar = operand.pred ? *static_cast<const uint8_t*>(args.operands[i])
                                        : *static_cast<const float*>(args.operands[i]);
      std::fill_n(tile.values[i], most, scalar);
    }
  }

  void LoadOperands(const KernelArgs& args, Tile& tile) const {
    for (int i = 0; i < operand_count(); ++i) {
      const OperandInfo& operand = operands_[i];
      if (operand.spread || (operand.row && !tiles_.within_rows())) continue;
      const int64_t at = operand.row ? tile.begin % tiles_.columns() : tile.begin;
      if (operand.pred) {
        const uint8_t* from = static_cast<const uint8_t*>(args.operands[i]) + at;
        std::copy(from, from + tile.n, tile.values[i]);
      } else if (operand.bf16) {
        if (operand.place < 0) continue;
        FromBFloat16(static_cast<const uint16_t*>(args.operands[i]) + at, tile.n, tile.values[i]);
      } else {
        // No step writes by this pointer.
        tile.values[i] = const_cast<float*>(static_cast<const float*>(args.operands[i])) + at;
      }
    }
  }

  void RunStep(const KernelArgs& args, int index, Tile& tile) const {
    const Step& step = steps_[index];
    const bool there = step.result >= 0 && tile.direct[step.result];
    float* const to = there ? static_cast<float*>(args.results[step.result]) + tile.begin
                            : Register(tile, step.place);
    tile.values[operand_count() + index] = to;
    std::array<const void*, kMaxTileOperands> in;
    for (int k = 0; k < step.operand_count; ++k) in[k] = tile.values[step.operands[k]];
    step.tile(in.data(), to, tile.n);
    if (step.rounds) RoundInFloat(to, tile.n, to);
  }

  // The chain whose first step is `first`.
  void RunSteps(const KernelArgs& args, int first, Tile& tile) const {
    const auto array_of = [&](int value) -> elementwise::Array {
      if (value >= operand_count()) return {tile.values[value]};
      const OperandInfo& operand = operands_[value];
      if (!operand.bf16)
        return {tile.values[value], false, !operand.spread && !operand.row && !operand.pred};
      return {static_cast<const uint16_t*>(args.operands[value]) + tile.begin, true, true};
    };
    const Step& first_step = steps_[first];
    for (int i = first; i < first_step.end; ++i) {
      const Step& step = steps_[i];
      elementwise::ChainStep& made = tile.chain[i - first];
      made = {.op = step.chain_op, .swaps = step.swaps, .rounds = step.rounds};
      if (step.operand_count > 1) made.y = array_of(step.operands[step.swaps ? 0 : 1]);
      const bool direct = step.result >= 0 && tile.direct[step.result];
      made.streams = direct;
      if (direct && results_[step.result].bf16) {
        made.to_bf16 = static_cast<uint16_t*>(args.results[step.result]) + tile.begin;
        if (step.is_read_later) made.to = Register(tile, step.place);
      } else if (direct) {
        made.to = static_cast<float*>(args.results[step.result]) + tile.begin;
      } else if (step.place >= 0) {
        made.to = Register(tile, step.place);
      }
      tile.values[operand_count() + i] = made.to;
    }
    run_chain_({.first = array_of(first_step.operands[0]),
                .steps = tile.chain.data(),
                .count = first_step.end - first},
               tile.n);
  }

  void Store(const KernelArgs& args, const Tile& tile, int index) const {
    if (args.results[index] == nullptr) return;
    const float* from = tile.values[operand_count() + results_[index].step];
    if (results_[index].pred) {
      uint8_t* to = static_cast<uint8_t*>(args.results[index]) + tile.begin;
      std::transform(from, from + tile.n, to, [](float value) { return value != 0; });
    } else if (results_[index].bf16) {
      RoundToBFloat16(from, tile.n, static_cast<uint16_t*>(args.results[index]) + tile.begin);
    } else {
      std::copy(from, from + tile.n, static_cast<float*>(args.results[index]) + tile.begin);
    }
  }

  const elementwise::RunChain run_chain_;
  const bool scalar_;  // one element in all: no broadcast
  int registers_ = 0;
  int64_t register_ = 0;  // size of a register in elements
  Tiles tiles_ = {0, 0};
  std::vector<OperandInfo> operands_;
  std::vector<Step> steps_;
  std::vector<ResultInfo> results_;
};

}  // namespace

elementwise::RunChain RunChainOf(KernelLevel level) {
  switch (level) {
    case KernelLevel::kAmxBFloat16:  // has no chains
    case KernelLevel::kAvx512BFloat16:
      return elementwise::RunChainAvx512BFloat16;
    case KernelLevel::kAvx512:
      return elementwise::RunChainAvx512;
    case KernelLevel::kAvx2:
      return elementwise::RunChainAvx2;
    case KernelLevel::kPlain:
      break;
  }
  return elementwise::RunChainPlain;
}

std::unique_ptr<Kernel> FusedKernel(const OpCall& call, elementwise::RunChain run_chain) {
  return std::make_unique<TileSteps>(call, run_chain);
}

}  // namespace tpurun
