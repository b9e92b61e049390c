// The op constant.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"
#include "runtime/base/bfloat16.h"
#include "runtime/base/status.h"
#include "runtime/ir/export_graph.h"
#include "runtime/ir/structural.h"
#include "runtime/ir/typed_values.h"

namespace tpurun {
namespace {

Literal ConstantLiteral(const OpCall& call) {
  Literal literal(call.results[0]);
  const int64_t n = call.results[0].num_elements();
  const int64_t size = ByteSize(call.results[0].dtype);
  const std::vector<double> doubles = call.attrs.Get<std::vector<double>>("value");
  const std::vector<int64_t> ints = call.attrs.Ints("value_int");
  for (int64_t i = 0; i < n; ++i) {
    if (!doubles.empty()) {
      StoreAs(call.results[0].dtype, doubles[doubles.size() == 1 ? 0 : i],
              literal.data() + i * size);
    } else {
      StoreAs(call.results[0].dtype, ints[ints.size() == 1 ? 0 : i], literal.data() + i * size);
    }
  }
  return literal;
}

// InvalidArgument if the batch size changes the values of the constant.
absl::Status CheckNumbers(const ExportCall& call) {
  if (call.node.attrs.Ints("value_int") == call.larger.attrs.Ints("value_int"))
    return absl::OkStatus();
  return absl::InvalidArgumentError("the batch decides the value of a constant");
}

Value AddConstant(ExportGraph& graph, const Attrs& attrs, const Shape& shape) {
  const Literal literal = ConstantLiteral({.attrs = attrs, .results = {shape}});
  return graph.Constant({.type = ElementTypeOf(shape.dtype),
                         .dims = shape.dims,
                         .bytes = std::string(reinterpret_cast<const char*>(literal.data()),
                                              static_cast<size_t>(shape.bytes()))});
}

// InvalidArgument unless the constant is one value and the batch sets its number of rows.
absl::Status CheckRows(const ExportCall& call, Value dims) {
  const size_t values = std::max(call.attrs.Get<std::vector<double>>("value").size(),
                                 call.attrs.Ints("value_int").size());
  if (dims.valid() && values == 1) return absl::OkStatus();
  return absl::InvalidArgumentError("the batch decides the shape of a constant");
}

absl::StatusOr<std::vector<Value>> ConstantToTensorFlow(ExportCall& call) {
  ExportGraph& g = call.graph;
  const Shape& shape = call.results[0];
  RETURN_IF_ERROR(CheckNumbers(call));
  if (!HasUnknown(shape.dims)) return std::vector<Value>{AddConstant(g, call.attrs, shape)};
  const Value dims = TensorFlowDimsOfBatch(call);
  RETURN_IF_ERROR(CheckRows(call, dims));
  const Value scalar = AddConstant(g, call.attrs, {shape.dtype, {}});
  return std::vector<Value>{
      g.Add("Fill", {dims, scalar},
            {{"T", ElementTypeOf(shape.dtype)}, {"index_type", ElementType::kInt64}})};
}

absl::StatusOr<std::vector<Value>> ConstantToOnnx(ExportCall& call) {
  ExportGraph& g = call.graph;
  const Shape& shape = call.results[0];
  RETURN_IF_ERROR(CheckNumbers(call));
  if (!HasUnknown(shape.dims)) return std::vector<Value>{AddConstant(g, call.attrs, shape)};
  const Value dims = OnnxDimsOfBatch(call);
  RETURN_IF_ERROR(CheckRows(call, dims));
  const Value scalar = AddConstant(g, call.attrs, {shape.dtype, {}});
  return std::vector<Value>{g.Add("Expand", {scalar, dims})};
}

}  // namespace

const OpDef& ConstantOp() {
  static const OpDef& op = *new OpDef{
      .name = "constant",
      .doc =
          "A value of `dtype` and `dims`: `value` (floating) or `value_int` (whole) holds one "
          "element for all, or every element.",
      .attrs = {{"dtype", DType::kF32, true},
                {"dims", std::vector<int64_t>{}, true},
                {"value", std::vector<double>{}},
                {"value_int", std::vector<int64_t>{}}},
      .flags = {.any_dtype = true},
      .infer_shape = [](std::span<const Shape>,
                        const Attrs& attrs) -> absl::StatusOr<std::vector<Shape>> {
        const Shape shape{attrs.Get<DType>("dtype"), attrs.Ints("dims")};
        const size_t count = std::max(attrs.Get<std::vector<double>>("value").size(),
                                      attrs.Ints("value_int").size());
        const size_t both =
            attrs.Get<std::vector<double>>("value").size() + attrs.Ints("value_int").size();
        const size_t want = static_cast<size_t>(shape.num_elements());
        if (both != count || (count != 1 && count != want) || count == 0) {
          return absl::InvalidArgumentError(absl::StrCat("constant ", shape.ToString(),
                                                         ": want 1 or ", want,
                                                         " values of one kind, got ", both));
        }
        return std::vector<Shape>{shape};
      },
      .reference =
          [](const OpCall& call) {
            auto literal = std::make_shared<const Literal>(ConstantLiteral(call));
            return KernelOf([literal](const KernelArgs& args) {
              std::memcpy(args.results[0], literal->data(), literal->shape().bytes());
            });
          },
      .cost = CostOfMove,
      .tensorflow = ConstantToTensorFlow,
      .onnx = ConstantToOnnx};
  return op;
}

bool IsConstant(const Graph& graph, Value value, double constant) {
  const Node& node = graph.node(value);
  if (node.op != &ConstantOp()) return false;
  for (const double element : node.attrs.Get<std::vector<double>>("value")) {
    if (element != constant || std::signbit(element) != std::signbit(constant)) return false;
  }
  for (const int64_t element : node.attrs.Ints("value_int")) {
    if (static_cast<double>(element) != constant || std::signbit(constant) != (element < 0))
      return false;
  }
  return true;
}

std::optional<Attrs> ConstantAttrs(const Literal& literal) {
  const Shape& shape = literal.shape();
  const int64_t n = shape.num_elements();
  if (n == 0) return std::nullopt;
  Attrs attrs = {{"dtype", shape.dtype}, {"dims", shape.dims}};
  const auto all_alike = [](const auto& values) {
    return std::all_of(values.begin(), values.end(), [&](const auto& value) {
      return std::memcmp(&value, &values[0], sizeof(value)) == 0;
    });
  };
  const auto set = [&](const char* name, auto values) {
    if (all_alike(values)) values.erase(values.begin() + 1, values.end());
    attrs.Set(name, std::move(values));
  };
  if (shape.dtype == DType::kF32 || shape.dtype == DType::kBF16) {
    std::vector<double> values;
    for (int64_t i = 0; i < n; ++i) {
      const float value = shape.dtype == DType::kF32
                              ? literal.values<float>()[i]
                              : FromBFloat16Bits(literal.values<uint16_t>()[i]);
      const uint32_t exponent = std::bit_cast<uint32_t>(value) >> 23 & 0xffu;
      const bool zero = (std::bit_cast<uint32_t>(value) << 1) == 0;
      if (exponent == 0xffu || (exponent == 0 && !zero)) return std::nullopt;
      values.push_back(value);
    }
    set("value", std::move(values));
    return attrs;
  }
  std::vector<int64_t> values;
  WithType(shape.dtype, [&](auto type) {
    for (int64_t i = 0; i < n; ++i) {
      decltype(type) value;
      std::memcpy(&value, literal.data() + i * sizeof(value), sizeof(value));
      values.push_back(static_cast<int64_t>(value));
    }
  });
  if (values.empty()) return std::nullopt;
  set("value_int", std::move(values));
  return attrs;
}

Value Constant(GraphBuilder& b, DType dtype, std::vector<int64_t> dims, double value) {
  return b.Add(ConstantOp(), {},
               {{"dtype", dtype}, {"dims", std::move(dims)}, {"value", std::vector<double>{value}}},
               "Const");
}

Value ConstantInt(GraphBuilder& b, DType dtype, std::vector<int64_t> dims,
                  std::vector<int64_t> values) {
  return b.Add(ConstantOp(), {},
               {{"dtype", dtype}, {"dims", std::move(dims)}, {"value_int", std::move(values)}},
               "Const");
}

Value Scalar(GraphBuilder& b, double value) { return Constant(b, DType::kF32, {}, value); }

}  // namespace tpurun
