// The signatures of an exported model: the requests that a model server accepts, with their inputs.
#ifndef TPURUN_RUNTIME_EXPORT_SIGNATURES_H_
#define TPURUN_RUNTIME_EXPORT_SIGNATURES_H_

#include <string>
#include <vector>

#include "runtime/export/exported_model.h"
#include "runtime/export/saved_model.h"

namespace tpurun {

struct Signatures {
  std::vector<Signature> included;
  // The reasons why expected signatures are missing.
  std::vector<std::string> excluded;
};

// The keys of the heads' signatures, in the order of `outputs`: "classification" and "regression".
// From the second head of a kind on the key has a number: "classification_1", "classification_2".
std::vector<std::string> HeadKeys(const std::vector<ExportOutput>& outputs);

// The class names of a classification by id, or "0", "1", ... if there are none.
std::vector<std::string> ClassNames(const ExportOutput& output);

// serving_default and predict take the model's fields by name. processed takes its features.
// Without fields, serving_default and predict take the features and there are no other signatures.
// If the fields can be parsed from tf.Examples, examples:predict takes `examples`, strings (batch).
// The heads' classification and regression signatures take the same strings as `inputs`, as TF
// Serving's Classify and Regress require. Adds nodes to model.graph. Names:
// tensorflow/python/saved_model/model_utils/export_utils.py.
Signatures MakeSignatures(ExportedModel& model);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_EXPORT_SIGNATURES_H_
