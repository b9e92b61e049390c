#include "runtime/io/object_graph.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/trackable_object_graph.pb.h"
#include "runtime/base/status.h"

namespace tpurun {

absl::StatusOr<std::map<std::string, std::string>> FullNames(const BundleReader& reader) {
  std::map<std::string, std::string> names;
  const BundleEntry* const entry = reader.Find(kObjectGraph);
  if (entry == nullptr) return names;
  ASSIGN_OR_RETURN(const std::vector<std::string> strings, reader.ReadStrings(*entry));
  tensorflow::TrackableObjectGraph objects;
  if (strings.size() != 1 || !objects.ParseFromString(strings[0])) {
    return absl::DataLossError(absl::StrCat("tensor \"", kObjectGraph, "\" of ", reader.prefix(),
                                            ": it is no object graph; save the model again"));
  }
  for (const auto& object : objects.nodes()) {
    for (const auto& tensor : object.attributes()) {
      names[tensor.checkpoint_key()] = tensor.full_name();
    }
  }
  return names;
}

}  // namespace tpurun
