// Drift: a configuration that computes something else than a checkpoint was trained to compute,
// although its variables fit. A checkpoint carries what was computed (tpurun/model), as the text,
// on one line, of a RunConfig in which only these are set:
//   use_tpu
//   model               features, labels, layers, heads, losses, optimizers' groups of replicas and
//                       precisions, written out (WrittenOutModel)
//   train, evaluate, predict
//                       name, and of the input what decides values (InputValues)
#ifndef TPURUN_RUNTIME_CHECKPOINT_DRIFT_H_
#define TPURUN_RUNTIME_CHECKPOINT_DRIFT_H_

#include <string>
#include <vector>

#include "proto/run_config.pb.h"
#include "runtime/spec/spec.h"

namespace tpurun {

// The text in a checkpoint. A field that is set to its default is left out. Empty of an empty one.
std::string ComputedText(const proto::RunConfig& computed);

// What differs between the text in a checkpoint and `now`, one line a difference, each once:
//   layer "hidden".dense.activation: trained with RELU, now TANH
// Of optimizers' groups they are told for training alone. Of inputs that of training is compared,
// and that of the `mode` and evaluation; neither where the latter is as that of training was, nor
// with an input of another kind of source. Empty where the text is (a checkpoint that has none).
std::vector<std::string> Drift(const std::string& trained, const proto::RunConfig& now,
                               ModeKey mode, const std::string& evaluation);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_CHECKPOINT_DRIFT_H_
