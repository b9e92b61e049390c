#include "runtime/estimator/eval_step.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/base/dcheck.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

std::vector<OutfeedSlot> SlotsOf(const EvalStep& step) {
  std::vector<OutfeedSlot> slots;
  for (const Output& output : step.graph.outputs()) {
    slots.push_back({"", step.graph.shape(output.value)});
  }
  return slots;
}

// What the graph gives of a metric.
std::vector<Value> SharesOf(const EvalMetric& metric) {
  std::vector<Value> shares = metric.statistics;
  if (metric.undefined.valid()) shares.push_back(metric.undefined);
  return shares;
}

}  // namespace

absl::Status CheckEnds(const InputSource& input, const proto::Evaluate& evaluate) {
  if (!input.endless || evaluate.has_steps()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "evaluate without steps is one pass over the input, but this input repeats without end; "
      "give steps, or take repeat out");
}

absl::StatusOr<EvalStep> BuildEvalStep(EstimatorSpec spec, const InputDeployment& deployment) {
  const int64_t batch_per_replica = deployment.batch_per_replica();
  EvalStep step{.graph = std::move(spec.graph),
                .metrics = std::move(spec.eval_metrics),
                .batch_per_replica = batch_per_replica,
                .counted_replicas = deployment.counted_replicas(),
                .class_names = std::move(spec.class_names)};
  if (step.metrics.empty()) {
    return absl::InvalidArgumentError(
        "the model has nothing to evaluate; give it a head, a loss or eval_metric entries");
  }
  for (const EvalMetric& metric : step.metrics) {
    const std::vector<Value> shares = SharesOf(metric);
    for (size_t i = 0; i < shares.size(); ++i) {
      const Shape& shape = step.graph.shape(shares[i]);
      if (shape.dtype != DType::kF32 || shape.rank() == 0 || shape.dims[0] != batch_per_replica) {
        return absl::InternalError(absl::StrCat("metric ", Quote(metric.name), ": statistic ", i,
                                                " is ", shape.ToString(), ", want f32[",
                                                batch_per_replica, ",...]"));
      }
      step.graph.AddOutput(absl::StrCat(metric.name, "/", i), shares[i]);
    }
  }
  return step;
}

EvalSums::EvalSums(const EvalStep& step)
    : step_(step), layout_(LayoutOf(SlotsOf(step), step.graph.num_replicas())) {
  for (const Output& output : step.graph.outputs()) {
    sums_.emplace_back(step.graph.shape(output.value).row_elements(), 0.0);
  }
}

double EvalSums::LossOfShard0(const std::byte* slots) const {
  const EvalMetric& loss = step_.metrics.front();
  std::vector<double> sums;
  for (size_t i = 0; i < loss.statistics.size(); ++i) {
    const auto* share = reinterpret_cast<const float*>(slots + layout_.offsets[i]);
    const size_t first = sums.size();
    sums.resize(first + sums_[i].size(), 0.0);
    for (int64_t row = 0; row < step_.batch_per_replica; ++row) {
      for (size_t j = first; j < sums.size(); ++j) sums[j] += *share++;
    }
  }
  return loss.result(sums).values[0];
}

void EvalSums::Add(const std::byte* slots) {
  losses_of_shard_0_ += LossOfShard0(slots);
  ++steps_;
  for (size_t i = 0; i < sums_.size(); ++i) {
    for (int replica = 0; replica < step_.counted_replicas; ++replica) {
      const auto* share = reinterpret_cast<const float*>(slots + layout_.offsets[i] +
                                                         replica * layout_.replica_bytes[i]);
      for (int64_t row = 0; row < step_.batch_per_replica; ++row) {
        for (double& sum : sums_[i]) sum += *share++;
      }
    }
  }
}

absl::StatusOr<std::vector<std::pair<std::string, MetricValue>>> EvalSums::Results() const {
  std::vector<std::pair<std::string, MetricValue>> results;
  auto next = sums_.begin();
  for (const EvalMetric& metric : step_.metrics) {
    std::vector<double> own;
    for (size_t i = 0; i < metric.statistics.size(); ++i, ++next) {
      own.insert(own.end(), next->begin(), next->end());
    }
    if (const double undefined = metric.undefined.valid() ? (next++)->front() : 0; undefined > 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("metric ", Quote(metric.name), ": ", undefined,
                       " of the evaluated values have no place in it, want ", metric.wanted));
    }
    results.emplace_back(metric.name, metric.result(own));
  }
  TPURUN_DCHECK(next == sums_.end());
  return results;
}

double EvalSums::loss_shard_0() const {
  return losses_of_shard_0_ / static_cast<double>(std::max<int64_t>(steps_, 1));
}

absl::StatusOr<Graph> BuildPredictStep(EstimatorSpec spec, const std::vector<std::string>& keys,
                                       const std::string& keys_where) {
  std::vector<std::string> known;
  for (const NamedValue& prediction : spec.predictions) known.push_back(prediction.name);
  if (known.empty()) {
    return absl::InvalidArgumentError(
        "the model predicts nothing; give it a head, or prediction entries");
  }
  for (const std::string& key : keys.empty() ? known : keys) {
    size_t i = 0;
    while (i < known.size() && known[i] != key) ++i;
    if (i == known.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          keys_where, ": keys: the model does not predict ", Quote(key), DidYouMean(key, known)));
    }
    if (spec.graph.FindOutput(key) < 0) spec.graph.AddOutput(key, spec.predictions[i].value);
  }
  return std::move(spec.graph);
}

}  // namespace tpurun
