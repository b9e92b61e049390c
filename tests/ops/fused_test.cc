// fused: random programs on every instruction set that this processor has, beside the steps one
// after the other, bit for bit; and with results in the memory of operands.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "runtime/base/bfloat16.h"
#include "runtime/ir/tile_program.h"
#include "runtime/ops/op_list.h"
#include "tests/ops/kernel_case.h"

namespace tpurun {
namespace {

// A call with values of `shape` in f32 and bf16, a scalar, a row and a pred.
OpCall RandomCall(const Shape& shape, std::mt19937& random) {
  const auto below = [&](size_t n) { return static_cast<int>(random() % n); };
  OpCall call{.op = FindOpByName("fused")};
  const int64_t columns = shape.dims.back();
  call.operands = {{DType::kF32, shape.dims},  {DType::kF32, shape.dims},
                   {DType::kBF16, shape.dims}, {DType::kF32, {}},
                   {DType::kPred, shape.dims}, {DType::kBF16, shape.dims}};
  if (shape.rank() > 1) call.operands.push_back({DType::kF32, {columns}});
  constexpr int kSteps = 9;
  // The last ones are in no chain.
  const std::vector<std::string> unary = {"neg", "square", "sqrt", "relu", "tanh"},
                                 binary = {"add", "sub", "mul", "div", "relu_grad", "maximum"};
  TileProgram program;
  std::vector<int64_t> results;
  for (int i = 0; i < kSteps; ++i) {
    TileProgram::Step step{.rounds = below(4) == 0};
    // Mostly the step before, so that there are chains.
    const auto input = [&](bool first) -> TileProgram::Input {
      if (i > 0 && first && below(4) > 0) return {true, i - 1};
      if (i > 0 && below(3) == 0) return {true, below(i)};
      return {false, below(call.operands.size())};
    };
    const bool is_unary = below(3) == 0;
    step.op = FindOpByName(is_unary ? unary[below(unary.size())] : binary[below(binary.size())]);
    step.inputs = {input(true)};
    if (!is_unary) step.inputs.push_back(input(false));
    if (below(2) == 0) std::reverse(step.inputs.begin(), step.inputs.end());
    program.steps.push_back(step);
    if (below(3) != 0 && i + 1 < kSteps) continue;
    results.push_back(i);
    call.results.push_back({below(2) == 0 ? DType::kF32 : DType::kBF16, shape.dims});
    call.needed.push_back(true);
  }
  call.attrs = {{"program", program}, {"results", results}};
  return call;
}

std::vector<Literal> OperandsOf(const OpCall& call, std::mt19937& random) {
  std::vector<Literal> operands;
  for (const Shape& shape : call.operands) {
    Literal values = RandomLiteral({DType::kF32, shape.dims}, static_cast<uint32_t>(random()));
    Literal operand(shape);
    const int64_t n = shape.num_elements();
    if (shape.dtype == DType::kBF16) {
      RoundToBFloat16(values.values<float>().data(), n, operand.values<uint16_t>().data());
    } else if (shape.dtype == DType::kPred) {
      for (int64_t k = 0; k < n; ++k)
        operand.values<uint8_t>()[k] = values.values<float>().data()[k] > 0;
    } else {
      operand = values;
    }
    operands.push_back(operand);
  }
  return operands;
}

// In f32, with one kind of NaN: IEEE 754 leaves open which operand's NaN a result is.
std::vector<float> Numbers(const Literal& literal) {
  const int64_t n = literal.shape().num_elements();
  std::vector<float> numbers(n);
  if (literal.shape().dtype == DType::kBF16) {
    FromBFloat16(literal.values<uint16_t>().data(), n, numbers.data());
  } else {
    std::copy_n(literal.values<float>().data(), n, numbers.begin());
  }
  for (float& number : numbers)
    if (std::isnan(number)) number = 1e30f;
  return numbers;
}

// Runs the kernel with result r in the memory of operand `place_of[r]`; -1: in its own.
std::vector<Literal> RunInPlace(const OpCall& call, const Kernel& kernel,
                                std::vector<Literal> operands, const std::vector<int>& place_of) {
  std::vector<Literal> results;
  for (const Shape& shape : call.results) results.emplace_back(shape);
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const Literal& operand : operands) in.push_back(operand.data());
  for (size_t r = 0; r < results.size(); ++r)
    out.push_back(place_of[r] < 0 ? results[r].data() : operands[place_of[r]].data());
  EXPECT_TRUE(kernel
                  .Run({.operands = in.data(),
                        .results = out.data(),
                        .begin = 0,
                        .end = call.results[0].num_elements()})
                  .ok());
  for (size_t r = 0; r < results.size(); ++r)
    std::memcpy(results[r].data(), out[r], call.results[r].bytes());
  return results;
}

TEST(Fused, HasTheBitsOfItsStepsAlsoInTheMemoryOfOperands) {
  int in_place = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    std::mt19937 random(seed);
    const std::vector<std::vector<int64_t>> shapes = {{1}, {5}, {3, 7}, {70, 40}, {2, 2100}};
    const OpCall call = RandomCall({DType::kF32, shapes[seed % shapes.size()]}, random);
    const std::vector<Literal> operands = OperandsOf(call, random);
    // Each operand is given to at most one result, of so many bytes.
    std::vector<int> place_of(call.results.size(), -1);
    for (size_t i = 0; i < call.operands.size(); ++i) {
      const size_t r = random() % place_of.size();
      if (place_of[r] >= 0 || call.operands[i].bytes() != call.results[r].bytes() ||
          (call.operands[i].rank() == 1 && call.results[r].rank() > 1)) {
        continue;
      }
      place_of[r] = static_cast<int>(i);
      ++in_place;
    }
    const std::vector<int> own(call.results.size(), -1);
    const std::vector<Literal> want = RunInPlace(call, *call.op->reference(call), operands, own);
    for (const OfferedKernel& offered : KernelsOf(call)) {
      const std::unique_ptr<Kernel> kernel = MakeKernel(call, offered.plan);
      for (const std::vector<int>& places : {own, place_of}) {
        const std::vector<Literal> got = RunInPlace(call, *kernel, operands, places);
        for (size_t r = 0; r < want.size(); ++r) {
          ASSERT_EQ(Numbers(got[r]), Numbers(want[r]))
              << offered.plan.name() << ", seed " << seed << ", result " << r
              << " in the memory of " << places[r] << ": " << call.attrs.ToString();
        }
      }
    }
  }
  EXPECT_GT(in_place, 400);
}

}  // namespace
}  // namespace tpurun
