// The boxes around the objects of images, and their features in ImageNet's TFRecord files:
// image/object/bbox/xmin, xmax, ymin and ymax, FLOAT lists of shares of the image's width and
// height, and image/object/bbox/label, an INT64 list. Of an image without boxes they are empty.
#ifndef TPURUN_DATA_CONVERT_BOUNDING_BOXES_H_
#define TPURUN_DATA_CONVERT_BOUNDING_BOXES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/convert/convert.h"
#include "data/convert/image_files.h"
#include "proto/example.pb.h"

namespace tpurun {

// Shares of the width and height of the image.
struct BoundingBox {
  float xmin, ymin, xmax, ymax;
};

class BoundingBoxes {
 public:
  // Of rows NAME,XMIN,YMIN,XMAX,YMAX, as process_bounding_boxes.py writes them. Values are clipped
  // to 0 to 1; boxes without an area are left out.
  static absl::StatusOr<BoundingBoxes> Read(const std::string& path);

  // By the name of the image.
  const std::map<std::string, std::vector<BoundingBox>>& of_images() const { return of_images_; }
  // Adds the features of the image of that name, all of whose objects have the label.
  void AddTo(const std::string& name, int64_t label, tensorflow::Example* example) const;

 private:
  std::map<std::string, std::vector<BoundingBox>> of_images_;
};

// Those of args.bounding_boxes; nullopt without. `name_of` returns the name that the boxes of a
// file have. DataLoss if they are of none of the files.
absl::StatusOr<std::optional<BoundingBoxes>> BoxesOf(
    const ConvertArgs& args, std::span<const ImageFile> files,
    const std::function<std::string(const ImageFile& file)>& name_of);
// A line of ExampleList::Identity.
std::string BoxesIdentity(const std::optional<BoundingBoxes>& boxes);

}  // namespace tpurun

#endif  // TPURUN_DATA_CONVERT_BOUNDING_BOXES_H_
