#include "cli/config/tf_config.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
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

constexpr char kParameterServers[] = "ps";
constexpr char kEvaluator[] = "evaluator";

bool IsChief(const std::string& job) { return job == "chief" || job == "master"; }

// A number, or its digits; -1 if it is neither.
int64_t NumberOf(const TfJson& value) {
  int64_t number = -1;
  if (value.is_number_unsigned()) number = value.get<int64_t>();
  if (value.is_string() && !absl::SimpleAtoi(value.get<std::string>(), &number)) return -1;
  return number;
}

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
  TfConfig(const StartedProcesses& started, ConfigErrors& errors)
      : started_(started), errors_(errors) {}

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
    if (!ReadCluster()) return;
    CheckTask();
    CheckCount();
  }

  bool is_evaluator() const { return evaluator_; }

  // nullopt when it is not there, or is no string.
  std::optional<std::string> String(const char* key) { return StringIn(root_, "", key); }
  // A master; nullopt also where it is a host of the cluster, which then says nothing.
  std::optional<std::string> Master(const char* key) {
    std::optional<std::string> master = String(key);
    if (master.has_value() && IsHost(*master)) return std::nullopt;
    return master;
  }
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

  // The hosts of a job that train, which are the processes from `first` on.
  struct Job {
    std::string name;
    int64_t first = 0;
    int64_t count = 0;
  };

  // False where the cluster has mistakes.
  bool ReadCluster() {
    const TfJson cluster = ObjectIn(root_, "", "cluster");
    std::vector<std::string> names;
    bool sound = true;
    for (const auto& [name, addresses] : cluster.items()) {
      // A list, or {"0": ADDRESS}.
      const bool listed = addresses.is_array() || addresses.is_object();
      const bool of_strings =
          listed && std::all_of(addresses.begin(), addresses.end(),
                                [](const TfJson& address) { return address.is_string(); });
      if (!of_strings || (addresses.empty() && name != kParameterServers)) {
        Add(absl::StrCat("cluster.", name, ": got ", Shown(addresses),
                         ", want a list of addresses"));
        sound = false;
      } else if (name == kParameterServers && !addresses.empty()) {
        Add(absl::StrCat("cluster.", name, ": got ", Shown(addresses),
                         ", want none: there are no parameter servers, every process has all ",
                         "variables; leave them out, or name them as workers"));
        sound = false;
      } else if (IsChief(name) && addresses.size() > 1) {
        Add(absl::StrCat("cluster.", name, ": got ", addresses.size(), " hosts, want one"));
        sound = false;
      } else if (name != kParameterServers && name != kEvaluator) {
        names.push_back(name);
      }
    }
    if (!sound) return false;
    // TensorFlow's order.
    std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
      return std::pair(!IsChief(a), a) < std::pair(!IsChief(b), b);
    });
    for (const std::string& name : names) {
      jobs_.push_back({.name = name,
                       .first = static_cast<int64_t>(hosts_.size()),
                       .count = static_cast<int64_t>(cluster[name].size())});
      for (const TfJson& address : cluster[name]) hosts_.push_back(address.get<std::string>());
    }
    return true;
  }

  // As TensorFlow does: a task is one of the cluster's, or its evaluator; without a cluster the
  // first worker. Without a task the launcher says which one this is.
  void CheckTask() {
    const TfJson task = ObjectIn(root_, "", "task");
    const auto index = task.find("index");
    const bool indexed = index != task.end();
    std::vector<Job> jobs = jobs_;
    if (jobs.empty()) jobs = {{.name = "worker", .count = 1}};
    std::optional<std::string> type = StringIn(task, "task.", "type");
    if (!type.has_value() && (jobs.size() == 1 || !indexed)) type = jobs.front().name;
    evaluator_ = type == kEvaluator && !jobs_.empty();
    if (evaluator_) return CheckEvaluator();
    const auto job = std::find_if(jobs.begin(), jobs.end(),
                                  [&type](const Job& job) { return job.name == type; });
    if (job == jobs.end()) {
      const auto quote = [](std::string* text, const Job& job) {
        absl::StrAppend(text, Quote(job.name));
      };
      Add(absl::StrCat("task.type: got ", type.has_value() ? Quote(*type) : "none", ", want ",
                       absl::StrJoin(jobs, ", ", quote),
                       jobs_.empty() ? ", which it is without a cluster" : " or \"evaluator\""));
      return;
    }
    const int64_t number = indexed ? NumberOf(*index) : 0;
    if (number < 0 || number >= job->count) {
      Add(absl::StrCat(
          "task.index: got ", Shown(*index), ", want 0",
          job->count == 1 ? ": there is one host" : absl::StrCat(" to ", job->count - 1)));
    } else if (indexed && !jobs_.empty() && !CountsDiffer()) {
      CheckRank(*job, number);
    }
  }

  void CheckEvaluator() {
    if (started_.verb.empty() || hosts_.size() == 1) return;
    Add(absl::StrCat("task.type: got \"evaluator\", which is none of the ", hosts_.size(),
                     " hosts that train; want there: tpurun evaluate --watch ..."));
  }

  void CheckRank(const Job& job, int64_t index) {
    const int64_t process = job.first + index;
    if (process == started_.rank) return;
    Add(absl::StrCat("task: got ", job.name, " ", index, ", which is process ", process,
                     ", but this is process ", started_.rank, " of ", hosts_.size(),
                     ", want the same, or no task"));
  }

  bool CountsDiffer() const {
    return !started_.verb.empty() && hosts_.size() != static_cast<size_t>(started_.count);
  }

  void CheckCount() {
    if (jobs_.empty() || evaluator_ || !CountsDiffer()) return;
    const size_t count = hosts_.size();
    constexpr size_t kMost = 4;
    const std::vector<std::string> shown(hosts_.begin(), hosts_.begin() + std::min(count, kMost));
    const std::string got =
        absl::StrCat("cluster: got ", count, count == 1 ? " host (" : " hosts (",
                     absl::StrJoin(shown, ", "), count > kMost ? ", ..." : "", "), but ");
    if (started_.count > 1) {
      Add(absl::StrCat(got, started_.count, " processes were started, want one for each host"));
    } else if ((count & (count - 1)) != 0) {
      Add(absl::StrCat(got, "equal shares of the replicas need 1, 2, 4, 8 ... processes"));
    } else {
      // A process on each host, which mpirun knows without its port.
      std::vector<std::string> slots;
      for (const std::string& host : shown) {
        slots.push_back(absl::StrCat(host.substr(0, host.rfind(':')), ":1"));
      }
      Add(absl::StrCat(got, "this process was started alone; to train on all, run on one of them: ",
                       "mpirun -np ", count,
                       count > kMost ? " --hostfile FILE" : " --host " + absl::StrJoin(slots, ","),
                       " tpurun ", started_.verb, " ... (tpurun help several_machines)"));
    }
  }

  bool IsHost(const std::string& master) const {
    constexpr std::string_view kScheme = "grpc://";
    return master.starts_with(kScheme) &&
           std::find(hosts_.begin(), hosts_.end(), master.substr(kScheme.size())) != hosts_.end();
  }

  const StartedProcesses& started_;
  std::vector<Job> jobs_;           // in the order of their processes; empty without a cluster
  std::vector<std::string> hosts_;  // by process
  TfJson root_ = TfJson::object();
  bool evaluator_ = false;
  ConfigErrors& errors_;
};

}  // namespace

void ApplyTfConfig(const std::string& text, const StartedProcesses& started, proto::RunConfig* run,
                   SourceLocations* locations, ConfigErrors& errors) {
  TfConfig config(started, errors);
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
  if (const auto master = config.Master("session_master"); master && !run->has_master()) {
    run->set_master(*master);
    locations->Record("master", here);
  }
  const auto eval_master = config.Master("eval_session_master");
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
