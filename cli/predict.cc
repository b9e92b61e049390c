#include "cli/predict.h"

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/compose.h"
#include "cli/prediction_writer.h"
#include "cli/processes.h"
#include "cli/progress.h"
#include "data/character_vocabulary.h"
#include "runtime/base/status.h"
#include "runtime/estimator/processes.h"
#include "runtime/io/file.h"

namespace tpurun {
namespace {

absl::Status GenerateText(const CommandLine& command, Composition composition) {
  const proto::Generate generate = composition.options.config.predict().generate();
  if (command.Has("dump_infeed")) {
    return absl::InvalidArgumentError(
        "--dump_infeed: predict.generate feeds the model what it has said, leave it out");
  }
  const auto where = composition.options.where;
  const std::string output = command.GetString("output");
  ProgressLine line(command, output.empty());
  composition.options.on_examples = line.Counter("characters");
  std::vector<std::string> inputs;
  if (!output.empty()) inputs = ProtectedFiles(composition.options);
  Estimator estimator(std::move(composition.options));
  CharacterVocabulary vocabulary;
  std::unique_ptr<TextWriter> writer;
  const auto start = [&](const TrainedFolder& trained) -> absl::StatusOr<TextStart> {
    const bool given = generate.has_vocabulary_file();
    ASSIGN_OR_RETURN(vocabulary,
                     CharacterVocabulary::ReadTrained(
                         trained, generate.vocabulary_file(),
                         where(given ? "predict.generate.vocabulary_file" : "predict.generate")));
    const absl::StatusOr<std::vector<int32_t>> ids = vocabulary.IdsOf(generate.start_string());
    if (!ids.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(where("predict.generate.start_string"),
                                                     ": start_string: ", ids.status().message()));
    }
    inputs.push_back(JoinPath(trained.dir, kVocabularyFile));
    ASSIGN_OR_RETURN(writer, MakeTextWriter(output, inputs, generate.num_generate()));
    return TextStart{{ids->begin(), ids->end()}, vocabulary.size()};
  };
  bool begun = false;
  const auto on_result = [&](int64_t id) -> absl::Status {
    if (!std::exchange(begun, true)) RETURN_IF_ERROR(writer->Write(generate.start_string()));
    return writer->Write(vocabulary.characters()[id]);
  };
  RETURN_IF_ERROR(estimator.Generate(start, generate, command.GetString("checkpoint"), on_result));
  return writer->Finish();
}

absl::StatusOr<std::unique_ptr<PredictionWriter>> MakeWriter(const std::string& output,
                                                             const EstimatorOptions& options) {
  if (output.empty()) return MakePredictionWriter(output, {});
  // The dump is made later, and the finished output would take its place.
  const std::string dump = JoinPath(options.dump_infeed, "predict.jsonl");
  std::error_code error;
  if (!options.dump_infeed.empty() && std::filesystem::weakly_canonical(output, error) ==
                                          std::filesystem::weakly_canonical(dump, error)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--output: ", output, " is what --dump_infeed writes, want another name"));
  }
  return MakePredictionWriter(output, ProtectedFiles(options));
}

}  // namespace

absl::Status PredictCommand(const CommandLine& command) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Fabric> fabric, JoinProcesses(command));
  ASSIGN_OR_RETURN(Composition composition,
                   ComposeForProcesses(command, {.predict = true}, fabric.get()));
  const bool chief = IsChief(fabric.get());
  const proto::Predict predict = composition.options.config.predict();
  if (predict.has_generate()) {
    // One character after the other, in the chief. The others wait.
    return FirstErrorOfProcesses(
        fabric.get(), chief ? GenerateText(command, std::move(composition)) : absl::OkStatus());
  }
  const std::string output = command.GetString("output");
  absl::StatusOr<std::unique_ptr<PredictionWriter>> writer = nullptr;
  if (chief) writer = MakeWriter(output, composition.options);
  RETURN_IF_ERROR(FirstErrorOfProcesses(fabric.get(), writer.status()));
  ProgressLine line(command, output.empty());
  composition.options.on_examples = line.Counter("examples");
  Estimator estimator(std::move(composition.options));
  RETURN_IF_ERROR(
      estimator.Predict(composition.input_fn, predict, command.GetString("checkpoint"),
                        [&](const PredictedBatch& batch) { return (*writer)->Write(batch); }));
  return FirstErrorOfProcesses(fabric.get(), chief ? (*writer)->Finish() : absl::OkStatus());
}

}  // namespace tpurun
