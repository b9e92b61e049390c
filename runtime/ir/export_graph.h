// ExportGraph: a graph in the ops of another framework (TensorFlow or ONNX). The export rules of
// ops append nodes to it. It does not know how either format writes constants, variables and
// inputs; runtime/export writes them.
#ifndef TPURUN_RUNTIME_IR_EXPORT_GRAPH_H_
#define TPURUN_RUNTIME_IR_EXPORT_GRAPH_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/ir/op_def.h"

namespace tpurun {

// The framework whose ops a graph uses.
enum class ExportFormat : uint8_t { kTensorFlow, kOnnx };

// The element types of tensors in both formats.
enum class ElementType : uint8_t {
  kFloat,
  kBFloat16,
  kInt32,
  kInt64,
  kUint8,
  kUint32,
  kBool,
  kComplex64,
  kString,
};
ElementType ElementTypeOf(DType dtype);

// Outermost dimension first; -1 for a dimension that depends on the batch size.
using ExportDims = std::vector<int64_t>;
inline bool HasUnknown(const std::vector<int64_t>& numbers) {
  return std::count(numbers.begin(), numbers.end(), -1) > 0;
}

struct ExportTensor {
  ElementType type = ElementType::kFloat;
  ExportDims dims;
  std::string bytes;                 // row-major, little-endian; empty if type is kString
  std::vector<std::string> strings;  // if type is kString

  static ExportTensor Int64s(ExportDims dims, const std::vector<int64_t>& values);
  static ExportTensor Float(float scalar);
  static ExportTensor Int32(int32_t scalar);
  static ExportTensor Int32s(const std::vector<int32_t>& values);  // a vector
  static ExportTensor Strings(ExportDims dims, std::vector<std::string> values);
};

struct ExportShape {  // an attribute that is a shape, not a list of numbers
  ExportDims dims;
};

using ExportAttr =
    std::variant<int64_t, float, bool, std::string, ElementType, ExportShape, ExportTensor,
                 std::vector<int64_t>, std::vector<float>, std::vector<std::string>,
                 std::vector<ElementType>, std::vector<ExportShape>>;
using ExportAttrs = std::map<std::string, ExportAttr>;

struct ExportNode {
  enum class Kind : uint8_t {
    kOp,
    kInput,     // fed by the caller of the graph; inputs[0], if there is one, is its default
    kConstant,  // the attribute "value"
    kVariable,  // the value of the variable `key`
  };
  Kind kind = Kind::kOp;
  // For kOp: the format's name of the op. An ONNX op of another domain has the domain as prefix:
  // "ai.onnx.ml.LabelEncoder".
  std::string op;
  std::string name;           // unique in the graph
  std::string key;            // kInput: the name of the feature; kVariable: of the variable
  std::vector<Value> inputs;  // an invalid input is omitted (in ONNX ops only)
  ExportAttrs attrs;
  ElementType type = ElementType::kFloat;  // for kInput, kConstant and kVariable
  ExportDims dims;
};

// Nodes in topological order. Names follow TensorFlow's rules (graph_constructor.cc): the first
// character is one of [A-Za-z0-9.], later characters may also be _ - /.
class ExportGraph {
 public:
  const std::vector<ExportNode>& nodes() const { return nodes_; }

  // Returns result 0 of a new node. Its name is `label` in the scope, or the op's name if `label`
  // is empty. The other results have the same node.
  Value Add(std::string op, std::vector<Value> inputs, ExportAttrs attrs = {},
            const std::string& label = "");
  Value Constant(ExportTensor tensor, const std::string& label = "Const");
  // int64 constants, the type of shapes and axes in both formats: a vector and a scalar.
  Value Int64s(const std::vector<int64_t>& values, const std::string& label);
  Value Int64(int64_t value, const std::string& label);
  // An int32 scalar: the only type of some operands, such as the axis of ConcatV2 on a TPU.
  Value Int32(int32_t value, const std::string& label);
  // Return the existing node of `key` if there is one.
  Value Input(const std::string& key, ElementType type, ExportDims dims);
  Value Variable(const std::string& key, ElementType type, ExportDims dims);
  // Adds a new input named `label`, even if there is an input of that key.
  Value NewInput(const std::string& key, ElementType type, ExportDims dims,
                 const std::string& label);

  // Makes the input optional: it equals `value` if the caller of the graph does not feed it.
  void SetDefault(Value input, Value value) { nodes_[input.node].inputs = {value}; }

  // Gives the node of `value`, the last one added for a model value, the name of that model value.
  // Does nothing if the node is not an op.
  void NameResult(Value value, const std::string& name);
  const std::string& scope() const { return scope_; }
  void set_scope(std::string scope) { scope_ = std::move(scope); }
  // From now on equal constants share one node in this scope. Empty: stops sharing.
  void ShareConstants(std::string scope);

  // Removes every node that none of these values depends on. Returns the new index of each node, or
  // -1 if it was removed.
  std::vector<int> KeepOnly(const std::vector<Value>& results);

 private:
  Value AddNode(ExportNode node);
  Value NewConstant(ExportTensor tensor, const std::string& label, const std::string& scope);
  Value SharedConstant(ExportTensor tensor, const std::string& label);
  Value AddKeyed(std::map<std::string, Value>& added, ExportNode node);
  std::string Unique(const std::string& name);

  std::vector<ExportNode> nodes_;
  std::set<std::string> names_;
  std::map<std::string, int> copies_;                // by name: the last number appended to it
  std::map<std::string, Value> inputs_, variables_;  // by key
  std::string scope_, constants_scope_;
  std::map<std::string, Value> constants_;  // the shared constants, by label and content
};

// The batch size, in rows, of the model that an export rule gets. A second model has one row more.
inline constexpr int64_t kExportRows = 2;

// [node of the model][result]; empty if the node has not been exported.
using ExportedValues = std::vector<std::vector<Value>>;

// The node that an export rule exports. Every dimension and every integer of an attribute that
// depends on the batch size is -1.
struct ExportCall {
  ExportGraph& graph;
  const Graph& model;  // the graph of `node`
  const Node& node;    // in the model built for kExportRows rows
  const Node& larger;  // the same node in the model built for kExportRows + 1 rows
  // The values in `graph` of the model's nodes before this one. A rule may also set the values of a
  // later node. The rule of that node is then not called.
  ExportedValues& exported;
  const std::vector<Value>& wanted;  // model values that are read outside the model
  Attrs attrs;
  std::vector<Value> inputs;  // in `graph`
  std::vector<Shape> operands;
  std::vector<Shape> results;

  ElementType type(int operand = 0) const { return ElementTypeOf(operands[operand].dtype); }
  // True if result 0 is (batch, D...) with known D.
  bool ResultIsOfBatch() const;
};

// Returns an input of the graph with one row per example, or an invalid Value if there is none.
Value InputOfBatch(const ExportGraph& graph);
// The number of rows of x as int64 (1), in TensorFlow ops.
Value TensorFlowRows(ExportGraph& graph, Value x, ElementType type);
// The dimensions of the call's result (batch, D...) as an int64 vector, in TensorFlow ops and in
// ONNX ops. Invalid if the result has no batch dimension, or if no input has a batch dimension to
// read it from.
Value TensorFlowDimsOfBatch(ExportCall& call);
Value OnnxDimsOfBatch(ExportCall& call);
// x reversed along `axis`, in ONNX ops.
Value OnnxReversed(ExportGraph& graph, Value x, int64_t axis);

// A rule with one op that takes the same operands. Its attribute T is the element type of operand
// `type_of`.
ExportRule TensorFlowOp(std::string op, int type_of = 0);
// A rule with one op that takes the same operands and no attributes.
ExportRule OnnxOp(std::string op);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IR_EXPORT_GRAPH_H_
