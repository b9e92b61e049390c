// Shared by the transforms that make ids of texts: lookup, string_to_hash_bucket_fast, cross. A
// text is a STRING, or an INT64 as its decimal digits.
#ifndef TPURUN_DATA_TRANSFORMS_TEXT_IDS_H_
#define TPURUN_DATA_TRANSFORMS_TEXT_IDS_H_

#include <farmhash.h>

#include <charconv>
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "data/table.h"
#include "runtime/base/text.h"

namespace tpurun {

inline uint64_t Fingerprint64(std::string_view text) {
  return util::Fingerprint64(text.data(), text.size());
}

// The type of the ids, or what is wrong with the feature.
inline absl::StatusOr<proto::DataType> TypeOfIds(const ColumnType& feature) {
  if (feature.dtype == proto::STRING || feature.dtype == proto::INT64) return proto::INT64;
  return absl::InvalidArgumentError(absl::StrCat(
      "feature ", Quote(feature.name), " must be STRING or INT64, got ", feature.ToString()));
}

// Fills `to` with id_of(text) for each text of `from`.
template <typename IdOf>
void FillIds(const Column& from, const IdOf& id_of, Column* to) {
  const bool strings = from.type.dtype == proto::STRING;
  const std::span<const int64_t> numbers = from.values<int64_t>();
  const size_t count = strings ? from.strings.size() : numbers.size();
  to->bytes.resize(count * sizeof(int64_t));
  const std::span<int64_t> ids = to->values<int64_t>();
  char digits[32];
  for (size_t i = 0; i < count; ++i) {
    if (strings) {
      ids[i] = id_of(from.string(static_cast<int64_t>(i)));
    } else {
      const char* const end = std::to_chars(digits, std::end(digits), numbers[i]).ptr;
      ids[i] = id_of(std::string_view(digits, static_cast<size_t>(end - digits)));
    }
  }
  to->TakeRowDims(from);
}

}  // namespace tpurun

#endif  // TPURUN_DATA_TRANSFORMS_TEXT_IDS_H_
