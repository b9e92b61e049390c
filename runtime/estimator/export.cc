// Estimator::Export: the predict graph and a checkpoint as a SavedModel or an ONNX file.
#include <map>
#include <memory>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "runtime/base/status.h"
#include "runtime/estimator/estimator.h"
#include "runtime/estimator/setup.h"
#include "runtime/export/exported_model.h"
#include "runtime/export/onnx.h"
#include "runtime/export/saved_model.h"
#include "runtime/export/signatures.h"
#include "runtime/io/file.h"
#include "runtime/io/numbered_directory.h"
#include "runtime/optimizers/moving_average.h"
#include "runtime/spec/export_names.h"

namespace tpurun {
namespace {

// What the files are made from.
struct Source {
  VariableStore variables{1};
  int64_t global_step = 0;
  std::map<std::string, std::string> assets;  // by name

  std::string_view ValueOf(const std::string& key) const {
    const StoredVariable& variable = *variables.Find(key);
    return {reinterpret_cast<const char*>(variable.copy(0)),
            static_cast<size_t>(variable.copy_bytes())};
  }
};

std::vector<std::vector<std::string>> TagSets(const proto::Export& config) {
  std::vector<std::vector<std::string>> tag_sets;
  if (config.export_to_cpu()) tag_sets.push_back({"serve"});
  if (config.export_to_tpu()) tag_sets.push_back({"serve", "tpu"});
  return tag_sets;
}

absl::Status Write(const std::string& format, const ExportedModel& model,
                   const std::vector<Signature>& signatures, const Source& source,
                   const proto::Export& config, const std::string& name, const std::string& dir) {
  const auto value_of = [&source](const std::string& key) { return source.ValueOf(key); };
  if (format == kOnnxFormat) {
    std::map<std::string, std::string> metadata = {
        {"global_step", absl::StrCat(source.global_step)}, {"model", name}};
    for (const auto& [file, text] : source.assets) metadata[file.substr(0, file.rfind('.'))] = text;
    ASSIGN_OR_RETURN(const std::string bytes, ToOnnx(model, name, std::move(metadata), value_of));
    return WriteFileAtomically(JoinPath(dir, "model.onnx"), bytes);
  }
  return WriteSavedModel({.graph = model.graph,
                          .signatures = signatures,
                          .tag_sets = TagSets(config),
                          .value_of = value_of,
                          .global_step = source.global_step,
                          .assets = source.assets},
                         dir);
}

ExportFormat FormatOf(const std::string& name) {
  return name == kOnnxFormat ? ExportFormat::kOnnx : ExportFormat::kTensorFlow;
}

// The models with what they are fed with.
absl::Status AddInputs(const ExportInputs& inputs, const proto::Export& config,
                       std::map<std::string, ExportedModel>& models) {
  for (auto& [format, model] : models) {
    NameClasses(inputs.vocabularies, model);
    const bool processed = format == kOnnxFormat && config.onnx_processed_inputs();
    if (inputs.input_fn == nullptr || processed) continue;
    const auto unsaid = AddInput(inputs.input_fn, FormatOf(format), model);
    if (absl::IsUnimplemented(unsaid.status())) {
      LOG(WARNING) << format << ": " << unsaid.status().message()
                   << "; the exported model is fed with its features.";
      continue;
    }
    RETURN_IF_ERROR(Annotate(unsaid.status(), format));
    for (const std::string& what : *unsaid) LOG(WARNING) << format << ": " << what << ".";
  }
  return absl::OkStatus();
}

absl::StatusOr<std::map<std::string, ExportedModel>> ExportModels(const EstimatorOptions& options,
                                                                  const proto::Export& config) {
  std::map<std::string, ExportedModel> models;
  for (const std::string& format : ExportFormats(config)) {
    absl::StatusOr<ExportedModel> model =
        ExportModel(options.model_fn, options.config.tf_random_seed(),
                    FormatOf(format) == ExportFormat::kOnnx ? &OpDef::onnx : &OpDef::tensorflow);
    if (!model.ok()) return Annotate(model.status(), format);
    models.emplace(format, *std::move(model));
  }
  return models;
}

}  // namespace

std::vector<std::string> ExportFormats(const proto::Export& config) {
  if (config.export_format().empty()) return {kSavedModelFormat};
  return {config.export_format().begin(), config.export_format().end()};
}

std::string ExportDirectory(const proto::RunConfig& config) {
  const std::string& directory = config.export_().directory();
  return directory.empty() ? JoinPath(config.model_dir(), "export") : directory;
}

std::string ExportBase(const proto::Export& config, const std::string& format) {
  return format == kOnnxFormat ? JoinPath(config.directory(), kOnnxFormat) : config.directory();
}

absl::Status Estimator::CheckExport(const proto::Export& config) {
  return ExportModels(options_, config).status();
}

absl::StatusOr<ExportedFiles> Estimator::Export(const proto::Export& config,
                                                const std::string& checkpoint,
                                                const ExportInputs& inputs) {
  return ExportChecked(config, checkpoint, inputs, options_.checked);
}

absl::StatusOr<ExportedFiles> Estimator::ExportChecked(
    const proto::Export& config, const std::string& checkpoint, const ExportInputs& inputs,
    const std::function<absl::Status()>& checked) {
  ASSIGN_OR_RETURN(const std::optional<Checkpoint> chosen,
                   ChooseCheckpoint(ModeKey::kPredict, options_.config.model_dir(), checkpoint));
  if (!chosen.has_value()) {
    return absl::NotFoundError(absl::StrCat("could not find a trained model in ",
                                            options_.config.model_dir(),
                                            ": train it first, or name a --checkpoint"));
  }
  // Everything that can be refused is before the first file is written.
  ASSIGN_OR_RETURN(auto models, ExportModels(options_, config));
  RETURN_IF_ERROR(AddInputs(inputs, config, models));
  Signatures signatures;
  if (models.count(kSavedModelFormat) > 0) {
    signatures = MakeSignatures(models.at(kSavedModelFormat));
  }
  for (const std::string& excluded : signatures.excluded) {
    LOG(WARNING) << "Signature left out: " << excluded;
  }
  Source source;
  RETURN_IF_ERROR(source.variables.Add(models.begin()->second.variables));
  LOG(INFO) << "Restoring parameters from " << chosen->prefix();
  RETURN_IF_ERROR(chosen->Restore(false, source.variables, [&](const Variable& variable) {
    return EvaluatedName(options_.config.model(), variable);
  }));
  RETURN_IF_ERROR(WarnOfDrift(options_, *chosen, ModeKey::kPredict));
  ASSIGN_OR_RETURN(source.global_step, chosen->GlobalStep());
  ASSIGN_OR_RETURN(const TrainedFolder trained, TrainedFolderOf(options_, chosen));
  ASSIGN_OR_RETURN(source.assets, inputs.assets_fn(trained));

  RETURN_IF_ERROR(checked());
  proto::Export to = config;
  if (to.directory().empty()) to.set_directory(ExportDirectory(options_.config));
  ExportedFiles result{.global_step = source.global_step};
  for (const std::string& format : ExportFormats(config)) {
    ASSIGN_OR_RETURN(const std::unique_ptr<NumberedDirectory> dir,
                     NumberedDirectory::Create(ExportBase(to, format)));
    RETURN_IF_ERROR(Write(format, models.at(format), signatures.included, source, config,
                          options_.config.model().name(), dir->path()));
    ASSIGN_OR_RETURN(const std::string path, dir->Publish());
    result.paths.emplace_back(format, path);
    LOG(INFO) << "Exported " << format << " to " << path;
  }
  for (const Signature& signature : signatures.included) {
    result.signatures.push_back(signature.key);
  }
  return result;
}

}  // namespace tpurun
