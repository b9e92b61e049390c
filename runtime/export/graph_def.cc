#include "runtime/export/graph_def.h"

#include <type_traits>
#include <variant>

#include "absl/strings/str_cat.h"
#include "runtime/io/tensor_bundle.h"

namespace tpurun {
namespace {

void SetTensor(const ExportTensor& from, tensorflow::TensorProto& to) {
  to.set_dtype(ToDataType(from.type));
  *to.mutable_tensor_shape() = ToTensorShape(from.dims);
  for (const std::string& value : from.strings) to.add_string_val(value);
  if (from.type != ElementType::kString) to.set_tensor_content(from.bytes);
}

void SetAttr(const ExportAttr& from, tensorflow::AttrValue& to) {
  std::visit(
      [&to](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, int64_t>) {
          to.set_i(value);
        } else if constexpr (std::is_same_v<T, float>) {
          to.set_f(value);
        } else if constexpr (std::is_same_v<T, bool>) {
          to.set_b(value);
        } else if constexpr (std::is_same_v<T, std::string>) {
          to.set_s(value);
        } else if constexpr (std::is_same_v<T, ElementType>) {
          to.set_type(ToDataType(value));
        } else if constexpr (std::is_same_v<T, ExportShape>) {
          *to.mutable_shape() = ToTensorShape(value.dims);
        } else if constexpr (std::is_same_v<T, ExportTensor>) {
          SetTensor(value, *to.mutable_tensor());
        } else {
          tensorflow::AttrValue::ListValue& list = *to.mutable_list();
          for (const auto& element : value) {
            using E = std::decay_t<decltype(element)>;
            if constexpr (std::is_same_v<E, int64_t>) list.add_i(element);
            if constexpr (std::is_same_v<E, float>) list.add_f(element);
            if constexpr (std::is_same_v<E, std::string>) list.add_s(element);
            if constexpr (std::is_same_v<E, ElementType>) list.add_type(ToDataType(element));
            if constexpr (std::is_same_v<E, ExportShape>) {
              *list.add_shape() = ToTensorShape(element.dims);
            }
          }
        }
      },
      from);
}

// The tensor that other nodes read.
std::string Read(const ExportGraph& graph, Value value) {
  const ExportNode& node = graph.nodes()[value.node];
  if (node.kind == ExportNode::Kind::kVariable) {
    return absl::StrCat(node.name, "/Read/ReadVariableOp");
  }
  return value.result == 0 ? node.name : absl::StrCat(node.name, ":", value.result);
}

void AppendVariable(const ExportNode& node, tensorflow::GraphDef& def) {
  const std::string& name = node.name;
  const ExportAttrs dtype = {{"dtype", node.type}};
  AppendNode(def, name, "VarHandleOp", {},
             {{"dtype", node.type}, {"shape", ExportShape{node.dims}}, {"shared_name", node.key}});
  AppendNode(def, absl::StrCat(name, "/Read/ReadVariableOp"), "ReadVariableOp", {name}, dtype);
  AppendNode(def, absl::StrCat(name, "/IsInitialized/VarIsInitializedOp"), "VarIsInitializedOp",
             {name});
  const std::string zeros = absl::StrCat(name, "/Initializer/zeros");
  AppendNode(
      def, zeros + "/shape", "Const", {},
      {{"dtype", ElementType::kInt64},
       {"value", ExportTensor::Int64s({static_cast<int64_t>(node.dims.size())}, node.dims)}});
  ExportTensor zero{.type = node.type,
                    .bytes = std::string(DataTypeSize(ToDataType(node.type)), '\0')};
  AppendNode(def, zeros + "/Const", "Const", {}, {{"dtype", node.type}, {"value", zero}});
  AppendNode(def, zeros, "Fill", {zeros + "/shape", zeros + "/Const"},
             {{"T", node.type}, {"index_type", ElementType::kInt64}});
  AppendNode(def, absl::StrCat(name, "/Assign"), "AssignVariableOp", {name, zeros}, dtype);
}

}  // namespace

tensorflow::DataType ToDataType(ElementType type) {
  switch (type) {
    case ElementType::kFloat:
      return tensorflow::DT_FLOAT;
    case ElementType::kBFloat16:
      return tensorflow::DT_BFLOAT16;
    case ElementType::kInt32:
      return tensorflow::DT_INT32;
    case ElementType::kInt64:
      return tensorflow::DT_INT64;
    case ElementType::kUint8:
      return tensorflow::DT_UINT8;
    case ElementType::kUint32:
      return tensorflow::DT_UINT32;
    case ElementType::kBool:
      return tensorflow::DT_BOOL;
    case ElementType::kComplex64:
      return tensorflow::DT_COMPLEX64;
    case ElementType::kString:
      return tensorflow::DT_STRING;
  }
  return tensorflow::DT_INVALID;
}

tensorflow::TensorShapeProto ToTensorShape(const ExportDims& dims) {
  tensorflow::TensorShapeProto shape;
  for (const int64_t dim : dims) shape.add_dim()->set_size(dim);
  return shape;
}

std::string TensorName(const ExportGraph& graph, Value value) {
  const std::string read = Read(graph, value);
  return value.result == 0 ? absl::StrCat(read, ":0") : read;
}

tensorflow::NodeDef& AppendNode(tensorflow::GraphDef& def, const std::string& name,
                                const std::string& op, const std::vector<std::string>& inputs,
                                const ExportAttrs& attrs) {
  tensorflow::NodeDef& node = *def.add_node();
  node.set_name(name);
  node.set_op(op);
  for (const std::string& input : inputs) node.add_input(input);
  for (const auto& [key, value] : attrs) SetAttr(value, (*node.mutable_attr())[key]);
  return node;
}

void AppendNodes(const ExportGraph& graph, tensorflow::GraphDef& def) {
  for (const ExportNode& node : graph.nodes()) {
    std::vector<std::string> inputs;
    for (const Value input : node.inputs) inputs.push_back(Read(graph, input));
    switch (node.kind) {
      case ExportNode::Kind::kOp:
        AppendNode(def, node.name, node.op, inputs, node.attrs);
        break;
      case ExportNode::Kind::kInput:
        AppendNode(def, node.name, inputs.empty() ? "Placeholder" : "PlaceholderWithDefault",
                   inputs, {{"dtype", node.type}, {"shape", ExportShape{node.dims}}});
        break;
      case ExportNode::Kind::kConstant:
        AppendNode(def, node.name, "Const", {},
                   {{"dtype", node.type}, {"value", node.attrs.at("value")}});
        break;
      case ExportNode::Kind::kVariable:
        AppendVariable(node, def);
        break;
    }
  }
}

}  // namespace tpurun
