#include "data/convert/bounding_boxes.h"

#include <algorithm>
#include <memory>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "data/csv.h"
#include "data/csv_rows.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/io/file.h"
#include "runtime/io/identity.h"

namespace tpurun {
namespace {

// A share as the field has it, or the nearest of 0 and 1.
absl::StatusOr<float> ParseShare(std::string_view field, const CsvRows& rows, size_t column) {
  const std::optional<double> value = ParseDouble(StripBlanks(field));
  if (value.has_value() && *value == *value) {
    return static_cast<float>(std::clamp(*value, 0.0, 1.0));
  }
  return absl::DataLossError(absl::StrCat(rows.Where(), ": column ", column, ": got ",
                                          ShownField(field),
                                          ", want a share of the image, 0 to 1"));
}

}  // namespace

absl::StatusOr<BoundingBoxes> BoundingBoxes::Read(const std::string& path) {
  ASSIGN_OR_RETURN(std::unique_ptr<ByteSource> source, OpenMaybeGzip(path));
  CsvRows rows{CsvFormat()};
  rows.Open(std::move(source), path, 0);
  BoundingBoxes boxes;
  while (true) {
    ASSIGN_OR_RETURN(const bool found, rows.Read());
    if (!found) return boxes;
    const std::vector<std::string_view>& fields = rows.fields();
    if (fields.size() != 5) {
      return absl::DataLossError(absl::StrCat(rows.Where(), ": got ", fields.size(),
                                              " columns, want NAME,XMIN,YMIN,XMAX,YMAX"));
    }
    float shares[4];
    for (size_t i = 0; i < 4; ++i) {
      ASSIGN_OR_RETURN(shares[i], ParseShare(fields[i + 1], rows, i + 1));
    }
    const BoundingBox box = {shares[0], shares[1], shares[2], shares[3]};
    std::vector<BoundingBox>& of_image = boxes.of_images_[std::string(StripBlanks(fields[0]))];
    if (box.xmin < box.xmax && box.ymin < box.ymax) of_image.push_back(box);
  }
}

void BoundingBoxes::AddTo(const std::string& name, int64_t label,
                          tensorflow::Example* example) const {
  auto& features = *example->mutable_features()->mutable_feature();
  const auto list = [&](const char* side) {
    return features[absl::StrCat("image/object/bbox/", side)].mutable_float_list();
  };
  auto* const xmin = list("xmin");
  auto* const xmax = list("xmax");
  auto* const ymin = list("ymin");
  auto* const ymax = list("ymax");
  auto* const labels = features["image/object/bbox/label"].mutable_int64_list();
  const auto found = of_images_.find(name);
  if (found == of_images_.end()) return;
  for (const BoundingBox& box : found->second) {
    xmin->add_value(box.xmin);
    xmax->add_value(box.xmax);
    ymin->add_value(box.ymin);
    ymax->add_value(box.ymax);
    labels->add_value(label);
  }
}

absl::StatusOr<std::optional<BoundingBoxes>> BoxesOf(
    const ConvertArgs& args, std::span<const ImageFile> files,
    const std::function<std::string(const ImageFile& file)>& name_of) {
  if (args.bounding_boxes.empty()) return std::nullopt;
  ASSIGN_OR_RETURN(BoundingBoxes boxes, BoundingBoxes::Read(args.bounding_boxes));
  const auto has_boxes = [&](const ImageFile& file) {
    return boxes.of_images().contains(name_of(file));
  };
  if (std::any_of(files.begin(), files.end(), has_boxes)) return boxes;
  return absl::DataLossError(absl::StrCat(
      args.bounding_boxes, ": has boxes of none of the images: ", boxes.of_images().begin()->first,
      " is not in ", absl::StrJoin(args.inputs, " and ")));
}

std::string BoxesIdentity(const std::optional<BoundingBoxes>& boxes) {
  if (!boxes.has_value()) return "boxes: none\n";
  ListIdentity identity;
  for (const auto& [name, of_image] : boxes->of_images()) {
    identity.Add(name);
    identity.Add(
        {reinterpret_cast<const char*>(of_image.data()), of_image.size() * sizeof(BoundingBox)});
  }
  return absl::StrCat("boxes: ", identity.text(), "\n");
}

}  // namespace tpurun
