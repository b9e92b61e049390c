#include "cli/predict.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "cli/compose.h"
#include "cli/prediction_writer.h"
#include "data/sources/source_list.h"
#include "runtime/base/status.h"

namespace tpurun {

absl::Status PredictCommand(const CommandLine& command) {
  ASSIGN_OR_RETURN(Composition composition, Compose(command, {.predict = true}));
  const auto& configured = composition.options.config.predict().keys();
  const std::vector<std::string> keys(configured.begin(), configured.end());
  const std::string output = command.GetString("output");
  std::vector<std::string> inputs;
  if (!output.empty()) inputs = FilesOf(composition.options.config.predict().input().source());
  ASSIGN_OR_RETURN(const std::unique_ptr<PredictionWriter> writer,
                   MakePredictionWriter(output, inputs));
  Estimator estimator(std::move(composition.options));
  const absl::Status predicted =
      estimator.Predict(composition.input_fn, keys, command.GetString("checkpoint"),
                        [&](const PredictedBatch& batch) { return writer->Write(batch); });
  if (absl::StartsWith(predicted.message(), "keys: ")) {
    return Annotate(predicted, composition.keys_where);
  }
  RETURN_IF_ERROR(predicted);
  return writer->Finish();
}

}  // namespace tpurun
