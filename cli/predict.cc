#include "cli/predict.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
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
  const absl::Status predicted =
      estimator.Predict(composition.input_fn, predict, command.GetString("checkpoint"),
                        [&](const PredictedBatch& batch) { return writer->Write(batch); });
  if (absl::StartsWith(predicted.message(), "keys: ")) {
    return Annotate(predicted, composition.keys_where);
  }
  RETURN_IF_ERROR(predicted);
  return writer->Finish();
}

}  // namespace tpurun
