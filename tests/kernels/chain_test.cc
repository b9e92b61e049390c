// Chains of runtime/kernels/elementwise on every instruction set that this processor has, beside
// one plain operation after the other on each element, bit for bit.
#include "runtime/kernels/elementwise/chain.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/base/bfloat16.h"
#include "runtime/base/instruction_sets.h"

namespace tpurun::elementwise {
namespace {

struct Level {
  std::string name;
  RunChain run;
};

std::vector<Level> Levels() {
  const InstructionSets sets = InstructionSets::OfThisProcessor();
  std::vector<Level> levels = {{"plain", RunChainPlain}};
  if (sets.avx2) levels.push_back({"avx2", RunChainAvx2});
  if (sets.avx512) levels.push_back({"avx512", RunChainAvx512});
  if (sets.avx512_bf16) levels.push_back({"avx512_bf16", RunChainAvx512BFloat16});
  return levels;
}

float Expected(ChainOp op, float x, float y) {
  switch (op) {
    case ChainOp::kNone:
      return x;
    case ChainOp::kAdd:
      return x + y;
    case ChainOp::kSubtract:
      return x - y;
    case ChainOp::kMultiply:
      return x * y;
    case ChainOp::kDivide:
      return x / y;
    case ChainOp::kWherePositive:
      return y > 0 ? x : 0.0f;
    case ChainOp::kNegate:
      return -x;
    case ChainOp::kSquare:
      return x * x;
    case ChainOp::kSquareRoot:
      return std::sqrt(x);
    case ChainOp::kRelu:
      return x > 0 || x != x ? x : 0.0f;
  }
  return 0;
}

bool IsUnary(ChainOp op) {
  return op == ChainOp::kNegate || op == ChainOp::kSquare || op == ChainOp::kSquareRoot ||
         op == ChainOp::kRelu;
}

// Random numbers with zeros, infinities, a NaN, a subnormal, ties of the rounding to bf16, and the
// largest number, which rounds to infinity.
std::vector<float> Numbers(int64_t n, unsigned seed) {
  using Limits = std::numeric_limits<float>;
  const float special[] = {0.0f,
                           -0.0f,
                           Limits::infinity(),
                           -Limits::infinity(),
                           Limits::quiet_NaN(),
                           std::bit_cast<float>(0x3f808000u),
                           std::bit_cast<float>(0x3f818000u),
                           Limits::max(),
                           -1000 * Limits::denorm_min(),
                           1.0f};
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> number(-2, 2);
  std::vector<float> numbers(n);
  for (float& value : numbers)
    value = random() % 4 == 0 ? special[random() % std::size(special)] : number(random);
  return numbers;
}

std::vector<uint16_t> InBF16(const std::vector<float>& numbers) {
  std::vector<uint16_t> bits;
  for (const float number : numbers) bits.push_back(BFloat16Bits(number));
  return bits;
}

// The bits, with one kind of NaN: IEEE 754 leaves open which operand's NaN a result is.
uint32_t BitsOf(float x) { return x != x ? 0x7fc00000u : std::bit_cast<uint32_t>(x); }
uint16_t BitsOf(uint16_t x) { return (x & 0x7fffu) > 0x7f80u ? 0x7fc0u : x; }

// A chain of random steps: of arrays in f32 and in bf16, with values stored on the way.
void ExpectChain(const Level& level, int64_t n, unsigned seed) {
  SCOPED_TRACE(level.name + ", " + std::to_string(n) + " elements, seed " + std::to_string(seed));
  std::mt19937 random(seed);
  constexpr int kSteps = 6, kOps = static_cast<int>(kLastChainOp);
  const std::vector<float> first = Numbers(n, seed);
  const std::vector<uint16_t> first_bf16 = InBF16(first);
  std::vector<std::vector<float>> y, to(kSteps, std::vector<float>(n + 1, 7));
  std::vector<std::vector<uint16_t>> y_bf16, to_bf16(kSteps, std::vector<uint16_t>(n + 1, 7));
  for (int i = 0; i < kSteps; ++i) {
    y.push_back(Numbers(n, seed + 100 + i));
    y_bf16.push_back(InBF16(y.back()));
  }
  Chain chain;
  const bool from_bf16 = random() % 2 == 0;
  chain.first = {from_bf16 ? static_cast<const void*>(first_bf16.data()) : first.data(), from_bf16,
                 from_bf16};
  std::vector<ChainStep> steps(kSteps);
  std::vector<int> from_step(kSteps, -1);
  for (int i = 0; i < kSteps; ++i) {
    ChainStep& step = steps[i];
    step.op = static_cast<ChainOp>(1 + random() % kOps);
    step.rounds = random() % 3 == 0;
    step.to = to[i].data();
    step.to_bf16 = to_bf16[i].data();
    if (IsUnary(step.op)) continue;
    step.swaps = random() % 2 == 0;
    // The value of an earlier step, or an array of its own.
    if (i > 0 && random() % 3 == 0) {
      from_step[i] = static_cast<int>(random() % i);
      step.y = {to[from_step[i]].data()};
      continue;
    }
    const bool is_bf16 = random() % 2 == 0;
    step.y = {is_bf16 ? static_cast<const void*>(y_bf16[i].data()) : y[i].data(), is_bf16,
              i % 2 == 0};
    step.streams = i % 2 != 0;
  }
  chain.steps = steps.data();
  chain.count = kSteps;
  level.run(chain, n);
  for (int64_t k = 0; k < n; ++k) {
    float value = from_bf16 ? FromBFloat16Bits(first_bf16[k]) : first[k];
    for (int i = 0; i < kSteps; ++i) {
      const ChainStep& step = steps[i];
      const float other = from_step[i] >= 0 ? to[from_step[i]][k]
                          : step.y.is_bf16  ? FromBFloat16Bits(y_bf16[i][k])
                                            : y[i][k];
      value = step.swaps ? Expected(step.op, other, value) : Expected(step.op, value, other);
      if (step.rounds) value = RoundToBFloat16(value);
      ASSERT_EQ(BitsOf(to[i][k]), BitsOf(value)) << "element " << k << ", step " << i;
      ASSERT_EQ(BitsOf(to_bf16[i][k]), BitsOf(BFloat16Bits(value)))
          << "element " << k << ", step " << i;
    }
  }
  for (int i = 0; i < kSteps; ++i) {
    EXPECT_EQ(to[i][n], 7) << "written behind the end";
    EXPECT_EQ(to_bf16[i][n], 7) << "written behind the end";
  }
}

TEST(Chain, GivesTheBitsOfOneOperationAfterTheOther) {
  for (const Level& level : Levels()) {
    for (const int64_t n : {1, 7, 8, 16, 31, 64, 131, 187}) {
      for (unsigned seed = 0; seed < 60; ++seed) {
        ExpectChain(level, n, seed);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// The memory of the first array, or that of y, may be the result's.
TEST(Chain, MayWriteToTheArrayThatItReads) {
  constexpr int kNumbers = 300;
  for (const Level& level : Levels()) {
    std::vector<float> x = Numbers(kNumbers, 1), y = Numbers(kNumbers, 2), sums, squares;
    for (int i = 0; i < kNumbers; ++i) {
      sums.push_back(x[i] + y[i]);
      squares.push_back(sums[i] * sums[i]);
    }
    ChainStep steps[] = {{.op = ChainOp::kAdd, .y = {y.data()}, .to = y.data()},
                         {.op = ChainOp::kSquare, .to = x.data()}};
    level.run({.first = {x.data()}, .steps = steps, .count = 2}, kNumbers);
    for (int i = 0; i < kNumbers; ++i) {
      ASSERT_EQ(BitsOf(y[i]), BitsOf(sums[i])) << level.name << i;
      ASSERT_EQ(BitsOf(x[i]), BitsOf(squares[i])) << level.name << i;
    }
  }
}

}  // namespace
}  // namespace tpurun::elementwise
