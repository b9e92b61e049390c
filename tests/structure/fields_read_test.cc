// Every field of the configuration that its rules do not refuse is read by something.
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "google/protobuf/descriptor.h"
#include "proto/field_rules.h"
#include "proto/run_config.pb.h"
#include "tests/structure/source_tree.h"

namespace tpurun {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

// Of TensorFlow's fields those that have no effect here whatever they say, as their comments tell.
const std::set<std::string>& WithoutEffect() {
  static const std::set<std::string>& names =
      *new std::set<std::string>{"allow_soft_placement", "session_creation_timeout_secs"};
  return names;
}

// The names that the sources call accessors of messages by, without has_, mutable_ and the like,
// and those that stand in strings, with every part of a path.
std::set<std::string> NamesRead() {
  std::set<std::string> names;
  const std::filesystem::path root = CheckoutRoot();
  const std::regex accessor(R"([.>](?:has_|mutable_)?([a-z][a-z0-9_]*?)(_size|_)?\()");
  const std::regex text(R"re("([a-z0-9_.]+)")re");
  for (const std::string& file :
       SourceFiles(root, {"cli", "data", "models", "proto", "runtime"}, {".h", ".cc"})) {
    const std::string content = ReadFile(root / file);
    for (std::sregex_iterator found(content.begin(), content.end(), accessor), end; found != end;
         ++found) {
      names.insert(found->str(1));
      names.insert(found->str(1) + found->str(2));
    }
    for (std::sregex_iterator found(content.begin(), content.end(), text), end; found != end;
         ++found) {
      std::string part;
      for (const char c : found->str(1) + ".") {
        if (c != '.') {
          part += c;
        } else {
          names.insert(std::exchange(part, ""));
        }
      }
    }
  }
  return names;
}

class FieldsReadTest : public testing::Test {
 protected:
  void Visit(const Descriptor& message) {
    if (!seen_.insert(&message).second) return;
    for (int i = 0; i < message.field_count(); ++i) {
      const FieldDescriptor& field = *message.field(i);
      if (!WhyRefused(field, nullptr, false, *proto::RunConfig::descriptor()).empty()) continue;
      if (WithoutEffect().count(field.name()) > 0) continue;
      ++fields_;
      EXPECT_EQ(names_.count(field.name()), 1)
          << field.full_name() << ": nothing reads it: give it a reader, or (rules).unsupported";
      if (field.message_type() != nullptr) Visit(*field.message_type());
    }
  }

  const std::set<std::string> names_ = NamesRead();
  std::set<const Descriptor*> seen_;
  int fields_ = 0;
};

TEST_F(FieldsReadTest, EveryFieldThatIsNotRefusedIsRead) {
  EXPECT_EQ(names_.count("train_batch_size"), 1);
  EXPECT_EQ(names_.count("learning_rate_power"), 0);  // of ftrl
  Visit(*proto::RunConfig::descriptor());
  EXPECT_GT(fields_, 300);
}

}  // namespace
}  // namespace tpurun
