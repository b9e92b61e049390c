// What train, evaluate and predict do alike before their first step.
#ifndef TPURUN_RUNTIME_ESTIMATOR_SETUP_H_
#define TPURUN_RUNTIME_ESTIMATOR_SETUP_H_

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

// Those of an evaluation: without eval_on_tpu on one core, in f32.
EstimatorOptions OptionsOfEvaluation(EstimatorOptions options);

// PermissionDenied when no file can be made in `dir`, which need not exist yet. Makes nothing.
absl::Status CheckWritable(const std::string& dir);

// How the input of a mode comes to the cores.
InputDeployment DeploymentOf(const EstimatorOptions& options, ModeKey mode);

// Calls the ModelFn; InvalidArgument when the cores do not divide the batch.
absl::StatusOr<EstimatorSpec> CallModelFn(const EstimatorOptions& options, ModeKey mode,
                                          int64_t batch_size, bool has_labels,
                                          SequenceStep sequence_step = SequenceStep::kBatch);

// Outputs leave the device at every step; artefacts go to options.dump_dir.
CompileOptions MakeCompileOptions(const EstimatorOptions& options);

// The Infeed of an input that is of DeploymentOf the mode. Of `infeed` it sets what the
// configuration says; `name` is that of its dump, whose first step is `first_step`.
absl::StatusOr<InfeedPtr> CreateInfeed(const EstimatorOptions& options, ModeKey mode,
                                       const std::string& name, int64_t first_step,
                                       InputSource& input, const CoreProgram& program,
                                       InfeedOptions infeed);

// Opens `named`, or the latest checkpoint of model_dir when it is empty; nullopt when there is
// none.
absl::StatusOr<std::optional<Checkpoint>> ChooseCheckpoint(ModeKey mode,
                                                           const std::string& model_dir,
                                                           const std::string& named);

// The same of a model to be used: NotFound when there is none, unless options.allow_untrained,
// which is then warned of.
absl::StatusOr<std::optional<Checkpoint>> TrainedCheckpoint(const EstimatorOptions& options,
                                                            ModeKey mode, const std::string& named);

// Where what was trained has its assets, and which: the folder of the checkpoint, else model_dir.
absl::StatusOr<TrainedFolder> TrainedFolderOf(const EstimatorOptions& options,
                                              const std::optional<Checkpoint>& checkpoint);

// Fills the session's variables from the checkpoint: `with_state` as a training goes on, else those
// that have a moving average from that. Without a checkpoint by their initializers, then those of
// the model (all but slots and counters of the training) by warm_start_from; moving averages begin
// with what their variables have then.
absl::Status SetVariables(const EstimatorOptions& options,
                          const std::optional<Checkpoint>& checkpoint, bool with_state,
                          const std::vector<Variable>& model_variables, Session& session);

// Warns, a line each, where the configuration computes something else than the checkpoint was
// trained to; `evaluation` is the name of the one that runs, in EVAL.
absl::Status WarnOfDrift(const EstimatorOptions& options, const Checkpoint& checkpoint,
                         ModeKey mode, const std::string& evaluation = "");

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_SETUP_H_
