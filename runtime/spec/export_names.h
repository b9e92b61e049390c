// Names of exported models, for the checks of the configuration and for the exporting code.
#ifndef TPURUN_RUNTIME_SPEC_EXPORT_NAMES_H_
#define TPURUN_RUNTIME_SPEC_EXPORT_NAMES_H_

#include <string>
#include <string_view>

#include "proto/run_config.pb.h"

namespace tpurun {

// The subfolders of `export`'s folder for the formats that have one (ExportFormatDef::folder).
inline constexpr std::string_view kFormatFolders[] = {"onnx"};

// The exporter's field in the oneof: latest, final or best. Empty if there is none.
inline std::string ExporterKind(const proto::Exporter& exporter) {
  const auto* const kind =
      proto::Exporter::descriptor()->FindFieldByNumber(exporter.exporter_case());
  return kind == nullptr ? "" : kind->name();
}

// The subfolder of `export`'s folder for the models of an exporter: its name, or else its kind:
// latest, final or best.
inline std::string ExporterName(const proto::Exporter& exporter) {
  if (!exporter.name().empty()) return exporter.name();
  return ExporterKind(exporter);
}

// The name of a collection in a meta graph that describes the inputs of its signatures. SavedModels
// of other programs do not have it. Its strings are "KEY\tWHAT" for a signature and
// "KEY\tINPUT\tNOTE" for one of its inputs.
inline constexpr char kSignatureDocs[] = "tpurun/signatures";

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_SPEC_EXPORT_NAMES_H_
