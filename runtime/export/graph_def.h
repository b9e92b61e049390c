// An ExportGraph in TensorFlow's ops as a GraphDef.
#ifndef TPURUN_RUNTIME_EXPORT_GRAPH_DEF_H_
#define TPURUN_RUNTIME_EXPORT_GRAPH_DEF_H_

#include <string>

#include "proto/graph.pb.h"
#include "runtime/ir/export_graph.h"

namespace tpurun {

// TensorFlow 1.15's version number of graphs: they use what it has.
inline constexpr int kGraphProducer = 134;

tensorflow::DataType ToDataType(ElementType type);
tensorflow::TensorShapeProto ToTensorShape(const ExportDims& dims);

// "hidden_1/MatMul:0", which feeds, fetches and signatures name.
std::string TensorName(const ExportGraph& graph, Value value);

// A variable NAME is a VarHandleOp of that name with NAME/Read/ReadVariableOp, and what gives it a
// first value: NAME/Initializer/zeros and NAME/Assign, which nothing here runs.
void AppendNodes(const ExportGraph& graph, tensorflow::GraphDef& def);

// A node of `def`; `inputs` name nodes or tensors of it, "^node" at the end being control inputs.
tensorflow::NodeDef& AppendNode(tensorflow::GraphDef& def, const std::string& name,
                                const std::string& op, const std::vector<std::string>& inputs,
                                const ExportAttrs& attrs = {});

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_EXPORT_GRAPH_DEF_H_
