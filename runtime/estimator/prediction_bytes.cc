#include "runtime/estimator/prediction_bytes.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/memory.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

constexpr double kMaxBytes = 1 << 30;

}  // namespace

absl::Status CheckPredictionBytes(const Graph& step, const std::string& where) {
  if (step.num_replicas() == 1) return absl::OkStatus();
  double bytes = 0;
  std::vector<std::string> shapes;
  for (const Output& output : step.outputs()) {
    Shape shape = step.shape(output.value);
    shape.dims[0] *= step.num_replicas();
    bytes += static_cast<double>(shape.bytes());
    shapes.push_back(absl::StrCat(Quote(output.name), " ", shape.ToString()));
  }
  if (bytes <= kMaxBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(where, ": the predictions of a batch are ", BytesText(bytes),
                   ", want at most 1 GiB: ", absl::StrJoin(shapes, ", "),
                   "; lower predict_batch_size, or name fewer of them in predict.keys"));
}

}  // namespace tpurun
