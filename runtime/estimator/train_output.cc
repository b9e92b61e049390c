#include "runtime/estimator/train_output.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "google/protobuf/text_format.h"
#include "proto/field_values.h"
#include "proto/serialize.h"
#include "runtime/base/status.h"
#include "runtime/base/threads.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/model_dir.h"
#include "runtime/estimator/training_graph.h"
#include "runtime/io/checkpoint_state.h"
#include "runtime/io/directory.h"
#include "runtime/io/file.h"
#include "runtime/io/tensor_bundle.h"

namespace tpurun {

TrainOutput::TrainOutput(const EstimatorOptions& options, TrainPeers& peers, TrainStart& start,
                         const TrainProgram& program, const TrainInput& input)
    : options_(options),
      start_(start),
      program_(program),
      input_(input),
      checkpoints_(options, peers, start, program, input),
      events_(options, program) {}

void TrainOutput::PrepareGraph() {
  if (!options_.config.checkpoint_save_graph_def()) return;
  const ScopedBlockedSignals no_signals;
  graph_files_ = std::async(std::launch::async, [this] {
    const tensorflow::GraphDef graph = TrainingGraphDef(program_.graph);
    GraphFiles files = {.event = SerializeDeterministically(graph)};
    google::protobuf::TextFormat::PrintToString(graph, &files.text);
    return files;
  });
}

absl::StatusOr<bool> TrainOutput::OpenDir() {
  RETURN_IF_ERROR(options_.after_checks());
  // Without checkpoints an interrupt need not wait for the end of a step: it ends the process.
  if (checkpoints_.enabled() && options_.train.before_first_write)
    options_.train.before_first_write();
  absl::StatusOr<bool> opened = OpenNewDir();
  if (!opened.ok()) return Failed(start_.step, opened.status());
  return opened;
}

absl::StatusOr<bool> TrainOutput::OpenNewDir() {
  if (start_.dir.is_open()) return true;
  const std::string& model_dir = options_.config.model_dir();
  // A run that fails in its first loop removes its directory again.
  while (!start_.dir.is_open()) {
    RETURN_IF_ERROR(first_writes_.MakeDirectory(model_dir));
    ASSIGN_OR_RETURN(start_.dir, LockModelDir(model_dir, {.interrupt = options_.interrupt}));
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(start_.dir));
  return names.empty();
}

absl::Status TrainOutput::Open() {
  const absl::Status opened = WriteFirst();
  return opened.ok() ? opened : Failed(start_.step, opened);
}

absl::Status TrainOutput::WriteFirst() {
  RETURN_IF_ERROR(start_.dir.CheckPath());
  RETURN_IF_ERROR(start_.saver.Sweep(start_.dir));
  RETURN_IF_ERROR(WriteConfiguration());
  RETURN_IF_ERROR(events_.Open(start_.dir));
  first_writes_.Created(events_.writer().path());
  RETURN_IF_ERROR(WriteGraph());
  checkpoints_.Begin();
  RETURN_IF_ERROR(WriteFirstCheckpoint());
  return events_.Begin(start_.dir, start_.step);
}

absl::Status TrainOutput::WriteProto(const std::string& name,
                                     const google::protobuf::Message& message,
                                     const std::string& heading) {
  return first_writes_.WriteFile({start_.dir, name}, heading + FieldLines(message));
}

absl::Status TrainOutput::WriteConfiguration() {
  const proto::RunConfig& config = options_.config;
  RETURN_IF_ERROR(WriteProto(BaseName(RunConfigPath(config.model_dir())), config,
                             absl::StrCat(kRunConfigMark, "\n")));
  const Projector& projector = program_.projector;
  if (!projector.config.embeddings().empty()) {
    RETURN_IF_ERROR(WriteProto("projector_config.pbtxt", projector.config));
  }
  for (const auto& [name, lines] : projector.metadata) {
    RETURN_IF_ERROR(first_writes_.WriteFile({start_.dir, name}, lines));
  }
  for (const auto& [name, bytes] : input_.assets()) RETURN_IF_ERROR(WriteAsset(name, bytes));
  return absl::OkStatus();
}

absl::Status TrainOutput::WriteAsset(const std::string& name, const std::string& bytes) {
  const FilePath path = {start_.dir, name};
  if (IsAbsent(path)) return first_writes_.WriteFile(path, bytes);
  // When resuming in model_dir, the input has read this file.
  const std::string& model_dir = options_.config.model_dir();
  if (start_.resumed.has_value() && start_.resumed->dir() == model_dir) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string there, ReadFile(path));
  if (there == bytes) return absl::OkStatus();
  // No training has written the file, so it belongs to the user.
  return absl::InvalidArgumentError(absl::StrCat(
      path.text(), " is there and is not what this training would write: name it in the input (",
      name.substr(0, name.rfind('.')), "_file), or move it away"));
}

absl::Status TrainOutput::WriteGraph() {
  if (!graph_files_.valid()) return absl::OkStatus();
  const GraphFiles files = graph_files_.get();
  const FilePath path = {start_.dir, "graph.pbtxt"};
  if (FileExists(path)) RETURN_IF_ERROR(ReplaceableFile(path, options_.files_read()).status());
  RETURN_IF_ERROR(first_writes_.WriteFile(path, files.text));
  return events_.writer().WriteGraph(files.event);
}

absl::Status TrainOutput::WriteFirstCheckpoint() {
  if (!checkpoints_.enabled() || start_.resumed.has_value()) return absl::OkStatus();
  const std::string& model_dir = options_.config.model_dir();
  const std::string name = BaseName(CheckpointPrefix(model_dir, start_.step));
  first_writes_.Created(PendingSavePath(start_.dir));
  first_writes_.Created({start_.dir, BundleDataPath(name, 0, 1)});
  first_writes_.Created({start_.dir, BundleIndexPath(name)});
  first_writes_.Created({start_.dir, BaseName(CheckpointStatePath(model_dir))});
  return Save(start_.step);
}

absl::Status TrainOutput::Save(int64_t step) {
  const HostTrace::Scope scope(options_.host_trace.get(), HostTrace::Lane::kCheckpoint,
                               "checkpoint of step", step);
  RETURN_IF_ERROR(checkpoints_.Save(step));
  return events_.writer().WriteCheckpoint(step,
                                          JoinPath(options_.config.model_dir(), "model.ckpt"));
}

absl::Status TrainOutput::SaveIfNew(int64_t step) {
  if (!checkpoints_.enabled() || checkpoints_.IsSaved(step)) return absl::OkStatus();
  const absl::Status saved = Save(step);
  return absl::IsAborted(saved) ? Failed(step, saved) : saved;
}

absl::Status TrainOutput::LoopDone(int64_t step, double loss, bool last) {
  if (checkpoints_.Due(step, last)) RETURN_IF_ERROR(Save(step));
  return events_.LoopDone(step, loss, last);
}

void TrainOutput::Keep() {
  loop_done_ = true;
  first_writes_.Keep();
}

absl::Status TrainOutput::Failed(int64_t step, absl::Status status) {
  if (loop_done_) {
    // `status` is reported even if these writes fail.
    events_.End(step, false).IgnoreError();
    events_.writer().Close().IgnoreError();
    return status;
  }
  if (events_.is_open()) {
    events_.writer().Close().IgnoreError();
    LOG(INFO) << "Nothing is kept of this run: what it wrote into " << options_.config.model_dir()
              << " is removed.";
  }
  first_writes_.Undo(start_.dir);
  return status;
}

absl::Status TrainOutput::Finish(int64_t step) {
  if (!checkpoints_.enabled()) RETURN_IF_ERROR(CheckFinite(program_.session.variables()));
  RETURN_IF_ERROR(start_.dir.CheckPath());
  RETURN_IF_ERROR(events_.End(step, true));
  RETURN_IF_ERROR(events_.writer().Sync());
  return events_.writer().Close();
}

std::string TrainOutput::LastGoodCheckpoint() const {
  if (loop_done_) return checkpoints_.latest();
  return start_.resumed.has_value() ? start_.resumed->prefix() : "";
}

}  // namespace tpurun
