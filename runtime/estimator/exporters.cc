#include "runtime/estimator/exporters.h"

#include <optional>
#include <utility>
#include <vector>

#include "proto/onnx.pb.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/estimator/setup.h"
#include "runtime/io/file.h"
#include "runtime/io/numbered_directory.h"
#include "runtime/io/tensor_bundle.h"
#include "runtime/spec/export_names.h"

namespace tpurun {
namespace {

bool IsDue(const proto::Exporter& exporter, const Exporters::Occasion& occasion) {
  if (exporter.has_latest()) return occasion.latest;
  return exporter.has_best() ? occasion.best : occasion.last;
}

// 0: all.
int64_t ExportsToKeep(const proto::Exporter& exporter) {
  if (exporter.has_latest()) return exporter.latest().exports_to_keep();
  return exporter.has_best() ? exporter.best().exports_to_keep() : 0;
}

// The global_step of an exported model; nullopt where that cannot be read.
std::optional<int64_t> StepOf(const std::string& format, const std::string& dir) {
  if (format == kOnnxFormat) {
    const absl::StatusOr<std::string> bytes = ReadFile(JoinPath(dir, "model.onnx"));
    onnx::ModelProto model;
    if (!bytes.ok() || !model.ParseFromString(*bytes)) return std::nullopt;
    for (const auto& property : model.metadata_props()) {
      if (property.key() == "global_step") return ParseInt64(property.value());
    }
    return std::nullopt;
  }
  const auto variables = BundleReader::Open(JoinPath(dir, "variables/variables"));
  if (!variables.ok()) return std::nullopt;
  const BundleEntry* const entry = (*variables)->Find("global_step");
  int64_t step = 0;
  if (entry == nullptr || entry->size != sizeof(step)) return std::nullopt;
  const absl::Status read = (*variables)->ReadInto(*entry, reinterpret_cast<char*>(&step));
  return read.ok() ? std::optional(step) : std::nullopt;
}

std::set<int64_t> StepsIn(const std::string& format, const std::string& base) {
  std::set<int64_t> steps;
  for (const std::string& dir : NumberedDirectories(base)) {
    if (const std::optional<int64_t> step = StepOf(format, dir)) steps.insert(*step);
  }
  return steps;
}

}  // namespace

Exporters::Exporters(const proto::RunConfig& config, ExportFn export_model)
    : config_(config), export_model_(std::move(export_model)) {}

absl::Status Exporters::Check() const {
  for (const proto::Exporter& exporter : config_.train_and_evaluate().exporter()) {
    RETURN_IF_ERROR(CheckWritable(JoinPath(ExportDirectory(config_), ExporterName(exporter))));
  }
  return absl::OkStatus();
}

absl::Status Exporters::Export(const Occasion& occasion) {
  for (const proto::Exporter& exporter : config_.train_and_evaluate().exporter()) {
    if (!IsDue(exporter, occasion)) continue;
    proto::Export to = config_.export_();
    to.set_directory(JoinPath(ExportDirectory(config_), ExporterName(exporter)));
    const std::vector<std::string> formats = ExportFormats(config_.export_());
    to.clear_export_format();
    for (const std::string& format : formats) {
      const std::string base = ExportBase(to, format);
      const auto [known, first] = exported_.try_emplace(base);
      if (first) known->second = StepsIn(format, base);
      if (!known->second.insert(occasion.step).second) continue;
      to.add_export_format(format);
    }
    if (to.export_format_size() > 0) {
      RETURN_IF_ERROR(export_model_(to, occasion.checkpoint).status());
    }
    for (const std::string& format : formats) {
      RETURN_IF_ERROR(KeepNewest(ExportBase(to, format), ExportsToKeep(exporter)));
    }
  }
  return absl::OkStatus();
}

}  // namespace tpurun
