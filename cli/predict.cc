#include "cli/predict.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/compose.h"
#include "cli/prediction_writer.h"
#include "cli/progress.h"
#include "data/character_vocabulary.h"
#include "data/sources/source_list.h"
#include "runtime/base/status.h"
#include "runtime/io/file.h"

namespace tpurun {
namespace {

// One row with the one column "text".
absl::Status WriteGenerated(const std::string& text, PredictionWriter& writer) {
  RETURN_IF_ERROR(writer.Write({.rows = 1, .columns = {{"text", Shape{}, nullptr, &text}}}));
  return writer.Finish();
}

absl::Status GenerateText(const CommandLine& command, Composition composition) {
  const proto::Generate generate = composition.options.config.predict().generate();
  if (command.Has("dump_infeed")) {
    return absl::InvalidArgumentError(
        "--dump_infeed: predict.generate feeds the model what it has said, leave it out");
  }
  const auto where = composition.options.where;
  const std::string output = command.GetString("output");
  ProgressLine line(command, output.empty());
  composition.options.counted = line.Counter("characters");
  Estimator estimator(std::move(composition.options));
  CharacterVocabulary vocabulary;
  std::unique_ptr<PredictionWriter> writer;
  std::vector<int32_t> ids;
  const auto start = [&](const TrainedFolder& trained) -> absl::StatusOr<TextStart> {
    const bool given = generate.has_vocabulary_file();
    ASSIGN_OR_RETURN(vocabulary,
                     CharacterVocabulary::ReadTrained(
                         trained, generate.vocabulary_file(),
                         where(given ? "predict.generate.vocabulary_file" : "predict.generate")));
    absl::StatusOr<std::vector<int32_t>> found = vocabulary.IdsOf(generate.start_string());
    if (!found.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(where("predict.generate.start_string"),
                                                     ": start_string: ", found.status().message()));
    }
    ids = *std::move(found);
    ASSIGN_OR_RETURN(
        writer, MakePredictionWriter(
                    output, {generate.vocabulary_file(), JoinPath(trained.dir, kVocabularyFile)},
                    /*of_text=*/true));
    return TextStart{{ids.begin(), ids.end()}, vocabulary.size()};
  };
  RETURN_IF_ERROR(
      estimator.Generate(start, generate, command.GetString("checkpoint"), [&](int64_t id) {
        ids.push_back(static_cast<int32_t>(id));
        return absl::OkStatus();
      }));
  return WriteGenerated(vocabulary.TextOf(ids), *writer);
}

}  // namespace

absl::Status PredictCommand(const CommandLine& command) {
  ASSIGN_OR_RETURN(Composition composition, Compose(command, {.predict = true}));
  const proto::Predict predict = composition.options.config.predict();
  if (predict.has_generate()) return GenerateText(command, std::move(composition));
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
