// TensorFlow ops that tpurun lacks, whether a Cloud TPU has them, and the nearest equivalent in
// tpurun. Error messages use the list if a configuration names such an op.
#ifndef TPURUN_MODELS_LAYERS_TPU_OPS_H_
#define TPURUN_MODELS_LAYERS_TPU_OPS_H_

#include <span>
#include <string>
#include <string_view>

#include "runtime/tpu/tensorflow_ops.h"

namespace tpurun {

// One or more TensorFlow ops that tpurun does not have under their TensorFlow names.
struct TensorFlowOps {
  // The names in the spelling of the GraphDef or the Python API, separated by blanks.
  std::string_view names;
  // The nearest equivalent in tpurun, or the reason why there is none. May be empty.
  std::string_view instead = {};
  // Of a function of the Python API that is no op: the ops that it is made of.
  std::string_view made_of = {};
};
std::span<const TensorFlowOps> TensorFlowOpList();

// Returns the row of an op, or nullptr if there is none. Accepts any spelling: Abs, abs,
// tf.math.abs, TopKV2, top_k.
const TensorFlowOps* FindTensorFlowOp(std::string_view name);

// True if a TPU has one of the ops, or all that they are made of.
bool TpuHas(const TensorFlowOps& row);

// The op that a layer op can be of, or the kind of a layer, that has the same spelling as `name`
// (OpSpelling); empty if there is none.
std::string OpOfSpelling(std::string_view name);
std::string LayerOfSpelling(std::string_view name);

}  // namespace tpurun

#endif  // TPURUN_MODELS_LAYERS_TPU_OPS_H_
