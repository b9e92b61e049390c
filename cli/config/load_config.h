// Reads the RunConfig and the ModelSpec from their textprotos and applies the changes from the
// command line.
#ifndef TPURUN_CLI_CONFIG_LOAD_CONFIG_H_
#define TPURUN_CLI_CONFIG_LOAD_CONFIG_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/config/edit.h"
#include "cli/config/tf_config.h"
#include "proto/config_errors.h"
#include "proto/model_spec.pb.h"
#include "proto/run_config.pb.h"
#include "proto/source_locations.h"

namespace tpurun {

struct LoadOptions {
  // The file of the RunConfig.
  std::string config_path;
  // True if the file was found in --model_dir. It must then be a regular file. A file that the user
  // named may be a pipe.
  bool found = false;
  // Applied in order.
  std::vector<Edit> edits;
  // The value of the environment variable TF_CONFIG. Empty if it is not set.
  std::string tf_config = {};
  // What its cluster has to agree with.
  StartedProcesses started = {};
};

// The loaded configuration. Relative paths in the files are joined to the folder of the file that
// contains them, so all paths are absolute or relative to the working directory.
struct LoadedConfig {
  // Without `model`, which is moved to the next field.
  proto::RunConfig run;
  proto::ModelSpec model;
  SourceLocations locations;
  std::string run_path;
  // A training wrote the file: it contains the mark of a training, or it has the name of such a
  // file, possibly through links.
  bool of_training = false;
  // The file of the ModelSpec: its own file, or run_path if the model is inline. Empty if there is
  // no ModelSpec.
  std::string model_path;
};

// Adds mistakes to `errors`. The parts without mistakes are still loaded, so that they can be
// checked. Fails with InvalidArgument, which lists all mistakes so far, if a text cannot be used at
// all. NotFound names a file that does not exist.
absl::StatusOr<LoadedConfig> LoadConfig(const LoadOptions& options, ConfigErrors& errors);

// For callers that need a configuration without mistakes: any mistake is an error.
absl::StatusOr<LoadedConfig> LoadSoundConfig(const LoadOptions& options);

// Returns the whole configuration as one RunConfig with the model inline and all paths absolute. It
// loads to the same configuration in any directory. NotFound if the working directory no longer
// exists.
absl::StatusOr<proto::RunConfig> EffectiveConfig(const LoadedConfig& config);

struct RequiredParts;  // validate.h

// The files that the configuration was read from, and those that it names. Some may not exist. The
// patterns of the inputs of `required` are expanded: what another verb reads by a pattern may be
// what this one writes.
std::vector<std::string> FilesRead(const LoadedConfig& config, const RequiredParts& required);

}  // namespace tpurun

#endif  // TPURUN_CLI_CONFIG_LOAD_CONFIG_H_
