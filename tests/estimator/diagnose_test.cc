#include "runtime/estimator/diagnose.h"

#include <cstring>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/ops/ops.h"

namespace tpurun {
namespace {

// x (2) and w (2): exp(x), of which one infinity is masked, plus log(w).
struct Masked {
  Masked() {
    GraphBuilder b(Graph("masked", 1));
    const Value x = b.AddInfeed("x", Shape{DType::kF32, {2}});
    const int w = b.AddVariable({.name = "w", .shape = {DType::kF32, {2}}});
    big = Exp(b, x);
    masked = Select(b, Greater(b, x, Scalar(b, 50)), Scalar(b, 1), big);
    sum = Add(b, masked, Log(b, b.Read(w)));
    EXPECT_TRUE(b.status().ok()) << b.status();
    graph = b.Take();
    EXPECT_TRUE(store.Add(graph.variables()).ok());
  }

  std::string Find(Value value, std::vector<float> x, std::vector<float> w) {
    std::memcpy(store.FindMutable("w")->copy(0), w.data(), 8);
    std::byte entry[64] = {};
    std::memcpy(entry, x.data(), 8);
    const auto found =
        FindNonFinite(graph, store, entry, 0, {{.name = "x", .shape = {DType::kF32, {}}}}, value);
    EXPECT_TRUE(found.ok()) << found.status();
    return found.ok() ? found->what : "";
  }

  Graph graph;
  VariableStore store{1};
  Value big, masked, sum;
};

TEST(DiagnoseTest, WhatTheModelMasksIsNoCause) {
  Masked masked;
  EXPECT_EQ(masked.Find(masked.big, {1, 100}, {1, 1}), "first in node \"exp\" (exp)");
  EXPECT_EQ(masked.Find(masked.masked, {1, 100}, {1, 1}), "");
  EXPECT_EQ(masked.Find(masked.sum, {1, 100}, {1, 1}), "");
  EXPECT_EQ(masked.Find(masked.sum, {1, 100}, {1, 0}), "first in node \"log\" (log)");
}

TEST(DiagnoseTest, TheFirstOfSeveralIsNamed) {
  Masked masked;
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(masked.Find(masked.sum, {1, -inf}, {1, 0}), "first in node \"log\" (log)");
  EXPECT_EQ(masked.Find(masked.big, {1, inf}, {1, 0}),
            "feature \"x\" is inf in row 2 of the batch");
}

}  // namespace
}  // namespace tpurun
