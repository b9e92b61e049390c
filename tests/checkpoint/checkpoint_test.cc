#include "runtime/checkpoint/checkpoint.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/io/checkpoint_state.h"
#include "runtime/io/file.h"
#include "runtime/optimizers/moving_average.h"
#include "tests/io/temp_dir.h"

namespace tpurun {
namespace {

const RunState kState = {.input_position = "row 7",
                         .machine = "x86_64, tpurun",
                         .model = "use_tpu: false\n",
                         .input_files = {"10 00000000 00000001", "stream"},
                         .assets = {{"vocabulary.txt", "6 89abcdef"}, {"words", "0 00000000"}}};

std::vector<Variable> Variables() {
  const Initializer uniform = {Initializer::Kind::kUniform, -1, 1};
  Variable per_core = {.name = "stats", .shape = {DType::kF32, {3}}, .initializer = uniform};
  per_core.per_core = true;
  return {{.name = "a/kernel",
           .shape = {DType::kF32, {2, 3}},
           .initializer = uniform,
           .trainable = true},
          {.name = "global_step",
           .shape = {DType::kS64, {}},
           .initializer = {Initializer::Kind::kConstant, 12}},
          per_core};
}

VariableStore MakeStore(const std::vector<Variable>& variables, uint64_t seed) {
  VariableStore store(8);
  EXPECT_TRUE(store.Add(variables).ok());
  EXPECT_TRUE(store.Initialize(seed).ok());
  return store;
}

void SetCopy(VariableStore& store, const std::string& name, int copy, float value) {
  StoredVariable& stored = *store.FindMutable(name);
  std::memcpy(stored.copy(copy), &value, sizeof(value));
}

void Overwrite(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

bool SameValues(const VariableStore& a, const VariableStore& b) {
  return a.ToLiterals() == b.ToLiterals();
}

absl::Status Restore(const std::string& prefix, VariableStore& store) {
  absl::StatusOr<Checkpoint> checkpoint = Checkpoint::Open(prefix);
  if (!checkpoint.ok()) return checkpoint.status();
  if (const auto state = checkpoint->ReadRunState(); !state.ok()) return state.status();
  if (const auto step = checkpoint->GlobalStep(); !step.ok()) return step.status();
  return checkpoint->Restore(true, store);
}

TEST(CheckpointTest, GivesBackEveryVariableAndTheRunState) {
  TempDir dir;
  auto saved = MakeStore(Variables(), 1);
  for (int core = 0; core < 8; ++core) SetCopy(saved, "stats", core, core);
  ASSERT_TRUE(WriteCheckpoint(saved, kState, dir.Path("model.ckpt-12")).ok());
  const auto checkpoint = Checkpoint::Open(dir.Path("model.ckpt-12"));
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  auto restored = MakeStore(Variables(), 2);
  EXPECT_FALSE(SameValues(saved, restored));
  ASSERT_TRUE(checkpoint->Restore(true, restored).ok());
  EXPECT_TRUE(SameValues(saved, restored));
  EXPECT_EQ(*checkpoint->GlobalStep(), 12);
  EXPECT_EQ(checkpoint->ReadRunState()->input_position, "row 7");
  EXPECT_EQ(checkpoint->ReadRunState()->input_files, kState.input_files);
  EXPECT_EQ(checkpoint->ReadRunState()->assets, kState.assets);
  EXPECT_EQ(checkpoint->ReadRunState()->model, kState.model);
  EXPECT_EQ(checkpoint->ReadRunState()->machine, kState.machine);
}

TEST(CheckpointTest, APerCoreVariableIsReplicaZerosUnderItsNameAndAllEightBeside) {
  TempDir dir;
  auto saved = MakeStore(Variables(), 1);
  for (int core = 0; core < 8; ++core) SetCopy(saved, "stats", core, 10 + core);
  ASSERT_TRUE(WriteCheckpoint(saved, kState, dir.Path("c")).ok());
  const auto reader = BundleReader::Open(dir.Path("c"));
  ASSERT_TRUE(reader.ok());
  const BundleEntry* const one = (*reader)->Find("stats");
  const BundleEntry* const all = (*reader)->Find("tpurun/core/stats");
  ASSERT_NE(one, nullptr);
  ASSERT_NE(all, nullptr);
  EXPECT_EQ(one->shape, (std::vector<int64_t>{3}));
  EXPECT_EQ(all->shape, (std::vector<int64_t>{8, 3}));
  const std::string bytes = *(*reader)->ReadBytes(*all);
  EXPECT_EQ(reinterpret_cast<const float*>(bytes.data())[3 * 5], 15);

  // One replica reads replica 0's copy.
  std::vector<Variable> shared = Variables();
  shared[2].per_core = false;
  auto restored = MakeStore(shared, 2);
  ASSERT_TRUE(Restore(dir.Path("c"), restored).ok());
  EXPECT_EQ(*reinterpret_cast<const float*>(restored.Find("stats")->copy(0)), 10);
}

TEST(CheckpointTest, EqualVariablesGiveEqualBytes) {
  TempDir dir;
  const auto store = MakeStore(Variables(), 1);
  ASSERT_TRUE(WriteCheckpoint(store, kState, dir.Path("a")).ok());
  ASSERT_TRUE(WriteCheckpoint(store, kState, dir.Path("b")).ok());
  EXPECT_EQ(*ReadFile(BundleIndexPath(dir.Path("a"))), *ReadFile(BundleIndexPath(dir.Path("b"))));
  EXPECT_EQ(*ReadFile(BundleDataPath(dir.Path("a"), 0, 1)),
            *ReadFile(BundleDataPath(dir.Path("b"), 0, 1)));
}

TEST(CheckpointTest, AnotherModelIsRefusedWithWhatDiffersAndNothingChanges) {
  TempDir dir;
  ASSERT_TRUE(WriteCheckpoint(MakeStore(Variables(), 1), kState, dir.Path("c")).ok());
  std::vector<Variable> other = Variables();
  other[0].shape.dims = {2, 4};
  other.push_back({.name = "b/kernel", .shape = {DType::kF32, {1}}});
  auto store = MakeStore(other, 2);
  const auto before = store.ToLiterals();
  const absl::Status status = Restore(dir.Path("c"), store);
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_EQ(status.message(),
            "checkpoint " + dir.Path("c") +
                " is of another model: 2 of 4 variables do not fit: \"a/kernel\": got DT_FLOAT "
                "[2,3], want DT_FLOAT [2,4]; \"b/kernel\": want DT_FLOAT [1], it is not there; use "
                "another model_dir, or the model in " +
                dir.Path("run_config.pbtxt"));
  EXPECT_EQ(store.ToLiterals(), before);
}

TEST(CheckpointTest, SlotsThatAreMissingAreAnotherOptimizer) {
  TempDir dir;
  ASSERT_TRUE(WriteCheckpoint(MakeStore(Variables(), 1), kState, dir.Path("c")).ok());
  std::vector<Variable> other = Variables();
  other.push_back({.name = "a/kernel/Momentum", .shape = {DType::kF32, {2, 3}}});
  auto store = MakeStore(other, 2);
  const absl::Status status = Restore(dir.Path("c"), store);
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_NE(status.message().find("is of another optimizer, or had other variables frozen: 1 of 4"),
            absl::string_view::npos)
      << status;
}

std::string AverageOf(const Variable& variable) {
  return variable.trainable ? AverageName(variable.name) : variable.name;
}

TEST(CheckpointTest, AVariableIsReadUnderTheNameThatIsAskedFor) {
  TempDir dir;
  std::vector<Variable> trained = Variables();
  trained.push_back({.name = AverageName("a/kernel"), .shape = {DType::kF32, {2, 3}}});
  auto saved = MakeStore(trained, 1);
  SetCopy(saved, "a/kernel", 0, 1);
  SetCopy(saved, AverageName("a/kernel"), 0, 2);
  SetCopy(saved, "stats", 0, 3);
  ASSERT_TRUE(WriteCheckpoint(saved, kState, dir.Path("c")).ok());
  auto used = MakeStore(Variables(), 2);
  const auto checkpoint = Checkpoint::Open(dir.Path("c"));
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  ASSERT_TRUE(checkpoint->Restore(false, used, AverageOf).ok());
  EXPECT_EQ(*reinterpret_cast<const float*>(used.Find("a/kernel")->copy(0)), 2);
  EXPECT_EQ(*reinterpret_cast<const float*>(used.Find("stats")->copy(0)), 3);
}

TEST(CheckpointTest, AveragesThatAreMissingAreSaidToBe) {
  TempDir dir;
  ASSERT_TRUE(WriteCheckpoint(MakeStore(Variables(), 1), kState, dir.Path("c")).ok());
  const auto checkpoint = Checkpoint::Open(dir.Path("c"));
  auto used = MakeStore(Variables(), 2);
  const auto before = used.ToLiterals();
  const std::string begin = "checkpoint " + dir.Path("c") + " has no moving average of 1 of ";
  const std::string middle =
      " variables, the first is \"a/kernel\": it was trained without moving_average, or without "
      "training them; leave the field out (--unset model.moving_average)";
  EXPECT_EQ(checkpoint->Restore(false, used, AverageOf).message(),
            begin + "3" + middle + " to take the variables as they are");
  EXPECT_EQ(used.ToLiterals(), before);
  std::vector<Variable> more = Variables();
  more.push_back({.name = AverageName("a/kernel"), .shape = {DType::kF32, {2, 3}}});
  auto resumed = MakeStore(more, 2);
  EXPECT_EQ(checkpoint->Restore(true, resumed).message(),
            begin + "4" + middle +
                ", or train into another model_dir with warm_start_from this checkpoint");
  // Of another model nothing is said of averages.
  std::vector<Variable> other = Variables();
  other[0].name = "b/kernel";
  auto of_other = MakeStore(other, 2);
  EXPECT_NE(checkpoint->Restore(false, of_other, AverageOf).message().find("of another model"),
            absl::string_view::npos);
}

TEST(CheckpointTest, SaysWhatTheModelDoesNotHave) {
  TempDir dir;
  std::vector<Variable> more = Variables();
  more.push_back({.name = "a/kernel/Adam", .shape = {DType::kF32, {2, 3}}});
  more.push_back({.name = "beta1_power", .shape = {DType::kF32, {}}});
  ASSERT_TRUE(WriteCheckpoint(MakeStore(more, 1), kState, dir.Path("c")).ok());
  const auto checkpoint = Checkpoint::Open(dir.Path("c"));
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  EXPECT_EQ(checkpoint->NotIn(MakeStore(more, 2)), std::vector<std::string>());
  EXPECT_EQ(checkpoint->NotIn(MakeStore(Variables(), 2)),
            (std::vector<std::string>{"a/kernel/Adam", "beta1_power"}));
}

TEST(CheckpointTest, NaNIsNotSaved) {
  TempDir dir;
  for (const float bad : {NAN, INFINITY}) {
    auto store = MakeStore(Variables(), 1);
    SetCopy(store, "stats", 6, bad);
    const absl::Status status = WriteCheckpoint(store, kState, dir.Path("c"));
    EXPECT_TRUE(absl::IsAborted(status));
    EXPECT_NE(status.message().find("\"stats\""), absl::string_view::npos) << status;
    EXPECT_TRUE(ListDirectory(dir.path())->empty());
  }
}

// Every byte of the checkpoint flipped, and the files cut at every byte: DataLoss, and the
// variables stay as they were.
TEST(CheckpointTest, NoDamageGoesUnnoticed) {
  TempDir dir;
  ASSERT_TRUE(WriteCheckpoint(MakeStore(Variables(), 1), kState, dir.Path("c")).ok());
  auto store = MakeStore(Variables(), 2);
  const auto before = store.ToLiterals();
  for (const std::string& path :
       {BundleIndexPath(dir.Path("c")), BundleDataPath(dir.Path("c"), 0, 1)}) {
    const std::string good = *ReadFile(path);
    for (size_t i = 0; i < good.size(); ++i) {
      std::string flipped = good;
      flipped[i] ^= 0x10;
      for (const std::string& bytes : {flipped, good.substr(0, i)}) {
        Overwrite(path, bytes);
        const absl::Status status = Restore(dir.Path("c"), store);
        ASSERT_TRUE(absl::IsDataLoss(status)) << path << " byte " << i << ": " << status;
      }
    }
    Overwrite(path, good);
  }
  EXPECT_EQ(store.ToLiterals(), before);
  EXPECT_TRUE(Restore(dir.Path("c"), store).ok());
}

TEST(CheckpointTest, StateIsReadOnlyWhenAskedFor) {
  TempDir dir;
  std::vector<Variable> variables = Variables();
  variables[2].scope = Variable::Scope::kState;
  auto saved = MakeStore(variables, 1);
  SetCopy(saved, "stats", 0, 5);
  ASSERT_TRUE(WriteCheckpoint(saved, kState, dir.Path("c")).ok());
  const auto checkpoint = Checkpoint::Open(dir.Path("c"));
  auto store = MakeStore(variables, 2);
  ASSERT_TRUE(checkpoint->Restore(false, store).ok());
  EXPECT_EQ(*reinterpret_cast<const float*>(store.Find("stats")->copy(0)), 0);
  ASSERT_TRUE(checkpoint->Restore(true, store).ok());
  EXPECT_EQ(*reinterpret_cast<const float*>(store.Find("stats")->copy(0)), 5);
}

TEST(CheckpointTest, ADirectoryWithoutCheckpointsHasNoLatest) {
  TempDir dir;
  EXPECT_FALSE(LatestCheckpoint(dir.path())->has_value());
  EXPECT_FALSE(LatestCheckpoint(dir.Path("absent"))->has_value());
  EXPECT_TRUE(absl::IsNotFound(Checkpoint::Open(dir.Path("absent")).status()));
}

}  // namespace
}  // namespace tpurun
