#include "runtime/io/object_graph.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/trackable_object_graph.pb.h"
#include "runtime/base/status.h"

namespace tpurun {

namespace {

// Without objects where the bundle is none.
absl::StatusOr<tensorflow::TrackableObjectGraph> ReadObjects(const BundleReader& reader) {
  tensorflow::TrackableObjectGraph objects;
  const BundleEntry* const entry = reader.Find(kObjectGraph);
  if (entry == nullptr) return objects;
  ASSIGN_OR_RETURN(const std::vector<std::string> strings, reader.ReadStrings(*entry));
  if (strings.size() != 1 || !objects.ParseFromString(strings[0])) {
    return absl::DataLossError(absl::StrCat("tensor \"", kObjectGraph, "\" of ", reader.prefix(),
                                            ": it is no object graph; save the model again"));
  }
  return objects;
}

}  // namespace

absl::StatusOr<std::map<std::string, std::string>> FullNames(const BundleReader& reader) {
  ASSIGN_OR_RETURN(const tensorflow::TrackableObjectGraph objects, ReadObjects(reader));
  std::map<std::string, std::string> names;
  for (const auto& object : objects.nodes()) {
    for (const auto& tensor : object.attributes()) {
      names[tensor.checkpoint_key()] = tensor.full_name();
    }
  }
  return names;
}

absl::StatusOr<bool> NumbersLayers(const BundleReader& reader) {
  ASSIGN_OR_RETURN(const tensorflow::TrackableObjectGraph objects, ReadObjects(reader));
  for (const auto& object : objects.nodes()) {
    for (const auto& child : object.children()) {
      if (child.local_name() == "layer_with_weights-0") return true;
    }
  }
  return false;
}

}  // namespace tpurun
