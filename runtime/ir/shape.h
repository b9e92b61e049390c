// DType, Layout and Shape: the type of a value. A Shape prints as f32[16,784]. A value in a
// kernel's own layout prints as f32[64,32]{blocked_8x8:8192}, with its size of 8192 bytes.
#ifndef TPURUN_RUNTIME_IR_SHAPE_H_
#define TPURUN_RUNTIME_IR_SHAPE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tpurun {

// The alignment of arrays in bytes: the size of a cache line and of an AVX-512 register.
inline constexpr int64_t kAlignment = 64;
// `bytes` rounded up to a multiple of kAlignment.
constexpr int64_t Aligned(int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

enum class DType : uint8_t { kF32, kBF16, kS32, kS64, kU8, kU32, kPred, kC64 };

// The size of one element in bytes. A pred is one byte, 0 or 1.
int64_t ByteSize(DType dtype);
// "f32", "bf16", "s32", ...; ParseDType is the inverse.
std::string_view Name(DType dtype);
std::optional<DType> ParseDType(std::string_view name);

// The memory layout of the elements. The plain layout is row-major without gaps. A kernel layout
// has a name that only its kernel understands, and its size in bytes.
struct Layout {
  std::string name;
  int64_t bytes = 0;

  bool plain() const { return name.empty(); }
  bool operator==(const Layout&) const = default;
};

struct Shape {
  DType dtype = DType::kF32;
  std::vector<int64_t> dims;  // outermost first; empty for a scalar
  Layout layout;

  int rank() const { return static_cast<int>(dims.size()); }
  int64_t num_elements() const;
  int64_t bytes() const;
  // Number of elements of one entry of the leading dimension. The rank must be at least 1.
  int64_t row_elements() const;
  std::string ToString() const;
  bool operator==(const Shape&) const = default;
};

std::optional<Shape> ParseShape(std::string_view text);

// Prints dimensions as "[16,784]".
std::string DimsToString(const std::vector<int64_t>& dims);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IR_SHAPE_H_
