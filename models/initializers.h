// Initializers: how a new variable is filled, from its shape. Formulas are those of
// tf.initializers of TensorFlow 1.x.
#ifndef TPURUN_MODELS_INITIALIZERS_H_
#define TPURUN_MODELS_INITIALIZERS_H_

#include <string>
#include <vector>

#include "proto/config_errors.h"
#include "proto/model_spec.pb.h"
#include "runtime/ir/graph.h"

namespace tpurun {

// Inputs and outputs of one unit. Of a kernel (..., in, out) each counts the receptive field, the
// product of the leading dimensions; of a vector both are its size.
struct Fans {
  double in = 1;
  double out = 1;
};
Fans FansOf(const std::vector<int64_t>& dims);

// One row of the table in initializers.cc.
struct InitializerDef {
  std::string name;  // of its field in the oneof
  int min_rank = 0;  // of a variable that it is for
  Initializer (*make)(const proto::Initializer& initializer, const Fans& fans);
};

const std::vector<InitializerDef>& InitializerList();

// Appends what is wrong for a variable of this rank; `path` is the initializer's own
// ("dense.kernel_initializer").
void CheckInitializer(const proto::Initializer& initializer, int rank, const std::string& path,
                      ConfigErrors& errors);

// The initializer of a variable of these dimensions. It must have passed CheckInitializer.
Initializer MakeInitializer(const proto::Initializer& initializer,
                            const std::vector<int64_t>& dims);

Initializer Zeros();
Initializer GlorotUniform(const std::vector<int64_t>& dims);
Initializer Orthogonal();
// `initializer`, but 1 in the second of a vector's four quarters.
Initializer UnitForgetBias(Initializer initializer, int64_t units);

}  // namespace tpurun

#endif  // TPURUN_MODELS_INITIALIZERS_H_
