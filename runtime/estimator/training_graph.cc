#include "runtime/estimator/training_graph.h"

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/compiler/replication.h"
#include "runtime/export/graph_def.h"
#include "runtime/ir/structural.h"

namespace tpurun {
namespace {

// The limit in characters; longer attributes (the values of a constant) are cut.
constexpr size_t kAttrCharacters = 200;

class GraphDefWriter {
 public:
  explicit GraphDefWriter(const Graph& graph) : graph_(graph), per_core_(PerCoreNodes(graph)) {}

  tensorflow::GraphDef Write() {
    def_.mutable_versions()->set_producer(kGraphProducer);
    for (const Variable& variable : graph_.variables()) WriteVariable(variable);
    for (const Node& node : graph_.nodes()) WriteNode(node);
    for (const Update& update : graph_.updates()) {
      const std::string& variable = variables_[update.variable];
      Append(absl::StrCat(variable, "/Assign"), "AssignVariableOp",
             {variable, TensorOf(update.value)}, graph_.variables()[update.variable].per_core);
    }
    return std::move(def_);
  }

 private:
  tensorflow::NodeDef& Append(const std::string& name, const std::string& op,
                              const std::vector<std::string>& inputs, bool per_core) {
    std::string unique = name;
    for (int i = 1; !names_.insert(unique).second; ++i) unique = absl::StrCat(name, "_", i);
    tensorflow::NodeDef& def = AppendNode(def_, unique, op, inputs);
    const char* const core = per_core ? "TPU_REPLICATED_CORE" : "TPU";
    def.set_device(absl::StrCat("/device:", graph_.num_replicas() == 1 ? "CPU" : core, ":0"));
    return def;
  }

  std::string TensorOf(Value value) const {
    const std::string& name = nodes_[value.node];
    return value.result == 0 ? name : absl::StrCat(name, ":", value.result);
  }

  static void SetShapes(const std::vector<Shape>& shapes, tensorflow::NodeDef& def) {
    tensorflow::AttrValue::ListValue& list =
        *(*def.mutable_attr())["_output_shapes"].mutable_list();
    for (const Shape& shape : shapes) *list.add_shape() = ToTensorShape(shape.dims);
  }

  static void SetDType(DType dtype, const std::string& attr, tensorflow::NodeDef& def) {
    (*def.mutable_attr())[attr].set_type(ToDataType(ElementTypeOf(dtype)));
  }

  void WriteVariable(const Variable& variable) {
    tensorflow::NodeDef& def = Append(variable.name, "VarHandleOp", {}, variable.per_core);
    SetDType(variable.shape.dtype, "dtype", def);
    *(*def.mutable_attr())["shape"].mutable_shape() = ToTensorShape(variable.shape.dims);
    variables_.push_back(def.name());
  }

  void WriteNode(const Node& node) {
    std::string op = node.op->name;
    std::vector<std::string> inputs;
    for (const Value input : node.inputs) inputs.push_back(TensorOf(input));
    if (node.op == &VariableOp()) {
      op = "ReadVariableOp";
      inputs.push_back(variables_[graph_.FindVariable(node.attrs.String("variable"))]);
    } else if (node.op == &InfeedOp()) {
      op = "InfeedDequeue";
    } else if (node.op == &ConstantOp()) {
      op = "Const";
    }
    const std::string name = node.name.empty() ? absl::StrCat(op, "_", node.id) : node.name;
    tensorflow::NodeDef& def = Append(name, op, inputs, per_core_[node.id]);
    nodes_.push_back(def.name());
    SetShapes(node.shapes, def);
    SetDType(node.shapes[0].dtype, "dtype", def);
    for (const auto& [key, value] : node.attrs.values()) {
      if (key != "dtype") {
        (*def.mutable_attr())[key].set_s(ToString(value).substr(0, kAttrCharacters));
      }
    }
  }

  const Graph& graph_;
  const std::vector<bool> per_core_;
  tensorflow::GraphDef def_;
  std::set<std::string> names_;
  std::vector<std::string> variables_, nodes_;  // names in def_, by index
};

}  // namespace

tensorflow::GraphDef TrainingGraphDef(const Graph& graph) { return GraphDefWriter(graph).Write(); }

}  // namespace tpurun
