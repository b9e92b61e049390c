#include "runtime/checkpoint/warm_start.h"

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "glog/logging.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "runtime/checkpoint/checkpoint.h"
#include "tests/io/temp_dir.h"

namespace tpurun {
namespace {

Variable Of(const std::string& name, bool trainable) {
  return {.name = name,
          .shape = {DType::kF32, {}},
          .initializer = {Initializer::Kind::kUniform, 0, 1},
          .trainable = trainable};
}

// What a model function makes: a trained layer, a frozen one, moving statistics, a layer's state
// and the step that dropout reads.
std::vector<Variable> ModelVariables() {
  Variable state = Of("lstm/state", false);
  state.scope = Variable::Scope::kState;
  return {Of("hidden/kernel", false),
          Of("hidden/bias", false),
          Of("logits/kernel", true),
          Of("batch_norm/moving_mean", false),
          state,
          {.name = "global_step", .shape = {DType::kS64, {}}}};
}

// With what training adds.
VariableStore MakeStore(uint64_t seed) {
  VariableStore store(1);
  EXPECT_TRUE(store.Add(ModelVariables()).ok());
  EXPECT_TRUE(store.Add({Of("logits/kernel/Adagrad", false), Of("beta1_power", false)}).ok());
  EXPECT_TRUE(store.Initialize(seed).ok());
  return store;
}

class LogText : public google::LogSink {
 public:
  LogText() { google::AddLogSink(this); }
  ~LogText() override { google::RemoveLogSink(this); }
  void send(google::LogSeverity, const char*, const char*, int, const google::LogMessageTime&,
            const char* message, size_t length) override {
    text.append(message, length).append("\n");
  }
  std::string text;
};

class WarmStartTest : public ::testing::Test {
 protected:
  void SetUp() override {
    VariableStore theirs = MakeStore(1);
    const int64_t step = 7;
    std::memcpy(theirs.FindMutable("global_step")->copy(0), &step, sizeof(step));
    ASSERT_TRUE(WriteCheckpoint(theirs, {}, dir_.Path("model.ckpt-7")).ok());
    theirs_ = theirs.ToLiterals();
  }

  // The names of what was taken over, or the error.
  std::string Taken(const std::string& settings) {
    proto::WarmStart warm_start;
    const std::string text =
        "ckpt_to_initialize_from: '" + dir_.Path("model.ckpt-7") + "' " + settings;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &warm_start)) << text;
    VariableStore ours = MakeStore(2);
    const auto before = ours.ToLiterals();
    const LogText log;
    const absl::Status done = WarmStart(warm_start, ModelVariables(), ours);
    log_ = log.text;
    if (!done.ok()) {
      EXPECT_TRUE(absl::IsInvalidArgument(done)) << done;
      EXPECT_EQ(ours.ToLiterals(), before);
      return std::string(done.message());
    }
    std::string taken;
    for (const auto& [name, value] : ours.ToLiterals()) {
      if (value == theirs_.at(name) && value != before.at(name)) taken += name + " ";
    }
    return taken;
  }

  const TempDir dir_;
  std::map<std::string, std::vector<Literal>> theirs_;
  std::string log_;
};

TEST_F(WarmStartTest, EveryVariableOfTheModelIsTakenTrainableOrNot) {
  constexpr char kAll[] = "batch_norm/moving_mean hidden/bias hidden/kernel logits/kernel ";
  EXPECT_EQ(Taken(""), kAll);
  EXPECT_EQ(log_, "Warm-started from " + dir_.Path("model.ckpt-7") +
                      ": hidden/kernel, hidden/bias, logits/kernel, batch_norm/moving_mean.\n");
  EXPECT_EQ(Taken("vars_to_warm_start: '.*'"), kAll);
}

TEST_F(WarmStartTest, PatternsMatchAnywhereAndAreTiedByAnchors) {
  EXPECT_EQ(Taken("vars_to_warm_start: 'kernel'"), "hidden/kernel logits/kernel ");
  EXPECT_EQ(log_, "Warm-started from " + dir_.Path("model.ckpt-7") +
                      ": hidden/kernel, logits/kernel.\n"
                      "Not warm-started but initialized: hidden/bias, batch_norm/moving_mean.\n");
  EXPECT_EQ(Taken("vars_to_warm_start: '^hidden/' vars_to_warm_start: 'mean$'"),
            "batch_norm/moving_mean hidden/bias hidden/kernel ");
  EXPECT_EQ(Taken("vars_to_warm_start: '^hidden/bias$'"), "hidden/bias ");
}

TEST_F(WarmStartTest, APatternThatMatchesNothingListsAllNames) {
  for (const char* const pattern : {"^kernel", "global_step", "Adagrad", "lstm", "beta1_power"}) {
    EXPECT_EQ(Taken(std::string("vars_to_warm_start: '") + pattern + "'"),
              std::string("warm_start_from: vars_to_warm_start: \"") + pattern +
                  "\" matches no variable (known: hidden/kernel, hidden/bias, logits/kernel, "
                  "batch_norm/moving_mean)");
  }
  EXPECT_EQ(Taken("vars_to_warm_start: '['"),
            "warm_start_from: vars_to_warm_start: \"[\" is not a regular expression: missing ]: [");
}

TEST_F(WarmStartTest, ARenamedVariableIsListedWithWhatItWas) {
  EXPECT_EQ(Taken("vars_to_warm_start: 'bias' "
                  "var_name_to_prev_var_name { key: 'hidden/bias' value: 'beta1_power' }"),
            "");
  EXPECT_EQ(log_.substr(0, log_.find('\n')),
            "Warm-started from " + dir_.Path("model.ckpt-7") + ": hidden/bias (of beta1_power).");
}

TEST_F(WarmStartTest, AnotherAssetThanTheCheckpointsIsWarnedOf) {
  const std::string prefix = dir_.Path("model.ckpt-8");
  ASSERT_TRUE(WriteCheckpoint(MakeStore(1), {.assets = {{"vocabulary.txt", "6 1"}}}, prefix).ok());
  proto::WarmStart settings;
  settings.set_ckpt_to_initialize_from(prefix);
  const auto warned = [&](const std::map<std::string, std::string>& assets) {
    const LogText log;
    EXPECT_TRUE(WarnOfOtherAssets(settings, assets).ok());
    return log.text;
  };
  EXPECT_EQ(warned({}), "");
  EXPECT_EQ(warned({{"vocabulary.txt", "6 1"}, {"other", "6 2"}}), "");
  EXPECT_EQ(warned({{"vocabulary.txt", "6 2"}}),
            "warm_start_from: " + prefix +
                " was trained with another vocabulary.txt, of length and checksum 6 1, here 6 2: "
                "what its variables learned of ids is of others; name that file in the input, or "
                "leave these variables out by vars_to_warm_start.\n");
  // One that was written before there were any.
  settings.set_ckpt_to_initialize_from(dir_.Path("model.ckpt-7"));
  EXPECT_EQ(warned({{"vocabulary.txt", "6 2"}}), "");
}

}  // namespace
}  // namespace tpurun
