#include "data/transforms/image_rows.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "data/images/decode.h"
#include "data/transforms/bind_features.h"
#include "proto/source_locations.h"
#include "runtime/base/random.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

// The part of a window that is within an image.
ImageWindow InsideOf(const ImageWindow& window, const ImageSize& size) {
  const int64_t y = std::clamp<int64_t>(window.y, 0, size.height);
  const int64_t x = std::clamp<int64_t>(window.x, 0, size.width);
  const int64_t end_y = std::clamp<int64_t>(window.y + window.height, y, size.height);
  const int64_t end_x = std::clamp<int64_t>(window.x + window.width, x, size.width);
  return {y, x, end_y - y, end_x - x};
}

// Makes room for a window in `to` and returns where the part `inside` of the image belongs.
std::byte* AddWindow(const ImageWindow& window, const ImageWindow& inside, int64_t channels,
                     Column* to) {
  const int64_t dims[] = {window.height, window.width, channels};
  std::byte* const out = to->AddRow(dims);
  const int64_t pixel = channels * ElementBytes(to->type.dtype);
  if (inside.height < window.height || inside.width < window.width) {
    std::memset(out, 0, window.height * window.width * pixel);
  }
  return out + ((inside.y - window.y) * window.width + inside.x - window.x) * pixel;
}

absl::Status DecodeWindow(std::string_view bytes, const RowBatch& rows, int64_t row,
                          const RowTransform::OpenImage& open_image,
                          const RowTransform::ChooseWindow& choose_window, Column* to) {
  ASSIGN_OR_RETURN(const std::unique_ptr<EncodedImage> image, open_image(bytes));
  const ImageSize& size = image->size();
  ASSIGN_OR_RETURN(const ImageWindow window, choose_window(size, rows, row));
  const ImageWindow inside = InsideOf(window, size);
  std::byte* const out = AddWindow(window, inside, size.channels, to);
  if (inside.height == 0 || inside.width == 0) return absl::OkStatus();
  return image->Decode(inside, window.width * size.channels, reinterpret_cast<uint8_t*>(out));
}

}  // namespace

std::optional<RowTransform> BindImages(
    const google::protobuf::RepeatedPtrField<std::string>& features, const Schema& input,
    const std::function<absl::Status(ColumnType* made)>& made, ConfigErrors& errors) {
  const auto dtype_of = [](const ColumnType& feature) -> absl::StatusOr<proto::DataType> {
    if (feature.dtype != proto::STRING && feature.dims.size() == 3) return feature.dtype;
    return absl::InvalidArgumentError(absl::StrCat(
        "feature ", Quote(feature.name), " must be an image [height,width,channels], got ",
        feature.ToString(),
        feature.dtype == proto::STRING ? "; put decode_image or decode_raw before" : ""));
  };
  std::optional<RowTransform> bound = BindFeatures(features, nullptr, input, dtype_of, errors);
  if (!bound.has_value()) return std::nullopt;
  for (int i = 0; i < features.size(); ++i) {
    ColumnType& type = bound->output[FindColumn(bound->output, features[i])];
    const absl::Status status = made(&type);
    if (!status.ok()) errors.Add(ElementPath("feature", i), std::string(status.message()));
    // A file has at most 4 channels; other dimensions that vary are those of the image.
    std::vector<int64_t> dims = type.dims;
    if (dims[0] == kVaries || dims[1] == kVaries) continue;
    if (dims[2] == kVaries) dims[2] = 4;
    CheckDims(dims, {}, ElementPath("feature", i), errors);
  }
  if (!errors.empty()) return std::nullopt;
  return bound;
}

std::optional<HeightAndWidth> SizeField(const google::protobuf::RepeatedField<int64_t>& size,
                                        ConfigErrors& errors) {
  if (size.size() < 1 || size.size() > 2) {
    errors.Add("size", absl::StrCat("size must be height and width, or one value for both, got ",
                                    size.size(), " values"));
    return std::nullopt;
  }
  const HeightAndWidth sides = {size[0], size[size.size() - 1]};
  if (!CheckDims({sides.height, sides.width}, {}, "size", errors)) return std::nullopt;
  return sides;
}

ElementDraws::ElementDraws(const std::string& kind, const RowOpenArgs& args)
    : seed_(args.seed), stream_(StreamOf(absl::StrCat(kind, " ", args.ordinal))) {}

std::array<uint32_t, 4> ElementDraws::Draw(const RowId& id, uint32_t attempt) const {
  return PhiloxBlock(seed_, stream_, id.epoch, attempt, id.index);
}

RowTransform::Apply CutWindows(std::vector<std::string> features,
                               RowTransform::ChooseWindow choose_window) {
  return [features = std::move(features), choose_window = std::move(choose_window)](
             const RowBatch& rows, Table* out) -> absl::Status {
    for (const std::string& feature : features) {
      const Column& from = rows.in.column(feature);
      Column& to = out->column(feature);
      to.Clear();
      for (int64_t row = 0; row < rows.in.rows; ++row) {
        const ImageSize size = ImageSizeOf(from.DimsOf(row));
        const absl::StatusOr<ImageWindow> window = choose_window(size, rows, row);
        if (!window.ok()) {
          return Annotate(window.status(),
                          absl::StrCat(rows.where(row), ": feature ", Quote(feature)));
        }
        const ImageWindow inside = InsideOf(*window, size);
        const int64_t pixel = size.channels * ElementBytes(to.type.dtype);
        std::byte* line = AddWindow(*window, inside, size.channels, &to);
        const std::byte* source =
            from.BytesOf(row).data() + (inside.y * size.width + inside.x) * pixel;
        for (int64_t y = 0; y < inside.height; ++y) {
          std::memcpy(line, source, inside.width * pixel);
          line += window->width * pixel;
          source += size.width * pixel;
        }
      }
    }
    return absl::OkStatus();
  };
}

std::optional<RowTransform> DecodeWindows(const RowTransform& decode, const RowTransform& cut) {
  if (decode.open_image == nullptr || cut.choose_window == nullptr) return std::nullopt;
  if (cut.makes != decode.makes) return std::nullopt;
  RowTransform both = cut;
  both.reads[0] = decode.reads[0];
  both.apply = [feature = decode.reads[0], output = cut.makes[0], open_image = decode.open_image,
                choose_window = cut.choose_window](const RowBatch& rows,
                                                   Table* out) -> absl::Status {
    const Column& from = rows.in.column(feature);
    Column& to = out->column(output);
    to.Clear();
    for (int64_t row = 0; row < rows.in.rows; ++row) {
      const absl::Status decoded =
          DecodeWindow(from.string(row), rows, row, open_image, choose_window, &to);
      if (!decoded.ok()) {
        return Annotate(decoded, absl::StrCat(rows.where(row), ": feature ", Quote(feature)));
      }
    }
    return absl::OkStatus();
  };
  both.choose_window = nullptr;
  return both;
}

}  // namespace tpurun
