#include "runtime/checkpoint/variable_store.h"

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace tpurun {
namespace {

Variable MakeVariable(const std::string& name, std::vector<int64_t> dims, Initializer initializer) {
  return {.name = name, .shape = {DType::kF32, std::move(dims)}, .initializer = initializer};
}

std::vector<float> Values(const VariableStore& store, const std::string& name, int copy = 0) {
  const StoredVariable& stored = *store.Find(name);
  const auto* const values = reinterpret_cast<const float*>(stored.copy(copy));
  return {values, values + stored.variable().shape.num_elements()};
}

VariableStore Initialized(const std::vector<Variable>& variables, uint64_t seed) {
  VariableStore store(8);
  EXPECT_TRUE(store.Add(variables).ok());
  EXPECT_TRUE(store.Initialize(seed).ok());
  return store;
}

struct Moments {
  double mean = 0, stddev = 0, low = INFINITY, high = -INFINITY;
};

Moments MomentsOf(const std::vector<float>& values) {
  Moments m;
  double squares = 0;
  for (const double value : values) {
    m.mean += value / values.size();
    squares += value * value / values.size();
    m.low = std::min(m.low, value);
    m.high = std::max(m.high, value);
  }
  m.stddev = std::sqrt(squares - m.mean * m.mean);
  return m;
}

constexpr int64_t kMany = 100000;  // the error of a mean is then 1 / 316 of the deviation

TEST(VariableStoreTest, UniformFillsItsIntervalEvenly) {
  const auto store =
      Initialized({MakeVariable("v", {kMany}, {Initializer::Kind::kUniform, -0.5, 1.5})}, 1);
  const Moments m = MomentsOf(Values(store, "v"));
  EXPECT_GE(m.low, -0.5);
  EXPECT_LT(m.high, 1.5);
  EXPECT_NEAR(m.mean, 0.5, 0.01);
  EXPECT_NEAR(m.stddev, 2 / std::sqrt(12.0), 0.01);
}

TEST(VariableStoreTest, NormalHasItsMeanAndDeviation) {
  const auto store =
      Initialized({MakeVariable("v", {kMany}, {Initializer::Kind::kNormal, 3, 0.5})}, 1);
  const Moments m = MomentsOf(Values(store, "v"));
  EXPECT_NEAR(m.mean, 3, 0.01);
  EXPECT_NEAR(m.stddev, 0.5, 0.01);
  EXPECT_GT(m.high, 3 + 3 * 0.5);
}

// The deviation of a normal distribution cut off at 2 is 0.8796 of the whole one's.
TEST(VariableStoreTest, TruncatedNormalStaysWithinTwoDeviations) {
  const auto store =
      Initialized({MakeVariable("v", {kMany}, {Initializer::Kind::kTruncatedNormal, 1, 2})}, 1);
  const Moments m = MomentsOf(Values(store, "v"));
  EXPECT_GE(m.low, 1 - 4);
  EXPECT_LE(m.high, 1 + 4);
  EXPECT_NEAR(m.mean, 1, 0.03);
  EXPECT_NEAR(m.stddev, 2 * 0.8796, 0.02);
}

// Columns, or rows where they are fewer, have length `gain` and are orthogonal; what is random is
// not tied to an axis: the elements' mean square is that of every element.
TEST(VariableStoreTest, OrthogonalIsSo) {
  struct Case {
    std::vector<int64_t> dims;
    int64_t rows, columns;
  };
  for (const Case& of : {Case{{40, 40}, 40, 40}, Case{{3, 5, 8}, 15, 8}, Case{{16, 64}, 16, 64},
                         Case{{1, 1}, 1, 1}}) {
    const int64_t rows = of.rows, columns = of.columns;
    const auto store =
        Initialized({MakeVariable("v", of.dims, {Initializer::Kind::kOrthogonal, 1.5})}, 1);
    const std::vector<float> v = Values(store, "v");
    const bool by_columns = columns <= rows;
    const int64_t count = std::min(rows, columns), size = std::max(rows, columns);
    const auto element = [&](int64_t vector, int64_t i) -> double {
      return by_columns ? v[i * columns + vector] : v[vector * columns + i];
    };
    for (int64_t a = 0; a < count; ++a) {
      for (int64_t b = 0; b < count; ++b) {
        double product = 0;
        for (int64_t i = 0; i < size; ++i) product += element(a, i) * element(b, i);
        EXPECT_NEAR(product, a == b ? 2.25 : 0, 1e-5) << of.dims.size() << " " << a << " " << b;
      }
    }
  }
  // Both signs on the diagonal, which a decomposition without the correction of signs may not have.
  int positive = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const auto store =
        Initialized({MakeVariable("v", {4, 4}, {Initializer::Kind::kOrthogonal, 1})}, seed);
    positive += Values(store, "v")[0] > 0 ? 1 : 0;
  }
  EXPECT_GT(positive, 30);
  EXPECT_LT(positive, 70);
  EXPECT_EQ(
      Values(Initialized({MakeVariable("v", {0, 4}, {Initializer::Kind::kOrthogonal, 1})}, 1), "v"),
      std::vector<float>());
}

TEST(VariableStoreTest, OnesStandAmongOthers) {
  const Initializer normal = {Initializer::Kind::kNormal, 3, 0.5};
  Initializer with_ones = normal;
  with_ones.first_one = with_ones.ones = 2;
  std::vector<float> want = Values(Initialized({MakeVariable("v", {8}, normal)}, 1), "v");
  want[2] = want[3] = 1;
  EXPECT_EQ(Values(Initialized({MakeVariable("v", {8}, with_ones)}, 1), "v"), want);
}

TEST(VariableStoreTest, AnElementDependsOnSeedNameAndIndexAlone) {
  for (const auto kind : {Initializer::Kind::kUniform, Initializer::Kind::kNormal,
                          Initializer::Kind::kTruncatedNormal}) {
    const Initializer initializer = {kind, 0, 1};
    const auto alone = Values(Initialized({MakeVariable("b", {10}, initializer)}, 1), "b");
    const auto others =
        Initialized({MakeVariable("a", {7}, initializer), MakeVariable("b", {25}, initializer)}, 1);
    const auto longer = Values(others, "b");
    EXPECT_EQ(alone, std::vector<float>(longer.begin(), longer.begin() + 10));
    EXPECT_NE(Values(others, "a"), std::vector<float>(longer.begin(), longer.begin() + 7));
    EXPECT_NE(alone, Values(Initialized({MakeVariable("b", {10}, initializer)}, 2), "b"));
  }
}

TEST(VariableStoreTest, APerCoreVariableHasAnAlignedCopyEach) {
  Variable variable = MakeVariable("v", {5}, {Initializer::Kind::kUniform, 0, 1});
  variable.per_core = true;
  const auto store = Initialized({variable}, 1);
  EXPECT_EQ(store.Find("v")->copies(), 8);
  for (int copy = 0; copy < 8; ++copy) {
    EXPECT_EQ(Values(store, "v", copy), Values(store, "v", 0));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(store.Find("v")->copy(copy)) % 64, 0u);
  }
}

TEST(VariableStoreTest, StateStartsAtZeroAndIntegersTakeTheirConstant) {
  Variable state = MakeVariable("state", {2}, {Initializer::Kind::kConstant, 3});
  state.scope = Variable::Scope::kState;
  const auto store = Initialized({state,
                                  {.name = "step",
                                   .shape = {DType::kS64, {}},
                                   .initializer = {Initializer::Kind::kConstant, 41}}},
                                 1);
  EXPECT_EQ(Values(store, "state"), (std::vector<float>{0, 0}));
  int64_t step = 0;
  std::memcpy(&step, store.Find("step")->copy(0), sizeof(step));
  EXPECT_EQ(step, 41);
}

TEST(VariableStoreTest, ASharedVariableHasTheValuesOfTheOther) {
  Variable moving = MakeVariable("moving", {2}, {});
  moving.per_core = true;
  VariableStore trained = Initialized({MakeVariable("kernel", {3}, {}), moving}, 1);
  VariableStore evaluated(1);
  ASSERT_TRUE(evaluated.Share("kernel", *trained.Find("kernel")).ok());
  ASSERT_TRUE(evaluated.Share("moving", *trained.Find("moving")).ok());
  const int64_t version = evaluated.version();
  std::memset(trained.FindMutable("kernel")->copy(0), 1, 4);
  EXPECT_EQ(Values(evaluated, "kernel"), Values(trained, "kernel"));
  evaluated.ClearState();
  EXPECT_GT(evaluated.version(), version);
  // A program with one copy reads that of replica 0.
  const auto bound =
      evaluated.Bind({MakeVariable("kernel", {3}, {}), MakeVariable("moving", {2}, {})});
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ((*bound)[0], trained.FindMutable("kernel")->copy(0));
  EXPECT_EQ((*bound)[1], trained.FindMutable("moving")->copy(0));
  EXPECT_FALSE(evaluated.Share("kernel", *trained.Find("kernel")).ok());
}

TEST(VariableStoreTest, BindRefusesAnotherShapeAndAMissingName) {
  auto store = Initialized({MakeVariable("v", {2}, {})}, 1);
  EXPECT_TRUE(store.Bind({MakeVariable("v", {2}, {})}).ok());
  EXPECT_FALSE(store.Bind({MakeVariable("v", {3}, {})}).ok());
  EXPECT_FALSE(store.Bind({MakeVariable("w", {2}, {})}).ok());
  EXPECT_FALSE(store.Add({MakeVariable("v", {2, 1}, {})}).ok());
}

TEST(VariableStoreTest, WritingFromOutsideIsANewVersion) {
  auto store = Initialized({MakeVariable("v", {2}, {})}, 1);
  const int64_t version = store.version();
  (void)store.Find("v");
  EXPECT_EQ(store.version(), version);
  (void)store.FindMutable("v");
  EXPECT_NE(store.version(), version);
}

}  // namespace
}  // namespace tpurun
