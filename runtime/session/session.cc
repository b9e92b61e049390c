#include "runtime/session/session.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "glog/logging.h"
#include "runtime/base/dcheck.h"
#include "runtime/base/memory.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/device/loaded_program.h"
#include "runtime/program/core_program.h"
#include "runtime/program/fit_to_workers.h"

namespace tpurun {
namespace {

static_assert(kMaxLocalReplicas <= kMaxParts);

constexpr std::chrono::minutes kLinePeriod(1);

double VariableBytes(const std::vector<Variable>& variables, int num_replicas) {
  double bytes = 0;
  for (const Variable& variable : variables) {
    bytes += static_cast<double>(variable.shape.bytes()) * (variable.per_core ? num_replicas : 1);
  }
  return bytes;
}

absl::Status DoesNotFit(const std::string& want) {
  return absl::ResourceExhaustedError(absl::StrCat("does not fit in memory: want ", want,
                                                   ", there is ", BytesText(MemoryBytes()),
                                                   "; lower the batch size or the units"));
}

double ArenaBytes(const CoreProgram& program, int num_workers) {
  const Interleaving interleaving = program.interleaving();
  const int of_worker = InterleavedParts(interleaving.replicas_per_call, interleaving, num_workers);
  return static_cast<double>(program.shared_bytes) +
         static_cast<double>(program.core_bytes) * program.num_replicas +
         static_cast<double>(program.worker_bytes) * of_worker * num_workers;
}

// Returns ResourceExhausted if the program needs more memory than this machine has. Without this
// check the kernel would kill the process at a later write. `arenas`: those of the programs that
// run in turn, which have the same ones.
absl::Status CheckFits(const CoreProgram& program, double variables, double arenas) {
  const double infeed = Infeed::RingBytes(program);
  const double outfeed = program.outfeed.empty() ? 0 : Outfeed::RingBytes(program);
  const double total = variables + arenas + infeed + outfeed;
  if (total <= MemoryBytes()) return absl::OkStatus();
  return DoesNotFit(absl::StrCat(BytesText(total), " (variables ", BytesText(variables),
                                 ", intermediate values ", BytesText(arenas), ", infeed ",
                                 BytesText(infeed), ", outfeed ", BytesText(outfeed), ")"));
}

// Programs that run in turn, for sequences of different lengths.
absl::Status CheckAlike(const CoreProgram& got, const CoreProgram& want) {
  const auto same = [](const Variable& a, const Variable& b) {
    return a.name == b.name && a.shape == b.shape && a.per_core == b.per_core;
  };
  if (!std::equal(got.variables.begin(), got.variables.end(), want.variables.begin(),
                  want.variables.end(), same) ||
      got.outfeed.size() != want.outfeed.size()) {
    return absl::InternalError("the compiled step has other variables or outputs");
  }
  const auto fits = [](const InfeedSlot& a, const InfeedSlot& b) {
    return a.name == b.name && a.shape.dtype == b.shape.dtype &&
           a.shape.dims[0] == b.shape.dims[0] && a.shape.bytes() <= b.shape.bytes();
  };
  if (!std::equal(got.infeed.begin(), got.infeed.end(), want.infeed.begin(), want.infeed.end(),
                  fits)) {
    return absl::InternalError("the compiled step has other features");
  }
  for (size_t i = 0; i < got.outfeed.size(); ++i) {
    const OutfeedSlot &one = got.outfeed[i], &other = want.outfeed[i];
    if (one.shape == other.shape) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("output ", Quote(one.name), " is ", one.shape.ToString(),
                     ", at the full length ", other.shape.ToString(), "; leave its summary out"));
  }
  return absl::OkStatus();
}

std::string QueueText(const char* name, const EntryRing* ring) {
  if (ring == nullptr) return "";
  return absl::StrFormat("; %s: %d of %d entries wait", name, ring->depth(), ring->capacity());
}

std::string HeartbeatText(const RunArgs& args, int64_t steps, double seconds) {
  const bool endless = args.iterations == std::numeric_limits<int64_t>::max();
  return absl::StrFormat("After %.0f s %d%s steps of this loop are done", seconds, steps,
                         endless ? "" : absl::StrCat(" of ", args.iterations)) +
         QueueText("infeed", args.infeed) + QueueText("outfeed", args.outfeed) + ".";
}

}  // namespace

Session::Session(int num_workers, const Topology& topology)
    : variables_(topology.replicas()), device_(Device::Create(num_workers)) {}

Session::~Session() = default;

absl::Status Session::Load(const Graph& graph, const CompileOptions& options) {
  ASSIGN_OR_RETURN(program_, LoadProgram(graph, options, nullptr));
  return absl::OkStatus();
}

absl::Status Session::LoadForBucket(const Graph& graph, const CompileOptions& options) {
  ASSIGN_OR_RETURN(Program program, LoadProgram(graph, options, &program_));
  of_buckets_.push_back(std::move(program));
  return absl::OkStatus();
}

absl::StatusOr<Session::Program> Session::LoadProgram(const Graph& graph,
                                                      const CompileOptions& options,
                                                      const Program* in_turn) {
  // Checked before anything allocates variables of this size.
  const double variables = VariableBytes(graph.variables(), variables_.replicas().count);
  if (variables > MemoryBytes()) return DoesNotFit(BytesText(variables) + " for variables alone");
  Program program;
  CoreProgram& core = program.core;
  ASSIGN_OR_RETURN(core, Compile(graph, options));
  std::optional<CoreProgram> alone;
  if (device_->num_workers() > 1 && core.num_replicas >= core.all_replicas)
    alone = FitToOneWorker(core);
  FitToWorkers(device_->num_workers(), core);
  double arenas = ArenaBytes(core, device_->num_workers());
  if (in_turn != nullptr) {
    RETURN_IF_ERROR(CheckAlike(core, in_turn->core));
    arenas = std::max(arenas, ArenaBytes(in_turn->core, device_->num_workers()));
  }
  RETURN_IF_ERROR(CheckFits(core, VariableBytes(core.variables, core.num_replicas), arenas));
  RETURN_IF_ERROR(variables_.Add(core.variables));
  ASSIGN_OR_RETURN(const std::vector<void*> memory, variables_.Bind(core.variables));
  ASSIGN_OR_RETURN(program.loaded, device_->Load(core, memory, alone ? &*alone : nullptr,
                                                 in_turn ? in_turn->loaded.get() : nullptr));
  return program;
}

RunResult Session::RunLoop(RunArgs args, Infeed& infeed, Outfeed* outfeed) {
  args.infeed = program_.core.infeed.empty() ? nullptr : &infeed.ring();
  args.outfeed = outfeed == nullptr ? nullptr : &outfeed->ring();
  const auto start = std::chrono::steady_clock::now();
  const auto caller = std::move(args.heartbeat);
  // A caller may ask more often than the log is to have lines.
  const auto line_period = caller ? std::chrono::milliseconds(kLinePeriod) : args.heartbeat_period;
  auto next_line = start + line_period;
  args.heartbeat = [&](int64_t steps) {
    if (caller) caller(steps);
    const auto now = std::chrono::steady_clock::now();
    if (now < next_line) return;
    next_line += line_period;
    const std::chrono::duration<double> elapsed = now - start;
    LOG(INFO) << HeartbeatText(args, steps, elapsed.count());
  };
  if (!of_buckets_.empty()) return RunInTurn(std::move(args));
  args.variables_version = variables_.version();
  return device_->Run(*program_.loaded, args);
}

RunResult Session::RunInTurn(RunArgs args) {
  TPURUN_DCHECK(args.profile == nullptr && args.fabric == nullptr && args.infeed != nullptr);
  const int64_t iterations = args.iterations;
  const auto heartbeat = std::move(args.heartbeat);
  auto next_beat = std::chrono::steady_clock::now() + args.heartbeat_period;
  RunResult all;
  args.heartbeat = [&](int64_t steps) {
    heartbeat(all.steps + steps);
    next_beat = std::chrono::steady_clock::now() + args.heartbeat_period;
  };
  bool goes_on = true;
  while (goes_on) {
    while (!args.infeed->WaitUntil(next_beat, args.interrupt)) args.heartbeat(0);
    if (std::chrono::steady_clock::now() >= next_beat) args.heartbeat(0);
    // Without a batch any program tells why: the end, an error or an interrupt, before it looks
    // whether a batch has come meanwhile.
    const bool has_batch = args.infeed->depth() > 0;
    const Program& program = has_batch ? Of(args.infeed->FrontKind()) : program_;
    args.first_index = all.steps;
    args.iterations = has_batch ? args.infeed->EntriesOfFrontKind(iterations - all.steps) : 1;
    // To a program, those before it have written the variables from outside.
    if (std::exchange(last_run_, &program) != &program) ++switches_;
    args.variables_version = variables_.version() + switches_;
    RunResult run = device_->Run(*program.loaded, args);
    goes_on = run.status.ok() && !run.interrupted && run.steps == args.iterations;
    run.steps += all.steps;
    run.periodic_seconds += all.periodic_seconds;
    if (run.loss.empty()) run.loss = std::move(all.loss);
    all = std::move(run);
    goes_on = goes_on && all.steps < iterations;
  }
  return all;
}

absl::StatusOr<double> Session::TimeAlone(int instruction) {
  return device_->TimeAlone(*program_.loaded, instruction);
}

std::string Session::machine() const {
  return absl::StrCat(program().machine, ", ", program().library);
}

std::string Session::InstructionsRun() const {
  std::string text;
  const std::vector<int64_t> counts = device_->InstructionsRun();
  for (size_t worker = 0; worker < counts.size(); ++worker) {
    absl::StrAppend(&text, worker == 0 ? "" : ", ", "worker ", worker, " ran ", counts[worker]);
  }
  return text;
}

}  // namespace tpurun
