// The layer `op`, which adds any op of the graph.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "models/layers/families.h"
#include "models/layers/tpu_ops.h"
#include "proto/field_rules.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/ir/collectives.h"
#include "runtime/ir/elementwise.h"
#include "runtime/ops/op_list.h"

namespace tpurun {
namespace {

// More than any memory holds.
constexpr int64_t kMaxValues = int64_t{1} << 48;
// What a call is tried with besides the batch: that many examples more, which are more than an
// array has dimensions, so that none of them, an axis, is taken for the batch.
constexpr int64_t kMoreExamples = 64;
constexpr char kPrecision[] = "precision";  // of products: the model's where it is left out

bool Has(const OpDef& op, const std::string& attr) {
  return std::any_of(op.attrs.begin(), op.attrs.end(),
                     [&](const AttrDef& def) { return def.name == attr; });
}

// How an attribute is written.
struct TypeText {
  std::string operator()(int64_t) const { return "a whole number"; }
  std::string operator()(double) const { return "a number as 0.5f"; }
  std::string operator()(bool) const { return "true or false"; }
  std::string operator()(const std::string&) const { return "a text in quotes"; }
  std::string operator()(const std::vector<int64_t>&) const { return "whole numbers as [1,2]"; }
  std::string operator()(const std::vector<double>&) const { return "numbers as [1f,0.5f]"; }
  std::string operator()(DType) const { return "a type as f32 or s32"; }
  std::string operator()(const TileProgram&) const { return "a program in quotes"; }
};

// What is wrong with a call, and what its op has.
std::string Message(const OpDef& op, const absl::Status& status) {
  return absl::StrCat(std::string(status.message()), " (", op.name, " has ", OpAttrsText(op), ")");
}

// `attrs` with the braces and without the blanks that a graph's text has not.
std::string AsGraphText(const std::string& attrs) {
  std::string text;
  bool quoted = false;
  for (const char c : attrs) {
    if (c == '"') quoted = !quoted;
    if (c != ' ' || quoted) text += c;
  }
  const bool braces = !text.empty() && text.front() == '{' && text.back() == '}';
  return braces ? text : absl::StrCat("{", text, "}");
}

bool HoldsNan(const AttrValue& value) {
  const auto* const number = std::get_if<double>(&value);
  if (number != nullptr) return std::isnan(*number);
  const auto* const numbers = std::get_if<std::vector<double>>(&value);
  return numbers != nullptr && std::any_of(numbers->begin(), numbers->end(),
                                           [](double each) { return std::isnan(each); });
}

// Checked against what the op has; whole numbers of lists are dimensions, -1 the batch.
absl::StatusOr<Attrs> ParsedAttrs(const OpDef& op, const std::string& text) {
  ASSIGN_OR_RETURN(Attrs attrs, ParseAttrs(AsGraphText(text)));
  ASSIGN_OR_RETURN(attrs, TypedAttrs(op, std::move(attrs)));
  if (attrs.Has(kStoredIn) && !Has(op, kStoredIn)) {
    return absl::InvalidArgumentError(
        absl::StrCat("what a result is stored in is the layer's `dtype`, not ", kStoredIn));
  }
  for (const auto& [name, value] : attrs.values()) {
    if (HoldsNan(value)) {
      return absl::InvalidArgumentError(
          absl::StrCat(op.name, ": attribute ", name, " must not be NaN, got ", ToString(value)));
    }
    const auto* numbers = std::get_if<std::vector<int64_t>>(&value);
    int64_t values = 1;
    for (const int64_t number : numbers == nullptr ? std::vector<int64_t>{} : *numbers) {
      const int64_t dim = std::max<int64_t>(1, number);
      if (number < -1 || number > kMaxDimension || dim > kMaxValues / values) {
        return absl::InvalidArgumentError(
            absl::StrCat(op.name, ": attribute ", name, " must hold numbers in [0, ", kMaxDimension,
                         "], or -1 for the batch, and not too large ones, got ", ToString(value)));
      }
      values *= dim;
    }
  }
  return attrs;
}

// With `batch` in the place of each -1.
Attrs ForBatch(const Attrs& attrs, int64_t batch) {
  Attrs replaced = attrs;
  for (const auto& [name, value] : attrs.values()) {
    if (const auto* numbers = std::get_if<std::vector<int64_t>>(&value)) {
      std::vector<int64_t> dims = *numbers;
      std::replace(dims.begin(), dims.end(), int64_t{-1}, batch);
      replaced.Set(name, dims);
    }
  }
  return replaced;
}

// The call on a batch of so many examples, results left out. An op without operands reads nothing
// of the layer's input, which says how many examples there are.
OpCall OperandsForBatch(const OpDef& op, const Attrs& attrs, const LayerContext& layer,
                        int64_t batch) {
  OpCall call{.op = &op, .attrs = ForBatch(attrs, batch)};
  for (int i = 0; op.max_operands != 0 && i < static_cast<int>(layer.inputs.size()); ++i) {
    call.operands.push_back(layer.shape(i));
    call.operands.back().dims[0] = batch;
  }
  return call;
}

absl::StatusOr<OpCall> CallForBatch(const OpDef& op, const Attrs& attrs, const LayerContext& layer,
                                    int64_t batch) {
  OpCall call = OperandsForBatch(op, attrs, layer, batch);
  ASSIGN_OR_RETURN(call.results, InferShapes(op, call.operands, call.attrs));
  return call;
}

// "f32[3,N]" of a result for two batches, N what differs by as much as they do.
std::string TextOfBoth(const Shape& one, const Shape& more) {
  std::vector<std::string> dims;
  for (size_t i = 0; i < one.dims.size(); ++i) {
    const bool varies = i < more.dims.size() && more.dims[i] == one.dims[i] + kMoreExamples;
    dims.push_back(varies ? "N" : absl::StrCat(one.dims[i]));
  }
  return absl::StrCat(std::string(Name(one.dtype)), "[", absl::StrJoin(dims, ","), "]");
}

constexpr char kSeeOps[] = "; `tpurun help ops` lists those there are";

// The op or layer whose name is another spelling of `name`: MatMul, tf.nn.relu; empty: none.
std::string OtherSpelling(const std::string& name) {
  if (const std::string op = OpOfSpelling(name); !op.empty()) return Quote(op);
  const std::string layer = LayerOfSpelling(name);
  return layer.empty() ? "" : absl::StrCat("the layer ", layer, " { ... }");
}

// What only tpurun lacks is a mistake of a name; what a TPU lacks is refused.
void AddNoOp(const std::string& name, ConfigErrors& errors) {
  if (const std::string other = OtherSpelling(name); !other.empty()) {
    errors.Add("op.name",
               absl::StrCat("unknown op ", Quote(name), ", did you mean ", other, "?", kSeeOps));
    return;
  }
  const TensorFlowOps* const row = FindTensorFlowOp(name);
  if (row == nullptr) {
    std::vector<std::string> names;
    for (const OpDef* op : AllOps()) {
      if (IsLayerOp(*op)) names.push_back(op->name);
    }
    errors.Add("op.name",
               absl::StrCat("unknown op ", Quote(name), DidYouMean(name, names), kSeeOps));
    return;
  }
  const std::string want =
      row->instead.empty() ? "" : absl::StrCat(", want ", ToAbsl(row->instead));
  if (TpuHas(*row)) {
    errors.Add("op.name",
               absl::StrCat("tpurun has no op ", Quote(name), " (a TPU has)", want, kSeeOps));
  } else {
    errors.RejectOnTpu(ConfigPlace(), "op.name",
                       absl::StrCat("the TPU has no op ", Quote(name), want, kSeeOps));
  }
}

// The operands of the call that would do in f32, "operand 0"; empty: their types are not what is
// wrong with it.
std::string WantFloats(OpCall call) {
  std::vector<std::string> wanting;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    if (IsFloat(call.operands[i].dtype)) continue;
    wanting.push_back(
        absl::StrCat("operand ", i, " of ", std::string(Name(call.operands[i].dtype))));
    call.operands[i].dtype = DType::kF32;
  }
  return InferShapes(*call.op, call.operands, call.attrs).ok() ? absl::StrJoin(wanting, " and ")
                                                               : "";
}

// What the shapes of a call for a batch and of one for more examples show that a layer cannot be;
// empty: nothing.
std::string MistakeOfBatch(const OpCall& call, const OpCall& larger, int64_t batch) {
  for (size_t i = 0; i < call.results.size(); ++i) {
    const Shape &one = call.results[i], &more = larger.results[i];
    Shape want = one;
    if (want.rank() > 0) want.dims[0] = batch + kMoreExamples;
    if (one.rank() == 0 || one.dims[0] != batch || !(more == want)) {
      return absl::StrCat("result ", i, " of ", call.op->name,
                          " must have the examples first, [N,...], got ", TextOfBoth(one, more));
    }
    if (one.dtype == DType::kBF16) {
      return "what a result is stored in is the layer's `dtype`, not bf16 here";
    }
  }
  const OpFlags flags = OpFlagsOf(call);
  for (size_t i = 0; i < call.operands.size(); ++i) {
    if (HasOperand(flags.row_operands, static_cast<int>(i))) continue;
    return absl::StrCat(call.op->name, " reads operand ", i,
                        " of all examples of a core at once; a layer's example depends on itself "
                        "alone",
                        Has(*call.op, kBatchDims) ? "; give batch_dims=1" : "");
  }
  return "";
}

}  // namespace

bool IsLayerOp(const OpDef& op) {
  const PassOps passes = OpsOfPasses();
  const OpFlags& flags = op.flags;
  return !flags.source && !flags.collective && !flags.random && flags.exchange == Exchange::kNone &&
         op.reference != nullptr && &op != passes.fused && &op != passes.fused_rows &&
         &op != passes.pack && &op != &GroupSumsOp();
}

std::string OpAttrsText(const OpDef& op) {
  std::vector<std::string> known;
  for (const AttrDef& def : op.attrs) {
    const bool needed = def.required && def.name != kPrecision;
    known.push_back(absl::StrCat(def.name, ": ", std::visit(TypeText(), def.example),
                                 needed ? "" : " or none"));
  }
  return known.empty() ? "no attributes" : absl::StrJoin(known, "; ");
}

// ---- op: x_0, x_1 ..., each (N, ...), are the op's operands; its results, each (N, ...).

void CheckOp(const proto::Layer& layer, ConfigErrors& errors) {
  const proto::Op& written = layer.op();
  if (!written.has_name()) {
    errors.Add("op.name", "name is missing");
    return;
  }
  const OpDef* const op = FindOpByName(written.name());
  if (op == nullptr) return AddNoOp(written.name(), errors);
  if (!IsLayerOp(*op)) {
    errors.Add("op.name",
               absl::StrCat(op->name, " is an op of the program's own, and no layer's", kSeeOps));
    return;
  }
  const absl::StatusOr<Attrs> attrs = ParsedAttrs(*op, written.attrs());
  if (!attrs.ok()) {
    errors.Add("op.attrs", Message(*op, attrs.status()));
  }
}

Value BuildOp(LayerContext& layer) {
  const proto::Op& written = layer.layer.op();
  const OpDef& op = *FindOpByName(written.name());
  Attrs attrs = *ParsedAttrs(op, written.attrs());
  if (Has(op, kPrecision) && !attrs.Has(kPrecision)) {
    attrs.Set(kPrecision, static_cast<int64_t>(layer.precision));
  }
  if (op.max_operands == 0 && layer.inputs.size() != 1) {
    return layer.Fail("", absl::StrCat(op.name,
                                       " has no operands; give one input, whose examples "
                                       "are counted, got ",
                                       layer.inputs.size()));
  }
  if (op.max_operands == 0 && Has(op, "axis") && attrs.Int("axis") == 0) {
    return layer.Fail("op.attrs", op.name +
                                      " along axis 0 counts the examples of a core; a layer's "
                                      "example depends on itself alone, give another axis");
  }
  for (const auto& [name, value] : attrs.values()) {
    const DType* const dtype = std::get_if<DType>(&value);
    if (!layer.use_tpu || dtype == nullptr || *dtype != DType::kU8) continue;
    return layer.RejectOnTpu("op.attrs",
                             absl::StrCat(op.name, ": unsupported data type for the TPU: ", name,
                                          "=u8, want f32, s32, s64, u32 or pred"));
  }
  const int64_t batch = layer.shape(0).dims[0];
  const absl::StatusOr<OpCall> call = CallForBatch(op, attrs, layer, batch);
  if (!call.ok()) {
    const std::string floats = WantFloats(OperandsForBatch(op, attrs, layer, batch));
    if (!floats.empty()) {
      return layer.RejectOnTpu(
          "op",
          absl::StrCat(Message(op, call.status()), "; unsupported data type for the TPU: ", floats,
                       "; make it FLOAT32 where the input casts it, or by an op "
                       "convert before it"));
    }
    const bool of_batch = !(ForBatch(attrs, batch) == attrs);
    return layer.Fail(
        "op", absl::StrCat(Message(op, call.status()),
                           of_batch ? absl::StrCat("; -1 stands for the batch, ", batch) : ""));
  }
  const absl::StatusOr<OpCall> larger = CallForBatch(op, attrs, layer, batch + kMoreExamples);
  if (!larger.ok()) {
    return layer.Fail("op", absl::StrCat("it fits a batch of ", batch,
                                         " and no other; -1 stands for "
                                         "the batch in attributes, and an input of one number an "
                                         "example is no row: ",
                                         std::string(larger.status().message())));
  }
  const std::string mistake = MistakeOfBatch(*call, *larger, batch);
  if (!mistake.empty()) return layer.Fail("op", mistake);
  std::vector<Value> operands;
  for (size_t i = 0; i < call->operands.size(); ++i) operands.push_back(layer.inputs[i].value);
  const Value result = layer.b.Add(op, operands, call->attrs);
  for (int i = 1; i < static_cast<int>(call->results.size()); ++i) {
    layer.AddResult(Value{result.node, i});
  }
  return result;
}

}  // namespace tpurun
