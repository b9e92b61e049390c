// Copies of some rows of x with their pads, as elements that the tiles of runtime/kernels/gemm
// multiply, or, for few channels, of what each pixel of y reads of these rows. All rows kh of a
// convolution's kernel read the same copy.
#ifndef TPURUN_RUNTIME_KERNELS_CONV_PADDED_ROWS_H_
#define TPURUN_RUNTIME_KERNELS_CONV_PADDED_ROWS_H_

#include <cstdint>

#include "runtime/kernels/conv/conv_dims.h"
#include "runtime/kernels/gemm/numbers.h"
#include "runtime/kernels/gemm/tiles.h"

namespace tpurun::conv {

// An operand: how its numbers are stored, and the part of them that is multiplied.
struct Numbers {
  gemm::Storage storage = gemm::Storage::kF32;
  int part = gemm::kWhole;
};

class PaddedRows {
 public:
  // Elements of a block that suit loops which read each block several times: 128 KB, a quarter of
  // an L2 cache of 512 KB.
  static constexpr int64_t kElements = 32768;

  // What the numbers of an element are (Tiles::numbers): channels of a pixel, one channel of
  // pixels that are sw apart, or neighbours among the kw * C numbers that a pixel of y reads of a
  // row, for which C need not be a multiple of Tiles::numbers.
  enum class Pairs : uint8_t { kChannels, kPixels, kWindows };

  // `pixels`: pixels of a row that are read, from pixel -left on. A block has at most so many
  // elements, but at least those of one row of y. kWindows needs tiles of two numbers, the first
  // of which is in the upper half.
  PaddedRows(const ConvDims& dims, const Numbers& x, Pairs pairs, int64_t pixels,
             int64_t most_elements, const gemm::Tiles& tiles);

  // Rows [oh, oh + rows) of y, and the rows [h, h_end) of x that they read for some rows kh.
  struct Block {
    int64_t image = 0;
    int64_t oh = 0, rows = 0;
    int64_t h = 0, h_end = 0;
    const float* x = nullptr;  // row_elements() of each row
  };
  // Row kh of the kernel reads row oh * sh + Shift(kh) of x for rows [begin, end) of y.
  struct Rows {
    int64_t begin = 0, end = 0;
  };

  int64_t row_elements() const { return row_elements_; }
  // Elements of the row from what one pixel of y reads to what the next one does.
  int64_t step_elements() const { return step_elements_; }
  int64_t block_rows() const { return block_rows_; }  // of y, at most
  int64_t ScratchBytes() const;
  int64_t CopiedBytes(int64_t images) const;
  // Clears the scratch memory, for the pads. Call before Copy.
  void Begin(void* scratch) const;
  // The block of an image that begins with row oh of y, for the rows [kh, kh_end) of the kernel.
  Block Copy(const void* x, int64_t image, int64_t oh, int64_t kh, int64_t kh_end,
             void* scratch) const;
  int64_t Shift(int64_t kh) const { return kh * d_.dh - d_.top; }
  Rows RowsOf(const Block& block, int64_t kh) const;

 private:
  int64_t RowsOfX(int64_t rows) const;
  int64_t CopiedFloats() const;  // of a block
  int64_t LineNumbers() const;   // that windows are made of
  // `line`: LineNumbers() numbers, scratch memory.
  void CopyRow(const void* row, uint16_t* line, float* to) const;

  const ConvDims d_;
  const Numbers x_;
  const Pairs pairs_;
  const gemm::Tiles& tiles_;
  const int64_t line_pixels_;  // of a row with its pads, before pairs are made
  const int64_t step_elements_;
  const int64_t row_elements_;
  const int64_t block_rows_;
};

}  // namespace tpurun::conv

#endif  // TPURUN_RUNTIME_KERNELS_CONV_PADDED_ROWS_H_
