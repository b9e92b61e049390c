#include "cli/exit_codes.h"

namespace tpurun {
namespace {

constexpr ExitCodeDoc kExitCodes[] = {
    {0, "done; also where there was nothing left to train"},
    {1, "the run failed: NaN in the loss or the weights, an internal error"},
    {2,
     "usage or configuration: a misspelt field or flag, a bad value, a shape that does not fit, an "
     "op that only tpurun does not have, a model_dir of another model"},
    {3, "the compiler refuses: an op or a type that a TPU does not have"},
    {4, "does not fit in memory"},
    {5, "there were warnings, and --strict wants none"},
    {65,
     "only the data shows it: damaged, truncated, empty or mistyped; a training input that ends "
     "before its steps (those before it are saved)"},
    {66, "a named file or checkpoint does not exist or cannot be read, a failing device included"},
    {74, "cannot write: permission, a full disk"},
    {75,
     "a signal (SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGXCPU) stopped the training "
     "and it is saved, another train has had the model_dir for 10 seconds, or one of several "
     "processes is gone: start it again"},
    {129, "SIGHUP, a hangup, with nothing to save, or as the second signal"},
    {130, "SIGINT, Ctrl-C, likewise"},
    {131, "SIGQUIT, Ctrl-\\, likewise"},
    {138, "SIGUSR1 likewise"},
    {140, "SIGUSR2 likewise"},
    {143, "SIGTERM likewise"},
    {152, "SIGXCPU, a limit on processor time, with nothing to save"},
};

}  // namespace

std::span<const ExitCodeDoc> ExitCodes() { return kExitCodes; }

}  // namespace tpurun
