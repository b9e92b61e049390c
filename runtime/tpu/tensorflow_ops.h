// The TensorFlow graph operators that a Cloud TPU has, with the element types and the constant
// operands that it wants. `check --saved_model` holds a graph against the table, `help tpu_ops`
// prints it.
#ifndef TPURUN_RUNTIME_TPU_TENSORFLOW_OPS_H_
#define TPURUN_RUNTIME_TPU_TENSORFLOW_OPS_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tpurun {

enum class TpuOpStatus {
  kYes,
  kIgnored,  // accepted, and does nothing
  kDropped,  // left out of the compiled graph, with a warning
  kNo,
};

// A row of the table.
struct TpuOp {
  // A GraphDef's op, or for some that a TPU lacks a function of the Python API, "tf.svd"; then '*'
  // at the end stands for any letters.
  std::string_view name;
  // What attributes may be, "T=number Tidx=index": lists with commas of types and of groups of
  // types (TpuTypeGroups), or "true". An attribute that is not in it may be anything.
  std::string_view types = {};
  // The operands whose values the compiler must know, "begin:1 end:2": NAME:OPERAND, counted from
  // 0, -1 for the last, 0* for the first N of an op that takes a list of N, 1~2 for operand 1
  // unless the values of operand 2 are known and none is negative, and - for what is an attribute
  // in the GraphDef.
  std::string_view constants = {};
  std::string_view remark = {};
  TpuOpStatus status = TpuOpStatus::kYes;
  // The Python API of this name is listed as unavailable, but its operator as available: later
  // runtimes have it.
  bool later = false;
};

// Sorted by name, those that a TPU has first.
std::span<const TpuOp> TpuOps();

// The row of a GraphDef's op. For a version that the table does not have, the row of the highest
// version before it: FusedBatchNormV2 for FusedBatchNormV3, Add for AddV2. nullptr if there is
// none.
const TpuOp* FindTpuOp(std::string_view op);

// True for what the rewrite of a graph for a TPU takes away, so that it needs no kernel: calls of
// functions, which are inlined, the handles of variables, which become arguments, and the control
// flow of TensorFlow 1, which becomes If and While.
bool IsRewrittenForTpu(std::string_view op);

// A group of element types, by which the table names them.
struct TpuTypeGroup {
  std::string_view name;
  std::string_view types;  // with commas
};
std::span<const TpuTypeGroup> TpuTypeGroups();

// What an attribute may be: names of types as in "float", "int32"; "true".
struct TpuTypeRule {
  std::string attr;
  std::vector<std::string> types;
};
std::vector<TpuTypeRule> TypeRulesOf(const TpuOp& op);

// An operand whose value the compiler must know.
struct TpuConstant {
  enum class Kind { kOperand, kFirstN, kAttribute };
  std::string name;
  Kind kind = Kind::kOperand;
  int operand = 0;          // of kOperand; -1 is the last
  int unless_positive = 0;  // of kOperand; if > 0, the operand that it depends on
};
std::vector<TpuConstant> ConstantsOf(const TpuOp& op);

// True if a TPU has the op in any spelling of its name: MatMul, tf.linalg.matmul.
bool TpuHasOp(std::string_view name);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_TPU_TENSORFLOW_OPS_H_
