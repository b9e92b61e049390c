#include "runtime/estimator/projector.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/io/file.h"

namespace tpurun {

absl::StatusOr<Projector> Projector::Read(const std::vector<Embedding>& embeddings,
                                          const Graph& graph) {
  Projector projector;
  for (const Embedding& embedding : embeddings) {
    tensorflow::EmbeddingInfo& info = *projector.config.add_embeddings();
    info.set_tensor_name(embedding.variable);
    if (embedding.vocabulary_file.empty()) continue;
    ASSIGN_OR_RETURN(std::string names, ReadFile(embedding.vocabulary_file));
    if (!names.empty() && names.back() != '\n') names += '\n';
    const int64_t lines = std::count(names.begin(), names.end(), '\n');
    const int64_t rows = graph.variables()[graph.FindVariable(embedding.variable)].shape.dims[0];
    if (lines != rows) {
      return absl::InvalidArgumentError(
          absl::StrCat("embedding ", Quote(embedding.variable), ": ", embedding.vocabulary_file,
                       " has ", lines, " lines, want one for each of its ", rows, " rows"));
    }
    info.set_metadata_path(
        absl::StrCat(absl::StrReplaceAll(embedding.variable, {{"/", "_"}}), ".tsv"));
    projector.metadata[info.metadata_path()] = std::move(names);
  }
  return projector;
}

}  // namespace tpurun
