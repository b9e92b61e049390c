// A table that is read by id is trained as one that is multiplied by rows of zeros and a one: on
// the device, with every optimizer and every clipping, the moments that decay in all rows included.
#include "runtime/optimizers/row_gradients.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "runtime/base/random.h"
#include "runtime/compiler/compile.h"
#include "runtime/device/device.h"
#include "runtime/estimator/train_step.h"
#include "runtime/ir/evaluate.h"
#include "runtime/ops/op_list.h"
#include "runtime/ops/ops.h"
#include "tests/compiler/run_on_device.h"

namespace tpurun {
namespace {

constexpr int64_t kRows = 96;

// Row ids[i] of the table: as such, or by a product.
Value RowsAt(GraphBuilder& b, Value table, Value ids, bool by_id) {
  if (by_id) return Gather(b, table, ids);
  const int64_t count = b.shape(ids).num_elements();
  const Value ones = Reshape(b, OneHot(b, ids, kRows), {count, kRows});
  std::vector<int64_t> dims = b.shape(ids).dims;
  dims.push_back(b.shape(table).dims[1]);
  return Reshape(b, MatMul(b, ones, table, Precision::kF32), dims);
}

// One step of a model that reads a table twice: 9 ids a replica.
Graph TrainStep(const proto::Optimizer& optimizer, int replicas, bool by_id) {
  GraphBuilder b(Graph("rows", replicas));
  const Value ids = b.AddInfeed("ids", Shape{DType::kS32, {3, 2}});
  const Value wide_ids = b.AddInfeed("wide_ids", Shape{DType::kS64, {3}});
  const Value target = b.AddInfeed("target", Shape{DType::kF32, {3, 2, 4}});
  const int variable =
      b.AddVariable({.name = "table", .shape = {DType::kF32, {kRows, 4}}, .trainable = true});
  const Value table = b.Read(variable);
  const Value error = Sub(b, RowsAt(b, table, ids, by_id), target);
  EstimatorSpec spec;
  spec.loss = Add(b, ReduceMean(b, Square(b, error)),
                  ReduceMean(b, Square(b, RowsAt(b, table, wide_ids, by_id))));
  spec.optimizers.push_back({optimizer, "optimizer", spec.loss, {variable}});
  EXPECT_TRUE(b.status().ok()) << b.status();
  const Value loss = spec.loss;
  spec.graph = b.Take();
  absl::StatusOr<Graph> graph = BuildTrainStep(std::move(spec));
  EXPECT_TRUE(graph.ok()) << graph.status();
  graph->AddOutput("seen", loss, 1);  // RunOnDevice waits for an output
  return *std::move(graph);
}

// Ids of the first fifth of the table; other numbers from 0.1 to 1.
Literal Filled(const Shape& shape, uint32_t stream) {
  Literal literal(shape);
  for (int64_t i = 0; i < shape.num_elements(); ++i) {
    const float drawn = UniformFloat(PhiloxElement(5, stream, 0, 0, i));
    const auto id = static_cast<int32_t>(drawn * kRows / 5);
    if (shape.dtype == DType::kF32) literal.values<float>()[i] = 0.1f + 0.9f * drawn;
    if (shape.dtype == DType::kS32) literal.values<int32_t>()[i] = id;
    if (shape.dtype == DType::kS64) literal.values<int64_t>()[i] = id;
  }
  return literal;
}

EvaluateArgs ArgsOf(const Graph& graph) {
  EvaluateArgs args;
  uint32_t stream = 0;
  for (const InfeedSlot& slot : graph.infeed()) {
    args.infeed.emplace_back();
    for (int replica = 0; replica < graph.num_replicas(); ++replica)
      args.infeed.back().push_back(Filled(slot.shape, ++stream));
  }
  for (const Variable& variable : graph.variables())
    args.variables[variable.name] = {Filled(variable.shape, ++stream)};
  return args;
}

CoreProgram Compiled(const Graph& graph) {
  absl::StatusOr<CoreProgram> program = Compile(
      graph, {.ops = OpsOfPasses(), .machine = Machine::This(), .loss_output = kLossOutput});
  EXPECT_TRUE(program.ok()) << program.status();
  return *std::move(program);
}

std::map<std::string, std::vector<Literal>> Trained(const Graph& graph, int workers) {
  const auto device = Device::Create(workers);
  return RunOnDevice(device.get(), Compiled(graph), ArgsOf(graph), 3).variables;
}

std::vector<std::string> Optimizers() {
  const std::map<std::string, std::string> kinds = {
      {"adagrad", "adagrad {}"},
      {"adam", "adam { epsilon: 0.01 }"},
      {"adamw", "adamw { epsilon: 0.01 weight_decay_rate: 0.5 }"},
      {"gradient_descent", "gradient_descent {}"},
      {"lamb", "lamb { epsilon: 0.01 weight_decay_rate: 0.5 }"},
      {"momentum", "momentum { momentum: 0.9 use_nesterov: true }"},
      {"rms_prop", "rms_prop { momentum: 0.5 epsilon: 2 centered: true }"}};
  std::vector<std::string> optimizers;
  for (const OptimizerDef& def : OptimizerList()) {
    EXPECT_EQ(kinds.count(def.name), 1u) << "add " << def.name;
    for (const char* clip :
         {"", "clip_by_global_norm: 0.05", "clip_by_norm: 0.05", "clip_by_value: 0.01"})
      optimizers.push_back(
          absl::StrCat(kinds.at(def.name), " learning_rate { constant: 0.1 } ", clip));
  }
  return optimizers;
}

TEST(RowGradientsTest, TrainTheTableAsAProductDoes) {
  for (const std::string& text : Optimizers()) {
    proto::Optimizer optimizer;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &optimizer));
    for (const int replicas : {1, 8}) {
      SCOPED_TRACE(absl::StrCat(text, " on ", replicas));
      const auto got = Trained(TrainStep(optimizer, replicas, true), 2);
      for (const auto& [name, want] : Trained(TrainStep(optimizer, replicas, false), 2)) {
        ASSERT_EQ(got.count(name), 1u) << name;
        if (want[0].shape().dtype != DType::kF32) continue;
        // A few roundings of sums of up to 72 numbers near 1.
        for (int64_t i = 0; i < want[0].shape().num_elements(); ++i) {
          ASSERT_NEAR(got.at(name)[0].values<float>()[i], want[0].values<float>()[i], 3e-6)
              << name << " " << i;
        }
      }
    }
  }
}

TEST(RowGradientsTest, HaveTheBitsOfTheReferenceWhateverTheWorkers) {
  for (const std::string& text : Optimizers()) {
    proto::Optimizer optimizer;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &optimizer));
    const Graph graph = TrainStep(optimizer, 8, true);
    EvaluateArgs args = ArgsOf(graph);
    for (int step = 0; step < 3; ++step) args.variables = Evaluate(graph, args)->variables;
    for (const int workers : {1, 3}) EXPECT_EQ(Trained(graph, workers), args.variables) << text;
  }
}

// No value of the table's size is computed but what becomes of it and its slots, in their memory;
// where only rows with a gradient change, not even that.
TEST(RowGradientsTest, CostWhatTheirIdsCost) {
  for (const std::string& text : Optimizers()) {
    proto::Optimizer optimizer;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &optimizer));
    if (optimizer.has_lamb()) continue;  // the norms are of the whole table
    const bool keeps = optimizer.has_adagrad() || optimizer.has_gradient_descent();
    const CoreProgram program = Compiled(TrainStep(optimizer, 8, true));
    for (const Phase& phase : program.step) {
      for (const Instruction& instruction : phase.instructions) {
        for (const Operand& result : instruction.results) {
          if (result.shape.num_elements() < kRows * 4) continue;
          EXPECT_EQ(result.buffer.space, Space::kVariable) << text << ": " << instruction.name;
          EXPECT_EQ(instruction.op->name, keeps ? "set_rows" : instruction.op->name) << text;
        }
      }
    }
  }
}

// As many ids as the table has rows: the whole table is less work.
TEST(RowGradientsTest, AreOfTheWholeTableWhereThatIsLess) {
  GraphBuilder b(Graph("rows", 8));
  const Value ids = b.AddInfeed("ids", Shape{DType::kS32, {13}});
  const Value x = b.AddInfeed("x", Shape{DType::kF32, {13, 4}});
  const int variable = b.AddVariable({.name = "table", .shape = {DType::kF32, {kRows, 4}}});
  std::vector<VariableGradient> gradients = {{variable, ScatterAdd(b, ids, x, kRows)}};
  FindRows(b, gradients);
  EXPECT_FALSE(gradients[0].ids.valid());
}

}  // namespace
}  // namespace tpurun
