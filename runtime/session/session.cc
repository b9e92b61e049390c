#include "runtime/session/session.h"

#include <chrono>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "glog/logging.h"
#include "runtime/base/memory.h"
#include "runtime/base/status.h"
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

// Returns ResourceExhausted if the program needs more memory than this machine has. Without this
// check the kernel would kill the process at a later write.
absl::Status CheckFits(const CoreProgram& program, double variables, int num_workers) {
  const Interleaving interleaving = program.interleaving();
  const int of_worker = InterleavedParts(interleaving.replicas_per_call, interleaving, num_workers);
  const double arenas = static_cast<double>(program.shared_bytes) +
                        static_cast<double>(program.core_bytes) * program.num_replicas +
                        static_cast<double>(program.worker_bytes) * of_worker * num_workers;
  const double infeed = Infeed::RingBytes(program);
  const double outfeed = program.outfeed.empty() ? 0 : Outfeed::RingBytes(program);
  const double total = variables + arenas + infeed + outfeed;
  if (total <= MemoryBytes()) return absl::OkStatus();
  return DoesNotFit(absl::StrCat(BytesText(total), " (variables ", BytesText(variables),
                                 ", intermediate values ", BytesText(arenas), ", infeed ",
                                 BytesText(infeed), ", outfeed ", BytesText(outfeed), ")"));
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
  // Checked before anything allocates variables of this size.
  const double variables = VariableBytes(graph.variables(), variables_.replicas().count);
  if (variables > MemoryBytes()) return DoesNotFit(BytesText(variables) + " for variables alone");
  ASSIGN_OR_RETURN(program_, Compile(graph, options));
  std::optional<CoreProgram> alone;
  if (device_->num_workers() > 1 && program_.num_replicas >= program_.all_replicas)
    alone = FitToOneWorker(program_);
  FitToWorkers(device_->num_workers(), program_);
  RETURN_IF_ERROR(CheckFits(program_, VariableBytes(program_.variables, program_.num_replicas),
                            device_->num_workers()));
  RETURN_IF_ERROR(variables_.Add(program_.variables));
  ASSIGN_OR_RETURN(const std::vector<void*> memory, variables_.Bind(program_.variables));
  ASSIGN_OR_RETURN(loaded_, device_->Load(program_, memory, alone ? &*alone : nullptr));
  return absl::OkStatus();
}

RunResult Session::RunLoop(RunArgs args, Infeed& infeed, Outfeed* outfeed) {
  args.variables_version = variables_.version();
  args.infeed = program_.infeed.empty() ? nullptr : &infeed.ring();
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
  return device_->Run(*loaded_, args);
}

absl::StatusOr<double> Session::TimeAlone(int instruction) {
  return device_->TimeAlone(*loaded_, instruction);
}

std::string Session::machine() const {
  return absl::StrCat(program_.machine, ", ", program_.library);
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
