// resize { feature size method half_pixel_centers }: tf.image.resize.
#include "data/images/resize.h"

#include <utility>

#include "data/transforms/image_rows.h"
#include "data/transforms/transform_list.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

void ResizeRow(const Column& from, int64_t row, const HeightAndWidth& size, bool nearest,
               Resizer& resizer, Column* to) {
  const ImageSize image = ImageSizeOf(from.DimsOf(row));
  const std::byte* const bytes = from.BytesOf(row).data();
  const int64_t dims[] = {size.height, size.width, image.channels};
  std::byte* const out = to->AddRow(dims);
  if (nearest) {
    resizer.ResizeNearest(bytes, image, ElementBytes(from.type.dtype), out);
  } else if (from.type.dtype == proto::UINT8) {
    resizer.Resize(reinterpret_cast<const uint8_t*>(bytes), image, reinterpret_cast<float*>(out));
  } else {
    resizer.Resize(reinterpret_cast<const float*>(bytes), image, reinterpret_cast<float*>(out));
  }
}

// Resizes an image as it is decoded.
RowTransform::ImageRows RowsFor(const HeightAndWidth& size, Resizer& resizer, Column* to) {
  return {.begin =
              [&size, &resizer, to](const ImageSize& image) {
                const int64_t dims[] = {size.height, size.width, image.channels};
                resizer.Begin(image, reinterpret_cast<float*>(to->AddRow(dims)));
              },
          .take = [&resizer](const uint8_t* row) { resizer.AddRow(row); }};
}

}  // namespace

std::optional<RowTransform> BindResize(const proto::Transform& transform, const Schema& input,
                                       ConfigErrors& errors) {
  const proto::Resize& resize = transform.resize();
  const std::optional<HeightAndWidth> size = SizeField(resize.size(), errors);
  const bool nearest = resize.method() == proto::Resize::NEAREST_NEIGHBOR;
  const auto made = [&](ColumnType* type) {
    if (!nearest && type->dtype != proto::UINT8 && type->dtype != proto::FLOAT32) {
      return absl::InvalidArgumentError(absl::StrCat("feature ", Quote(type->name),
                                                     " must be UINT8 or FLOAT32, got ",
                                                     type->ToString(), "; put cast before resize"));
    }
    if (!nearest) type->dtype = proto::FLOAT32;
    if (size.has_value()) type->dims = {size->height, size->width, type->dims[2]};
    return absl::OkStatus();
  };
  std::optional<RowTransform> bound = BindImages(resize.feature(), input, made, errors);
  if (!errors.empty()) return std::nullopt;
  const Resizer resizer(resize.method(), resize.half_pixel_centers(), size->height, size->width);
  bound->resizes_by_rows = resizer.takes_rows();
  bound->resize = [features = bound->makes, size = *size, nearest,
                   resizer](const RowTransform::BesideResize& beside) -> RowTransform::Apply {
    return [=, resizer = resizer](const RowBatch& rows, Table* out) mutable {
      for (const std::string& feature : features) {
        Column& to = out->column(feature);
        to.Clear();
        for (int64_t row = 0; row < rows.in.rows; ++row) {
          resizer.set_mirrors(beside.mirrors != nullptr && beside.mirrors(rows, row));
          if (beside.decode != nullptr) {
            RETURN_IF_ERROR(beside.decode(rows, row, RowsFor(size, resizer, &to)));
          } else {
            ResizeRow(rows.in.column(feature), row, size, nearest, resizer, &to);
          }
        }
      }
      return absl::OkStatus();
    };
  };
  bound->apply = bound->resize({});
  return bound;
}

}  // namespace tpurun
