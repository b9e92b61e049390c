#include "runtime/estimator/projector.h"

#include <algorithm>

#include "absl/strings/match.h"
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
    if (absl::StrContains(names, '\t') || absl::StrContains("\n" + names, "\n\n")) {
      return absl::InvalidArgumentError(
          absl::StrCat("embedding ", Quote(embedding.variable), ": ", embedding.vocabulary_file,
                       " has a tab or an empty line, want one name a line: TensorBoard would take "
                       "the former for columns and leave out the latter"));
    }
    const std::string name = absl::StrReplaceAll(embedding.variable, {{"/", "_"}});
    info.set_metadata_path(name + ".tsv");
    for (int i = 1; projector.metadata.count(info.metadata_path()) > 0; ++i) {
      info.set_metadata_path(absl::StrCat(name, "_", i, ".tsv"));
    }
    projector.metadata[info.metadata_path()] = std::move(names);
  }
  return projector;
}

}  // namespace tpurun
