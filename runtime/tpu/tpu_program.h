// The program that a compiler for TPUs would make of a step: fused computations over arrays in HBM.
// The rules of fusion are XLA's (docs/hlo_passes.md of openxla/xla) as far as they are public:
// element-wise work joins the product or the reduction beside it, cheap work is done again for each
// reader.
#ifndef TPURUN_RUNTIME_TPU_TPU_PROGRAM_H_
#define TPURUN_RUNTIME_TPU_TPU_PROGRAM_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/ir/graph.h"
#include "runtime/ir/pass_ops.h"
#include "runtime/ir/tpu_work.h"
#include "runtime/tpu/tiled_layout.h"

namespace tpurun {

// An array in the HBM of a core.
struct TpuBuffer {
  enum class Kind : uint8_t {
    kArgument,   // a variable, which its update overwrites
    kUpdate,     // the new value of a variable, in the variable's memory
    kOutput,     // leaves the device
    kTemporary,  // all others, and what the infeed brings
  };
  Kind kind = Kind::kTemporary;
  Shape shape;
  TiledLayout layout;
  int node = -1;  // of the graph, whose value it is
  // The first and the last computation that write or read it. first is -1 if it exists before.
  int first = -1, last = -1;

  int64_t bytes() const { return PaddedTpuBytes(shape, layout); }
};

struct TpuComputation {
  TpuStage::Kind kind = TpuStage::Kind::kLoop;
  bool collective = false;
  std::vector<int> nodes;          // of the graph, fused; the first gives it its name
  std::vector<int> reads, writes;  // buffers
  std::vector<int> partial_reads;  // of which extra_bytes has what is read
  std::vector<TpuProduct> products;
  double vector_flops = 0;
  double transcendentals = 0;
  int64_t iterations = 1;
  double extra_bytes = 0;
};

struct TpuProgram {
  Graph graph{"", 1};  // simplified
  std::vector<TpuBuffer> buffers;
  std::vector<TpuComputation> computations;  // in the order of their execution
};

struct TpuProgramOptions {
  // Layers keep their activations and gradients in bf16, as TensorFlow does within
  // tpu.bfloat16_scope. The graph has this only between layers.
  bool bf16_activations = false;
};

// `graph` is a step before compilation, with its collectives.
absl::StatusOr<TpuProgram> MakeTpuProgram(const Graph& graph, const TpuProgramOptions& options);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_TPU_TPU_PROGRAM_H_
