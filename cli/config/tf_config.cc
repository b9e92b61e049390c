#include "cli/config/tf_config.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "glog/logging.h"
#include "nlohmann/json.hpp"
#include "runtime/base/text.h"
#include "runtime/io/local_path.h"

namespace tpurun {
namespace {

using TfJson = nlohmann::ordered_json;

// As a location's file: there is no flag or line to name.
constexpr char kTfConfig[] = "TF_CONFIG";

std::string Shown(const TfJson& value) {
  constexpr size_t kMost = 60;
  const std::string text = value.dump();
  return text.size() <= kMost ? text : text.substr(0, kMost) + "...";
}

// The same for every way to write a folder.
std::string Normal(const std::string& name) {
  std::error_code error;
  const std::string folder = LocalPath(name).value_or(name);
  const std::filesystem::path absolute = std::filesystem::absolute(folder, error);
  std::string normal = (error ? std::filesystem::path(folder) : absolute).lexically_normal();
  while (normal.size() > 1 && normal.back() == '/') normal.pop_back();
  return normal;
}

class TfConfig {
 public:
  explicit TfConfig(ConfigErrors& errors) : errors_(errors) {}

  // False where nothing of the text can be used.
  bool Parse(const std::string& text) {
    if (!text.empty()) root_ = TfJson::parse(text, nullptr, /*allow_exceptions=*/false);
    if (root_.is_object()) return true;
    Add(absl::StrCat("want a JSON object such as {\"model_dir\": \"/tmp/m\"}, got ",
                     root_.is_discarded() ? Quote(text.substr(0, 60)) : Shown(root_),
                     "; correct it, or unset it"));
    return false;
  }

  void Check() {
    static const std::vector<std::string>& kKeys = *new std::vector<std::string>{
        "cluster",   "task",    "session_master", "eval_session_master",
        "model_dir", "service", "environment"};  // of hosted jobs: "cloud"
    for (const auto& [key, value] : root_.items()) {
      if (std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end()) continue;
      LOG(WARNING) << kTfConfig << ": nothing reads " << Quote(key) << DidYouMean(key, kKeys);
    }
    CheckTask(CheckCluster());
  }

  bool is_evaluator() const { return evaluator_; }

  // nullopt when it is not there, or is no string.
  std::optional<std::string> String(const char* key) { return StringIn(root_, "", key); }
  std::optional<std::string> JobName() {
    return StringIn(ObjectIn(root_, "", "service"), "service.", "tpu_worker_job_name");
  }

  void Add(const std::string& message) { errors_.AddAt({.file = kTfConfig}, message); }

 private:
  TfJson ObjectIn(const TfJson& object, const std::string& path, const char* key) {
    const auto found = object.find(key);
    if (found == object.end() || found->is_null()) return TfJson::object();
    if (found->is_object()) return *found;
    Add(absl::StrCat(path, key, ": got ", Shown(*found), ", want an object"));
    return TfJson::object();
  }

  std::optional<std::string> StringIn(const TfJson& object, const std::string& path,
                                      const char* key) {
    const auto found = object.find(key);
    if (found == object.end() || found->is_null()) return std::nullopt;
    if (found->is_string()) return found->get<std::string>();
    Add(absl::StrCat(path, key, ": got ", Shown(*found), ", want a string"));
    return std::nullopt;
  }

  // The job of the only host; empty without a cluster.
  std::string CheckCluster() {
    std::string job;
    std::vector<std::string> hosts;
    const TfJson cluster = ObjectIn(root_, "", "cluster");
    for (const auto& [name, addresses] : cluster.items()) {
      // A list, or {"0": ADDRESS}.
      const bool listed = addresses.is_array() || addresses.is_object();
      for (const TfJson& address : listed ? addresses : TfJson::array()) {
        if (address.is_string()) hosts.push_back(address.get<std::string>());
      }
      if (!listed || addresses.empty() || !addresses.begin()->is_string()) {
        Add(absl::StrCat("cluster.", name, ": got ", Shown(addresses),
                         ", want a list of addresses"));
      }
      job = name;
    }
    if (hosts.size() <= 1) return job;
    constexpr size_t kMost = 4;
    const bool more = hosts.size() > kMost;
    const size_t count = hosts.size();
    hosts.resize(std::min(count, kMost));
    Add(absl::StrCat("cluster: got ", count, " hosts (", absl::StrJoin(hosts, ", "),
                     more ? ", ..." : "", "), want one: tpurun is one process on one host"));
    several_ = true;
    return job;
  }

  // As TensorFlow does: a task is one of the cluster's, or its evaluator; without a cluster the
  // first worker.
  void CheckTask(const std::string& job) {
    const TfJson task = ObjectIn(root_, "", "task");
    const std::string type = StringIn(task, "task.", "type").value_or(job.empty() ? "worker" : job);
    evaluator_ = type == "evaluator" && !job.empty();
    if (several_) return;
    const std::string want = job.empty() ? "worker" : job;
    if (type != want && !evaluator_) {
      Add(absl::StrCat("task.type: got ", Quote(type), ", want ", Quote(want),
                       job.empty() ? ", which it is without a cluster" : " or \"evaluator\""));
    }
    const auto index = task.find("index");
    if (index == task.end() || *index == 0 || *index == "0") return;
    Add(absl::StrCat("task.index: got ", Shown(*index), ", want 0: there is one host"));
  }

  TfJson root_ = TfJson::object();
  bool evaluator_ = false;
  bool several_ = false;  // hosts
  ConfigErrors& errors_;
};

}  // namespace

void ApplyTfConfig(const std::string& text, proto::RunConfig* run, SourceLocations* locations,
                   ConfigErrors& errors) {
  TfConfig config(errors);
  if (!config.Parse(text)) return;
  config.Check();
  const SourceLocation here = {.file = kTfConfig};
  const std::string model_dir = config.String("model_dir").value_or("");
  if (!model_dir.empty()) {
    if (run->model_dir().empty()) {
      run->set_model_dir(model_dir);
      locations->Record("model_dir", here);
    } else if (Normal(model_dir) != Normal(run->model_dir())) {
      config.Add(absl::StrCat("model_dir: got ", Quote(model_dir), ", but ",
                              locations->Where("model_dir"), " has ", Quote(run->model_dir()),
                              ", want the same in both, or only one"));
    }
  }
  if (const auto master = config.String("session_master"); master && !run->has_master()) {
    run->set_master(*master);
    locations->Record("master", here);
  }
  const auto eval_master = config.String("eval_session_master");
  if (run->evaluation_master().empty() && eval_master) {
    run->set_evaluation_master(*eval_master);
    locations->Record("evaluation_master", here);
  }
  if (run->evaluation_master().empty() && !run->master().empty() && !config.is_evaluator()) {
    run->set_evaluation_master(run->master());
    if (const SourceLocation* const place = locations->Find("master")) {
      locations->Record("evaluation_master", SourceLocation(*place));
    }
  }
  if (const auto job = config.JobName(); job && !run->tpu_config().has_tpu_job_name()) {
    run->mutable_tpu_config()->set_tpu_job_name(*job);
    locations->Record("tpu_config.tpu_job_name", here);
  }
}

}  // namespace tpurun
