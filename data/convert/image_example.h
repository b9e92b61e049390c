// The tf.Example format that all picture conversions write.
#ifndef TPURUN_DATA_CONVERT_IMAGE_EXAMPLE_H_
#define TPURUN_DATA_CONVERT_IMAGE_EXAMPLE_H_

#include <cstdint>
#include <string>
#include <utility>

#include "proto/example.pb.h"

namespace tpurun {

// The features: image_raw, the bytes [height, width] or [height, width, channels], int64 labels,
// and of some the bytes mask_raw [height, width], a class for each pixel.
class ImageExample {
 public:
  ImageExample() { features()["image_raw"].mutable_bytes_list()->add_value(); }

  std::string& image() { return *features()["image_raw"].mutable_bytes_list()->mutable_value(0); }
  void set_mask(std::string mask) {
    auto& values = *features()["mask_raw"].mutable_bytes_list();
    values.clear_value();
    values.add_value(std::move(mask));
  }
  void set_label(int64_t label, const char* name = "label") {
    auto& values = *features()[name].mutable_int64_list();
    values.clear_value();
    values.add_value(label);
  }
  const tensorflow::Example& example() const { return example_; }

 private:
  google::protobuf::Map<std::string, tensorflow::Feature>& features() {
    return *example_.mutable_features()->mutable_feature();
  }

  tensorflow::Example example_;
};

}  // namespace tpurun

#endif  // TPURUN_DATA_CONVERT_IMAGE_EXAMPLE_H_
