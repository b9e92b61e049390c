#include "cli/config/tf_config.h"

#include <filesystem>
#include <string>
#include <vector>

#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace tpurun {
namespace {

struct Applied {
  proto::RunConfig run;
  SourceLocations locations;
  std::vector<std::string> mistakes;

  std::string Origin(const std::string& path) const {
    const SourceLocation* const place = locations.Find(path);
    return place == nullptr ? "default" : ToString(*place);
  }
};

// `fields` are those of a file "run"; each is at its own name there.
Applied Apply(const std::string& text, const std::string& fields = "") {
  Applied applied;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(fields, &applied.run)) << fields;
  for (const char* name : {"model_dir", "master", "evaluation_master"}) {
    const auto* const field = proto::RunConfig::descriptor()->FindFieldByName(name);
    if (!applied.run.GetReflection()->HasField(applied.run, field)) continue;
    applied.locations.Record(name, {.file = std::string("run/") + name});
  }
  ConfigErrors errors;
  ApplyTfConfig(text, &applied.run, &applied.locations, errors);
  applied.mistakes = errors.Lines(applied.locations);
  return applied;
}

using Lines = std::vector<std::string>;

TEST(TfConfigTest, WithoutItMastersAreEmptyOrTheUsers) {
  Applied applied = Apply("");
  EXPECT_EQ(applied.run.DebugString(), "");
  applied = Apply("", "master: 'a' evaluation_master: 'b'");
  EXPECT_EQ(applied.run.master(), "a");
  EXPECT_EQ(applied.run.evaluation_master(), "b");
  applied = Apply("", "master: 'a'");
  EXPECT_EQ(applied.run.evaluation_master(), "a");
  EXPECT_EQ(applied.Origin("evaluation_master"), "run/master");
  applied = Apply("", "evaluation_master: 'b'");
  EXPECT_EQ(applied.run.master(), "");
}

TEST(TfConfigTest, ItsMastersAreTaken) {
  Applied applied = Apply(R"({"session_master": "m", "eval_session_master": "e"})");
  EXPECT_EQ(applied.mistakes, Lines());
  EXPECT_EQ(applied.run.master(), "m");
  EXPECT_EQ(applied.run.evaluation_master(), "e");
  EXPECT_EQ(applied.Origin("master"), "TF_CONFIG");
  EXPECT_EQ(applied.Origin("evaluation_master"), "TF_CONFIG");
  applied = Apply(R"({"session_master": "m"})");
  EXPECT_EQ(applied.run.evaluation_master(), "m");
  EXPECT_EQ(applied.Origin("evaluation_master"), "TF_CONFIG");
}

TEST(TfConfigTest, AnEvaluatorsMasterDoesNotFallBack) {
  const std::string cluster = R"("cluster": {"chief": ["host0:0"]}, )";
  const std::string evaluator = R"("task": {"type": "evaluator", "index": 0}, )";
  Applied applied = Apply("{" + cluster + evaluator + R"("session_master": "m"})");
  EXPECT_EQ(applied.mistakes, Lines());
  EXPECT_EQ(applied.run.master(), "m");
  EXPECT_EQ(applied.run.evaluation_master(), "");
  applied = Apply("{" + cluster + evaluator + R"("eval_session_master": "e"})", "master: 'a'");
  EXPECT_EQ(applied.run.evaluation_master(), "e");
}

TEST(TfConfigTest, TheUsersMastersWin) {
  const std::string both = R"({"session_master": "m", "eval_session_master": "e"})";
  Applied applied = Apply(both, "master: 'a' evaluation_master: 'b'");
  EXPECT_EQ(applied.run.master(), "a");
  EXPECT_EQ(applied.run.evaluation_master(), "b");
  EXPECT_EQ(applied.Origin("master"), "run/master");
  applied = Apply(both, "master: 'a'");
  EXPECT_EQ(applied.run.master(), "a");
  EXPECT_EQ(applied.run.evaluation_master(), "e");
}

TEST(TfConfigTest, TheJobsNameIsOfTheService) {
  const std::string service = R"({"service": {"tpu_worker_job_name": "w"}})";
  EXPECT_EQ(Apply(service).run.tpu_config().tpu_job_name(), "w");
  EXPECT_EQ(Apply(service, "tpu_config { tpu_job_name: 'mine' }").run.tpu_config().tpu_job_name(),
            "mine");
  EXPECT_FALSE(Apply(R"({"service": {}})").run.has_tpu_config());
}

TEST(TfConfigTest, ItsModelDirIsTakenAndMustBeTheUsers) {
  Applied applied = Apply(R"({"model_dir": "/m"})");
  EXPECT_EQ(applied.run.model_dir(), "/m");
  EXPECT_EQ(applied.Origin("model_dir"), "TF_CONFIG");
  EXPECT_EQ(Apply(R"({"model_dir": "/m/"})", "model_dir: '/x/../m'").mistakes, Lines());
  const std::string here = (std::filesystem::current_path() / "m").string();
  EXPECT_EQ(Apply("{\"model_dir\": \"" + here + "\"}", "model_dir: 'm'").mistakes, Lines());
  applied = Apply(R"({"model_dir": "/m"})", "model_dir: '/n'");
  EXPECT_EQ(applied.mistakes,
            Lines{"TF_CONFIG: model_dir: got \"/m\", but run/model_dir has \"/n\", want the same "
                  "in both, or only one"});
  EXPECT_EQ(Apply(R"({"model_dir": ""})", "model_dir: '/n'").mistakes, Lines());
}

TEST(TfConfigTest, ATaskOfThisHostIsTaken) {
  for (const char* text :
       {"{}", R"({"task": {"type": "worker", "index": 0}})", R"({"task": {"index": "0"}})",
        R"({"cluster": {"worker": ["h:1"]}, "task": {"type": "worker", "index": 0}})",
        R"({"cluster": {"master": {"0": "h:1"}}})", R"({"cluster": null, "task": null})"}) {
    EXPECT_EQ(Apply(text).mistakes, Lines()) << text;
  }
}

TEST(TfConfigTest, WhatCannotApplyIsAMistake) {
  const auto expect = [](const std::string& text, const std::string& mistake) {
    EXPECT_EQ(Apply(text).mistakes, Lines{"TF_CONFIG: " + mistake});
  };
  const std::string object = "want a JSON object such as {\"model_dir\": \"/tmp/m\"}, got ";
  expect("{", object + "\"{\"; correct it, or unset it");
  expect("[1]", object + "[1]; correct it, or unset it");
  expect("{} {}", object + "\"{} {}\"; correct it, or unset it");
  expect(R"({"cluster": {"worker": ["a:1", "b:1"], "ps": ["c:1"]},
             "task": {"type": "worker", "index": 1}})",
         "cluster: got 3 hosts (a:1, b:1, c:1), want one: tpurun is one process on one host");
  expect(R"({"cluster": {"worker": ["1", "2", "3", "4", "5"]}})",
         "cluster: got 5 hosts (1, 2, 3, 4, ...), want one: tpurun is one process on one host");
  expect(R"({"cluster": {"worker": "a:1"}})",
         "cluster.worker: got \"a:1\", want a list of addresses");
  expect(R"({"cluster": []})", "cluster: got [], want an object");
  expect(R"({"task": {"type": "ps"}})",
         "task.type: got \"ps\", want \"worker\", which it is without a cluster");
  expect(R"({"task": {"type": "evaluator"}})",
         "task.type: got \"evaluator\", want \"worker\", which it is without a cluster");
  expect(R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "ps"}})",
         "task.type: got \"ps\", want \"worker\" or \"evaluator\"");
  expect(R"({"task": {"index": 1}})", "task.index: got 1, want 0: there is one host");
  expect(R"({"task": {"type": 3}})", "task.type: got 3, want a string");
  expect(R"({"session_master": ["m"]})", "session_master: got [\"m\"], want a string");
  expect(R"({"service": {"tpu_worker_job_name": 1}})",
         "service.tpu_worker_job_name: got 1, want a string");
}

}  // namespace
}  // namespace tpurun
