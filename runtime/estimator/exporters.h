// Exporters: tf.estimator's LatestExporter, FinalExporter and BestExporter.
// Source: tensorflow_estimator/python/estimator/exporter.py.
#ifndef TPURUN_RUNTIME_ESTIMATOR_EXPORTERS_H_
#define TPURUN_RUNTIME_ESTIMATOR_EXPORTERS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/run_config.pb.h"
#include "runtime/estimator/estimator.h"

namespace tpurun {

using ExportFn = std::function<absl::StatusOr<ExportedFiles>(const proto::Export& config,
                                                             const std::string& checkpoint)>;

class Exporters {
 public:
  // `config` outlives it.
  Exporters(const proto::RunConfig& config, ExportFn export_model);

  // An evaluation that is done.
  struct Occasion {
    int64_t step = 0;
    std::string checkpoint;
    bool latest = false;  // of an evaluation just now
    bool best = false;    // so far
    bool last = false;
  };
  // PermissionDenied where no model could be written.
  absl::Status Check() const;
  // Exports the checkpoint by each exporter whose time it is, into EXPORT/NAME, and deletes what is
  // more than it keeps there. A model of this step that is there already, of a run that was killed
  // behind it, is not exported again.
  absl::Status Export(const Occasion& occasion);

 private:
  const proto::RunConfig& config_;
  const ExportFn export_model_;
  // Of each folder of exported models that was looked at: the steps that they are of.
  std::map<std::string, std::set<int64_t>> exported_;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_EXPORTERS_H_
