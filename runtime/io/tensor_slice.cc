#include "runtime/io/tensor_slice.h"

#include <cstring>

namespace tpurun {
namespace {

void AppendOrderedString(std::string_view text, std::string* out) {
  for (const char c : text) {
    *out += c;
    if (c == '\0') *out += '\xff';
    if (c == '\xff') *out += '\0';
  }
  out->append("\0\x01", 2);
}

void AppendOrderedCount(uint64_t value, std::string* out) {
  std::string big_endian;
  for (; value > 0; value >>= 8) big_endian.insert(big_endian.begin(), static_cast<char>(value));
  *out += static_cast<char>(big_endian.size());
  *out += big_endian;
}

}  // namespace

void AppendOrderedInt(int64_t value, std::string* out) {
  const uint64_t magnitude = value < 0 ? ~static_cast<uint64_t>(value) : value;
  // 10 bytes hold 69 bits, more than enough.
  int size = 1;
  while (size < 10 && magnitude >> (7 * size - 1) != 0) ++size;
  std::string code(size, '\0');
  for (int byte = 0; byte < size && byte < 8; ++byte) {
    code[size - 1 - byte] = static_cast<char>(magnitude >> (8 * byte));
  }
  for (int bit = 0; bit < size; ++bit) code[bit / 8] |= static_cast<char>(0x80 >> (bit % 8));
  if (value < 0) {
    for (char& byte : code) byte = static_cast<char>(~byte);
  }
  *out += code;
}

std::string SliceKey(std::string_view name, const TensorSlice& slice) {
  std::string key(1, '\0');
  AppendOrderedString(name, &key);
  AppendOrderedCount(slice.size(), &key);
  for (const SliceExtent& extent : slice) {
    AppendOrderedInt(extent.start, &key);
    AppendOrderedInt(extent.length, &key);
  }
  return key;
}

bool ResolveSlice(const TensorSlice& slice, absl::Span<const int64_t> shape,
                  TensorSlice* resolved) {
  if (slice.size() != shape.size()) return false;
  *resolved = slice;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    SliceExtent& extent = (*resolved)[dim];
    if (extent.start < 0 || extent.start > shape[dim]) return false;
    const int64_t rest = shape[dim] - extent.start;
    if (extent.length == -1) extent.length = rest;
    if (extent.length < 0 || extent.length > rest) return false;
  }
  return true;
}

bool SlicesOverlap(const TensorSlice& a, const TensorSlice& b) {
  for (size_t dim = 0; dim < a.size(); ++dim) {
    if (a[dim].start >= b[dim].start + b[dim].length ||
        b[dim].start >= a[dim].start + a[dim].length) {
      return false;
    }
  }
  return true;
}

void CopySlice(const TensorSlice& slice, absl::Span<const int64_t> shape, size_t element_bytes,
               const char* elements, char* whole) {
  if (shape.empty()) {
    std::memcpy(whole, elements, element_bytes);
    return;
  }
  const SliceExtent extent = slice.front();
  size_t row_bytes = element_bytes, slice_row_bytes = element_bytes;
  for (size_t dim = 1; dim < shape.size(); ++dim) {
    row_bytes *= shape[dim];
    slice_row_bytes *= slice[dim].length;
  }
  if (row_bytes == slice_row_bytes) {  // whole rows
    std::memcpy(whole + extent.start * row_bytes, elements, extent.length * row_bytes);
    return;
  }
  const TensorSlice inner(slice.begin() + 1, slice.end());
  for (int64_t row = 0; row < extent.length; ++row) {
    CopySlice(inner, shape.subspan(1), element_bytes, elements + row * slice_row_bytes,
              whole + (extent.start + row) * row_bytes);
  }
}

}  // namespace tpurun
