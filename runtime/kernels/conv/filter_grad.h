// The gradient of a convolution's kernel:
//
//   dk[kh,kw,c,f] = sum over n, oh, ow of x[n, oh*sh + kh*dh - top, ow*sw + kw*dw - left, c]
//                                         dy[n,oh,ow,f]
//
// Every element is one chain of fused multiply-adds over rising (n, oh, ow), which starts with 0,
// as in gemm.h. x is 0 outside its bounds; an infinity or a NaN of dy may be multiplied by that 0
// or not, and one of x beside the last pixel that is read by a 0.
//
// A row kh of the kernel is a product of matrices. Its rows are (kw, c): they are contiguous in x,
// or with dw > 1 those of each kw. Its columns are f, and k runs over the pixels of dy. It reads
// copies of blocks of rows of x with their pads, which all kh share. dk may be larger than the
// caches, so each of its tiles is read and written once for as many blocks as fit into the L2
// cache.
#ifndef TPURUN_RUNTIME_KERNELS_CONV_FILTER_GRAD_H_
#define TPURUN_RUNTIME_KERNELS_CONV_FILTER_GRAD_H_

#include <cstdint>
#include <span>

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
  // One group.
  FilterGrad(const ConvDims& dims, const Numbers& x, const Numbers& dy, const gemm::Tiles& tiles);

  // Whether all tiles of dk are read and written again every few pixels: that takes longer than
  // copies for PixelProducts. Finite numbers have the same bits there, but for the sign of a sum
  // that underflows to 0.
  bool AddsFewPixels() const;
  int64_t ScratchBytes() const;
  // Bytes of the copies that a call for so many rows kh and columns f makes.
  int64_t CopiedBytes(int64_t kh, int64_t f) const;
  void Run(const FilterGradArgs& args) const;

 private:
  // A block of rows of x, and the rows of dy that read it.
  struct Block {
    PaddedRows::Block x;
    const float* dy = nullptr;  // its panels
  };
  static constexpr int64_t kMostBlocks = 32;

  int64_t PanelFloats(int64_t f) const;
  // Block `number` of all, which are those of image 0, of image 1 ..., in place `place` of the
  // scratch memory.
  Block Load(const FilterGradArgs& args, int64_t number, int64_t place) const;
  // The first block that row kh of the kernel reads; -1: none.
  int64_t FirstBlock(int64_t kh) const;
  // The copy of rows of x in place `place` of the scratch memory.
  void* RowsAt(const FilterGradArgs& args, int64_t place) const;
  void PackDy(const FilterGradArgs& args, const PaddedRows::Block& block, float* to) const;
  // Adds blocks `first` and following to row kh of dk.
  void RunRow(const FilterGradArgs& args, int64_t first, std::span<const Block> blocks,
              int64_t kh) const;

  const ConvDims d_;
  const Numbers dy_;
  const gemm::Tiles& tiles_;
  const int64_t panel_columns_;
  const int64_t pixels_;  // elements along a row of dy
  const bool packs_dy_;   // a single panel of f32 is multiplied where it is
  const PaddedRows rows_;
  const int64_t image_blocks_;
  const int64_t blocks_;  // that are loaded at a time
};

}  // namespace tpurun::conv

#endif  // TPURUN_RUNTIME_KERNELS_CONV_FILTER_GRAD_H_
