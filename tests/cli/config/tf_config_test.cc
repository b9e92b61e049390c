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
Applied Apply(const std::string& text, const std::string& fields = "",
              const StartedProcesses& started = {.verb = "train"}) {
  Applied applied;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(fields, &applied.run)) << fields;
  for (const char* name : {"model_dir", "master", "evaluation_master"}) {
    const auto* const field = proto::RunConfig::descriptor()->FindFieldByName(name);
    if (!applied.run.GetReflection()->HasField(applied.run, field)) continue;
    applied.locations.Record(name, {.file = std::string("run/") + name});
  }
  ConfigErrors errors;
  ApplyTfConfig(text, started, &applied.run, &applied.locations, errors);
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
  expect(R"({"cluster": {"worker": "a:1"}})",
         "cluster.worker: got \"a:1\", want a list of addresses");
  expect(R"({"cluster": {"worker": ["a:1", 2]}})",
         "cluster.worker: got [\"a:1\",2], want a list of addresses");
  expect(R"({"cluster": {"worker": []}})", "cluster.worker: got [], want a list of addresses");
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

// Two hosts in each form that TensorFlow writes.
constexpr char kWorkers[] = R"("cluster": {"worker": ["a:1", "b:1"]})";
constexpr char kChiefAndWorker[] = R"("cluster": {"worker": ["b:1"], "chief": ["a:1"], "ps": []})";
constexpr char kMasterAndWorker[] =
    R"("cluster": {"master": {"0": "a:1"}, "worker": {"0": "b:1"}, "evaluator": ["c:1"]})";

std::string Task(const std::string& cluster, const std::string& type, int index) {
  return "{" + cluster + R"(, "task": {"type": ")" + type + R"(", "index": )" +
         std::to_string(index) + "}}";
}

Lines Mistakes(const std::string& text, const StartedProcesses& started) {
  return Apply(text, "", started).mistakes;
}

TEST(TfConfigTest, AClusterOfTheStartedProcessesIsTaken) {
  for (const int rank : {0, 1}) {
    const StartedProcesses two = {.verb = "train", .count = 2, .rank = rank};
    for (const char* cluster : {kWorkers, kChiefAndWorker, kMasterAndWorker}) {
      EXPECT_EQ(Mistakes(std::string("{") + cluster + "}", two), Lines()) << cluster;
    }
    EXPECT_EQ(Mistakes(Task(kWorkers, "worker", rank), two), Lines());
    EXPECT_EQ(Mistakes("{}", two), Lines());
  }
  const StartedProcesses first = {.verb = "train", .count = 2, .rank = 0};
  const StartedProcesses second = {.verb = "train", .count = 2, .rank = 1};
  EXPECT_EQ(Mistakes(Task(kChiefAndWorker, "chief", 0), first), Lines());
  EXPECT_EQ(Mistakes(Task(kChiefAndWorker, "worker", 0), second), Lines());
  EXPECT_EQ(Mistakes(Task(kMasterAndWorker, "master", 0), first), Lines());
  EXPECT_EQ(Mistakes(Task(kMasterAndWorker, "worker", 0), second), Lines());
}

TEST(TfConfigTest, AMasterOfTheClusterSaysNothing) {
  const std::string text =
      std::string("{") + kWorkers +
      R"(, "session_master": "grpc://a:1", "eval_session_master": "grpc://c:1"})";
  const Applied applied = Apply(text, "", {.verb = "train", .count = 2, .rank = 1});
  EXPECT_EQ(applied.mistakes, Lines());
  EXPECT_FALSE(applied.run.has_master());
  EXPECT_EQ(applied.run.evaluation_master(), "grpc://c:1");
}

TEST(TfConfigTest, AClusterOfOtherProcessesIsAMistake) {
  const auto expect = [](const std::string& text, const StartedProcesses& started,
                         const std::string& mistake) {
    EXPECT_EQ(Mistakes(text, started), Lines{"TF_CONFIG: " + mistake});
  };
  const StartedProcesses alone = {.verb = "train_and_evaluate"};
  const StartedProcesses two = {.verb = "train", .count = 2, .rank = 1};
  expect(Task(kChiefAndWorker, "worker", 0), alone,
         "cluster: got 2 hosts (a:1, b:1), but this process was started alone; to train on all, "
         "run on one of them: mpirun -np 2 --host a:1,b:1 tpurun train_and_evaluate ... (tpurun "
         "help several_machines)");
  expect(R"({"cluster": {"worker": ["1:9", "2", "3", "4", "5", "6", "7", "8"]}})", alone,
         "cluster: got 8 hosts (1:9, 2, 3, 4, ...), but this process was started alone; to train "
         "on all, run on one of them: mpirun -np 8 --hostfile FILE tpurun train_and_evaluate ... "
         "(tpurun help several_machines)");
  expect(R"({"cluster": {"worker": ["a:1", "b:1", "c:1"]}})", alone,
         "cluster: got 3 hosts (a:1, b:1, c:1), but equal shares of the replicas need 1, 2, 4, 8 "
         "... processes");
  expect(R"({"cluster": {"chief": ["a:1"]}})", two,
         "cluster: got 1 host (a:1), but 2 processes were started, want one for each host");
  expect(R"({"cluster": {"worker": ["a:1", "b:1"], "ps": ["c:1"]}})", two,
         "cluster.ps: got [\"c:1\"], want none: there are no parameter servers, every process has "
         "all variables; leave them out, or name them as workers");
  expect(R"({"cluster": {"chief": ["a:1", "b:1"]}})", two, "cluster.chief: got 2 hosts, want one");
  expect(Task(kWorkers, "worker", 0), two,
         "task: got worker 0, which is process 0, but this is process 1 of 2, want the same, or "
         "no task");
  expect(Task(kChiefAndWorker, "chief", 0), two,
         "task: got chief 0, which is process 0, but this is process 1 of 2, want the same, or no "
         "task");
  expect(Task(kWorkers, "worker", 2), two, "task.index: got 2, want 0 to 1");
  expect(Task(kWorkers, "worker", -1), two, "task.index: got -1, want 0 to 1");
  expect(Task(kChiefAndWorker, "worker", 1), two, "task.index: got 1, want 0: there is one host");
  expect(Task(kChiefAndWorker, "ps", 0), two,
         "task.type: got \"ps\", want \"chief\", \"worker\" or \"evaluator\"");
  expect(std::string("{") + kChiefAndWorker + R"(, "task": {"index": 0}})", two,
         "task.type: got none, want \"chief\", \"worker\" or \"evaluator\"");
  expect(Task(kWorkers, "evaluator", 0), alone,
         "task.type: got \"evaluator\", which is none of the 2 hosts that train; want there: "
         "tpurun evaluate --watch ...");
}

TEST(TfConfigTest, AVerbOfOneProcessTakesAnyCluster) {
  const StartedProcesses evaluate = {};
  for (const std::string& text :
       {Task(kWorkers, "worker", 0), Task(kWorkers, "evaluator", 0),
        Task(kChiefAndWorker, "chief", 0), std::string("{") + kWorkers + "}"}) {
    EXPECT_EQ(Mistakes(text, evaluate), Lines()) << text;
  }
  EXPECT_EQ(Mistakes(Task(kWorkers, "worker", 1), evaluate),
            Lines{"TF_CONFIG: task: got worker 1, which is process 1, but this is process 0 of 2, "
                  "want the same, or no task"});
}

}  // namespace
}  // namespace tpurun
