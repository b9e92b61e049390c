// TensorFlow ops that tpurun lacks, whether a Cloud TPU has them, and the nearest equivalent in
// tpurun. Error messages use the list if a configuration names such an op.
#ifndef TPURUN_MODELS_LAYERS_TPU_OPS_H_
#define TPURUN_MODELS_LAYERS_TPU_OPS_H_

#include <span>
#include <string>
#include <string_view>

namespace tpurun {

// One or more TensorFlow ops that tpurun does not have under their TensorFlow names.
struct TensorFlowOps {
  // The names in the spelling of the GraphDef or the Python API, separated by blanks.
  std::string_view names;
  bool tpu_has = true;
  // The nearest equivalent in tpurun, or the reason why there is none. May be empty.
  std::string_view instead = {};
};
std::span<const TensorFlowOps> TensorFlowOpList();

// Returns the row of an op, or nullptr if there is none. Accepts any spelling: Abs, abs,
// tf.math.abs, TopKV2, top_k.
const TensorFlowOps* FindTensorFlowOp(std::string_view name);

// Returns the form that all spellings of an op's name share: lower case, without the module prefix,
// underscores and the version suffix.
std::string OpSpelling(std::string_view name);

}  // namespace tpurun

#endif  // TPURUN_MODELS_LAYERS_TPU_OPS_H_
