#include "models/tensors.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/text.h"
#include "runtime/spec/spec.h"

namespace tpurun {

bool IsTooLarge(const Shape& shape) {
  int64_t bytes = ByteSize(shape.dtype);
  for (const int64_t dim : shape.dims) {
    if (__builtin_mul_overflow(bytes, dim, &bytes) || bytes > kMaxTensorBytes) return true;
  }
  return false;
}

bool IsReservedName(const std::string& name) {
  return name == "loss" || name == "global_step" || name == "learning_rate" ||
         name == "global_norm" || name == kRowWeightSlot ||
         absl::StartsWith(absl::StrCat(name, "/"), kNoVariable);
}

Value ClassesOfLabel(GraphBuilder& b, const Tensor& label) {
  if (!label.counted.valid()) return label.value;
  const DType dtype = b.shape(label.value).dtype;
  return Select(b, Greater(b, label.counted, Scalar(b, 0)), label.value,
                ConstantInt(b, dtype, {}, {0}));
}

void Tensors::Declare(const std::string& name, const Tensor& tensor, const ConfigPlace& place,
                      ConfigErrors& errors) {
  if (name.empty()) {
    errors.Add(place, "name", "name is missing");
    return;
  }
  if (IsReservedName(name)) {
    errors.Add(place, "name",
               absl::StrCat("the name ", Quote(name), " is reserved; choose another"));
    return;
  }
  const auto [entry, added] = tensors_.insert({name, {tensor, place}});
  if (!added) {
    errors.Add(place, "name",
               absl::StrCat("the name ", Quote(name), " is taken by ", entry->second.place.subject,
                            "; features, labels, layers and losses share one name space"));
  }
}

const Tensor* Tensors::Find(const std::string& scope, const std::string& name) const {
  const auto found = LookUp(scope, name);
  return found == tensors_.end() ? nullptr : &found->second.tensor;
}

std::string Tensors::FullName(const std::string& scope, const std::string& name) const {
  const auto found = LookUp(scope, name);
  return found == tensors_.end() ? name : found->first;
}

Tensors::Entries::const_iterator Tensors::LookUp(const std::string& scope,
                                                 const std::string& name) const {
  for (std::string outer = scope;;) {
    const auto found = tensors_.find(outer.empty() ? name : absl::StrCat(outer, "/", name));
    if (found != tensors_.end() || outer.empty()) return found;
    const size_t slash = outer.rfind('/');
    outer = slash == std::string::npos ? "" : outer.substr(0, slash);
  }
}

std::vector<std::string> Tensors::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : tensors_) names.push_back(name);
  return names;
}

}  // namespace tpurun
