// The op iota: 0, 1, 2, ... along a dimension.
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ir/export_graph.h"
#include "runtime/ops/op_list.h"
#include "runtime/ops/ops.h"

namespace tpurun {
namespace {

absl::StatusOr<std::vector<Shape>> IotaShape(std::span<const Shape>, const Attrs& attrs) {
  const Shape y{attrs.Get<DType>("dtype"), attrs.Ints("dims")};
  const int64_t axis = attrs.Int("axis");
  if (axis < 0 || axis >= y.rank()) {
    return absl::InvalidArgumentError(
        absl::StrCat("iota: axis ", axis, " of ", y.ToString(), " does not exist"));
  }
  if (y.dtype != DType::kF32 && y.dtype != DType::kS32 && y.dtype != DType::kS64) {
    return absl::InvalidArgumentError(
        absl::StrCat("iota: dtype is f32, s32 or s64, got ", std::string(Name(y.dtype))));
  }
  return std::vector<Shape>{y};
}

template <typename T>
std::unique_ptr<Kernel> IotaOf(const Shape& y, int64_t axis) {
  int64_t repeats = 1;  // consecutive copies of each number
  for (int64_t i = axis + 1; i < y.rank(); ++i) repeats *= y.dims[i];
  return KernelOf([repeats, count = y.dims[axis], row = y.row_elements()](const KernelArgs& args) {
    T* const to = static_cast<T*>(args.results[0]);
    for (int64_t i = args.begin * row; i < args.end * row; ++i)
      to[i] = static_cast<T>(i / repeats % count);
  });
}

std::unique_ptr<Kernel> IotaReference(const OpCall& call) {
  const Shape& y = call.results[0];
  const int64_t axis = call.attrs.Int("axis");
  if (y.dtype == DType::kF32) return IotaOf<float>(y, axis);
  return y.dtype == DType::kS32 ? IotaOf<int32_t>(y, axis) : IotaOf<int64_t>(y, axis);
}

// Both formats export it as a constant. If the batch is the first dimension, the constant has one
// example.
absl::StatusOr<Value> AddNumbers(ExportCall& call) {
  Shape y = call.results[0];
  const bool of_batch = call.ResultIsOfBatch() && call.attrs.Int("axis") > 0;
  if (of_batch) y.dims[0] = 1;
  if (HasUnknown(y.dims)) {
    return absl::InvalidArgumentError("the batch decides how many numbers there are");
  }
  ExportTensor tensor{ElementTypeOf(y.dtype), y.dims, std::string(y.bytes(), '\0')};
  OpCall whole{.op = call.node.op, .attrs = call.attrs, .results = {y}, .needed = {true}};
  void* const results[] = {tensor.bytes.data()};
  RETURN_IF_ERROR(IotaReference(whole)->Run({.results = results, .begin = 0, .end = y.dims[0]}));
  return call.graph.Constant(std::move(tensor), "iota");
}

absl::Status NoBatch() {
  return absl::InvalidArgumentError(
      "the batch decides how many numbers there are, and no input tells it");
}

absl::StatusOr<std::vector<Value>> IotaToTensorFlow(ExportCall& call) {
  ASSIGN_OR_RETURN(const Value numbers, AddNumbers(call));
  if (!call.ResultIsOfBatch()) return std::vector<Value>{numbers};
  const Value dims = TensorFlowDimsOfBatch(call);
  if (!dims.valid()) return NoBatch();
  return std::vector<Value>{
      call.graph.Add("BroadcastTo", {numbers, dims},
                     {{"T", ElementTypeOf(call.results[0].dtype)}, {"Tidx", ElementType::kInt64}})};
}

absl::StatusOr<std::vector<Value>> IotaToOnnx(ExportCall& call) {
  ASSIGN_OR_RETURN(const Value numbers, AddNumbers(call));
  if (!call.ResultIsOfBatch()) return std::vector<Value>{numbers};
  const Value dims = OnnxDimsOfBatch(call);
  if (!dims.valid()) return NoBatch();
  return std::vector<Value>{call.graph.Add("Expand", {numbers, dims})};
}

const OpDef& IotaOp() {
  static const OpDef& op = *new OpDef{
      .name = "iota",
      .doc = "0, 1, 2 ... along dimension `axis` of an array of `dims`; dtype f32, s32 or s64.",
      .attrs = {{"dims", std::vector<int64_t>{}, true},
                {"axis", int64_t{0}, true},
                {"dtype", DType::kS32, true}},
      .flags = {.unit = WorkUnit::kRows, .any_dtype = true},
      .infer_shape = IotaShape,
      .reference = IotaReference,
      .cost = CostOfMove,
      .tensorflow = IotaToTensorFlow,
      .onnx = IotaToOnnx};
  return op;
}

}  // namespace

std::vector<const OpDef*> IotaOps() { return {&IotaOp()}; }

Value Iota(GraphBuilder& b, DType dtype, std::vector<int64_t> dims, int64_t axis) {
  return b.Add(IotaOp(), {}, {{"dims", std::move(dims)}, {"axis", axis}, {"dtype", dtype}}, "iota");
}

}  // namespace tpurun
