// Runs every model of testdata/{layers,losses,metrics,heads}, and holds the tables of models/ to
// have a golden file for each row.
//
//   model: a ModelSpec                  mode: TRAIN, EVAL or PREDICT
//   use_tpu: true (default false)       feed NAME: tensor (row_weight: 1 each unless fed)
//   variable NAME: tensor               expect prediction NAME: tensor
//   expect loss: number                 expect metric NAME: number
//   expect predictions: NAME NAME ...   expect metrics: NAME NAME ...
//   expect variables: one line of graph text for each
//   expect gradient NAME: tensor, of LossOrSquares by that variable or feature
//   expect update NAME: tensor, that variable after the step
//   no_differences: why gradient_test, which takes central differences, passes the case over
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "models/heads.h"
#include "models/layers/layer.h"
#include "models/losses.h"
#include "models/metrics.h"
#include "models/model_builder.h"
#include "runtime/autodiff/gradients.h"
#include "runtime/ir/evaluate.h"
#include "runtime/ir/graph_text.h"
#include "runtime/ir/structural.h"
#include "tests/models/golden_case.h"

namespace tpurun {
namespace {

// Invalid when there is neither.
Value VariableOrFeature(GraphBuilder& b, const std::string& name) {
  const int variable = b.graph().FindVariable(name);
  if (variable >= 0) return b.Read(variable);
  for (const Node& node : b.graph().nodes()) {
    if (node.op != &InfeedOp()) continue;
    if (b.graph().infeed()[node.attrs.Int("slot")].name == name) return Value{node.id, 0};
  }
  return {};
}

// One run of a golden case's model on its feeds.
class ModelRun {
 public:
  explicit ModelRun(const GoldenCase& golden) : golden_(golden) {}

  void Check() {
    Build();
    if (testing::Test::HasFatalFailure()) return;
    AddOutputs();
    AddGradients();
    if (testing::Test::HasFatalFailure()) return;
    Evaluate();
    if (testing::Test::HasFatalFailure()) return;
    for (const auto& [key, want] : golden_.entries) CheckEntry(key, want);
  }

 private:
  void Build() {
    proto::ModelSpec spec;
    SourceLocations locations;
    ParseProto(golden_.Get("model"), "model", &spec, &locations);
    const absl::StatusOr<ModelFn> model_fn = CheckedModelFn(spec, locations);
    ASSERT_TRUE(model_fn.ok()) << golden_.Where() << model_fn.status();
    ModelFnArgs args;
    const std::string mode = golden_.Get("mode");
    args.mode = mode == "TRAIN"  ? ModeKey::kTrain
                : mode == "EVAL" ? ModeKey::kEval
                                 : ModeKey::kPredict;
    args.use_tpu = golden_.Get("use_tpu") == "true";
    for (const auto& [key, value] : golden_.entries) {
      if (key.rfind("feed ", 0) != 0) continue;
      feeds_[key.substr(5)] = ParseLiteral(value);
      args.batch_per_replica = feeds_[key.substr(5)].shape().dims[0];
    }
    args.has_labels = true;
    for (const FeatureSpec& feature : ModelFeatures(spec)) {
      if (feature.is_label && !feeds_.count(feature.name)) args.has_labels = false;
    }
    absl::StatusOr<EstimatorSpec> built = (*model_fn)(args);
    ASSERT_TRUE(built.ok()) << golden_.Where() << built.status();
    spec_ = std::move(*built);
    const absl::Status verified = VerifyGraph(spec_.graph, "the model function");
    ASSERT_TRUE(verified.ok()) << golden_.Where() << verified;
  }

  void AddOutputs() {
    if (spec_.loss.valid()) spec_.graph.AddOutput("loss", spec_.loss);
    for (const NamedValue& prediction : spec_.predictions) {
      spec_.graph.AddOutput("prediction " + prediction.name, prediction.value);
    }
    for (const EvalMetric& metric : spec_.eval_metrics) {
      for (const Value statistic : metric.statistics) {
        spec_.graph.AddOutput("metric " + metric.name, statistic);
      }
    }
  }

  void AddGradients() {
    GraphBuilder b(std::move(spec_.graph));
    Value loss;
    for (const auto& [key, value] : golden_.entries) {
      if (key.rfind("expect gradient ", 0) != 0) continue;
      if (!loss.valid()) loss = LossOrSquares(b, spec_);
      const Value x = VariableOrFeature(b, key.substr(16));
      ASSERT_TRUE(x.valid()) << golden_.Where() << key << ": there is nothing of that name";
      const auto gradients = Gradients(b, loss, {x});
      ASSERT_TRUE(gradients.ok()) << golden_.Where() << gradients.status();
      ASSERT_TRUE(gradients->front().valid()) << golden_.Where() << key << ": there is none";
      b.AddOutput(key.substr(7), gradients->front());
    }
    spec_.graph = b.Take();
  }

  void Evaluate() {
    EvaluateArgs args;
    for (const InfeedSlot& slot : spec_.graph.infeed()) {
      if (slot.name == kRowWeightSlot && !feeds_.count(slot.name)) {
        feeds_[slot.name] = ParseLiteral(slot.shape.ToString() + " = 1");
      }
      ASSERT_TRUE(feeds_.count(slot.name)) << golden_.Where() << "no feed for " << slot.name;
      args.infeed.push_back({feeds_[slot.name]});
    }
    for (const auto& [key, value] : golden_.entries) {
      if (key.rfind("variable ", 0) == 0) args.variables[key.substr(9)] = {ParseLiteral(value)};
    }
    absl::StatusOr<EvaluateResult> result = tpurun::Evaluate(spec_.graph, args);
    ASSERT_TRUE(result.ok()) << golden_.Where() << result.status();
    result_ = std::move(*result);
  }

  const Literal* Output(const std::string& name) const {
    const int output = spec_.graph.FindOutput(name);
    return output < 0 ? nullptr : &result_.outputs[output][0];
  }

  void CheckEntry(const std::string& key, const std::string& want) {
    const std::string what = golden_.Where() + key;
    if (key == "expect predictions") {
      std::string names;
      for (const NamedValue& prediction : spec_.predictions) {
        absl::StrAppend(&names, names.empty() ? "" : " ", prediction.name);
      }
      EXPECT_EQ(names, want) << what;
    } else if (key == "expect metrics") {
      std::string names;
      for (const EvalMetric& metric : spec_.eval_metrics) {
        absl::StrAppend(&names, names.empty() ? "" : " ", metric.name);
      }
      EXPECT_EQ(names, want) << what;
    } else if (key == "expect variables") {
      std::string lines;
      for (const Variable& variable : spec_.graph.variables()) {
        absl::StrAppend(&lines, "\n", PrintVariable(variable));
      }
      EXPECT_EQ(lines, want.empty() || want[0] == '\n' ? want : "\n" + want) << what;
    } else if (key == "expect loss") {
      const Literal* loss = Output("loss");
      ASSERT_NE(loss, nullptr) << what;
      ASSERT_EQ(loss->shape().ToString(), "f32[]") << what;
      ExpectNear(*loss, ParseLiteral("f32[] = " + want), golden_.Tolerance(), what);
    } else if (key.rfind("expect prediction ", 0) == 0 || key.rfind("expect gradient ", 0) == 0) {
      const Literal* output = Output(key.substr(7));
      ASSERT_NE(output, nullptr) << what;
      ExpectNear(*output, ParseLiteral(want), golden_.Tolerance(), what);
    } else if (key.rfind("expect update ", 0) == 0) {
      const std::string name = key.substr(14);
      ASSERT_EQ(result_.variables.count(name), 1) << what << ": there is no such variable";
      ExpectNear(result_.variables[name][0], ParseLiteral(want), golden_.Tolerance(), what);
    } else if (key.rfind("expect metric ", 0) == 0) {
      CheckMetric(key.substr(14), want, what);
    }
  }

  void CheckMetric(const std::string& name, const std::string& want, const std::string& what) {
    std::vector<double> sums;
    for (size_t i = 0; i < spec_.graph.outputs().size(); ++i) {
      if (spec_.graph.outputs()[i].name != "metric " + name) continue;
      const Literal& shares = result_.outputs[i][0];
      const int64_t elements = shares.shape().row_elements();
      const size_t first = sums.size();
      sums.resize(first + elements);
      for (int64_t j = 0; j < shares.shape().num_elements(); ++j) {
        sums[first + j % elements] += shares.values<float>()[j];
      }
    }
    for (const EvalMetric& metric : spec_.eval_metrics) {
      if (metric.name != name) continue;
      const MetricValue got = metric.result(sums);
      // One number, or a tensor.
      const bool is_number = want.find('=') == std::string::npos;
      const Literal expected = ParseLiteral(is_number ? "f32[] = " + want : want);
      ASSERT_EQ(got.dims, expected.shape().dims) << what;
      ASSERT_EQ(static_cast<int64_t>(got.values.size()), expected.shape().num_elements()) << what;
      for (size_t i = 0; i < got.values.size(); ++i) {
        ExpectNear(got.values[i], expected.values<float>()[i], golden_.Tolerance(), what);
      }
      return;
    }
    ADD_FAILURE() << what << " there is no such metric";
  }

  const GoldenCase& golden_;
  EstimatorSpec spec_;
  std::map<std::string, Literal> feeds_;
  EvaluateResult result_;
};

class GoldenTest : public testing::TestWithParam<std::string> {};

TEST_P(GoldenTest, EveryFileHolds) {
  for (const std::string& file : GoldenFiles(GetParam())) {
    for (const GoldenCase& golden : ReadGoldenFile(file)) ModelRun(golden).Check();
  }
}

INSTANTIATE_TEST_SUITE_P(All, GoldenTest, testing::Values("layers", "losses", "metrics", "heads"),
                         [](const auto& info) { return info.param; });

template <typename Def>
void ExpectGoldenFiles(const std::vector<Def>& list, const std::string& folder) {
  for (const Def& def : list) {
    const std::string file = absl::StrCat("testdata/", folder, "/", def.name, ".txt");
    EXPECT_TRUE(std::filesystem::exists(file)) << "write " << file;
  }
}

TEST(GoldenListTest, EveryRowHasAFile) {
  ExpectGoldenFiles(LayerList(), "layers");
  ExpectGoldenFiles(LossList(), "losses");
  ExpectGoldenFiles(MetricList(), "metrics");
  ExpectGoldenFiles(HeadList(), "heads");
}

TEST(GoldenListTest, EveryActivationHasACase) {
  std::set<std::string> cases;
  for (const GoldenCase& golden : ReadGoldenFile("testdata/layers/activation_functions.txt")) {
    cases.insert(golden.name);
  }
  const auto& functions = *google::protobuf::GetEnumDescriptor<proto::Activation>();
  for (int i = 0; i < functions.value_count(); ++i) {
    const std::string& name = functions.value(i)->name();
    EXPECT_EQ(cases.count(name) + cases.count(name + ", trained"), 2) << "of " << name;
  }
}

}  // namespace
}  // namespace tpurun
