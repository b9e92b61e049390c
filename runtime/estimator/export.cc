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
#include "runtime/export/format_list.h"
#include "runtime/export/signatures.h"
#include "runtime/io/file.h"
#include "runtime/io/numbered_directory.h"
#include "runtime/optimizers/moving_average.h"
#include "runtime/spec/export_names.h"

namespace tpurun {
namespace {

// The contents of the exported files apart from the graph.
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

// A format with the model in its ops.
struct FormatModel {
  const ExportFormatDef* format;
  ExportedModel model;
  Signatures signatures = {};  // if the format has them
};

// Adds the input's transforms to the models and the names of classes. Warns of a transform that
// cannot be exported.
absl::Status AddInputs(const ExportInputs& inputs, const proto::Export& config,
                       std::vector<FormatModel>& models) {
  for (auto& [format, model, signatures] : models) {
    NameClasses(inputs.vocabularies, format->ops, model);
    if (inputs.input_fn == nullptr || format->feeds_features(config)) continue;
    const auto unsaid = AddInput(inputs.input_fn, format->ops, model);
    if (absl::IsUnimplemented(unsaid.status())) {
      LOG(WARNING) << format->name << ": " << unsaid.status().message()
                   << "; the exported model is fed with its features.";
      continue;
    }
    RETURN_IF_ERROR(Annotate(unsaid.status(), format->name));
    for (const std::string& what : *unsaid) LOG(WARNING) << format->name << ": " << what << ".";
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<FormatModel>> ExportModels(const EstimatorOptions& options,
                                                      const proto::Export& config) {
  std::vector<FormatModel> models;
  for (const ExportFormatDef* const format : ExportFormats(config)) {
    absl::StatusOr<ExportedModel> model =
        ExportModel(options.model_fn, options.config.tf_random_seed(), format->rule);
    if (!model.ok()) return Annotate(model.status(), format->name);
    models.push_back({format, *std::move(model)});
  }
  return models;
}

// The models in `base` with the same files as the one in `dir`, in ascending order of their
// numbers.
std::vector<std::string> EqualModels(const std::string& base, const std::string& dir) {
  std::vector<std::string> models = NumberedDirectories(base);
  std::erase_if(models, [&](const std::string& model) { return !HaveEqualFiles(model, dir); });
  return models;
}

}  // namespace

std::string ExportDirectory(const proto::RunConfig& config) {
  const std::string& directory = config.export_().directory();
  return directory.empty() ? JoinPath(config.model_dir(), "export") : directory;
}

std::string ExportBase(const proto::Export& config, const ExportFormatDef& format) {
  return format.folder.empty() ? config.directory() : JoinPath(config.directory(), format.folder);
}

absl::Status Estimator::CheckExport(const proto::Export& config) {
  return ExportModels(options_, config).status();
}

absl::StatusOr<ExportedFiles> Estimator::Export(const proto::Export& config,
                                                const std::string& checkpoint,
                                                const ExportInputs& inputs) {
  return ExportChecked(config, checkpoint, inputs, options_.after_checks, /*once=*/false);
}

absl::StatusOr<ExportedFiles> Estimator::ExportChecked(
    const proto::Export& config, const std::string& checkpoint, const ExportInputs& inputs,
    const std::function<absl::Status()>& after_checks, bool once) {
  ASSIGN_OR_RETURN(const std::optional<Checkpoint> chosen,
                   ChooseCheckpoint(ModeKey::kPredict, options_.config.model_dir(), checkpoint));
  if (!chosen.has_value()) {
    return absl::NotFoundError(absl::StrCat("could not find a trained model in ",
                                            options_.config.model_dir(),
                                            ": train it first, or name a --checkpoint"));
  }
  // Everything that can be refused is checked before the first file is written.
  ASSIGN_OR_RETURN(auto models, ExportModels(options_, config));
  RETURN_IF_ERROR(AddInputs(inputs, config, models));
  for (FormatModel& model : models) {
    if (!model.format->has_signatures) continue;
    model.signatures = MakeSignatures(model.model);
    for (const std::string& excluded : model.signatures.excluded) {
      LOG(WARNING) << "Signature left out: " << excluded;
    }
  }
  Source source;
  RETURN_IF_ERROR(source.variables.Add(models.front().model.variables));
  LOG(INFO) << "Restoring parameters from " << chosen->prefix();
  RETURN_IF_ERROR(chosen->Restore(false, source.variables, [&](const Variable& variable) {
    return EvaluatedName(options_.config.model(), variable);
  }));
  RETURN_IF_ERROR(WarnOfDrift(options_, *chosen, ModeKey::kPredict));
  ASSIGN_OR_RETURN(source.global_step, chosen->GlobalStep());
  ASSIGN_OR_RETURN(const TrainedFolder trained, TrainedFolderOf(options_, chosen));
  ASSIGN_OR_RETURN(source.assets, inputs.assets_fn(trained));

  RETURN_IF_ERROR(after_checks());
  proto::Export to = config;
  if (to.directory().empty()) to.set_directory(ExportDirectory(options_.config));
  ExportedFiles result{.global_step = source.global_step};
  for (const auto& [format, model, signatures] : models) {
    const std::string base = ExportBase(to, *format);
    ASSIGN_OR_RETURN(const std::unique_ptr<NumberedDirectory> dir, NumberedDirectory::Create(base));
    const ExportContents contents{
        .model = model,
        .signatures = signatures.included,
        .name = options_.config.model().name(),
        .config = config,
        .value_of = [&source](const std::string& key) { return source.ValueOf(key); },
        .global_step = source.global_step,
        .assets = source.assets};
    RETURN_IF_ERROR(format->write(contents, dir->path()));
    const std::vector<std::string> equal =
        once ? EqualModels(base, dir->path()) : std::vector<std::string>();
    if (!equal.empty() && equal.back() == NumberedDirectories(base).back()) {
      result.paths.emplace_back(format->name, equal.back());
    } else {
      ASSIGN_OR_RETURN(const std::string path, dir->Publish());
      result.paths.emplace_back(format->name, path);
      LOG(INFO) << "Exported " << format->name << " to " << path;
      for (const std::string& older : equal) RETURN_IF_ERROR(RemoveNumbered(older));
    }
    for (const Signature& signature : signatures.included) {
      result.signatures.push_back(signature.key);
    }
  }
  return result;
}

}  // namespace tpurun
