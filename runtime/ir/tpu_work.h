// TpuWork: how a Cloud TPU computes a call, for the forecast of `check`. XLA's ops are finer than
// those of a graph here: a call is one or more stages, each of which the compiler of a TPU fuses
// with its neighbours by the rules of its kind.
#ifndef TPURUN_RUNTIME_IR_TPU_WORK_H_
#define TPURUN_RUNTIME_IR_TPU_WORK_H_

#include <cstdint>
#include <vector>

#include "runtime/ir/shape.h"

namespace tpurun {

// The vector unit has 8 sublanes of 128 lanes, a matrix unit 128 x 128 multipliers.
inline constexpr int64_t kTpuLanes = 128;
inline constexpr int64_t kTpuSublanes = 8;

// `count` products (m, k) x (k, n) on the matrix units, passes of bf16 counted.
struct TpuProduct {
  double count = 1;
  int64_t m = 0, k = 0, n = 0;
  double density = 1;  // the share of multiplications that are not by a zero between groups

  double flops() const {
    return 2 * count * density * static_cast<double>(m) * static_cast<double>(k) *
           static_cast<double>(n);
  }
};

struct TpuStage {
  enum class Kind : uint8_t {
    kLoop,    // element by element: fused with what it reads and with what reads it
    kReduce,  // a row or column becomes an element: fused with what it reads
    kMatrix,  // products on the matrix units: fused with element-wise work on its result
    kAlone,   // a loop over time, or a move of elements: fused with nothing
  };
  // An operand or result of the call, or a temporary of TpuWork.
  struct Array {
    enum class Of : uint8_t { kOperand, kResult, kTemporary };
    Of of = Of::kOperand;
    int index = 0;
  };

  Kind kind = Kind::kLoop;
  std::vector<Array> reads;
  // Arrays of which only some rows are read; extra_bytes has their bytes.
  std::vector<Array> partial_reads;
  std::vector<Array> writes;
  std::vector<TpuProduct> products;
  double vector_flops = 0;
  double transcendentals = 0;
  // Images (N, H, W, C) of a convolution, whose minor dimensions on a TPU are N and C.
  std::vector<Array> images;
  // So many computations one after the other, of a loop: the figures above are of all of them.
  int64_t iterations = 1;
  // Of the gradient of a recurrence: the steps of its loop. A product that sums over the rows of
  // all steps, as the gradient of a kernel does, is part of that loop and adds to the sum in each
  // step.
  int64_t summing_steps = 0;
  double extra_bytes = 0;  // moved besides each array once, such as the weights of a loop
};

// Vector flops of a TPU for one drawn random number.
inline constexpr double kTpuRandomFlops = 20;

struct TpuWork {
  std::vector<TpuStage> stages;  // in order; none: the result is the operand, as it lies in memory
  std::vector<Shape> temporaries;
  // The first so many temporaries are kept for the gradient, which reads them as its temporaries of
  // the same numbers: none of its stages writes them. A kept temporary that no stage writes is
  // operand 0.
  int kept = 0;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IR_TPU_WORK_H_
