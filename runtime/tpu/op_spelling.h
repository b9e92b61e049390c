// The names of TensorFlow's ops, of which GraphDefs and the Python API have several for one op.
#ifndef TPURUN_RUNTIME_TPU_OP_SPELLING_H_
#define TPURUN_RUNTIME_TPU_OP_SPELLING_H_

#include <string>
#include <string_view>

namespace tpurun {

// Returns the form that all spellings of an op's name share: lower case, without the module prefix,
// underscores and the version suffix. MatMul, tf.matmul and tf.linalg.matmul are "matmul". A
// function whose name says what it is only behind its module has the name of TensorFlow 1:
// tf.strings.split is "stringsplit", tf.linalg.inv is "matrixinverse".
std::string OpSpelling(std::string_view name);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_TPU_OP_SPELLING_H_
