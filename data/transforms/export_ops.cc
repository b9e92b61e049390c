#include "data/transforms/export_ops.h"

namespace tpurun {
namespace {

// In ONNX an op of texts alone: where they are known.
Value OnnxIsOneOf(ExportGraph& graph, Value x, const std::vector<std::string>& texts) {
  const Value found = graph.Add("ai.onnx.ml.LabelEncoder", {x},
                                {{"keys_strings", texts},
                                 {"values_int64s", std::vector<int64_t>(texts.size(), 1)},
                                 {"default_int64", int64_t{0}}});
  return graph.Add("Cast", {found}, {{"to", ElementType::kBool}});
}

Value TensorFlowIsOneOf(ExportGraph& graph, Value x, const std::vector<std::string>& texts) {
  Value any;
  for (const std::string& text : texts) {
    const Value is =
        graph.Add("Equal", {x, graph.Constant(ExportTensor::Strings({}, {text}), "missing")},
                  {{"T", ElementType::kString}, {"incompatible_shape_error", true}});
    any = any.valid() ? graph.Add("LogicalOr", {any, is}) : is;
  }
  return any;
}

Value Select(ExportGraph& graph, ExportFormat format, Value condition, Value then, Value otherwise,
             ElementType type) {
  if (format == ExportFormat::kOnnx) return graph.Add("Where", {condition, then, otherwise});
  return graph.Add("SelectV2", {condition, then, otherwise}, {{"T", type}});
}

Value IsNaN(ExportGraph& graph, ExportFormat format, Value x) {
  if (format == ExportFormat::kOnnx) return graph.Add("IsNaN", {x});
  return graph.Add("IsNan", {x}, {{"T", ElementType::kFloat}});
}

Value IsOneOf(ExportGraph& graph, ExportFormat format, Value x,
              const std::vector<std::string>& texts) {
  return format == ExportFormat::kOnnx ? OnnxIsOneOf(graph, x, texts)
                                       : TensorFlowIsOneOf(graph, x, texts);
}

}  // namespace

Value Reshaped(ExportGraph& graph, Value x, ElementType type, const ExportDims& dims) {
  return graph.Add("Reshape", {x, graph.Int64s(dims, "shape")},
                   {{"T", type}, {"Tshape", ElementType::kInt64}});
}

Value CastTo(ExportGraph& graph, ExportFormat format, Value x, ElementType from, ElementType to) {
  if (from == to) return x;
  if (format == ExportFormat::kOnnx) return graph.Add("Cast", {x}, {{"to", to}});
  return graph.Add("Cast", {x}, {{"SrcT", from}, {"DstT", to}});
}

Value Binary(ExportGraph& graph, ExportFormat format, const std::string& op, Value x, Value y) {
  if (format == ExportFormat::kOnnx) return graph.Add(op, {x, y});
  const std::string name = op == "Add" ? "AddV2" : op == "Div" ? "RealDiv" : op;
  return graph.Add(name, {x, y}, {{"T", ElementType::kFloat}});
}

Value FillNaN(ExportGraph& graph, ExportFormat format, Value x, float fill) {
  const Value is_nan = IsNaN(graph, format, x);
  const Value filled = graph.Constant(ExportTensor::Float(fill), "default_value");
  return Select(graph, format, is_nan, filled, x, ElementType::kFloat);
}

Value FillTexts(ExportGraph& graph, ExportFormat format, Value x,
                const std::vector<std::string>& texts, const std::string& fill) {
  const Value missing = IsOneOf(graph, format, x, texts);
  const Value filled = graph.Constant(ExportTensor::Strings({}, {fill}), "default_value");
  return Select(graph, format, missing, filled, x, ElementType::kString);
}

Value IndicateNaN(ExportGraph& graph, ExportFormat format, Value x) {
  return CastTo(graph, format, IsNaN(graph, format, x), ElementType::kBool, ElementType::kFloat);
}

Value IndicateTexts(ExportGraph& graph, ExportFormat format, Value x,
                    const std::vector<std::string>& texts) {
  return CastTo(graph, format, IsOneOf(graph, format, x, texts), ElementType::kBool,
                ElementType::kFloat);
}

std::string RowSplitsKey(const std::string& column) {
  return column + "\nrow_splits";  // a name is printable
}

void PutRagged(const Ragged& list, const std::string& column,
               std::map<std::string, Value>* columns) {
  (*columns)[column] = list.values;
  (*columns)[RowSplitsKey(column)] = list.row_splits;
}

Ragged RaggedOf(ExportGraph& graph, const ColumnType& column,
                const std::map<std::string, Value>& columns) {
  const Value x = columns.at(column.name);
  if (column.is_list()) return {x, columns.at(RowSplitsKey(column.name))};
  const ElementType type = *ExportedType(column.dtype);
  const Value rows = TensorFlowRange(graph, TensorFlowRows(graph, x, type), 1);
  return {Reshaped(graph, x, type, {-1}),
          graph.Add("Mul", {rows, graph.Int64(column.elements(), "elements")},
                    {{"T", ElementType::kInt64}})};
}

Value TensorFlowRange(ExportGraph& graph, Value count, int64_t more) {
  Value limit = Reshaped(graph, count, ElementType::kInt64, {});
  if (more != 0) {
    limit = graph.Add("AddV2", {limit, graph.Int64(more, "more")}, {{"T", ElementType::kInt64}});
  }
  return graph.Add("Range", {graph.Int64(0, "start"), limit, graph.Int64(1, "delta")},
                   {{"Tidx", ElementType::kInt64}});
}

Value TensorFlowRowIds(ExportGraph& graph, const Ragged& list, ElementType type) {
  constexpr ElementType kInt64 = ElementType::kInt64;
  const Value places = TensorFlowRange(graph, TensorFlowRows(graph, list.values, type), 0);
  const Value next_row = graph.Add(
      "UpperBound",
      {Reshaped(graph, list.row_splits, kInt64, {1, -1}), Reshaped(graph, places, kInt64, {1, -1})},
      {{"T", kInt64}, {"out_type", kInt64}});
  return graph.Add("Sub", {Reshaped(graph, next_row, kInt64, {-1}), graph.Int64(1, "one")},
                   {{"T", kInt64}});
}

}  // namespace tpurun
