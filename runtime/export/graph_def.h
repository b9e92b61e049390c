// Writes an ExportGraph of TensorFlow's ops as a GraphDef.
#ifndef TPURUN_RUNTIME_EXPORT_GRAPH_DEF_H_
#define TPURUN_RUNTIME_EXPORT_GRAPH_DEF_H_

#include <string>

#include "proto/graph.pb.h"
#include "runtime/ir/export_graph.h"

namespace tpurun {

// The graph version of TensorFlow 1.15: the graphs use only its ops.
inline constexpr int kGraphProducer = 134;

tensorflow::DataType ToDataType(ElementType type);
tensorflow::TensorShapeProto ToTensorShape(const ExportDims& dims);

// The name of a tensor in feeds, fetches and signatures: "hidden_1/MatMul:0".
std::string TensorName(const ExportGraph& graph, Value value);

// A variable NAME becomes a VarHandleOp of that name with NAME/Read/ReadVariableOp.
// NAME/Initializer/zeros and NAME/Assign initialize it; this program never runs them.
void AppendNodes(const ExportGraph& graph, tensorflow::GraphDef& def);

// Adds a node to `def`. `inputs` name nodes or tensors of `def`. Control inputs, "^node", come
// last.
tensorflow::NodeDef& AppendNode(tensorflow::GraphDef& def, const std::string& name,
                                const std::string& op, const std::vector<std::string>& inputs,
                                const ExportAttrs& attrs = {});

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_EXPORT_GRAPH_DEF_H_
