// Chains of runtime/kernels/elementwise on every instruction set that this processor has, beside
// one plain operation after the other on each element, bit for bit.
#include "runtime/kernels/elementwise/chain.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/base/bfloat16.h"
#include "runtime/base/instruction_sets.h"

namespace tpurun::elementwise {
namespace {

struct Level {
  std::string name;
  const Chains* chains;
};

std::vector<Level> Levels() {
  const InstructionSets sets = InstructionSets::OfThisProcessor();
  std::vector<Level> levels = {{"plain", &kPlainChains}};
  if (sets.avx2) levels.push_back({"avx2", &kAvx2Chains});
  if (sets.avx512) levels.push_back({"avx512", &kAvx512Chains});
  if (sets.avx512_bf16) levels.push_back({"avx512_bf16", &kAvx512BFloat16Chains});
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

// Random numbers with zeros, infinities, NaNs, subnormals, ties of the rounding to bf16, and the
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
                           std::bit_cast<float>(0x007fffffu),  // the largest subnormal
                           -Limits::min(),
                           std::bit_cast<float>(0xffffffffu),  // NaNs
                           std::bit_cast<float>(0x7f800001u),
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

// A chain of a level; an array is f32, bf16 or one f32.
class Chain {
 public:
  explicit Chain(const Level& level) : chains_(*level.chains) {}

  template <typename Number>
  void Add(ChainStep step, const Number* array) {
    step.numbers = std::is_same_v<Number, uint16_t> ? ChainStep::kBF16 : ChainStep::kF32;
    AddCall(step, array);
  }
  void AddScalar(ChainStep step, const float* scalar) {
    step.numbers = ChainStep::kScalar;
    AddCall(step, scalar);
  }
  void Add(ChainStep step) { AddCall(step, nullptr); }
  void Run(int64_t n) {
    Add({.kind = ChainStep::kEnd});
    chains_.run(calls_.data(), n);
  }

 private:
  void AddCall(const ChainStep& step, const void* array) {
    calls_.push_back(chains_.call(step));
    calls_.back().data = array;
  }

  const Chains& chains_;
  std::vector<ChainCall> calls_;
};

// A chain of random steps: of arrays in f32 and in bf16 and of scalars, with values stored on the
// way.
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
  Chain chain(level);
  const auto flip = [&](unsigned of) { return random() % of == 0; };
  // x and y of each element, as the loops below compute them.
  std::vector<float> x = first;
  if (flip(2)) {
    chain.Add({.kind = ChainStep::kLoad, .prefetches = flip(2)}, first_bf16.data());
    for (int64_t k = 0; k < n; ++k) x[k] = FromBFloat16Bits(first_bf16[k]);
  } else {
    chain.Add({.kind = ChainStep::kLoad, .prefetches = flip(2)}, first.data());
  }
  std::vector<std::vector<float>> expected;
  for (int i = 0; i < kSteps; ++i) {
    ChainStep step{.kind = ChainStep::kCompute,
                   .op = static_cast<ChainOp>(1 + random() % kOps),
                   .prefetches = flip(2)};
    std::vector<float> other(n);
    if (IsUnary(step.op)) {
      chain.Add(step);
    } else {
      step.swaps = flip(2);
      const int kind = static_cast<int>(random() % (i > 0 ? 4 : 3));
      if (kind == 0) {
        chain.Add(step, y[i].data());
        std::copy_n(y[i].begin(), n, other.begin());
      } else if (kind == 1) {
        chain.Add(step, y_bf16[i].data());
        for (int64_t k = 0; k < n; ++k) other[k] = FromBFloat16Bits(y_bf16[i][k]);
      } else if (kind == 2) {
        chain.AddScalar(step, &y[i].back());
        std::fill(other.begin(), other.end(), y[i].back());
      } else {  // the value of an earlier step
        const size_t earlier = random() % i;
        chain.Add(step, to[earlier].data());
        other = expected[earlier];
      }
    }
    const bool rounds = flip(3);
    if (rounds) chain.Add({.kind = ChainStep::kRound});
    for (int64_t k = 0; k < n; ++k) {
      x[k] = step.swaps ? Expected(step.op, other[k], x[k]) : Expected(step.op, x[k], other[k]);
      if (rounds) x[k] = RoundToBFloat16(x[k]);
    }
    chain.Add({.kind = ChainStep::kStore, .prefetches = flip(2)}, to[i].data());
    chain.Add({.kind = ChainStep::kStore, .prefetches = flip(2), .is_rounded = rounds && flip(2)},
              to_bf16[i].data());
    expected.push_back(x);
  }
  chain.Run(n);
  for (int i = 0; i < kSteps; ++i) {
    for (int64_t k = 0; k < n; ++k) {
      ASSERT_EQ(BitsOf(to[i][k]), BitsOf(expected[i][k])) << "element " << k << ", step " << i;
      ASSERT_EQ(BitsOf(to_bf16[i][k]), BitsOf(BFloat16Bits(expected[i][k])))
          << "element " << k << ", step " << i;
    }
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
    Chain chain(level);
    chain.Add({.kind = ChainStep::kLoad}, x.data());
    chain.Add({.kind = ChainStep::kCompute, .op = ChainOp::kAdd}, y.data());
    chain.Add({.kind = ChainStep::kStore}, y.data());
    chain.Add({.kind = ChainStep::kCompute, .op = ChainOp::kSquare});
    chain.Add({.kind = ChainStep::kStore}, x.data());
    chain.Run(kNumbers);
    for (int i = 0; i < kNumbers; ++i) {
      ASSERT_EQ(BitsOf(y[i]), BitsOf(sums[i])) << level.name << i;
      ASSERT_EQ(BitsOf(x[i]), BitsOf(squares[i])) << level.name << i;
    }
  }
}

}  // namespace
}  // namespace tpurun::elementwise
