// slice { feature output begin size }: tf.slice of each element.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "data/transforms/transform_list.h"
#include "proto/source_locations.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

// The part [begin, begin + size) of each dimension.
struct SliceBounds {
  std::vector<int64_t> begin, size;
};

// Calls visit(offset, count) for each run of adjacent elements of the slice of one row whose
// dimensions are `dims`, in order.
template <typename Visit>
void VisitRuns(const std::vector<int64_t>& dims, const SliceBounds& bounds, const Visit& visit) {
  int64_t run = 1, stride = 1;  // stride: elements of one index of the dimension before
  size_t outer = dims.size();   // dimensions before those that a run spans
  while (outer > 0) {
    --outer;
    run = bounds.size[outer] * stride;
    stride *= dims[outer];
    if (bounds.size[outer] != dims[outer]) break;
  }
  const int64_t inner = dims.empty() ? 1 : stride;
  std::vector<int64_t> at(outer, 0);
  while (true) {
    int64_t offset = 0;
    for (size_t d = 0; d < outer; ++d) offset = offset * dims[d] + bounds.begin[d] + at[d];
    offset *= inner;
    if (!dims.empty()) offset += bounds.begin[outer] * (inner / dims[outer]);
    visit(offset, run);
    size_t d = outer;
    while (d > 0 && ++at[d - 1] == bounds.size[d - 1]) at[--d] = 0;
    if (d == 0) return;
  }
}

void SliceColumn(const Column& from, int64_t rows, const SliceBounds& bounds, Column* to) {
  to->Clear();
  const int64_t elements = from.type.elements();
  const int64_t element_bytes = ElementBytes(from.type.dtype);
  for (int64_t row = 0; row < rows; ++row) {
    VisitRuns(from.type.dims, bounds, [&](int64_t offset, int64_t count) {
      const int64_t first = row * elements + offset;
      if (from.type.dtype != proto::STRING) {
        to->bytes.Append(from.bytes.data() + first * element_bytes, count * element_bytes);
        return;
      }
      for (int64_t i = first; i < first + count; ++i) to->AppendView(from.string(i));
    });
  }
}

// The bounds in each dimension. Adds what is wrong to `errors`.
SliceBounds BindBounds(const proto::SliceFeature& slice, const ColumnType& feature,
                       ConfigErrors& errors) {
  SliceBounds bounds;
  const int rank = static_cast<int>(feature.dims.size());
  const auto check_rank = [&](int count, const char* field) {
    if (count <= rank) return;
    errors.Add(field,
               absl::StrCat("feature ", Quote(feature.name), ": ", count, " of ", field,
                            ", want at most ", rank, " for its dimensions, ", feature.ToString()));
  };
  check_rank(slice.begin_size(), "begin");
  check_rank(slice.size_size(), "size");
  for (int d = 0; d < rank && errors.empty(); ++d) {
    const int64_t dim = feature.dims[d];
    const int64_t begin = d < slice.begin_size() ? slice.begin(d) : 0;
    const int64_t size = d < slice.size_size() ? slice.size(d) : -1;
    const std::string of =
        absl::StrCat(" of feature ", Quote(feature.name), " of ", feature.ToString());
    if (begin >= dim) {
      errors.Add(ElementPath("begin", d), absl::StrCat("begin must be in 0..", dim - 1,
                                                       " for dimension ", d, of, ", got ", begin));
    } else if (size == 0 || size > dim - begin) {
      errors.Add(ElementPath("size", d), absl::StrCat("size must be -1 or in 1..", dim - begin,
                                                      " for dimension ", d, of, ", got ", size));
    }
    bounds.begin.push_back(begin);
    bounds.size.push_back(size < 0 ? dim - begin : size);
  }
  return bounds;
}

// What exported ops read of the bounds: the rows, which are all taken, are dimension 0.
ExportTensor Vector(const std::vector<int64_t>& values) {
  return ExportTensor::Int64s({std::ssize(values)}, values);
}

Value TensorFlowSlice(ExportGraph& graph, Value x, const SliceBounds& bounds, ElementType type) {
  std::vector<int64_t> begin = {0}, size = {-1};
  begin.insert(begin.end(), bounds.begin.begin(), bounds.begin.end());
  size.insert(size.end(), bounds.size.begin(), bounds.size.end());
  return graph.Add(
      "Slice", {x, graph.Constant(Vector(begin), "begin"), graph.Constant(Vector(size), "size")},
      {{"T", type}, {"Index", ElementType::kInt64}});
}

Value OnnxSlice(ExportGraph& graph, Value x, const SliceBounds& bounds) {
  std::vector<int64_t> ends, axes;
  for (size_t d = 0; d < bounds.begin.size(); ++d) {
    ends.push_back(bounds.begin[d] + bounds.size[d]);
    axes.push_back(static_cast<int64_t>(d) + 1);
  }
  return graph.Add("Slice",
                   {x, graph.Constant(Vector(bounds.begin), "starts"),
                    graph.Constant(Vector(ends), "ends"), graph.Constant(Vector(axes), "axes")});
}

}  // namespace

std::optional<RowTransform> BindSlice(const proto::Transform& transform, const Schema& input,
                                      ConfigErrors& errors) {
  const proto::SliceFeature& slice = transform.slice();
  const int index = FindFeature(input, slice.feature(), "feature", errors);
  if (slice.has_output()) CheckColumnName(slice.output(), {}, "output", errors);
  if (index < 0 || !errors.empty()) return std::nullopt;
  const ColumnType& feature = input[index];
  if (feature.varies()) {
    errors.Add("feature", absl::StrCat("feature ", Quote(feature.name),
                                       " must have one shape, got ", feature.ToString()));
    return std::nullopt;
  }
  const SliceBounds bounds = BindBounds(slice, feature, errors);
  if (!errors.empty()) return std::nullopt;
  const std::string made = slice.has_output() ? slice.output() : slice.feature();
  RowTransform bound{.output = input, .reads = {feature.name}, .makes = {made}, .paired = true};
  PutColumn({made, feature.dtype, bounds.size}, &bound.output);
  bound.apply = [from = feature.name, made, bounds](const RowBatch& rows, Table* out) {
    SliceColumn(rows.in.column(from), rows.in.rows, bounds, &out->column(made));
    return absl::OkStatus();
  };
  const std::optional<ElementType> type = ExportedType(feature.dtype);
  if (!type.has_value()) return bound;
  const auto exported = [&](ExportFormat format) {
    return [from = feature.name, made, bounds, type = *type, format](
               ExportGraph& graph, const std::set<std::string>&,
               std::map<std::string, Value>& columns) {
      const Value x = columns.at(from);
      columns[made] = format == ExportFormat::kOnnx ? OnnxSlice(graph, x, bounds)
                                                    : TensorFlowSlice(graph, x, bounds, type);
    };
  };
  bound.tensorflow = exported(ExportFormat::kTensorFlow);
  bound.onnx = exported(ExportFormat::kOnnx);
  return bound;
}

}  // namespace tpurun
