#include "runtime/estimator/variable_store.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>

#include "absl/strings/str_cat.h"
#include "runtime/base/bfloat16.h"
#include "runtime/base/random.h"
#include "runtime/base/status.h"

namespace tpurun {
namespace {

// Element i of a normal distribution by Box and Muller: two of the four lanes of block i / 2.
// `attempt` numbers the draws of one element.
double NormalElement(uint64_t seed, uint32_t stream, uint32_t attempt, int64_t i) {
  const auto lanes = PhiloxBlock(seed, stream, attempt, 0, static_cast<uint64_t>(i) / 2);
  const int lane = static_cast<int>(i % 2) * 2;
  const double radius = (static_cast<double>(lanes[lane]) + 1) * 0x1p-32;  // (0, 1]
  const double angle = static_cast<double>(lanes[lane + 1]) * 0x1p-32;     // [0, 1)
  return std::sqrt(-2 * std::log(radius)) * std::cos(2 * M_PI * angle);
}

double TruncatedNormalElement(uint64_t seed, uint32_t stream, int64_t i) {
  for (uint32_t attempt = 0;; ++attempt) {
    const double z = NormalElement(seed, stream, attempt, i);
    if (std::abs(z) < 2) return z;
  }
}

float UniformElement(uint64_t seed, uint32_t stream, int64_t i, float low, float high) {
  const float value = low + UniformFloat(PhiloxElement(seed, stream, 0, 0, i)) * (high - low);
  return value < high ? value : std::nextafter(high, low);  // the sum may round up to `high`
}

float DrawElement(const Initializer& initializer, uint64_t seed, uint32_t stream, int64_t i) {
  switch (initializer.kind) {
    case Initializer::Kind::kConstant:
      return static_cast<float>(initializer.a);
    case Initializer::Kind::kUniform:
      return UniformElement(seed, stream, i, static_cast<float>(initializer.a),
                            static_cast<float>(initializer.b));
    case Initializer::Kind::kNormal:
      return static_cast<float>(initializer.a + initializer.b * NormalElement(seed, stream, 0, i));
    case Initializer::Kind::kTruncatedNormal:
      return static_cast<float>(initializer.a +
                                initializer.b * TruncatedNormalElement(seed, stream, i));
  }
  return 0;
}

template <typename T>
void FillConstant(std::byte* out, int64_t elements, double value) {
  std::fill_n(reinterpret_cast<T*>(out), elements, static_cast<T>(value));
}

absl::Status Fill(const Variable& variable, uint64_t seed, std::byte* out) {
  const int64_t elements = variable.shape.num_elements();
  const Initializer& initializer = variable.initializer;
  const uint32_t stream = StreamOf(variable.name);
  switch (variable.shape.dtype) {
    case DType::kF32:
      for (int64_t i = 0; i < elements; ++i) {
        reinterpret_cast<float*>(out)[i] = DrawElement(initializer, seed, stream, i);
      }
      return absl::OkStatus();
    case DType::kBF16:
      for (int64_t i = 0; i < elements; ++i) {
        reinterpret_cast<uint16_t*>(out)[i] =
            BFloat16Bits(DrawElement(initializer, seed, stream, i));
      }
      return absl::OkStatus();
    default:
      break;
  }
  if (initializer.kind != Initializer::Kind::kConstant) {
    return absl::InternalError(absl::StrCat("variable \"", variable.name, "\" of ",
                                            variable.shape.ToString(),
                                            " has a random initializer, want a constant"));
  }
  switch (variable.shape.dtype) {
    case DType::kS32:
      FillConstant<int32_t>(out, elements, initializer.a);
      break;
    case DType::kS64:
      FillConstant<int64_t>(out, elements, initializer.a);
      break;
    case DType::kU32:
      FillConstant<uint32_t>(out, elements, initializer.a);
      break;
    case DType::kC64:
      for (int64_t i = 0; i < elements; ++i) {
        reinterpret_cast<float*>(out)[2 * i] = static_cast<float>(initializer.a);
        reinterpret_cast<float*>(out)[2 * i + 1] = 0;
      }
      break;
    default:
      FillConstant<uint8_t>(out, elements, initializer.a);
      break;
  }
  return absl::OkStatus();
}

absl::Status OtherShape(const StoredVariable& stored, const Variable& variable) {
  return absl::InternalError(absl::StrCat("variable \"", variable.name, "\" of two programs: got ",
                                          variable.shape.ToString(), ", want ",
                                          stored.variable().shape.ToString()));
}

}  // namespace

void StoredVariable::Free::operator()(std::byte* data) const {
  ::operator delete(data, std::align_val_t(kAlignment));
}

StoredVariable::StoredVariable(Variable variable, int copies)
    : variable_(std::move(variable)),
      copies_(copies),
      stride_(Aligned(std::max<int64_t>(variable_.shape.bytes(), 1))),
      data_(
          static_cast<std::byte*>(::operator new(stride_* copies, std::align_val_t(kAlignment)))) {
  std::memset(data_.get(), 0, stride_ * copies);
}

absl::Status VariableStore::Add(const std::vector<Variable>& variables) {
  for (const Variable& variable : variables) {
    const auto found = variables_.find(variable.name);
    if (found == variables_.end()) {
      variables_.emplace(variable.name,
                         StoredVariable(variable, variable.per_core ? num_replicas_ : 1));
    } else if (!(found->second.variable().shape == variable.shape)) {
      return OtherShape(found->second, variable);
    }
  }
  return absl::OkStatus();
}

absl::Status VariableStore::Initialize(uint64_t seed) {
  ++version_;
  for (auto& [name, stored] : variables_) {
    std::byte* const first = stored.copy(0);
    if (stored.variable().scope == Variable::Scope::kState) {
      std::memset(first, 0, stored.copy_bytes());
    } else {
      RETURN_IF_ERROR(Fill(stored.variable(), seed, first));
    }
    for (int copy = 1; copy < stored.copies(); ++copy) {
      std::memcpy(stored.copy(copy), first, stored.copy_bytes());
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<void*>> VariableStore::Bind(const std::vector<Variable>& variables) {
  std::vector<void*> memory;
  for (const Variable& variable : variables) {
    const auto found = variables_.find(variable.name);
    if (found == variables_.end()) {
      return absl::InternalError(absl::StrCat("variable \"", variable.name, "\" is not stored"));
    }
    StoredVariable& stored = found->second;
    if (!(stored.variable().shape == variable.shape)) return OtherShape(stored, variable);
    if (variable.per_core && stored.copies() < num_replicas_) {
      return absl::InternalError(absl::StrCat("variable \"", variable.name,
                                              "\": got a program with a copy a core, want one"));
    }
    memory.push_back(stored.copy(0));
  }
  return memory;
}

const StoredVariable* VariableStore::Find(const std::string& name) const {
  const auto found = variables_.find(name);
  return found == variables_.end() ? nullptr : &found->second;
}

StoredVariable* VariableStore::FindMutable(const std::string& name) {
  const auto found = variables_.find(name);
  if (found == variables_.end()) return nullptr;
  ++version_;
  return &found->second;
}

std::map<std::string, std::vector<Literal>> VariableStore::ToLiterals() const {
  std::map<std::string, std::vector<Literal>> literals;
  for (const auto& [name, stored] : variables_) {
    for (int copy = 0; copy < stored.copies(); ++copy) {
      Literal literal(stored.variable().shape);
      std::memcpy(literal.data(), stored.copy(copy), stored.copy_bytes());
      literals[name].push_back(std::move(literal));
    }
  }
  return literals;
}

}  // namespace tpurun
