// The gradient of a convolution's kernel:
//
//   dk[kh,kw,c,f] = sum over n, oh, ow of x[n, oh*sh + kh*dh - top, ow*sw + kw - left, c]
//                                         dy[n,oh,ow,f]
//
// Every element is one chain of fused multiply-adds over rising (n, oh, ow), which starts with 0,
// as in gemm.h. x is 0 outside its bounds; an infinity or a NaN of dy may be multiplied by that 0
// or not, and one of x beside the last pixel that is read by a 0.
//
// A row kh of the kernel is a product of matrices. Its rows are (kw, c): they are contiguous in x.
// Its columns are f, and k runs over the pixels of dy. It reads a copy of some rows of x with their
// pads, which all kh share.
#ifndef TPURUN_RUNTIME_KERNELS_CONV_FILTER_GRAD_H_
#define TPURUN_RUNTIME_KERNELS_CONV_FILTER_GRAD_H_

#include <cstdint>

#include "runtime/kernels/conv/conv_dims.h"
#include "runtime/kernels/conv/padded_rows.h"
#include "runtime/kernels/gemm/numbers.h"
#include "runtime/kernels/gemm/tiles.h"

namespace tpurun::conv {

struct FilterGradArgs {
  const void* x = nullptr;   // (N, H, W, C)
  const void* dy = nullptr;  // (N, OH, OW, F)
  float* dk = nullptr;       // (KH, KW, C, F)
  // The rows kh and the columns f of dk that are computed.
  int64_t kh_begin = 0, kh_end = 0;
  int64_t f_begin = 0, f_end = 0;
  void* scratch = nullptr;  // ScratchBytes(), 64-byte aligned
};

// Immutable: several threads may run it at the same time.
class FilterGrad {
 public:
  // One group, dilations of 1 along the width.
  FilterGrad(const ConvDims& dims, const Numbers& x, const Numbers& dy, const gemm::Tiles& tiles);

  int64_t ScratchBytes() const;
  // Bytes of the copies that a call for so many f makes.
  int64_t CopiedBytes(int64_t f) const;
  void Run(const FilterGradArgs& args) const;

 private:
  int64_t PanelFloats(int64_t f) const;
  void PackDy(const FilterGradArgs& args, const PaddedRows::Block& block, float* to) const;
  void RunRow(const FilterGradArgs& args, const PaddedRows::Block& block, int64_t kh,
              const float* dy) const;

  const ConvDims d_;
  const Numbers dy_;
  const gemm::Tiles& tiles_;
  const int64_t panel_columns_;
  const int64_t pixels_;  // elements along a row of dy
  const bool packs_dy_;   // a single panel of f32 is multiplied where it is
  const PaddedRows rows_;
};

}  // namespace tpurun::conv

#endif  // TPURUN_RUNTIME_KERNELS_CONV_FILTER_GRAD_H_
