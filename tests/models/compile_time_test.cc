// A model of many layers is built, compiled and loaded in a time that grows with its layers, not
// with their square.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "runtime/estimator/train_step.h"
#include "runtime/ops/op_list.h"
#include "runtime/session/session.h"
#include "tests/models/iris_spec.h"
#include "tests/scaling.h"

namespace tpurun {
namespace {

struct Case {
  const char* name;
  int layers;
  const char* layer;
};

class CompileTimeTest : public testing::TestWithParam<Case> {};

// Everything between the text and the first step.
absl::Status Load(int layers, const std::string& layer, int num_replicas) {
  std::string text = "feature { name: \"x\" shape: 4 }\nlabel { name: \"y\" dtype: INT32 }\n";
  for (int i = 0; i < layers; ++i) absl::StrAppend(&text, "layer { ", layer, " }\n");
  absl::StrAppend(&text, "layer { name: \"logits\" dense { units: 2 } }\n",
                  "head { classification { logits: \"logits\" label: \"y\" } }\n",
                  "optimizer { adagrad {} learning_rate { constant: 0.1 } }\n");
  const absl::StatusOr<ModelFn> model_fn = Make(text);
  if (!model_fn.ok()) return model_fn.status();
  absl::StatusOr<EstimatorSpec> spec =
      (*model_fn)({.topology = {.num_of_replicas_per_host = num_replicas}, .batch_per_replica = 2});
  if (!spec.ok()) return spec.status();
  const absl::StatusOr<Graph> graph = BuildTrainStep(*std::move(spec));
  if (!graph.ok()) return graph.status();
  Session session(1, {.num_of_replicas_per_host = num_replicas});
  return session.Load(*graph, {.ops = OpsOfPasses(), .loss_output = kLossOutput});
}

TEST_P(CompileTimeTest, GrowsWithTheLayersOn8Cores) {
  ExpectNearLinear(GetParam().layers, [](int layers) {
    const absl::Status status = Load(layers, GetParam().layer, 8);
    EXPECT_TRUE(status.ok()) << status;
  });
}

TEST_P(CompileTimeTest, GrowsWithTheLayersOnOne) {
  ExpectNearLinear(GetParam().layers, [](int layers) {
    const absl::Status status = Load(layers, GetParam().layer, 1);
    EXPECT_TRUE(status.ok()) << status;
  });
}

INSTANTIATE_TEST_SUITE_P(
    , CompileTimeTest,
    testing::Values(Case{"Activation", 1000, "activation { function: TANH }"},
                    Case{"Dense", 150, "dense { units: 4 activation: RELU }"},
                    Case{"Residual", 150, "residual { layer { dense { units: 4 } } }"}),
    [](const testing::TestParamInfo<Case>& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tpurun
