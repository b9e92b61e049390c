// from_tensor_slices { feature ... }: the values stand in the configuration, element after element.
#include <utility>

#include "data/at_field.h"
#include "data/sources/source_list.h"
#include "proto/source_locations.h"
#include "runtime/base/names.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

using Feature = proto::FromTensorSlices::Feature;

int64_t NumValues(const Feature& feature) {
  switch (feature.kind_case()) {
    case Feature::kFloat:
      return feature.float_().value_size();
    case Feature::kInt64:
      return feature.int64().value_size();
    case Feature::kBytes:
      return feature.bytes().value_size();
    case Feature::KIND_NOT_SET:
      break;
  }
  return 0;
}

ColumnType TypeOf(const Feature& feature) {
  const auto type = [&](proto::DataType dtype, const auto& shape) {
    return ColumnType{feature.name(), dtype, {shape.begin(), shape.end()}};
  };
  switch (feature.kind_case()) {
    case Feature::kInt64:
      return type(proto::INT64, feature.int64().shape());
    case Feature::kBytes:
      return type(proto::STRING, feature.bytes().shape());
    default:
      return type(proto::FLOAT32, feature.float_().shape());
  }
}

// The elements a feature has values for.
absl::StatusOr<int64_t> NumElements(const Feature& feature) {
  if (feature.name().empty()) {
    return absl::InvalidArgumentError("every feature must have a name");
  }
  RETURN_IF_ERROR(AtField(CheckName(NameKind::kKey, feature.name()), "name"));
  const std::string name = Quote(feature.name());
  if (feature.kind_case() == Feature::KIND_NOT_SET) {
    return absl::InvalidArgumentError(absl::StrCat(
        "feature ", name, " has no values: want float, int64 or bytes { value: [...] }"));
  }
  const ColumnType type = TypeOf(feature);
  RETURN_IF_ERROR(Annotate(CheckDims(type.dims), absl::StrCat("feature ", name)));
  const int64_t values = NumValues(feature);
  if (values % type.elements() != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "feature ", name, ": ", values, " values do not divide into elements of shape ",
        DimsToString(type.dims), " (", type.elements(), " values each)"));
  }
  return values / type.elements();
}

void AppendValues(const void* values, size_t bytes, Column* column) {
  const auto* const begin = static_cast<const std::byte*>(values);
  column->bytes.Append(begin, bytes);
}

Column ToColumn(const Feature& feature) {
  Column column{.type = TypeOf(feature)};
  if (feature.has_int64()) {
    const auto& values = feature.int64().value();
    AppendValues(values.data(), values.size() * sizeof(int64_t), &column);
  } else if (feature.has_bytes()) {
    for (const std::string& value : feature.bytes().value()) column.AppendString(value);
  } else {
    const auto& values = feature.float_().value();
    AppendValues(values.data(), values.size() * sizeof(float), &column);
  }
  return column;
}

}  // namespace

absl::StatusOr<Schema> TensorSlicesSchema(const proto::Source& source) {
  const auto& features = source.from_tensor_slices().feature();
  if (features.empty()) {
    return absl::InvalidArgumentError("from_tensor_slices needs at least one feature");
  }
  Schema schema;
  int64_t elements = -1;
  for (int i = 0; i < features.size(); ++i) {
    const Feature& feature = features[i];
    absl::StatusOr<int64_t> feature_elements = NumElements(feature);
    if (feature_elements.ok() && FindColumn(schema, feature.name()) >= 0) {
      feature_elements = absl::InvalidArgumentError(
          absl::StrCat("feature ", Quote(feature.name()), " is given twice"));
    } else if (feature_elements.ok() && elements >= 0 && *feature_elements != elements) {
      feature_elements = absl::InvalidArgumentError(absl::StrCat(
          "feature ", Quote(feature.name()), " has ", *feature_elements, " elements, but ",
          Quote(schema[0].name), " has ", elements, ": all features must have the same number"));
    }
    RETURN_IF_ERROR(AtField(feature_elements.status(), ElementPath("feature", i)));
    elements = *feature_elements;
    schema.push_back(TypeOf(feature));
  }
  return schema;
}

absl::StatusOr<OpenedSource> OpenTensorSlices(const proto::Source& source, const SourceArgs& args) {
  Table table;
  for (const Feature& feature : source.from_tensor_slices().feature()) {
    table.columns.push_back(ToColumn(feature));
    table.rows = NumValues(feature) / table.columns.back().type.elements();
  }
  if (table.rows == 0 && !args.allow_empty) {
    return AtField(absl::DataLossError("from_tensor_slices has no elements"), "feature");
  }
  OpenedSource opened;
  opened.count = table.rows;
  opened.records = std::make_unique<TableRecords>(
      std::move(table), std::vector<Origin>(), [](const Origin& origin) {
        return absl::StrCat("element ", origin.record, " of from_tensor_slices");
      });
  return opened;
}

std::string DescribeTensorSlices(const proto::Source& source) {
  const Feature& first = source.from_tensor_slices().feature(0);
  return absl::StrCat("from_tensor_slices ", NumValues(first) / TypeOf(first).elements());
}

}  // namespace tpurun
