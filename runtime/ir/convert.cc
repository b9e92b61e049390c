// The op convert.
#include <memory>

#include "runtime/base/bfloat16.h"
#include "runtime/ir/elementwise.h"
#include "runtime/ir/export_graph.h"
#include "runtime/ir/structural.h"
#include "runtime/ir/tpu_stages.h"
#include "runtime/ir/typed_values.h"

namespace tpurun {
namespace {

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

// True if `to` can represent every value of `from` exactly. False for bf16 in f32: the conversion
// back would quiet a signalling NaN and flush a subnormal that the bf16 value may be.
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

// A conversion to the same dtype becomes x. Two conversions become one if the dtype between them
// represents every value of x exactly. Conversion to bf16 and back rounds, so it stays.
Replacement SimplifyConvert(const Graph& graph, const Node& node) {
  const Value x = node.inputs[0];
  const DType to = node.shapes[0].dtype;
  if (graph.shape(x).dtype == to && to != DType::kBF16) return {.same = x};
  const Node& inner = graph.node(x);
  if (inner.op != &ConvertOp()) return {};
  if (!HoldsExactly(inner.shapes[0].dtype, graph.shape(inner.inputs[0]).dtype)) return {};
  return {.nodes = {{node.op, inner.inputs, node.attrs}}};
}

}  // namespace

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
            // The values of a gradient are f32. Autodiff decides how they are stored.
            const bool floating = IsFloat(b.shape(node.inputs[0]).dtype);
            return std::vector<Value>{floating ? Convert(b, dy[0], DType::kF32) : Value{}};
          },
      .simplify = SimplifyConvert,
      .reference = ConvertKernel,
      // A TPU reads bf16 as f32. Rounding what is rounded does nothing.
      .tpu = [](const OpCall& call) -> TpuWork {
        const DType from = call.operands[0].dtype, to = call.results[0].dtype;
        if (from == to || (from == DType::kBF16 && to == DType::kF32)) return {};
        return OneTpuStage<TpuStage::Kind::kLoop>(call);
      },
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

Value Convert(GraphBuilder& b, Value x, DType dtype) {
  if (!x.valid() || b.shape(x).dtype == dtype) return x;
  return b.Add(ConvertOp(), {x}, {{"dtype", dtype}}, "Cast");
}

}  // namespace tpurun
