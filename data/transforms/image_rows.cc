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

struct OpenedWindow {
  std::unique_ptr<EncodedImage> image;
  ImageWindow window, inside;  // `inside` is the part within the image

  bool is_empty() const { return inside.height == 0 || inside.width == 0; }
};

absl::StatusOr<OpenedWindow> OpenWindow(std::string_view bytes, const RowBatch& rows, int64_t row,
                                        const RowTransform::OpenImage& open_image,
                                        const RowTransform::ChooseWindow& choose_window) {
  OpenedWindow opened;
  ASSIGN_OR_RETURN(opened.image, open_image(bytes));
  ASSIGN_OR_RETURN(opened.window, choose_window(opened.image->size(), rows, row));
  opened.inside = InsideOf(opened.window, opened.image->size());
  return opened;
}

absl::Status DecodeTo(const OpenedWindow& opened, Column* to) {
  const auto& [image, window, inside] = opened;
  const int64_t channels = image->size().channels;
  std::byte* const out = AddWindow(window, inside, channels, to);
  if (opened.is_empty()) return absl::OkStatus();
  return image->Decode(inside, window.width * channels, reinterpret_cast<uint8_t*>(out));
}

absl::Status DecodeTo(const OpenedWindow& opened, const RowTransform::ImageRows& to) {
  const ImageWindow &window = opened.window, &inside = opened.inside;
  const int64_t channels = opened.image->size().channels;
  to.begin({window.height, window.width, channels});
  if (inside == window) return opened.image->DecodeRows(inside, to.take);
  std::vector<uint8_t> row(window.width * channels);  // 0 beside what is inside
  const auto take_zeros = [&](int64_t count) {
    const std::vector<uint8_t> zeros(row.size());
    for (int64_t y = 0; y < count; ++y) to.take(zeros.data());
  };
  if (opened.is_empty()) {
    take_zeros(window.height);
    return absl::OkStatus();
  }
  take_zeros(inside.y - window.y);
  uint8_t* const begin = row.data() + (inside.x - window.x) * channels;
  RETURN_IF_ERROR(opened.image->DecodeRows(inside, [&](const uint8_t* decoded) {
    std::copy_n(decoded, inside.width * channels, begin);
    to.take(row.data());
  }));
  take_zeros(window.y + window.height - inside.y - inside.height);
  return absl::OkStatus();
}

// The transform that decodes and resizes, for `resize` ahead of which `decode` stands.
RowTransform ResizeDecoded(const RowTransform& decode, RowTransform resize) {
  resize.reads[0] = decode.reads[0];
  resize.is_random = decode.is_random;
  resize.beside_resize.decode = decode.decode_rows;
  resize.apply = resize.resize(resize.beside_resize);
  return resize;
}

RowTransform ResizeAndMirror(RowTransform resize, const RowTransform& mirror) {
  resize.is_random = true;
  resize.beside_resize.mirrors = mirror.mirrors;
  resize.apply = resize.resize(resize.beside_resize);
  return resize;
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

RowTransform DecodeWindows(const RowTransform& decode, const RowTransform& cut) {
  RowTransform both = cut;
  both.reads[0] = decode.reads[0];
  // Decodes the image of a row for a column or for ImageRows.
  const auto decode_to = [feature = decode.reads[0], open_image = decode.open_image,
                          choose_window = cut.choose_window](const RowBatch& rows, int64_t row,
                                                             auto&& to) -> absl::Status {
    const absl::StatusOr<OpenedWindow> opened =
        OpenWindow(rows.in.column(feature).string(row), rows, row, open_image, choose_window);
    const absl::Status status = opened.ok() ? DecodeTo(*opened, to) : opened.status();
    if (status.ok()) return status;
    return Annotate(status, absl::StrCat(rows.where(row), ": feature ", Quote(feature)));
  };
  both.apply = [decode_to, output = cut.makes[0]](const RowBatch& rows, Table* out) {
    Column& to = out->column(output);
    to.Clear();
    for (int64_t row = 0; row < rows.in.rows; ++row) RETURN_IF_ERROR(decode_to(rows, row, &to));
    return absl::OkStatus();
  };
  both.decode_rows = decode_to;
  both.choose_window = nullptr;
  return both;
}

std::optional<RowTransform> DoBoth(const RowTransform& first, const RowTransform& second) {
  if (first.makes != second.makes) return std::nullopt;
  if (first.open_image != nullptr && second.choose_window != nullptr)
    return DecodeWindows(first, second);
  if (first.decode_rows != nullptr && second.resizes_by_rows) return ResizeDecoded(first, second);
  if (first.resize != nullptr && second.mirrors != nullptr) return ResizeAndMirror(first, second);
  return std::nullopt;
}

bool JoinWithEarlier(const RowTransform& row, std::vector<RowTransform>& transforms) {
  for (size_t i = transforms.size(); i-- > 0;) {
    if (std::optional<RowTransform> both = DoBoth(transforms[i], row)) {
      // The columns of `row`, which it makes here, among those of this place.
      both->output = std::move(transforms[i].output);
      transforms[i] = *std::move(both);
      for (size_t from_here = i; from_here < transforms.size(); ++from_here) {
        for (const std::string& name : row.makes) {
          Schema& output = transforms[from_here].output;
          output[FindColumn(output, name)] = row.output[FindColumn(row.output, name)];
        }
      }
      return true;
    }
    if (!AreIndependent(transforms[i], row)) return false;
  }
  return false;
}

}  // namespace tpurun
