// Drift: the configuration computes something else than what the checkpoint was trained to compute,
// although the variables fit. A checkpoint has the text of what was computed (tpurun/model), on one
// line: a RunConfig in which only these fields are set:
//   use_tpu
//   tpu_config          num_shards, with use_tpu and unless it is 8
//   model               features, labels, layers, heads, losses, the optimizers' groups of replicas
//                       and the precisions (ParsedModel::canonical)
//   train, evaluate, predict
//                       the name, and the parts of the input that decide values (InputValues)
#ifndef TPURUN_RUNTIME_CHECKPOINT_DRIFT_H_
#define TPURUN_RUNTIME_CHECKPOINT_DRIFT_H_

#include <string>
#include <vector>

#include "proto/run_config.pb.h"
#include "runtime/spec/spec.h"

namespace tpurun {

// The text for a checkpoint. A field with its default value is left out. Empty if `canonical` is
// empty.
std::string CanonicalText(const proto::RunConfig& canonical);

// The differences between `trained`, the text in a checkpoint, and `now`, one line each, without
// repetition:
//   layer "hidden".dense.activation: trained with RELU, now TANH
// The groups of optimizers are compared for training only. The inputs compared are the input of
// training and the input of `mode` and `evaluation`. Inputs give no lines if the latter equals what
// training had, or if the kinds of source differ. Empty if `trained` is empty (a checkpoint without
// the text).
std::vector<std::string> Drift(const std::string& trained, const proto::RunConfig& now,
                               ModeKey mode, const std::string& evaluation);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_CHECKPOINT_DRIFT_H_
