#include "runtime/ops/packing.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

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
constexpr char kFlipped[] = "flipped";

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
    const bool flipped = layout.flipped && dim + 2 < dims.size();
    for (int64_t index = 0; index < dims[dim]; ++index) {
      int64_t rest = flipped ? dims[dim] - 1 - index : index, offset = 0;
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

// Elements [begin, begin + n) of a line whose places are `step` elements apart.
struct Run {
  int64_t begin = 0, n = 0;
};

std::vector<Run> RunsOf(const std::vector<int64_t>& in_line, int64_t step) {
  std::vector<Run> runs;
  for (int64_t i = 0; i < std::ssize(in_line); ++i) {
    if (i > 0 && in_line[i] == in_line[i - 1] + step) {
      ++runs.back().n;
    } else {
      runs.push_back({i, 1});
    }
  }
  return runs;
}

// Packs the lines of an array. convert(from, n, to) writes n elements of the packed dtype.
template <typename From, typename To, typename Convert>
class LinePacker {
 public:
  LinePacker(Places places, Convert convert)
      : places_(std::move(places)), convert_(std::move(convert)) {
    const std::vector<int64_t>& in_line = places_.in_line;
    const auto has_long_runs = [&](int64_t step) {
      constexpr int64_t kLongRun = 4;
      runs_ = RunsOf(in_line, step);
      return std::ssize(in_line) >= kLongRun * std::ssize(runs_);
    };
    if (has_long_runs(1)) {
      order_ = Order::kRuns;
    } else if (has_long_runs(2)) {
      order_ = Order::kPairsOfLines;
    } else {
      order_ = Order::kBands;
      const int64_t n = std::ssize(in_line), step = n > 1 ? in_line[1] - in_line[0] : 0;
      if (std::abs(step) != 1) return;
      for (int64_t i = 2; i + 1 < n; i += 2)
        if (in_line[i + 1] - in_line[i] != step) return;
      unit_ = 2;
      falls_ = step < 0;
    }
  }

  const Places& places() const { return places_; }

  // Lines [begin, end) of the array at `from`.
  void Pack(const From* from, int64_t begin, int64_t end, To* to) const {
    const int64_t n = std::ssize(places_.in_line);
    while (begin < end) {
      const From* const line = from + begin * n;
      if (order_ == Order::kRuns) {
        // Runs of neighbouring lines often follow each other: whole cache lines are written
        // (weights of 4096 x 4096 in panels of 24, AVX2: 14.6, now 8.4 ms of two workers).
        const int64_t lines = std::min(kLinesOfRuns, end - begin);
        for (const Run& run : runs_) {
          To* const at = to + places_.in_line[run.begin];
          for (int64_t i = 0; i < lines; ++i)
            convert_(line + i * n + run.begin, run.n, at + places_.lines[begin + i]);
        }
        begin += lines;
      } else if (order_ == Order::kPairsOfLines && begin + 1 < end &&
                 AreNeighbours(begin, begin + 1)) {
        PackPair(line, begin, to);
        begin += 2;
      } else {
        int64_t lines = 1;
        while (lines < kBand && begin + lines < end && order_ == Order::kBands &&
               places_.lines[begin + lines] == places_.lines[begin] + lines * unit_)
          ++lines;
        unit_ == 2 ? PackBand<2>(line, begin, lines, to) : PackBand<1>(line, begin, lines, to);
        begin += lines;
      }
    }
  }

 private:
  enum class Order : uint8_t {
    kRuns,          // lines are copied in long runs
    kPairsOfLines,  // the elements of two lines alternate, in long runs
    kBands,         // the elements of neighbouring lines in a column, or in two, follow each other
  };
  static constexpr int64_t kBand = 16;  // lines
  static constexpr int64_t kLinesOfRuns = 8;
  static constexpr int64_t kTile = 128;  // elements of a line that are converted at a time

  bool AreNeighbours(int64_t line, int64_t other) const {
    return std::abs(places_.lines[line] - places_.lines[other]) == 1;
  }

  // Lines `first` and the next.
  void PackPair(const From* from, int64_t first, To* to) const {
    const int64_t n = std::ssize(places_.in_line);
    const bool falls = places_.lines[first + 1] < places_.lines[first];
    to += places_.lines[falls ? first + 1 : first];
    To lower[kTile], upper[kTile];
    for (const Run& run : runs_) {
      for (int64_t begin = run.begin; begin < run.begin + run.n; begin += kTile) {
        const int64_t count = std::min(kTile, run.begin + run.n - begin);
        convert_(from + begin, count, falls ? upper : lower);
        convert_(from + n + begin, count, falls ? lower : upper);
        To* const pairs = to + places_.in_line[begin];
        for (int64_t i = 0; i < count; ++i) {
          pairs[2 * i] = lower[i];
          pairs[2 * i + 1] = upper[i];
        }
      }
    }
  }

  // `count` lines from `first` on.
  template <int unit>
  void PackBand(const From* from, int64_t first, int64_t count, To* to) const {
    const int64_t n = std::ssize(places_.in_line);
    To tile[kBand][kTile];
    for (int64_t begin = 0; begin < n; begin += kTile) {
      const int64_t width = std::min(kTile, n - begin);
      for (int64_t line = 0; line < count; ++line) {
        convert_(from + line * n + begin, width, tile[line]);
        if (falls_) SwapPairs(width, tile[line]);
      }
      const int64_t* const in_line = places_.in_line.data() + begin;
      const int64_t whole = width / unit * unit;
      const auto copy = [&](int64_t lines) {
        for (int64_t i = 0; i < whole; i += unit) {
          To* const column = to + places_.lines[first] + in_line[i] - falls_;
          for (int64_t line = 0; line < lines; ++line)
            std::memcpy(column + line * unit, &tile[line][i], unit * sizeof(To));
        }
      };
      count == kBand ? copy(kBand) : copy(count);
      for (int64_t line = 0; whole < width && line < count; ++line)
        to[places_.lines[first + line] + in_line[whole]] = tile[line][whole];
    }
  }

  static void SwapPairs(int64_t n, To* numbers) {
    for (int64_t i = 0; i + 1 < n; i += 2) std::swap(numbers[i], numbers[i + 1]);
  }

  Places places_;
  Convert convert_;
  Order order_ = Order::kRuns;
  std::vector<Run> runs_;
  int64_t unit_ = 1;    // 1 or 2 elements of a line that stay neighbours in a band
  bool falls_ = false;  // such neighbours in falling order
};

// convert(from, n, to) writes n elements of the packed dtype.
template <typename From, typename To, typename Convert>
std::unique_ptr<Kernel> PackKernel(const Shape& result, Convert convert) {
  return KernelOf([result, packer = LinePacker<From, To, Convert>(PlacesOf(result), convert)](
                      const KernelArgs& args) {
    if (args.begin == args.end) return;
    const Places& places = packer.places();
    To* const to = static_cast<To*>(args.results[0]);
    if (args.begin == 0) {
      for (const auto& [begin, end] : places.padding) std::fill(to + begin, to + end, To{0});
    }
    const int64_t rows = result.rank() == 0 ? 1 : result.dims[0];
    const int64_t lines = std::ssize(places.lines) / rows;
    packer.Pack(static_cast<const From*>(args.operands[0]), args.begin * lines, args.end * lines,
                to);
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
  if (flipped) absl::StrAppend(&name, "_", kFlipped);
  return Layout{name, bytes};
}

std::optional<BlockedLayout> ParseBlockedLayout(const Shape& shape) {
  std::vector<absl::string_view> words = absl::StrSplit(shape.layout.name, '_');
  const size_t rank = shape.dims.size();
  BlockedLayout layout;
  const auto take = [&](const char* word) {
    if (words.empty() || words.back() != word) return false;
    words.pop_back();
    return true;
  };
  layout.flipped = take(kFlipped);
  layout.reversed = take(kReversed);
  layout.rounded = shape.dtype == DType::kF32 && take(kRounded);
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
