#include "tests/compiler/random_graph.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/ir/collectives.h"
#include "runtime/ir/elementwise.h"
#include "runtime/ops/ops.h"
#include "tests/compiler/evaluate_args.h"

namespace tpurun {

Graph RandomGraph(uint32_t seed, const RandomGraphOptions& options) {
  const std::vector<int64_t>& widths = options.widths;
  Dice dice(seed);
  const int drawn = dice.Below(2) == 0 ? 1 : 8;
  const int replicas = options.replicas > 0 ? options.replicas : drawn;
  const int64_t rows = 3 + dice.Below(12);
  GraphBuilder b(Graph(absl::StrCat("random_", seed), replicas));
  std::vector<Value> matrices;
  for (const int64_t width : widths) {
    matrices.push_back(b.AddInfeed(absl::StrCat("x", width), Shape{DType::kF32, {rows, width}}));
  }
  std::vector<int> variables;
  for (int i = 0; i < 4; ++i) {
    const int64_t k = widths[dice.Below(3)], n = widths[dice.Below(3)];
    variables.push_back(
        b.AddVariable({.name = absl::StrCat("w", i), .shape = {DType::kF32, {k, n}}}));
  }
  const int kernel = b.AddVariable({.name = "kernel", .shape = {DType::kF32, {1, 3, 1, 1}}});
  std::map<int64_t, int> statistics;  // by width
  for (const int64_t width : widths) {
    statistics[width] =
        b.AddVariable({.name = absl::StrCat("s", width), .shape = {DType::kF32, {width}}});
  }
  const auto updated = [&](int variable) {
    const auto& updates = b.graph().updates();
    return std::any_of(updates.begin(), updates.end(),
                       [&](const Update& update) { return update.variable == variable; });
  };
  // Of 8 replicas: none, or one of four, two or eight.
  const auto any_groups = [&] {
    std::vector<int64_t> groups(std::max(8, replicas));
    const int size = 1 << dice.Below(3);
    for (int replica = 0; replica < std::ssize(groups); ++replica)
      groups[replica] = options.interleaved_groups ? replica % size : replica / size;
    return replicas == 1 || dice.Below(4) == 0 ? std::vector<int64_t>() : groups;
  };
  const auto as_image = [&](Value x) {
    return Reshape(b, x, {b.shape(x).dims[0], 1, b.shape(x).dims[1], 1});
  };
  const auto any = [&] { return matrices[dice.Below(static_cast<int>(matrices.size()))]; };
  const auto like = [&](Value x) {
    std::vector<Value> same;
    for (const Value m : matrices) {
      if (b.shape(m).dims == b.shape(x).dims) same.push_back(m);
    }
    return same[dice.Below(static_cast<int>(same.size()))];
  };
  std::vector<Value> updates;
  for (int i = 0; i < options.ops; ++i) {
    const Value x = any();
    switch (dice.Below(21)) {
      case 0:
        matrices.push_back(Relu(b, x));
        break;
      case 1:
        matrices.push_back(Add(b, x, like(x)));
        break;
      case 2:
        matrices.push_back(Mul(b, x, like(x)));
        break;
      case 3:
        matrices.push_back(Tanh(b, x));
        break;
      case 4:
        matrices.push_back(Softmax(b, x));
        break;
      case 5: {
        const Value w = b.Read(variables[dice.Below(4)]);
        if (b.shape(w).dims[0] != b.shape(x).dims[1]) break;
        matrices.push_back(MatMul(b, x, w, Precision::kDefault));
        break;
      }
      case 6: {
        // x' y: a weight gradient, the same on all cores after the sum.
        const int variable = variables[dice.Below(4)];
        const Shape shape = b.graph().variables()[variable].shape;
        for (const Value y : matrices) {
          if (b.shape(x).dims[1] != shape.dims[0] || b.shape(y).dims[1] != shape.dims[1]) continue;
          if (updated(variable)) break;
          const Value g = CrossReplicaSum(b, MatMul(b, x, y, Precision::kF32, true));
          b.Update(variable, dice.Below(2) == 0 ? Sub(b, b.Read(variable), g) : Add(b, g, g));
          break;
        }
        break;
      }
      case 7:
        matrices.push_back(Mul(b, x, Broadcast(b, ReduceMax(b, x, {1}), b.shape(x).dims, {0})));
        break;
      case 8:
        matrices.push_back(Sub(b, x, ReduceMean(b, like(x))));
        break;
      case 9: {
        // A variable takes another's old value.
        const int to = variables[dice.Below(4)], from = variables[dice.Below(4)];
        const auto& all = b.graph().variables();
        if (all[to].shape == all[from].shape && !updated(to)) b.Update(to, b.Read(from));
        break;
      }
      case 10: {
        // Constants that say what a few steps compute; a value that one of them leaves as it is.
        const Value c = Mul(b, Scalar(b, dice.Float()), Scalar(b, dice.Below(3)));
        const Value full = Broadcast(b, c, b.shape(x).dims, {});
        matrices.push_back(Add(b, Div(b, x, Scalar(b, 1)), dice.Below(2) == 0 ? c : full));
        break;
      }
      case 11: {
        // There and back.
        const std::vector<int64_t> dims = b.shape(x).dims;
        const Value flat = Reshape(b, x, {dims[0] * dims[1]});
        matrices.push_back(Neg(b, Neg(b, Reshape(b, flat, dims))));
        break;
      }
      case 12: {
        // The same again.
        const Value y = like(x);
        matrices.push_back(Sub(b, Mul(b, x, y), Square(b, Mul(b, x, y))));
        break;
      }
      case 13:
        matrices.push_back(Select(b, Greater(b, x, Scalar(b, 0)), Sub(b, x, Scalar(b, 0)),
                                  Convert(b, Convert(b, x, DType::kBF16), DType::kF32)));
        break;
      case 14:
        // Rows that go with all rows, of a group of replicas.
        matrices.push_back(Sub(b, x, CrossReplicaSum(b, SumOfRows(b, like(x)), any_groups())));
        break;
      case 15: {
        // A batch norm with a moving statistic.
        const int statistic = statistics[b.shape(x).dims[1]];
        const auto [mean, variance] = Moments(b, x);
        matrices.push_back(BatchNorm(b, x, mean, variance, b.Read(statistic), mean, 0.5));
        if (!updated(statistic)) b.Update(statistic, Add(b, b.Read(statistic), variance));
        break;
      }
      case 16: {
        const Value y = Conv2d(b, as_image(x), b.Read(kernel), {1, 1}, {0, 0, 1, 1},
                               dice.Below(2) == 0 ? Precision::kDefault : Precision::kF32);
        matrices.push_back(Reshape(b, Relu(b, y), b.shape(x).dims));
        break;
      }
      case 17:
        matrices.push_back(Reshape(
            b, MaxPool(b, Relu(b, as_image(x)), {1, 3}, {1, 1}, {0, 0, 1, 1}), b.shape(x).dims));
        break;
      case 18:
        // Stored in bf16 and read by ops whose numbers are f32.
        matrices.push_back(Add(b, Convert(b, x, DType::kBF16), like(x)));
        break;
      case 19: {
        // Attention of the numbers of a row to one another, each a vector of one; to and fro.
        const auto as_vectors = [&](Value y) {
          return Reshape(b, y, {b.shape(x).dims[0], b.shape(x).dims[1], 1});
        };
        const Precision precision = dice.Below(2) == 0 ? Precision::kDefault : Precision::kF32;
        const Value scores =
            Softmax(b, BatchMatMul(b, as_vectors(x), as_vectors(like(x)), precision, false, true));
        const Value back = BatchMatMul(b, scores, scores, precision, dice.Below(2) == 0);
        matrices.push_back(Reshape(b, BatchMatMul(b, back, as_vectors(like(x)), precision, true),
                                   b.shape(x).dims));
        break;
      }
      case 20: {
        // Columns ahead of rows and back; once among dimensions of one entry, once three times.
        const Value columns = Transpose(b, x, {1, 0});
        const Value image = Transpose(b, as_image(like(x)), {2, 1, 0, 3});
        const Value sum = Add(b, columns, Reshape(b, image, b.shape(columns).dims));
        matrices.push_back(
            Transpose(b, Transpose(b, Transpose(b, Tanh(b, sum), {1, 0}), {1, 0}), {1, 0}));
        break;
      }
    }
  }
  b.AddOutput("last", matrices.back());
  b.AddOutput("any", any());
  b.AddOutput("sum", ReduceSum(b, any()));
  b.AddOutput("w0", b.Read(variables[0]));
  EXPECT_TRUE(b.status().ok()) << b.status();
  return b.Take();
}

EvaluateArgs RandomArgs(const Graph& graph, uint32_t seed) {
  Dice dice(seed + 1000);
  const auto fill = [&](const Shape& shape) {
    Literal literal(shape);
    for (float& value : literal.values<float>()) value = dice.Float();
    return literal;
  };
  return FilledArgs(graph, fill);
}

}  // namespace tpurun
