#include "runtime/ir/shape.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "runtime/base/dcheck.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

struct DTypeRow {
  DType dtype;
  std::string_view name;
  int64_t bytes;
};

constexpr std::array<DTypeRow, 8> kDTypes = {{{DType::kF32, "f32", 4},
                                              {DType::kBF16, "bf16", 2},
                                              {DType::kS32, "s32", 4},
                                              {DType::kS64, "s64", 8},
                                              {DType::kU8, "u8", 1},
                                              {DType::kU32, "u32", 4},
                                              {DType::kPred, "pred", 1},
                                              {DType::kC64, "c64", 8}}};

}  // namespace

int64_t ByteSize(DType dtype) { return kDTypes[static_cast<size_t>(dtype)].bytes; }

std::string_view Name(DType dtype) { return kDTypes[static_cast<size_t>(dtype)].name; }

std::optional<DType> ParseDType(std::string_view name) {
  for (const DTypeRow& row : kDTypes) {
    if (row.name == name) return row.dtype;
  }
  return std::nullopt;
}

int64_t Shape::num_elements() const {
  int64_t n = 1;
  for (const int64_t dim : dims) n *= dim;
  return n;
}

int64_t Shape::bytes() const {
  return layout.plain() ? num_elements() * ByteSize(dtype) : layout.bytes;
}

int64_t Shape::row_elements() const {
  TPURUN_DCHECK(rank() >= 1);
  int64_t n = 1;
  for (size_t axis = 1; axis < dims.size(); ++axis) n *= dims[axis];
  return n;
}

std::string DimsToString(const std::vector<int64_t>& dims) {
  return absl::StrCat("[", absl::StrJoin(dims, ","), "]");
}

std::string Shape::ToString() const {
  const std::string_view name = Name(dtype);
  std::string text = absl::StrCat(absl::string_view(name.data(), name.size()), DimsToString(dims));
  if (!layout.plain()) absl::StrAppend(&text, "{", layout.name, ":", layout.bytes, "}");
  return text;
}

std::optional<Shape> ParseShape(std::string_view text) {
  const size_t open = text.find('[');
  const size_t close = text.find(']');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    return std::nullopt;
  }
  Shape shape;
  const std::optional<DType> dtype = ParseDType(text.substr(0, open));
  if (!dtype) return std::nullopt;
  shape.dtype = *dtype;
  const std::string dims(text.substr(open + 1, close - open - 1));
  if (!dims.empty()) {
    for (const absl::string_view piece : absl::StrSplit(dims, ',')) {
      const std::optional<int64_t> dim = ParseInt64({piece.data(), piece.size()});
      if (!dim || *dim < 0) return std::nullopt;
      shape.dims.push_back(*dim);
    }
  }
  const std::string_view rest = text.substr(close + 1);
  if (rest.empty()) return shape;
  const size_t colon = rest.rfind(':');
  if (rest.front() != '{' || rest.back() != '}' || colon == std::string_view::npos) {
    return std::nullopt;
  }
  const std::optional<int64_t> bytes = ParseInt64(rest.substr(colon + 1, rest.size() - colon - 2));
  if (!bytes || *bytes < 0 || colon < 2) return std::nullopt;
  shape.layout = Layout{std::string(rest.substr(1, colon - 1)), *bytes};
  return shape;
}

}  // namespace tpurun
