// decode_image { feature output channels ratio dct_method }: the pixels of a JPEG or a PNG, as
// tf.io.decode_image gives them (of the first frame; no GIF, no BMP).
#include <utility>

#include "data/images/decode.h"
#include "data/transforms/image_rows.h"
#include "data/transforms/transform_list.h"
#include "runtime/base/text.h"

namespace tpurun {

std::optional<RowTransform> BindDecodeImage(const proto::Transform& transform, const Schema& input,
                                            ConfigErrors& errors) {
  const proto::DecodeImage& decode_image = transform.decode_image();
  const std::string& feature = decode_image.feature();
  const int index = FindColumn(input, feature);
  if (index < 0) {
    errors.Add("feature", absl::StrCat("unknown feature ", Quote(feature),
                                       DidYouMean(feature, ColumnNames(input))));
  } else if (input[index].dtype != proto::STRING || !input[index].dims.empty()) {
    errors.Add("feature", absl::StrCat("feature ", Quote(feature), " must be STRING [], got ",
                                       input[index].ToString()));
  }
  const std::string& output = decode_image.has_output() ? decode_image.output() : feature;
  if (decode_image.has_output()) CheckColumnName(output, {}, "output", errors);
  if (!errors.empty()) return std::nullopt;
  const int64_t channels = decode_image.channels();
  RowTransform bound{.output = input, .reads = {feature}, .makes = {output}, .paired = true};
  const ColumnType type = {
      output, proto::UINT8, {kVaries, kVaries, channels == 0 ? kVaries : channels}};
  const int place = FindColumn(input, output);
  if (place >= 0) {
    bound.output[place] = type;
  } else {
    bound.output.push_back(type);
  }
  const DecodeOptions options = {
      .channels = static_cast<int>(channels),
      .ratio = static_cast<int>(decode_image.ratio()),
      .accurate = decode_image.dct_method() == proto::DecodeImage::INTEGER_ACCURATE};
  bound.open_image = [options](std::string_view bytes) {
    return EncodedImage::Open(bytes, options);
  };
  RowTransform whole;
  whole.reads = whole.makes = {output};
  whole.choose_window = [](const ImageSize& size, const RowBatch&, int64_t) {
    return ImageWindow{0, 0, size.height, size.width};
  };
  bound.apply = DecodeWindows(bound, whole)->apply;
  return bound;
}

}  // namespace tpurun
