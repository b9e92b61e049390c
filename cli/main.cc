// tpurun VERB [flags]: finds the verb in the table, runs it and turns its status into an exit code.
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "cli/command_line.h"
#include "cli/json.h"
#include "cli/logging.h"
#include "cli/out_of_memory.h"
#include "cli/processes.h"
#include "cli/signals.h"
#include "cli/verb_table.h"
#include "glog/logging.h"
#include "runtime/base/status.h"
#include "runtime/estimator/processes.h"

namespace tpurun {
namespace {

// Prints the error to standard error and returns the exit code.
int Finish(const absl::Status& status) {
  if (status.ok() || IsClosedPipe(status)) return 0;
  for (const std::string& line : ErrorLines(status))
    std::cerr << "tpurun: " << OfProcess() << line << '\n';
  std::cerr.flush();
  return ExitCode(status);
}

// A file that we open must not become standard output because the caller closed that. Reading gives
// the end; a result still cannot be written: 1 is not open for it.
void OpenStandardStreams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    const int opened = open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY);
    if (opened < 0) _exit(ExitCode(absl::InternalError("no /dev/null")));
  }
}

size_t StackBytesOfThread() {
  size_t bytes = 0;
  pthread_attr_t attributes;
  if (pthread_getattr_default_np(&attributes) != 0) return 0;
  pthread_attr_getstacksize(&attributes, &bytes);
  pthread_attr_destroy(&attributes);
  return bytes;
}

// std::thread throws where the system refuses one: as without memory, there is no going on.
[[noreturn]] void EndWithoutThread() {
  if (const std::exception_ptr thrown = std::current_exception()) {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::system_error& error) {
      EndOutOfMemory(
          "cannot start a thread with a stack of %zu bytes: %s; raise the limits on processes and "
          "memory, or lower --worker_threads",
          StackBytesOfThread(), error.what());
    } catch (...) {
    }
  }
  std::abort();
}

}  // namespace
}  // namespace tpurun

int main(int argc, char** argv) {
  using namespace tpurun;
  OpenStandardStreams();
  std::set_terminate(EndWithoutThread);
  UseOneArena();
  ReserveStack();
  std::vector<std::string> arguments(argv + 1, argv + argc);
  InstallSignalHandlers(OnInterrupt::kExit);
  if (arguments.empty()) {
    std::cerr << HelpText(Verbs());
    return ExitCode(absl::InvalidArgumentError("no verb"));
  }
  if (arguments.front() == "--help" || arguments.front() == "-h") arguments.front() = "help";
  if (arguments.front() == "--version") arguments.front() = "version";
  const absl::StatusOr<CommandLine> command = ParseCommandLine(arguments, Verbs());
  if (!command.ok()) return Finish(command.status());
  if (command->wants_help()) return Finish(WriteOutput(HelpText(command->verb())));
  // What --strict counts is shown.
  if (command->GetBool("strict")) FLAGS_minloglevel = std::min(FLAGS_minloglevel, google::WARNING);
  if (command->GetBool("quiet")) FLAGS_minloglevel = std::max(FLAGS_minloglevel, google::WARNING);
  const bool json = command->GetString("log_format") == "json";
  StartLogging(argv[0], json ? LogFormat::kJson : LogFormat::kText);
  if (LeavesTheWorkToTheChief(*command)) return 0;
  const absl::Status status = command->verb().run(*command);
  // The job has the exit code of the chief, which might be ended before it has said why.
  if (IsToldByChief(status)) return 0;
  return Finish(status.ok() ? CheckWarnings(*command) : status);
}
