#include "runtime/ops/fused_kernel.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <vector>

#include "runtime/base/bfloat16.h"
#include "runtime/ir/elementwise.h"

namespace tpurun {
namespace {

using elementwise::ChainStep;

// 32 KB; the rest of the cache is for operands and results
constexpr int64_t kRegisterFloats = 8192;
constexpr int kMaxValues = kMaxTileSteps * (kMaxTileOperands + 1);
// A load, the operation, a rounding, two stores and an end.
constexpr int kMaxCalls = kMaxTileSteps * 6;

// Values are in registers of one tile each. All registers together stay in the first-level cache. A
// result of the node is written directly to its memory unless an operand that is read later may
// have the same memory. The steps of chains are found once, here; a tile gives them addresses.
class TileSteps final : public Kernel {
 public:
  TileSteps(const OpCall& call, const elementwise::Chains* chains)
      : chains_(chains), scalar_(call.results[0].rank() == 0) {
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
    AddCalls();
    register_ =
        std::min<int64_t>(kTileElements, kRegisterFloats / std::max(1, registers_) / 16 * 16);
    tiles_ = Tiles(register_, RowColumns(call));
  }

  absl::Status Run(const KernelArgs& args) const override {
    alignas(64) float registers[kRegisterFloats];
    Tile tile;
    tile.registers = registers;
    SpreadOperands(args, tile);
    for (size_t i = 0; i < results_.size(); ++i)
      tile.direct[i] = IsDirect(args, static_cast<int>(i));
    std::copy(calls_.begin(), calls_.end(), tile.calls.begin());
    for (tile.begin = args.begin; tile.begin < args.end; tile.begin += tile.n) {
      tile.n = tiles_.Count(tile.begin, args.end);
      LoadOperands(args, tile);
      for (int i = 0; i < step_count(); ++i)
        tile.values[operand_count() + i] = ValueOf(args, steps_[i], tile);
      for (size_t i = 0; i < calls_.size(); ++i)
        tile.calls[i].data = AddressOf(args, arrays_[i], tile);
      for (int i = 0; i < step_count(); i = steps_[i].end) {
        if (steps_[i].in_chain) {
          chains_->run(&tile.calls[steps_[i].first_call], tile.n);
        } else {
          RunStep(steps_[i], tile.values[operand_count() + i], tile);
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
    int place = -1;       // its register; -1: read from its own memory only
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
    int first_call = 0;  // of the first step of a chain: its place in `calls_`
    int end = 0;         // of the first step of a chain, or of a step outside: the next one's index
    bool is_read_later = false;  // by a step that does not take it from the chain
    int place = -1;              // its register; -1: its value stays in the chain
  };
  struct ResultInfo {
    int step = 0;
    bool pred = false, bf16 = false;
    std::vector<int> read_later;  // operands read from their own memory after the result is written
    int place = -1;  // of a result of a chain in bf16: the register for it if it is not direct
  };
  // The array of a call.
  struct ArrayInfo {
    enum Kind : uint8_t { kNone, kOperand, kValue, kResult } kind = kNone;
    int index = 0;
  };
  // The elements [begin, begin + n).
  struct Tile {
    float* registers = nullptr;
    int64_t begin = 0, n = 0;
    std::array<float*, kMaxValues> values;   // [operand, then step], f32
    std::array<bool, kMaxTileSteps> direct;  // [result]: written to its own memory by its step
    std::array<elementwise::ChainCall, kMaxCalls> calls;
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
      step.in_chain = chains_ != nullptr && step.chain_op != ChainOp::kNone;
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
      if (operand.row || operand.pred || ((operand.spread || operand.bf16) && is_read_in_f32))
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
      const bool is_bf16 = step.result >= 0 && results_[step.result].bf16;
      if (step.in_chain && !step.is_read_later && (step.result < 0 || is_bf16)) continue;
      if (free.empty()) {
        step.place = registers_++;
      } else {
        step.place = free.back();
        free.pop_back();
      }
    }
    for (ResultInfo& result : results_) {
      for (int i = 0; i < operand_count(); ++i) {
        if (operands_[i].row || last_read[i] <= result.step) continue;
        result.read_later.push_back(i);
      }
      if (result.bf16 && steps_[result.step].in_chain) result.place = registers_++;
    }
  }

  void AddCalls() {
    std::vector<bool> met(operands_.size());
    for (int first = 0; first < step_count(); first = steps_[first].end) {
      if (!steps_[first].in_chain) continue;
      steps_[first].first_call = static_cast<int>(calls_.size());
      AddReading({.kind = ChainStep::kLoad}, steps_[first].operands[0], met);
      bool is_rounded = false;
      for (int i = first; i < steps_[first].end; ++i) AddCallsOf(i, met, is_rounded);
      AddCall({.kind = ChainStep::kEnd}, {});
    }
  }

  // `met`: the operands that were prefetched; `is_rounded`: the value of the chain is bf16.
  void AddCallsOf(int index, std::vector<bool>& met, bool& is_rounded) {
    const Step& step = steps_[index];
    const ChainStep compute{.kind = ChainStep::kCompute, .op = step.chain_op, .swaps = step.swaps};
    if (step.operand_count > 1) {
      AddReading(compute, step.operands[step.swaps ? 0 : 1], met);
    } else {
      AddCall(compute, {});
    }
    const bool keeps = step.chain_op == ChainOp::kRelu || step.chain_op == ChainOp::kNegate ||
                       (step.chain_op == ChainOp::kWherePositive && !step.swaps);
    if (step.rounds && !(keeps && is_rounded)) AddCall({.kind = ChainStep::kRound}, {});
    is_rounded = step.rounds || (keeps && is_rounded);
    const bool is_bf16 = step.result >= 0 && results_[step.result].bf16;
    if (step.place >= 0) {
      AddCall({.kind = ChainStep::kStore, .prefetches = step.result >= 0 && !is_bf16},
              {ArrayInfo::kValue, operand_count() + index});
    }
    if (is_bf16) {
      AddCall({.kind = ChainStep::kStore,
               .numbers = ChainStep::kBF16,
               .prefetches = true,
               .is_rounded = is_rounded},
              {ArrayInfo::kResult, step.result});
    }
  }

  void AddReading(ChainStep step, int value, std::vector<bool>& met) {
    if (value >= operand_count()) return AddCall(step, {ArrayInfo::kValue, value});
    const OperandInfo& operand = operands_[value];
    const bool in_register = operand.row || operand.pred;
    step.prefetches = !in_register && !operand.spread && !met[value];
    met[value] = true;
    if (in_register || (!operand.spread && !operand.bf16))
      return AddCall(step, {ArrayInfo::kValue, value});
    step.numbers = operand.spread ? ChainStep::kScalar : ChainStep::kBF16;
    AddCall(step, {ArrayInfo::kOperand, value});
  }

  void AddCall(const ChainStep& step, ArrayInfo array) {
    calls_.push_back(chains_->call(step));
    arrays_.push_back(array);
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

  // Where the value of a step is in f32, if anywhere.
  float* ValueOf(const KernelArgs& args, const Step& step, const Tile& tile) const {
    if (step.result >= 0 && tile.direct[step.result] && !results_[step.result].bf16)
      return static_cast<float*>(args.results[step.result]) + tile.begin;
    return step.place >= 0 ? Register(tile, step.place) : nullptr;
  }

  const void* AddressOf(const KernelArgs& args, const ArrayInfo& array, const Tile& tile) const {
    switch (array.kind) {
      case ArrayInfo::kNone:
        break;
      case ArrayInfo::kValue:
        return tile.values[array.index];
      case ArrayInfo::kOperand:
        if (operands_[array.index].spread) return args.operands[array.index];
        return static_cast<const uint16_t*>(args.operands[array.index]) + tile.begin;
      case ArrayInfo::kResult:
        if (!tile.direct[array.index]) return Register(tile, results_[array.index].place);
        return static_cast<uint16_t*>(args.results[array.index]) + tile.begin;
    }
    return nullptr;
  }

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
      if (!operand.spread || operand.place < 0) continue;
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

  void RunStep(const Step& step, float* to, const Tile& tile) const {
    std::array<const void*, kMaxTileOperands> in;
    for (int k = 0; k < step.operand_count; ++k) in[k] = tile.values[step.operands[k]];
    step.tile(in.data(), to, tile.n);
    if (step.rounds) RoundInFloat(to, tile.n, to);
  }

  void Store(const KernelArgs& args, const Tile& tile, int index) const {
    if (args.results[index] == nullptr) return;
    const ResultInfo& result = results_[index];
    const float* from = tile.values[operand_count() + result.step];
    if (result.pred) {
      uint8_t* to = static_cast<uint8_t*>(args.results[index]) + tile.begin;
      std::transform(from, from + tile.n, to, [](float value) { return value != 0; });
    } else if (result.bf16) {
      uint16_t* const to = static_cast<uint16_t*>(args.results[index]) + tile.begin;
      if (result.place >= 0) {
        std::memcpy(to, Register(tile, result.place), tile.n * sizeof(*to));
      } else {
        RoundToBFloat16(from, tile.n, to);
      }
    } else {
      std::copy(from, from + tile.n, static_cast<float*>(args.results[index]) + tile.begin);
    }
  }

  const elementwise::Chains* const chains_;
  const bool scalar_;  // one element in all: no broadcast
  int registers_ = 0;
  int64_t register_ = 0;  // size of a register in elements
  Tiles tiles_ = {0, 0};
  std::vector<OperandInfo> operands_;
  std::vector<Step> steps_;
  std::vector<ResultInfo> results_;
  // [call of a chain]
  std::vector<elementwise::ChainCall> calls_;
  std::vector<ArrayInfo> arrays_;
};

}  // namespace

const elementwise::Chains& ChainsOf(KernelLevel level) {
  switch (level) {
    case KernelLevel::kAmxBFloat16:  // has no chains
    case KernelLevel::kAvx512BFloat16:
      return elementwise::kAvx512BFloat16Chains;
    case KernelLevel::kAvx512:
      return elementwise::kAvx512Chains;
    case KernelLevel::kAvx2:
      return elementwise::kAvx2Chains;
    case KernelLevel::kPlain:
      break;
  }
  return elementwise::kPlainChains;
}

std::unique_ptr<Kernel> FusedKernel(const OpCall& call, const elementwise::Chains* chains) {
  return std::make_unique<TileSteps>(call, chains);
}

}  // namespace tpurun
