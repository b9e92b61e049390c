#include "runtime/export/format_list.h"

#include "absl/strings/str_cat.h"
#include "proto/one_of.h"
#include "runtime/base/dcheck.h"
#include "runtime/base/status.h"
#include "runtime/export/onnx.h"
#include "runtime/io/file.h"
#include "runtime/io/output_file.h"

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

}  // namespace

const std::vector<ExportFormatDef>& ExportFormatList() {
  static const std::vector<ExportFormatDef>& list = *new std::vector<ExportFormatDef>{
      {.name = "saved_model",
       .ops = ExportFormat::kTensorFlow,
       .rule = &OpDef::tensorflow,
       .has_signatures = true,
       .feeds_features = [](const proto::Export&) { return false; },
       .write = WriteAsSavedModel},
      {.name = "onnx",
       .folder = "onnx",
       .ops = ExportFormat::kOnnx,
       .rule = &OpDef::onnx,
       .feeds_features = [](const proto::Export& config) { return config.onnx_processed_inputs(); },
       .write = WriteAsOnnx},
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
