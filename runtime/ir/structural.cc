#include "runtime/ir/structural.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "runtime/base/bfloat16.h"
#include "runtime/base/clones.h"
#include "runtime/base/status.h"
#include "runtime/ir/elementwise.h"
#include "runtime/ir/export_graph.h"

namespace tpurun {
namespace {

absl::StatusOr<std::vector<Shape>> DeclaredShape(std::span<const Shape>, const Attrs& attrs) {
  return std::vector<Shape>{Shape{attrs.Get<DType>("dtype"), attrs.Ints("dims")}};
}

absl::StatusOr<std::vector<Shape>> ScalarS32(std::span<const Shape>, const Attrs&) {
  return std::vector<Shape>{Shape{DType::kS32, {}}};
}

// Writes `value` (given exactly, as f64 or s64) as one element of dtype.
// Toward zero; what lies outside becomes the nearest that To has, and NaN 0.
template <typename To, typename From>
To ToWhole(From value) {
  if constexpr (std::is_floating_point_v<From>) {
    if (!(value == value)) return 0;
    if (value <= static_cast<From>(std::numeric_limits<To>::min()))
      return std::numeric_limits<To>::min();
    if (value >= static_cast<From>(std::numeric_limits<To>::max()))
      return std::numeric_limits<To>::max();
  }
  return static_cast<To>(value);
}

template <typename T>
void StoreAs(DType dtype, T value, std::byte* to) {
  const auto store = [to](auto typed) { std::memcpy(to, &typed, sizeof(typed)); };
  switch (dtype) {
    case DType::kF32:
      store(static_cast<float>(value));
      break;
    case DType::kBF16:
      store(BFloat16Bits(static_cast<float>(value)));
      break;
    case DType::kS32:
      store(ToWhole<int32_t>(value));
      break;
    case DType::kS64:
      store(ToWhole<int64_t>(value));
      break;
    case DType::kU8:
      store(ToWhole<uint8_t>(value));
      break;
    case DType::kU32:
      store(ToWhole<uint32_t>(value));
      break;
    case DType::kPred:
      store(static_cast<uint8_t>(value != 0));
      break;
    case DType::kC64: {
      const float pair[2] = {static_cast<float>(value), 0.f};
      std::memcpy(to, pair, sizeof(pair));
      break;
    }
  }
}

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

// Calls f with a value of the C++ type that stores the dtype. c64 has no arithmetic here.
template <typename F>
void WithType(DType dtype, F f) {
  switch (dtype) {
    case DType::kF32:
      f(float{});
      break;
    case DType::kS32:
      f(int32_t{});
      break;
    case DType::kS64:
      f(int64_t{});
      break;
    case DType::kU8:
      f(uint8_t{});
      break;
    case DType::kU32:
      f(uint32_t{});
      break;
    case DType::kPred:
      f(bool{});
      break;
    default:
      break;
  }
}

std::unique_ptr<Kernel> ConvertKernel(const OpCall& call) {
  const DType from = call.operands[0].dtype;
  const DType to = call.results[0].dtype;
  if (from == DType::kF32 && to == DType::kBF16) {
    return KernelOf([](const KernelArgs& args) {
      RoundToBFloat16(static_cast<const float*>(args.operands[0]) + args.begin,
                      args.end - args.begin, static_cast<uint16_t*>(args.results[0]) + args.begin);
    });
  }
  if (from == DType::kBF16 && to == DType::kF32) {
    return KernelOf([](const KernelArgs& args) {
      FromBFloat16(static_cast<const uint16_t*>(args.operands[0]) + args.begin,
                   args.end - args.begin, static_cast<float*>(args.results[0]) + args.begin);
    });
  }
  return KernelOf([from, to](const KernelArgs& args) {
    const auto convert = [&](auto read) {
      std::byte* out = static_cast<std::byte*>(args.results[0]);
      const int64_t size = ByteSize(to);
      for (int64_t i = args.begin; i < args.end; ++i) StoreAs(to, read(i), out + i * size);
    };
    if (from == DType::kBF16) {
      const auto* in = static_cast<const uint16_t*>(args.operands[0]);
      convert([in](int64_t i) { return FromBFloat16Bits(in[i]); });
      return;
    }
    WithType(from, [&](auto type) {
      const auto* in = static_cast<const decltype(type)*>(args.operands[0]);
      convert([in](int64_t i) { return in[i]; });
    });
  });
}

// Every value of `from` is one of `to`. Not bf16 in f32, or the way back would quiet a NaN and
// flush a subnormal that the bf16 value may hold.
bool HoldsExactly(DType to, DType from) {
  switch (from) {
    case DType::kPred:
      return to != DType::kC64;
    case DType::kU8:
      return to == DType::kS32 || to == DType::kS64 || to == DType::kU32 || to == DType::kF32;
    case DType::kS32:
    case DType::kU32:
      return to == DType::kS64;
    default:
      return false;
  }
}

// To the same dtype: x. Through a dtype that holds every value of x: x converted at once. To bf16
// and back is rounding and stays.
Simpler SimplerConvert(const Graph& graph, const Node& node) {
  const Value x = node.inputs[0];
  const DType to = node.shapes[0].dtype;
  if (graph.shape(x).dtype == to && to != DType::kBF16) return {.same = x};
  const Node& inner = graph.node(x);
  if (inner.op != &ConvertOp()) return {};
  if (!HoldsExactly(inner.shapes[0].dtype, graph.shape(inner.inputs[0]).dtype)) return {};
  return {.nodes = {{node.op, inner.inputs, node.attrs}}};
}

// Of a source the rule is the same in both formats.
absl::StatusOr<std::vector<Value>> ExportInfeed(ExportCall& call) {
  const InfeedSlot& slot = call.model.infeed()[call.attrs.Int("slot")];
  const Shape& shape = call.results[0];
  return std::vector<Value>{call.graph.Input(slot.name, ElementTypeOf(shape.dtype), shape.dims)};
}

absl::StatusOr<std::vector<Value>> ExportVariable(ExportCall& call) {
  const Shape& shape = call.results[0];
  return std::vector<Value>{
      call.graph.Variable(call.attrs.String("variable"), ElementTypeOf(shape.dtype), shape.dims)};
}

absl::StatusOr<std::vector<Value>> ExportConstant(ExportCall& call) {
  if (HasUnknown(call.results[0].dims)) {
    return absl::InvalidArgumentError("the batch decides the shape of a constant");
  }
  const Literal literal = ConstantLiteral({.attrs = call.attrs, .results = call.results});
  return std::vector<Value>{
      call.graph.Constant({.type = ElementTypeOf(literal.shape().dtype),
                           .dims = literal.shape().dims,
                           .bytes = std::string(reinterpret_cast<const char*>(literal.data()),
                                                static_cast<size_t>(literal.shape().bytes()))})};
}

}  // namespace

const OpDef& InfeedOp() {
  static const OpDef& op = *new OpDef{.name = "infeed",
                                      .doc = "One replica's share of infeed slot `slot`.",
                                      .attrs = {{"slot", int64_t{0}, true},
                                                {"dtype", DType::kF32, true},
                                                {"dims", std::vector<int64_t>{}, true}},
                                      .flags = {.per_replica = true, .source = true},
                                      .infer_shape = DeclaredShape,
                                      .tensorflow = ExportInfeed,
                                      .onnx = ExportInfeed};
  return op;
}

const OpDef& VariableOp() {
  static const OpDef& op = *new OpDef{.name = "variable",
                                      .doc = "The value of a variable at the start of the step.",
                                      .attrs = {{"variable", std::string(), true},
                                                {"dtype", DType::kF32, true},
                                                {"dims", std::vector<int64_t>{}, true}},
                                      .flags = {.source = true},
                                      .infer_shape = DeclaredShape,
                                      .tensorflow = ExportVariable,
                                      .onnx = ExportVariable};
  return op;
}

const OpDef& LoopIndexOp() {
  static const OpDef& op =
      *new OpDef{.name = "loop_index",
                 .doc = "s32[]: the index of the step in this run of the loop, from 0.",
                 .flags = {.source = true},
                 .infer_shape = ScalarS32};
  return op;
}

const OpDef& ReplicaIdOp() {
  static const OpDef& op = *new OpDef{.name = "replica_id",
                                      .doc = "s32[]: 0 ... num_replicas - 1.",
                                      .flags = {.per_replica = true, .source = true},
                                      .infer_shape = ScalarS32};
  return op;
}

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
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs& attrs) -> absl::StatusOr<std::vector<Shape>> {
        ASSIGN_OR_RETURN(std::vector<Shape> shapes, DeclaredShape(operands, attrs));
        const size_t count = std::max(attrs.Get<std::vector<double>>("value").size(),
                                      attrs.Ints("value_int").size());
        const size_t both =
            attrs.Get<std::vector<double>>("value").size() + attrs.Ints("value_int").size();
        const size_t want = static_cast<size_t>(shapes[0].num_elements());
        if (both != count || (count != 1 && count != want) || count == 0) {
          return absl::InvalidArgumentError(absl::StrCat("constant ", shapes[0].ToString(),
                                                         ": want 1 or ", want,
                                                         " values of one kind, got ", both));
        }
        return shapes;
      },
      .reference =
          [](const OpCall& call) {
            auto literal = std::make_shared<const Literal>(ConstantLiteral(call));
            return KernelOf([literal](const KernelArgs& args) {
              std::memcpy(args.results[0], literal->data(), literal->shape().bytes());
            });
          },
      .flops = [](const OpCall&) { return 0.0; },
      .tensorflow = ExportConstant,
      .onnx = ExportConstant};
  return op;
}

const OpDef& ConvertOp() {
  static const OpDef& op = *new OpDef{
      .name = "convert",
      .doc =
          "x in another dtype. To bf16: to the nearest, ties to even; to whole numbers: toward "
          "zero.",
      .min_operands = 1,
      .max_operands = 1,
      .attrs = {{"dtype", DType::kF32, true}},
      .flags = {.unit = WorkUnit::kElements,
                .elementwise = true,
                .row_operands = kAllOperands,
                .any_dtype = true},
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs& attrs) -> absl::StatusOr<std::vector<Shape>> {
        if (operands[0].dtype == DType::kC64 || attrs.Get<DType>("dtype") == DType::kC64) {
          return absl::InvalidArgumentError("convert: c64 converts to and from nothing");
        }
        return std::vector<Shape>{Shape{attrs.Get<DType>("dtype"), operands[0].dims}};
      },
      .gradient =
          [](GraphBuilder& b, const Node& node, std::span<const Value> dy) {
            // The numbers of a gradient are f32; how it is stored, autodiff knows.
            const bool floating = IsFloat(b.shape(node.inputs[0]).dtype);
            return std::vector<Value>{floating ? Convert(b, dy[0], DType::kF32) : Value{}};
          },
      .simplify = SimplerConvert,
      .reference = ConvertKernel,
      .tensorflow = [](ExportCall& call) -> absl::StatusOr<std::vector<Value>> {
        const ElementType to = ElementTypeOf(call.results[0].dtype);
        return std::vector<Value>{
            call.graph.Add("Cast", call.inputs, {{"SrcT", call.type()}, {"DstT", to}})};
      },
      .onnx = [](ExportCall& call) -> absl::StatusOr<std::vector<Value>> {
        return std::vector<Value>{
            call.graph.Add("Cast", call.inputs, {{"to", ElementTypeOf(call.results[0].dtype)}})};
      }};
  return op;
}

const OpDef& CopyOp() {
  static const OpDef& op = *new OpDef{
      .name = "copy",
      .doc =
          "x as it is, in memory of its own: into an outfeed slot, or into a variable that its "
          "producer cannot write itself.",
      .min_operands = 1,
      .max_operands = 1,
      .flags = {.unit = WorkUnit::kElements,
                .elementwise = true,
                .row_operands = kAllOperands,
                .commutes = kAllOperands,
                .any_dtype = true},
      .infer_shape = [](std::span<const Shape> operands, const Attrs&)
          -> absl::StatusOr<std::vector<Shape>> { return std::vector<Shape>{operands[0]}; },
      .gradient = [](GraphBuilder&, const Node&,
                     std::span<const Value> dy) { return std::vector<Value>{dy[0]}; },
      .reference =
          [](const OpCall& call) {
            return KernelOf([size = ByteSize(call.results[0].dtype)](const KernelArgs& args) {
              std::memcpy(static_cast<std::byte*>(args.results[0]) + args.begin * size,
                          static_cast<const std::byte*>(args.operands[0]) + args.begin * size,
                          (args.end - args.begin) * size);
            });
          },
      .flops = [](const OpCall&) { return 0.0; },
      .tensorflow = TensorFlowOp("Identity"),
      .onnx = OnnxOp("Identity")};
  return op;
}

constexpr auto kPlus = [](auto x, auto y) { return x + y; };

const OpDef& AddOp() {
  static const OpDef& op = *new OpDef{
      .name = "add",
      .doc = "x + y, element-wise; a scalar goes with every element, a row (C) with the last axis.",
      .min_operands = 2,
      .max_operands = 2,
      .flags = {.unit = WorkUnit::kElements,
                .elementwise = true,
                .row_operands = kAllOperands,
                .arithmetic = true},
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs&) { return ElementwiseShape("add", operands); },
      .gradient =
          [](GraphBuilder& b, const Node& node, std::span<const Value> dy) {
            return std::vector<Value>{SumToShape(b, dy[0], node.inputs[0]),
                                      SumToShape(b, dy[0], node.inputs[1])};
          },
      .simplify =
          [](const Graph& graph, const Node& node) {
            // Not +0: it turns -0 into +0.
            return WithoutIdentity(graph, node, -0.0, 0, true);
          },
      .reference = [](const OpCall& call) { return BinaryKernel(call, kPlus); },
      .tile = BinaryTile(kPlus),
      .tensorflow = TensorFlowOp("AddV2"),
      .onnx = OnnxOp("Add")};
  return op;
}

std::vector<const OpDef*> StructuralOps() {
  return {&InfeedOp(),  &VariableOp(), &LoopIndexOp(), &ReplicaIdOp(),     &ConstantOp(),
          &ConvertOp(), &CopyOp(),     &AddOp(),       &SumOfElementsOp(), &SumOfRowsOp()};
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

Value Convert(GraphBuilder& b, Value x, DType dtype) {
  if (!x.valid() || b.shape(x).dtype == dtype) return x;
  return b.Add(ConvertOp(), {x}, {{"dtype", dtype}}, "Cast");
}

Value Add(GraphBuilder& b, Value x, Value y, const std::string& label) {
  return b.Add(AddOp(), {x, y}, {}, label);
}

}  // namespace tpurun
