#include "cli/predict.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "cli/compose.h"
#include "cli/prediction_writer.h"
#include "cli/signals.h"
#include "data/sources/source_list.h"
#include "runtime/base/status.h"
#include "runtime/io/file.h"

namespace tpurun {

absl::Status PredictCommand(const CommandLine& command) {
  ASSIGN_OR_RETURN(Composition composition, Compose(command, {.predict = true}));
  const auto& configured = composition.options.config.predict().keys();
  const std::vector<std::string> keys(configured.begin(), configured.end());
  const std::string output = command.GetString("output");
  if (!output.empty()) RemoveOnInterrupt({TemporaryName(ReplaceableFile(output).value_or(output))});
  ASSIGN_OR_RETURN(
      const std::unique_ptr<PredictionWriter> writer,
      MakePredictionWriter(output, FilesOf(composition.options.config.predict().input().source())));
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
