#include "runtime/estimator/exporters.h"

#include <utility>
#include <vector>

#include "proto/one_of.h"
#include "runtime/base/status.h"
#include "runtime/estimator/setup.h"
#include "runtime/export/format_list.h"
#include "runtime/io/file.h"
#include "runtime/io/numbered_directory.h"
#include "runtime/spec/export_names.h"

namespace tpurun {

const std::vector<ExporterDef>& ExporterList() {
  using Occasion = Exporters::Occasion;
  static const std::vector<ExporterDef>& list = *new std::vector<ExporterDef>{
      {.name = "best",
       .is_due = [](const Occasion& occasion) { return occasion.best; },
       .exports_to_keep = [](const proto::Exporter& e) { return e.best().exports_to_keep(); }},
      {.name = "final",
       .is_due = [](const Occasion& occasion) { return occasion.last; },
       .exports_to_keep = [](const proto::Exporter&) { return int64_t{0}; }},
      {.name = "latest",
       .is_due = [](const Occasion& occasion) { return occasion.latest; },
       .exports_to_keep = [](const proto::Exporter& e) { return e.latest().exports_to_keep(); }},
  };
  return list;
}

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
    const ExporterDef& def = *FindByName(ExporterList(), ExporterKind(exporter));
    if (!def.is_due(occasion)) continue;
    proto::Export to = config_.export_();
    to.set_directory(JoinPath(ExportDirectory(config_), ExporterName(exporter)));
    if (!exported_.insert({to.directory(), occasion.checkpoint}).second) continue;
    RETURN_IF_ERROR(export_model_(to, occasion.checkpoint).status());
    for (const ExportFormatDef* const format : ExportFormats(to)) {
      RETURN_IF_ERROR(KeepNewest(ExportBase(to, *format), def.exports_to_keep(exporter)));
    }
  }
  return absl::OkStatus();
}

}  // namespace tpurun
