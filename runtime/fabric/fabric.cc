#include "runtime/fabric/fabric.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "runtime/base/clones.h"
#include "runtime/base/cpu.h"
#include "runtime/base/dcheck.h"
#include "runtime/base/status.h"
#include "runtime/fabric/rounds.h"

namespace tpurun {
namespace {

template <typename T>
std::span<const std::byte> BytesOf(const T* x, const VectorPart& part) {
  return std::as_bytes(std::span(x + part.begin, part.size()));
}

template <typename T>
std::span<std::byte> BytesOf(T* x, const VectorPart& part) {
  return std::as_writable_bytes(std::span(x + part.begin, part.size()));
}

template <typename T>
T SumOfTwo(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
  } else {
    return a + b;
  }
}

// sum[i] = low[i] + high[i], where `low` is of the lower ranks: the same call in every process that
// adds an element, so that the sum of two NaNs has the same bits in all. sum may be low or high.
template <typename T>
void AddElements(const T* low, const T* high, T* sum, int64_t n) {
  RunCloned([ low, high, sum, n ]() __attribute__((always_inline)) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) sum[i] = SumOfTwo(low[i], high[i]);
  });
}

void MakeRoom(int64_t bytes, std::vector<std::byte>& buffer) {
  if (static_cast<int64_t>(buffer.size()) < bytes) buffer.resize(bytes);
}

void AppendNumber(int64_t number, std::string& out) {
  out.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

void AppendSized(absl::string_view text, std::string& out) {
  AppendNumber(static_cast<int64_t>(text.size()), out);
  out.append(text.data(), text.size());
}

int64_t TakeNumber(absl::string_view& in) {
  int64_t number = 0;
  TPURUN_DCHECK(in.size() >= sizeof(number));
  std::memcpy(&number, in.data(), sizeof(number));
  in.remove_prefix(sizeof(number));
  return number;
}

absl::string_view TakeSized(absl::string_view& in) {
  const int64_t size = TakeNumber(in);
  const absl::string_view text = in.substr(0, size);
  in.remove_prefix(size);
  return text;
}

// status: CODE MESSAGE (TYPE PAYLOAD)*. A text is its size and its bytes. Numbers are int64 of this
// machine's byte order.
std::string StatusToBytes(const absl::Status& status) {
  std::string bytes;
  AppendNumber(status.raw_code(), bytes);
  AppendSized(status.message(), bytes);
  status.ForEachPayload([&bytes](absl::string_view type, const absl::Cord& payload) {
    AppendSized(type, bytes);
    AppendSized(std::string(payload), bytes);
  });
  return bytes;
}

absl::Status StatusFromBytes(absl::string_view bytes) {
  const auto code = static_cast<absl::StatusCode>(TakeNumber(bytes));
  absl::Status status(code, TakeSized(bytes));
  while (!bytes.empty()) {
    const absl::string_view type = TakeSized(bytes);
    status.SetPayload(type, absl::Cord(TakeSized(bytes)));
  }
  return status;
}

}  // namespace

Fabric::Fabric(int rank, int size) : rank_(rank), size_(size) {
  TPURUN_DCHECK(size > 0 && (size & (size - 1)) == 0);
  TPURUN_DCHECK(rank >= 0 && rank < size);
}

absl::Status Fabric::Exchange(int peer, std::span<const std::byte> send,
                              std::span<std::byte> receive) {
  const bool nothing = send.empty() && receive.empty();
  if (lost_.ok() && !nothing) lost_ = SendReceive(peer, send, receive);
  return lost_;
}

absl::Status Fabric::AllReduceSum(const float* x, float* sum, int64_t n) {
  const ScopedFlushDenormals flush;
  return Sum(x, sum, n);
}
absl::Status Fabric::AllReduceSum(const int32_t* x, int32_t* sum, int64_t n) {
  return Sum(x, sum, n);
}
absl::Status Fabric::AllReduceSum(const int64_t* x, int64_t* sum, int64_t n) {
  return Sum(x, sum, n);
}

template <typename T>
absl::Status Fabric::Sum(const T* x, T* sum, int64_t n) {
  if (n == 0 || !lost_.ok()) return lost_;
  const int64_t bytes = n * static_cast<int64_t>(sizeof(T));
  if (size_ == 1) {
    if (x != sum) std::memcpy(sum, x, bytes);
    return absl::OkStatus();
  }
  return bytes <= kShortVectorBytes ? SumOfShort(x, sum, n) : SumByHalves(x, sum, n);
}

template <typename T>
absl::Status Fabric::SumOfShort(const T* x, T* sum, int64_t n) {
  const VectorPart all = {0, n};
  MakeRoom(std::min(kPieceBytes, n * static_cast<int64_t>(sizeof(T))), received_);
  T* theirs = reinterpret_cast<T*>(received_.data());
  const T* own = x;
  for (int distance = 1; distance < size_; distance *= 2) {
    RETURN_IF_ERROR(Exchange(rank_ ^ distance, BytesOf(own, all), BytesOf(theirs, all)));
    const bool upper = rank_ & distance;
    AddElements<T>(upper ? theirs : own, upper ? own : theirs, sum, n);
    own = sum;
  }
  return absl::OkStatus();
}

template <typename T>
absl::Status Fabric::SumByHalves(const T* x, T* sum, int64_t n) {
  constexpr int64_t kPiece = kPieceBytes / static_cast<int64_t>(sizeof(T));
  MakeRoom(std::min(kPieceBytes, n * static_cast<int64_t>(sizeof(T))), received_);
  T* theirs = reinterpret_cast<T*>(received_.data());
  // After level i the process has the sums over 2^(i+1) ranks of the elements that it kept.
  std::array<VectorHalves, 31> levels;
  const T* own = x;
  VectorPart part = {0, n};
  int level = 0;
  for (int distance = 1; distance < size_; distance *= 2, ++level) {
    const bool upper = rank_ & distance;
    const auto [kept, given] = levels[level] = Halve(part, upper);
    const int64_t longer = std::max(kept.size(), given.size());
    for (int64_t done = 0; done < longer; done += kPiece) {
      const VectorPart to_add = kept.Piece(done, kPiece);
      RETURN_IF_ERROR(Exchange(rank_ ^ distance, BytesOf(own, given.Piece(done, kPiece)),
                               BytesOf(theirs, {0, to_add.size()})));
      const T* mine = own + to_add.begin;
      AddElements<T>(upper ? theirs : mine, upper ? mine : theirs, sum + to_add.begin,
                     to_add.size());
    }
    part = kept;
    own = sum;
  }
  for (int distance = size_ / 2; distance > 0; distance /= 2) {
    const auto [kept, given] = levels[--level];
    RETURN_IF_ERROR(Exchange(rank_ ^ distance, BytesOf<T>(static_cast<const T*>(sum), kept),
                             BytesOf(sum, given)));
  }
  return absl::OkStatus();
}

template <typename Offset>
absl::Status Fabric::Gather(const Offset& offset, std::byte* all) {
  for (int distance = 1; distance < size_; distance *= 2) {
    // The processes whose values this process and its peer have.
    const int first = rank_ & -distance, theirs = first ^ distance;
    const auto values = [&](int begin) {
      return std::span(all + offset(begin),
                       static_cast<size_t>(offset(begin + distance) - offset(begin)));
    };
    RETURN_IF_ERROR(Exchange(rank_ ^ distance, values(first), values(theirs)));
  }
  return lost_;
}

absl::Status Fabric::AllGather(const void* own, int64_t bytes, void* all) {
  auto* values = static_cast<std::byte*>(all);
  std::byte* place = values + rank_ * bytes;
  if (bytes > 0 && own != place) std::memcpy(place, own, bytes);
  return Gather([bytes](int rank) { return rank * bytes; }, values);
}

absl::StatusOr<std::vector<std::string>> Fabric::AllGatherText(const std::string& own) {
  const auto own_size = static_cast<int64_t>(own.size());
  std::vector<int64_t> sizes(size_), offsets(size_ + 1);
  RETURN_IF_ERROR(AllGather(&own_size, sizeof(own_size), sizes.data()));
  for (int rank = 0; rank < size_; ++rank) offsets[rank + 1] = offsets[rank] + sizes[rank];
  std::string all(offsets[size_], '\0');
  all.replace(offsets[rank_], own.size(), own);
  RETURN_IF_ERROR(Gather([&offsets](int rank) { return offsets[rank]; },
                         reinterpret_cast<std::byte*>(all.data())));
  std::vector<std::string> texts;
  for (int rank = 0; rank < size_; ++rank) texts.push_back(all.substr(offsets[rank], sizes[rank]));
  return texts;
}

absl::Status Fabric::Broadcast(void* data, int64_t bytes) {
  const std::span<std::byte> all(static_cast<std::byte*>(data), bytes);
  // A binomial tree: before each round the ranks below `distance` have the bytes.
  for (int distance = 1; distance < size_; distance *= 2) {
    if (rank_ < distance) {
      RETURN_IF_ERROR(Exchange(rank_ + distance, all, {}));
    } else if (rank_ < 2 * distance) {
      RETURN_IF_ERROR(Exchange(rank_ - distance, {}, all));
    }
  }
  return lost_;
}

absl::StatusOr<std::string> Fabric::BroadcastText(const std::string& text) {
  auto size = static_cast<int64_t>(text.size());
  RETURN_IF_ERROR(Broadcast(&size, sizeof(size)));
  std::string all = is_chief() ? text : std::string(size, '\0');
  RETURN_IF_ERROR(Broadcast(all.data(), size));
  return all;
}

absl::Status Fabric::FirstError(const absl::Status& own) {
  const auto statuses = AllGatherText(own.ok() ? std::string() : StatusToBytes(own));
  if (!statuses.ok()) return own.ok() ? statuses.status() : own;
  for (int rank = 0; rank < size_; ++rank) {
    const std::string& bytes = (*statuses)[rank];
    if (bytes.empty()) continue;
    if (rank == rank_) return own;
    return Annotate(StatusFromBytes(bytes), absl::StrCat("process ", rank));
  }
  return absl::OkStatus();
}

}  // namespace tpurun
