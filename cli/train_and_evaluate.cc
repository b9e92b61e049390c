#include "cli/train_and_evaluate.h"

#include <utility>

#include "cli/compose.h"
#include "cli/progress.h"
#include "cli/results.h"
#include "cli/training.h"
#include "data/character_vocabulary.h"
#include "runtime/base/status.h"

namespace tpurun {

absl::Status TrainAndEvaluateCommand(const CommandLine& command) {
  ASSIGN_OR_RETURN(
      Composition composition,
      Compose(command,
              {.train = true, .evaluate = true, .all_evaluations = true, .alternating = true}));
  ProgressLine line(command, /*writes_output=*/true);
  WatchTraining(line, composition.options);
  Estimator estimator(std::move(composition.options));
  const bool several = composition.evaluations.size() > 1;
  ASSIGN_OR_RETURN(
      const TrainResult result,
      estimator.TrainAndEvaluate({.train = composition.input_fn,
                                  .evaluations = std::move(composition.evaluations),
                                  .export_input = composition.export_input_fn,
                                  .assets = {kVocabularyFile},
                                  .take = [several](const Evaluation& evaluation) {
                                    return WriteResult(EvaluationJson(evaluation, several));
                                  }}));
  return WriteResult(TrainResultJson(result));
}

}  // namespace tpurun
