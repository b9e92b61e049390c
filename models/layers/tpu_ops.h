// Which ops of TensorFlow a Cloud TPU has, and what says the same here: for whoever names one that
// tpurun does not have.
#ifndef TPURUN_MODELS_LAYERS_TPU_OPS_H_
#define TPURUN_MODELS_LAYERS_TPU_OPS_H_

#include <span>
#include <string>
#include <string_view>

namespace tpurun {

// Ops of TensorFlow that tpurun does not have under their names.
struct TensorFlowOps {
  // As the GraphDef or the Python API spells them, with blanks between.
  std::string_view names;
  bool tpu_has = true;
  // What of tpurun is nearest, or why there is none; may be empty.
  std::string_view instead = {};
};
std::span<const TensorFlowOps> TensorFlowOpList();

// The row of an op, nullptr where none has it: Abs, abs, tf.math.abs, TopKV2, top_k.
const TensorFlowOps* FindTensorFlowOp(std::string_view name);

// A name as all of its spellings have it: without the module before it, underscores, capitals and
// the version behind it.
std::string OpSpelling(std::string_view name);

}  // namespace tpurun

#endif  // TPURUN_MODELS_LAYERS_TPU_OPS_H_
