// The signatures of an exported model: what who serves it may ask for, and with what.
#ifndef TPURUN_RUNTIME_EXPORT_SIGNATURES_H_
#define TPURUN_RUNTIME_EXPORT_SIGNATURES_H_

#include <string>
#include <vector>

#include "runtime/export/exported_model.h"
#include "runtime/export/saved_model.h"

namespace tpurun {

struct Signatures {
  std::vector<Signature> included;
  // Of those that could be expected, why they are not there.
  std::vector<std::string> excluded;
};

// The keys of the heads' signatures, in the order of `outputs`: "classification" and "regression",
// from the second of a kind on with a number behind, "classification_1".
std::vector<std::string> HeadKeys(const std::vector<ExportOutput>& outputs);

// Of a classification, by id; "0", "1", ... where they have no names.
std::vector<std::string> ClassNames(const ExportOutput& output);

// serving_default and predict take the model's fields by their names, processed its features;
// without fields the first two take the features. Where the fields are parsed of tf.Examples:
// examples:predict takes `examples`, strings (batch); classification and regression, of the heads,
// take them as `inputs`, as TF Serving's Classify and Regress have it. Adds to model.graph. Names:
// tensorflow/python/saved_model/model_utils/export_utils.py.
Signatures MakeSignatures(ExportedModel& model);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_EXPORT_SIGNATURES_H_
