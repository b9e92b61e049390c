// The rules that stand at the fields of the .proto files: that they make sense, and how they are
// checked.
#include "proto/field_rules.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "proto/run_config.pb.h"

namespace tpurun {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

// Every message that a RunConfig may hold.
void Visit(const Descriptor& message, std::set<const Descriptor*>* seen) {
  if (!seen->insert(&message).second) return;
  for (int i = 0; i < message.field_count(); ++i) {
    if (message.field(i)->message_type() != nullptr) Visit(*message.field(i)->message_type(), seen);
  }
}

// Every field of these messages.
std::vector<const FieldDescriptor*> FieldsOf(const std::set<const Descriptor*>& messages) {
  std::vector<const FieldDescriptor*> fields;
  for (const Descriptor* const message : messages) {
    for (int i = 0; i < message->field_count(); ++i) fields.push_back(message->field(i));
  }
  return fields;
}

// Whether some message has a oneof `kind` with a choice `kind` of type `message`.
bool IsKindOf(const Descriptor& message, const std::string& kind,
              const std::set<const Descriptor*>& messages) {
  for (const Descriptor* const chooser : messages) {
    const FieldDescriptor* const choice = chooser->FindFieldByName(kind);
    if (choice != nullptr && choice->containing_oneof() != nullptr &&
        choice->containing_oneof()->name() == "kind" && choice->message_type() == &message) {
      return true;
    }
  }
  return false;
}

TEST(FieldRulesTest, NameFieldsAndKindsThatExist) {
  std::set<const Descriptor*> messages;
  Visit(*proto::RunConfig::descriptor(), &messages);
  int rules_of_others = 0;
  for (const FieldDescriptor* const each : FieldsOf(messages)) {
    const FieldDescriptor& field = *each;
    const Descriptor* const message = field.containing_type();
    const proto::FieldRules& rules = RulesOf(field);
    for (const std::string& other : rules.excludes()) {
      ++rules_of_others;
      EXPECT_NE(message->FindFieldByName(other), nullptr) << field.full_name() << ": " << other;
    }
    if (rules.has_needs()) {
      ++rules_of_others;
      const FieldDescriptor* const needed = message->FindFieldByName(rules.needs());
      ASSERT_NE(needed, nullptr) << field.full_name();
      if (rules.has_needs_value()) {
        ASSERT_NE(needed->enum_type(), nullptr) << field.full_name();
        EXPECT_NE(needed->enum_type()->FindValueByName(rules.needs_value()), nullptr)
            << field.full_name();
      }
    }
    for (const std::string& kind : rules.only_of()) {
      ++rules_of_others;
      EXPECT_TRUE(IsKindOf(*message, kind, messages)) << field.full_name() << ": " << kind;
    }
    const bool has_bounds = rules.has_gt() || rules.has_gte() || rules.has_lt() ||
                            rules.has_lte() || rules.finite() || rules.dimension();
    if (has_bounds || rules.has_unit()) {
      const std::set<FieldDescriptor::CppType> numbers = {
          FieldDescriptor::CPPTYPE_FLOAT, FieldDescriptor::CPPTYPE_DOUBLE,
          FieldDescriptor::CPPTYPE_INT32, FieldDescriptor::CPPTYPE_INT64};
      EXPECT_EQ(numbers.count(field.cpp_type()), 1) << field.full_name();
    }
    if (rules.path()) {
      EXPECT_EQ(field.cpp_type(), FieldDescriptor::CPPTYPE_STRING) << field.full_name();
    }
  }
  EXPECT_GT(rules_of_others, 30);
}

TEST(FieldRulesTest, ANumberWhoseNameEndsInAUnitHasIt) {
  const std::map<std::string, std::string> units = {
      {"_secs", "seconds"}, {"_hours", "hours"}, {"_steps", "steps"},
      {"_bytes", "bytes"},  {"_lines", "lines"}, {"batch_size", "examples"}};
  std::set<const Descriptor*> messages;
  Visit(*proto::RunConfig::descriptor(), &messages);
  int with_units = 0;
  for (const FieldDescriptor* const field : FieldsOf(messages)) {
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_BOOL) continue;
    for (const auto& [end, unit] : units) {
      if (!absl::EndsWith(field->name(), end) || RulesOf(*field).has_never()) continue;
      ++with_units;
      EXPECT_EQ(RulesOf(*field).unit(), unit) << field->full_name();
    }
  }
  EXPECT_GT(with_units, 20);
}

TEST(FieldRulesTest, BoundsOfWholeNumbersAreExact) {
  const FieldDescriptor& buckets = *proto::Lookup::descriptor()->FindFieldByName("num_oov_buckets");
  EXPECT_TRUE(IsLegal(buckets, int64_t{1} << 62));
  EXPECT_FALSE(IsLegal(buckets, (int64_t{1} << 62) + 1));
}

std::vector<std::string> Messages(const std::string& run_config) {
  proto::RunConfig run;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(run_config, &run));
  ConfigErrors errors;
  CheckRules(run, "", errors);
  errors.Add("train_and_evaluate.steps_per_eval", "follows");
  std::vector<std::string> messages;
  for (const ConfigError& error : errors.all()) messages.push_back(error.message);
  return messages;
}

TEST(FieldRulesTest, AMistakeIsToldOnce) {
  EXPECT_EQ(Messages("train_and_evaluate { steps_per_eval: 1 throttle_secs: 5 start_delay_secs: 3 "
                     "}"),
            std::vector<std::string>{"train_and_evaluate.steps_per_eval is given together with "
                                     "throttle_secs and start_delay_secs, leave it out"});
  EXPECT_EQ(Messages("train_and_evaluate { steps_per_eval: 0 }"),
            std::vector<std::string>{"train_and_evaluate.steps_per_eval must be > 0, got 0"});
}

}  // namespace
}  // namespace tpurun
