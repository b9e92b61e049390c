// What Gradients takes from an op; the numbers are in tests/ops and tests/models.
#include "runtime/autodiff/gradients.h"

#include <functional>
#include <span>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/base/dcheck.h"
#include "runtime/ops/ops.h"

namespace tpurun {
namespace {

using Gradient = std::function<std::vector<Value>(GraphBuilder&, const Node&,
                                                  std::span<const Value> result_gradients)>;

// The gradient by x (f32[3]) of the mean of op(x), where `gradient` is what op says.
absl::StatusOr<std::vector<Value>> GradientsOf(const Gradient& gradient) {
  const OpDef op = {.name = "op",
                    .min_operands = 1,
                    .max_operands = 1,
                    .infer_shape = [](std::span<const Shape> operands,
                                      const Attrs&) -> absl::StatusOr<std::vector<Shape>> {
                      return std::vector<Shape>{operands[0]};
                    },
                    .gradient = gradient};
  GraphBuilder b(Graph("g", 1));
  const Value x = b.AddInfeed("x", {DType::kF32, {3}});
  return Gradients(b, ReduceMean(b, b.Add(op, {x}), {0}), {x});
}

std::vector<Value> Same(GraphBuilder&, const Node&, std::span<const Value> result_gradients) {
  return {result_gradients[0]};
}
std::vector<Value> None(GraphBuilder&, const Node&, std::span<const Value>) { return {}; }
std::vector<Value> Scalars(GraphBuilder& b, const Node&, std::span<const Value>) {
  return {Scalar(b, 1)};
}

TEST(GradientsTest, AnOpGivesOneOfItsOperandsShape) {
  const auto gradients = GradientsOf(Same);
  ASSERT_TRUE(gradients.ok()) << gradients.status();
  EXPECT_TRUE((*gradients)[0].valid());
}

TEST(GradientsDeathTest, AGradientOfAnotherShapeIsOurMistake) {
  if (!kDchecksAreOn) GTEST_SKIP() << "built without DCHECKs";
  EXPECT_DEATH(GradientsOf(Scalars).IgnoreError(), "DCHECK failed: .*dims == b.shape");
}

TEST(GradientsDeathTest, AGradientTooFewIsOurMistake) {
  if (!kDchecksAreOn) GTEST_SKIP() << "built without DCHECKs";
  EXPECT_DEATH(GradientsOf(None).IgnoreError(), "DCHECK failed: to_inputs.size");
}

}  // namespace
}  // namespace tpurun
