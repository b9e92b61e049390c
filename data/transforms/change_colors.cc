// adjust_* and random_* of brightness, contrast, saturation and hue: tf.image's. A UINT8 image is
// changed as f32 in [0, 1] and converted back, with saturation.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "data/images/color.h"
#include "data/transforms/image_rows.h"
#include "data/transforms/transform_list.h"
#include "runtime/base/clones.h"
#include "runtime/base/random.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

// The amount of a change: a number, or one drawn for each image in [least, most).
struct ChangeAmount {
  float least = 0;
  float most = 0;
  std::string drawn_by = {};  // the name of the random transform; empty: least
};

TPURUN_CLONES void BytesToUnit(const uint8_t* from, int64_t count, float* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]) * (1.0f / 255.0f);
}

TPURUN_CLONES void UnitToBytes(const float* from, int64_t count, uint8_t* to) {
  for (int64_t i = 0; i < count; ++i) {
    const float scaled = from[i] * 255.5f;
    to[i] = static_cast<uint8_t>(std::min(std::max(scaled, 0.0f), 255.0f));
  }
}

class ColorChanger {
 public:
  ColorChanger(std::vector<std::string> features, ColorChange change, ChangeAmount amount,
               const RowOpenArgs& args)
      : features_(std::move(features)),
        change_(change),
        amount_(std::move(amount)),
        draws_(amount_.drawn_by, args) {}

  absl::Status operator()(const RowBatch& rows, Table* out) {
    for (const std::string& feature : features_) {
      Column& images = out->column(feature);
      for (int64_t row = 0; row < rows.in.rows; ++row) {
        std::byte* const image = images.BytesOf(row).data();
        const ImageSize size = ImageSizeOf(images.DimsOf(row));
        const float amount = AmountOf(rows, row);
        if (images.type.dtype == proto::FLOAT32) {
          ChangeColors(change_, amount, size, reinterpret_cast<float*>(image));
          continue;
        }
        auto* const bytes = reinterpret_cast<uint8_t*>(image);
        values_.resize(size.elements());
        BytesToUnit(bytes, size.elements(), values_.data());
        ChangeColors(change_, amount, size, values_.data());
        UnitToBytes(values_.data(), size.elements(), bytes);
      }
    }
    return absl::OkStatus();
  }

 private:
  float AmountOf(const RowBatch& rows, int64_t row) const {
    if (amount_.drawn_by.empty()) return amount_.least;
    return UniformFloat(draws_.Draw(rows.ids[row])[0]) * (amount_.most - amount_.least) +
           amount_.least;
  }

  const std::vector<std::string> features_;
  const ColorChange change_;
  const ChangeAmount amount_;
  const ElementDraws draws_;
  std::vector<float> values_;
};

std::optional<RowTransform> BindChange(
    const google::protobuf::RepeatedPtrField<std::string>& features, ColorChange change,
    const ChangeAmount& amount, const Schema& input, ConfigErrors& errors) {
  if (!amount.drawn_by.empty() && amount.least >= amount.most) {
    errors.Add("upper", absl::StrCat("want lower < upper, got ", ShortestText(amount.least),
                                     " and ", ShortestText(amount.most)));
  }
  const bool rgb = change == ColorChange::kSaturation || change == ColorChange::kHue;
  const auto made = [&](ColumnType* type) -> absl::Status {
    if (type->dtype != proto::UINT8 && type->dtype != proto::FLOAT32) {
      return absl::InvalidArgumentError(absl::StrCat(
          "feature ", Quote(type->name), " must be UINT8 or FLOAT32, got ", type->ToString()));
    }
    if (rgb && type->dims[2] != 3) {
      return absl::InvalidArgumentError(absl::StrCat(
          "feature ", Quote(type->name), " must have 3 channels, got ", type->ToString()));
    }
    return absl::OkStatus();
  };
  std::optional<RowTransform> bound = BindImages(features, input, made, errors);
  if (!errors.empty()) return std::nullopt;
  bound->is_random = !amount.drawn_by.empty();
  bound->in_place = true;
  bound->open = [change, amount](const RowOpenArgs& args, RowTransform* row) {
    row->apply = ColorChanger(row->makes, change, amount, args);
    return absl::OkStatus();
  };
  return bound;
}

}  // namespace

std::optional<RowTransform> BindAdjustBrightness(const proto::Transform& transform,
                                                 const Schema& input, ConfigErrors& errors) {
  const proto::AdjustByDelta& adjust = transform.adjust_brightness();
  return BindChange(adjust.feature(), ColorChange::kBrightness, {.least = adjust.delta()}, input,
                    errors);
}

std::optional<RowTransform> BindAdjustContrast(const proto::Transform& transform,
                                               const Schema& input, ConfigErrors& errors) {
  const proto::AdjustContrast& adjust = transform.adjust_contrast();
  return BindChange(adjust.feature(), ColorChange::kContrast, {.least = adjust.contrast_factor()},
                    input, errors);
}

std::optional<RowTransform> BindAdjustSaturation(const proto::Transform& transform,
                                                 const Schema& input, ConfigErrors& errors) {
  const proto::AdjustSaturation& adjust = transform.adjust_saturation();
  return BindChange(adjust.feature(), ColorChange::kSaturation,
                    {.least = adjust.saturation_factor()}, input, errors);
}

std::optional<RowTransform> BindAdjustHue(const proto::Transform& transform, const Schema& input,
                                          ConfigErrors& errors) {
  const proto::AdjustByDelta& adjust = transform.adjust_hue();
  return BindChange(adjust.feature(), ColorChange::kHue, {.least = adjust.delta()}, input, errors);
}

std::optional<RowTransform> BindRandomBrightness(const proto::Transform& transform,
                                                 const Schema& input, ConfigErrors& errors) {
  const proto::RandomDelta& random = transform.random_brightness();
  return BindChange(random.feature(), ColorChange::kBrightness,
                    {-random.max_delta(), random.max_delta(), "random_brightness"}, input, errors);
}

std::optional<RowTransform> BindRandomContrast(const proto::Transform& transform,
                                               const Schema& input, ConfigErrors& errors) {
  const proto::RandomFactor& random = transform.random_contrast();
  return BindChange(random.feature(), ColorChange::kContrast,
                    {random.lower(), random.upper(), "random_contrast"}, input, errors);
}

std::optional<RowTransform> BindRandomSaturation(const proto::Transform& transform,
                                                 const Schema& input, ConfigErrors& errors) {
  const proto::RandomFactor& random = transform.random_saturation();
  return BindChange(random.feature(), ColorChange::kSaturation,
                    {random.lower(), random.upper(), "random_saturation"}, input, errors);
}

std::optional<RowTransform> BindRandomHue(const proto::Transform& transform, const Schema& input,
                                          ConfigErrors& errors) {
  const proto::RandomDelta& random = transform.random_hue();
  if (random.max_delta() > 0.5f) {
    errors.Add("max_delta", absl::StrCat("max_delta of a hue must be at most 0.5, got ",
                                         ShortestText(random.max_delta())));
  }
  return BindChange(random.feature(), ColorChange::kHue,
                    {-random.max_delta(), random.max_delta(), "random_hue"}, input, errors);
}

}  // namespace tpurun
