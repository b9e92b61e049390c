#include "runtime/ir/packing.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "runtime/base/bfloat16.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/ir/structural.h"

namespace tpurun {
namespace {

constexpr char kPrefix[] = "blocked";

// An element's place is the sum of what the index in each dimension adds: [dimension][index].
std::vector<std::vector<int64_t>> Offsets(const BlockedLayout& layout,
                                          const std::vector<int64_t>& dims) {
  std::vector<std::vector<int64_t>> offsets;
  for (size_t dim = 0; dim < dims.size(); ++dim) {
    struct Level {
      int64_t size, stride;
    };
    std::vector<Level> levels;  // of this dimension, the innermost first
    int64_t stride = 1;
    for (auto block = layout.blocks.rbegin(); block != layout.blocks.rend(); ++block) {
      if (block->dimension == static_cast<int>(dim)) levels.push_back({block->size, stride});
      stride *= block->size;
    }
    offsets.emplace_back();
    for (int64_t index = 0; index < dims[dim]; ++index) {
      int64_t rest = index, offset = 0;
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

template <typename To, typename Convert>
std::unique_ptr<Kernel> PackKernel(const Shape& result, Convert convert) {
  const std::optional<BlockedLayout> layout = ParseBlockedLayout(result);
  if (!layout || result.rank() == 0) {
    return KernelOf([n = result.num_elements(), convert](const KernelArgs& args) {
      const float* const from = static_cast<const float*>(args.operands[0]);
      To* const to = static_cast<To*>(args.results[0]);
      for (int64_t i = 0; i < n; ++i) to[i] = convert(from[i]);
    });
  }
  return KernelOf(
      [offsets = Offsets(*layout, result.dims), result, convert](const KernelArgs& args) {
        const float* from = static_cast<const float*>(args.operands[0]);
        To* const to = static_cast<To*>(args.results[0]);
        std::memset(to, 0, result.bytes());
        const int last = result.rank() - 1;
        std::vector<int64_t> index(last, 0);
        const int64_t rows = result.num_elements() / std::max<int64_t>(1, result.dims[last]);
        for (int64_t row = 0; row < rows; ++row) {
          int64_t place = 0;
          for (int dim = 0; dim < last; ++dim) place += offsets[dim][index[dim]];
          for (const int64_t offset : offsets[last]) to[place + offset] = convert(*from++);
          for (int dim = last; dim-- > 0 && ++index[dim] == result.dims[dim];) index[dim] = 0;
        }
      });
}

}  // namespace

Layout BlockedLayout::Named(int64_t bytes) const {
  std::string name = kPrefix;
  for (const int64_t stride : strides) absl::StrAppend(&name, "_s", stride);
  for (const Block& block : blocks) absl::StrAppend(&name, "_b", block.size, "d", block.dimension);
  return Layout{name, bytes};
}

std::optional<BlockedLayout> ParseBlockedLayout(const Shape& shape) {
  const std::vector<absl::string_view> words = absl::StrSplit(shape.layout.name, '_');
  const size_t rank = shape.dims.size();
  if (words[0] != kPrefix || words.size() < 1 + rank) return std::nullopt;
  BlockedLayout layout;
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
  // No element lies beyond the bytes.
  int64_t last = 0;
  for (const std::vector<int64_t>& of_dim : Offsets(layout, shape.dims)) {
    int64_t largest = 0;
    for (const int64_t offset : of_dim) largest = std::max(largest, offset);
    last += largest;
  }
  if ((last + 1) * ByteSize(shape.dtype) > shape.layout.bytes) return std::nullopt;
  return layout;
}

const OpDef& PackOp() {
  static const OpDef& op =
      *new OpDef{.name = "pack",
                 .doc =
                     "x (f32, plain) in a blocked layout of so many bytes, rounded to the nearest "
                     "when dtype is "
                     "bf16; padding is 0.",
                 .min_operands = 1,
                 .max_operands = 1,
                 .attrs = {{"dtype", DType::kF32, true},
                           {"layout", std::string(), true},
                           {"bytes", int64_t{0}, true}},
                 .infer_shape = [](std::span<const Shape> operands,
                                   const Attrs& attrs) -> absl::StatusOr<std::vector<Shape>> {
                   const Shape packed{attrs.Get<DType>("dtype"), operands[0].dims,
                                      Layout{attrs.String("layout"), attrs.Int("bytes")}};
                   const bool floats = packed.dtype == DType::kF32 || packed.dtype == DType::kBF16;
                   if (operands[0].dtype != DType::kF32 || !operands[0].layout.plain() || !floats) {
                     return absl::InvalidArgumentError(absl::StrCat(
                         "pack: want plain f32 into f32 or bf16, got ", operands[0].ToString(),
                         " into ", std::string(Name(packed.dtype))));
                   }
                   if (!ParseBlockedLayout(packed)) {
                     return absl::InvalidArgumentError(
                         absl::StrCat("pack: ", packed.ToString(), " is no blocked layout"));
                   }
                   return std::vector<Shape>{packed};
                 },
                 .reference = [](const OpCall& call) -> std::unique_ptr<Kernel> {
                   if (call.results[0].dtype == DType::kBF16) {
                     return PackKernel<uint16_t>(call.results[0],
                                                 [](float value) { return BFloat16Bits(value); });
                   }
                   return PackKernel<float>(call.results[0], [](float value) { return value; });
                 }};
  return op;
}

Attrs PackAttrs(const Shape& packed) {
  return {{"dtype", packed.dtype}, {"layout", packed.layout.name}, {"bytes", packed.layout.bytes}};
}

}  // namespace tpurun
