#include "runtime/export/signatures.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

constexpr char kClassifyMethod[] = "tensorflow/serving/classify";
constexpr char kRegressMethod[] = "tensorflow/serving/regress";
constexpr char kReads[] = "what the input of predict reads, before its transforms";

// The names of the classes for each row of scores: strings (batch, classes).
Value AddClasses(const ExportOutput& output, ExportGraph& graph) {
  const Value row =
      graph.Constant(ExportTensor::Strings({1, output.row_dims[0]}, ClassNames(output)));
  constexpr ElementType kIndex = ElementType::kInt64;
  const Value batch = TensorFlowRows(graph, output.value, ElementType::kFloat);
  const Value multiples =
      graph.Add("ConcatV2", {batch, graph.Int64s({1}, "one"), graph.Int32(0, "axis")},
                {{"T", kIndex}, {"Tidx", ElementType::kInt32}, {"N", int64_t{2}}});
  return graph.Add("Tile", {row, multiples}, {{"T", ElementType::kString}, {"Tmultiples", kIndex}},
                   "classes");
}

Signature Classification(const std::string& key, const ExportOutput& output,
                         const ExportedTensor& inputs, ExportGraph& graph) {
  const ExportDims dims = {-1, output.row_dims[0]};
  graph.set_scope(key);
  const Value classes = AddClasses(output, graph);
  return {key,
          kClassifyMethod,
          {inputs},
          {{"classes", classes, ElementType::kString, dims},
           {"scores", output.value, ElementType::kFloat, dims}},
          "serialized tf.Examples, for TF Serving's Classify"};
}

}  // namespace

std::vector<std::string> HeadKeys(const std::vector<ExportOutput>& outputs) {
  std::vector<std::string> keys;
  std::map<std::string, int> count;
  for (const ExportOutput& output : outputs) {
    const bool classifies = output.kind == ExportOutput::Kind::kClassification;
    std::string key = classifies ? "classification" : "regression";
    const int earlier = count[key]++;
    if (earlier > 0) absl::StrAppend(&key, "_", earlier);
    keys.push_back(std::move(key));
  }
  return keys;
}

std::vector<std::string> ClassNames(const ExportOutput& output) {
  if (!output.class_names.empty()) return output.class_names;
  std::vector<std::string> names;
  for (int64_t i = 0; i < output.row_dims[0]; ++i) names.push_back(absl::StrCat(i));
  return names;
}

Signatures MakeSignatures(ExportedModel& model) {
  Signatures signatures;
  const bool has_input = !model.fields.empty();
  const std::vector<ExportedTensor>& fed = has_input ? model.fields : model.inputs;
  for (const char* key : {kServingDefault, "predict"}) {
    signatures.included.push_back(
        {key, kPredictMethod, fed, model.predictions, has_input ? kReads : ""});
  }
  if (!has_input) return signatures;
  signatures.included.push_back({"processed", kPredictMethod, model.inputs, model.predictions,
                                 "the features, behind the transforms of the input of predict"});
  if (!model.serialized.valid()) return signatures;
  ExportedTensor examples{
      .name = "examples", .value = model.serialized, .type = ElementType::kString, .dims = {-1}};
  signatures.included.push_back({"examples:predict",
                                 kPredictMethod,
                                 {examples},
                                 model.predictions,
                                 "serialized tf.Examples, as the input of predict parses them"});
  examples.name = "inputs";
  const std::vector<std::string> keys = HeadKeys(model.outputs);
  for (size_t i = 0; i < keys.size(); ++i) {
    const ExportOutput& output = model.outputs[i];
    const std::string& key = keys[i];
    const bool classifies = output.kind == ExportOutput::Kind::kClassification;
    const bool scalar = output.row_dims.empty() || output.row_dims == std::vector<int64_t>{1};
    if (classifies) {
      signatures.included.push_back(Classification(key, output, examples, model.graph));
    } else if (scalar) {
      ExportDims dims = output.row_dims;
      dims.insert(dims.begin(), -1);
      signatures.included.push_back({key,
                                     kRegressMethod,
                                     {examples},
                                     {{"outputs", output.value, ElementType::kFloat, dims}},
                                     "serialized tf.Examples, for TF Serving's Regress"});
    } else {
      signatures.excluded.push_back(
          absl::StrCat(key, ": it wants one value for each example, the head has ",
                       DimsToString(output.row_dims)));
    }
  }
  return signatures;
}

}  // namespace tpurun
