// Literal: a value on the host: its shape and its 64-byte aligned data (row-major, little-endian).
#ifndef TPURUN_RUNTIME_IR_LITERAL_H_
#define TPURUN_RUNTIME_IR_LITERAL_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "runtime/base/dcheck.h"
#include "runtime/ir/shape.h"

namespace tpurun {

class Literal {
 public:
  Literal() = default;
  // All elements are 0.
  explicit Literal(Shape shape) : shape_(std::move(shape)), data_(Allocate(shape_.bytes())) {
    if (shape_.bytes() > 0) std::memset(data_.get(), 0, shape_.bytes());
  }
  Literal(const Literal& other) : Literal(other.shape_) {
    if (other.shape_.bytes() > 0) std::memcpy(data_.get(), other.data_.get(), shape_.bytes());
  }
  Literal(Literal&&) = default;
  Literal& operator=(const Literal& other) { return *this = Literal(other); }
  Literal& operator=(Literal&&) = default;

  // A literal of T's dtype: T is float, int32_t, int64_t, uint8_t or uint32_t.
  template <typename T>
  static Literal Of(std::vector<int64_t> dims, const std::vector<T>& values);
  template <typename T>
  static Literal Scalar(T value) {
    return Of<T>({}, {value});
  }

  // The same elements with other dimensions. The number of elements must not change.
  Literal Reshaped(std::vector<int64_t> dims) const {
    Literal result = *this;
    result.shape_.dims = std::move(dims);
    TPURUN_DCHECK(result.shape_.num_elements() == shape_.num_elements());
    return result;
  }

  const Shape& shape() const { return shape_; }
  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  // The elements; T must be the type of the dtype (uint16_t for bf16, uint8_t for pred).
  template <typename T>
  std::span<T> values() {
    TPURUN_DCHECK(sizeof(T) == static_cast<size_t>(ByteSize(shape_.dtype)));
    return {reinterpret_cast<T*>(data_.get()), static_cast<size_t>(shape_.num_elements())};
  }
  template <typename T>
  std::span<const T> values() const {
    TPURUN_DCHECK(sizeof(T) == static_cast<size_t>(ByteSize(shape_.dtype)));
    return {reinterpret_cast<const T*>(data_.get()), static_cast<size_t>(shape_.num_elements())};
  }
  // True if shapes and bytes are equal.
  bool operator==(const Literal& other) const {
    return shape_ == other.shape_ &&
           (shape_.bytes() == 0 || std::memcmp(data(), other.data(), shape_.bytes()) == 0);
  }

 private:
  struct Free {
    void operator()(std::byte* data) const {
      ::operator delete(data, std::align_val_t(kAlignment));
    }
  };
  static std::unique_ptr<std::byte, Free> Allocate(int64_t bytes) {
    return std::unique_ptr<std::byte, Free>(static_cast<std::byte*>(
        ::operator new(bytes > 0 ? bytes : 1, std::align_val_t(kAlignment))));
  }

  Shape shape_;
  std::unique_ptr<std::byte, Free> data_;
};

template <typename T>
constexpr DType DTypeOf() {
  if constexpr (std::is_same_v<T, float>) return DType::kF32;
  if constexpr (std::is_same_v<T, int32_t>) return DType::kS32;
  if constexpr (std::is_same_v<T, int64_t>) return DType::kS64;
  if constexpr (std::is_same_v<T, uint8_t>) return DType::kU8;
  if constexpr (std::is_same_v<T, uint32_t>) return DType::kU32;
}

template <typename T>
Literal Literal::Of(std::vector<int64_t> dims, const std::vector<T>& values) {
  Literal literal(Shape{DTypeOf<T>(), std::move(dims)});
  TPURUN_DCHECK(static_cast<int64_t>(values.size()) == literal.shape().num_elements());
  std::memcpy(literal.data(), values.data(), values.size() * sizeof(T));
  return literal;
}

// Returns the index of the first NaN or infinite value, or -1 if there is none. A complex element
// counts as two values.
int64_t FirstNonFinite(const Shape& shape, const std::byte* data);
// True if all n floats are finite. Runs at the speed of memory reads.
bool AllFinite(const float* x, int64_t n);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IR_LITERAL_H_
