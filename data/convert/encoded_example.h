// The tf.Example format of encoded images: that of ImageNet's TFRecord files.
#ifndef TPURUN_DATA_CONVERT_ENCODED_EXAMPLE_H_
#define TPURUN_DATA_CONVERT_ENCODED_EXAMPLE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "data/images/image.h"
#include "proto/example.pb.h"

namespace tpurun {

struct EncodedExample {
  std::string bytes;     // of the image file
  std::string format;    // "JPEG", "PNG"
  std::string filename;  // without its folder
  ImageSize size;
  int64_t label = 0;
  std::optional<std::string> class_name;
};

inline tensorflow::Example ToExample(EncodedExample image) {
  tensorflow::Example example;
  auto& features = *example.mutable_features()->mutable_feature();
  const auto set_number = [&](const char* name, int64_t number) {
    features[name].mutable_int64_list()->add_value(number);
  };
  const auto set_bytes = [&](const char* name, std::string value) {
    *features[name].mutable_bytes_list()->add_value() = std::move(value);
  };
  set_number("image/height", image.size.height);
  set_number("image/width", image.size.width);
  set_number("image/channels", image.size.channels);
  set_number("image/class/label", image.label);
  if (image.class_name.has_value()) set_bytes("image/class/text", *std::move(image.class_name));
  set_bytes("image/format", std::move(image.format));
  set_bytes("image/filename", std::move(image.filename));
  set_bytes("image/encoded", std::move(image.bytes));
  return example;
}

}  // namespace tpurun

#endif  // TPURUN_DATA_CONVERT_ENCODED_EXAMPLE_H_
