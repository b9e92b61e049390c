#include "cli/predict.h"

#include <memory>
#include <string>
#include <vector>

#include "cli/compose.h"
#include "cli/prediction_writer.h"
#include "cli/progress.h"
#include "data/sources/source_list.h"
#include "runtime/base/status.h"

namespace tpurun {

absl::Status PredictCommand(const CommandLine& command) {
  ASSIGN_OR_RETURN(Composition composition, Compose(command, {.predict = true}));
  const proto::Predict predict = composition.options.config.predict();
  const std::string output = command.GetString("output");
  std::vector<std::string> inputs;
  if (!output.empty()) inputs = FilesOf(predict.input().source());
  ASSIGN_OR_RETURN(const std::unique_ptr<PredictionWriter> writer,
                   MakePredictionWriter(output, inputs));
  ProgressLine line(command, output.empty());
  composition.options.counted = line.Counter("examples");
  Estimator estimator(std::move(composition.options));
  RETURN_IF_ERROR(
      estimator.Predict(composition.input_fn, predict, command.GetString("checkpoint"),
                        [&](const PredictedBatch& batch) { return writer->Write(batch); }));
  return writer->Finish();
}

}  // namespace tpurun
