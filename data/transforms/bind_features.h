// What the transforms that make one feature of one feature have in common: cast, lookup, normalize.
#ifndef TPURUN_DATA_TRANSFORMS_BIND_FEATURES_H_
#define TPURUN_DATA_TRANSFORMS_BIND_FEATURES_H_

#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "data/table.h"
#include "data/transforms/transform_list.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "proto/config_errors.h"
#include "proto/input.pb.h"

namespace tpurun {

// Binds the fields `feature` and `output` (null: not given): each feature keeps its dims and gets
// the type that `dtype_of` gives, or refuses by a status, whose message is added. The result has no
// `apply` yet; it reads and makes as many columns as there are features, in their order. Errors as
// of TransformDef::bind.
std::optional<RowTransform> BindFeatures(
    const google::protobuf::RepeatedPtrField<std::string>& features, const std::string* output,
    const Schema& input,
    const std::function<absl::StatusOr<proto::DataType>(const ColumnType& feature)>& dtype_of,
    ConfigErrors& errors);

// The columns of a schema that a transform reads, and those that it makes, as BindFeatures has
// them.
const ColumnType& ReadColumn(const RowTransform& bound, const Schema& input, size_t feature);
const ColumnType& MadeColumn(const RowTransform& bound, size_t feature);

}  // namespace tpurun

#endif  // TPURUN_DATA_TRANSFORMS_BIND_FEATURES_H_
