// A model's predict graph in another framework's ops, for any batch.
#ifndef TPURUN_RUNTIME_EXPORT_EXPORTED_MODEL_H_
#define TPURUN_RUNTIME_EXPORT_EXPORTED_MODEL_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/ir/export_graph.h"
#include "runtime/spec/spec.h"

namespace tpurun {

// A value with what it is outside: a feature or a prediction.
struct ExportedTensor {
  std::string name;
  Value value;  // in the ExportedModel's graph
  ElementType type = ElementType::kFloat;
  ExportDims dims;
  std::string note = {};  // for who feeds it
};

struct ExportedModel {
  ExportGraph graph;
  std::vector<ExportedTensor> inputs;  // the features that a prediction depends on
  // What the input reads, of which these are made where they are not fed; none: they are fed.
  std::vector<ExportedTensor> fields;
  Value serialized;                         // of ExportedInput
  std::vector<ExportedTensor> predictions;  // in the model's order
  std::vector<ExportOutput> outputs;        // of the heads; values in `graph`
  std::vector<Variable> variables;          // of the model, whether or not the graph reads them
};

// The predictions of a model in the ops that `rule` (&OpDef::tensorflow or &OpDef::onnx) gives, or
// OpDef::expand where it gives none. Two graphs, for kExportRows rows and for one more, tell what
// the batch decides: whatever differs. InvalidArgument names every op that has no words, or the
// first node that cannot be said. What the graph holds, a prediction depends on.
absl::StatusOr<ExportedModel> ExportModel(const ModelFn& model_fn, int64_t seed,
                                          ExportRule OpDef::*rule);

// Adds how `input_fn`, for the format of the model, makes its features: its inputs have these
// values unless they are fed, and `fields` and `serialized` are set. Returns what the format cannot
// say of that. Unimplemented, and nothing is added, where the input makes other features.
absl::StatusOr<std::vector<std::string>> AddInput(const ExportInputFn& input_fn,
                                                  ExportFormat format, ExportedModel& model);

// Gives the classes of each head the names that the ids of its label stand for.
void NameClasses(const Vocabularies& vocabularies, ExportedModel& model);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_EXPORT_EXPORTED_MODEL_H_
