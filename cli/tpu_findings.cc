#include "cli/tpu_findings.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "cli/tpu_ops_page.h"
#include "runtime/base/text.h"
#include "runtime/tpu/tensorflow_ops.h"

namespace tpurun {
namespace {

using ProtoAttr = tensorflow::AttrValue;
using tensorflow::DataType;
using tensorflow::NodeDef;

// References to variables of TensorFlow 1: FLOAT_REF is FLOAT + 100.
constexpr int kRefTypes = 100;

const ProtoAttr* AttrOf(const NodeDef& node, const std::string& name) {
  const auto found = node.attr().find(name);
  return found == node.attr().end() ? nullptr : &found->second;
}

std::string AcceptedText(const std::vector<std::string>& types) {
  return absl::StrJoin(types, ", ");
}

std::string CureOfType(const std::string& type) {
  if (type == "string") return "text stays on the host: parse it before it is fed";
  if (absl::EndsWith(type, "_ref")) return "use resource variables (use_resource=True)";
  if (type == "double" || type == "half") return "cast to float or bfloat16";
  if (type == "uint8" || type == "int8" || type == "int16" || type == "uint16") {
    return "cast to int32, float or bfloat16 on the host";
  }
  if (type == "variant") return "a list of tensors: unroll the loop (unroll=True)";
  return "cast it to one of these types";
}

// The values of an attribute by the names that the table has; of an attribute that is left out, the
// default of a truth value.
std::vector<std::string> ValuesOf(const NodeDef& node, const TpuTypeRule& rule) {
  const ProtoAttr* const attr = AttrOf(node, rule.attr);
  if (rule.types == std::vector<std::string>{"true"}) {
    return {attr != nullptr && attr->b() ? "true" : "false"};
  }
  std::vector<std::string> values;
  if (attr == nullptr) return values;
  if (attr->value_case() == ProtoAttr::kType) values.push_back(TpuTypeName(attr->type()));
  for (const int type : attr->list().type()) {
    values.push_back(TpuTypeName(static_cast<DataType>(type)));
  }
  return values;
}

void AddTypeFindings(const NodeDef& node, const TpuOp& op, std::vector<TpuFinding>& findings) {
  for (const TpuTypeRule& rule : TypeRulesOf(op)) {
    std::vector<std::string> refused;
    for (const std::string& value : ValuesOf(node, rule)) {
      const bool fits =
          std::find(rule.types.begin(), rule.types.end(), value) != rule.types.end() ||
          std::find(refused.begin(), refused.end(), value) != refused.end();
      if (!fits) refused.push_back(value);
    }
    for (const std::string& value : refused) {
      const bool is_type = rule.types != std::vector<std::string>{"true"};
      findings.push_back({TpuVerdict::kType,
                          absl::StrCat("OpKernel was found, but attributes didn't match: ",
                                       rule.attr, "=", value, ", want ", AcceptedText(rule.types)),
                          is_type ? CureOfType(value) : absl::StrCat("set ", rule.attr, "=true")});
    }
  }
}

// The operands that a constant of the table stands for.
std::vector<int> OperandsOf(const NodeDef& node, const TpuConstant& constant, int num_inputs) {
  std::vector<int> operands;
  if (constant.kind == TpuConstant::Kind::kFirstN) {
    const ProtoAttr* const n = AttrOf(node, "N");
    const int64_t count = std::clamp<int64_t>(n == nullptr ? 0 : n->i(), 0, num_inputs);
    for (int i = 0; i < count; ++i) operands.push_back(i);
  } else if (constant.kind == TpuConstant::Kind::kOperand) {
    operands.push_back(constant.operand < 0 ? num_inputs + constant.operand : constant.operand);
  }
  return operands;
}

// Whether the node is a constant of integers without a negative one.
bool IsKnownPositive(const NodeDef* node) {
  if (node == nullptr || node->op() != "Const") return false;
  const ProtoAttr* const value = AttrOf(*node, "value");
  if (value == nullptr) return false;
  const tensorflow::TensorProto& tensor = value->tensor();
  const auto is_negative = [](int64_t element) { return element < 0; };
  const std::string& bytes = tensor.tensor_content();
  const size_t size = tensor.dtype() == tensorflow::DT_INT64 ? 8 : 4;
  for (size_t end = size; end <= bytes.size(); end += size) {
    if ((static_cast<uint8_t>(bytes[end - 1]) & 0x80) != 0) return false;  // little-endian
  }
  return std::none_of(tensor.int_val().begin(), tensor.int_val().end(), is_negative) &&
         std::none_of(tensor.int64_val().begin(), tensor.int64_val().end(), is_negative);
}

void AddConstantFindings(const ModelGraph& graph, int vertex, const TpuOp& op,
                         const ModelGraph::Set& varying, std::vector<TpuFinding>& findings) {
  const ModelGraph::Vertex& of = graph.vertex(vertex);
  const int num_inputs = static_cast<int>(of.inputs.size());
  for (const TpuConstant& constant : ConstantsOf(op)) {
    const int other = constant.unless_positive;
    if (other > 0 && other < num_inputs && IsKnownPositive(graph.vertex(of.inputs[other]).node)) {
      continue;
    }
    for (const int operand : OperandsOf(*of.node, constant, num_inputs)) {
      if (operand < 0 || operand >= num_inputs || !varying[of.inputs[operand]]) continue;
      findings.push_back(
          {TpuVerdict::kNotConstant,
           absl::StrCat("operand ", constant.name, " is computed, want a compile-time constant"),
           "make it a tf.constant, or of static shapes alone"});
      break;
    }
  }
}

std::string ShapeText(const tensorflow::TensorShapeProto& shape) {
  return absl::StrCat("[",
                      absl::StrJoin(shape.dim(), ",",
                                    [](std::string* out, const auto& dim) {
                                      absl::StrAppend(
                                          out, dim.size() < 0 ? "?" : absl::StrCat(dim.size()));
                                    }),
                      "]");
}

TpuFinding UnknownShape(const std::string& what) {
  return {TpuVerdict::kUnknownShape,
          absl::StrCat(what, ", want all sizes but the batch's: shapes are static on a TPU"),
          "give the input a shape; pad what varies"};
}

}  // namespace

std::string NameOf(TpuVerdict verdict) {
  switch (verdict) {
    case TpuVerdict::kNoOp:
      return "not on a TPU";
    case TpuVerdict::kType:
      return "type";
    case TpuVerdict::kNotConstant:
      return "not constant";
    case TpuVerdict::kUnknownShape:
      return "unknown shape";
    case TpuVerdict::kDropped:
      return "dropped";
    case TpuVerdict::kIgnored:
      return "ignored";
    case TpuVerdict::kRuns:
      return "runs";
  }
  return "";
}

bool IsViolation(TpuVerdict verdict) { return verdict <= TpuVerdict::kNotConstant; }

std::string TpuTypeName(DataType type) {
  const bool is_ref = type > kRefTypes;
  const std::string& enumerator =
      tensorflow::DataType_Name(is_ref ? static_cast<DataType>(type - kRefTypes) : type);
  if (enumerator.empty()) return absl::StrCat("type ", static_cast<int>(type));
  return absl::StrCat(absl::AsciiStrToLower(absl::StripPrefix(enumerator, "DT_")),
                      is_ref ? "_ref" : "");
}

std::vector<TpuFinding> FindingsOfInput(const ModelGraph& graph, const FedTensor& fed) {
  const NodeDef& node = *graph.vertex(fed.vertex).node;
  std::vector<TpuFinding> findings;
  const ProtoAttr* const dtype = AttrOf(node, "dtype");
  const DataType type = dtype == nullptr ? fed.info.dtype() : dtype->type();
  // What is fed is an argument, as the infeed's elements are.
  for (const TpuTypeRule& rule : TypeRulesOf(*FindTpuOp("InfeedDequeue"))) {
    const std::string name = TpuTypeName(type);
    if (std::find(rule.types.begin(), rule.types.end(), name) != rule.types.end()) continue;
    findings.push_back(
        {TpuVerdict::kType,
         absl::StrCat("an input of ", name, ", want one of ", AcceptedText(rule.types)),
         CureOfType(name)});
  }
  const ProtoAttr* const attr = AttrOf(node, "shape");
  const tensorflow::TensorShapeProto& shape =
      attr == nullptr ? fed.info.tensor_shape() : attr->shape();
  if (shape.unknown_rank()) {
    findings.push_back(UnknownShape("an input of unknown rank"));
  } else if (std::any_of(shape.dim().begin() + std::min(shape.dim_size(), 1), shape.dim().end(),
                         [](const auto& dim) { return dim.size() < 0; })) {
    findings.push_back(UnknownShape(absl::StrCat("an input of shape ", ShapeText(shape))));
  }
  return findings;
}

std::vector<TpuFinding> FindingsOfNode(const ModelGraph& graph, int vertex,
                                       const ModelGraph::Set& varying) {
  const NodeDef& node = *graph.vertex(vertex).node;
  std::vector<TpuFinding> findings;
  if (IsRewrittenForTpu(node.op()) || graph.HasFunction(node.op())) return findings;
  const TpuOp* const op = FindTpuOp(node.op());
  if (op == nullptr || op->status == TpuOpStatus::kNo) {
    const std::string here = InTpurun(node.op());
    findings.push_back(
        {TpuVerdict::kNoOp,
         op == nullptr
             ? absl::StrCat("No registered '", node.op(), "' OpKernel for XLA_TPU_JIT devices")
             : std::string(op->remark),
         here.empty() || here == kNotExpressible ? "compute it on the host"
                                                 : absl::StrCat("in tpurun: ", here)});
  } else if (op->status == TpuOpStatus::kDropped) {
    findings.push_back({TpuVerdict::kDropped, std::string(op->remark), "remove it"});
  } else if (op->status == TpuOpStatus::kIgnored) {
    findings.push_back({TpuVerdict::kIgnored, std::string(op->remark), "remove it"});
  } else {
    AddTypeFindings(node, *op, findings);
    AddConstantFindings(graph, vertex, *op, varying, findings);
  }
  return findings;
}

}  // namespace tpurun
