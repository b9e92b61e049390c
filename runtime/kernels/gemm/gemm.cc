#include "runtime/kernels/gemm/gemm.h"

#include <algorithm>

#include "runtime/base/dcheck.h"
#include "runtime/kernels/gemm/sizes.h"

namespace tpurun::gemm {
namespace {

// A block of x has at most Tiles::block_rows rows and block_depth elements of a row: 192 KB, which
// fit into an L2 cache of 512 KB, or with AVX-512 384 KB of 1 MB, or with AMX 512 KB of 2 MB. A
// panel of y is 24 KB with AVX2 and fits into an L1 cache of 32 KB; with AMX a tile of x does, and
// kPanelsInTurn panels fit into the L2 cache. The panels of y that are packed at a time, 768 KB to
// 3 MB, stay in the L3 cache for all blocks of rows.
constexpr int64_t kPackedPanels = 32;
// A tile of x that is read by rows multiplies so many panels before the next tile does, and z is
// written along its rows (AMX, 1024 x 256 x 1024: 843, now 1108 GFLOP/s).
constexpr int64_t kPanelsInTurn = 8;
// Rows of x' and y that are packed at a time, so that whole cache lines of the packed tiles are
// written.
constexpr int64_t kPackedDepth = 8;
// The same where they are transposed afterwards, by 16 elements.
constexpr int64_t kTransposedDepth = 16;
// Floats behind a row of a copy of x, at most: a cache line.
constexpr int64_t kPadOfRow = 16;

// Has the processor read `bytes` of each row ahead of time, rows `stride` bytes from each other: it
// foresees the next bytes of a row, not the next row. Inline, as GCC 12 may omit calls of a
// function that only prefetches.
[[gnu::always_inline]] inline void PrefetchLines(const void* data, int64_t stride, int64_t rows,
                                                 int64_t bytes) {
  constexpr int64_t kCacheLine = 64;
  const char* row = static_cast<const char*>(data);
  for (; rows > 0; --rows, row += stride) {
    for (int64_t byte = 0; byte < bytes; byte += kCacheLine) __builtin_prefetch(row + byte);
    __builtin_prefetch(row + bytes - 1);
  }
}
}  // namespace

int64_t PanelColumns(int64_t n, const Tiles& tiles) {
  const int64_t most = int64_t{tiles.most_vectors} * tiles.lanes, less = most - tiles.lanes;
  if (n <= most) return std::max<int64_t>(DivideUp(n, tiles.lanes), 1) * tiles.lanes;
  // The last panel of narrow matrices would be a large share of them, with few sums at a time.
  constexpr int64_t kFewPanels = 6;
  const bool narrow_last = n % most > 0 && n % most <= tiles.lanes;
  return narrow_last && n % less == 0 && n <= kFewPanels * most ? less : most;
}

// The depth [begin, end) of a tile in a block.
struct Product::Range {
  int64_t begin = 0, end = 0;
  bool is_unread = false;  // nobody reads the tile, and it is not stored
};

// Rows [row, row + rows) of x and z, and the elements [begin, begin + depth) along k.
struct Product::Block {
  int64_t row = 0, rows = 0;
  int64_t begin = 0, depth = 0;
  RowTiles tiles = RowTiles(1, 1);
  // Element (r, k) of the block is x[r * x_row + k], or x[k * x_depth + r] if it is interleaved. If
  // x_depth is 0, its tiles come one after the other: see PackTransposedX.
  const float* x = nullptr;
  int64_t x_row = 0;
  int64_t x_depth = 0;
  bool interleaved = false;
  int64_t y_depth = 0;  // from a row of a panel of y to the next
  float* z = nullptr;   // row `row` of the sums
  int64_t z_row = 0;
  bool accumulates = false;
  bool is_last = false;  // the sums are complete after this block
  // Scratch memory for x, for panels of y, and for numbers before they are transposed or spread.
  float* x_copy = nullptr;
  float* y_copy = nullptr;
  float* line = nullptr;
};

Product::Product(const Def& def, const Tiles& tiles)
    : def_(def),
      tiles_(tiles),
      elements_(DivideUp(def.k, tiles.numbers)),
      panel_columns_(PanelColumns(def.n, tiles)),
      most_rows_(tiles.most_rows[panel_columns_ / tiles.lanes]),
      depth_(DepthOfBlocks(tiles.block_depth)),
      packed_columns_(def.y_is_packed ? def.n
                                      : panel_columns_ * std::min(kPackedPanels,
                                                                  DivideUp(def.n, panel_columns_))),
      packs_x_(PacksAnyX()),
      keeps_sums_(def.z == Storage::kBF16 && (elements_ > depth_ || def.products.size() > 1)),
      has_one_block_(def.products.size() == 1 && elements_ <= depth_ && elements_ > 0 &&
                     def.n <= panel_columns_ && def.z == Storage::kF32 && tiles.begin == nullptr &&
                     !HasDeepBlocks()) {
  TPURUN_DCHECK(!def.accumulates || def.z == Storage::kF32);
  TPURUN_DCHECK(!def.products.empty());
  TPURUN_DCHECK(!def.y_is_packed || (def.products.size() == 1 &&
                                     (tiles.numbers > 1 || !Converts(def.y, def.products[0].y))));
  TPURUN_DCHECK(tiles.numbers == 1 || (def.products.size() == 1 && def.products[0].x == 0));
}

bool Product::PacksAnyX() const {
  return std::any_of(def_.products.begin(), def_.products.end(),
                     [&](const Parts& parts) { return PacksX(parts.x); });
}

// Of blocks of equal depth, at most `most`.
int64_t Product::DepthOfBlocks(int64_t most) const {
  if (elements_ == 0) return 1;
  const int64_t depth = DivideUp(elements_, DivideUp(elements_, most));
  return std::min(RoundUp(depth, tiles_.depth_unit), elements_);
}

// Blocks of few rows are as deep as scratch memory for a whole block allows: their sums are stored
// and read less often. Panels that are packed for the product have the depth of many rows.
int64_t Product::DepthOfRows(int64_t rows) const {
  if (!HasDeepBlocks()) return depth_;
  const int64_t row = MostXFloats() / (rows + tiles_.row_unit - 1);
  return DepthOfBlocks((row - kPadOfRow) / tiles_.depth_unit * tiles_.depth_unit);
}

int64_t Product::MostXFloats() const {
  return (tiles_.block_rows + tiles_.row_unit - 1) * CopiedRow(tiles_.block_depth);
}

// Rows one behind the other would begin in few sets of an L1 cache. An odd number of cache lines is
// between the rows that one instruction reads.
int64_t Product::CopiedRow(int64_t depth) const {
  return ReadsRows() ? AlignedFloats(depth) | kPadOfRow : depth;
}

// Of a copy of so many rows, or of fewer.
int64_t Product::XFloats(int64_t rows) const {
  const int64_t read = rows + tiles_.row_unit - 1;
  return HasDeepBlocks() ? std::min(read * CopiedRow(elements_), MostXFloats())
                         : read * CopiedRow(depth_);
}

int64_t Product::LineFloats(int64_t rows) const {
  int64_t floats = def_.x.transposed ? (ReadsRows() ? kTransposedDepth : kPackedDepth) * rows : 0;
  const bool spreads_y = !def_.y_is_packed && tiles_.numbers == 1;
  if (spreads_y) floats = std::max(floats, kPackedDepth * packed_columns_);
  if (def_.y.transposed) floats = std::max(floats, depth_ * panel_columns_);
  return floats;
}

int64_t Product::ScratchBytes(int64_t m) const {
  const int64_t rows = std::min<int64_t>(m, tiles_.block_rows);
  int64_t floats = 0;
  if (packs_x_ && m > 0) floats += AlignedFloats(XFloats(rows));
  if (!def_.y_is_packed) floats += AlignedFloats(depth_ * packed_columns_);
  floats += AlignedFloats(LineFloats(rows));
  if (keeps_sums_) floats += AlignedFloats(rows * def_.n);
  return floats * kFloat;
}

int64_t Product::CopiedBytes(int64_t m, int64_t n) const {
  if (m == 0 || n == 0) return 0;
  int64_t floats = keeps_sums_ ? m * n : 0;
  const int64_t x_copies = RowsOfPackedY(m) > tiles_.block_rows ? DivideUp(n, packed_columns_) : 1;
  const int64_t y_copies = def_.y_is_packed ? 0 : DivideUp(m, RowsOfPackedY(m));
  const int64_t panels = DivideUp(n, panel_columns_);
  for (const Parts& parts : def_.products) {
    floats += PacksX(parts.x) && !ReadsXAsStored(RowTiles(
                                     DivideUp(m, DivideUp(m, tiles_.block_rows)), most_rows_))
                  ? x_copies * m * elements_
                  : 0;
    floats += y_copies * panels * panel_columns_ * elements_;
  }
  return floats * kFloat;
}

void Product::Run(const Args& args) const {
  TPURUN_DCHECK(args.n == def_.n || (args.n < def_.n && !def_.y_is_packed));
  TPURUN_DCHECK(def_.z == Storage::kF32 || (args.triangle.kind != Triangle::kLowerZ &&
                                            args.triangle.kind != Triangle::kUpperZ));
  if (args.m == 0) return;
  if (has_one_block_ && args.m <= tiles_.block_rows) return RunOneBlock(args);
  if (tiles_.begin != nullptr) tiles_.begin();
  const int64_t blocks = DivideUp(args.m, RowsOfPackedY(args.m));
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t begin = BeginOfShare(args.m, block, blocks);
    RunRows(args, begin, BeginOfShare(args.m, block + 1, blocks) - begin);
  }
  if (tiles_.end != nullptr) tiles_.end();
}

// What RunRows does with a single block, without its loops: they would be a good part of a small
// product's time.
void Product::RunOneBlock(const Args& args) const {
  Block block;
  ScratchFloats scratch(args.scratch);
  if (packs_x_) block.x_copy = scratch.Take(XFloats(args.m));
  if (!def_.y_is_packed) block.y_copy = scratch.Take(depth_ * packed_columns_);
  block.line = scratch.rest();
  block.rows = args.m;
  block.depth = elements_;
  block.tiles = RowTiles(args.m, most_rows_);
  block.z = static_cast<float*>(args.z);
  block.z_row = def_.z_stride;
  block.accumulates = def_.accumulates;
  block.is_last = true;
  PackX(args, def_.products[0].x, block);
  const float* const y = PanelsOfY(args, def_.products[0].y, 0, block);
  RunPanel(args, 0, y, 0, block.tiles.count, block);
}

int64_t Product::RowsOfPackedY(int64_t m) const {
  // Packed weights need no copy, and scratch memory holds the sums of a block.
  return def_.y_is_packed || keeps_sums_ ? std::min<int64_t>(m, tiles_.block_rows) : m;
}

void Product::RunRows(const Args& args, int64_t begin, int64_t rows) const {
  Block block;
  ScratchFloats scratch(args.scratch);
  const int64_t blocks = DivideUp(rows, tiles_.block_rows), most_rows = DivideUp(rows, blocks);
  const int64_t depth = DepthOfRows(most_rows);
  if (packs_x_) block.x_copy = scratch.Take(XFloats(most_rows));
  if (!def_.y_is_packed) block.y_copy = scratch.Take(depth_ * packed_columns_);
  block.line = scratch.Take(LineFloats(most_rows));
  float* z = nullptr;
  if (keeps_sums_) {
    z = scratch.Take(rows * args.n);
    block.z_row = args.n;
  } else if (def_.z == Storage::kF32) {
    z = static_cast<float*>(args.z) + begin * def_.z_stride;
    block.z_row = def_.z_stride;
  }
  block.accumulates = def_.accumulates;
  for (size_t i = 0; i < def_.products.size(); ++i) {
    const Parts& parts = def_.products[i];
    for (block.begin = 0; block.begin < std::max<int64_t>(elements_, 1); block.begin += depth) {
      block.depth = std::min(depth, elements_ - block.begin);
      block.is_last = i + 1 == def_.products.size() && block.begin + depth >= elements_;
      for (int64_t column = 0; column < args.n; column += packed_columns_) {
        const float* const y = PanelsOfY(args, parts.y, column, block);
        for (int64_t b = 0; b < blocks; ++b) {
          const int64_t first = BeginOfShare(rows, b, blocks);
          block.row = begin + first;
          block.rows = BeginOfShare(rows, b + 1, blocks) - first;
          block.tiles = RowTiles(block.rows, most_rows_);
          block.z = z == nullptr ? nullptr : z + first * block.z_row;
          // A single block stays packed for all columns.
          if (column == 0 || blocks > 1) PackX(args, parts.x, block);
          RunPanels(args, column, y, block);
        }
      }
      block.accumulates = true;
    }
  }
}

// The block's elements of stored rows of k, one row `to_row` floats after the other.
void Product::PackLines(const Operand& operand, const void* data, int part, int64_t line,
                        int64_t lines, const Block& block, float* to, int64_t to_row) const {
  const int64_t k = block.begin * tiles_.numbers, whole = block.depth * tiles_.numbers;
  int64_t numbers = std::min(whole, def_.k - k);
  const void* from = At(data, operand.storage, line * operand.stride + k);
  if (numbers == operand.stride && numbers == whole && to_row == block.depth) {
    numbers *= lines;
    lines = 1;
  }
  for (; lines > 0; --lines) {
    PackNeighbours(tiles_, from, operand.storage, part, numbers, to);
    from = At(from, operand.storage, operand.stride);
    to += to_row;
  }
}

// `depth` elements along k of n columns, from `element` and `column` on, where a stored row is a
// row of columns. Their rows are `to_row` floats apart.
void Product::PackElements(const Operand& operand, const void* data, int part, int64_t element,
                           int64_t depth, int64_t column, int64_t n, float* to,
                           int64_t to_row) const {
  const int64_t k = element * tiles_.numbers;
  PackAllRows(tiles_, At(data, operand.storage, k * operand.stride + column), operand.stride,
              operand.storage, part, std::min(depth * tiles_.numbers, def_.k - k), n, to, to_row);
}

// Reads `depth` elements of n columns from memory ahead of time.
void Product::PrefetchRows(const Operand& operand, const void* data, int64_t element, int64_t depth,
                           int64_t column, int64_t n) const {
  if (n == operand.stride) return;  // the next bytes are the next row
  const int64_t begin = element * tiles_.numbers;
  const int64_t end = std::min(begin + depth * tiles_.numbers, def_.k);
  const int64_t size = BytesOf(operand.storage);
  PrefetchLines(At(data, operand.storage, begin * operand.stride + column), operand.stride * size,
                end - begin, n * size);
}

// True if the rows of x are elements in whole cache lines, and tiles read no row behind the last
// one.
bool Product::ReadsXAsStored(const RowTiles& tiles) const {
  constexpr int64_t kLine = 32;  // bf16 numbers of a cache line
  return tiles_.as_in_memory && def_.x.storage == Storage::kBF16 && !def_.x.transposed &&
         def_.x.stride % kLine == 0 && def_.k % tiles_.numbers == 0 && tiles.larger == 0 &&
         tiles.rows_of_smaller % tiles_.row_unit == 0;
}

void Product::PackX(const Args& args, int part, Block& block) const {
  block.interleaved = def_.x.transposed && !ReadsRows();
  if (block.interleaved) return PackTransposedX(args, part, block);
  if (!Converts(def_.x, part)) {
    block.x = static_cast<const float*>(args.x) + block.row * def_.x.stride + block.begin;
    block.x_row = def_.x.stride;
    return;
  }
  if (ReadsXAsStored(block.tiles)) {
    const void* const x = At(args.x, def_.x.storage, block.row * def_.x.stride);
    block.x = static_cast<const float*>(x) + block.begin;
    block.x_row = def_.x.stride / tiles_.numbers;
    return;
  }
  block.x = block.x_copy;
  block.x_row = CopiedRow(block.depth);
  if (def_.x.transposed) return StraightenX(args, part, block);
  PackLines(def_.x, args.x, part, block.row, block.rows, block, block.x_copy, block.x_row);
}

// The rows of a transposed x.
void Product::StraightenX(const Args& args, int part, const Block& block) const {
  for (int64_t k = 0; k < block.depth; k += kTransposedDepth) {
    const int64_t depth = std::min(kTransposedDepth, block.depth - k);
    PrefetchRows(def_.x, args.x, block.begin + k + depth, kTransposedDepth, block.row, block.rows);
    PackElements(def_.x, args.x, part, block.begin + k, depth, block.row, block.rows, block.line,
                 block.rows);
    tiles_.transpose(block.line, block.rows, depth, block.rows, block.x_copy + k, block.x_row);
  }
}

// One tile after the other, each (depth, rows of the tile); few numbers stay as they are.
void Product::PackTransposedX(const Args& args, int part, Block& block) const {
  const void* const x = At(args.x, def_.x.storage, block.begin * def_.x.stride + block.row);
  const bool converts = Converts(def_.x, part);
  const int64_t numbers = block.rows * block.depth;
  block.x = block.x_copy;
  block.x_depth = 0;
  if (numbers <= kFewNumbers && tiles_.numbers == 1 && (!converts || def_.x.stride == block.rows)) {
    block.x_depth = def_.x.stride;
    if (converts) {
      Convert(x, def_.x.storage, part, numbers, block.x_copy);
    } else {
      block.x = static_cast<const float*>(x);
    }
    return;
  }
  const RowTiles& tiles = block.tiles;
  const int small = tiles.rows_of_smaller;
  const int64_t smaller = tiles.count - tiles.larger;
  const int64_t large_rows = tiles.larger * (small + 1);
  for (int64_t k = 0; k < block.depth; k += kPackedDepth) {
    const int64_t depth = std::min(kPackedDepth, block.depth - k);
    PrefetchRows(def_.x, args.x, block.begin + k + depth, kPackedDepth, block.row, block.rows);
    const float* from = block.line;
    int64_t stride = block.rows;
    if (converts) {
      PackElements(def_.x, args.x, part, block.begin + k, depth, block.row, block.rows, block.line,
                   block.rows);
    } else {
      from = static_cast<const float*>(x) + k * def_.x.stride;
      stride = def_.x.stride;
    }
    if (tiles.larger > 0) {
      tiles_.spread[small + 1](from, stride, depth, tiles.larger, block.depth * (small + 1),
                               block.x_copy + k * (small + 1));
    }
    tiles_.spread[small](from + large_rows, stride, depth, smaller, block.depth * small,
                         block.x_copy + large_rows * block.depth + k * small);
  }
}

// Rows [block.begin, block.begin + block.depth) of the panels from `column` on: the first of them.
const float* Product::PanelsOfY(const Args& args, int part, int64_t column, Block& block) const {
  block.y_depth = panel_columns_;
  if (def_.y_is_packed) return static_cast<const float*>(args.y) + block.begin * panel_columns_;
  const int64_t end = std::min(column + packed_columns_, args.n);
  const int64_t numbers = block.depth * args.n;
  if (!def_.y.transposed && tiles_.numbers == 1 && args.n == def_.y.stride &&
      args.n <= panel_columns_ && numbers <= kFewNumbers) {
    // Sums of the columns behind the last one are not stored.
    block.y_depth = args.n;
    Convert(At(args.y, def_.y.storage, block.begin * args.n), def_.y.storage, part, numbers,
            block.y_copy);
    return block.y_copy;
  }
  if (!def_.y.transposed) {
    tiles_.numbers > 1 ? PackPairsOfY(args, part, column, end, block)
                       : PackY(args, part, column, end, block);
    return block.y_copy;
  }
  float* panel = block.y_copy;
  for (; column < end; column += panel_columns_, panel += block.depth * panel_columns_)
    PackTransposedY(args, part, column, std::min(panel_columns_, end - column), block, panel);
  return block.y_copy;
}

void Product::PackY(const Args& args, int part, int64_t begin, int64_t end,
                    const Block& block) const {
  const Operand& y = def_.y;
  const int64_t columns = end - begin, panel = block.depth * panel_columns_;
  // Part 0 of a bf16 number is the number itself. It becomes f32 on the way to its panel (128 x
  // 1024 x 128 with a transposed x and AVX2 on a Zen 3: 85.1, now 87.5 GFLOP/s; 256 x 1024 x
  // 1024: 87.9, now 89.2).
  const bool is_read_in_place =
      y.storage == Storage::kBF16 ? part == kWhole || part == 0 : !Converts(y, part);
  const Storage storage = is_read_in_place ? y.storage : Storage::kF32;
  const int64_t stride = is_read_in_place ? y.stride : columns;
  const int64_t whole = columns / panel_columns_, rest = columns % panel_columns_;
  const int64_t vectors = panel_columns_ / tiles_.lanes;
  for (int64_t k = 0; k < block.depth; k += kPackedDepth) {
    const int64_t depth = std::min(kPackedDepth, block.depth - k);
    PrefetchRows(y, args.y, block.begin + k + depth, kPackedDepth, begin, columns);
    const void* from = block.line;
    if (is_read_in_place) {
      from = At(args.y, storage, (block.begin + k) * stride + begin);
    } else {
      PackElements(y, args.y, part, block.begin + k, depth, begin, columns, block.line, columns);
    }
    float* const to = block.y_copy + k * panel_columns_;
    if (storage == Storage::kBF16) {
      tiles_.spread_vectors_bf16[vectors](static_cast<const uint16_t*>(from), stride, depth, whole,
                                          panel, to);
    } else {
      tiles_.spread_vectors[vectors](static_cast<const float*>(from), stride, depth, whole, panel,
                                     to);
    }
    // Columns behind the last one are multiplied too, but their sums are not stored.
    for (int64_t i = 0; rest > 0 && i < depth; ++i) {
      float* const last = to + whole * panel + i * panel_columns_;
      std::fill(last + rest, last + panel_columns_, 0.0f);
      Convert(At(from, storage, i * stride + whole * panel_columns_), storage, kWhole, rest, last);
    }
  }
}

// Each panel by itself: its rows are whole cache lines.
void Product::PackPairsOfY(const Args& args, int part, int64_t begin, int64_t end,
                           const Block& block) const {
  const Operand& y = def_.y;
  for (int64_t k = 0; k < block.depth; k += kPackedDepth) {
    const int64_t depth = std::min(kPackedDepth, block.depth - k);
    PrefetchRows(y, args.y, block.begin + k + depth, kPackedDepth, begin, end - begin);
    float* to = block.y_copy + k * panel_columns_;
    for (int64_t column = begin; column < end; column += panel_columns_) {
      const int64_t columns = std::min(panel_columns_, end - column);
      PackElements(y, args.y, part, block.begin + k, depth, column, columns, to, panel_columns_);
      // Columns behind the last one are multiplied too, but their sums are not stored.
      for (int64_t i = 0; columns < panel_columns_ && i < depth; ++i)
        std::fill(to + i * panel_columns_ + columns, to + (i + 1) * panel_columns_, 0.0f);
      to += block.depth * panel_columns_;
    }
  }
}

void Product::PackTransposedY(const Args& args, int part, int64_t column, int64_t columns,
                              const Block& block, float* panel) const {
  const Operand& y = def_.y;
  if (columns < panel_columns_) std::fill_n(panel, block.depth * panel_columns_, 0.0f);
  if (!Converts(y, part)) {
    return tiles_.transpose(static_cast<const float*>(args.y) + column * y.stride + block.begin,
                            y.stride, columns, block.depth, panel, panel_columns_);
  }
  PackLines(y, args.y, part, column, columns, block, block.line, block.depth);
  tiles_.transpose(block.line, block.depth, columns, block.depth, panel, panel_columns_);
}

// `y` is the first panel. A thread goes through panels forwards and backwards in turn: where the
// next product has the same y, as each step of a recurrence does, the panels that were read last
// are still in the L2 cache (16 x 512 x 2048 with AMX: 713, now 970 GFLOP/s). The order changes no
// bit.
void Product::RunPanels(const Args& args, int64_t begin, const float* y, const Block& block) const {
  static thread_local bool backwards = false;
  backwards = !backwards;
  const int64_t end = std::min(begin + packed_columns_, args.n);
  const int64_t panel = panel_columns_ * (def_.y_is_packed ? elements_ : block.depth);
  const int64_t panels = ReadsRows() && block.tiles.count > 1 ? kPanelsInTurn : 1;
  const int64_t turns = DivideUp(end - begin, panels * panel_columns_);
  for (int64_t i = 0; i < turns; ++i) {
    const int64_t first_panel = (backwards ? turns - 1 - i : i) * panels;
    const int64_t first = begin + first_panel * panel_columns_;
    const int64_t behind = std::min(first + panels * panel_columns_, end);
    const int64_t tiles = panels > 1 ? 1 : block.tiles.count;
    for (int64_t t = 0; t < block.tiles.count; t += tiles) {
      const float* of_panel = y + first_panel * panel;
      for (int64_t column = first; column < behind; column += panel_columns_, of_panel += panel)
        RunPanel(args, column, of_panel, t, t + tiles, block);
    }
  }
}

Product::Range Product::InTriangle(const Triangle& triangle, const Block& block, int64_t row,
                                   int rows, int64_t column, int64_t columns) const {
  const int64_t numbers = tiles_.numbers, unit = tiles_.depth_unit;
  // The diagonal in the first and in the last row of the tile.
  const int64_t first = block.row + row + triangle.diagonal, last = first + rows - 1;
  Range range{.end = block.depth};
  switch (triangle.kind) {
    case Triangle::kNone:
      break;
    case Triangle::kLowerX:
      range.end = std::clamp<int64_t>(RoundUp(DivideUp(last + 1, numbers), unit) - block.begin, 0,
                                      block.depth);
      break;
    case Triangle::kUpperX:
      if (first >= def_.k) return {};  // where the unit of depth would begin before it
      range.begin =
          std::clamp<int64_t>(first / numbers / unit * unit - block.begin, 0, block.depth);
      break;
    case Triangle::kLowerZ:
      range.is_unread = column > last;
      break;
    case Triangle::kUpperZ:
      range.is_unread = column + columns - 1 < first;
      break;
  }
  return range;
}

void Product::RunPanel(const Args& args, int64_t column, const float* y, int64_t first_tile,
                       int64_t end_tile, const Block& block) const {
  const int64_t columns = std::min(panel_columns_, args.n - column);
  const ColumnVectors vectors(columns, tiles_.lanes);
  // Tiles of few vectors have more rows, where x is not ordered by the rows of wider ones: the few
  // sums of 4 x 8 would wait for each other (the last 8 of 512 columns and 2 of 98 in a training of
  // lstm_bench with AVX2: 0.96, now 0.61 % of its time).
  const bool is_narrow = vectors.count < panel_columns_ / tiles_.lanes;
  const bool has_own_tiles = is_narrow && !block.interleaved && !ReadsRows();
  const RowTiles row_tiles =
      has_own_tiles ? RowTiles(block.rows, tiles_.most_rows[vectors.count]) : block.tiles;
  if (has_own_tiles) end_tile = row_tiles.count;
  TileArgs tile{.x_row = block.x_row,
                .y_depth = block.y_depth,
                .z_row = block.z_row,
                .rounded_row = def_.z_stride,
                .accumulates = block.accumulates,
                .bias = block.is_last && args.bias != nullptr ? args.bias + column : nullptr,
                .last_lanes = vectors.last_lanes};
  const bool rounds = block.is_last && def_.z == Storage::kBF16;
  for (int64_t t = first_tile; t < end_tile; ++t) {
    const int64_t row = row_tiles.Begin(t);
    const int rows = row_tiles.Rows(t);
    const Range in = args.triangle.kind == Triangle::kNone
                         ? Range{.end = block.depth}
                         : InTriangle(args.triangle, block, row, rows, column, columns);
    if (in.is_unread) continue;
    tile.x_depth = block.x_depth > 0 ? block.x_depth : rows;
    tile.x = block.x + row * (!block.interleaved  ? block.x_row
                              : block.x_depth > 0 ? 1
                                                  : block.depth);
    tile.x += in.begin * (block.interleaved ? tile.x_depth : 1);
    tile.y = y + in.begin * block.y_depth;
    tile.depth = in.end - in.begin;
    tile.z = block.z == nullptr ? nullptr : block.z + row * block.z_row + column;
    if (rounds) {
      tile.rounded = static_cast<uint16_t*>(args.z) + (block.row + row) * def_.z_stride + column;
    }
    // Unless z is small. The first multiplications of a tile wait for sums that are accumulated,
    // its last instructions for the lines that they write (512 x 800 x 2048 with AVX2, accumulated:
    // 62, now 73 GFLOP/s of 85).
    if (t + 1 == end_tile || block.rows * def_.z_stride <= kFewNumbers) {
      tile.next = nullptr;
    } else if (rounds) {
      tile.next = tile.rounded + rows * def_.z_stride;
    } else {
      tile.next = tile.z + rows * block.z_row;
    }
    (block.interleaved ? tiles_.interleaved : tiles_.of_rows)[vectors.count][rows](tile);
  }
}

}  // namespace tpurun::gemm
