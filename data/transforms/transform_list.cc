#include "data/transforms/transform_list.h"

#include "google/protobuf/descriptor.h"

namespace tpurun {
namespace {

constexpr TransformDef kTransforms[] = {
    // Rows.
    {.kind = proto::Transform::kDecodeCsv, .name = "decode_csv", .bind = BindDecodeCsv},
    {.kind = proto::Transform::kDecodeJson, .name = "decode_json", .bind = BindDecodeJson},
    {.kind = proto::Transform::kParseExample, .name = "parse_example", .bind = BindParseExample},
    {.kind = proto::Transform::kDecodeRaw, .name = "decode_raw", .bind = BindDecodeRaw},
    {.kind = proto::Transform::kCast, .name = "cast", .bind = BindCast},
    {.kind = proto::Transform::kLookup, .name = "lookup", .bind = BindLookup},
    {.kind = proto::Transform::kNormalize, .name = "normalize", .bind = BindNormalize},
    {.kind = proto::Transform::kParseTime, .name = "parse_time", .bind = BindParseTime},
    {.kind = proto::Transform::kSlice, .name = "slice", .bind = BindSlice},
    {.kind = proto::Transform::kStringToHashBucketFast,
     .name = "string_to_hash_bucket_fast",
     .bind = BindHashBucket},
    {.kind = proto::Transform::kCross, .name = "cross", .bind = BindCross},
    {.kind = proto::Transform::kBucketize, .name = "bucketize", .bind = BindBucketize},
    {.kind = proto::Transform::kOneHot, .name = "one_hot", .bind = BindOneHot},
    {.kind = proto::Transform::kToTensor, .name = "to_tensor", .bind = BindToTensor},
    {.kind = proto::Transform::kSplit, .name = "split", .bind = BindSplit},
    {.kind = proto::Transform::kNgrams, .name = "ngrams", .bind = BindNgrams},
    {.kind = proto::Transform::kCategoryEncoding,
     .name = "category_encoding",
     .bind = BindCategoryEncoding},
    // Images.
    {.kind = proto::Transform::kDecodeImage, .name = "decode_image", .bind = BindDecodeImage},
    {.kind = proto::Transform::kRandomCrop,
     .name = "random_crop",
     .bind = BindRandomCrop,
     .random = true},
    {.kind = proto::Transform::kCentralCrop, .name = "central_crop", .bind = BindCentralCrop},
    {.kind = proto::Transform::kSampleDistortedBoundingBox,
     .name = "sample_distorted_bounding_box",
     .bind = BindSampleDistortedBoundingBox,
     .random = true,
     .followed_by = ResizeOfSample},
    {.kind = proto::Transform::kResize, .name = "resize", .bind = BindResize},
    {.kind = proto::Transform::kRandomFlipLeftRight,
     .name = "random_flip_left_right",
     .bind = BindRandomFlipLeftRight,
     .random = true},
    {.kind = proto::Transform::kRandomFlipUpDown,
     .name = "random_flip_up_down",
     .bind = BindRandomFlipUpDown,
     .random = true},
    {.kind = proto::Transform::kPerImageStandardization,
     .name = "per_image_standardization",
     .bind = BindPerImageStandardization},
    {.kind = proto::Transform::kResizeWithCropOrPad,
     .name = "resize_with_crop_or_pad",
     .bind = BindResizeWithCropOrPad},
    {.kind = proto::Transform::kAdjustBrightness,
     .name = "adjust_brightness",
     .bind = BindAdjustBrightness},
    {.kind = proto::Transform::kAdjustContrast,
     .name = "adjust_contrast",
     .bind = BindAdjustContrast},
    {.kind = proto::Transform::kAdjustSaturation,
     .name = "adjust_saturation",
     .bind = BindAdjustSaturation},
    {.kind = proto::Transform::kAdjustHue, .name = "adjust_hue", .bind = BindAdjustHue},
    {.kind = proto::Transform::kRandomBrightness,
     .name = "random_brightness",
     .bind = BindRandomBrightness,
     .random = true},
    {.kind = proto::Transform::kRandomContrast,
     .name = "random_contrast",
     .bind = BindRandomContrast,
     .random = true},
    {.kind = proto::Transform::kRandomSaturation,
     .name = "random_saturation",
     .bind = BindRandomSaturation,
     .random = true},
    {.kind = proto::Transform::kRandomHue,
     .name = "random_hue",
     .bind = BindRandomHue,
     .random = true},
    // Items.
    {.kind = proto::Transform::kShuffle,
     .name = "shuffle",
     .make_items = MakeShuffle,
     .count = CountShuffle,
     .random = true},
    {.kind = proto::Transform::kRepeat,
     .name = "repeat",
     .check = CheckRepeat,
     .make_items = MakeRepeat,
     .count = CountRepeat},
    {.kind = proto::Transform::kTake, .name = "take", .make_items = MakeTake, .count = CountTake},
    {.kind = proto::Transform::kSkip, .name = "skip", .make_items = MakeSkip, .count = CountSkip},
    {.kind = proto::Transform::kShard,
     .name = "shard",
     .check = CheckShard,
     .make_items = MakeShard,
     .count = CountShard},
    // Structural.
    {.kind = proto::Transform::kApply, .name = "apply"},
    {.kind = proto::Transform::kFilter, .name = "filter"},
    {.kind = proto::Transform::kRejectionResample,
     .name = "rejection_resample",
     .check = CheckRejectionResample,
     .random = true},
    {.kind = proto::Transform::kCache, .name = "cache"},
    {.kind = proto::Transform::kWindow, .name = "window"},
    {.kind = proto::Transform::kBatch, .name = "batch"},
    {.kind = proto::Transform::kPrefetch, .name = "prefetch"},
};

}  // namespace

std::span<const TransformDef> TransformList() { return kTransforms; }

const TransformDef* FindTransform(proto::Transform::KindCase kind) {
  for (const TransformDef& def : kTransforms) {
    if (def.kind == kind) return &def;
  }
  return nullptr;
}

std::string TransformName(const proto::Transform& transform) {
  const auto* const field =
      proto::Transform::descriptor()->FindFieldByNumber(transform.kind_case());
  return field == nullptr ? "" : field->name();
}

bool IsEndlessRepeat(const proto::Transform& transform) {
  return transform.has_repeat() && transform.repeat().count() == -1;
}

}  // namespace tpurun
