// cast { feature dtype scale offset output }: the same values as another type. With a scale or an
// offset they are computed in f32 first; without, integers stay exact. A fraction is cut off
// towards zero; a value outside the new type is an error, not wrapped.
#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "data/at_field.h"
#include "data/transforms/transform_list.h"
#include "proto/source_locations.h"
#include "runtime/base/bfloat16.h"
#include "runtime/base/clones.h"
#include "runtime/base/names.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

struct BFloat16 {
  uint16_t bits;
};
struct Bool {
  uint8_t value;
};

template <typename T>
[[gnu::always_inline]] inline auto Number(T stored) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    return FromBFloat16Bits(stored.bits);
  } else if constexpr (std::is_same_v<T, Bool>) {
    return stored.value;
  } else {
    return stored;
  }
}

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

using CastFunction = int64_t (*)(const Column& from, const Scaling& scaling, Column* to);

// Calls f with a value of the C++ type of dtype; nullptr for a dtype without numbers to cast.
template <typename F>
CastFunction ForType(proto::DataType dtype, F f) {
  switch (dtype) {
    case proto::FLOAT32:
      return f(float{});
    case proto::BFLOAT16:
      return f(BFloat16{});
    case proto::INT32:
      return f(int32_t{});
    case proto::INT64:
      return f(int64_t{});
    case proto::UINT8:
      return f(uint8_t{});
    case proto::UINT32:
      return f(uint32_t{});
    case proto::BOOL:
      return f(Bool{});
    default:
      return nullptr;
  }
}

CastFunction FindCast(proto::DataType from, proto::DataType to) {
  return ForType(from, [to](auto from_value) {
    return ForType(to, [](auto to_value) -> CastFunction {
      return CastElements<decltype(from_value), decltype(to_value)>;
    });
  });
}

struct BoundCast {
  std::string feature;
  CastFunction function = nullptr;
};

// outputs[i] is the name of what casts[i] makes.
absl::Status ApplyCasts(const std::vector<BoundCast>& casts,
                        const std::vector<std::string>& outputs, const Scaling& scaling,
                        const Table& in, Table* out,
                        const std::function<std::string(int64_t row)>& where) {
  for (size_t i = 0; i < casts.size(); ++i) {
    Column& to = out->column(outputs[i]);
    const int64_t bad = casts[i].function(in.column(casts[i].feature), scaling, &to);
    if (bad < 0) continue;
    return absl::DataLossError(absl::StrCat(where(bad / to.type.elements()), ": cast of feature ",
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
Value AddCast(ExportGraph& graph, Value x, const ExportedCast& cast, const Scaling& scaling) {
  ElementType type = cast.from;
  const auto to = [&](ElementType wanted) {
    if (type != wanted) x = graph.Add("Cast", {x}, {{"SrcT", type}, {"DstT", wanted}});
    type = wanted;
  };
  if (scaling.used) {
    to(ElementType::kFloat);
    const ExportAttrs attrs = {{"T", type}};
    x = graph.Add("Mul", {x, graph.Constant(ExportTensor::Float(scaling.scale), "scale")}, attrs);
    x = graph.Add("AddV2", {x, graph.Constant(ExportTensor::Float(scaling.offset), "offset")},
                  attrs);
  }
  to(cast.to);
  return x;
}

}  // namespace

absl::StatusOr<RowTransform> BindCast(const proto::Transform& transform, const Schema& input) {
  const proto::Cast& cast = transform.cast();
  if (cast.feature().empty()) {
    return absl::InvalidArgumentError("feature must be given, at least one");
  }
  if (cast.has_output() && cast.feature_size() > 1) {
    return AtField(absl::InvalidArgumentError(
                       absl::StrCat("output needs a single feature, got ", cast.feature_size())),
                   "output");
  }
  if (cast.has_output()) {
    RETURN_IF_ERROR(AtField(CheckName(NameKind::kKey, cast.output()), "output"));
  }
  RowTransform bound{.output = input, .paired = true};
  std::vector<BoundCast> casts;
  for (int i = 0; i < cast.feature_size(); ++i) {
    const std::string& feature = cast.feature(i);
    const auto at_feature = [i](const std::string& message) {
      return AtField(absl::InvalidArgumentError(message), ElementPath("feature", i));
    };
    const int index = FindColumn(input, feature);
    if (index < 0) {
      return at_feature(absl::StrCat("unknown feature ", Quote(feature),
                                     DidYouMean(feature, ColumnNames(input))));
    }
    ColumnType output = input[index];
    if (cast.has_dtype()) output.dtype = cast.dtype();
    if (cast.has_output()) output.name = cast.output();
    const CastFunction function = FindCast(input[index].dtype, output.dtype);
    if (function == nullptr) {
      return at_feature(absl::StrCat(
          "feature ", Quote(feature), ": cannot cast ", proto::DataType_Name(input[index].dtype),
          " to ", proto::DataType_Name(output.dtype),
          " (known: FLOAT32, BFLOAT16, INT32, INT64, UINT8, UINT32, BOOL)"));
    }
    const int place = FindColumn(bound.output, output.name);
    if (place >= 0) {
      bound.output[place] = output;
    } else {
      bound.output.push_back(output);
    }
    bound.reads.push_back(feature);
    if (std::find(bound.makes.begin(), bound.makes.end(), output.name) != bound.makes.end()) {
      return at_feature(absl::StrCat("feature ", Quote(feature), " is given twice"));
    }
    casts.push_back({feature, function});
    bound.makes.push_back(output.name);
  }
  const Scaling scaling{.used = cast.has_scale() || cast.has_offset(),
                        .scale = static_cast<float>(cast.scale()),
                        .offset = static_cast<float>(cast.offset())};
  bound.apply = [casts, outputs = bound.makes, scaling](
                    const Table& in, Table* out,
                    const std::function<std::string(int64_t row)>& where) {
    return ApplyCasts(casts, outputs, scaling, in, out, where);
  };
  std::vector<ExportedCast> exported;
  for (size_t i = 0; i < casts.size(); ++i) {
    const std::optional<ElementType> from =
        ExportedType(input[FindColumn(input, casts[i].feature)].dtype);
    const std::optional<ElementType> to =
        ExportedType(bound.output[FindColumn(bound.output, bound.makes[i])].dtype);
    if (!from.has_value() || !to.has_value()) return bound;
    exported.push_back({casts[i].feature, bound.makes[i], *from, *to});
  }
  bound.tensorflow = [exported, scaling](ExportGraph& graph, const std::set<std::string>& wanted,
                                         std::map<std::string, Value>& columns) {
    for (const ExportedCast& cast : exported) {
      if (wanted.count(cast.output) == 0) continue;
      columns[cast.output] = AddCast(graph, columns.at(cast.feature), cast, scaling);
    }
  };
  return bound;
}

}  // namespace tpurun
