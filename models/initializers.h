// Initializers: the distribution that the values of a new variable are drawn from, given its shape.
// The formulas are those of tf.initializers of TensorFlow 1.x.
#ifndef TPURUN_MODELS_INITIALIZERS_H_
#define TPURUN_MODELS_INITIALIZERS_H_

#include <string>
#include <vector>

#include "proto/config_errors.h"
#include "proto/model_spec.pb.h"
#include "runtime/ir/graph.h"

namespace tpurun {

// The numbers of inputs and outputs of one unit. For a kernel (..., in, out) they are `in` and
// `out` times the receptive field, which is the product of the leading dimensions. For a vector
// both are its size; for a scalar both are 1.
struct Fans {
  double in = 1;
  double out = 1;
};
Fans FansOf(const std::vector<int64_t>& dims);

// One row of the table in initializers.cc.
struct InitializerDef {
  std::string name;  // the initializer's field in the oneof
  int min_rank = 0;  // the lowest rank of a variable that it can initialize
  Initializer (*make)(const proto::Initializer& initializer, const Fans& fans);
};

const std::vector<InitializerDef>& InitializerList();

// Adds the mistakes of `initializer` for a variable of this rank to `errors`. `path` is the path of
// the initializer: "dense.kernel_initializer".
void CheckInitializer(const proto::Initializer& initializer, int rank, const std::string& path,
                      ConfigErrors& errors);

// Returns the initializer for a variable of these dimensions. `initializer` must have passed
// CheckInitializer.
Initializer MakeInitializer(const proto::Initializer& initializer,
                            const std::vector<int64_t>& dims);

Initializer Zeros();
Initializer GlorotUniform(const std::vector<int64_t>& dims);
Initializer Orthogonal();
// Returns `initializer`, changed to set the elements [units, 2 units) of a vector of 4 units
// elements to 1.
Initializer UnitForgetBias(Initializer initializer, int64_t units);

}  // namespace tpurun

#endif  // TPURUN_MODELS_INITIALIZERS_H_
