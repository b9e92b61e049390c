// random_crop, central_crop, resize_with_crop_or_pad and sample_distorted_bounding_box: a window of
// each image.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "data/transforms/image_rows.h"
#include "data/transforms/transform_list.h"
#include "proto/source_locations.h"
#include "runtime/base/random.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

// In [0, n), from 32 random bits.
int64_t DrawBelow(uint32_t bits, int64_t n) {
  return static_cast<int64_t>(UniformBelow(bits, 0, static_cast<uint64_t>(n)));
}

// Sets what cuts the windows.
void SetWindows(RowTransform::ChooseWindow choose_window, RowTransform* row) {
  row->apply = CutWindows(row->makes, choose_window);
  row->choose_window = std::move(choose_window);
}

// ------------------------------------------------------------------------------- random_crop

absl::StatusOr<ImageWindow> DrawCrop(const ImageSize& image, const HeightAndWidth& size,
                                     int64_t padding, const std::array<uint32_t, 4>& lanes) {
  const int64_t spare_height = image.height + 2 * padding - size.height;
  const int64_t spare_width = image.width + 2 * padding - size.width;
  if (spare_height < 0 || spare_width < 0) {
    return absl::DataLossError(
        absl::StrCat("an image of ", image.height, " x ", image.width, " pixels",
                     padding > 0 ? absl::StrCat(", padded by ", padding, " on each side,") : "",
                     " is smaller than the crop of ", size.height, " x ", size.width));
  }
  return ImageWindow{DrawBelow(lanes[0], spare_height + 1) - padding,
                     DrawBelow(lanes[1], spare_width + 1) - padding, size.height, size.width};
}

// In images of several sizes one window would show different places.
absl::Status CheckOneSize(const std::vector<std::string>& features, const RowBatch& rows) {
  for (int64_t row = 0; row < rows.in.rows; ++row) {
    const ImageSize first = ImageSizeOf(rows.in.column(features[0]).DimsOf(row));
    for (const std::string& feature : features) {
      const ImageSize size = ImageSizeOf(rows.in.column(feature).DimsOf(row));
      if (size.height == first.height && size.width == first.width) continue;
      return absl::DataLossError(absl::StrCat(
          rows.where(row), ": random_crop cuts one window out of images of one size, got ",
          Quote(features[0]), " of ", first.height, " x ", first.width, " pixels and ",
          Quote(feature), " of ", size.height, " x ", size.width,
          "; resize one of them before it"));
    }
  }
  return absl::OkStatus();
}

// ------------------------------------------------------------------------------ central_crop

// The side of the window at the scale of the image, in f32 as the official ResNet computes it.
int64_t CentralSide(int64_t size, int64_t padding, const ImageSize& image) {
  const auto share =
      static_cast<float>(static_cast<double>(size) / static_cast<double>(size + padding));
  const float side = share * static_cast<float>(std::min(image.height, image.width));
  return std::max<int64_t>(static_cast<int64_t>(side), 1);
}

ImageWindow CentralWindow(const ImageSize& image, const HeightAndWidth& size, int64_t padding) {
  const int64_t height = CentralSide(size.height, padding, image);
  const int64_t width = CentralSide(size.width, padding, image);
  return {(image.height - height + 1) / 2, (image.width - width + 1) / 2, height, width};
}

// ------------------------------------------------------------- sample_distorted_bounding_box

// What is drawn for one image: windows as TensorFlow's GenerateRandomCrop
// (tensorflow/core/kernels/image/sample_distorted_bounding_box_op.cc) makes them of random numbers.
struct Distortion {
  float min_object_covered;
  float least_ratio, largest_ratio;  // of width to height
  float least_area, largest_area;    // shares of the image's
  int64_t max_attempts;
};

// A window of that ratio of width to height, or nullopt if none fits the areas.
std::optional<ImageWindow> DrawWindow(const ImageSize& image, const Distortion& distortion,
                                      const std::array<uint32_t, 4>& lanes) {
  const float ratio = UniformFloat(lanes[0]) * (distortion.largest_ratio - distortion.least_ratio) +
                      distortion.least_ratio;
  const auto width_of = [ratio](int64_t height) {
    return static_cast<int64_t>(std::lrintf(static_cast<float>(height) * ratio));
  };
  const auto image_width = static_cast<float>(image.width);
  const auto image_height = static_cast<float>(image.height);
  const float least = distortion.least_area * image_width * image_height;
  const float largest = distortion.largest_area * image_width * image_height;
  int64_t height = std::lrintf(std::sqrt(least / ratio));
  int64_t tallest = std::lrintf(std::sqrt(largest / ratio));
  if (width_of(tallest) > image.width) {
    // The tallest whose rounded width fits.
    tallest = static_cast<int64_t>((static_cast<double>(image_width) + 0.5 - 1e-7) / ratio);
    if (width_of(tallest) > image.width) --tallest;
  }
  tallest = std::min(tallest, image.height);
  height = std::min(height, tallest);
  if (height < tallest) height += DrawBelow(lanes[1], tallest - height + 1);
  // Rounding may have left the areas by a little.
  const auto area = [&] { return static_cast<float>(width_of(height) * height); };
  if (area() < least) ++height;
  if (area() > largest) --height;
  const int64_t width = width_of(height);
  if (area() < least || area() > largest || width > image.width || height > image.height ||
      width <= 0 || height <= 0) {
    return std::nullopt;
  }
  return ImageWindow{height < image.height ? DrawBelow(lanes[2], image.height - height) : 0,
                     width < image.width ? DrawBelow(lanes[3], image.width - width) : 0, height,
                     width};
}

// A box in pixels, whole ones as TensorFlow rounds them.
struct PixelBox {
  int64_t top, left, bottom, right;

  float area() const {
    return static_cast<float>(std::max<int64_t>(bottom - top, 0) *
                              std::max<int64_t>(right - left, 0));
  }
};

// Enough of one box at least is within the window. Boxes of less than a pixel do not count.
bool CoversABox(const ImageWindow& window, const std::vector<PixelBox>& boxes, float least) {
  for (const PixelBox& box : boxes) {
    const PixelBox both = {std::max(window.y, box.top), std::max(window.x, box.left),
                           std::min(window.y + window.height, box.bottom),
                           std::min(window.x + window.width, box.right)};
    if (box.area() >= 1 && both.area() / box.area() >= least) return true;
  }
  return false;
}

ImageWindow DrawDistorted(const ImageSize& image, const Distortion& distortion,
                          const std::vector<PixelBox>& boxes, const ElementDraws& draws,
                          const RowId& id) {
  for (int64_t attempt = 0; attempt < distortion.max_attempts; ++attempt) {
    const std::optional<ImageWindow> window =
        DrawWindow(image, distortion, draws.Draw(id, static_cast<uint32_t>(attempt)));
    if (window.has_value() && CoversABox(*window, boxes, distortion.min_object_covered)) {
      return *window;
    }
  }
  return {0, 0, image.height, image.width};
}

// The boxes of a row: `features` are ymin, xmin, ymax and xmax, shares of the image's sides.
absl::StatusOr<std::vector<PixelBox>> BoxesOf(const ImageSize& image,
                                              const std::vector<std::string>& features,
                                              bool use_image_if_none, const RowBatch& rows,
                                              int64_t row) {
  const PixelBox whole = {0, 0, image.height, image.width};
  if (features.empty()) return std::vector<PixelBox>{whole};
  std::array<std::span<const float>, 4> sides;
  for (int side = 0; side < 4; ++side) {
    const std::span<const std::byte> bytes = rows.in.column(features[side]).BytesOf(row);
    sides[side] = {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)};
    if (sides[side].size() != sides[0].size()) {
      return absl::DataLossError(absl::StrCat("bounding boxes: ", sides[0].size(), " values of ",
                                              Quote(features[0]), ", ", sides[side].size(), " of ",
                                              Quote(features[side])));
    }
  }
  std::vector<PixelBox> boxes;
  for (size_t i = 0; i < sides[0].size(); ++i) {
    for (const auto& side : sides) {
      if (side[i] >= 0 && side[i] <= 1) continue;
      return absl::DataLossError(absl::StrCat("bounding boxes: got ", ShortestText(side[i]),
                                              ", want shares of the image in [0, 1]"));
    }
    const auto pixel = [](float share, int64_t size) {
      return static_cast<int64_t>(share * static_cast<float>(size));
    };
    boxes.push_back({pixel(sides[0][i], image.height), pixel(sides[1][i], image.width),
                     pixel(sides[2][i], image.height), pixel(sides[3][i], image.width)});
  }
  if (boxes.empty() && !use_image_if_none) {
    return absl::DataLossError(
        "no bounding boxes; use_image_if_no_bounding_boxes: true takes the whole image for one");
  }
  if (boxes.empty()) boxes.push_back(whole);
  return boxes;
}

// The features of the bounding boxes, among the columns there.
void CheckBoxes(const google::protobuf::RepeatedPtrField<std::string>& features,
                const Schema& input, ConfigErrors& errors) {
  if (!features.empty() && features.size() != 4) {
    errors.Add("bounding_boxes", absl::StrCat("bounding_boxes must be the features of ymin, xmin, "
                                              "ymax and xmax, got ",
                                              features.size()));
  }
  for (int i = 0; i < features.size(); ++i) {
    const std::string path = ElementPath("bounding_boxes", i);
    const int index = FindFeature(input, features[i], path, errors);
    if (index < 0) continue;
    if (input[index].dtype != proto::FLOAT32 || input[index].dims.size() != 1) {
      errors.Add(path, absl::StrCat("feature ", Quote(features[i]),
                                    " must be FLOAT32 [?], one value a box, got ",
                                    input[index].ToString()));
    }
  }
}

void CheckRange(const google::protobuf::RepeatedField<float>& range, const char* field, float most,
                ConfigErrors& errors) {
  if (range.empty()) return;
  if (range.size() == 2 && range[0] > 0 && range[0] <= range[1] && range[1] <= most) return;
  std::string got;
  for (const float value : range)
    absl::StrAppend(&got, got.empty() ? "" : ", ", ShortestText(value));
  errors.Add(field, absl::StrCat(field, " must be two numbers > 0 in ascending order",
                                 most == 1 ? ", at most 1" : "", ", got [", got, "]"));
}

}  // namespace

std::optional<RowTransform> BindRandomCrop(const proto::Transform& transform, const Schema& input,
                                           ConfigErrors& errors) {
  const proto::RandomCrop& random_crop = transform.random_crop();
  const std::optional<HeightAndWidth> size = SizeField(random_crop.size(), errors);
  const auto made = [&](ColumnType* type) {
    if (size.has_value()) type->dims = {size->height, size->width, type->dims[2]};
    return absl::OkStatus();
  };
  std::optional<RowTransform> bound = BindImages(random_crop.feature(), input, made, errors);
  if (!errors.empty()) return std::nullopt;
  bound->is_random = true;
  bound->open = [size = *size, padding = random_crop.padding()](const RowOpenArgs& args,
                                                                RowTransform* row) {
    const ElementDraws draws("random_crop", args);
    SetWindows([=](const ImageSize& image, const RowBatch& rows,
                   int64_t i) { return DrawCrop(image, size, padding, draws.Draw(rows.ids[i])); },
               row);
    if (row->makes.size() < 2) return absl::OkStatus();
    row->apply = [features = row->makes, cut = row->apply](const RowBatch& rows, Table* out) {
      RETURN_IF_ERROR(CheckOneSize(features, rows));
      return cut(rows, out);
    };
    return absl::OkStatus();
  };
  return bound;
}

std::optional<RowTransform> BindCentralCrop(const proto::Transform& transform, const Schema& input,
                                            ConfigErrors& errors) {
  const proto::CentralCrop& central_crop = transform.central_crop();
  const std::optional<HeightAndWidth> size = SizeField(central_crop.size(), errors);
  const int64_t padding = central_crop.padding();
  const auto made = [&](ColumnType* type) {
    if (!size.has_value()) return absl::OkStatus();
    const bool varies = type->dims[0] == kVaries || type->dims[1] == kVaries;
    const ImageWindow window = varies ? ImageWindow{0, 0, kVaries, kVaries}
                                      : CentralWindow(ImageSizeOf(type->dims), *size, padding);
    type->dims = {window.height, window.width, type->dims[2]};
    return absl::OkStatus();
  };
  std::optional<RowTransform> bound = BindImages(central_crop.feature(), input, made, errors);
  if (!errors.empty()) return std::nullopt;
  SetWindows([size = *size, padding](const ImageSize& image, const RowBatch&,
                                     int64_t) { return CentralWindow(image, size, padding); },
             &*bound);
  return bound;
}

std::optional<RowTransform> BindResizeWithCropOrPad(const proto::Transform& transform,
                                                    const Schema& input, ConfigErrors& errors) {
  const proto::CropOrPad& crop = transform.resize_with_crop_or_pad();
  const std::optional<HeightAndWidth> size = SizeField(crop.size(), errors);
  const auto made = [&](ColumnType* type) {
    if (size.has_value()) type->dims = {size->height, size->width, type->dims[2]};
    return absl::OkStatus();
  };
  std::optional<RowTransform> bound = BindImages(crop.feature(), input, made, errors);
  if (!errors.empty()) return std::nullopt;
  SetWindows(
      [size = *size](const ImageSize& image, const RowBatch&, int64_t) {
        // The smaller half of what is cut off or added is above and on the left.
        return ImageWindow{(image.height - size.height) / 2, (image.width - size.width) / 2,
                           size.height, size.width};
      },
      &*bound);
  return bound;
}

std::optional<proto::Transform> ResizeOfSample(const proto::Transform& transform) {
  const auto& size = transform.sample_distorted_bounding_box().size();
  if (size.empty()) return std::nullopt;
  proto::Transform resize;
  *resize.mutable_resize()->mutable_feature() = transform.sample_distorted_bounding_box().feature();
  *resize.mutable_resize()->mutable_size() = size;
  return resize;
}

std::optional<RowTransform> BindSampleDistortedBoundingBox(const proto::Transform& transform,
                                                           const Schema& input,
                                                           ConfigErrors& errors) {
  const proto::SampleDistortedBoundingBox& sample = transform.sample_distorted_bounding_box();
  CheckRange(sample.aspect_ratio_range(), "aspect_ratio_range", 1e6f, errors);
  CheckRange(sample.area_range(), "area_range", 1, errors);
  CheckBoxes(sample.bounding_boxes(), input, errors);
  const auto made = [&](ColumnType* type) {
    type->dims[0] = type->dims[1] = kVaries;
    return absl::OkStatus();
  };
  std::optional<RowTransform> bound = BindImages(sample.feature(), input, made, errors);
  if (!errors.empty()) return std::nullopt;
  const bool ratios = !sample.aspect_ratio_range().empty();
  const bool areas = !sample.area_range().empty();
  const Distortion distortion = {.min_object_covered = sample.min_object_covered(),
                                 .least_ratio = ratios ? sample.aspect_ratio_range(0) : 0.75f,
                                 .largest_ratio = ratios ? sample.aspect_ratio_range(1) : 1.33f,
                                 .least_area = areas ? sample.area_range(0) : 0.05f,
                                 .largest_area = areas ? sample.area_range(1) : 1.0f,
                                 .max_attempts = sample.max_attempts()};
  const std::vector<std::string> boxes(sample.bounding_boxes().begin(),
                                       sample.bounding_boxes().end());
  bound->reads.insert(bound->reads.end(), boxes.begin(), boxes.end());
  bound->paired = boxes.empty();
  bound->is_random = true;
  bound->open = [distortion, boxes, use_image = sample.use_image_if_no_bounding_boxes()](
                    const RowOpenArgs& args, RowTransform* row) {
    const ElementDraws draws("sample_distorted_bounding_box", args);
    SetWindows(
        [=](const ImageSize& image, const RowBatch& rows,
            int64_t i) -> absl::StatusOr<ImageWindow> {
          ASSIGN_OR_RETURN(const std::vector<PixelBox> pixels,
                           BoxesOf(image, boxes, use_image, rows, i));
          return DrawDistorted(image, distortion, pixels, draws, rows.ids[i]);
        },
        row);
    return absl::OkStatus();
  };
  return bound;
}

}  // namespace tpurun
