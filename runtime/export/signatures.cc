#include "runtime/export/signatures.h"

#include <map>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

constexpr char kClassifyMethod[] = "tensorflow/serving/classify";
constexpr char kRegressMethod[] = "tensorflow/serving/regress";
constexpr char kExamples[] = "input_example_tensor";  // the Estimator's name

// Gives each input of the model its parsed column. Checked before any is given.
absl::Status Parse(const ExportInputFn& input_fn, Value serialized, ExportedModel& model) {
  std::set<std::string> features;
  for (const ExportedTensor& input : model.inputs) features.insert(input.name);
  ASSIGN_OR_RETURN(const auto columns, input_fn(model.graph, serialized, features));
  for (const ExportedTensor& input : model.inputs) {
    const auto column = columns.find(input.name);
    const std::vector<int64_t> row(input.dims.begin() + 1, input.dims.end());
    if (column == columns.end() || column->second.type != input.type ||
        column->second.row_dims != row) {
      return absl::UnimplementedError(
          absl::StrCat("the input does not make the feature ", Quote(input.name)));
    }
  }
  for (const ExportedTensor& input : model.inputs) {
    model.graph.SetDefault(input.value, columns.at(input.name).value);
  }
  return absl::OkStatus();
}

// The names of the classes for each row of scores: strings (batch, classes).
Value AddClasses(const ExportOutput& output, ExportGraph& graph) {
  const Value row =
      graph.Constant(ExportTensor::Strings({1, output.row_dims[0]}, ClassNames(output)));
  constexpr ElementType kIndex = ElementType::kInt64;
  const Value batch = TensorFlowRows(graph, output.value, ElementType::kFloat);
  const Value multiples =
      graph.Add("ConcatV2", {batch, graph.Int64s({1}, "one"), graph.Int64(0, "axis")},
                {{"T", kIndex}, {"Tidx", kIndex}, {"N", int64_t{2}}});
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
           {"scores", output.value, ElementType::kFloat, dims}}};
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
  std::vector<std::string> names;
  for (int64_t i = 0; i < output.row_dims[0]; ++i) names.push_back(absl::StrCat(i));
  return names;
}

Signatures MakeSignatures(const ExportInputFn& input_fn, ExportedModel& model) {
  Signatures signatures;
  for (const char* key : {kServingDefault, "predict"}) {
    signatures.included.push_back({key, kPredictMethod, model.inputs, model.predictions});
  }
  absl::Status parsed = absl::FailedPreconditionError("predict has no input");
  ExportedTensor examples{.type = ElementType::kString, .dims = {-1}};
  if (input_fn != nullptr) {
    // In a copy: a transform that cannot be exported leaves nothing behind.
    ExportedModel with_parsing = model;
    examples.value = with_parsing.graph.Input(kExamples, ElementType::kString, {-1});
    parsed = Parse(input_fn, examples.value, with_parsing);
    if (parsed.ok()) model = std::move(with_parsing);
  }
  if (parsed.ok()) {
    examples.name = "examples";
    signatures.included.push_back(
        {"examples:predict", kPredictMethod, {examples}, model.predictions});
    examples.name = "inputs";
  } else if (absl::IsUnimplemented(parsed)) {
    signatures.excluded.push_back(absl::StrCat("examples:predict: ", parsed.message()));
  }
  const std::vector<std::string> keys = HeadKeys(model.outputs);
  for (size_t i = 0; i < keys.size(); ++i) {
    const ExportOutput& output = model.outputs[i];
    const std::string& key = keys[i];
    const bool classifies = output.kind == ExportOutput::Kind::kClassification;
    const bool scalar = output.row_dims.empty() || output.row_dims == std::vector<int64_t>{1};
    if (absl::IsUnimplemented(parsed)) {
      signatures.excluded.push_back(absl::StrCat(key, ": ", parsed.message()));
    } else if (!parsed.ok()) {
      continue;  // nobody expects it of an input without tf.Examples
    } else if (classifies) {
      signatures.included.push_back(Classification(key, output, examples, model.graph));
    } else if (scalar) {
      ExportDims dims = output.row_dims;
      dims.insert(dims.begin(), -1);
      signatures.included.push_back({key,
                                     kRegressMethod,
                                     {examples},
                                     {{"outputs", output.value, ElementType::kFloat, dims}}});
    } else {
      signatures.excluded.push_back(
          absl::StrCat(key, ": it wants one value for each example, the head has ",
                       DimsToString(output.row_dims)));
    }
  }
  return signatures;
}

}  // namespace tpurun
