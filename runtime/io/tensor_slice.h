// Slices of partitioned variables in a checkpoint: the keys of their entries, and copying a slice
// into the whole variable. Source: tensorflow/core/util/saved_tensor_slice_util.cc and
// tensorflow/core/lib/strings/ordered_code.h.
#ifndef TPURUN_RUNTIME_IO_TENSOR_SLICE_H_
#define TPURUN_RUNTIME_IO_TENSOR_SLICE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"

namespace tpurun {

// One dimension of a slice: elements start to start + length - 1. Length -1 is the whole dimension,
// and start is then 0.
struct SliceExtent {
  int64_t start = 0;
  int64_t length = -1;
};
using TensorSlice = std::vector<SliceExtent>;  // one extent per dimension

// Key := 0x00, the name with 00 -> 00 FF and FF -> FF 00, 00 01, the number of dimensions as a
// length byte and big-endian bytes, then start and length of each dimension in AppendOrderedInt's
// code.
std::string SliceKey(std::string_view name, const TensorSlice& slice);

// Appends a code whose byte order is the order of the numbers: n bytes hold 7n-1 bits, and the
// first n bits are ones. A negative number is the complement of that code.
void AppendOrderedInt(int64_t value, std::string* out);

// The slice with explicit start and length in every dimension. Returns false if the slice is not
// inside `shape`.
bool ResolveSlice(const TensorSlice& slice, absl::Span<const int64_t> shape, TensorSlice* resolved);

// Both slices are resolved and of one shape.
bool SlicesOverlap(const TensorSlice& a, const TensorSlice& b);

// Copies the row-major elements of a resolved slice into the row-major tensor `whole`.
void CopySlice(const TensorSlice& slice, absl::Span<const int64_t> shape, size_t element_bytes,
               const char* elements, char* whole);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IO_TENSOR_SLICE_H_
