#include "cli/signals.h"

#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstring>
#include <deque>
#include <utility>

#include "runtime/base/process_group.h"

namespace tpurun {
namespace {

std::atomic<int> interrupt_count{0};
std::atomic<int> interrupts_before_exit{1};
// The last one that counted: milliseconds and its number in the lowest byte.
std::atomic<int64_t> last_interrupt{0};
std::atomic<const std::vector<std::string>*> unfinished_files{nullptr};
std::atomic<const std::string*> last_words{nullptr};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<int64_t>::is_always_lock_free &&
                  std::atomic<const std::vector<std::string>*>::is_always_lock_free &&
                  std::atomic<const std::string*>::is_always_lock_free,
              "the handler may only touch lock-free atomics");

// SIGUSR1 and SIGUSR2 are what batch systems send ahead of a job's end (Slurm's --signal).
constexpr int kInterrupts[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGXCPU};

// timeout(1) sends its signal to the process and to the process group.
constexpr int64_t kSentTwiceMilliseconds = 500;

void HandleInterrupt(int signal) {
  // The first thread writes the files: while it is here, it begins none of those that are removed.
  if (gettid() != getpid()) {
    tgkill(getpid(), getpid(), signal);
    return;
  }
  // The system repeats it each second of processor time.
  if (signal == SIGXCPU && interrupt_count.load() > 0) return;
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const int64_t milliseconds = now.tv_sec * 1000 + now.tv_nsec / 1000000;
  int64_t last = last_interrupt.load();
  do {
    if ((last & 0xff) == signal && milliseconds - (last >> 8) < kSentTwiceMilliseconds) return;
  } while (!last_interrupt.compare_exchange_weak(last, milliseconds << 8 | signal));
  if (interrupt_count.fetch_add(1) + 1 < interrupts_before_exit.load()) return;
  if (const int group = waited_for_group.load(); group > 0) kill(-group, SIGTERM);
  RemoveUnfinished();
  if (const std::string* const text = last_words.load(); text != nullptr) {
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text->data(), text->size());
  }
  // As _exit, which the thread sanitizer replaces: it would report threads that are not joined, and
  // a handler joins none.
  syscall(SYS_exit_group, 128 + signal);
}

}  // namespace

void InstallSignalHandlers(OnInterrupt on_interrupt) {
#ifdef TPURUN_SANITIZED
  // The thread sanitizer of GCC 12 allocates what it knows of a thread's signals in the thread's
  // first call that blocks, and loses a signal that comes meanwhile.
  usleep(0);
#endif
  interrupts_before_exit = on_interrupt == OnInterrupt::kFinishStep ? 2 : 1;
  struct sigaction action;
  std::memset(&action, 0, sizeof(action));
  sigemptyset(&action.sa_mask);
  action.sa_handler = HandleInterrupt;
  action.sa_flags = SA_RESTART;
  for (const int signal : kInterrupts) {
    struct sigaction now;
    const bool ignored = sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
    if (!ignored) sigaction(signal, &action, nullptr);
  }
  // What is started here is waited for, also where who started this program waits for nobody.
  action.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &action, nullptr);
  action.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &action, nullptr);
  sigaction(SIGXFSZ, &action, nullptr);
}

void RemoveOnInterrupt(std::vector<std::string> paths) {
  // Every list is kept: a handler may be reading it.
  static auto& lists = *new std::deque<std::vector<std::string>>;
  lists.push_back(std::move(paths));
  unfinished_files = &lists.back();
}

void SayOnInterrupt(std::string text) {
  // Every text is kept, too.
  static auto& texts = *new std::deque<std::string>;
  texts.push_back(std::move(text));
  last_words = &texts.back();
}

void RemoveUnfinished() {
  const std::vector<std::string>* const files = unfinished_files.load();
  if (files == nullptr) return;
  for (const std::string& path : *files) unlink(path.c_str());
}

const std::atomic<int>& InterruptCount() { return interrupt_count; }

}  // namespace tpurun
