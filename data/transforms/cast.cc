// cast { feature dtype scale offset output }: the same values as another type. With a scale or an
// offset they are computed in f32 first; without, integers stay exact. A fraction is cut off
// towards zero; a value outside the new type is an error, not wrapped.
#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "data/transforms/bind_features.h"
#include "data/transforms/export_ops.h"
#include "data/transforms/number_types.h"
#include "data/transforms/transform_list.h"
#include "runtime/base/clones.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

// Puts the value in `*to`; false when it does not fit.
template <typename To, typename From>
[[gnu::always_inline]] inline bool Store(From value, To* to) {
  if constexpr (std::is_same_v<To, Bool>) {
    to->value = value != 0;
    return true;
  } else if constexpr (std::is_same_v<To, float>) {
    *to = static_cast<float>(value);
    return true;
  } else if constexpr (std::is_same_v<From, float>) {
    // Both bounds are powers of two (or -1), exact in f32; a NaN fits neither.
    const float low = static_cast<float>(std::numeric_limits<To>::min());
    const float high = std::ldexp(1.0f, std::numeric_limits<To>::digits);
    const bool fits = value < high && (std::is_signed_v<To> ? value >= low : value > -1.0f);
    *to = fits ? static_cast<To>(value) : To{0};
    return fits;
  } else {
    *to = static_cast<To>(value);
    return std::in_range<To>(value);
  }
}

struct Scaling {
  bool used = false;
  float scale = 1;
  float offset = 0;
};

// The value of `from` scaled, in f32, or as it is.
template <bool kScaled, typename From>
[[gnu::always_inline]] inline auto Compute(From from, float scale, float offset) {
  if constexpr (kScaled) {
    return static_cast<float>(Number(from)) * scale + offset;
  } else {
    return Number(from);
  }
}

// Whether all values fit. What it calls is always inlined: a function of its own would be compiled
// for the plainest processor.
template <bool kScaled, typename From, typename To>
TPURUN_CLONES bool CastAll(const From* from, size_t count, float scale, float offset, To* to) {
  bool all_fit = true;
  for (size_t i = 0; i < count; ++i) {
    all_fit &= Store(Compute<kScaled>(from[i], scale, offset), &to[i]);
  }
  return all_fit;
}

// Bytes, as images have them, 16 to a vector: of CastAll GCC makes three steps from u8 to f32.
[[gnu::target("avx512f"), gnu::always_inline]] inline __m512 ScaledLanes(const uint8_t* from,
                                                                         __m512 scale,
                                                                         __m512 offset) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  constexpr __mmask16 kAll = 0xffff;  // without a mask GCC 12 warns within its own header
  const __m512i widened = _mm512_maskz_cvtepu8_epi32(kAll, bytes);
  const __m512 lanes = _mm512_maskz_cvtepi32_ps(kAll, widened);
  return _mm512_add_ps(_mm512_mul_ps(lanes, scale), offset);
}

// Both give the bits of the plain cast, for as many values as fill vectors; that many are returned.
[[gnu::target("avx512f")]] size_t ScaleBytes(const uint8_t* from, size_t count, float scale,
                                             float offset, float* to) {
  const __m512 scales = _mm512_set1_ps(scale), offsets = _mm512_set1_ps(offset);
  size_t i = 0;
  for (; i + 16 <= count; i += 16) _mm512_storeu_ps(to + i, ScaledLanes(from + i, scales, offsets));
  return i;
}

[[gnu::target("avx512f,avx512bw,avx512vl,avx512bf16")]] size_t ScaleBytes(const uint8_t* from,
                                                                          size_t count, float scale,
                                                                          float offset,
                                                                          BFloat16* to) {
  const __m512 scales = _mm512_set1_ps(scale), offsets = _mm512_set1_ps(offset);
  size_t i = 0;
  for (; i + 32 <= count; i += 32) {
    const __m512bh rounded = _mm512_cvtne2ps_pbh(ScaledLanes(from + i + 16, scales, offsets),
                                                 ScaledLanes(from + i, scales, offsets));
    _mm512_storeu_si512(to + i, reinterpret_cast<__m512i>(rounded));
  }
  return i;
}

template <typename To>
bool HasScaleBytes() {
  if constexpr (std::is_same_v<To, float>) {
    return kBestInstructionSet == InstructionSet::kAvx512;
  } else {
    return HasBFloat16Instruction();
  }
}

// By way of f32, for the faster rounding of arrays.
template <bool kScaled, typename From>
void CastToBFloat16(std::span<const From> from, float scale, float offset, BFloat16* to) {
  constexpr size_t kTile = 1024;
  float tile[kTile];
  for (size_t begin = 0; begin < from.size(); begin += kTile) {
    const size_t count = std::min(kTile, from.size() - begin);
    CastAll<kScaled>(&from[begin], count, scale, offset, tile);
    RoundToBFloat16(tile, count, &to[begin].bits);
  }
}

// Casts all elements; returns the index of the first that does not fit, -1 when all do.
template <bool kScaled, typename From, typename To>
int64_t CastSpans(std::span<const From> from, float scale, float offset, std::span<To> to) {
  constexpr bool kToFloat = std::is_same_v<To, float> || std::is_same_v<To, BFloat16>;
  if constexpr (kScaled && kToFloat && std::is_same_v<From, uint8_t>) {
    if (HasScaleBytes<To>()) {  // and no float fails to fit: the index below is not needed
      const size_t done = ScaleBytes(from.data(), from.size(), scale, offset, to.data());
      from = from.subspan(done);
      to = to.subspan(done);
    }
  }
  if constexpr (std::is_same_v<To, BFloat16>) {
    CastToBFloat16<kScaled>(from, scale, offset, to.data());
    return -1;
  } else {
    if (CastAll<kScaled>(from.data(), from.size(), scale, offset, to.data())) return -1;
    size_t i = 0;
    while (Store(Compute<kScaled>(from[i], scale, offset), &to[i])) ++i;
    return static_cast<int64_t>(i);
  }
}

template <typename From, typename To>
int64_t CastElements(const Column& from, const Scaling& scaling, Column* to) {
  const std::span<const From> values = from.values<From>();
  to->bytes.resize(values.size() * sizeof(To));
  const std::span<To> results = to->values<To>();
  return scaling.used ? CastSpans<true>(values, scaling.scale, scaling.offset, results)
                      : CastSpans<false>(values, scaling.scale, scaling.offset, results);
}

// Whether every value of the one type fits the other; `scaled` values are in f32.
template <typename From, typename To>
constexpr bool FitsAlways(bool scaled) {
  using Value = decltype(Number(From{}));
  if constexpr (std::is_same_v<To, float> || std::is_same_v<To, BFloat16> ||
                std::is_same_v<To, Bool>) {
    return true;
  } else if constexpr (std::is_same_v<Value, float>) {
    return false;
  } else {
    using Limits = std::numeric_limits<Value>;
    return !scaled && std::in_range<To>(Limits::min()) && std::in_range<To>(Limits::max());
  }
}

struct CastFunctions {
  int64_t (*cast)(const Column& from, const Scaling& scaling, Column* to);
  bool (*fits_always)(bool scaled);
};

// nullptr for types without numbers.
const CastFunctions* FindCast(proto::DataType from, proto::DataType to) {
  return ForNumberType(from, [to](auto from_value) {
    return ForNumberType(to, [](auto to_value) -> const CastFunctions* {
      using From = decltype(from_value);
      using To = decltype(to_value);
      static constexpr CastFunctions kFunctions = {CastElements<From, To>, FitsAlways<From, To>};
      return &kFunctions;
    });
  });
}

struct BoundCast {
  std::string feature;
  const CastFunctions* functions = nullptr;
};

// outputs[i] is the name of what casts[i] makes.
absl::Status ApplyCasts(const std::vector<BoundCast>& casts,
                        const std::vector<std::string>& outputs, const Scaling& scaling,
                        const RowBatch& rows, Table* out) {
  for (size_t i = 0; i < casts.size(); ++i) {
    Column& to = out->column(outputs[i]);
    const Column& from = rows.in.column(casts[i].feature);
    const int64_t bad = casts[i].functions->cast(from, scaling, &to);
    to.TakeRowDims(from);
    if (bad < 0) continue;
    return absl::DataLossError(absl::StrCat(rows.where(from.RowOf(bad)), ": cast of feature ",
                                            Quote(casts[i].feature), ": a value does not fit ",
                                            proto::DataType_Name(to.type.dtype)));
  }
  return absl::OkStatus();
}

struct ExportedCast {
  std::string feature, output;
  ElementType from, to;
};

// By way of f32 where it is scaled, as Compute does.
Value AddCast(ExportGraph& graph, ExportFormat format, Value x, const ExportedCast& cast,
              const Scaling& scaling) {
  if (!scaling.used) return CastTo(graph, format, x, cast.from, cast.to);
  const auto constant = [&graph](float value, const char* label) {
    return graph.Constant(ExportTensor::Float(value), label);
  };
  x = CastTo(graph, format, x, cast.from, ElementType::kFloat);
  x = Binary(graph, format, "Mul", x, constant(scaling.scale, "scale"));
  x = Binary(graph, format, "Add", x, constant(scaling.offset, "offset"));
  return CastTo(graph, format, x, ElementType::kFloat, cast.to);
}

}  // namespace

std::optional<RowTransform> BindCast(const proto::Transform& transform, const Schema& input,
                                     ConfigErrors& errors) {
  const proto::Cast& cast = transform.cast();
  const auto dtype_of = [&](const ColumnType& feature) -> absl::StatusOr<proto::DataType> {
    const proto::DataType dtype = cast.has_dtype() ? cast.dtype() : feature.dtype;
    if (FindCast(feature.dtype, dtype) != nullptr) return dtype;
    return absl::InvalidArgumentError(absl::StrCat(
        "feature ", Quote(feature.name), ": cannot cast ", proto::DataType_Name(feature.dtype),
        " to ", proto::DataType_Name(dtype), " (known: ", kNumberTypes, ")"));
  };
  std::optional<RowTransform> bound = BindFeatures(
      cast.feature(), cast.has_output() ? &cast.output() : nullptr, input, dtype_of, errors);
  if (!bound.has_value()) return std::nullopt;
  std::vector<BoundCast> casts;
  for (size_t i = 0; i < bound->reads.size(); ++i) {
    casts.push_back({bound->reads[i],
                     FindCast(ReadColumn(*bound, input, i).dtype, MadeColumn(*bound, i).dtype)});
  }
  const Scaling scaling{.used = cast.has_scale() || cast.has_offset(),
                        .scale = static_cast<float>(cast.scale()),
                        .offset = static_cast<float>(cast.offset())};
  bound->is_conversion = std::all_of(casts.begin(), casts.end(), [&](const BoundCast& bound_cast) {
    return bound_cast.functions->fits_always(scaling.used);
  });
  bound->apply = [casts, outputs = bound->makes, scaling](const RowBatch& rows, Table* out) {
    return ApplyCasts(casts, outputs, scaling, rows, out);
  };
  std::vector<ExportedCast> exported;
  for (size_t i = 0; i < casts.size(); ++i) {
    const std::optional<ElementType> from = ExportedType(ReadColumn(*bound, input, i).dtype);
    const std::optional<ElementType> to = ExportedType(MadeColumn(*bound, i).dtype);
    if (!from.has_value() || !to.has_value()) return bound;
    exported.push_back({casts[i].feature, bound->makes[i], *from, *to});
  }
  const auto export_to = [&](ExportFormat format) {
    return [exported, scaling, format](ExportGraph& graph, const std::set<std::string>& wanted,
                                       std::map<std::string, Value>& columns) {
      for (const ExportedCast& cast : exported) {
        if (wanted.count(cast.output) == 0) continue;
        columns[cast.output] = AddCast(graph, format, columns.at(cast.feature), cast, scaling);
      }
    };
  };
  bound->tensorflow = export_to(ExportFormat::kTensorFlow);
  bound->onnx = export_to(ExportFormat::kOnnx);
  return bound;
}

}  // namespace tpurun
