#include "runtime/ops/packing.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "runtime/base/bfloat16.h"
#include "runtime/base/dcheck.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/ir/elementwise.h"
#include "runtime/ops/op_list.h"

namespace tpurun {
namespace {

constexpr char kPrefix[] = "blocked";
constexpr char kRounded[] = "rounded";
constexpr char kReversed[] = "reversed";

// [dimension][index]: the offset of an index in elements. The place of an element is the sum over
// its dimensions.
std::vector<std::vector<int64_t>> Offsets(const BlockedLayout& layout,
                                          const std::vector<int64_t>& dims) {
  std::vector<std::vector<int64_t>> offsets;
  for (size_t dim = 0; dim < dims.size(); ++dim) {
    struct Level {
      int64_t size, stride;
    };
    std::vector<Level> levels;  // the levels of this dimension, the innermost first
    int64_t stride = 1;
    for (auto block = layout.blocks.rbegin(); block != layout.blocks.rend(); ++block) {
      if (block->dimension == static_cast<int>(dim)) levels.push_back({block->size, stride});
      stride *= block->size;
    }
    offsets.emplace_back();
    const bool reversed = layout.reversed && !layout.blocks.empty() &&
                          layout.blocks.back().dimension == static_cast<int>(dim);
    for (int64_t index = 0; index < dims[dim]; ++index) {
      int64_t rest = index, offset = 0;
      if (reversed) {
        const int64_t size = layout.blocks.back().size;
        rest += size - 1 - 2 * (index % size);
      }
      for (const Level& level : levels) {
        offset += rest % level.size * level.stride;
        rest /= level.size;
      }
      offsets.back().push_back(offset + rest * layout.strides[dim]);
    }
  }
  return offsets;
}

// "s32" -> 32, for the letter s.
std::optional<int64_t> ParseAfter(absl::string_view letter, absl::string_view word) {
  if (!absl::ConsumePrefix(&word, letter)) return std::nullopt;
  const std::optional<int64_t> value = ParseInt64({word.data(), word.size()});
  return value && *value > 0 && *value < (int64_t{1} << 40) ? value : std::nullopt;
}

std::optional<BlockedLayout::Block> ParseBlock(absl::string_view word, int rank) {
  const std::vector<absl::string_view> sides = absl::StrSplit(word, 'd');
  if (sides.size() != 2) return std::nullopt;
  const std::optional<int64_t> size = ParseAfter("b", sides[0]);
  const std::optional<int64_t> dimension = ParseInt64({sides[1].data(), sides[1].size()});
  if (!size || !dimension || *dimension < 0 || *dimension >= rank) return std::nullopt;
  return BlockedLayout::Block{static_cast<int>(*dimension), *size};
}

// The places of the elements of a packed array. A line is the last dimension (for rank 1: one
// element). Element j of line i is at lines[i] + in_line[j]. The places between are padding, in
// ranges [begin, end).
struct Places {
  std::vector<int64_t> lines, in_line;
  std::vector<std::pair<int64_t, int64_t>> padding;
};

// Elements [begin, begin + n) of a line whose places follow each other.
struct Run {
  int64_t begin = 0, n = 0;
};

std::vector<Run> RunsOf(const std::vector<int64_t>& in_line) {
  std::vector<Run> runs;
  for (int64_t i = 0; i < std::ssize(in_line); ++i) {
    if (i > 0 && in_line[i] == in_line[i - 1] + 1) {
      ++runs.back().n;
    } else {
      runs.push_back({i, 1});
    }
  }
  return runs;
}

// Writes the line to its places: by runs where these are long, else from a converted copy.
template <typename From, typename To, typename Convert>
void PackLine(const From* from, const std::vector<int64_t>& in_line, const std::vector<Run>& runs,
              const Convert& convert, To* to) {
  constexpr int64_t kLongRun = 4, kTile = 256;
  const int64_t n = std::ssize(in_line);
  if (n >= kLongRun * std::ssize(runs)) {
    for (const Run& run : runs) convert(from + run.begin, run.n, to + in_line[run.begin]);
    return;
  }
  To tile[kTile];
  for (int64_t begin = 0; begin < n; begin += kTile) {
    const int64_t count = std::min(kTile, n - begin);
    const int64_t* const offsets = in_line.data() + begin;
    convert(from + begin, count, tile);
    for (int64_t i = 0; i < count; ++i) to[offsets[i]] = tile[i];
  }
}

Places PlacesOf(const Shape& shape) {
  TPURUN_DCHECK(shape.layout.plain() || ParseBlockedLayout(shape).has_value());
  std::vector<std::vector<int64_t>> offsets = {{0}};  // for a plain scalar
  if (const auto layout = ParseBlockedLayout(shape); layout && shape.rank() > 0) {
    offsets = Offsets(*layout, shape.dims);
  } else if (shape.rank() > 0) {
    BlockedLayout plain{.strides = std::vector<int64_t>(shape.rank(), 1)};
    for (int dim = shape.rank() - 1; dim-- > 0;)
      plain.strides[dim] = plain.strides[dim + 1] * shape.dims[dim + 1];
    offsets = Offsets(plain, shape.dims);
  }
  Places places;
  places.in_line = {0};
  if (offsets.size() > 1) {
    places.in_line = offsets.back();
    offsets.pop_back();
  }
  places.lines = {0};
  for (const std::vector<int64_t>& of_dim : offsets) {
    std::vector<int64_t> lines;
    for (const int64_t line : places.lines) {
      for (const int64_t offset : of_dim) lines.push_back(line + offset);
    }
    places.lines = std::move(lines);
  }
  const int64_t room = shape.bytes() / ByteSize(shape.dtype);
  if (room == shape.num_elements()) return places;
  std::vector<bool> taken(room, false);
  for (const int64_t line : places.lines) {
    for (const int64_t offset : places.in_line) {
      // No element is outside of the array's bytes, and no two elements have the same place.
      TPURUN_DCHECK(line + offset < room && !taken[line + offset]);
      taken[line + offset] = true;
    }
  }
  for (int64_t i = 0; i < room; ++i) {
    if (taken[i]) continue;
    const int64_t begin = i;
    while (i < room && !taken[i]) ++i;
    places.padding.push_back({begin, i});
  }
  return places;
}

// convert(from, n, to) writes n elements of the packed dtype.
template <typename From, typename To, typename Convert>
std::unique_ptr<Kernel> PackKernel(const Shape& result, Convert convert) {
  Places places = PlacesOf(result);
  std::vector<Run> runs = RunsOf(places.in_line);
  return KernelOf([=, places = std::move(places), runs = std::move(runs)](const KernelArgs& args) {
    if (args.begin == args.end) return;
    To* const to = static_cast<To*>(args.results[0]);
    if (args.begin == 0) {
      for (const auto& [begin, end] : places.padding) std::fill(to + begin, to + end, To{0});
    }
    const int64_t n = static_cast<int64_t>(places.in_line.size());
    const int64_t rows = result.rank() == 0 ? 1 : result.dims[0];
    const int64_t lines = static_cast<int64_t>(places.lines.size()) / rows;
    for (int64_t line = args.begin * lines; line < args.end * lines; ++line) {
      PackLine(static_cast<const From*>(args.operands[0]) + line * n, places.in_line, runs, convert,
               to + places.lines[line]);
    }
  });
}

// The result of infer_shape.
Shape PackedShape(const Shape& x, const Attrs& attrs) {
  return Shape{attrs.Get<DType>("dtype"), x.dims,
               Layout{attrs.String("layout"), attrs.Int("bytes")}};
}

// The result is plain where a graph is evaluated without layouts; it is rounded there, too.
std::unique_ptr<Kernel> PackReference(const OpCall& call) {
  const Shape& result = call.results[0];
  const auto copy = [](const auto* from, int64_t n, auto* to) { std::copy(from, from + n, to); };
  if (call.operands[0].dtype == DType::kBF16) {
    if (result.dtype == DType::kBF16) return PackKernel<uint16_t, uint16_t>(result, copy);
    return PackKernel<uint16_t, float>(
        result, [](const uint16_t* from, int64_t n, float* to) { FromBFloat16(from, n, to); });
  }
  if (result.dtype == DType::kBF16) {
    return PackKernel<float, uint16_t>(
        result, [](const float* from, int64_t n, uint16_t* to) { RoundToBFloat16(from, n, to); });
  }
  if (!ParseBlockedLayout(PackedShape(call.operands[0], call.attrs))->rounded) {
    return PackKernel<float, float>(result, copy);
  }
  return PackKernel<float, float>(
      result, [](const float* from, int64_t n, float* to) { RoundInFloat(from, n, to); });
}

const OpDef& PackOp() {
  static const OpDef& op = *new OpDef{
      .name = "pack",
      .doc =
          "x (plain) in a blocked layout of so many bytes; f32 becomes bf16, rounded to the "
          "nearest, when dtype is bf16, and is rounded to bf16 but kept as f32 in a layout named "
          "so; bf16 becomes f32 when dtype is f32; padding is 0.",
      .min_operands = 1,
      .max_operands = 1,
      .attrs = {{"dtype", DType::kF32, true},
                {"layout", std::string(), true},
                {"bytes", int64_t{0}, true}},
      .flags = {.unit = WorkUnit::kRows, .row_operands = 1u << 0, .any_dtype = true},
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs& attrs) -> absl::StatusOr<std::vector<Shape>> {
        const Shape packed = PackedShape(operands[0], attrs);
        if (!operands[0].layout.plain() || !IsFloat(operands[0].dtype) || !IsFloat(packed.dtype)) {
          return absl::InvalidArgumentError(
              absl::StrCat("pack: want plain f32 or bf16 into f32 or bf16, got ",
                           operands[0].ToString(), " into ", std::string(Name(packed.dtype))));
        }
        if (!ParseBlockedLayout(packed)) {
          return absl::InvalidArgumentError(
              absl::StrCat("pack: ", packed.ToString(), " is no blocked layout"));
        }
        return std::vector<Shape>{packed};
      },
      .reference = PackReference,
      .rules = {.loop_carried = true}};
  return op;
}

}  // namespace

Layout BlockedLayout::Named(int64_t bytes) const {
  std::string name = kPrefix;
  for (const int64_t stride : strides) absl::StrAppend(&name, "_s", stride);
  for (const Block& block : blocks) absl::StrAppend(&name, "_b", block.size, "d", block.dimension);
  if (rounded) absl::StrAppend(&name, "_", kRounded);
  if (reversed) absl::StrAppend(&name, "_", kReversed);
  return Layout{name, bytes};
}

std::optional<BlockedLayout> ParseBlockedLayout(const Shape& shape) {
  std::vector<absl::string_view> words = absl::StrSplit(shape.layout.name, '_');
  const size_t rank = shape.dims.size();
  BlockedLayout layout;
  if (words.back() == kReversed) {
    layout.reversed = true;
    words.pop_back();
  }
  if (!words.empty() && words.back() == kRounded && shape.dtype == DType::kF32) {
    layout.rounded = true;
    words.pop_back();
  }
  if (words.empty() || words[0] != kPrefix || words.size() < 1 + rank) return std::nullopt;
  for (size_t i = 1; i < words.size(); ++i) {
    if (i <= rank) {
      const std::optional<int64_t> stride = ParseAfter("s", words[i]);
      if (!stride) return std::nullopt;
      layout.strides.push_back(*stride);
    } else {
      const std::optional<BlockedLayout::Block> block =
          ParseBlock(words[i], static_cast<int>(rank));
      if (!block) return std::nullopt;
      layout.blocks.push_back(*block);
    }
  }
  // No element is outside of the layout's bytes.
  int64_t last = 0;
  for (const std::vector<int64_t>& of_dim : Offsets(layout, shape.dims)) {
    int64_t largest = 0;
    for (const int64_t offset : of_dim) largest = std::max(largest, offset);
    last += largest;
  }
  if ((last + 1) * ByteSize(shape.dtype) > shape.layout.bytes) return std::nullopt;
  return layout;
}

std::vector<const OpDef*> PackingOps() { return {&PackOp()}; }

}  // namespace tpurun
