#include "runtime/estimator/train_peers.h"

#include <cstring>
#include <memory>
#include <optional>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/estimator/setup.h"
#include "runtime/session/call_input_fn.h"
#include "runtime/session/outfeed.h"

namespace tpurun {
namespace {

constexpr char kToldByChief[] = "tpurun/told_by_chief";

absl::Status ToldByChief(absl::Status status) {
  if (!status.ok()) status.SetPayload(kToldByChief, absl::Cord());
  return status;
}

// The first line that differs.
std::string Difference(const std::string& name, const std::string& chiefs, const std::string& own) {
  const std::vector<std::string> want = absl::StrSplit(chiefs, '\n');
  const std::vector<std::string> got = absl::StrSplit(own, '\n');
  size_t line = 0;
  while (line < want.size() && line < got.size() && want[line] == got[line]) ++line;
  const auto shown = [line](const std::vector<std::string>& lines) {
    return line < lines.size() ? Quote(lines[line]) : "nothing";
  };
  return absl::StrCat(name, ": got ", shown(got), ", the chief has ", shown(want));
}

std::string Joined(const std::vector<Likeness>& own) {
  std::string joined;
  for (const auto& [name, text] : own) absl::StrAppend(&joined, text.size(), " ", text);
  return joined;
}

std::vector<std::string> Parts(const std::string& joined, size_t count) {
  std::vector<std::string> parts;
  size_t at = 0;
  while (parts.size() < count) {
    const size_t space = joined.find(' ', at);
    const std::optional<int64_t> size =
        space == std::string::npos ? std::nullopt : ParseInt64(joined.substr(at, space - at));
    parts.push_back(size.has_value() ? joined.substr(space + 1, *size) : "");
    if (!size.has_value()) break;
    at = space + 1 + *size;
  }
  parts.resize(count);
  return parts;
}

// The copies of all processes, in the order of the replicas.
absl::StatusOr<StoredVariable> AllCopies(const StoredVariable& own, const ReplicaRange& replicas,
                                         Fabric& fabric) {
  StoredVariable all(own.variable(), replicas.all);
  std::string of_process, of_all;
  for (int copy = 0; copy < own.copies(); ++copy)
    of_process.append(reinterpret_cast<const char*>(own.copy(copy)), own.copy_bytes());
  of_all.resize(of_process.size() * fabric.size());
  RETURN_IF_ERROR(fabric.AllGather(of_process.data(), std::ssize(of_process), of_all.data()));
  for (int copy = 0; copy < all.copies(); ++copy)
    std::memcpy(all.copy(copy), of_all.data() + copy * own.copy_bytes(), own.copy_bytes());
  return all;
}

}  // namespace

bool IsToldByChief(const absl::Status& status) {
  return status.GetPayload(kToldByChief).has_value();
}

absl::Status FirstErrorOfProcesses(Fabric& fabric, const absl::Status& own) {
  const absl::Status first = fabric.FirstError(own);
  return fabric.is_chief() ? first : ToldByChief(first);
}

absl::Status TrainPeers::FirstError(const absl::Status& own) {
  return fabric_ == nullptr ? own : FirstErrorOfProcesses(*fabric_, own);
}

absl::Status TrainPeers::CheckAlike(const std::vector<Likeness>& own) {
  if (fabric_ == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string chiefs, fabric_->BroadcastText(Joined(own)));
  const std::vector<std::string> want = Parts(chiefs, own.size());
  std::vector<std::string> differences;
  for (size_t i = 0; i < own.size(); ++i) {
    const auto& [name, text] = own[i];
    if (text != want[i]) differences.push_back(Difference(name, want[i], text));
  }
  return FirstError(
      differences.empty()
          ? absl::OkStatus()
          : absl::InvalidArgumentError(absl::StrCat(
                "differs from the chief, process 0: ", absl::StrJoin(differences, "; "),
                "; all processes want the same program, configuration and data")));
}

absl::StatusOr<TrainStart> TrainPeers::ShareStart(absl::StatusOr<TrainStart> own) {
  if (fabric_ == nullptr) return own;
  RETURN_IF_ERROR(FirstError(is_chief() ? own.status() : absl::OkStatus()));
  const bool resumes = is_chief() && own->resumed.has_value();
  ASSIGN_OR_RETURN(const std::string prefix,
                   fabric_->BroadcastText(resumes ? own->resumed->prefix() : ""));
  if (!is_chief()) {
    own = ReadStartOfChief(options_, prefix);
    if (!own.ok()) {
      own = Annotate(own.status(),
                     absl::StrCat("process ", fabric_->rank(),
                                  " reads the checkpoint that the chief resumes; model_dir must be "
                                  "on a file system that all processes share"));
    }
  }
  RETURN_IF_ERROR(FirstError(own.status()));
  return own;
}

absl::StatusOr<bool> TrainPeers::Ask(bool of_chief) {
  if (fabric_ == nullptr) return of_chief;
  RETURN_IF_ERROR(fabric_->Broadcast(&of_chief, sizeof(of_chief)));
  return of_chief;
}

absl::Status TrainPeers::Give(const Order& order) {
  if (fabric_ == nullptr) return absl::OkStatus();
  Order given = order;
  return fabric_->Broadcast(&given, sizeof(given));
}

absl::Status TrainPeers::BeginRun(int64_t iterations) {
  return Give({.kind = Order::kRun, .number = iterations});
}

absl::StatusOr<TrainedState> TrainPeers::Collect(int64_t step, const TrainProgram& program,
                                                 const TrainInput& input) {
  RETURN_IF_ERROR(Give({.kind = Order::kCollect, .number = step}));
  return CollectHere(step, program, input);
}

absl::StatusOr<TrainedState> TrainPeers::CollectHere(int64_t step, const TrainProgram& program,
                                                     const TrainInput& input) {
  const VariableStore& own = program.session.variables();
  absl::StatusOr<std::string> position = input.PositionAt(step);
  if (fabric_ == nullptr) {
    RETURN_IF_ERROR(position.status());
    return TrainedState{own, *std::move(position)};
  }
  RETURN_IF_ERROR(FirstError(position.status()));
  ASSIGN_OR_RETURN(const std::vector<std::string> positions, fabric_->AllGatherText(*position));
  ASSIGN_OR_RETURN(std::string of_all,
                   JoinPositions(positions, DeploymentOf(options_, ModeKey::kTrain)));
  TrainedState state{VariableStore(own.replicas().all), std::move(of_all)};
  for (const auto& [name, stored] : own.variables()) {
    if (stored.copies() == 1) {
      RETURN_IF_ERROR(state.variables.Share(name, stored));
      continue;
    }
    ASSIGN_OR_RETURN(const StoredVariable all, AllCopies(stored, own.replicas(), *fabric_));
    RETURN_IF_ERROR(state.variables.Share(name, all));
  }
  return state;
}

void TrainPeers::End(const absl::Status& status) {
  if (!Give({.kind = Order::kEnd, .number = static_cast<int64_t>(status.code())}).ok()) return;
  if (fabric_ != nullptr) (void)fabric_->BroadcastText(std::string(status.message()));
}

void TrainPeers::Restart() { (void)Give({.kind = Order::kRestart}); }

absl::StatusOr<bool> TrainPeers::Follow(TrainProgram& program, TrainInput& input) {
  const CoreProgram& compiled = program.session.program();
  std::unique_ptr<Outfeed> outfeed;
  if (!compiled.outfeed.empty()) {
    // The chief has the values of all processes.
    outfeed = std::make_unique<Outfeed>(compiled,
                                        [](int64_t, const std::byte*) { return absl::OkStatus(); });
  }
  int64_t step = input.start_step();
  while (true) {
    Order order;
    RETURN_IF_ERROR(fabric_->Broadcast(&order, sizeof(order)));
    switch (order.kind) {
      case Order::kRun: {
        const RunResult result = program.session.RunLoop(
            {.iterations = order.number,
             .first_step = step,
             .host_call_every_n_steps =
                 options_.config.tpu_config().experimental_host_call_every_n_steps(),
             .fabric = fabric_,
             .interrupt = options_.interrupt},
            input.infeed(), outfeed.get());
        step += result.steps;
        if (outfeed != nullptr) RETURN_IF_ERROR(outfeed->Drain());
        break;
      }
      case Order::kCollect:
        RETURN_IF_ERROR(CollectHere(order.number, program, input).status());
        break;
      case Order::kRestart:
        return true;
      case Order::kEnd: {
        ASSIGN_OR_RETURN(const std::string message, fabric_->BroadcastText(""));
        input.infeed().Stop();
        RETURN_IF_ERROR(
            ToldByChief(absl::Status(static_cast<absl::StatusCode>(order.number), message)));
        return false;
      }
    }
  }
}

}  // namespace tpurun
