// decode_image { feature output channels ratio dct_method }: the pixels of a JPEG or a PNG, as
// tf.io.decode_image gives them (of the first frame; no GIF, no BMP).
#include <utility>

#include "data/images/decode.h"
#include "data/transforms/bind_features.h"
#include "data/transforms/image_rows.h"
#include "data/transforms/transform_list.h"

namespace tpurun {

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
  bound.open_image = [options](std::string_view bytes) {
    return EncodedImage::Open(bytes, options);
  };
  RowTransform whole;
  whole.reads = whole.makes = bound.makes;
  whole.choose_window = [](const ImageSize& size, const RowBatch&, int64_t) {
    return ImageWindow{0, 0, size.height, size.width};
  };
  const RowTransform decode = DecodeWindows(bound, whole);
  bound.apply = decode.apply;
  bound.decode_rows = decode.decode_rows;
  return bound;
}

}  // namespace tpurun
