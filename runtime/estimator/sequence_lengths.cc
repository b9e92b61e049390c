#include "runtime/estimator/sequence_lengths.h"

#include <algorithm>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/estimator/setup.h"

namespace tpurun {
namespace {

absl::Status CheckVariables(const std::vector<Variable>& got, const std::vector<Variable>& want) {
  for (size_t i = 0; i < std::min(got.size(), want.size()); ++i) {
    if (got[i].name == want[i].name && got[i].shape == want[i].shape) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "variable ", Quote(got[i].name), " is ", got[i].shape.ToString(),
        ", at the declared length ", Quote(want[i].name), " is ", want[i].shape.ToString(),
        "; take buckets only with layers whose weights do not depend on the length"));
  }
  if (got.size() == want.size()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the model has ", got.size(), " variables, at the declared length ", want.size()));
}

}  // namespace

std::vector<int64_t> ShorterLengths(const EstimatorOptions& options) {
  if (!options.train.buckets.has_value()) return {};
  const std::vector<int64_t>& lengths = options.train.buckets->lengths;
  return {lengths.begin(), lengths.end() - 1};
}

std::string PlaceOfLength(const EstimatorOptions& options, int64_t length) {
  return absl::StrCat(options.train.buckets->where, ": bucket_by_sequence_length: at length ",
                      length);
}

absl::StatusOr<EstimatorSpec> CallModelFnOfLength(const EstimatorOptions& options, int64_t length,
                                                  const std::vector<Variable>& variables) {
  const SequenceBuckets& buckets = *options.train.buckets;
  std::map<std::string, int64_t> lengths;
  for (const std::string& feature : buckets.features) lengths[feature] = length;
  const std::string place = PlaceOfLength(options, length);
  absl::StatusOr<EstimatorSpec> spec =
      CallModelFn(options, ModeKey::kTrain, options.config.train_batch_size(), true,
                  SequenceStep::kBatch, lengths);
  if (!spec.ok()) return Annotate(spec.status(), place);
  RETURN_IF_ERROR(Annotate(CheckVariables(spec->graph.variables(), variables), place));
  return spec;
}

absl::Status CheckLengths(const EstimatorOptions& options, const std::vector<Variable>& variables) {
  for (const int64_t length : ShorterLengths(options)) {
    RETURN_IF_ERROR(CallModelFnOfLength(options, length, variables).status());
  }
  return absl::OkStatus();
}

}  // namespace tpurun
