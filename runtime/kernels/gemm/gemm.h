// Matrix products of f32 numbers on plain pointers: z = x y (+ bias).
//
// Every element of z is one chain of fused multiply-adds over rising k, which starts with 0 (or
// with z, if the product accumulates): fma(x[i][K-1], y[K-1][j], ... fma(x[i][0], y[0][j], 0)). The
// bias is added last. The bits of an element therefore depend neither on the number of rows nor on
// tiles, packing, partition and instruction set. This holds for the bf16 instructions of AVX-512,
// too, where subnormal numbers are flushed to 0 (ScopedFlushDenormals). AMX adds 32 products to
// each other before it adds them to the sum: bits do not depend on the number of rows, on packing
// and partition, but differ from those of the other instruction sets.
//
// The loops are those of Goto and van de Geijn, "Anatomy of High-Performance Matrix
// Multiplication", ACM TOMS 34(3), 2008, with a block of x in the L2 cache, and panels of y in the
// L1 cache, or with AVX-512 (96 KB) in the L2 cache, too.
#ifndef TPURUN_RUNTIME_KERNELS_GEMM_GEMM_H_
#define TPURUN_RUNTIME_KERNELS_GEMM_GEMM_H_

#include <cstdint>
#include <vector>

#include "runtime/kernels/gemm/numbers.h"
#include "runtime/kernels/gemm/row_tiles.h"
#include "runtime/kernels/gemm/tiles.h"

namespace tpurun::gemm {

// A matrix of so few numbers stays in an L1 cache, 4 KB of it: packing costs more than it gives.
inline constexpr int64_t kFewNumbers = 1024;

// An operand as its rows are stored: (rows, columns), or (columns, rows) if `transposed`. The
// elements of a stored row are contiguous.
struct Operand {
  Storage storage = Storage::kF32;
  bool transposed = false;
  int64_t stride = 0;  // elements from a stored row to the next
};

struct Def {
  int64_t k = 0;
  int64_t n = 0;
  Operand x;                           // (m, k)
  Operand y;                           // (k, n)
  bool y_is_packed = false;            // in panels, see PanelColumns; its part is kWhole then
  std::vector<Parts> products = {{}};  // their sums are added one after the other, in this order
  bool accumulates = false;            // adds to z, which is f32
  Storage z = Storage::kF32;           // rounded to bf16 once, when it is complete
  int64_t z_stride = 0;                // elements from a row of z to the next
};

// Columns of y in a panel of packed weights: number (row k, column j) of y is in element
// (j / columns * ceil(K / numbers) + k / numbers) * columns + j % columns, for elements of
// Tiles::numbers. Columns n and above of the last panel are 0.
int64_t PanelColumns(int64_t n, const Tiles& tiles);

// A triangular operand or result. Tiles outside the triangle are not multiplied: sums of finite
// numbers have the same bits, but an infinity or a NaN there may reach a sum or not. A result is
// triangular in f32 alone.
struct Triangle {
  enum Kind : uint8_t {
    kNone,
    kLowerX,  // x[i][k] is 0 where k > i + diagonal
    kUpperX,  // x[i][k] is 0 where k < i + diagonal
    kLowerZ,  // nobody reads z[i][j] where j > i + diagonal, and it need not be set
    kUpperZ,  // nobody reads z[i][j] where j < i + diagonal, and it need not be set
  };
  Kind kind = kNone;
  int64_t diagonal = 0;
};

struct Args {
  const void* x = nullptr;
  const void* y = nullptr;
  const float* bias = nullptr;  // (n); nullptr: none
  void* z = nullptr;
  int64_t m = 0;  // rows of x and z
  int64_t n = 0;  // columns of y and z, at most those of Def; the same if y is packed
  Triangle triangle;
  void* scratch = nullptr;  // ScratchBytes(m), 64-byte aligned
};

// Immutable: several threads may run it at the same time.
class Product {
 public:
  // Tiles of bf16 numbers multiply part 0 of x and y.
  Product(const Def& def, const Tiles& tiles);

  // For products of at most `m` rows.
  int64_t ScratchBytes(int64_t m) const;
  // Bytes of the copies that a product of `m` rows and `n` columns makes of parts of x and y and of
  // a bf16 z.
  int64_t CopiedBytes(int64_t m, int64_t n) const;
  void Run(const Args& args) const;

 private:
  struct Range;
  struct Block;

  // How many of m rows of x share one packing of y.
  int64_t RowsOfPackedY(int64_t m) const;
  void RunOneBlock(const Args& args) const;
  void RunRows(const Args& args, int64_t begin, int64_t rows) const;
  void PackLines(const Operand& operand, const void* data, int part, int64_t line, int64_t lines,
                 const Block& block, float* to, int64_t to_row) const;
  void PackElements(const Operand& operand, const void* data, int part, int64_t element,
                    int64_t depth, int64_t column, int64_t n, float* to, int64_t to_row) const;
  void PrefetchRows(const Operand& operand, const void* data, int64_t element, int64_t depth,
                    int64_t column, int64_t n) const;
  bool ReadsXAsStored(const RowTiles& tiles) const;
  void PackX(const Args& args, int part, Block& block) const;
  void PackTransposedX(const Args& args, int part, Block& block) const;
  void StraightenX(const Args& args, int part, const Block& block) const;
  const float* PanelsOfY(const Args& args, int part, int64_t column, Block& block) const;
  void PackY(const Args& args, int part, int64_t begin, int64_t end, const Block& block) const;
  void PackPairsOfY(const Args& args, int part, int64_t begin, int64_t end,
                    const Block& block) const;
  void PackTransposedY(const Args& args, int part, int64_t column, int64_t columns,
                       const Block& block, float* panel) const;
  Range InTriangle(const Triangle& triangle, const Block& block, int64_t row, int rows,
                   int64_t column, int64_t columns) const;
  void RunPanels(const Args& args, int64_t begin, const float* y, const Block& block) const;
  void RunPanel(const Args& args, int64_t column, const float* y, int64_t first_tile,
                int64_t end_tile, const Block& block) const;

  bool PacksX(int part) const { return def_.x.transposed || Converts(def_.x, part); }
  bool Converts(const Operand& operand, int part) const {
    return gemm::Converts(tiles_, operand.storage, part);
  }
  bool PacksAnyX() const;
  // True if tiles read several rows of x at once: a transposed x is packed as rows.
  bool ReadsRows() const { return tiles_.row_unit > 1; }
  int64_t DepthOfBlocks(int64_t most) const;
  int64_t DepthOfRows(int64_t rows) const;
  bool HasDeepBlocks() const { return def_.y_is_packed && ReadsRows(); }
  int64_t MostXFloats() const;
  int64_t CopiedRow(int64_t depth) const;
  int64_t XFloats(int64_t rows) const;
  int64_t LineFloats(int64_t rows) const;

  const Def def_;
  const Tiles& tiles_;
  const int64_t elements_;  // along k
  const int64_t panel_columns_;
  const int most_rows_;  // of a tile
  const int64_t depth_;  // elements of a block along k, of most rows; the last may be less deep
  // The columns of y that are packed at a time; all of them if y is packed already. Several blocks
  // of rows are packed again for each of these blocks of columns.
  const int64_t packed_columns_;
  const bool packs_x_;     // in some product
  const bool keeps_sums_;  // of several blocks along k, before they are rounded
  // One panel of columns and one block along k, without other sums or settings of the processor.
  const bool has_one_block_;
};

}  // namespace tpurun::gemm

#endif  // TPURUN_RUNTIME_KERNELS_GEMM_GEMM_H_
