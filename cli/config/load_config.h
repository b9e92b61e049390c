// Reads the RunConfig and the ModelSpec from their textprotos, then the changes of the command
// line.
#ifndef TPURUN_CLI_CONFIG_LOAD_CONFIG_H_
#define TPURUN_CLI_CONFIG_LOAD_CONFIG_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/config/edit.h"
#include "proto/config_errors.h"
#include "proto/model_spec.pb.h"
#include "proto/run_config.pb.h"
#include "proto/source_locations.h"

namespace tpurun {

struct LoadOptions {
  // The RunConfig's file.
  std::string config_path;
  // It was looked for in --model_dir: a regular file. One that is named may be a pipe.
  bool found = false;
  // Applied in order.
  std::vector<Edit> edits;
  // The environment variable TF_CONFIG; empty where it is not set.
  std::string tf_config = {};
};

// Paths from the files are joined to the folder of the file that names them, so that all paths are
// absolute or relative to the working directory.
struct LoadedConfig {
  // Without `model`, which moved to the next field.
  proto::RunConfig run;
  proto::ModelSpec model;
  SourceLocations locations;
  std::string run_path;
  // A training has written it: it says so, or links lead to a file of that name.
  bool of_training = false;
  // Where the ModelSpec came from: its own file, or run_path when it is inline. Empty if there is
  // none.
  std::string model_path;
};

// Mistakes go to `errors`, and what has none is loaded all the same, to be checked further. An
// error ends it: InvalidArgument, with all mistakes so far, where nothing further can be said of a
// text; NotFound names a file that does not exist.
absl::StatusOr<LoadedConfig> LoadConfig(const LoadOptions& options, ConfigErrors& errors);

// For whom a configuration without mistakes is all.
absl::StatusOr<LoadedConfig> LoadSoundConfig(const LoadOptions& options);

// The whole configuration as one RunConfig with the model inline and all paths absolute: it loads
// the same from anywhere. NotFound when the working directory is gone.
absl::StatusOr<proto::RunConfig> EffectiveConfig(const LoadedConfig& config);

}  // namespace tpurun

#endif  // TPURUN_CLI_CONFIG_LOAD_CONFIG_H_
