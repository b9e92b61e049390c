// models/README.md lists every kind of layer, head, loss, metric, optimizer, schedule and
// initializer with its fields, as the comments and rules of proto/model_spec.proto say, and with an
// example, the first of its golden file.
//   bazel run //tests/cli:models_readme_test -- --update_goldens
// writes it; read every line of the difference.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "cli/config_docs.h"
#include "proto/field_rules.h"
#include "proto/run_config.pb.h"
#include "tests/golden.h"

namespace tpurun {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

constexpr char kPage[] = "models/README.md";

constexpr char kHead[] = R"(# Layers, heads, losses, metrics, optimizers, schedules, initializers

What a ModelSpec (`model.textproto`) may hold. Names, arguments and defaults are those of Keras, tf.layers,
tf.losses, tf.metrics and tf.train; shapes and axes never count the batch. `tpurun help NAME` shows the same.
`tpurun help ModelSpec` has the rest: features, regularization, clipping, averages, summaries.

This page is made from `proto/model_spec.proto` by `bazel run //tests/cli:models_readme_test -- --update_goldens`.
)";

bool IsActedOn(const FieldDescriptor& field, const FieldDescriptor* kind) {
  return WhyRefused(field, kind, /*with_reason=*/false, *proto::RunConfig::descriptor()).empty();
}

std::string Row(const FieldDescriptor& field, const FieldDescriptor* kind) {
  return absl::StrCat("| `", field.name(), "` | ", TypeText(field), " | ",
                      absl::StrReplaceAll(MeaningOf(field, kind), {{"|", "\\|"}}), " |\n");
}

// The fields of a message that something acts on, those of its choices left out.
std::string Fields(const Descriptor& message, const FieldDescriptor* kind) {
  std::string rows;
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    if (field.containing_oneof() == nullptr && IsActedOn(field, kind)) rows += Row(field, kind);
  }
  return rows.empty() ? ""
                      : absl::StrCat("\n| field | type | meaning |\n| --- | --- | --- |\n", rows);
}

// The first lines of a golden file, from one that has "KIND {" to that which closes its braces.
std::string ExampleOf(const std::string& folder, const std::string& kind) {
  const std::string path = absl::StrCat("testdata/", folder, "/", kind, ".txt");
  std::string example;
  for (const absl::string_view line : absl::StrSplit(ReadText(path), '\n')) {
    absl::string_view text = line;
    if (example.empty()) {
      if (!absl::StrContains(line, absl::StrCat(kind, " {")) || absl::StartsWith(line, "#"))
        continue;
      text = absl::StripAsciiWhitespace(line);
      // "schedule: cosine_decay { ... }"
      const size_t colon = text.find(": ");
      if (colon < text.find(' ')) text = text.substr(colon + 2);
    } else {
      absl::ConsumePrefix(&text, "  ");
    }
    absl::StrAppend(&example, example.empty() ? "" : "\n", text);
    if (absl::c_count(example, '{') <= absl::c_count(example, '}')) return example;
  }
  return example;
}

// `field`: the one of a larger message that the examples of the folder are the value of; empty for
// examples that name it themselves.
std::string Section(const std::string& title, const std::string& folder, const Descriptor& message,
                    const std::string& field = "") {
  std::string text =
      absl::StrCat("\n## ", title, "\n", CommentOf(message), "\n", Fields(message, nullptr));
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& kind = *message.field(i);
    if (kind.containing_oneof() == nullptr || !IsActedOn(kind, nullptr)) continue;
    absl::StrAppend(&text, "\n### ", kind.name(), "\n", CommentOf(kind));
    if (kind.message_type() != nullptr && kind.message_type() != proto::Empty::descriptor()) {
      absl::StrAppend(&text, " ", CommentOf(*kind.message_type()));
    }
    absl::StrAppend(&text, "\n");
    std::string example = ExampleOf(folder, kind.name());
    if (!example.empty() && !field.empty()) example = absl::StrCat(field, " { ", example, " }");
    if (!example.empty()) absl::StrAppend(&text, "\n```text\n", example, "\n```\n");
    if (kind.message_type() != nullptr) absl::StrAppend(&text, Fields(*kind.message_type(), &kind));
  }
  return text;
}

TEST(ModelsReadmeTest, SaysWhatTheProtoFilesSay) {
  std::string page = kHead;
  page += Section("Layers", "layers", *proto::Layer::descriptor());
  page += Section("Heads", "heads", *proto::Head::descriptor());
  page += Section("Losses", "losses", *proto::Loss::descriptor());
  page += Section("Metrics", "metrics", *proto::Metric::descriptor());
  page += Section("Optimizers", "optimizers", *proto::Optimizer::descriptor(), "optimizer");
  page += Section("Schedules", "schedules", *proto::Schedule::descriptor(), "learning_rate");
  page += Section("Initializers", "initializers", *proto::Initializer::descriptor());
  if (update_goldens) {
    std::ofstream(std::filesystem::canonical(kPage)) << page;
    return;
  }
  EXPECT_TRUE(ReadText(kPage) == page) << kPage << " is not what the .proto files say: bazel run "
                                       << "//tests/cli:models_readme_test -- --update_goldens";
}

}  // namespace
}  // namespace tpurun
