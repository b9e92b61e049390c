// The columns of row transforms; shared by those that make one feature from one feature: cast,
// lookup, normalize.
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

// Binds the fields `feature` and `output` (nullptr: not given). Each feature keeps its dims and
// gets the type that `dtype_of` returns. If `dtype_of` returns an error, its message is added to
// `errors`. The result has no `apply` yet. It reads and makes one column per feature, in the order
// of the features. Errors as of TransformDef::bind.
std::optional<RowTransform> BindFeatures(
    const google::protobuf::RepeatedPtrField<std::string>& features, const std::string* output,
    const Schema& input,
    const std::function<absl::StatusOr<proto::DataType>(const ColumnType& feature)>& dtype_of,
    ConfigErrors& errors);

// Binds a transform that makes a column of the type `made`, whose name is ignored, of one STRING
// feature, and replaces the feature without an `output` (nullptr). Mistakes are added to `errors`.
// The result has no `apply` yet.
RowTransform BindDecoder(const std::string& feature, const std::string* output, ColumnType made,
                         const Schema& input, ConfigErrors& errors);

// The column of `input` that feature number `feature` reads, and the column that it makes, in a
// result of BindFeatures.
const ColumnType& ReadColumn(const RowTransform& bound, const Schema& input, size_t feature);
const ColumnType& MadeColumn(const RowTransform& bound, size_t feature);

// True if neither makes a column that the other reads or makes.
bool AreIndependent(const RowTransform& a, const RowTransform& b);

}  // namespace tpurun

#endif  // TPURUN_DATA_TRANSFORMS_BIND_FEATURES_H_
