#include "data/transforms/bind_features.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "data/at_field.h"
#include "proto/source_locations.h"
#include "runtime/base/names.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"

namespace tpurun {

absl::StatusOr<RowTransform> BindFeatures(
    const google::protobuf::RepeatedPtrField<std::string>& features, const std::string* output,
    const Schema& input,
    const std::function<absl::StatusOr<proto::DataType>(const ColumnType& feature)>& dtype_of) {
  if (features.empty()) return absl::InvalidArgumentError("feature must be given, at least one");
  if (output != nullptr && features.size() > 1) {
    return AtField(absl::InvalidArgumentError(
                       absl::StrCat("output needs a single feature, got ", features.size())),
                   "output");
  }
  if (output != nullptr) RETURN_IF_ERROR(AtField(CheckName(NameKind::kKey, *output), "output"));
  RowTransform bound{.output = input, .paired = true};
  for (int i = 0; i < features.size(); ++i) {
    const std::string& feature = features[i];
    const auto at_feature = [i](absl::Status status) {
      return AtField(std::move(status), ElementPath("feature", i));
    };
    const int index = FindColumn(input, feature);
    if (index < 0) {
      return at_feature(absl::InvalidArgumentError(absl::StrCat(
          "unknown feature ", Quote(feature), DidYouMean(feature, ColumnNames(input)))));
    }
    ColumnType made = input[index];
    const absl::StatusOr<proto::DataType> dtype = dtype_of(made);
    if (!dtype.ok()) return at_feature(dtype.status());
    made.dtype = *dtype;
    if (output != nullptr) made.name = *output;
    if (std::find(bound.makes.begin(), bound.makes.end(), made.name) != bound.makes.end()) {
      return at_feature(
          absl::InvalidArgumentError(absl::StrCat("feature ", Quote(feature), " is given twice")));
    }
    const int place = FindColumn(bound.output, made.name);
    if (place >= 0) {
      bound.output[place] = made;
    } else {
      bound.output.push_back(made);
    }
    bound.reads.push_back(feature);
    bound.makes.push_back(made.name);
  }
  return bound;
}

const ColumnType& ReadColumn(const RowTransform& bound, const Schema& input, size_t feature) {
  return input[FindColumn(input, bound.reads[feature])];
}

const ColumnType& MadeColumn(const RowTransform& bound, size_t feature) {
  return bound.output[FindColumn(bound.output, bound.makes[feature])];
}

}  // namespace tpurun
