#include "runtime/estimator/train_peers.h"

#include <cstring>
#include <memory>
#include <optional>

#include "runtime/base/status.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/estimator/processes.h"
#include "runtime/estimator/setup.h"
#include "runtime/session/call_input_fn.h"
#include "runtime/session/outfeed.h"

namespace tpurun {
namespace {

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

// The variables with the copies of all replicas. Shared values are not copied.
absl::StatusOr<VariableStore> AllVariables(const VariableStore& own, Fabric& fabric) {
  VariableStore variables(own.replicas().all);
  for (const auto& [name, stored] : own.variables()) {
    if (stored.copies() == 1) {
      RETURN_IF_ERROR(variables.Share(name, stored));
      continue;
    }
    ASSIGN_OR_RETURN(const StoredVariable all, AllCopies(stored, own.replicas(), fabric));
    RETURN_IF_ERROR(variables.Share(name, all));
  }
  return variables;
}

}  // namespace

absl::Status TrainPeers::FirstError(const absl::Status& own) {
  return FirstErrorOfProcesses(fabric_, own);
}

absl::StatusOr<TrainStart> TrainPeers::ShareStart(absl::StatusOr<TrainStart> own) {
  if (fabric_ == nullptr) return own;
  absl::StatusOr<std::optional<Checkpoint>> resumed = std::optional<Checkpoint>();
  if (!own.ok()) resumed = own.status();
  if (is_chief() && own.ok()) resumed = std::move(own->resumed);
  ASSIGN_OR_RETURN(resumed, ShareCheckpoint(fabric_, std::move(resumed)));
  if (!is_chief()) {
    own = StartOfFollower(options_, *std::move(resumed));
  } else {
    own->resumed = *std::move(resumed);
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
  ASSIGN_OR_RETURN(VariableStore variables, AllVariables(own, *fabric_));
  return TrainedState{std::move(variables), std::move(of_all)};
}

absl::StatusOr<FailedStep> TrainPeers::CollectFailedStep(int64_t step, const TrainProgram& program,
                                                         TrainInput& input) {
  RETURN_IF_ERROR(Give({.kind = Order::kCollectFailed, .number = step}));
  return CollectFailedHere(step, program, input);
}

absl::StatusOr<FailedStep> TrainPeers::ReplayFailedStep(const ReplayArgs& args,
                                                        TrainProgram& program, TrainInput& input) {
  RETURN_IF_ERROR(Give({.kind = Order::kReplay, .number = args.step}));
  return ReplayHere(args, program, input);
}

absl::StatusOr<FailedStep> TrainPeers::ReplayHere(ReplayArgs args, TrainProgram& program,
                                                  TrainInput& input) {
  if (fabric_ != nullptr) {
    ASSIGN_OR_RETURN(args.checkpoint, fabric_->BroadcastText(args.checkpoint));
  }
  RETURN_IF_ERROR(FirstError(Replay(options_, args, program, input)));
  return CollectFailedHere(args.step - 1, program, input);
}

absl::StatusOr<FailedStep> TrainPeers::CollectFailedHere(int64_t step, const TrainProgram& program,
                                                         TrainInput& input) {
  const VariableStore& own = program.session.variables();
  const absl::StatusOr<const std::byte*> entry = input.infeed().ring().Front();
  RETURN_IF_ERROR(FirstError(entry.status()));
  const int bucket = input.infeed().ring().FrontKind();
  const CoreProgram& compiled = program.session.ProgramOf(bucket);
  const int all = own.replicas().all;
  const SlotLayout from = LayoutOf(compiled.infeed, compiled.num_replicas);
  const SlotLayout to = LayoutOf(compiled.infeed, all);
  FailedStep failed{
      .batch = std::vector<std::byte>(to.bytes), .bucket = bucket, .variables = own, .where = {}};
  for (size_t slot = 0; slot < compiled.infeed.size(); ++slot) {
    const std::byte* const share = *entry + from.offsets[slot];
    const int64_t bytes = from.replica_bytes[slot] * compiled.num_replicas;
    std::byte* const place = failed.batch.data() + to.offsets[slot];
    if (fabric_ == nullptr) {
      std::memcpy(place, share, bytes);
    } else {
      RETURN_IF_ERROR(fabric_->AllGather(share, bytes, place));
    }
  }
  const std::string where = input.WhereIs(step);
  if (fabric_ == nullptr) {
    failed.where = {where};
    return failed;
  }
  ASSIGN_OR_RETURN(failed.variables, AllVariables(own, *fabric_));
  ASSIGN_OR_RETURN(failed.where, fabric_->AllGatherText(where));
  return failed;
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
      case Order::kCollectFailed:
        RETURN_IF_ERROR(CollectFailedHere(order.number, program, input).status());
        break;
      case Order::kReplay:
        // Where one cannot, the chief says so and ends.
        (void)ReplayHere({.step = order.number}, program, input);
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
