// random_flip_left_right and random_flip_up_down: mirrors an image with probability 1/2.
#include <algorithm>
#include <utility>

#include "data/transforms/image_rows.h"
#include "data/transforms/transform_list.h"
#include "runtime/base/random.h"

namespace tpurun {
namespace {

enum class Mirror { kLeftRight, kUpDown };

template <int kPixelBytes>
struct PixelOf {
  std::byte bytes[kPixelBytes];
};

template <int kPixelBytes>
void ReversePixels(std::byte* line, int64_t width) {
  auto* const pixels = reinterpret_cast<PixelOf<kPixelBytes>*>(line);
  std::reverse(pixels, pixels + width);
}

void ReverseLine(std::byte* line, int64_t width, int64_t pixel_bytes) {
  switch (pixel_bytes) {
    case 1:
      return ReversePixels<1>(line, width);
    case 3:
      return ReversePixels<3>(line, width);
    case 4:
      return ReversePixels<4>(line, width);
    case 12:
      return ReversePixels<12>(line, width);
    default:
      for (int64_t x = 0; x < width / 2; ++x) {
        std::byte* const left = line + x * pixel_bytes;
        std::swap_ranges(left, left + pixel_bytes, line + (width - 1 - x) * pixel_bytes);
      }
  }
}

void MirrorImage(const ImageSize& size, int64_t value_bytes, Mirror mirror, std::byte* image) {
  const int64_t pixel_bytes = size.channels * value_bytes;
  const int64_t line_bytes = size.width * pixel_bytes;
  if (mirror == Mirror::kLeftRight) {
    for (int64_t y = 0; y < size.height; ++y) {
      ReverseLine(image + y * line_bytes, size.width, pixel_bytes);
    }
    return;
  }
  for (int64_t y = 0; y < size.height / 2; ++y) {
    std::byte* const line = image + y * line_bytes;
    std::swap_ranges(line, line + line_bytes, image + (size.height - 1 - y) * line_bytes);
  }
}

std::optional<RowTransform> BindFlip(const proto::FeatureOnly& flip, const char* name,
                                     Mirror mirror, const Schema& input, ConfigErrors& errors) {
  const auto unchanged = [](ColumnType*) { return absl::OkStatus(); };
  std::optional<RowTransform> bound = BindImages(flip.feature(), input, unchanged, errors);
  if (!bound.has_value()) return std::nullopt;
  bound->is_random = true;
  bound->in_place = true;
  bound->open = [name, mirror](const RowOpenArgs& args, RowTransform* row) {
    const RowTransform::Mirrors mirrors = [draws = ElementDraws(name, args)](const RowBatch& rows,
                                                                             int64_t i) {
      return UniformFloat(draws.Draw(rows.ids[i])[0]) < 0.5f;
    };
    if (mirror == Mirror::kLeftRight) row->mirrors = mirrors;
    row->apply = [features = row->makes, mirror, mirrors](const RowBatch& rows, Table* out) {
      for (const std::string& feature : features) {
        Column& images = out->column(feature);
        for (int64_t i = 0; i < rows.in.rows; ++i) {
          if (!mirrors(rows, i)) continue;
          MirrorImage(ImageSizeOf(images.DimsOf(i)), ElementBytes(images.type.dtype), mirror,
                      images.BytesOf(i).data());
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
