// Exporters: tf.estimator's LatestExporter, FinalExporter and BestExporter.
// Source: tensorflow_estimator/python/estimator/exporter.py.
#ifndef TPURUN_RUNTIME_ESTIMATOR_EXPORTERS_H_
#define TPURUN_RUNTIME_ESTIMATOR_EXPORTERS_H_

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/run_config.pb.h"
#include "runtime/estimator/estimator.h"

namespace tpurun {

// Exports a model, unless the newest one in its folder is the same, as that of a run that was
// killed after it.
using ExportFn = std::function<absl::StatusOr<ExportedFiles>(const proto::Export& config,
                                                             const std::string& checkpoint)>;

class Exporters {
 public:
  // `config` must outlive the object.
  Exporters(const proto::RunConfig& config, ExportFn export_model);

  // A finished evaluation.
  struct Occasion {
    std::string checkpoint;
    bool latest = false;  // an evaluation has just finished
    bool best = false;    // the best evaluation so far
    bool last = false;
  };
  // PermissionDenied if no model could be written.
  absl::Status Check() const;
  // Exports the checkpoint with each exporter that is due, into EXPORT/NAME, and deletes the oldest
  // models there beyond the number that the exporter keeps.
  absl::Status Export(const Occasion& occasion);

 private:
  const proto::RunConfig& config_;
  const ExportFn export_model_;
  std::set<std::pair<std::string, std::string>> exported_;  // folder, checkpoint
};

// A row of the table of exporters, one for each choice of proto Exporter.
struct ExporterDef {
  std::string name;  // of its field in the oneof
  // True if it exports after this evaluation.
  bool (*is_due)(const Exporters::Occasion& occasion);
  // The number of exported models to keep; 0 keeps all.
  int64_t (*exports_to_keep)(const proto::Exporter& exporter);
};

const std::vector<ExporterDef>& ExporterList();

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_EXPORTERS_H_
