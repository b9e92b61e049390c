// Functions that train, evaluate and predict share before their first step.
#ifndef TPURUN_RUNTIME_ESTIMATOR_SETUP_H_
#define TPURUN_RUNTIME_ESTIMATOR_SETUP_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/compiler/compile.h"
#include "runtime/estimator/estimator.h"
#include "runtime/session/infeed.h"
#include "runtime/session/session.h"
#include "runtime/spec/input_deployment.h"

namespace tpurun {

// The options of a process that runs all replicas alone, whatever processes train together.
EstimatorOptions OptionsOfOneProcess(EstimatorOptions options);

// The options of an evaluation. Without eval_on_tpu they are for one core and f32.
EstimatorOptions OptionsOfEvaluation(EstimatorOptions options);

// PermissionDenied if no file can be made in `dir`, which need not exist. Makes nothing.
absl::Status CheckWritable(const std::string& dir);

// How the input of a mode is distributed to the cores.
InputDeployment DeploymentOf(const EstimatorOptions& options, ModeKey mode);
// Whether an input of predict gives the labels too, which a model may read.
bool FeedsLabels(const InputSource& input, const std::vector<FeatureSpec>& features);

// Calls the ModelFn. InvalidArgument if the batch cannot be divided equally among the cores.
absl::StatusOr<EstimatorSpec> CallModelFn(
    const EstimatorOptions& options, ModeKey mode, int64_t batch_size, bool has_labels,
    SequenceStep sequence_step = SequenceStep::kBatch,
    const std::map<std::string, int64_t>& sequence_lengths = {});

// Options with which outputs leave the device at every step. Artefacts go to options.dump_dir.
CompileOptions MakeCompileOptions(const EstimatorOptions& options);

// Creates the Infeed of an input that has the deployment DeploymentOf(options, mode). Sets the
// fields of `infeed` that the configuration gives. `name` is the name of the infeed's dump, whose
// first step is `first_step`.
absl::StatusOr<InfeedPtr> CreateInfeed(const EstimatorOptions& options, ModeKey mode,
                                       const std::string& name, int64_t first_step,
                                       InputSource& input, const CoreProgram& program,
                                       InfeedOptions infeed);

// Opens the checkpoint `named`, the best checkpoint of model_dir if that is kBestCheckpoint, or the
// latest checkpoint of model_dir if `named` is empty. nullopt if there is none.
absl::StatusOr<std::optional<Checkpoint>> ChooseCheckpoint(ModeKey mode,
                                                           const std::string& model_dir,
                                                           const std::string& named);

// The same for a model that will be used: NotFound if there is no checkpoint. With
// options.allow_untrained that is a warning.
absl::StatusOr<std::optional<Checkpoint>> TrainedCheckpoint(const EstimatorOptions& options,
                                                            ModeKey mode, const std::string& named);

// The folder and the asset identities of a trained model: from the checkpoint, or, without a
// checkpoint, model_dir and no assets.
absl::StatusOr<TrainedFolder> TrainedFolderOf(const EstimatorOptions& options,
                                              const std::optional<Checkpoint>& checkpoint);

// Fills the session's variables. With a checkpoint and `with_state`: from the variables of the same
// names, with the state, to resume a training. With a checkpoint only: a variable with a moving
// average gets the average. Without a checkpoint: by their initializers, then the model's variables
// (not the slots and counters of the training) by warm_start_from; moving averages begin with the
// values that their variables then have.
absl::Status SetVariables(const EstimatorOptions& options,
                          const std::optional<Checkpoint>& checkpoint, bool with_state,
                          const std::vector<Variable>& model_variables, Session& session);

// Warns, one line per difference, if the configuration computes something else than the checkpoint
// was trained to compute. In EVAL `evaluation` is the name of the evaluation that runs.
absl::Status WarnOfDrift(const EstimatorOptions& options, const Checkpoint& checkpoint,
                         ModeKey mode, const std::string& evaluation = "");

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_SETUP_H_
