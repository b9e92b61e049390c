// The graph of one step for display: graph.pbtxt and TensorBoard's graph page.
#ifndef TPURUN_RUNTIME_ESTIMATOR_TRAINING_GRAPH_H_
#define TPURUN_RUNTIME_ESTIMATOR_TRAINING_GRAPH_H_

#include "proto/graph.pb.h"
#include "runtime/ir/graph.h"

namespace tpurun {

// The nodes have the ops of this program, scoped names, and the shapes of one replica in
// `_output_shapes`. Variables, their reads and assignments, infeed and constants are TensorFlow's
// ops. With several replicas, the device of a node that each core computes for itself is
// TPU_REPLICATED_CORE, and of a shared node it is TPU.
tensorflow::GraphDef TrainingGraphDef(const Graph& graph);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_TRAINING_GRAPH_H_
