// rejection_resample { feature target_dist initial_dist }: leaves out elements of classes that are
// too frequent, at random. data/filtered_items.cc asks it about each element.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "data/transforms/image_rows.h"
#include "data/transforms/transform_list.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

// Rejection sampling that keeps the most elements: class i stays with the probability
// r[i] / max(r), where r[i] = target_dist[i] / initial_dist[i].
std::vector<double> AcceptanceOf(const proto::RejectionResample& resample) {
  std::vector<double> ratios;
  for (int i = 0; i < resample.target_dist_size(); ++i) {
    ratios.push_back(static_cast<double>(resample.target_dist(i)) / resample.initial_dist(i));
  }
  const double largest = *std::max_element(ratios.begin(), ratios.end());
  for (double& ratio : ratios) ratio /= largest;
  return ratios;
}

// nullopt: the column has not the type of a class.
std::optional<int64_t> ClassOf(const Column& column, int64_t row) {
  switch (column.type.dtype) {
    case proto::UINT8:
      return column.values<uint8_t>()[row];
    case proto::INT32:
      return column.values<int32_t>()[row];
    case proto::INT64:
      return column.values<int64_t>()[row];
    case proto::UINT32:
      return column.values<uint32_t>()[row];
    default:
      return std::nullopt;
  }
}

}  // namespace

void CheckRejectionResample(const proto::Transform& transform, ConfigErrors& errors) {
  const proto::RejectionResample& resample = transform.rejection_resample();
  const auto& targets = resample.target_dist();
  if (targets.empty() || resample.initial_dist().empty()) return;  // their rules tell of it
  if (targets.size() != resample.initial_dist_size()) {
    errors.Add("initial_dist",
               absl::StrCat("initial_dist must have one value for each class of target_dist, ",
                            targets.size(), ", got ", resample.initial_dist_size()));
  }
  if (std::none_of(targets.begin(), targets.end(), [](float target) { return target > 0; })) {
    errors.Add("target_dist", "every target_dist is 0: no element would stay");
  }
}

void CheckClass(const proto::RejectionResample& resample, const Schema& schema,
                ConfigErrors& errors) {
  const int index = FindFeature(schema, resample.feature(), "feature", errors);
  if (index < 0) return;
  const ColumnType& type = schema[index];
  if (type.dims.empty() && (type.dtype == proto::UINT8 || type.dtype == proto::INT32 ||
                            type.dtype == proto::INT64 || type.dtype == proto::UINT32)) {
    return;
  }
  errors.Add("feature", absl::StrCat("feature ", Quote(type.name),
                                     " must be a scalar of UINT8, INT32, INT64 or UINT32, got ",
                                     type.ToString(),
                                     type.dtype == proto::STRING
                                         ? "; transform { lookup {} } makes the number of its class"
                                         : ""));
}

KeepRow KeepClasses(const proto::RejectionResample& resample, const RowOpenArgs& args) {
  return [feature = resample.feature(), acceptance = AcceptanceOf(resample),
          draws = ElementDraws("rejection_resample", args)](
             const Column& column, int64_t row, const RowId& id) -> absl::StatusOr<bool> {
    const int64_t label = *ClassOf(column, row);
    if (label < 0 || label >= std::ssize(acceptance)) {
      return absl::DataLossError(absl::StrCat("rejection_resample: feature ", Quote(feature),
                                              " is class ", label, ", want one of target_dist, 0..",
                                              std::ssize(acceptance) - 1));
    }
    return draws.Draw(id)[0] * 0x1p-32 < acceptance[label];
  };
}

}  // namespace tpurun
