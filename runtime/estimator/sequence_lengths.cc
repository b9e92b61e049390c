#include "runtime/estimator/sequence_lengths.h"

#include <algorithm>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "glog/logging.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/estimator/setup.h"

namespace tpurun {
namespace {

constexpr char kRemedy[] = "; take layers whose weights do not depend on the length";

// The first variable that `of` has and `others` have not; nullptr if there is none.
const Variable* FirstMissing(const std::vector<Variable>& of, const std::vector<Variable>& others) {
  for (const Variable& variable : of) {
    const auto is_it = [&](const Variable& other) { return other.name == variable.name; };
    if (std::none_of(others.begin(), others.end(), is_it)) return &variable;
  }
  return nullptr;
}

// `got`: the variables at a shorter length; `want`: those at the declared one.
absl::Status CheckVariables(const std::vector<Variable>& got, const std::vector<Variable>& want) {
  if (const Variable* const missing = FirstMissing(want, got)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the model has no variable ", Quote(missing->name), kRemedy));
  }
  if (const Variable* const added = FirstMissing(got, want)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the model has another variable, ", Quote(added->name), kRemedy));
  }
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i].shape == want[i].shape) continue;
    return absl::InvalidArgumentError(absl::StrCat("variable ", Quote(got[i].name), " is ",
                                                   got[i].shape.ToString(), ", and uncut it is ",
                                                   want[i].shape.ToString(), kRemedy));
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<int64_t> ShorterLengths(const EstimatorOptions& options) {
  if (!options.train.buckets.has_value()) return {};
  const std::vector<int64_t>& lengths = options.train.buckets->lengths;
  return {lengths.begin(), lengths.end() - 1};
}

std::string PlaceOfLength(const EstimatorOptions& options, int64_t length) {
  const SequenceBuckets& buckets = *options.train.buckets;
  return absl::StrCat(buckets.where, ": bucket_by_sequence_length: with ",
                      absl::StrJoin(buckets.features, ", "), " cut to ", length);
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

void LogFullLength(const EstimatorOptions& options) {
  if (!options.train.buckets.has_value()) return;
  LOG(INFO) << "All steps have the longest sequences of bucket_by_sequence_length, of "
            << options.train.buckets->lengths.back() << ".";
}

}  // namespace tpurun
