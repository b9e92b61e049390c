// Bytes: a growable buffer for the numbers of a column. It is in memory of its own, which is kept
// when the buffer is cleared, or in lent memory.
#ifndef TPURUN_DATA_BYTES_H_
#define TPURUN_DATA_BYTES_H_

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

namespace tpurun {

class Bytes {
 public:
  Bytes() = default;
  Bytes(const Bytes& other) { Append(other.data_, other.size_); }
  Bytes(Bytes&& other) noexcept { swap(other); }
  Bytes& operator=(Bytes other) noexcept {
    swap(other);
    return *this;
  }

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  size_t size() const { return size_; }

  void clear() { size_ = 0; }
  // Added bytes are not initialized.
  void resize(size_t size) {
    if (size > capacity_) Grow(size);
    size_ = size;
  }
  void Append(const void* bytes, size_t size) {
    if (size == 0) return;
    const size_t end = size_;
    resize(end + size);
    std::memcpy(data_ + end, bytes, size);
  }

  // Clears the buffer. The bytes added from now on are stored in `memory` if `size` bytes are
  // enough, until the next call of Lend. Larger contents move to memory of the buffer's own.
  void Lend(std::byte* memory, size_t size) {
    data_ = memory;
    capacity_ = size;
    size_ = 0;
  }

 private:
  void swap(Bytes& other) noexcept {
    std::swap(owned_, other.owned_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  void Grow(size_t size) {
    const size_t capacity = std::max(size, 2 * capacity_);
    const bool lent = data_ != owned_.get();
    // For large blocks the kernel moves the pages, so the contents are never in memory twice.
    void* const larger = std::realloc(lent ? nullptr : owned_.get(), capacity);
    if (larger == nullptr) throw std::bad_alloc();
    if (lent && size_ > 0) std::memcpy(larger, data_, size_);
    if (!lent) static_cast<void>(owned_.release());
    owned_.reset(static_cast<std::byte*>(larger));
    data_ = owned_.get();
    capacity_ = capacity;
  }

  struct Free {
    void operator()(std::byte* bytes) const { std::free(bytes); }
  };

  std::unique_ptr<std::byte[], Free> owned_;
  std::byte* data_ = nullptr;  // owned_ or lent
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace tpurun

#endif  // TPURUN_DATA_BYTES_H_
