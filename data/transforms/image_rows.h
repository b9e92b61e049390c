// Shared by the transforms of images: features of numbers with dims [height, width, channels].
#ifndef TPURUN_DATA_TRANSFORMS_IMAGE_ROWS_H_
#define TPURUN_DATA_TRANSFORMS_IMAGE_ROWS_H_

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/images/image.h"
#include "data/records.h"
#include "data/table.h"
#include "data/transforms/transform_list.h"
#include "google/protobuf/repeated_field.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "proto/config_errors.h"

namespace tpurun {

inline ImageSize ImageSizeOf(std::span<const int64_t> dims) { return {dims[0], dims[1], dims[2]}; }

// Binds images, which are changed in place. `made` returns the type of the result, whose name and
// dtype are those of the feature before the call; an error's message is added to `errors`. The
// result has no `apply` yet. Errors as of TransformDef::bind.
std::optional<RowTransform> BindImages(
    const google::protobuf::RepeatedPtrField<std::string>& features, const Schema& input,
    const std::function<absl::Status(ColumnType* made)>& made, ConfigErrors& errors);

// A field `size`: height and width, or one value for both. nullopt after a mistake.
struct HeightAndWidth {
  int64_t height = 0;
  int64_t width = 0;
};
std::optional<HeightAndWidth> SizeField(const google::protobuf::RepeatedField<int64_t>& size,
                                        ConfigErrors& errors);

// Random numbers for the elements of an input: a function of tf_random_seed, the transform, the
// element and the attempt.
class ElementDraws {
 public:
  // `kind` is the name of the transform.
  ElementDraws(const std::string& kind, const RowOpenArgs& args);
  // The four 32-bit lanes of an attempt.
  std::array<uint32_t, 4> Draw(const RowId& id, uint32_t attempt = 0) const;

 private:
  uint64_t seed_;
  uint32_t stream_;
};

// An `apply` that cuts the window out of each image of the features.
RowTransform::Apply CutWindows(std::vector<std::string> features,
                               RowTransform::ChooseWindow choose_window);

// The transform that decodes the windows alone which `cut` cuts out of the images of `decode`.
RowTransform DecodeWindows(const RowTransform& decode, const RowTransform& cut);
// The transform that does what two do one after the other, if there is a quicker way and the second
// changes the images that the first makes, and no others: it decodes windows alone, resizes rows as
// they are decoded, and mirrors images as they are resized. Else nullopt.
std::optional<RowTransform> DoBoth(const RowTransform& first, const RowTransform& second);
// Joins `row` with one of the transforms that it comes behind, if DoBoth can and those between have
// nothing to do with its columns. False: it could not.
bool JoinWithEarlier(const RowTransform& row, std::vector<RowTransform>& transforms);

}  // namespace tpurun

#endif  // TPURUN_DATA_TRANSFORMS_IMAGE_ROWS_H_
