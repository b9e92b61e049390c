#include "cli/inspect.h"

#include <cstdint>
#include <set>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/config/read_message.h"
#include "runtime/base/status.h"
#include "runtime/io/checkpoint_state.h"
#include "runtime/io/event_writer.h"
#include "runtime/io/file.h"
#include "runtime/io/keras_file.h"
#include "runtime/io/tensor_bundle.h"

namespace tpurun {
namespace {

constexpr char kSavedModelPb[] = "saved_model.pb";
constexpr char kModelOnnx[] = "model.onnx";  // as `export` names it

using InspectKind = absl::Status(const std::string& path, bool json, std::ostream& out);

// A checkpoint or a model where there is one, else all event files in name order.
absl::Status InspectDirectory(const std::string& dir, bool json, std::ostream& out) {
  if (!IsAbsent(CheckpointStatePath(dir))) {
    return InspectCheckpoint(dir, json, out);
  }
  const std::string saved_model = JoinPath(dir, kSavedModelPb);
  if (!IsAbsent(saved_model)) return InspectSavedModel(saved_model, json, out);
  const std::string onnx = JoinPath(dir, kModelOnnx);
  if (!IsAbsent(onnx)) return InspectOnnx(onnx, json, out);
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(dir));
  bool any = false;
  for (const std::string& name : names) {
    if (!IsEventFileName(name)) continue;
    any = true;
    RETURN_IF_ERROR(InspectEvents(JoinPath(dir, name), json, out));
  }
  if (any) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat(
      "nothing to inspect in ", dir, ": it has neither a file named \"checkpoint\", ",
      kSavedModelPb, " or ", kModelOnnx, " nor event files (name a file or a prefix)"));
}

// "PREFIX.data-00000-of-00001" -> "PREFIX"; other paths as they are.
std::string WithoutDataSuffix(const std::string& path) {
  const size_t suffix = path.rfind(".data-");
  if (suffix == std::string::npos || !absl::StrContains(path.substr(suffix), "-of-")) return path;
  return path.substr(0, suffix);
}

absl::Status InspectNamedCheckpoint(const std::string& path, bool json, std::ostream& out) {
  return InspectCheckpoint(WithoutDataSuffix(path), json, out);
}

// A file whose name says nothing. Of a record file the walk over a message's fields ends in its
// first bytes: a tag is never zero.
absl::StatusOr<InspectKind*> KindByContent(const std::string& path) {
  constexpr uint32_t kVersion = 1 << 3, kMetaGraphs = 2 << 3 | 2, kGraph = 7 << 3 | 2;
  ASSIGN_OR_RETURN(const std::set<uint32_t> tags, TagsOfMessage(path));
  if (tags.count(kVersion) > 0 && tags.count(kGraph) > 0) return InspectOnnx;
  if (tags == std::set<uint32_t>{kVersion, kMetaGraphs}) return InspectSavedModel;
  return nullptr;
}

// Null: a TFRecord file, or what is taken for one.
absl::StatusOr<InspectKind*> KindOf(const std::string& path) {
  if (IsDirectory(path)) return InspectDirectory;
  const absl::StatusOr<std::string> prefix = ResolveCheckpoint(WithoutDataSuffix(path));
  if (prefix.ok() && !IsAbsent(BundleIndexPath(*prefix))) return InspectNamedCheckpoint;
  if (IsAbsent(path)) {
    return absl::NotFoundError(
        absl::StrCat("cannot read ", path, ": neither it nor ", BundleIndexPath(path), " exists"));
  }
  RETURN_IF_ERROR(RefuseKerasFile(path));
  const std::string name = BaseName(path);
  if (IsEventFileName(name)) return InspectEvents;
  if (name == kSavedModelPb) return InspectSavedModel;
  if (absl::EndsWith(name, ".onnx")) return InspectOnnx;
  return KindByContent(path);
}

}  // namespace

absl::Status Inspect(const std::string& path, bool json, std::ostream& out, int64_t limit) {
  ASSIGN_OR_RETURN(InspectKind* const inspect, KindOf(path));
  if (inspect == nullptr) return InspectRecords(path, json, out, limit);
  if (limit == 0) return inspect(path, json, out);
  return absl::InvalidArgumentError(
      absl::StrCat("--limit: ", path, " is no TFRecord file, leave it out"));
}

}  // namespace tpurun
