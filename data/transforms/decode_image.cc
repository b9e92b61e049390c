// decode_image { feature output channels ratio dct_method }: the pixels of a JPEG or a PNG, as
// tf.io.decode_image gives them (of the first frame; no GIF, no BMP).
#include <atomic>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "data/images/decode.h"
#include "data/images/exif.h"
#include "data/transforms/bind_features.h"
#include "data/transforms/image_rows.h"
#include "data/transforms/transform_list.h"

namespace tpurun {
namespace {

// Tells of the first image that viewers turn.
class OrientationNote {
 public:
  explicit OrientationNote(const RowOpenArgs& args)
      : where_(args.where("feature")), warn_(args.warn) {}

  void Look(std::string_view bytes) {
    if (told_) return;
    const int orientation = ExifOrientation(bytes);
    if (orientation == 1 || told_.exchange(true)) return;
    warn_(absl::StrCat(where_,
                       ": decode_image: images have an EXIF orientation, the first of them ",
                       orientation, ": ", kTurnedByViewers));
  }

 private:
  const std::string where_;
  const std::function<void(const std::string& message)> warn_;
  std::atomic<bool> told_{false};
};

// Sets the functions that decode.
absl::Status OpenDecodeImage(const DecodeOptions& options, const RowOpenArgs& args,
                             RowTransform* row) {
  row->open_image = [options,
                     note = std::make_shared<OrientationNote>(args)](std::string_view bytes) {
    note->Look(bytes);
    return EncodedImage::Open(bytes, options);
  };
  RowTransform whole;
  whole.reads = whole.makes = row->makes;
  whole.choose_window = [](const ImageSize& size, const RowBatch&, int64_t) {
    return ImageWindow{0, 0, size.height, size.width};
  };
  const RowTransform decode = DecodeWindows(*row, whole);
  row->apply = decode.apply;
  row->decode_rows = decode.decode_rows;
  return absl::OkStatus();
}

}  // namespace

std::optional<RowTransform> BindDecodeImage(const proto::Transform& transform, const Schema& input,
                                            ConfigErrors& errors) {
  const proto::DecodeImage& decode_image = transform.decode_image();
  const int64_t channels = decode_image.channels();
  const ColumnType made = {
      "", proto::UINT8, {kVaries, kVaries, channels == 0 ? kVaries : channels}};
  RowTransform bound = BindDecoder(decode_image.feature(),
                                   decode_image.has_output() ? &decode_image.output() : nullptr,
                                   made, input, errors);
  if (!errors.empty()) return std::nullopt;
  const DecodeOptions options = {
      .channels = static_cast<int>(channels),
      .ratio = static_cast<int>(decode_image.ratio()),
      .accurate = decode_image.dct_method() == proto::DecodeImage::INTEGER_ACCURATE};
  bound.open = [options](const RowOpenArgs& args, RowTransform* row) {
    return OpenDecodeImage(options, args, row);
  };
  return bound;
}

}  // namespace tpurun
