#include "runtime/estimator/learning_rates.h"

#include "runtime/base/status.h"
#include "runtime/ir/evaluate.h"
#include "runtime/ir/graph_builder.h"
#include "runtime/optimizers/schedules.h"
#include "runtime/spec/global_step.h"

namespace tpurun {

absl::StatusOr<LearningRates> LearningRates::Create(const std::vector<OptimizerSpec>& optimizers) {
  GraphBuilder b(Graph("learning_rates"));
  const Value step = b.Read(GlobalStep(b));
  for (const OptimizerSpec& optimizer : optimizers) {
    b.AddOutput(LearningRateTag(optimizer, optimizers.size()),
                LearningRate(b, optimizer.optimizer.learning_rate(), step));
  }
  RETURN_IF_ERROR(b.status());
  LearningRates rates;
  rates.graph_ = b.Take();
  return rates;
}

absl::StatusOr<std::vector<std::pair<std::string, float>>> LearningRates::At(
    int64_t global_step) const {
  EvaluateArgs args;
  args.variables[kGlobalStep] = {Literal::Scalar(global_step)};
  ASSIGN_OR_RETURN(const EvaluateResult result, Evaluate(graph_, args));
  std::vector<std::pair<std::string, float>> rates;
  for (size_t i = 0; i < graph_.outputs().size(); ++i) {
    rates.emplace_back(graph_.outputs()[i].name, result.outputs[i][0].values<float>()[0]);
  }
  return rates;
}

}  // namespace tpurun
