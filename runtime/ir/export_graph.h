// ExportGraph: a graph in another framework's ops, TensorFlow's or ONNX's, that the export rules of
// ops add to. What differs between the two formats beyond the ops (how a constant, a variable and
// an input is written) is not seen here: runtime/export writes them.
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

// The framework whose ops a graph is in.
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

// Outermost first; -1 where only the batch decides.
using ExportDims = std::vector<int64_t>;
inline bool HasUnknown(const std::vector<int64_t>& numbers) {
  return std::count(numbers.begin(), numbers.end(), -1) > 0;
}

struct ExportTensor {
  ElementType type = ElementType::kFloat;
  ExportDims dims;
  std::string bytes;                 // row-major, little-endian; empty of kString
  std::vector<std::string> strings;  // of kString

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
    kInput,     // fed by whoever runs the graph; of one input where it has a default
    kConstant,  // the attribute "value"
    kVariable,  // the value of the variable of that name
  };
  Kind kind = Kind::kOp;
  std::string op;             // of kOp, in the words of the format; ONNX's of another domain than
                              // its own behind that, "ai.onnx.ml.LabelEncoder"
  std::string name;           // unique in the graph
  std::string key;            // of kInput and kVariable: the feature's, the variable's own name
  std::vector<Value> inputs;  // an invalid one is left out, which only ONNX's ops allow
  ExportAttrs attrs;
  ElementType type = ElementType::kFloat;  // of kInput, kConstant and kVariable
  ExportDims dims;
};

// Nodes in topological order. Names follow TensorFlow's rules (graph_constructor.cc): [A-Za-z0-9.]
// first, then also _ - /.
class ExportGraph {
 public:
  const std::vector<ExportNode>& nodes() const { return nodes_; }

  // Result 0 of a new node, named `label` in the scope (the op where empty); its others follow.
  Value Add(std::string op, std::vector<Value> inputs, ExportAttrs attrs = {},
            const std::string& label = "");
  Value Constant(ExportTensor tensor, const std::string& label = "Const");
  // int64, which both formats take for shapes and axes: a vector, a scalar.
  Value Int64s(const std::vector<int64_t>& values, const std::string& label);
  Value Int64(int64_t value, const std::string& label);
  // One node for each key.
  Value Input(const std::string& key, ElementType type, ExportDims dims);
  Value Variable(const std::string& key, ElementType type, ExportDims dims);
  // A new input, even where there is one of that key, named `label`.
  Value NewInput(const std::string& key, ElementType type, ExportDims dims,
                 const std::string& label);

  // Who runs the graph need not feed the input: it is `value` then.
  void SetDefault(Value input, Value value) { nodes_[input.node].inputs = {value}; }

  // The node at the end of what was added for one value gets the name that the value has; nothing
  // when it is no op.
  void NameResult(Value value, const std::string& name);
  const std::string& scope() const { return scope_; }
  void set_scope(std::string scope) { scope_ = std::move(scope); }
  // From now on equal constants are one, in this scope; empty: no longer.
  void ShareConstants(std::string scope);

  // Drops every node that none of these values depends on. Returns where each node is now; -1: it
  // was dropped.
  std::vector<int> KeepOnly(const std::vector<Value>& results);

 private:
  Value AddNode(ExportNode node);
  Value NewConstant(ExportTensor tensor, const std::string& label, const std::string& scope);
  Value SharedConstant(ExportTensor tensor, const std::string& label);
  Value AddKeyed(std::map<std::string, Value>& added, ExportNode node);
  std::string Unique(const std::string& name);

  std::vector<ExportNode> nodes_;
  std::set<std::string> names_;
  std::map<std::string, int> copies_;                // by name, the last number behind it
  std::map<std::string, Value> inputs_, variables_;  // by key
  std::string scope_, constants_scope_;
  std::map<std::string, Value> constants_;  // those that are shared, by label and content
};

// The rows of the build that a rule sees; a second one has a row more.
inline constexpr int64_t kExportRows = 2;

// By node of the model, its results; empty: the node has not been exported.
using ExportedValues = std::vector<std::vector<Value>>;

// A node for which an export rule speaks. Every dimension and every whole number of an attribute
// that the batch decides is -1.
struct ExportCall {
  ExportGraph& graph;
  const Graph& model;  // the node's
  const Node& node;    // of the model that is built for kExportRows rows
  const Node& larger;  // of that for one row more
  // What says each value of the model in `graph`, of the nodes ahead of this one. A rule may say
  // there what a node behind it gives, which then is not asked.
  ExportedValues& exported;
  const std::vector<Value>& wanted;  // of the model, read from outside
  Attrs attrs;
  std::vector<Value> inputs;  // in `graph`
  std::vector<Shape> operands;
  std::vector<Shape> results;

  ElementType type(int operand = 0) const { return ElementTypeOf(operands[operand].dtype); }
  // Whether result 0 is (batch, D...) with known D.
  bool ResultIsOfBatch() const;
};

// An input of the graph with a row for each example; invalid: there is none.
Value InputOfBatch(const ExportGraph& graph);
// How many rows x has, int64 (1), in TensorFlow's ops.
Value TensorFlowRows(ExportGraph& graph, Value x, ElementType type);
// The dimensions of the call's result (batch, D...) as an int64 vector, in TensorFlow's ops and in
// ONNX's. Invalid where the result has no batch dimension or no input has one to take it from.
Value TensorFlowDimsOfBatch(ExportCall& call);
Value OnnxDimsOfBatch(ExportCall& call);
// x reversed along `axis`, in ONNX's ops.
Value OnnxReversed(ExportGraph& graph, Value x, int64_t axis);

// One op that takes the same operands, its attribute T their element type.
ExportRule TensorFlowOp(std::string op, int type_of = 0);
// One op that takes the same operands and no attributes.
ExportRule OnnxOp(std::string op);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IR_EXPORT_GRAPH_H_
