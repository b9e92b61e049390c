#include "models/layers/layer.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/text.h"

namespace tpurun {

Value LayerContext::AddVariable(const std::string& suffix, std::vector<int64_t> dims,
                                Initializer initializer) {
  return Add(suffix, std::move(dims), initializer, true);
}

Value LayerContext::AddStatistic(const std::string& suffix, std::vector<int64_t> dims,
                                 Initializer initializer) {
  return Add(suffix, std::move(dims), initializer, false);
}

Value LayerContext::Add(const std::string& suffix, std::vector<int64_t> dims,
                        Initializer initializer, bool trained) {
  // More than any memory holds, and few enough to count in 64 bits times any batch.
  constexpr int64_t kMaxValues = int64_t{1} << 40;
  const std::string variable = absl::StrCat(variables, "/", suffix);
  if (reuses()) return ReadVariable("reuse", variable, dims);
  const Shape shape = {DType::kF32, std::move(dims)};
  int64_t values = 1;
  for (const int64_t dim : shape.dims)
    values = dim < kMaxValues / values ? values * dim : kMaxValues;
  if (values >= kMaxValues) {
    return Fail("", absl::StrCat("variable ", variable, " would be ", shape.ToString(),
                                 "; make it smaller than 2^40 values"));
  }
  return b.Read(b.AddVariable({.name = variable,
                               .shape = shape,
                               .initializer = initializer,
                               .trainable = trained && trainable(variable)}));
}

Value LayerContext::ReadVariable(const std::string& field, const std::string& variable,
                                 const std::vector<int64_t>& dims) {
  const std::vector<Variable>& all = b.graph().variables();
  const int index = b.graph().FindVariable(variable);
  const Shape want = {DType::kF32, dims};
  if (index < 0) {
    std::vector<std::string> names;
    for (const Variable& other : all) names.push_back(other.name);
    return Fail(field, absl::StrCat("there is no variable ", Quote(variable),
                                    " of a layer before it", DidYouMean(variable, names)));
  }
  if (!(all[index].shape == want)) {
    return Fail(field,
                absl::StrCat("variable ", Quote(variable), " is ", all[index].shape.ToString(),
                             ", for an input ", Quote(inputs[0].name), " of ",
                             BatchShapeText(shape(0)), " it must be ", want.ToString()));
  }
  return b.Read(index);
}

Value LayerContext::ReadFeature(const std::string& field, const std::string& feature,
                                const std::vector<int64_t>& dims) {
  const auto found = features->find(feature);
  if (found == features->end()) {
    std::vector<std::string> names;
    for (const auto& [name, value] : *features) names.push_back(name);
    return Fail(field,
                absl::StrCat("there is no feature ", Quote(feature), DidYouMean(feature, names)));
  }
  const Value value = found->second;
  if (!value.valid() || ExampleDims(b.shape(value)) == dims) return value;
  return Fail(field, absl::StrCat("feature ", Quote(feature), " must be ",
                                  dims.empty() ? "one number an example, of shape [N], got "
                                               : absl::StrCat("of shape [N,",
                                                              absl::StrJoin(dims, ","), "], got "),
                                  BatchShapeText(b.shape(value))));
}

void LayerContext::Update(const std::string& suffix, const std::function<Value(Value)>& next) {
  const int variable = b.graph().FindVariable(absl::StrCat(variables, "/", suffix));
  if (!training || variable < 0) return;
  Value& value = (*updates)[variable];
  value = next(value.valid() ? value : b.Read(variable));
}

Value LayerContext::AddState(const std::string& suffix, std::vector<int64_t> dims) {
  const std::string variable = absl::StrCat(name, "/", suffix);  // under `reuse` too: its own
  return b.Read(b.AddVariable({.name = variable,
                               .shape = {DType::kF32, std::move(dims)},
                               .scope = Variable::Scope::kState,
                               .per_core = true}));
}

void LayerContext::UpdateState(const std::string& suffix, Value next) {
  (*updates)[b.graph().FindVariable(absl::StrCat(name, "/", suffix))] = next;
}

Value LayerContext::Position() {
  counts_positions_ = true;
  const Value position = AddState("position", {});
  const Value next = tpurun::Add(b, position, Scalar(b, 1));
  const Value is_last = GreaterEqual(b, next, Scalar(b, static_cast<double>(positions)));
  UpdateState("position", Select(b, is_last, Scalar(b, 0), next));
  return position;
}

Value LayerContext::Fail(const std::string& field, const std::string& message) {
  if (errors_.empty()) errors_.Add(field, message);
  return Value{};
}

Value LayerContext::RejectOnTpu(const std::string& field, const std::string& message) {
  if (errors_.empty()) errors_.RejectOnTpu(ConfigPlace(), field, message);
  return Value{};
}

std::shared_ptr<const Layers> WrittenLayers(const Layers& written) {
  return std::shared_ptr<const Layers>(std::shared_ptr<const Layers>(), &written);
}

std::string BatchShapeText(const Shape& shape) {
  std::string text = absl::StrCat(std::string(Name(shape.dtype)), "[N");
  for (const int64_t dim : ExampleDims(shape)) absl::StrAppend(&text, ",", dim);
  return text + "]";
}

std::vector<int64_t> ExampleDims(const Shape& shape) {
  return {shape.dims.begin() + (shape.dims.empty() ? 0 : 1), shape.dims.end()};
}

bool IsSequence(LayerContext& layer) {
  const Shape& x = layer.shape(0);
  if (x.dtype == DType::kF32 && x.rank() == 3) return true;
  layer.Fail("",
             absl::StrCat(layer.kind,
                          " wants floating-point values (f32) of shape [N,time,features], got ",
                          Quote(layer.inputs[0].name), " of ", BatchShapeText(x),
                          x.dtype == DType::kF32 ? "; put a reshape to time and features before it"
                                                 : "; declare it FLOAT32 or cast it in the input"));
  return false;
}

Value ConstantFloats(GraphBuilder& b, const std::vector<float>& values, int64_t size) {
  const bool one = std::all_of(values.begin(), values.end(),
                               [&](float value) { return value == values.front(); });
  if (one) return Constant(b, DType::kF32, {size}, values.front());
  std::vector<Value> parts;
  for (const float value : values) parts.push_back(Constant(b, DType::kF32, {1}, value));
  return Concat(b, parts, 0);
}

Value BroadcastTo(GraphBuilder& b, Value x, const std::vector<int64_t>& dims) {
  const std::vector<int64_t> from = b.shape(x).dims;
  std::vector<int64_t> kept, axes;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (from[axis] == 1 && dims[axis] != 1) continue;
    kept.push_back(from[axis]);
    axes.push_back(static_cast<int64_t>(axis));
  }
  if (kept.size() == dims.size()) return x;
  return Broadcast(b, Reshape(b, x, kept), dims, axes);
}

Value NonZero(GraphBuilder& b, Value x) {
  const Value zero = Equal(b, Convert(b, x, DType::kF32), Scalar(b, 0));
  return Select(b, zero, Scalar(b, 0), Scalar(b, 1));
}

}  // namespace tpurun
