#include "cli/read_saved_model.h"

#include <cstdint>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/config/read_message.h"
#include "runtime/base/status.h"
#include "runtime/io/file.h"
#include "runtime/io/keras_file.h"

namespace tpurun {
namespace {

constexpr char kBinarySavedModel[] = "saved_model.pb", kTextSavedModel[] = "saved_model.pbtxt";

// A file of the folder, or the file itself.
absl::StatusOr<std::string> FileOf(const std::string& path) {
  if (!IsDirectory(path)) {
    if (!IsAbsent(path)) return path;
    return absl::NotFoundError(absl::StrCat(
        "cannot read ", path, ": it does not exist; want a SavedModel or the file of a GraphDef"));
  }
  for (const char* const name : {kBinarySavedModel, kTextSavedModel}) {
    std::string file = JoinPath(path, name);
    if (!IsAbsent(file)) return file;
  }
  return absl::NotFoundError(absl::StrCat("no SavedModel in ", path, ": it has neither ",
                                          kBinarySavedModel, " nor ", kTextSavedModel,
                                          "; name the folder or file that export wrote"));
}

absl::StatusOr<std::string> FormatOf(const std::string& path) {
  const std::string name = BaseName(path);
  if (name == kBinarySavedModel || name == kTextSavedModel) return "SavedModel";
  if (absl::EndsWith(name, ".meta")) return "MetaGraphDef";
  if (absl::EndsWith(name, ".pbtxt")) return "GraphDef";
  // The version of a SavedModel comes first, and is a number where a GraphDef has its nodes.
  constexpr uint32_t kSchemaVersion = 1 << 3;
  ASSIGN_OR_RETURN(const std::set<uint32_t> tags, TagsOfMessage(path));
  return tags.count(kSchemaVersion) > 0 ? "SavedModel" : "GraphDef";
}

}  // namespace

absl::StatusOr<ModelFile> ReadModelFile(const std::string& path) {
  ModelFile file;
  ASSIGN_OR_RETURN(file.path, FileOf(path));
  RETURN_IF_ERROR(RefuseKerasFile(file.path));
  ASSIGN_OR_RETURN(file.format, FormatOf(file.path));
  const auto read = [&](google::protobuf::Message& message) {
    return absl::EndsWith(file.path, ".pbtxt") ? ReadTextMessage(file.path, file.format, message)
                                               : ReadMessage(file.path, file.format, message);
  };
  if (file.format == "SavedModel") {
    RETURN_IF_ERROR(read(file.model));
  } else if (file.format == "MetaGraphDef") {
    RETURN_IF_ERROR(read(*file.model.add_meta_graphs()));
  } else {
    RETURN_IF_ERROR(read(*file.model.add_meta_graphs()->mutable_graph_def()));
  }
  for (const tensorflow::MetaGraphDef& meta : file.model.meta_graphs()) {
    if (meta.graph_def().node_size() > 0) return file;
  }
  return absl::DataLossError(
      absl::StrCat(file.path, ": got a ", file.format, " without nodes, want a graph",
                   absl::EndsWith(file.path, ".pbtxt")
                       ? absl::StrCat("; a SavedModel is called ", kTextSavedModel)
                       : "; export it again"));
}

}  // namespace tpurun
