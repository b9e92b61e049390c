#include "runtime/export/exported_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/ir/elementwise.h"
#include "runtime/ops/ops.h"
#include "runtime/spec/global_step.h"

namespace tpurun {
namespace {

using Build = std::function<Value(GraphBuilder& b, Value x, int64_t batch)>;

// A model that predicts y of x (batch, 4).
absl::StatusOr<ExportedModel> Export(const Build& build, ExportRule OpDef::*rule) {
  const ModelFn model_fn = [&](const ModelFnArgs& args) -> absl::StatusOr<EstimatorSpec> {
    EXPECT_EQ(args.mode, ModeKey::kPredict);
    EXPECT_FALSE(args.use_tpu);
    const int64_t batch = args.batch_per_replica;
    GraphBuilder b(Graph("model", 1));
    const Value x = b.AddInfeed("x", {DType::kF32, {batch, 4}});
    b.AddInfeed(kRowWeightSlot, {DType::kF32, {batch}});
    const Value y = build(b, x, batch);
    EXPECT_TRUE(b.status().ok()) << b.status();
    EstimatorSpec spec;
    spec.mode = args.mode;
    if (y.valid()) spec.predictions.push_back({"y", y});
    spec.graph = b.Take();
    return spec;
  };
  return ExportModel(model_fn, 1, rule);
}

std::string ErrorOf(const Build& build) {
  const auto model = Export(build, &OpDef::onnx);
  EXPECT_EQ(model.status().code(), absl::StatusCode::kInvalidArgument) << model.status();
  return std::string(model.status().message());
}

TEST(ExportedModelTest, HasWhatThePredictionsDependOnForAnyBatch) {
  for (const auto rule : {&OpDef::tensorflow, &OpDef::onnx}) {
    const auto model = Export(
        [](GraphBuilder& b, Value x, int64_t batch) {
          Exp(b, x);  // nobody reads it
          return Reshape(b, Relu(b, x), {2 * batch, 2});
        },
        rule);
    ASSERT_TRUE(model.ok()) << model.status();
    ASSERT_EQ(model->inputs.size(), 1u);
    EXPECT_EQ(model->inputs[0].name, "x");
    EXPECT_EQ(model->inputs[0].dims, (ExportDims{-1, 4}));
    ASSERT_EQ(model->predictions.size(), 1u);
    EXPECT_EQ(model->predictions[0].name, "y");
    EXPECT_EQ(model->predictions[0].dims, (ExportDims{-1, 2}));
    std::vector<std::string> ops;
    for (const ExportNode& node : model->graph.nodes()) ops.push_back(node.op);
    EXPECT_EQ(ops, (std::vector<std::string>{"", "Relu", "", "Reshape"}));
  }
}

TEST(ExportedModelTest, AllOpsWithoutARuleAreNamed) {
  EXPECT_EQ(ErrorOf([](GraphBuilder& b, Value x, int64_t) {
              const Value dropped = Dropout(b, x, b.Read(GlobalStep(b)), 0.5, 1, 0);
              return Add(b, dropped, Broadcast(b, SumOfRows(b, x), b.shape(x).dims, {1}));
            }),
            "the model cannot be exported in this format: it has no words for the ops "
            "dropout, replica_id, sum_of_rows");
}

TEST(ExportedModelTest, WhatTheBatchDecidesIsNamed) {
  EXPECT_EQ(ErrorOf([](GraphBuilder& b, Value x, int64_t batch) {
              return Div(b, x, Scalar(b, static_cast<double>(batch)));
            }),
            "Const (constant): it depends on the batch in more than its shape");
}

TEST(ExportedModelTest, AConstantOfARowForEachExampleHasAsManyAsTheInput) {
  const auto zeros = [](GraphBuilder& b, Value x, int64_t batch) {
    return Concat(b, {x, Constant(b, DType::kF32, {batch, 2}, 0.5)}, 1);
  };
  const std::vector<std::string> ops[] = {
      {"", "Shape", "Slice", "ConcatV2", "Fill", "ConcatV2"},
      {"", "Shape", "Concat", "Expand", "Concat"},
  };
  for (const bool onnx : {false, true}) {
    const auto model = Export(zeros, onnx ? &OpDef::onnx : &OpDef::tensorflow);
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_EQ(model->predictions[0].dims, (ExportDims{-1, 6}));
    std::vector<std::string> got;
    for (const ExportNode& node : model->graph.nodes()) {
      if (node.kind != ExportNode::Kind::kConstant) got.push_back(node.op);
    }
    EXPECT_EQ(got, ops[onnx]);
  }
}

TEST(ExportedModelTest, OtherConstantsAreNotTheBatchs) {
  EXPECT_EQ(ErrorOf([](GraphBuilder& b, Value, int64_t batch) {
              return Constant(b, DType::kF32, {2 * batch, 4}, 0);
            }),
            "Const (constant): the batch decides the shape of a constant");
  EXPECT_EQ(ErrorOf([](GraphBuilder& b, Value x, int64_t batch) {
              return Mul(b, x, Convert(b, ConstantInt(b, DType::kS32, {}, {batch}), DType::kF32));
            }),
            "Const (constant): the batch decides the value of a constant");
}

// A recurrent op of steps that no layer made.
Value Steps(GraphBuilder& b, Value x, int64_t batch) {
  const Value h0 = Constant(b, DType::kF32, {batch, 2}, 0);
  const Value weights = Constant(b, DType::kF32, {2, 2}, 1);
  return SimpleRnn(b, Reshape(b, x, {batch, 2, 2}), weights, h0, {}, {});
}

TEST(ExportedModelTest, ARecurrenceIsStepsWhoseConstantsAreShared) {
  for (const auto rule : {&OpDef::tensorflow, &OpDef::onnx}) {
    const auto model = Export(Steps, rule);
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_EQ(model->predictions[0].dims, (ExportDims{-1, 2, 2}));
    std::set<std::string> names;
    for (const ExportNode& node : model->graph.nodes()) names.insert(node.name);
    for (const char* name : {"simple_rnn/step_0/MatMul", "simple_rnn/step_1/MatMul", "simple_rnn"})
      EXPECT_EQ(names.count(name), 1u) << name;
    // Of the slices of x: where they begin, and which size both have.
    const bool onnx = rule == &OpDef::onnx;
    const std::string sizes = onnx ? "simple_rnn/ends" : "simple_rnn/size";
    EXPECT_EQ(names.count(sizes), 1u);
    EXPECT_EQ(names.count(sizes + "_1"), onnx ? 1u : 0u);
  }
}

// What layers put ahead of a recurrent op: x (batch, 4), as two steps of two features, multiplied
// with a kernel, (batch, 2, columns).
Value Projected(GraphBuilder& b, Value x, int64_t batch, int64_t columns) {
  const Value kernel = Constant(b, DType::kF32, {2, columns}, 1);
  const Value bias = Constant(b, DType::kF32, {columns}, 1);
  const Value rows = Reshape(b, Reshape(b, x, {batch, 2, 2}), {2 * batch, 2});
  const Value product = BiasAdd(b, MatMul(b, rows, kernel, Precision::kF32), bias);
  return Reshape(b, product, {batch, 2, columns});
}

RecurrentStates ProjectedLstm(GraphBuilder& b, Value x, int64_t batch, Value mask = {},
                              const RecurrentArgs& args = {}) {
  const Value zeros = Constant(b, DType::kF32, {batch, 3}, 0);
  return Lstm(b, Projected(b, x, batch, 12), Constant(b, DType::kF32, {3, 12}, 1), zeros, zeros,
              mask, args);
}

Value LastOf(GraphBuilder& b, Value states, int64_t batch) {
  return Slice(b, states, {0, 1, 0}, {batch, 1, 3});
}

// The ops that an ONNX file then has, but for constants: "Reshape Transpose".
std::string OnnxOps(const Build& build) {
  const auto model = Export(build, &OpDef::onnx);
  EXPECT_TRUE(model.ok()) << model.status();
  std::string ops;
  for (const ExportNode& node : model->graph.nodes()) {
    if (node.kind == ExportNode::Kind::kOp) absl::StrAppend(&ops, ops.empty() ? "" : " ", node.op);
  }
  return ops;
}

// Of x, and of W, R and B with their gates in ONNX's order.
constexpr char kLstm[] =
    "Reshape Transpose Transpose Reshape Gather Reshape Transpose Reshape Gather Reshape Reshape "
    "Gather Reshape Concat LSTM ";

TEST(ExportedModelTest, OnnxsOwnRecurrenceTakesTheProductAheadOfIt) {
  EXPECT_EQ(
      OnnxOps([](GraphBuilder& b, Value x, int64_t batch) { return ProjectedLstm(b, x, batch).h; }),
      absl::StrCat(kLstm, "Squeeze Transpose"));
  // The last state is a result of its own.
  EXPECT_EQ(OnnxOps([](GraphBuilder& b, Value x, int64_t batch) {
              const RecurrentStates states = ProjectedLstm(b, x, batch);
              return Add(b, LastOf(b, states.h, batch), LastOf(b, states.c, batch));
            }),
            absl::StrCat(kLstm, "Transpose Transpose Add"));
}

TEST(ExportedModelTest, StatesThatAreComputedBackwardsAreTurnedRoundOnlyWhereTheyAreRead) {
  for (const bool turned : {false, true}) {
    EXPECT_EQ(OnnxOps([&](GraphBuilder& b, Value x, int64_t batch) {
                const Value h = ProjectedLstm(b, x, batch, {}, {.go_backwards = true}).h;
                return turned ? Reverse(b, h, 1) : h;
              }),
              absl::StrCat(kLstm, "Squeeze Transpose", turned ? "" : " Slice"));
  }
}

TEST(ExportedModelTest, WhatOnnxsOwnRecurrenceCannotSayIsSteps) {
  const Build memory_of_every_step = [](GraphBuilder& b, Value x, int64_t batch) {
    return ProjectedLstm(b, x, batch).c;
  };
  const Build masked = [](GraphBuilder& b, Value x, int64_t batch) {
    return ProjectedLstm(b, x, batch, Slice(b, x, {0, 0}, {batch, 2})).h;
  };
  for (const Build& build : {memory_of_every_step, masked}) {
    const std::vector<std::string> ops = absl::StrSplit(OnnxOps(build), ' ');
    EXPECT_EQ(std::count(ops.begin(), ops.end(), "LSTM"), 0);
    EXPECT_EQ(std::count(ops.begin(), ops.end(), "Gemm"), 3);  // of x, and of each step
  }
}

TEST(ExportedModelTest, WhatOnlyAGradientReadsHasNoWords) {
  EXPECT_EQ(ErrorOf([](GraphBuilder& b, Value x, int64_t batch) {
              const Value h0 = Constant(b, DType::kF32, {batch, 1}, 0);
              const Value weights = Constant(b, DType::kF32, {1, 4}, 1);
              const Value gates = Reshape(b, x, {batch, 1, 4});
              const Value h = Lstm(b, gates, weights, h0, h0, {}, {}).h;
              return Relu(b, Value{h.node, 2});
            }),
            "Relu (relu): result 2 of lstm (lstm), which is for gradients, has no words");
}

TEST(ExportedModelTest, WhereASliceBeginsIsNotTheBatchs) {
  const auto last_row = [](GraphBuilder& b, Value x, int64_t batch) {
    return Slice(b, x, {batch - 1, 0}, {1, 4});
  };
  EXPECT_EQ(ErrorOf(last_row), "slice (slice): the batch decides where it begins");
  EXPECT_FALSE(Export(last_row, &OpDef::tensorflow).ok());
}

TEST(ExportedModelTest, AReshapeLeavesOneDimensionToTheBatch) {
  const auto square = [](GraphBuilder& b, Value x, int64_t batch) {
    return Reshape(b, Concat(b, std::vector<Value>(batch, x), 0), {batch, batch, 4});
  };
  for (const auto rule : {&OpDef::tensorflow, &OpDef::onnx}) {
    EXPECT_FALSE(Export(square, rule).ok());
  }
}

TEST(ExportedModelTest, AModelThatPredictsNothing) {
  EXPECT_EQ(ErrorOf([](GraphBuilder&, Value, int64_t) { return Value{}; }),
            "the model predicts nothing; give it a head, or prediction entries");
}

}  // namespace
}  // namespace tpurun
