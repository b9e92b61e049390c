// from_tensor_slices { feature ... }: the values stand in the configuration, element after element.
#include <utility>

#include "data/sources/source_list.h"
#include "proto/source_locations.h"
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

// The elements a feature has values for; nullopt after a mistake in it.
std::optional<int64_t> NumElements(const Feature& feature, const std::string& path,
                                   ConfigErrors& errors) {
  if (feature.name().empty()) {
    errors.Add(path, "every feature must have a name");
    return std::nullopt;
  }
  if (!CheckColumnName(feature.name(), {.path = path}, "name", errors)) return std::nullopt;
  const std::string title = absl::StrCat("feature ", Quote(feature.name()));
  if (feature.kind_case() == Feature::KIND_NOT_SET) {
    errors.Add(path,
               absl::StrCat(title, " has no values: want float, int64 or bytes { value: [...] }"));
    return std::nullopt;
  }
  const ConfigPlace place = {title, path};
  const ColumnType type = TypeOf(feature);
  if (!CheckDims(type.dims, place, "", errors)) return std::nullopt;
  const int64_t values = NumValues(feature);
  if (values % type.elements() != 0) {
    errors.Add(place, "",
               absl::StrCat(values, " values do not divide into elements of shape ",
                            DimsToString(type.dims), " (", type.elements(), " values each)"));
    return std::nullopt;
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

std::optional<Schema> TensorSlicesSchema(const proto::Source& source, ConfigErrors& errors) {
  const auto& features = source.from_tensor_slices().feature();
  if (features.empty()) errors.Add("", "from_tensor_slices needs at least one feature");
  Schema schema;
  int64_t elements = 0;  // of the first column
  bool differ = false;
  for (int i = 0; i < features.size(); ++i) {
    const std::string path = ElementPath("feature", i);
    const std::string name = Quote(features[i].name());
    const std::optional<int64_t> count = NumElements(features[i], path, errors);
    if (!count.has_value()) continue;
    if (FindColumn(schema, features[i].name()) >= 0) {
      errors.Add(path, absl::StrCat("feature ", name, " is given twice"));
      continue;
    }
    schema.push_back(TypeOf(features[i]));
    if (schema.size() == 1) elements = *count;
    if (*count == elements || differ) continue;
    differ = true;  // told once: when the first is the wrong one, all others differ from it
    errors.Add(path, absl::StrCat("feature ", name, " has ", *count, " elements, but ",
                                  Quote(schema[0].name), " has ", elements,
                                  ": all features must have the same number"));
  }
  if (!errors.empty()) return std::nullopt;
  return schema;
}

absl::StatusOr<OpenedSource> OpenTensorSlices(const proto::Source& source, const SourceArgs& args) {
  Table table;
  for (const Feature& feature : source.from_tensor_slices().feature()) {
    table.columns.push_back(ToColumn(feature));
    table.rows = NumValues(feature) / table.columns.back().type.elements();
  }
  if (table.rows == 0) {
    RETURN_IF_ERROR(
        args.on_empty(absl::StrCat(args.where("feature"), ": from_tensor_slices has no elements")));
  }
  OpenedSource opened;
  opened.count = table.rows;
  opened.records = std::make_unique<TableRecords>(
      std::move(table), std::vector<RowSource>(), [](const Origin& origin) {
        return absl::StrCat("element ", origin.record, " of from_tensor_slices");
      });
  return opened;
}

std::string DescribeTensorSlices(const proto::Source& source) {
  const Feature& first = source.from_tensor_slices().feature(0);
  return absl::StrCat("from_tensor_slices ", NumValues(first) / TypeOf(first).elements());
}

}  // namespace tpurun
