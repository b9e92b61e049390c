#include "runtime/export/onnx.h"

#include <limits>
#include <set>
#include <type_traits>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "proto/onnx.pb.h"
#include "proto/serialize.h"
#include "runtime/export/signatures.h"

namespace tpurun {
namespace {

using onnx::AttributeProto;

constexpr int kIrVersion = 8;
constexpr int kOpset = 17;
constexpr int kMlOpset = 3;  // of ai.onnx.ml, with that

onnx::TensorProto::DataType ToOnnxType(ElementType type) {
  switch (type) {
    case ElementType::kFloat:
      return onnx::TensorProto::FLOAT;
    case ElementType::kBFloat16:
      return onnx::TensorProto::BFLOAT16;
    case ElementType::kInt32:
      return onnx::TensorProto::INT32;
    case ElementType::kInt64:
      return onnx::TensorProto::INT64;
    case ElementType::kUint8:
      return onnx::TensorProto::UINT8;
    case ElementType::kUint32:
      return onnx::TensorProto::UINT32;
    case ElementType::kBool:
      return onnx::TensorProto::BOOL;
    case ElementType::kComplex64:
      return onnx::TensorProto::COMPLEX64;
    case ElementType::kString:
      return onnx::TensorProto::STRING;
  }
  return onnx::TensorProto::UNDEFINED;
}

void SetTensor(const std::string& name, ElementType type, const ExportDims& dims,
               std::string_view bytes, onnx::TensorProto& tensor) {
  if (!name.empty()) tensor.set_name(name);
  tensor.set_data_type(ToOnnxType(type));
  for (const int64_t dim : dims) tensor.add_dims(dim);
  tensor.set_raw_data(bytes.data(), bytes.size());
}

void SetTensor(const std::string& name, const ExportTensor& from, onnx::TensorProto& tensor) {
  SetTensor(name, from.type, from.dims, from.bytes, tensor);
  if (from.type != ElementType::kString) return;
  tensor.clear_raw_data();
  for (const std::string& text : from.strings) tensor.add_string_data(text);
}

void SetAttr(const std::string& name, const ExportAttr& from, AttributeProto& to) {
  to.set_name(name);
  std::visit(
      [&to](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, bool>) {
          to.set_type(AttributeProto::INT);
          to.set_i(value);
        } else if constexpr (std::is_same_v<T, float>) {
          to.set_type(AttributeProto::FLOAT);
          to.set_f(value);
        } else if constexpr (std::is_same_v<T, std::string>) {
          to.set_type(AttributeProto::STRING);
          to.set_s(value);
        } else if constexpr (std::is_same_v<T, ElementType>) {
          to.set_type(AttributeProto::INT);
          to.set_i(ToOnnxType(value));
        } else if constexpr (std::is_same_v<T, ExportTensor>) {
          to.set_type(AttributeProto::TENSOR);
          SetTensor("", value, *to.mutable_t());
        } else if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
          to.set_type(AttributeProto::INTS);
          to.mutable_ints()->Add(value.begin(), value.end());
        } else if constexpr (std::is_same_v<T, std::vector<float>>) {
          to.set_type(AttributeProto::FLOATS);
          to.mutable_floats()->Add(value.begin(), value.end());
        } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          to.set_type(AttributeProto::STRINGS);
          for (const std::string& element : value) to.add_strings(element);
        }
        // The other kinds are TensorFlow's alone.
      },
      from);
}

onnx::ValueInfoProto InfoOf(const std::string& name, const ExportedTensor& tensor) {
  onnx::ValueInfoProto info;
  info.set_name(name);
  if (!tensor.note.empty()) info.set_doc_string(tensor.note);
  onnx::TypeProto::Tensor& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(ToOnnxType(tensor.type));
  type.mutable_shape();
  for (const int64_t size : tensor.dims) {
    onnx::TensorShapeProto::Dimension& dim = *type.mutable_shape()->add_dim();
    if (size >= 0) {
      dim.set_dim_value(size);
    } else if (type.shape().dim_size() == 1) {
      dim.set_dim_param("batch");
    }
  }
  return info;
}

// What the graph is fed with.
const std::vector<ExportedTensor>& Fed(const ExportedModel& model) {
  return model.fields.empty() ? model.inputs : model.fields;
}

// The value itself where it is an input that is not fed, but made.
Value Made(const ExportGraph& graph, Value value) {
  while (value.valid()) {
    const ExportNode& node = graph.nodes()[value.node];
    if (node.kind != ExportNode::Kind::kInput || node.inputs.empty()) break;
    value = node.inputs[0];
  }
  return value;
}

// The nodes, each behind those that it reads: an input that is made has them behind it.
std::vector<int> InOrder(const ExportGraph& graph) {
  const int count = static_cast<int>(graph.nodes().size());
  std::vector<int> order, waiting;
  std::vector<bool> placed(count, false);
  for (int first = 0; first < count; ++first) {
    waiting.push_back(first);
    while (!waiting.empty()) {
      const int node = waiting.back();
      int unplaced = -1;
      for (const Value input : graph.nodes()[node].inputs) {
        if (input.valid() && !placed[input.node]) unplaced = input.node;
      }
      if (unplaced >= 0) {
        waiting.push_back(unplaced);
        continue;
      }
      waiting.pop_back();
      if (!placed[node]) order.push_back(node);
      placed[node] = true;
    }
  }
  return order;
}

// The names of values: an input's is the field's or feature's, an output's the prediction's, and no
// other value has one of these.
class Names {
 public:
  explicit Names(const ExportedModel& model) : graph_(model.graph) {
    for (const ExportedTensor& input : Fed(model)) {
      taken_.insert(input.name);
      inputs_[input.value.node] = input.name;
    }
    for (const ExportedTensor& prediction : model.predictions) {
      std::string name = prediction.name;
      while (!taken_.insert(name).second) name += "_output";
      outputs_.push_back(name);
    }
  }

  // Empty of an invalid value: it is left out.
  std::string Of(Value value) const {
    if (!value.valid()) return "";
    value = Made(graph_, value);
    const ExportNode& node = graph_.nodes()[value.node];
    if (node.kind == ExportNode::Kind::kInput) return inputs_.at(value.node);
    if (value.result > 0) return absl::StrCat(node.name, ":", value.result);
    return taken_.count(node.name) > 0 ? absl::StrCat(node.name, ":0") : node.name;
  }
  const std::string& OfOutput(size_t i) const { return outputs_[i]; }

 private:
  const ExportGraph& graph_;
  std::set<std::string> taken_;
  std::map<int, std::string> inputs_;  // by node
  std::vector<std::string> outputs_;
};

// By node, which of its results are read; as many as ONNX must name.
std::vector<std::vector<bool>> ReadResults(const ExportedModel& model) {
  std::vector<std::vector<bool>> read(model.graph.nodes().size());
  const auto add = [&](Value value) {
    value = Made(model.graph, value);
    if (!value.valid()) return;
    std::vector<bool>& results = read[value.node];
    if (std::ssize(results) <= value.result) results.resize(value.result + 1);
    results[value.result] = true;
  };
  for (const ExportNode& node : model.graph.nodes()) {
    for (const Value input : node.inputs) add(input);
  }
  for (const ExportedTensor& prediction : model.predictions) add(prediction.value);
  for (const ExportOutput& output : model.outputs) add(output.value);
  return read;
}

void AddNode(const ExportNode& node, Value value, const std::vector<bool>& read, const Names& names,
             const std::function<std::string_view(const std::string& key)>& value_of,
             onnx::GraphProto& graph) {
  switch (node.kind) {
    case ExportNode::Kind::kInput:
      break;
    case ExportNode::Kind::kConstant: {
      const ExportTensor& tensor = std::get<ExportTensor>(node.attrs.at("value"));
      SetTensor(names.Of(value), tensor, *graph.add_initializer());
      break;
    }
    case ExportNode::Kind::kVariable:
      SetTensor(names.Of(value), node.type, node.dims, value_of(node.key),
                *graph.add_initializer());
      break;
    case ExportNode::Kind::kOp: {
      onnx::NodeProto& added = *graph.add_node();
      added.set_name(node.name);
      const size_t domain = node.op.rfind('.');
      if (domain != std::string::npos) added.set_domain(node.op.substr(0, domain));
      added.set_op_type(node.op.substr(domain + 1));  // npos + 1 is 0
      for (const Value input : node.inputs) added.add_input(names.Of(input));
      for (; value.result < std::ssize(read); ++value.result)
        added.add_output(read[value.result] ? names.Of(value) : "");
      for (const auto& [key, attr] : node.attrs) SetAttr(key, attr, *added.add_attribute());
      break;
    }
  }
}

// The metadata that the heads give.
std::map<std::string, std::string> ClassesOf(const std::vector<ExportOutput>& outputs) {
  const std::vector<std::string> keys = HeadKeys(outputs);
  std::map<std::string, std::string> classes;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (outputs[i].kind != ExportOutput::Kind::kClassification) continue;
    classes[absl::StrCat(keys[i], "/classes")] =
        nlohmann::json(ClassNames(outputs[i]))
            .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  if (classes.size() == 1) return {{"classes", classes.begin()->second}};
  return classes;
}

}  // namespace

absl::StatusOr<std::string> ToOnnx(
    const ExportedModel& model, const std::string& name,
    std::map<std::string, std::string> metadata,
    const std::function<std::string_view(const std::string& key)>& value_of) {
  onnx::ModelProto proto;
  proto.set_ir_version(kIrVersion);
  proto.set_producer_name("tpurun");
  proto.add_opset_import()->set_domain("");
  proto.mutable_opset_import(0)->set_version(kOpset);
  metadata.merge(ClassesOf(model.outputs));
  for (const auto& [key, value] : metadata) {
    onnx::StringStringEntryProto& entry = *proto.add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
  }
  onnx::GraphProto& graph = *proto.mutable_graph();
  graph.set_name(name.empty() ? "model" : name);
  const Names names(model);
  for (const ExportedTensor& input : Fed(model)) {
    *graph.add_input() = InfoOf(input.name, input);
  }
  const std::vector<ExportNode>& nodes = model.graph.nodes();
  const std::vector<std::vector<bool>> read = ReadResults(model);
  for (const int i : InOrder(model.graph)) {
    AddNode(nodes[i], {i, 0}, read[i], names, value_of, graph);
  }
  for (const onnx::NodeProto& node : graph.node()) {
    if (node.domain().empty() || proto.opset_import_size() > 1) continue;
    onnx::OperatorSetIdProto& domain = *proto.add_opset_import();
    domain.set_domain(node.domain());
    domain.set_version(kMlOpset);
  }
  for (size_t i = 0; i < model.predictions.size(); ++i) {
    const ExportedTensor& prediction = model.predictions[i];
    onnx::NodeProto& output = *graph.add_node();
    output.set_name(absl::StrCat(names.OfOutput(i), "/output"));
    output.set_op_type("Identity");
    output.add_input(names.Of(prediction.value));
    output.add_output(names.OfOutput(i));
    *graph.add_output() = InfoOf(names.OfOutput(i), prediction);
  }
  if (proto.ByteSizeLong() > std::numeric_limits<int32_t>::max()) {
    return absl::InvalidArgumentError(
        absl::StrCat("an ONNX file holds 2 GiB at most, the model has ", proto.ByteSizeLong(),
                     " bytes; export it as saved_model"));
  }
  return SerializeDeterministically(proto);
}

}  // namespace tpurun
