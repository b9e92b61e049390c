// Names of what is exported, for the configuration's checks and for what exports.
#ifndef TPURUN_RUNTIME_SPEC_EXPORT_NAMES_H_
#define TPURUN_RUNTIME_SPEC_EXPORT_NAMES_H_

#include <string>

#include "proto/run_config.pb.h"

namespace tpurun {

// Formats. Of the second, exported models are below a folder of that name.
inline constexpr char kSavedModelFormat[] = "saved_model";
inline constexpr char kOnnxFormat[] = "onnx";

// The folder of an exporter's models, below that of `export`: its name, or else latest, final,
// best.
inline std::string ExporterName(const proto::Exporter& exporter) {
  if (!exporter.name().empty()) return exporter.name();
  return exporter.has_latest() ? "latest" : exporter.has_best() ? "best" : "final";
}

// The collection of a meta graph whose strings say what its signatures take, which those of others
// do not have: "KEY\tWHAT" of a signature and "KEY\tINPUT\tNOTE" of one of its inputs.
inline constexpr char kSignatureDocs[] = "tpurun/signatures";

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_SPEC_EXPORT_NAMES_H_
