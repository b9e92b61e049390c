#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/init_features.h"
#include "cli/init_plan.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

using Kind = PlannedFeature::Kind;

// What a label is called where nobody says.
constexpr std::string_view kLabelNames[] = {"label",  "labels", "class",
                                            "target", "y",      "image/class/label"};

using Features = std::map<std::string, InspectedFeature>;

absl::StatusOr<std::string> FindLabelKey(const Features& features, const std::string& label) {
  std::vector<std::string> known;
  for (const auto& [name, feature] : features) known.push_back(name);
  if (!label.empty()) {
    if (features.count(label) > 0) return label;
    return absl::InvalidArgumentError(
        absl::StrCat("--label: no feature is called ", Quote(label), DidYouMean(label, known)));
  }
  for (const std::string_view name : kLabelNames) {
    if (features.count(std::string(name)) > 0) return std::string(name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("no feature is called \"label\": --label=NAME says which one it is (known: ",
                   absl::StrJoin(known, ", "), ")"));
}

// Of an image whose bytes are so many: as features "height", "width" and "channels" or "depth" say,
// or a square, grey or RGB; empty where none fits.
std::vector<int64_t> GuessImageShape(const Features& features, int64_t bytes) {
  const auto constant = [&features](std::string_view name) -> int64_t {
    const auto found = features.find(std::string(name));
    if (found == features.end()) return 0;
    const NumberStatistics& all = found->second.column.all();
    return all.count > 0 && all.min == all.max ? static_cast<int64_t>(all.min) : 0;
  };
  for (const std::string_view prefix : {"", "image/"}) {
    const int64_t height = constant(absl::StrCat(ToAbsl(prefix), "height"));
    const int64_t width = constant(absl::StrCat(ToAbsl(prefix), "width"));
    if (height <= 0 || width <= 0 || height > bytes || width > bytes) continue;
    const int64_t channels = bytes / height / width;
    if (channels > 0 && height * width * channels == bytes) return {height, width, channels};
  }
  for (const int64_t channels : {1, 3}) {
    const int64_t side = std::llround(std::sqrt(static_cast<double>(bytes / channels)));
    if (side >= 4 && side * side * channels == bytes) return {side, side, channels};
  }
  return {};
}

// All its values are image files.
bool IsEncodedImage(const InspectedFeature& seen) {
  return seen.images > 0 && seen.images == seen.examples;
}

void PlanEncodedImage(const InspectedFeature& seen, PlannedFeature& feature) {
  // Not larger than most of the images, and small enough to be learned in minutes.
  int64_t side = 32;
  for (const int64_t larger : {48, 64, 96}) {
    if (static_cast<double>(larger) <= seen.shorter_sides.mean) side = larger;
  }
  const int64_t channels = seen.most_channels <= 2 ? 1 : 3;
  feature.kind = Kind::kEncodedImage;
  feature.dtype = proto::STRING;
  feature.shape = {side, side, channels};
  feature.file_bytes = seen.bytes.most;
  feature.comment = absl::StrCat("files of images, ", channels == 1 ? "grey" : "RGB",
                                 ", the shorter side ", RangeText(seen.shorter_sides), " pixels");
}

// What stands beside an image in its record, such as its size or the name of its class, is not to
// learn from.
bool IsBesideAnImage(const std::string& name, const Features& features) {
  for (const auto& [other, seen] : features) {
    const size_t folder = other.rfind('/');
    if (folder == std::string::npos || !IsEncodedImage(seen) || other == name) continue;
    if (name.starts_with(other.substr(0, folder + 1))) return true;
  }
  return false;
}

void Normalize(const NumberStatistics& numbers, PlannedFeature& feature) {
  feature.mean.push_back(static_cast<float>(numbers.mean));
  feature.stddev.push_back(PositiveOr1(numbers.stddev()));
}

void PlanBytes(const InspectedFeature& seen, const std::vector<int64_t>& known,
               PlannedFeature& feature) {
  if (IsEncodedImage(seen)) return PlanEncodedImage(seen, feature);
  if (!seen.bytes.constant()) {
    return LeaveOut(
        absl::StrCat("bytes of different lengths, ", seen.bytes.least, " to ", seen.bytes.most),
        feature);
  }
  if (!(seen.pixels.min < seen.pixels.max)) return LeaveOut("always the same byte", feature);
  std::vector<int64_t> shape = known;
  if (known.size() == 2) shape = {known[0], known[1], 1};
  const bool image = shape.size() == 3;
  feature.kind = image ? Kind::kImage : Kind::kNumber;
  feature.dtype = proto::UINT8;
  feature.shape = image ? shape : std::vector<int64_t>{seen.bytes.least};
  feature.comment = image ? absl::StrCat("images of ", absl::StrJoin(shape, "x"), " bytes")
                          : Plural(seen.bytes.least, "byte");
  if (image && shape[2] == 3) {
    for (const NumberStatistics& channel : seen.channels) Normalize(channel, feature);
  } else {
    Normalize(seen.pixels, feature);
  }
}

void PlanVector(const InspectedFeature& seen, PlannedFeature& feature) {
  NumberStatistics all;
  for (const NumberStatistics& element : seen.elements) all.Merge(element);
  if (!(all.min < all.max)) return LeaveOut("always the same number", feature);
  feature.kind = Kind::kNumber;
  feature.shape = {seen.values.most};
  feature.comment = absl::StrCat(seen.values.most, " numbers, ", RangeText(all));
  for (const NumberStatistics& element : seen.elements) Normalize(element, feature);
}

void PlanFeature(const InspectedFeature& seen, int64_t examples, const std::vector<int64_t>& shape,
                 PlannedFeature& feature) {
  using tensorflow::Feature;
  if (IsReserved(feature.name)) return LeaveOut("the name is reserved", feature);
  if (seen.kind == Feature::KIND_NOT_SET) return LeaveOut("lists of several kinds", feature);
  if (!seen.values.constant()) {
    return LeaveOut(
        absl::StrCat("lists of different lengths, ", seen.values.least, " to ", seen.values.most),
        feature);
  }
  if (seen.not_finite > 0) {
    return LeaveOut(
        absl::StrCat("NaN or an infinity in ", seen.not_finite, " of ", examples, " examples"),
        feature);
  }
  const bool scalar = seen.values.most == 1;
  const bool text = seen.kind == Feature::kBytesList && scalar && seen.is_text;
  if (seen.kind == Feature::kBytesList) feature.dtype = proto::STRING;
  if (seen.kind == Feature::kInt64List) feature.dtype = proto::INT64;
  InspectedColumn column = seen.column;
  column.AddMissing([] { return ""; }, examples - seen.examples);
  if (text || (scalar && seen.kind != Feature::kBytesList)) {
    return PlanScalar(column, {}, examples, /*may_count=*/false, feature);
  }
  if (seen.examples < examples) {
    return LeaveOut(
        absl::StrCat("missing in ", examples - seen.examples, " of ", examples, " examples"),
        feature);
  }
  if (!scalar && seen.kind == Feature::kBytesList) return LeaveOut("lists of strings", feature);
  if (scalar) return PlanBytes(seen, shape, feature);
  PlanVector(seen, feature);
}

absl::Status CheckLabel(const std::string& name, const InspectedFeature& seen) {
  const std::string title = absl::StrCat("label ", Quote(name), ": ");
  if (IsReserved(name)) {
    return absl::DataLossError(absl::StrCat(title, "the name is reserved, want another"));
  }
  if (seen.kind == tensorflow::Feature::KIND_NOT_SET) {
    return absl::DataLossError(absl::StrCat(title, "lists of several kinds, want one"));
  }
  if (!seen.values.constant() || seen.values.most != 1) {
    return absl::DataLossError(absl::StrCat(title, "lists of ", seen.values.least, " to ",
                                            seen.values.most, " values, want one value"));
  }
  if (seen.kind == tensorflow::Feature::kBytesList && !seen.is_text) {
    return absl::DataLossError(absl::StrCat(title, "bytes that are no text, want numbers or text"));
  }
  if (seen.not_finite > 0) {
    return absl::DataLossError(
        absl::StrCat(title, Plural(seen.not_finite, "example"),
                     " with NaN or an infinity; leave them out of the file"));
  }
  return absl::OkStatus();
}

void WarnOfLargeIntegers(const InspectedColumn& column, const PlannedFeature& feature,
                         InitPlan& plan) {
  std::string warning = LargeIntegersWarning(column, feature, /*may_be_ids=*/false);
  if (!warning.empty()) plan.warnings.push_back(std::move(warning));
}

}  // namespace

absl::StatusOr<InitPlan> PlanExamples(const ExampleInspector& inspected,
                                      const std::map<std::string, std::vector<int64_t>>& shapes,
                                      const std::string& label) {
  InitPlan plan;
  RETURN_IF_ERROR(
      SetExamples(inspected.examples(), inspected.held_out(), inspected.shards(), plan));
  const Features& features = inspected.features();
  ASSIGN_OR_RETURN(const std::string label_key, FindLabelKey(features, label));
  for (const auto& [name, seen] : features) {
    PlannedFeature feature{.name = name};
    if (name == label_key) {
      RETURN_IF_ERROR(CheckLabel(name, seen));
      plan.label = plan.features.size();
      if (seen.kind == tensorflow::Feature::kInt64List) feature.dtype = proto::INT64;
    } else if (IsBesideAnImage(name, features)) {
      LeaveOut("of the image, which is decoded", feature);
    } else {
      const auto shape = shapes.find(name);
      PlanFeature(
          seen, plan.examples,
          shape != shapes.end() ? shape->second : GuessImageShape(features, seen.bytes.most),
          feature);
      if (feature.kind == Kind::kNumber && seen.values.most == 1)
        WarnOfLargeIntegers(seen.column, feature, plan);
    }
    plan.features.push_back(std::move(feature));
  }
  const InspectedFeature& seen = features.at(label_key);
  InspectedColumn label_column = seen.column;
  label_column.AddMissing([] { return ""; }, plan.examples - seen.examples);
  RETURN_IF_ERROR(PlanLabel(label_column, plan));
  if (plan.is_regression()) WarnOfLargeIntegers(label_column, plan.label_feature(), plan);
  RETURN_IF_ERROR(FinishPlan(plan));
  return plan;
}

}  // namespace tpurun
