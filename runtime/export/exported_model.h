// A model's predict graph in the ops of another framework, for any batch size.
#ifndef TPURUN_RUNTIME_EXPORT_EXPORTED_MODEL_H_
#define TPURUN_RUNTIME_EXPORT_EXPORTED_MODEL_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/ir/export_graph.h"
#include "runtime/spec/spec.h"

namespace tpurun {

// A feature or a prediction: a value with its name, type and shape.
struct ExportedTensor {
  std::string name;
  Value value;  // in the ExportedModel's graph
  ElementType type = ElementType::kFloat;
  ExportDims dims;
  std::string note = {};  // a hint for the caller that feeds it
};

struct ExportedModel {
  ExportGraph graph;
  std::vector<ExportedTensor> inputs;  // features that the predictions depend on
  // The fields that the input reads. The features that are not fed are computed from them. Empty if
  // the features themselves are fed.
  std::vector<ExportedTensor> fields;
  Value serialized;                         // ExportedInput::serialized
  std::vector<ExportedTensor> predictions;  // in the model's order
  std::vector<ExportOutput> outputs;        // outputs of the heads, with values in `graph`
  std::vector<Variable> variables;          // all variables of the model, read by the graph or not
  // EstimatorSpec::class_names. Before NameClasses the predictions of these names are class ids.
  std::map<std::string, std::vector<std::string>> class_names;
};

// Exports the predictions of a model with the ops that `rule` (&OpDef::tensorflow or &OpDef::onnx)
// gives, or with OpDef::expand if there is no rule. It builds two graphs, for kExportRows rows and
// for one row more; what differs between them depends on the batch size. InvalidArgument names
// every op that has neither a rule nor an expansion, or the first node that cannot be exported. The
// graph has only nodes that a prediction depends on.
absl::StatusOr<ExportedModel> ExportModel(const ModelFn& model_fn, int64_t seed,
                                          ExportRule OpDef::*rule);

// Adds the computation of the features by `input_fn`, in the format of the model. The model's
// inputs get these values unless they are fed, and `fields` and `serialized` are set. Returns the
// parts of the input that the format cannot express. Unimplemented if the input makes other
// features; nothing is added then.
absl::StatusOr<std::vector<std::string>> AddInput(const ExportInputFn& input_fn,
                                                  ExportFormat format, ExportedModel& model);

// Names the classes of each head that has no label_vocabulary with the words of its label's
// vocabulary, if there is one word for each class. Predictions that are names of classes become
// strings, by the ops of the format.
void NameClasses(const Vocabularies& vocabularies, ExportFormat format, ExportedModel& model);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_EXPORT_EXPORTED_MODEL_H_
