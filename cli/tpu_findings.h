// What a Cloud TPU does with the nodes of a TensorFlow graph: the findings of `check
// --saved_model`.
#ifndef TPURUN_CLI_TPU_FINDINGS_H_
#define TPURUN_CLI_TPU_FINDINGS_H_

#include <compare>
#include <string>
#include <vector>

#include "cli/model_graph.h"
#include "proto/saved_model.pb.h"

namespace tpurun {

// In the order of their weight.
enum class TpuVerdict {
  kNoOp,          // a TPU does not have the op
  kType,          // an attribute is none of those that the op takes
  kNotConstant,   // the value of an operand is not known when the graph is compiled
  kUnknownShape,  // so is a dimension of an input besides the batch
  kDropped,
  kIgnored,
  kRuns,
};
// "not on a TPU", "type", ...
std::string NameOf(TpuVerdict verdict);
// The graph does not compile.
bool IsViolation(TpuVerdict verdict);

struct TpuFinding {
  TpuVerdict verdict = TpuVerdict::kRuns;
  std::string reason;
  std::string cure;

  auto operator<=>(const TpuFinding&) const = default;
};

// A tensor that is fed, as an argument of the computation.
struct FedTensor {
  int vertex = 0;
  tensorflow::TensorInfo info;
};

// The type as the table of the ops calls it: "float", "int64", "string".
std::string TpuTypeName(tensorflow::DataType type);

// What is wrong with the input; empty if nothing is.
std::vector<TpuFinding> FindingsOfInput(const ModelGraph& graph, const FedTensor& fed);

// What is wrong with a node that is not fed; empty if nothing is. `varying` is that of the graph.
std::vector<TpuFinding> FindingsOfNode(const ModelGraph& graph, int vertex,
                                       const ModelGraph::Set& varying);

}  // namespace tpurun

#endif  // TPURUN_CLI_TPU_FINDINGS_H_
