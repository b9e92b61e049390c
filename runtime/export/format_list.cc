#include "runtime/export/format_list.h"

#include "absl/strings/str_cat.h"
#include "proto/one_of.h"
#include "proto/onnx.pb.h"
#include "runtime/base/dcheck.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/export/onnx.h"
#include "runtime/io/file.h"
#include "runtime/io/output_file.h"
#include "runtime/io/tensor_bundle.h"

namespace tpurun {
namespace {

// ---- saved_model

std::vector<std::vector<std::string>> TagSets(const proto::Export& config) {
  std::vector<std::vector<std::string>> tag_sets;
  if (config.export_to_cpu()) tag_sets.push_back({"serve"});
  if (config.export_to_tpu()) tag_sets.push_back({"serve", "tpu"});
  return tag_sets;
}

absl::Status WriteAsSavedModel(const ExportContents& contents, const std::string& dir) {
  return WriteSavedModel({.graph = contents.model.graph,
                          .signatures = contents.signatures,
                          .tag_sets = TagSets(contents.config),
                          .value_of = contents.value_of,
                          .global_step = contents.global_step,
                          .assets = contents.assets},
                         dir);
}

std::optional<int64_t> StepOfSavedModel(const std::string& dir) {
  const auto variables = BundleReader::Open(JoinPath(dir, "variables/variables"));
  if (!variables.ok()) return std::nullopt;
  const BundleEntry* const entry = (*variables)->Find("global_step");
  int64_t step = 0;
  if (entry == nullptr || entry->size != sizeof(step)) return std::nullopt;
  const absl::Status read = (*variables)->ReadInto(*entry, reinterpret_cast<char*>(&step));
  return read.ok() ? std::optional(step) : std::nullopt;
}

// ---- onnx

constexpr char kModelOnnx[] = "model.onnx";

absl::Status WriteAsOnnx(const ExportContents& contents, const std::string& dir) {
  std::map<std::string, std::string> metadata = {
      {"global_step", absl::StrCat(contents.global_step)}, {"model", contents.name}};
  for (const auto& [file, text] : contents.assets) metadata[file.substr(0, file.rfind('.'))] = text;
  ASSIGN_OR_RETURN(const std::string bytes,
                   ToOnnx(contents.model, contents.name, std::move(metadata), contents.value_of));
  return WriteFileAtomically(JoinPath(dir, kModelOnnx), bytes);
}

std::optional<int64_t> StepOfOnnx(const std::string& dir) {
  const absl::StatusOr<std::string> bytes = ReadFile(JoinPath(dir, kModelOnnx));
  onnx::ModelProto model;
  if (!bytes.ok() || !model.ParseFromString(*bytes)) return std::nullopt;
  for (const auto& property : model.metadata_props()) {
    if (property.key() == "global_step") return ParseInt64(property.value());
  }
  return std::nullopt;
}

}  // namespace

const std::vector<ExportFormatDef>& ExportFormatList() {
  static const std::vector<ExportFormatDef>& list = *new std::vector<ExportFormatDef>{
      {.name = "saved_model",
       .ops = ExportFormat::kTensorFlow,
       .rule = &OpDef::tensorflow,
       .has_signatures = true,
       .feeds_features = [](const proto::Export&) { return false; },
       .write = WriteAsSavedModel,
       .step_of = StepOfSavedModel},
      {.name = "onnx",
       .folder = "onnx",
       .ops = ExportFormat::kOnnx,
       .rule = &OpDef::onnx,
       .feeds_features = [](const proto::Export& config) { return config.onnx_processed_inputs(); },
       .write = WriteAsOnnx,
       .step_of = StepOfOnnx},
  };
  return list;
}

std::vector<const ExportFormatDef*> ExportFormats(const proto::Export& config) {
  if (config.export_format().empty()) return {&ExportFormatList().front()};
  std::vector<const ExportFormatDef*> formats;
  for (const std::string& name : config.export_format()) {
    formats.push_back(FindByName(ExportFormatList(), name));
    TPURUN_DCHECK(formats.back() != nullptr);
  }
  return formats;
}

}  // namespace tpurun
