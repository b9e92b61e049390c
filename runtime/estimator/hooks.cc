#include "runtime/estimator/hooks.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "runtime/base/process_group.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

constexpr char kVariablePrefix[] = "TPURUN_";
constexpr std::chrono::milliseconds kLookPeriod(5);
constexpr std::chrono::seconds kPatience(5);

// Returns this process' environment with the variables of `moment`.
std::vector<std::string> EnvironmentOf(const HookMoment& moment, const std::string& model_dir) {
  const std::string names[] = {"STEP", "CHECKPOINT", "LOSS", "MODEL_DIR", "EVALUATION"};
  const std::string values[] = {
      absl::StrCat(moment.step), moment.checkpoint,
      moment.loss.has_value() ? ShortestText(static_cast<float>(*moment.loss)) : "", model_dir,
      moment.evaluation};
  std::vector<std::string> variables;
  for (size_t i = 0; i < std::size(names); ++i) {
    variables.push_back(absl::StrCat(kVariablePrefix, names[i], "=", values[i]));
  }
  for (char** entry = environ; *entry != nullptr; ++entry) {
    bool replaced = false;
    for (const std::string& name : names) {
      replaced |= absl::StartsWith(*entry, absl::StrCat(kVariablePrefix, name, "="));
    }
    if (!replaced) variables.emplace_back(*entry);
  }
  return variables;
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Returns 0 or an errno.
int Spawn(std::vector<std::string> arguments, std::vector<std::string> environment, pid_t* pid) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
  // This process ignores SIGPIPE and SIGXFSZ; the command must not inherit that. Signals that were
  // ignored when this process started stay ignored.
  sigset_t ignored, none;
  sigemptyset(&ignored);
  sigaddset(&ignored, SIGPIPE);
  sigaddset(&ignored, SIGXFSZ);
  sigemptyset(&none);
  posix_spawnattr_setsigdefault(&attributes, &ignored);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  const int error = posix_spawn(pid, arguments[0].c_str(), &files, &attributes,
                                Pointers(arguments).data(), Pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return error;
}

}  // namespace

HookMoment MomentOf(const Evaluation& evaluation) {
  HookMoment moment = {.step = evaluation.global_step,
                       .checkpoint = evaluation.checkpoint.value_or(""),
                       .evaluation = evaluation.name};
  if (evaluation.loss_shard_0.has_value()) moment.loss = evaluation.metrics[0].second.values[0];
  return moment;
}

Hooks::Hooks(const List& hooks, const std::string& name, const EstimatorOptions& options)
    : model_dir_(options.config.model_dir()), interrupt_(options.interrupt) {
  if (!options.run_hooks) return;
  for (int i = 0; i < hooks.size(); ++i) {
    commands_.push_back(
        {&hooks[i], absl::StrCat(name, "[", i, "] (", Quote(hooks[i].command()), ")")});
  }
}

absl::Status Hooks::Run(proto::Hook::At at, const HookMoment& moment) {
  for (Command& command : commands_) {
    RETURN_IF_ERROR(Look(command));
    if (command.hook->at() != at) continue;
    const bool is_its_loop =
        at != proto::Hook::LOOP || ++command.calls % command.hook->every_n_loops() == 0;
    if (!is_its_loop) continue;
    if (command.running >= 0) {
      LOG(INFO) << command.title << " still runs: left out at step " << moment.step << ".";
      continue;
    }
    VLOG(1) << "Running " << command.title << " at step " << moment.step << ".";
    RETURN_IF_ERROR(Start(command, moment));
    if (command.hook->wait()) RETURN_IF_ERROR(Wait(command));
  }
  return absl::OkStatus();
}

absl::Status Hooks::Finish() {
  for (Command& command : commands_) {
    RETURN_IF_ERROR(Look(command));
    if (command.running < 0) continue;
    LOG(INFO) << "Waiting for " << command.title << ".";
    RETURN_IF_ERROR(Wait(command));
  }
  return absl::OkStatus();
}

absl::Status Hooks::Start(Command& command, const HookMoment& moment) {
  const int error = Spawn({"/bin/sh", "-c", command.hook->command()},
                          EnvironmentOf(moment, model_dir_), &command.running);
  if (error == 0) return absl::OkStatus();
  command.running = -1;
  return absl::AbortedError(
      absl::StrCat(command.title, ": cannot start /bin/sh: ", std::strerror(error)));
}

absl::Status Hooks::Ended(const Command& command, int status) const {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return absl::OkStatus();
  const std::string what = WIFEXITED(status) ? absl::StrCat("exit code ", WEXITSTATUS(status))
                                             : absl::StrCat("signal ", strsignal(WTERMSIG(status)));
  const std::string message = absl::StrCat(command.title, " failed: ", what);
  const bool interrupted = interrupt_ != nullptr && *interrupt_ > 0;
  if (command.hook->required() && !interrupted) return absl::AbortedError(message);
  LOG(WARNING) << message;
  return absl::OkStatus();
}

absl::Status Hooks::Wait(Command& command) {
  using Clock = std::chrono::steady_clock;
  const pid_t group = command.running;
  waited_for_group = group;
  std::optional<Clock::time_point> told;
  absl::Status ended;
  for (; command.running >= 0; std::this_thread::sleep_for(kLookPeriod)) {
    ended = Look(command);
    if (command.running < 0 || interrupt_ == nullptr || *interrupt_ == 0) continue;
    if (!told.has_value()) {
      LOG(INFO) << "Interrupted: ending " << command.title << ".";
      kill(-group, SIGTERM);
      kill(-group, SIGCONT);
      told = Clock::now();
    } else if (Clock::now() - *told > kPatience) {
      kill(-group, SIGKILL);
    }
  }
  waited_for_group = 0;
  // Ends processes that the shell has left running.
  if (told.has_value()) kill(-group, SIGKILL);
  return ended;
}

absl::Status Hooks::Look(Command& command) {
  if (command.running < 0) return absl::OkStatus();
  int status = 0;
  const pid_t ended = waitpid(command.running, &status, WNOHANG);
  if (ended == 0 || (ended < 0 && errno == EINTR)) return absl::OkStatus();
  command.running = -1;
  if (ended > 0) return Ended(command, status);
  return absl::AbortedError(
      absl::StrCat(command.title, ": how it ended is not known: ", std::strerror(errno)));
}

}  // namespace tpurun
