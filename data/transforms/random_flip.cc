// random_flip_left_right and random_flip_up_down: mirrors an image with probability 1/2.
#include <algorithm>
#include <cstring>
#include <utility>

#include "data/transforms/image_rows.h"
#include "data/transforms/transform_list.h"
#include "runtime/base/random.h"

namespace tpurun {
namespace {

// Writes the `count` blocks of `bytes` bytes in reverse order.
void ReverseBlocks(const std::byte* from, int64_t count, int64_t bytes, std::byte* to) {
  for (int64_t i = count; i-- > 0; to += bytes) std::memcpy(to, from + i * bytes, bytes);
}

enum class Mirror { kLeftRight, kUpDown };

void MirrorImage(const std::byte* from, const ImageSize& size, int64_t value_bytes, Mirror mirror,
                 std::byte* to) {
  const int64_t pixel = size.channels * value_bytes;
  const int64_t line = size.width * pixel;
  if (mirror == Mirror::kUpDown) return ReverseBlocks(from, size.height, line, to);
  for (int64_t y = 0; y < size.height; ++y) {
    ReverseBlocks(from + y * line, size.width, pixel, to + y * line);
  }
}

std::optional<RowTransform> BindFlip(const proto::FeatureOnly& flip, const char* name,
                                     Mirror mirror, const Schema& input, ConfigErrors& errors) {
  const auto unchanged = [](ColumnType*) { return absl::OkStatus(); };
  std::optional<RowTransform> bound = BindImages(flip.feature(), input, unchanged, errors);
  if (!bound.has_value()) return std::nullopt;
  bound->is_random = true;
  bound->open = [name, mirror](const RowOpenArgs& args, RowTransform* row) {
    row->apply = [features = row->makes, mirror, draws = ElementDraws(name, args)](
                     const RowBatch& rows, Table* out) {
      for (const std::string& feature : features) {
        const Column& from = rows.in.column(feature);
        Column& to = out->column(feature);
        to.Clear();
        for (int64_t i = 0; i < rows.in.rows; ++i) {
          const std::span<const std::byte> bytes = from.BytesOf(i);
          std::byte* const made = to.AddRow(from.DimsOf(i));
          if (UniformFloat(draws.Draw(rows.ids[i])[0]) < 0.5f) {
            MirrorImage(bytes.data(), ImageSizeOf(from.DimsOf(i)), ElementBytes(from.type.dtype),
                        mirror, made);
          } else {
            std::memcpy(made, bytes.data(), bytes.size());
          }
        }
      }
      return absl::OkStatus();
    };
    return absl::OkStatus();
  };
  return bound;
}

}  // namespace

std::optional<RowTransform> BindRandomFlipLeftRight(const proto::Transform& transform,
                                                    const Schema& input, ConfigErrors& errors) {
  return BindFlip(transform.random_flip_left_right(), "random_flip_left_right", Mirror::kLeftRight,
                  input, errors);
}

std::optional<RowTransform> BindRandomFlipUpDown(const proto::Transform& transform,
                                                 const Schema& input, ConfigErrors& errors) {
  return BindFlip(transform.random_flip_up_down(), "random_flip_up_down", Mirror::kUpDown, input,
                  errors);
}

}  // namespace tpurun
