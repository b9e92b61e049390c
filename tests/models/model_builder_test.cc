#include "models/model_builder.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "runtime/base/random.h"
#include "runtime/ir/graph_text.h"
#include "tests/models/iris_spec.h"

namespace tpurun {
namespace {

TEST(ParseModelTest, TheTrainingGraphOfIris) {
  const absl::StatusOr<ModelFn> model_fn = Make(kIris);
  ASSERT_TRUE(model_fn.ok()) << model_fn.status();
  const absl::StatusOr<EstimatorSpec> spec = (*model_fn)(
      {.mode = ModeKey::kTrain, .topology = kDevice, .batch_per_replica = 16, .use_tpu = true});
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(PrintGraph(spec->graph), R"(graph "iris" replicas=8
infeed 0 "SepalLength" f32[16]
infeed 1 "SepalWidth" f32[16]
infeed 2 "Species" s32[16]
variable "hidden/kernel" f32[2,10] uniform(-0.7071067811865476,0.7071067811865476) trainable
variable "hidden/bias" f32[10] constant(0) trainable
variable "logits/kernel" f32[10,3] uniform(-0.6793662204867574,0.6793662204867574) trainable
variable "logits/bias" f32[3] constant(0) trainable
%0 = infeed {dims=[16], dtype=f32, slot=0} : f32[16] "SepalLength" from "input:input"
%1 = infeed {dims=[16], dtype=f32, slot=1} : f32[16] "SepalWidth" from "input:input"
%2 = infeed {dims=[16], dtype=s32, slot=2} : s32[16] "Species" from "input:input"
%3 = reshape %0 {dims=[16,1]} : f32[16,1] "features/Reshape" from "forward:features"
%4 = reshape %1 {dims=[16,1]} : f32[16,1] "features/Reshape_1" from "forward:features"
%5 = concat %3, %4 {axis=1} : f32[16,2] "features/concat" from "forward:features"
%6 = variable {dims=[2,10], dtype=f32, variable="hidden/kernel"} : f32[2,10] "hidden/kernel/read" from "forward:hidden"
%7 = matmul %5, %6 {precision=0} : f32[16,10] "hidden/MatMul" from "forward:hidden"
%8 = variable {dims=[10], dtype=f32, variable="hidden/bias"} : f32[10] "hidden/bias/read" from "forward:hidden"
%9 = bias_add %7, %8 {} : f32[16,10] "hidden/BiasAdd" from "forward:hidden"
%10 = relu %9 {} : f32[16,10] "hidden/Relu" from "forward:hidden"
%11 = variable {dims=[10,3], dtype=f32, variable="logits/kernel"} : f32[10,3] "logits/kernel/read" from "forward:logits"
%12 = matmul %10, %11 {precision=0} : f32[16,3] "logits/MatMul" from "forward:logits"
%13 = variable {dims=[3], dtype=f32, variable="logits/bias"} : f32[3] "logits/bias/read" from "forward:logits"
%14 = bias_add %12, %13 {} : f32[16,3] "logits/BiasAdd" from "forward:logits"
%15 = sparse_softmax_cross_entropy %14, %2 {} : f32[16], f32[16,3] "sparse_softmax_cross_entropy_loss/xentropy" from "forward:loss"
%16 = reduce_sum %15 {axes=[0]} : f32[] "sparse_softmax_cross_entropy_loss/value" from "forward:loss"
%17 = constant {dims=[], dtype=f32, value=[16f]} : f32[] "sparse_softmax_cross_entropy_loss/Const" from "forward:loss"
%18 = div %16, %17 {} : f32[] "sparse_softmax_cross_entropy_loss/value_1" from "forward:loss"
)");
  EXPECT_EQ(spec->graph.shape(spec->loss).ToString(), "f32[]");
  ASSERT_EQ(spec->optimizers.size(), 1u);
  EXPECT_EQ(spec->optimizers[0].name, "adagrad");
  EXPECT_EQ(spec->optimizers[0].variables, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(spec->optimizers[0].loss, spec->loss);
  EXPECT_TRUE(spec->optimizers[0].optimizer.has_adagrad());
  EXPECT_TRUE(spec->predictions.empty());
}

TEST(ParseModelTest, TheRowWeightIsTheLastSlotUnlessTraining) {
  const absl::StatusOr<ModelFn> model_fn = Make(kIris);
  ASSERT_TRUE(model_fn.ok()) << model_fn.status();
  for (const ModeKey mode : {ModeKey::kEval, ModeKey::kPredict}) {
    const absl::StatusOr<EstimatorSpec> spec =
        (*model_fn)({.mode = mode, .batch_per_replica = 4, .has_labels = mode == ModeKey::kEval});
    ASSERT_TRUE(spec.ok()) << spec.status();
    EXPECT_EQ(spec->graph.infeed().size(), mode == ModeKey::kEval ? 4u : 3u);
    EXPECT_EQ(spec->graph.infeed().back().name, kRowWeightSlot);
    EXPECT_EQ(spec->graph.infeed().back().shape.ToString(), "f32[4]");
    EXPECT_EQ(spec->predictions.size(), 3u);
    EXPECT_TRUE(spec->optimizers.empty());
  }
}

TEST(ParseModelTest, FeaturesThenLabelsInOrder) {
  proto::ModelSpec spec;
  ParseProto(
      "label { name: 'y' dtype: INT64 } feature { name: 'x' shape: 2 shape: 3 } "
      "feature { name: 'z' dtype: UINT8 }",
      "model", &spec, nullptr);
  const std::vector<FeatureSpec> features = ModelFeatures(spec, {.use_tpu = false});
  ASSERT_EQ(features.size(), 3u);
  EXPECT_EQ(features[0].name, "x");
  EXPECT_EQ(features[0].shape.ToString(), "f32[2,3]");
  EXPECT_FALSE(features[0].is_label);
  EXPECT_EQ(features[1].shape.ToString(), "u8[]");
  EXPECT_EQ(features[2].shape.ToString(), "s64[]");
  EXPECT_TRUE(features[2].is_label);
}

TEST(ParseModelTest, AFeatureOfBFloat16IsFedSoAndReadInF32) {
  const absl::StatusOr<ModelFn> model_fn = Make(R"(name: "m"
feature { name: "x" dtype: BFLOAT16 shape: 2 }
layer { name: "y" flatten {} }
prediction { name: "y" })");
  ASSERT_TRUE(model_fn.ok()) << model_fn.status();
  const absl::StatusOr<EstimatorSpec> spec =
      (*model_fn)({.mode = ModeKey::kPredict, .batch_per_replica = 3});
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->graph.infeed()[0].shape.ToString(), "bf16[3,2]");
  EXPECT_EQ(spec->graph.shape(spec->predictions[0].value).ToString(), "f32[3,2]");
}

// What only the call shows.
std::string TrainError(const std::string& text, int num_replicas) {
  const absl::StatusOr<ModelFn> model_fn = Make(text);
  EXPECT_TRUE(model_fn.ok()) << model_fn.status();
  return std::string(
      (*model_fn)({.topology = {.num_of_replicas_per_host = num_replicas}, .batch_per_replica = 2})
          .status()
          .message());
}

TEST(ModelFnTest, TrainingNeedsAnOptimizerALossAndVariables) {
  EXPECT_EQ(TrainError(IrisWith(9, ""), 8),
            "model: model: there is no optimizer; training needs one");
  EXPECT_EQ(TrainError(IrisWith(8, ""), 8),
            "model: model: there is no loss; training needs a head or a loss");
  EXPECT_EQ(TrainError(std::string(kIris) + "frozen: '.*'", 8),
            "model: model: there is no trainable variable; nothing can be trained");
}

TEST(ModelFnTest, ReductionNoneIsRefusedOnSeveralReplicas) {
  const std::string text = IrisWith(9, R"(optimizer { adagrad {} learning_rate { constant: 0.1 }
  cross_shard { reduction: NONE } })");
  EXPECT_EQ(TrainError(text, 8),
            "model.textproto:10:17: optimizer 0 \"adagrad\": reduction NONE would train 8 models "
            "apart; want MEAN or SUM on several replicas");
  EXPECT_EQ(TrainError(text, 1), "");
}

TEST(ModelFnTest, SeveralOptimizersShareTheVariables) {
  const absl::StatusOr<ModelFn> model_fn = Make(
      IrisWith(9, R"(optimizer { adagrad {} learning_rate { constant: 1 } var_list: "^hidden/" }
loss { name: "l" weight: 2 sparse_softmax_cross_entropy { labels: "Species" logits: "logits" } }
optimizer { momentum { momentum: 0.9 } learning_rate { constant: 1 } var_list: ["^logits/kernel$", "s/b"] loss: "l" })"));
  ASSERT_TRUE(model_fn.ok()) << model_fn.status();
  const absl::StatusOr<EstimatorSpec> spec = (*model_fn)({.batch_per_replica = 2});
  ASSERT_TRUE(spec.ok()) << spec.status();
  ASSERT_EQ(spec->optimizers.size(), 2u);
  EXPECT_EQ(spec->optimizers[0].variables, (std::vector<int>{0, 1}));
  EXPECT_EQ(spec->optimizers[0].loss, spec->loss);
  EXPECT_EQ(spec->optimizers[1].variables, (std::vector<int>{2, 3}));
  EXPECT_EQ(spec->optimizers[1].name, "momentum");
  EXPECT_NE(spec->optimizers[1].loss, spec->loss);
}

TEST(ModelFnTest, DropoutReadsTheSeedTheNameAndTheGlobalStep) {
  const absl::StatusOr<ModelFn> model_fn = Make(IrisWith(7, R"(layer { dropout { rate: 0.25 } }
layer { name: "logits" dense { units: 3 } })"));
  ASSERT_TRUE(model_fn.ok()) << model_fn.status();
  const absl::StatusOr<EstimatorSpec> train = (*model_fn)({.batch_per_replica = 2, .seed = 7});
  ASSERT_TRUE(train.ok()) << train.status();
  const std::string text = PrintGraph(train->graph);
  EXPECT_NE(text.find("variable \"global_step\" s64[] constant(0)\n"), std::string::npos) << text;
  EXPECT_NE(text.find(absl::StrCat("rate=0.25f, seed=7, stream=", StreamOf("dropout"))),
            std::string::npos)
      << text;
  for (const int variable : train->optimizers[0].variables) {
    EXPECT_NE(train->graph.variables()[variable].name, "global_step");
  }
  const absl::StatusOr<EstimatorSpec> eval =
      (*model_fn)({.mode = ModeKey::kEval, .batch_per_replica = 2});
  ASSERT_TRUE(eval.ok()) << eval.status();
  EXPECT_EQ(PrintGraph(eval->graph).find("dropout {"), std::string::npos);
  EXPECT_EQ(eval->graph.FindVariable("global_step"), -1);
}

// The example, as the program loads it.
TEST(ModelFnTest, Mnist) {
  std::ifstream file("testdata/mnist/model.textproto");
  std::stringstream text;
  text << file.rdbuf();
  const absl::StatusOr<ModelFn> model_fn = Make(text.str());
  ASSERT_TRUE(model_fn.ok()) << model_fn.status();
  for (const ModeKey mode : {ModeKey::kTrain, ModeKey::kEval, ModeKey::kPredict}) {
    const absl::StatusOr<EstimatorSpec> spec =
        (*model_fn)({.mode = mode,
                     .topology = kDevice,
                     .batch_per_replica = 16,
                     .has_labels = mode != ModeKey::kPredict});
    ASSERT_TRUE(spec.ok()) << spec.status();
    const absl::Status verified = VerifyGraph(spec->graph, "the model function");
    EXPECT_TRUE(verified.ok()) << verified;
    std::string variables;
    for (const Variable& variable : spec->graph.variables()) {
      if (!variable.trainable) continue;
      absl::StrAppend(&variables, variable.name, " ", variable.shape.ToString(), "\n");
    }
    EXPECT_EQ(variables,
              "conv2d/kernel f32[5,5,1,32]\n"
              "conv2d/bias f32[32]\n"
              "conv2d_1/kernel f32[5,5,32,64]\n"
              "conv2d_1/bias f32[64]\n"
              "dense/kernel f32[3136,128]\n"
              "dense/bias f32[128]\n"
              "logits/kernel f32[128,10]\n"
              "logits/bias f32[10]\n");
    // The mean of a step's rows, what an evaluation gives, and what a prediction holds.
    EXPECT_EQ(spec->loss.valid(), mode == ModeKey::kTrain);
    EXPECT_EQ(spec->eval_metrics.size(), mode == ModeKey::kEval ? 3u : 0u);
    EXPECT_EQ(spec->predictions.size(), mode == ModeKey::kTrain ? 0u : 3u);
  }
}

proto::ModelSpec Canonical(const proto::ModelSpec& spec) {
  ConfigErrors errors;
  ParsedModel model = ParseModel(spec, {}, errors);
  EXPECT_TRUE(errors.empty());
  return model.canonical;
}

std::string CanonicalLayers(const std::string& text) {
  proto::ModelSpec spec;
  ParseProto(text, "model", &spec, nullptr);
  std::string layers;
  const proto::ModelSpec canonical = Canonical(spec);
  for (const proto::Layer& layer : canonical.layer()) {
    absl::StrAppend(&layers, layer.ShortDebugString(), "\n");
  }
  return layers;
}

TEST(CanonicalModelTest, LayersHaveFullNamesAndInputsAndNoDefaultsOfTheirOwn) {
  constexpr char kImage[] = "feature { name: 'x' shape: [8, 8, 1] } ";
  EXPECT_EQ(
      CanonicalLayers(absl::StrCat(kImage, R"(
layer { conv2d { filters: 2 kernel_size: 3 dilation_rate: 1 } }
layer { conv2d { filters: 2 kernel_size: 1 dilation_rate: 2 groups: 2 } }
layer { conv2d_transpose { filters: 2 kernel_size: [1, 2] strides: 2 padding: SAME } }
layer { max_pooling2d {} }
layer { trainable: false average_pooling2d { pool_size: 1 strides: [1, 2] } dtype: FLOAT32 }
layer { flatten {} }
layer { dense { units: 3 kernel_initializer { ones {} } } }
layer_defaults { dense { activation: TANH } })")),
      R"(name: "conv2d" input: "x" conv2d { filters: 2 kernel_size: 3 kernel_size: 3 strides: 1 strides: 1 }
name: "conv2d_1" input: "conv2d" conv2d { filters: 2 kernel_size: 1 kernel_size: 1 strides: 1 strides: 1 dilation_rate: 2 dilation_rate: 2 groups: 2 }
name: "conv2d_transpose" input: "conv2d_1" conv2d_transpose { filters: 2 kernel_size: 1 kernel_size: 2 strides: 2 strides: 2 padding: SAME }
name: "max_pooling2d" input: "conv2d_transpose" max_pooling2d { pool_size: 2 pool_size: 2 strides: 2 strides: 2 }
name: "average_pooling2d" input: "max_pooling2d" average_pooling2d { pool_size: 1 pool_size: 1 strides: 1 strides: 2 }
name: "flatten" input: "average_pooling2d" flatten { }
name: "dense" input: "flatten" dense { units: 3 activation: TANH }
)");
}

// Not both backwards.
TEST(CanonicalModelTest, ABidirectionalSetsTheDirectionsOfItsLayers) {
  EXPECT_EQ(CanonicalLayers("feature { name: 'x' shape: [3, 2] } "
                            "layer { bidirectional { layer { gru { units: 1 } } } } "
                            "layer_defaults { gru { go_backwards: true } }"),
            R"(name: "bidirectional" input: "x" bidirectional { }
name: "bidirectional/forward_gru" input: "x" gru { units: 1 go_backwards: false }
name: "bidirectional/backward_gru" input: "x" gru { units: 1 go_backwards: true }
)");
}

TEST(CanonicalModelTest, LayersThatHoldOthersAreInARow) {
  EXPECT_EQ(CanonicalLayers(R"(feature { name: 'x' shape: 4 } label { name: 'y' shape: 4 }
layer { name: "block" sequence { repeat: 2 layer { name: "a" dense { units: 4 } } layer { name: "b" add {} input: "a" input: "x" } } }
layer { name: "sum" input: "block" residual { layer { dropout {} } } }
layer { name: "off" input: "sum" input: "y" add {} })"),
            R"(name: "block_0/a" input: "x" dense { units: 4 }
name: "block_0/b" input: "block_0/a" input: "x" add { }
name: "block_1/a" input: "block_0" dense { units: 4 }
name: "block_1/b" input: "block_1/a" input: "x" add { }
name: "sum" input: "block" residual { }
name: "sum/dropout" input: "block" dropout { }
name: "off" input: "sum" input: "y" add { }
)");
}

TEST(CanonicalModelTest, TheRestIsWhatDecidesValues) {
  proto::ModelSpec spec;
  ParseProto(std::string(kIris) + "matmul_precision: HIGH frozen: 'kernel'", "model", &spec,
             nullptr);
  const proto::ModelSpec written = Canonical(spec);
  EXPECT_EQ(written.layer_size(), spec.layer_size());
  EXPECT_EQ(written.feature_size(), spec.feature_size());
  EXPECT_EQ(written.label_size(), spec.label_size());
  EXPECT_EQ(written.head_size(), 1);
  EXPECT_EQ(written.matmul_precision(), proto::ModelSpec::HIGH);
  EXPECT_EQ(written.optimizer_size(), 0);
  EXPECT_EQ(written.frozen_size(), 0);
}

TEST(ModelFnTest, OutlivesItsArguments) {
  absl::StatusOr<ModelFn> model_fn = absl::UnknownError("");
  {
    proto::ModelSpec spec;
    SourceLocations locations;
    ParseProto(kIris, "model", &spec, &locations);
    model_fn = CheckedModelFn(spec, locations);
  }
  ASSERT_TRUE(model_fn.ok()) << model_fn.status();
  const absl::StatusOr<EstimatorSpec> spec = (*model_fn)({.batch_per_replica = 2});
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->optimizers[0].optimizer.learning_rate().constant(), 0.1);
}

}  // namespace
}  // namespace tpurun
