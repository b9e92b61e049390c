#include "data/transforms/bind_features.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "proto/source_locations.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

bool Meet(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return std::any_of(a.begin(), a.end(), [&](const std::string& name) {
    return std::find(b.begin(), b.end(), name) != b.end();
  });
}

}  // namespace

std::optional<RowTransform> BindFeatures(
    const google::protobuf::RepeatedPtrField<std::string>& features, const std::string* output,
    const Schema& input,
    const std::function<absl::StatusOr<proto::DataType>(const ColumnType& feature)>& dtype_of,
    ConfigErrors& errors) {
  if (output != nullptr && features.size() > 1) {
    errors.Add("output", absl::StrCat("output needs a single feature, got ", features.size()));
  }
  if (output != nullptr) CheckColumnName(*output, {}, "output", errors);
  RowTransform bound{.output = input, .paired = true};
  for (int i = 0; i < features.size(); ++i) {
    const std::string path = ElementPath("feature", i);
    const std::string& feature = features[i];
    const int index = FindFeature(input, feature, path, errors);
    if (index < 0) continue;
    // Of a second feature for an output it is said that it is one too many.
    if (output == nullptr &&
        std::find(bound.reads.begin(), bound.reads.end(), feature) != bound.reads.end()) {
      errors.Add(path, absl::StrCat("feature ", Quote(feature), " is given twice"));
      continue;
    }
    ColumnType made = input[index];
    const absl::StatusOr<proto::DataType> dtype = dtype_of(made);
    if (!dtype.ok()) {
      errors.Add(path, std::string(dtype.status().message()));
      continue;
    }
    made.dtype = *dtype;
    if (output != nullptr) made.name = *output;
    PutColumn(made, &bound.output);
    bound.reads.push_back(feature);
    bound.makes.push_back(made.name);
  }
  if (!errors.empty()) return std::nullopt;
  return bound;
}

RowTransform BindDecoder(const std::string& feature, const std::string* output, ColumnType made,
                         const Schema& input, ConfigErrors& errors) {
  const int index = FindFeature(input, feature, "feature", errors);
  if (index >= 0 && (input[index].dtype != proto::STRING || !input[index].dims.empty())) {
    errors.Add("feature", absl::StrCat("feature ", Quote(feature), " must be STRING [], got ",
                                       input[index].ToString()));
  }
  if (output != nullptr) CheckColumnName(*output, {}, "output", errors);
  made.name = output == nullptr ? feature : *output;
  RowTransform bound{.output = input, .reads = {feature}, .makes = {made.name}, .paired = true};
  PutColumn(made, &bound.output);
  return bound;
}

const ColumnType& ReadColumn(const RowTransform& bound, const Schema& input, size_t feature) {
  return input[FindColumn(input, bound.reads[feature])];
}

const ColumnType& MadeColumn(const RowTransform& bound, size_t feature) {
  return bound.output[FindColumn(bound.output, bound.makes[feature])];
}

bool AreIndependent(const RowTransform& a, const RowTransform& b) {
  return !Meet(a.makes, b.reads) && !Meet(a.makes, b.makes) && !Meet(a.reads, b.makes);
}

}  // namespace tpurun
