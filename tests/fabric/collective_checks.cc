#include "tests/fabric/collective_checks.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <span>

#include "absl/strings/str_cat.h"

namespace tpurun {
namespace {

// Element i of process `rank`: numbers of very different sizes, so that every order of additions
// has other bits, and some that are not finite or subnormal.
template <typename T>
T ElementOf(int rank, int64_t i) {
  uint64_t x = static_cast<uint64_t>(rank + 1) << 40 | static_cast<uint64_t>(i);
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  const auto bits = static_cast<uint32_t>(x >> 32);
  if constexpr (std::is_same_v<T, float>) {
    if (i % 97 == 11)
      return std::numeric_limits<float>::infinity() * (rank % 3 == 0 ? 1.0f : -1.0f);
    if (i % 97 == 12) return std::bit_cast<float>(0x7fc00000u + static_cast<uint32_t>(rank));
    if (i % 97 == 13) return std::bit_cast<float>(1u + bits % 1000);
    return std::ldexp(static_cast<float>(bits & 0xffffff) - 8388608.0f,
                      static_cast<int>(bits >> 24) % 40 - 20);
  } else {
    return static_cast<T>(x);
  }
}

float Flushed(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }

// The sum of two ranks' halves of the tree. volatile: in this order.
template <typename T>
T TreeOf(int first, int count, int64_t i) {
  if (count == 1) return ElementOf<T>(first, i);
  volatile T low = TreeOf<T>(first, count / 2, i);
  volatile T high = TreeOf<T>(first + count / 2, count / 2, i);
  if constexpr (std::is_same_v<T, float>) {
    return Flushed(Flushed(low) + Flushed(high));
  } else {
    return static_cast<T>(static_cast<uint64_t>(low) + static_cast<uint64_t>(high));
  }
}

class Checks {
 public:
  Checks(Fabric& fabric, std::vector<std::string>& wrong) : fabric_(fabric), wrong_(wrong) {}

  void Ok(const absl::Status& status, const std::string& what) {
    if (!status.ok()) wrong_.push_back(absl::StrCat(what, ": ", status.ToString()));
  }
  void That(bool right, const std::string& what) {
    if (!right) wrong_.push_back(what);
  }

  template <typename T>
  void Sum(const std::string& type, int64_t n, bool in_place) {
    const std::string what =
        absl::StrCat("sum of ", n, " ", type, in_place ? " in place" : " into another vector");
    std::vector<T> x(n), other(n, T{77});
    for (int64_t i = 0; i < n; ++i) x[i] = ElementOf<T>(fabric_.rank(), i);
    std::vector<T>& sum = in_place ? x : other;
    Ok(fabric_.AllReduceSum(x.data(), sum.data(), n), what);
    for (int64_t i = 0; i < n; ++i) {
      const T want = TreeOf<T>(0, fabric_.size(), i);
      // Which of two NaNs their sum is depends on the compiler.
      if (sum[i] != sum[i] && want != want) continue;
      if (std::memcmp(&sum[i], &want, sizeof(T)) != 0) {
        That(false, absl::StrCat(what, ": element ", i, " is ", sum[i], ", want ", want));
        break;
      }
    }
    const int64_t bytes = n * static_cast<int64_t>(sizeof(T));
    std::vector<T> of_chief = sum;
    Ok(fabric_.Broadcast(of_chief.data(), bytes), what);
    That(n == 0 || std::memcmp(of_chief.data(), sum.data(), bytes) == 0,
         what + " differs from that of the chief");
  }

  template <typename T>
  void Sums(const std::string& type, int sizes, int longest) {
    // About the limit between short vectors and others, and the ends of pieces.
    for (const int64_t n : {0, 1, 2, 3, 15, 17, 512, 1024, 1025, 2048, 2049, 2050, 3001}) {
      Sum<T>(type, n, n % 2 == 0);
    }
    std::mt19937 random(5);
    for (int i = 0; i < sizes; ++i) {
      Sum<T>(type, random() % longest, i % 2 == 0);
    }
  }

  void Gathers() {
    for (const int64_t bytes : {0, 1, 3, 16, 5000}) {
      const std::string what = absl::StrCat("gather of ", bytes, " bytes");
      std::vector<uint8_t> all(bytes * fabric_.size()), again(all.size());
      for (int64_t i = 0; i < bytes; ++i) all[fabric_.rank() * bytes + i] = Byte(fabric_.rank(), i);
      uint8_t* const own = all.data() + fabric_.rank() * bytes;
      const std::vector<uint8_t> copy(own, own + bytes);
      Ok(fabric_.AllGather(own, bytes, all.data()), what);
      Ok(fabric_.AllGather(copy.data(), bytes, again.data()), what);
      for (int rank = 0; rank < fabric_.size(); ++rank) {
        for (int64_t i = 0; i < bytes; ++i) {
          if (all[rank * bytes + i] != Byte(rank, i)) return That(false, what + " has other bytes");
        }
      }
      That(all == again, what + " of another place");
    }
    const auto texts = fabric_.AllGatherText(TextOf(fabric_.rank()));
    Ok(texts.status(), "gather of texts");
    if (!texts.ok()) return;
    That(static_cast<int>(texts->size()) == fabric_.size(), "the number of texts");
    for (int rank = 0; rank < fabric_.size(); ++rank) {
      That((*texts)[rank] == TextOf(rank), absl::StrCat("the text of process ", rank));
    }
    const auto none = fabric_.AllGatherText("");
    That(none.ok() && *none == std::vector<std::string>(fabric_.size()), "gather of empty texts");
  }

  void Broadcasts() {
    for (const int64_t bytes : {0, 1, 5000}) {
      std::vector<uint8_t> data(bytes);
      for (int64_t i = 0; i < bytes; ++i) data[i] = Byte(fabric_.rank(), i);
      const std::string what = absl::StrCat("broadcast of ", bytes, " bytes");
      Ok(fabric_.Broadcast(data.data(), bytes), what);
      for (int64_t i = 0; i < bytes; ++i) {
        if (data[i] != Byte(0, i)) return That(false, what + " has other bytes");
      }
    }
    const auto text = fabric_.BroadcastText(TextOf(fabric_.rank() + 1));
    That(text.ok() && *text == TextOf(1), "broadcast of a text");
    const auto empty = fabric_.BroadcastText(fabric_.is_chief() ? "" : "not read");
    That(empty.ok() && empty->empty(), "broadcast of an empty text");
  }

  void Errors() {
    That(fabric_.FirstError(absl::OkStatus()).ok(), "no error");
    for (int first = 0; first < fabric_.size(); first = 2 * first + 1) {
      absl::Status own;
      if (fabric_.rank() >= first) {
        own = absl::DataLossError(absl::StrCat("of ", fabric_.rank()));
        own.SetPayload("type", absl::Cord("value"));
      }
      const absl::Status got = fabric_.FirstError(own);
      const std::string place =
          fabric_.rank() == first ? std::string() : absl::StrCat("process ", first, ": ");
      That(got.code() == absl::StatusCode::kDataLoss &&
               got.message() == absl::StrCat(place, "of ", first),
           absl::StrCat("the error of process ", first, ": got ", got.ToString()));
      That(got.GetPayload("type") == absl::Cord("value"), "the payload of an error");
    }
  }

 private:
  static uint8_t Byte(int rank, int64_t i) { return static_cast<uint8_t>(rank * 37 + i * 11 + 5); }
  static std::string TextOf(int rank) {
    return std::string(rank * 3000 % 70001, static_cast<char>('a' + rank % 26));
  }

  Fabric& fabric_;
  std::vector<std::string>& wrong_;
};

}  // namespace

std::vector<std::string> CheckCollectives(Fabric& fabric, int sizes, int longest) {
  std::vector<std::string> wrong;
  Checks checks(fabric, wrong);
  checks.Sums<float>("f32", sizes, longest);
  checks.Sums<int32_t>("s32", sizes, longest);
  checks.Sums<int64_t>("s64", sizes, longest);
  checks.Gathers();
  checks.Broadcasts();
  checks.Errors();
  return wrong;
}

}  // namespace tpurun
