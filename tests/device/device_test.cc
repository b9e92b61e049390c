// The device against the reference interpreter: same bits for every number of workers and length of
// loop.
#include "runtime/device/device.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "runtime/autodiff/gradients.h"
#include "runtime/base/cpu.h"
#include "runtime/base/random.h"
#include "runtime/compiler/compile.h"
#include "runtime/ir/evaluate.h"
#include "runtime/ops/op_list.h"
#include "runtime/ops/ops.h"
#include "runtime/program/combine_parts.h"
#include "runtime/program/fit_to_workers.h"
#include "runtime/program/join_replicas.h"
#include "runtime/program/program_text.h"
#include "runtime/program/verify_program.h"

namespace tpurun {
namespace {

constexpr int64_t kBatch = 16, kFeatures = 5, kClasses = 3;

float Random(uint32_t stream, uint64_t i) {
  return UniformFloat(PhiloxElement(7, stream, 0, 0, i)) - 0.5f;
}

// x (16, 5), labels (16) -> a two-layer classifier, trained by gradient descent with momentum.
Graph TrainGraph(int num_replicas, int64_t period = 1) {
  GraphBuilder b(Graph("train", num_replicas));
  const Precision precision = num_replicas > 1 ? Precision::kDefault : Precision::kF32;
  const Value x = b.AddInfeed("x", Shape{DType::kF32, {kBatch, kFeatures}});
  const Value labels = b.AddInfeed("labels", Shape{DType::kS32, {kBatch}});
  const int w1 =
      b.AddVariable({.name = "w1", .shape = {DType::kF32, {kFeatures, 8}}, .trainable = true});
  const int b1 = b.AddVariable({.name = "b1", .shape = {DType::kF32, {8}}, .trainable = true});
  const int w2 =
      b.AddVariable({.name = "w2", .shape = {DType::kF32, {8, kClasses}}, .trainable = true});
  const int step = b.AddVariable({.name = "global_step", .shape = {DType::kS64, {}}});
  const Value h = Relu(b, BiasAdd(b, MatMul(b, x, b.Read(w1), precision), b.Read(b1)));
  const Value logits = MatMul(b, h, b.Read(w2), precision);
  const Value loss = ReduceMean(b, SparseSoftmaxCrossEntropy(b, logits, labels));
  b.AddOutput("loss", loss, period);
  b.AddOutput("logits", logits, period);
  b.AddOutput("global_step", b.Read(step), period);
  const std::vector<int> variables = {w1, b1, w2};
  const auto gradients = Gradients(b, Mul(b, loss, Scalar(b, 1.0 / num_replicas)),
                                   {b.Read(w1), b.Read(b1), b.Read(w2)});
  EXPECT_TRUE(gradients.ok()) << gradients.status();
  for (size_t i = 0; i < variables.size(); ++i) {
    const Variable variable = b.graph().variables()[variables[i]];
    const int slot = b.AddVariable({.name = variable.name + "/Momentum", .shape = variable.shape});
    const Value gradient = num_replicas > 1 ? CrossReplicaSum(b, (*gradients)[i]) : (*gradients)[i];
    const Value momentum = Add(b, Mul(b, b.Read(slot), Scalar(b, 0.9)), gradient);
    b.Update(slot, momentum);
    b.Update(variables[i], Sub(b, b.Read(variables[i]), Mul(b, momentum, Scalar(b, 0.1))));
  }
  b.Update(step, Add(b, b.Read(step), ConstantInt(b, DType::kS64, {}, {1})));
  EXPECT_TRUE(b.status().ok()) << b.status();
  return b.Take();
}

Literal InitialValue(const Variable& variable) {
  Literal literal(variable.shape);
  if (!variable.trainable) return literal;
  for (int64_t i = 0; i < variable.shape.num_elements(); ++i) {
    literal.values<float>()[i] = Random(StreamOf(variable.name), i);
  }
  return literal;
}

// The infeed of one step, all replicas.
std::vector<std::vector<Literal>> Batch(const Graph& graph, int64_t step) {
  std::vector<std::vector<Literal>> slots(2);
  for (int replica = 0; replica < graph.num_replicas(); ++replica) {
    Literal x(graph.infeed()[0].shape), labels(graph.infeed()[1].shape);
    for (int64_t i = 0; i < x.shape().num_elements(); ++i) {
      x.values<float>()[i] = Random(1, (step * 8 + replica) * 100000 + i);
    }
    for (int64_t i = 0; i < kBatch; ++i)
      labels.values<int32_t>()[i] = (step + replica + i) % kClasses;
    slots[0].push_back(x);
    slots[1].push_back(labels);
  }
  return slots;
}

struct Trained {
  int64_t calls = 0;  // of all workers
  std::map<std::string, std::vector<Literal>> variables;
  std::vector<std::vector<std::vector<Literal>>> outputs;  // [step][output][replica]
  std::vector<float> loss;
};

Trained TrainOnInterpreter(const Graph& graph, int64_t steps) {
  const ScopedFlushDenormals flush;
  Trained trained;
  for (const Variable& variable : graph.variables())
    trained.variables[variable.name] = {InitialValue(variable)};
  for (int64_t step = 0; step < steps; ++step) {
    auto result = Evaluate(graph, {.infeed = Batch(graph, step), .variables = trained.variables});
    EXPECT_TRUE(result.ok()) << result.status();
    trained.variables = result->variables;
    trained.outputs.push_back(result->outputs);
  }
  return trained;
}

// `new_versions`: the prologue runs before every loop, not only before the first. `alone`: now and
// then one worker computes steps alone.
Trained TrainOnDevice(const Graph& graph, int64_t steps, int workers, int64_t loop,
                      bool new_versions = false, bool alone = false) {
  auto program = Compile(graph, {.ops = OpsOfPasses(), .loss_output = "loss"});
  EXPECT_TRUE(program.ok()) << program.status();
  const std::optional<CoreProgram> for_one = alone ? FitToOneWorker(*program) : std::nullopt;
  EXPECT_EQ(for_one.has_value(), alone);
  CombineParts(workers, *program);
  EXPECT_TRUE(VerifyProgram(*program).ok()) << VerifyProgram(*program);
  if (alone) JoinReplicas(workers, *program);
  std::map<std::string, Literal> store;
  std::vector<void*> variables;
  for (const Variable& variable : program->variables) {
    variables.push_back(store.insert({variable.name, InitialValue(variable)}).first->second.data());
  }
  const auto device = Device::Create(workers);
  EXPECT_EQ(device->num_workers(), workers);
  auto loaded = device->Load(*program, variables, alone ? &*for_one : nullptr);
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  const SlotLayout in = LayoutOf(program->infeed, program->num_replicas);
  const SlotLayout out = LayoutOf(program->outfeed, program->num_replicas);
  EntryRing infeed(in.bytes, 4, 2), outfeed(OutfeedEntryBytes(*program), 4, 2);
  std::thread producer([&] {
    for (int64_t step = 0; step < steps; ++step) {
      auto entry = infeed.Reserve();
      ASSERT_TRUE(entry.ok()) << entry.status();
      const auto batch = Batch(graph, step);
      for (size_t slot = 0; slot < batch.size(); ++slot) {
        for (size_t replica = 0; replica < batch[slot].size(); ++replica) {
          std::memcpy(*entry + in.offsets[slot] + replica * in.replica_bytes[slot],
                      batch[slot][replica].data(), in.replica_bytes[slot]);
        }
      }
      infeed.Commit();
    }
  });
  Trained trained;
  std::thread consumer([&] {
    for (int64_t step = 0; step < steps; step += program->outfeed[0].period) {
      const auto entry = outfeed.Front();
      ASSERT_TRUE(entry.ok()) << entry.status();
      std::vector<std::vector<Literal>> outputs;
      for (size_t slot = 0; slot < program->outfeed.size(); ++slot) {
        outputs.emplace_back();
        for (int replica = 0; replica < program->num_replicas; ++replica) {
          outputs.back().emplace_back(program->outfeed[slot].shape);
          std::memcpy(
              outputs.back().back().data(),
              *entry + kOutfeedHeaderBytes + out.offsets[slot] + replica * out.replica_bytes[slot],
              out.replica_bytes[slot]);
        }
      }
      trained.outputs.push_back(std::move(outputs));
      outfeed.Pop();
    }
  });
  for (int64_t step = 0; step < steps;) {
    const RunResult result = device->Run(**loaded, {.iterations = std::min(loop, steps - step),
                                                    .first_step = step,
                                                    .variables_version = new_versions ? step : 0,
                                                    .infeed = &infeed,
                                                    .outfeed = &outfeed});
    EXPECT_TRUE(result.status.ok()) << result.status;
    step += result.steps;
    trained.loss = result.loss;
    if (result.steps == 0) break;
  }
  producer.join();
  consumer.join();
  // A worker that the system does not run leaves its parts to the others.
  const std::vector<int64_t> ran = device->InstructionsRun();
  EXPECT_EQ(std::ssize(ran), device->num_workers());
  trained.calls = std::accumulate(ran.begin(), ran.end(), int64_t{0});
  EXPECT_GT(trained.calls, 0);
  for (const auto& [name, literal] : store) trained.variables[name] = {literal};
  return trained;
}

class DeviceTest : public ::testing::TestWithParam<int> {};

TEST_P(DeviceTest, EqualsTheJudgeBitForBitWithAnyWorkersAndLoops) {
  const Graph graph = TrainGraph(GetParam());
  constexpr int64_t kSteps = 20;
  const Trained want = TrainOnInterpreter(graph, kSteps);
  for (const int workers : {1, 2, 4, 8}) {
    for (const int64_t loop : {1, 7, 20}) {
      const Trained got = TrainOnDevice(graph, kSteps, workers, loop);
      EXPECT_EQ(got.variables, want.variables) << workers << " workers, loops of " << loop;
      EXPECT_EQ(got.outputs, want.outputs) << workers << " workers, loops of " << loop;
      ASSERT_EQ(got.loss.size(), GetParam());
      for (int replica = 0; replica < GetParam(); ++replica) {
        EXPECT_EQ(got.loss[replica], want.outputs.back()[0][replica].values<float>()[0]);
      }
    }
  }
  EXPECT_EQ(want.variables.at("global_step")[0], Literal::Scalar<int64_t>(kSteps));
}

// Convolutions and products large enough for the library, which keeps arguments for each worker.
Graph LibraryGraph(int num_replicas) {
  GraphBuilder b(Graph("library", num_replicas));
  const Precision precision = num_replicas > 1 ? Precision::kDefault : Precision::kF32;
  const Value x = b.AddInfeed("x", Shape{DType::kF32, {kBatch, 12, 12, 4}});
  const Value labels = b.AddInfeed("labels", Shape{DType::kS32, {kBatch}});
  const int conv =
      b.AddVariable({.name = "conv", .shape = {DType::kF32, {3, 3, 4, 16}}, .trainable = true});
  const int wide_conv =
      b.AddVariable({.name = "wide", .shape = {DType::kF32, {5, 5, 16, 32}}, .trainable = true});
  const int dense = b.AddVariable(
      {.name = "dense", .shape = {DType::kF32, {1152, kClasses * 32}}, .trainable = true});
  const Value h = MaxPool(b, Relu(b, Conv2d(b, x, b.Read(conv), {1, 1}, {1, 1, 1, 1}, precision)),
                          {2, 2}, {2, 2}, {0, 0, 0, 0});
  const Value wide =
      Relu(b, Conv2d(b, h, b.Read(wide_conv), {1, 1}, {2, 2, 2, 2}, Precision::kF32));
  const Value logits = MatMul(b, Reshape(b, wide, {kBatch, 1152}), b.Read(dense), precision);
  const Value loss = ReduceMean(b, SparseSoftmaxCrossEntropy(b, logits, labels));
  b.AddOutput("loss", loss);
  const auto gradients = Gradients(b, loss, {b.Read(conv), b.Read(wide_conv), b.Read(dense)});
  EXPECT_TRUE(gradients.ok()) << gradients.status();
  for (const auto& [variable, gradient] :
       {std::pair(conv, (*gradients)[0]), std::pair(wide_conv, (*gradients)[1]),
        std::pair(dense, (*gradients)[2])}) {
    const Value sum = num_replicas > 1 ? CrossReplicaSum(b, gradient) : gradient;
    b.Update(variable, Sub(b, b.Read(variable), Mul(b, sum, Scalar(b, 0.01))));
  }
  EXPECT_TRUE(b.status().ok()) << b.status();
  return b.Take();
}

// Other orders of the same f32 sums. After one step: what is rounded to bf16 a little differently
// grows from then on.
void ExpectNearInterpreter(const Graph& graph) {
  const Trained first = TrainOnDevice(graph, 1, 2, 1);
  const Trained interpreted = TrainOnInterpreter(graph, 1);
  for (const auto& [name, literals] : interpreted.variables) {
    for (int64_t i = 0; i < literals[0].shape().num_elements(); ++i) {
      ASSERT_NEAR(first.variables.at(name)[0].values<float>()[i], literals[0].values<float>()[i],
                  1e-3)
          << name;
    }
  }
}

// A trial begins with step 32. The second loops end within its windows. Steps with outputs are
// those of all workers.
TEST_P(DeviceTest, StepsOfOneWorkerAloneGiveTheSameBits) {
  if (AllowedCpus().size() < 2) GTEST_SKIP() << "more workers than CPUs have no trials";
  const Graph graph = TrainGraph(GetParam(), 7);
  constexpr int64_t kSteps = 1000;
  const Trained want = TrainOnDevice(graph, kSteps, 2, kSteps);
  for (const int64_t loop : {kSteps, int64_t{13}}) {
    const Trained got = TrainOnDevice(graph, kSteps, 2, loop, false, true);
    EXPECT_EQ(got.variables, want.variables);
    EXPECT_EQ(got.outputs, want.outputs);
    EXPECT_EQ(got.loss, want.loss);
    // Of the program for one worker, instructions that several share have fewer calls.
    if (GetParam() == 1) {
      EXPECT_LT(got.calls, want.calls);
    }
  }
}

TEST_P(DeviceTest, LibraryKernelsGiveTheSameBitsWithAnyWorkers) {
  const Graph graph = LibraryGraph(GetParam());
  const auto program = Compile(graph, {.ops = OpsOfPasses(), .loss_output = "loss"});
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(absl::StrContains(PrintProgram(*program), "cross_replica_matmul"), GetParam() > 1);
  EXPECT_EQ(absl::StrContains(PrintProgram(*program), "parts=2 columns=32"), GetParam() == 1);
  const Trained want = TrainOnDevice(graph, 4, 1, 4);
  for (const int workers : {2, 4, 8}) {
    const Trained got = TrainOnDevice(graph, 4, workers, 3);
    EXPECT_EQ(got.variables, want.variables) << workers << " workers";
    EXPECT_EQ(got.outputs, want.outputs) << workers << " workers";
  }
  // The packed weights that a step leaves to the next are those of the variables.
  EXPECT_TRUE(absl::StrContains(PrintProgram(*program), "pack {"));
  EXPECT_EQ(TrainOnDevice(graph, 4, 2, 1, true).variables, want.variables);
  ExpectNearInterpreter(graph);
}

// Dilated, grouped, one channel a group, and back to the size of the image.
Graph ConvolutionsGraph(int num_replicas) {
  GraphBuilder b(Graph("convolutions", num_replicas));
  const Precision precision = num_replicas > 1 ? Precision::kDefault : Precision::kF32;
  Value y = b.AddInfeed("x", Shape{DType::kF32, {kBatch, 12, 12, 4}});
  const Value labels = b.AddInfeed("labels", Shape{DType::kS32, {kBatch}});
  std::vector<int> variables;
  std::vector<Value> kernels;
  const auto kernel = [&](std::vector<int64_t> dims) {
    variables.push_back(b.AddVariable({.name = absl::StrCat("kernel", variables.size()),
                                       .shape = {DType::kF32, std::move(dims)},
                                       .trainable = true}));
    kernels.push_back(b.Read(variables.back()));
    return kernels.back();
  };
  y = Relu(b, Conv2d(b, y, kernel({3, 3, 4, 16}), {1, 1}, {2, 2, 2, 2}, precision, {2, 2}));
  y = Relu(b, Conv2d(b, y, kernel({3, 3, 4, 32}), {2, 2}, {0, 1, 0, 1}, precision));
  y = Relu(b, Conv2d(b, y, kernel({3, 3, 1, 32}), {1, 1}, {1, 1, 1, 1}, precision));
  y = Conv2dTranspose(b, y, kernel({3, 3, 8, 32}), {12, 12}, {2, 2}, {0, 1, 0, 1}, precision);
  const Value logits = ReduceMean(b, y, {1, 2});
  const Value loss = ReduceMean(b, SparseSoftmaxCrossEntropy(b, logits, labels));
  b.AddOutput("loss", loss);
  const auto gradients = Gradients(b, loss, kernels);
  EXPECT_TRUE(gradients.ok()) << gradients.status();
  for (size_t i = 0; i < variables.size(); ++i) {
    const Value gradient = (*gradients)[i];
    const Value sum = num_replicas > 1 ? CrossReplicaSum(b, gradient) : gradient;
    b.Update(variables[i], Sub(b, kernels[i], Mul(b, sum, Scalar(b, 0.01))));
  }
  EXPECT_TRUE(b.status().ok()) << b.status();
  return b.Take();
}

TEST_P(DeviceTest, EveryKindOfConvolutionGivesTheSameBitsWithAnyWorkers) {
  const Graph graph = ConvolutionsGraph(GetParam());
  const Trained want = TrainOnDevice(graph, 4, 1, 4);
  for (const int workers : {2, 4, 8}) {
    const Trained got = TrainOnDevice(graph, 4, workers, 3);
    EXPECT_EQ(got.variables, want.variables) << workers << " workers";
    EXPECT_EQ(got.outputs, want.outputs) << workers << " workers";
  }
  ExpectNearInterpreter(graph);
}

INSTANTIATE_TEST_SUITE_P(Replicas, DeviceTest, ::testing::Values(1, 8));

// The training graph on a device, its variables in `store`; with `true` where one worker computes
// the next step alone.
class LoadedTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    auto compiled = Compile(TrainGraph(8, 0), {.ops = OpsOfPasses(), .loss_output = "loss"});
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    program_ = *std::move(compiled);
    std::vector<void*> variables;
    for (const Variable& variable : program_.variables)
      variables.push_back(
          store_.insert({variable.name, InitialValue(variable)}).first->second.data());
    const std::optional<CoreProgram> for_one = FitToOneWorker(program_);
    ASSERT_TRUE(for_one.has_value());
    auto loaded = device_->Load(program_, variables, &*for_one);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    loaded_ = *std::move(loaded);
    if (!GetParam()) return;
    if (AllowedCpus().size() < 2) GTEST_SKIP() << "more workers than CPUs have no trials";
    RunUntilAlone();
  }

  // Runs steps until one worker is to compute the next one alone.
  void RunUntilAlone() {
    EntryRing infeed(LayoutOf(program_.infeed, 8).bytes, 8, 1);
    for (int run = 0; run < 10000 && !loaded_->sharing.alone(); ++run) {
      for (int i = 0; i < 8; ++i) {
        ASSERT_TRUE(infeed.Reserve().ok());
        infeed.Commit();
      }
      ASSERT_EQ(device_->Run(*loaded_, {.iterations = 8, .infeed = &infeed}).steps, 8);
    }
    ASSERT_TRUE(loaded_->sharing.alone());
  }

  CoreProgram program_;
  std::map<std::string, Literal> store_;
  std::unique_ptr<Device> device_ = Device::Create(2);
  std::unique_ptr<LoadedProgram> loaded_;
};

INSTANTIATE_TEST_SUITE_P(Workers, LoadedTest, ::testing::Bool(), [](const auto& info) {
  return std::string(info.param ? "OneAlone" : "All");
});

TEST_P(LoadedTest, StopsBeforeTheUpdateWhenALossIsNotFinite) {
  const SlotLayout in = LayoutOf(program_.infeed, 8);
  EntryRing infeed(in.bytes, 2, 1);
  auto entry = infeed.Reserve();
  const int32_t bad_label = 99;
  std::memcpy(*entry + in.offsets[1] + 3 * in.replica_bytes[1], &bad_label, sizeof(bad_label));
  infeed.Commit();
  const std::map<std::string, Literal> before = store_;
  const RunResult result = device_->Run(*loaded_, {.iterations = 5, .infeed = &infeed});
  EXPECT_TRUE(result.loss_not_finite);
  EXPECT_EQ(result.bad_replica, 3);
  EXPECT_EQ(result.steps, 0);
  EXPECT_EQ(result.status.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(infeed.consumed(), 0);
  EXPECT_TRUE(store_ == before);
}

// A prologue of two phases: the sum reads what all parts of the first one wrote.
TEST(Device, ARunWithoutAStepLeavesThePrologueToTheNext) {
  GraphBuilder b(Graph("g", 1));
  const int fixed = b.AddVariable({.name = "fixed", .shape = {DType::kF32, {64, 1024}}});
  const int total = b.AddVariable({.name = "total", .shape = {DType::kF32, {}}});
  const Value sum = ReduceSum(b, Square(b, b.Read(fixed)));
  b.Update(total, Add(b, b.Read(total), sum));
  const auto program = Compile(b.Take(), {.ops = OpsOfPasses()});
  ASSERT_TRUE(program.ok()) << program.status();
  ASSERT_EQ(program->prologue.size(), 2);
  std::vector<float> ones(64 * 1024, 1);
  alignas(64) float result = 0;
  std::vector<void*> variables(2);
  variables[fixed] = ones.data();
  variables[total] = &result;
  const auto device = Device::Create(2);
  auto loaded = device->Load(*program, variables);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const std::atomic<int> interrupt{1};
  EXPECT_TRUE(device->Run(**loaded, {.interrupt = &interrupt}).interrupted);
  EXPECT_EQ(result, 0);
  EXPECT_EQ(device->Run(**loaded, {}).steps, 1);
  EXPECT_EQ(result, 64 * 1024);
}

TEST_P(LoadedTest, AClosedInfeedEndsTheRunWithItsStatusAfterTheLastBatch) {
  EntryRing infeed(LayoutOf(program_.infeed, 8).bytes, 4, 1);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(infeed.Reserve().ok());
    infeed.Commit();
  }
  infeed.Close(absl::DataLossError("record 3 is damaged"));
  const RunResult result = device_->Run(*loaded_, {.iterations = 5, .infeed = &infeed});
  EXPECT_EQ(result.steps, 3);
  EXPECT_EQ(result.status, absl::DataLossError("record 3 is damaged"));
}

TEST_P(LoadedTest, AnInterruptStopsAtAStepEvenWhileWaitingForInput) {
  EntryRing infeed(LayoutOf(program_.infeed, 8).bytes, 4, 1);
  ASSERT_TRUE(infeed.Reserve().ok());
  infeed.Commit();
  std::atomic<int> interrupt{0};
  std::thread signal([&] {
    while (infeed.consumed() < 1) std::this_thread::yield();
    interrupt.store(1);
  });
  const RunResult result =
      device_->Run(*loaded_, {.iterations = 5, .infeed = &infeed, .interrupt = &interrupt});
  signal.join();
  EXPECT_TRUE(result.interrupted);
  EXPECT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(result.steps, 1);
}

// The mask of signals that each thread of this process blocks.
std::vector<uint64_t> BlockedSignals() {
  std::vector<uint64_t> masks;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(task.path() / "status");
    std::string word;
    while (status >> word && word != "SigBlk:") {
    }
    status >> std::hex >> masks.emplace_back();
  }
  return masks;
}

TEST(DeviceThreads, LeaveSignalsToOthers) {
  const std::vector<uint64_t> before = BlockedSignals();
  const std::unique_ptr<Device> device = Device::Create(3);
  const std::vector<uint64_t> masks = BlockedSignals();
  const auto block = [](const std::vector<uint64_t>& masks) {
    return std::count_if(masks.begin(), masks.end(),
                         [](uint64_t mask) { return (mask >> (SIGTERM - 1) & 1) != 0; });
  };
  EXPECT_EQ(masks.size(), before.size() + 3);
  EXPECT_EQ(block(masks), block(before) + 3);
}

}  // namespace
}  // namespace tpurun
