// The graph of one step for people to look at: graph.pbtxt and TensorBoard's graph page.
#ifndef TPURUN_RUNTIME_ESTIMATOR_TRAINING_GRAPH_H_
#define TPURUN_RUNTIME_ESTIMATOR_TRAINING_GRAPH_H_

#include "proto/graph.pb.h"
#include "runtime/ir/graph.h"

namespace tpurun {

// Nodes in the ops of this program, under their scoped names, one replica's shapes in
// `_output_shapes`; variables, what reads and what assigns them, infeed and constants in
// TensorFlow's. With several replicas the device of what each core computes for itself is
// TPU_REPLICATED_CORE, of what they share TPU.
tensorflow::GraphDef TrainingGraphDef(const Graph& graph);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_TRAINING_GRAPH_H_
