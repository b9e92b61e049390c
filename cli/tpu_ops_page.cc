#include "cli/tpu_ops_page.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "cli/manual/render.h"
#include "models/layers/tpu_ops.h"
#include "runtime/base/text.h"
#include "runtime/tpu/tensorflow_ops.h"

namespace tpurun {
namespace {

constexpr size_t kPageColumns = 90;

std::string AnswerOf(const TpuOp& op) {
  switch (op.status) {
    case TpuOpStatus::kYes:
      return "yes";
    case TpuOpStatus::kIgnored:
      return "ignored";
    case TpuOpStatus::kDropped:
      return "dropped";
    case TpuOpStatus::kNo:
      return op.later ? "no, but in later runtimes" : "no";
  }
  return "";
}

std::string NamesOfConstants(const TpuOp& op) {
  return absl::StrJoin(ConstantsOf(op), ", ", [](std::string* out, const TpuConstant& constant) {
    absl::StrAppend(out, constant.name);
  });
}

std::string Entry(const TpuOp& op) {
  std::vector<std::string> facts;
  if (!op.types.empty()) facts.emplace_back(ToAbsl(op.types));
  if (!op.constants.empty()) facts.push_back(absl::StrCat("constant: ", NamesOfConstants(op)));
  if (!op.remark.empty()) facts.emplace_back(ToAbsl(op.remark));
  const std::string here = InTpurun(op.name);
  facts.push_back(here == kNotExpressible ? here : absl::StrCat("here: ", here));
  return absl::StrCat(ToAbsl(op.name), "  (", AnswerOf(op), ")\n",
                      tpurun::Wrapped(absl::StrJoin(facts, "; "), kPageColumns, 6));
}

}  // namespace

std::string InTpurun(std::string_view op) {
  if (const std::string same = OpOfSpelling(op); !same.empty()) return absl::StrCat("op ", same);
  const std::string layer = LayerOfSpelling(op);
  if (!layer.empty()) return absl::StrCat("layer ", layer);
  const TensorFlowOps* const row = FindTensorFlowOp(op);
  if (row == nullptr) return "";
  return row->instead.empty() ? kNotExpressible : std::string(row->instead);
}

std::string TpuOpsPage() {
  std::string text =
      "The TensorFlow ops of a Cloud TPU (\"Available TensorFlow Ops\" of its documentation,\n"
      "2026-04-09, CC BY 4.0): whether a TPU has the op, the types that its attributes may be,\n"
      "the operands whose values must be known when the graph is compiled, and what a model of\n"
      "tpurun has in its place. tpurun check --saved_model=PATH holds a SavedModel or GraphDef\n"
      "against it.\n\n"
      "yes        a TPU has it; a later version of it (AddV2 of Add) counts as it\n"
      "ignored    a TPU accepts it and does nothing\n"
      "dropped    left out of the compiled graph, with a warning\n"
      "no         refused; names with tf. are functions of the Python API\n\n"
      "Groups of types:\n";
  for (const TpuTypeGroup& group : TpuTypeGroups()) {
    absl::StrAppendFormat(&text, "  %-9s%s\n", ToAbsl(group.name),
                          absl::StrReplaceAll(ToAbsl(group.types), {{",", ", "}}));
  }
  absl::StrAppend(&text, "\n");
  for (const TpuOp& op : TpuOps()) absl::StrAppend(&text, Entry(op));
  return text;
}

}  // namespace tpurun
