#include "runtime/ir/graph.h"

#include <memory>

#include "gtest/gtest.h"
#include "runtime/base/dcheck.h"
#include "runtime/ir/graph_text.h"
#include "runtime/ops/op_list.h"
#include "runtime/ops/ops.h"

namespace tpurun {
namespace {

// One of everything that the text form can say.
Graph EveryKind() {
  GraphBuilder b(Graph("every \"kind\"", 8));
  const Value x = b.AddInfeed("x", Shape{DType::kF32, {2, 3}});
  const Value labels = b.AddInfeed("labels", Shape{DType::kS32, {2}});
  const int w = b.AddVariable({.name = "w",
                               .shape = {DType::kF32, {3, 4}},
                               .initializer = {Initializer::Kind::kUniform, -0.5, 0.5},
                               .trainable = true});
  const int mean =
      b.AddVariable({.name = "mean",
                     .shape = {DType::kF32, {4}},
                     .initializer = {Initializer::Kind::kTruncatedNormal, 0, 0.1, 1, 2},
                     .scope = Variable::Scope::kState,
                     .per_core = true});
  const Value logits = MatMul(b, x, b.Read(w), Precision::kDefault);
  const Value loss = SparseSoftmaxCrossEntropy(b, logits, labels);
  b.AddOutput("loss", loss);
  b.AddOutput("backprop", Value{loss.node, 1});
  b.Update(mean, ReduceMean(b, logits, {0}));
  EXPECT_TRUE(b.status().ok()) << b.status();
  return b.Take();
}

TEST(GraphText, ParsesBackToTheSameText) {
  const std::string text = PrintGraph(EveryKind());
  const auto parsed = ParseGraph(text, FindOpByName);
  ASSERT_TRUE(parsed.ok()) << parsed.status() << "\n" << text;
  EXPECT_EQ(PrintGraph(*parsed), text);
  EXPECT_EQ(parsed->variables(), EveryKind().variables());
}

TEST(GraphText, AnErrorNamesItsLine) {
  const auto message = [](const std::string& line) {
    const auto graph = ParseGraph("graph \"g\" replicas=1\n\n" + line + "\n", FindOpByName);
    return graph.ok() ? "parsed" : std::string(graph.status().message());
  };
  EXPECT_EQ(message("%0 = no_such_op {} : f32[] \"\""), "line 3: there is no op \"no_such_op\"");
  EXPECT_EQ(message("%1 = loop_index {} : s32[] \"\""), "line 3: want node %0 here");
  EXPECT_EQ(message("%0 = loop_index {} : f32[] \"\""),
            "line 3: the operands give s32[], the line says f32[]");
  EXPECT_EQ(message("nonsense"), "line 3: want infeed, variable, %node, output or update");
  EXPECT_EQ(message("variable \"v\" f32[2] constant(0) ones=1+2"),
            "line 3: want variable \"name\" shape initializer(a,b) [ones=FIRST+COUNT] [trainable] "
            "[state] [per_core]");
  EXPECT_EQ(message("output \"y\" %0"), "after parsing: output \"y\" has no value");
}

TEST(VerifyGraph, NamesTheBrokenTieAndWhoMadeIt) {
  Graph graph = EveryKind();
  graph.AddOutput("lost", Value{99, 0});
  EXPECT_EQ(VerifyGraph(graph, "pass loses_values").message(),
            "after pass loses_values: output \"lost\" has no value");
}

TEST(VerifyGraph, ChecksSourcesAgainstTheirSlots) {
  Graph graph("g", 1);
  graph.AddInfeed({"x", Shape{DType::kF32, {2}}});
  ASSERT_TRUE(
      graph
          .AddNode(
              InfeedOp(), {},
              {{"slot", int64_t{0}}, {"dtype", DType::kF32}, {"dims", std::vector<int64_t>{3}}},
              "x", {})
          .ok());
  EXPECT_EQ(VerifyGraph(graph, "test").message(),
            "after test: infeed %0 \"x\": infeed slot 0 is f32[2], the node is f32[3]");
}

TEST(GraphBuilder, TheFirstErrorStays) {
  GraphBuilder b(Graph("g", 1));
  const Value x = b.AddInfeed("x", Shape{DType::kF32, {2, 3}});
  const Value bad = MatMul(b, x, x, Precision::kF32);
  EXPECT_FALSE(bad.valid());
  EXPECT_FALSE(Relu(b, bad).valid());
  EXPECT_FALSE(Relu(b, x).valid());
  EXPECT_EQ(b.status().message(), "matmul: the inner dimensions differ, f32[2,3] and f32[2,3]");
  EXPECT_EQ(b.graph().nodes().size(), 1u);
}

TEST(GraphBuilder, NamesAreScopedAndUnique) {
  GraphBuilder b(Graph("g", 1));
  const Value x = b.AddInfeed("x", Shape{DType::kF32, {2}});
  const ScopedName scope(b, "layer");
  EXPECT_EQ(b.graph().node(Relu(b, x)).name, "layer/Relu");
  EXPECT_EQ(b.graph().node(Relu(b, x)).name, "layer/Relu_1");
}

TEST(Shape, TextParsesBack) {
  for (const char* text : {"f32[]", "bf16[16,784]", "s64[0,3]", "f32[64,32]{blocked:8192}"}) {
    const auto shape = ParseShape(text);
    ASSERT_TRUE(shape.has_value()) << text;
    EXPECT_EQ(shape->ToString(), text);
  }
  for (const char* text : {"", "f32", "f99[1]", "f32[-1]", "f32[1]x", "f32[1]{8}", "f32]1["}) {
    EXPECT_FALSE(ParseShape(text).has_value()) << text;
  }
}

TEST(GraphDeathTest, WhatIsNoValueHasNoShape) {
  if (!kDchecksAreOn) GTEST_SKIP() << "built without DCHECKs";
  const Graph graph = EveryKind();
  EXPECT_DEATH(graph.shape(Value{}), "DCHECK failed: Holds");
  EXPECT_DEATH(graph.shape(Value{0, 1}), "DCHECK failed: Holds");
}

TEST(GraphBuilderDeathTest, ScopesEndInTheOppositeOrder) {
  if (!kDchecksAreOn) GTEST_SKIP() << "built without DCHECKs";
  GraphBuilder b(Graph("g", 1));
  const auto crossed = [&] {
    auto outer = std::make_unique<ScopedName>(b, "outer");
    const ScopedName inner(b, "inner");
    outer.reset();
  };
  EXPECT_DEATH(crossed(), "DCHECK failed: .*scope");
}

TEST(Attrs, TextParsesBack) {
  const Attrs attrs = {{"a", int64_t{-3}},
                       {"b", 0.1},
                       {"c", true},
                       {"d", std::string("x, {y} \"z\"")},
                       {"e", std::vector<int64_t>{1, 2}},
                       {"f", std::vector<double>{1, 0.5}},
                       {"g", DType::kBF16}};
  EXPECT_EQ(attrs.ToString(),
            R"({a=-3, b=0.1f, c=true, d="x, {y} \"z\"", e=[1,2], f=[1f,0.5f], g=bf16})");
  const auto parsed = ParseAttrs(attrs.ToString());
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(*parsed, attrs);
}

}  // namespace
}  // namespace tpurun
