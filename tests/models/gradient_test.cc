// The gradients of every layer and loss with respect to its variables, against central differences
// in a random direction, at the points of the golden files. Points where the function has no
// derivative (a relu at 0) do not occur in those files, or the case says `no_differences: REASON`;
// a loss that is NaN or does not depend on the variables is passed over.
#include <gtest/gtest.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "models/model_builder.h"
#include "runtime/autodiff/gradients.h"
#include "runtime/base/random.h"
#include "runtime/ir/evaluate.h"
#include "runtime/ops/ops.h"
#include "tests/models/golden_case.h"

namespace tpurun {
namespace {

// In [-1, 1), different for each variable and element.
std::vector<float> Direction(const std::string& variable, int64_t n) {
  std::vector<float> direction;
  for (int64_t i = 0; i < n; ++i) {
    direction.push_back(2 * UniformFloat(PhiloxElement(1, StreamOf(variable), 0, 0, i)) - 1);
  }
  return direction;
}

struct Differentiated {
  Graph graph;  // outputs: loss, then the gradient of each of `variables`
  std::vector<std::string> variables;
};

// LossOrSquares with its gradients.
Differentiated Differentiate(EstimatorSpec spec) {
  GraphBuilder b(std::move(spec.graph));
  const Value loss = LossOrSquares(b, spec);
  std::vector<Value> reads;
  std::vector<std::string> names;
  for (size_t i = 0; loss.valid() && i < b.graph().variables().size(); ++i) {
    names.push_back(b.graph().variables()[i].name);
    reads.push_back(b.Read(static_cast<int>(i)));
  }
  Differentiated result;
  if (reads.empty()) return result;
  const absl::StatusOr<std::vector<Value>> gradients = Gradients(b, loss, reads);
  EXPECT_TRUE(gradients.ok()) << gradients.status();
  if (!gradients.ok()) return result;
  b.AddOutput("loss", loss);
  for (size_t i = 0; i < reads.size(); ++i) {
    if (!(*gradients)[i].valid()) continue;
    b.AddOutput(names[i], (*gradients)[i]);
    result.variables.push_back(names[i]);
  }
  EXPECT_TRUE(b.status().ok()) << b.status();
  result.graph = b.Take();
  return result;
}

// Returns whether there was a gradient to compare.
bool CheckCase(const GoldenCase& golden) {
  if (!golden.Get("no_differences").empty()) return false;
  proto::ModelSpec spec;
  SourceLocations locations;
  ParseProto(golden.Get("model"), "model", &spec, &locations);
  const absl::StatusOr<ModelFn> model_fn = CheckedModelFn(spec, locations);
  EXPECT_TRUE(model_fn.ok()) << golden.Where() << model_fn.status();
  if (!model_fn.ok()) return false;
  EvaluateArgs args;
  ModelFnArgs fn_args;
  fn_args.mode = golden.Get("mode") == "TRAIN" ? ModeKey::kTrain : ModeKey::kPredict;
  fn_args.use_tpu = false;
  std::map<std::string, Literal> feeds;
  for (const auto& [key, value] : golden.entries) {
    if (key.rfind("feed ", 0) == 0) feeds[key.substr(5)] = ParseLiteral(value);
    if (key.rfind("variable ", 0) == 0) args.variables[key.substr(9)] = {ParseLiteral(value)};
  }
  fn_args.batch_per_replica = feeds.begin()->second.shape().dims[0];
  for (const FeatureSpec& feature : ModelFeatures(spec)) {
    if (!feeds.count(feature.name)) fn_args.has_labels = false;
  }
  absl::StatusOr<EstimatorSpec> built = (*model_fn)(fn_args);
  EXPECT_TRUE(built.ok()) << golden.Where() << built.status();
  if (!built.ok()) return false;
  const Differentiated differentiated = Differentiate(std::move(*built));
  if (differentiated.variables.empty()) return false;
  for (const InfeedSlot& slot : differentiated.graph.infeed()) {
    if (slot.name == kRowWeightSlot)
      feeds[slot.name] = ParseLiteral(slot.shape.ToString() + " = 1");
    args.infeed.push_back({feeds[slot.name]});
  }
  const absl::StatusOr<EvaluateResult> here = Evaluate(differentiated.graph, args);
  EXPECT_TRUE(here.ok()) << golden.Where() << here.status();
  if (!here.ok() || std::isnan(here->outputs[0][0].values<float>()[0])) return false;
  double want = 0;
  for (size_t i = 0; i < differentiated.variables.size(); ++i) {
    const std::span<const float> gradient = here->outputs[i + 1][0].values<float>();
    const std::vector<float> direction = Direction(differentiated.variables[i], gradient.size());
    for (size_t j = 0; j < gradient.size(); ++j) want += gradient[j] * direction[j];
  }
  // At this step the f32 rounding of a loss of 100 changes the difference by about 1e-3.
  constexpr float kStep = 0x1p-6f;
  double losses[2];
  for (const int side : {0, 1}) {
    EvaluateArgs moved = args;
    for (const std::string& name : differentiated.variables) {
      const std::span<float> values = moved.variables[name][0].values<float>();
      const std::vector<float> direction = Direction(name, values.size());
      for (size_t j = 0; j < values.size(); ++j) {
        values[j] += (side == 0 ? -kStep : kStep) * direction[j];
      }
    }
    const absl::StatusOr<EvaluateResult> there = Evaluate(differentiated.graph, moved);
    EXPECT_TRUE(there.ok()) << golden.Where() << there.status();
    if (!there.ok()) return false;
    losses[side] = there->outputs[0][0].values<float>()[0];
  }
  const double got = (losses[1] - losses[0]) / (2 * kStep);
  EXPECT_NEAR(want, got, 5e-3 * std::max(1.0, std::abs(got))) << golden.Where();
  return true;
}

int CheckFolder(const std::string& folder) {
  int compared = 0;
  for (const std::string& file : GoldenFiles(folder)) {
    for (const GoldenCase& golden : ReadGoldenFile(file)) compared += CheckCase(golden);
  }
  return compared;
}

TEST(GradientTest, EveryLayer) { EXPECT_GE(CheckFolder("layers"), 10); }

TEST(GradientTest, EveryLoss) { EXPECT_GE(CheckFolder("losses"), 6); }

}  // namespace
}  // namespace tpurun
