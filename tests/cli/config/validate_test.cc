#include "cli/config/validate.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "google/protobuf/text_format.h"
#include "proto/field_rules.h"
#include "runtime/base/status.h"

namespace tpurun {
namespace {

// What a config mistake must say is in testdata/config_errors; here is what must be accepted.
LoadedConfig Config(const std::string& more) {
  LoadedConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(R"(
      model_dir: "/tmp/m" train_batch_size: 128 eval_batch_size: 32 predict_batch_size: 8
      train { max_steps: 1 input {} } evaluate { input {} } predict { input {} } )" +
                                                                more,
                                                            &config.run))
      << more;
  config.model_path = "model.textproto";
  return config;
}

absl::Status Validate(const LoadedConfig& config, const RequiredParts& required) {
  ConfigErrors errors;
  ValidateConfig(config, required, errors);
  return ErrorList(errors.Lines(config.locations), errors.code());
}

class Accepted : public testing::TestWithParam<const char*> {};

TEST_P(Accepted, HasNoViolation) {
  EXPECT_EQ(Validate(Config(GetParam()), {.train = true, .evaluate = true, .predict = true}),
            absl::OkStatus());
}

INSTANTIATE_TEST_SUITE_P(
    Texts, Accepted,
    testing::Values(
        "", "save_checkpoints_secs: 0 save_summary_steps: 0 log_step_count_steps: 0",
        "keep_checkpoint_max: 0 keep_checkpoint_every_n_hours: 0.5",
        "master: 'local' evaluation_master: ''", "use_tpu: false eval_on_tpu: false",
        "use_tpu: false tpu_config { num_shards: 4 }",
        "tpu_config { num_shards: 8 iterations_per_loop: '500' num_cores_per_replica: 1 }",
        "tpu_config { iterations_per_loop: '5m' }",
        "tpu_config { per_host_input_for_training: PER_SHARD_V1 }",
        "tpu_config { per_host_input_for_training: PER_HOST_V2 }",
        "tpu_config { eval_training_input_configuration: SLICED initial_infeed_sleep_secs: 5 }",
        // Set to their defaults.
        "allow_soft_placement: false log_device_placement: true session_creation_timeout_secs: 60",
        "protocol: 'grpc' checkpoint_save_graph_def: true export {}",
        "tpu_config { experimental_host_call_every_n_steps: 1 initial_infeed_sleep_secs: 0 }",
        "warm_start_from { ckpt_to_initialize_from: 'd' vars_to_warm_start: '.*' }"));

TEST(ValidateTest, WithoutTpuAnyBatchSizeIsLegal) {
  LoadedConfig config = Config("use_tpu: false");
  config.run.set_train_batch_size(7);
  EXPECT_TRUE(Validate(config, {.train = true}).ok());
}

TEST(ValidateTest, WhereEveryCoreHasTheWholeBatchAnySizeIsLegal) {
  LoadedConfig config = Config("tpu_config { per_host_input_for_training: BROADCAST }");
  config.run.set_train_batch_size(127);
  config.run.set_eval_batch_size(7);
  config.run.set_predict_batch_size(1);
  const absl::Status status = Validate(config, {.train = true, .evaluate = true, .predict = true});
  EXPECT_TRUE(status.ok()) << status;
}

TEST(ValidateTest, OnlyTheVerbsOwnPartsMustBeComplete) {
  LoadedConfig config = Config("");
  config.run.clear_eval_batch_size();
  config.run.mutable_predict()->Clear();
  EXPECT_TRUE(Validate(config, {.train = true}).ok());
  EXPECT_FALSE(Validate(config, {.evaluate = true}).ok());
  EXPECT_FALSE(Validate(config, {.predict = true}).ok());
}

TEST(ValidateTest, TheNamedEvaluationMustExist) {
  LoadedConfig config = Config("evaluate { name: 'test' input {} }");
  config.run.mutable_evaluate(0)->set_name("valid");
  EXPECT_TRUE(Validate(config, {.evaluate = true, .evaluation = "test"}).ok());
  EXPECT_EQ(Validate(config, {.evaluate = true, .evaluation = "tset"}).message(),
            "--name=tset: no evaluation has this name, did you mean \"test\"?");
}

// Every field of RunConfig and TPUConfig, set away from its default alone, is refused by name where
// its rules say so, and else is not.
TEST(ValidateTest, EveryScalarFieldIsActedOnOrRefused) {
  using google::protobuf::FieldDescriptor;
  int refused = 0;
  for (const bool tpu : {false, true}) {
    const auto* const descriptor =
        tpu ? proto::TPUConfig::descriptor() : proto::RunConfig::descriptor();
    for (int i = 0; i < descriptor->field_count(); ++i) {
      const FieldDescriptor* const field = descriptor->field(i);
      if (field->is_repeated() || field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) continue;
      const proto::FieldRules& rules = RulesOf(*field);
      // These have readers of their own, which tell what else is wrong with them.
      if (field->name() == "iterations_per_loop" || field->name() == "num_shards") continue;
      const bool is_refused = rules.has_never() || rules.unsupported() || !rules.in().empty();
      LoadedConfig config = Config("");
      google::protobuf::Message* message = &config.run;
      if (tpu) message = config.run.mutable_tpu_config();
      const auto& reflection = *message->GetReflection();
      switch (field->cpp_type()) {
        case FieldDescriptor::CPPTYPE_BOOL:
          reflection.SetBool(message, field, !field->default_value_bool());
          break;
        case FieldDescriptor::CPPTYPE_INT32:
          reflection.SetInt32(message, field, field->default_value_int32() + 2);
          break;
        case FieldDescriptor::CPPTYPE_INT64:
          reflection.SetInt64(message, field, field->default_value_int64() + 8);
          break;
        case FieldDescriptor::CPPTYPE_DOUBLE:
          reflection.SetDouble(message, field, field->default_value_double() + 2);
          break;
        case FieldDescriptor::CPPTYPE_STRING:
          reflection.SetString(message, field, "elsewhere");
          break;
        case FieldDescriptor::CPPTYPE_ENUM:
          reflection.SetEnumValue(message, field,
                                  field->name() == "per_host_input_for_training"
                                      ? proto::TPUConfig::SLICED
                                      : proto::TPUConfig::BROADCAST);
          break;
        default:
          FAIL() << field->full_name() << " has a type this test does not set";
      }
      const absl::Status status = Validate(config, {.train = true});
      EXPECT_EQ(absl::StrContains(status.message(), field->name() + ": got "), is_refused)
          << field->full_name() << ": " << status;
      refused += is_refused;
    }
  }
  EXPECT_GE(refused, 5);
}

}  // namespace
}  // namespace tpurun
