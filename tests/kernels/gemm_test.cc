// Products of runtime/kernels/gemm beside one chain of std::fma for each element, bit for bit, with
// the tiles of every instruction set that this processor has.
#include "runtime/kernels/gemm/gemm.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <ostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/base/bfloat16.h"
#include "runtime/base/bfloat16_parts.h"
#include "tests/kernels/levels.h"

namespace tpurun::gemm {
namespace {

// Only rounded numbers are multiplied by tiles of bf16.
std::vector<Parts> OneProduct(const Tiles& tiles) {
  return {MultipliesBF16(tiles) ? Parts{0, 0} : Parts{}};
}

struct Case {
  int64_t m, k, n;
  Operand x = {}, y = {};
  std::vector<Parts> products = {{}};
  bool packed = false, accumulates = false, bias = false;
  Storage z = Storage::kF32;
  int64_t more_stride = 0;  // of each matrix, behind its rows
  Triangle triangle = {};
  int64_t scratch_rows = 0;  // scratch memory of at least so many

  std::string Name() const {
    std::string name;
    for (const int64_t size : {m, k, n}) name += std::to_string(size) + " ";
    const auto add = [&](const char* letter, const Operand& operand) {
      name += letter;
      if (operand.transposed) name += "'";
      name += operand.storage == Storage::kBF16 ? " bf16 " : " ";
    };
    add("x", x);
    add("y", y);
    return name + std::to_string(products.size()) + " products" + (packed ? " packed" : "") +
           (accumulates ? " accumulates" : "") + (bias ? " bias" : "") +
           (z == Storage::kBF16 ? " into bf16" : "") + " stride + " + std::to_string(more_stride) +
           " triangle " + std::to_string(triangle.kind) + " at " +
           std::to_string(triangle.diagonal);
  }
  bool IsOutsideOfX(int64_t i, int64_t k) const {
    return (triangle.kind == Triangle::kLowerX && k > i + triangle.diagonal) ||
           (triangle.kind == Triangle::kUpperX && k < i + triangle.diagonal);
  }
  bool IsOutsideOfZ(int64_t i, int64_t j) const {
    return (triangle.kind == Triangle::kLowerZ && j > i + triangle.diagonal) ||
           (triangle.kind == Triangle::kUpperZ && j < i + triangle.diagonal);
  }
};

// A matrix as it is stored, and its numbers.
class Matrix {
 public:
  Matrix(int64_t rows, int64_t columns, Operand operand, int64_t more_stride, std::mt19937& random)
      : operand_(operand), columns_(columns) {
    const int64_t stored_rows = operand.transposed ? columns : rows;
    operand_.stride = (operand.transposed ? rows : columns) + more_stride;
    std::uniform_real_distribution<float> number(-1, 1);
    f32_.resize(stored_rows * operand_.stride);
    bf16_.resize(f32_.size());
    for (size_t i = 0; i < f32_.size(); ++i) {
      f32_[i] = number(random);
      bf16_[i] = BFloat16Bits(f32_[i]);
      if (operand.storage == Storage::kBF16) f32_[i] = FromBFloat16Bits(bf16_[i]);
    }
  }

  const Operand& operand() const { return operand_; }
  const void* data() const {
    return operand_.storage == Storage::kBF16 ? static_cast<const void*>(bf16_.data())
                                              : f32_.data();
  }
  float At(int64_t row, int64_t column, int part) const {
    if (operand_.transposed) std::swap(row, column);
    const float number = f32_[row * operand_.stride + column];
    return part == kWhole ? number : BFloat16Part(number, part);
  }
  void Clear(int64_t row, int64_t column) {
    if (operand_.transposed) std::swap(row, column);
    f32_[row * operand_.stride + column] = 0;
    bf16_[row * operand_.stride + column] = 0;
  }
  // As packed panels.
  std::vector<float> Panels(int64_t rows, const Tiles& tiles) const {
    const int64_t columns = PanelColumns(columns_, tiles), numbers = tiles.numbers;
    const int64_t elements = (rows + numbers - 1) / numbers;
    std::vector<float> panels((columns_ + columns - 1) / columns * columns * elements, 0.0f);
    for (int64_t k = 0; k < rows; ++k) {
      for (int64_t j = 0; j < columns_; ++j) {
        float& element = panels[(j / columns * elements + k / numbers) * columns + j % columns];
        const bool is_upper = (k % 2 == 0) != tiles.as_in_memory;
        element = numbers == 1 ? At(k, j, kWhole) : WithNumber(element, is_upper, At(k, j, kWhole));
      }
    }
    return panels;
  }

 private:
  // A pair of bf16 numbers.
  static float WithNumber(float element, bool is_upper, float number) {
    const uint32_t bits = BFloat16Bits(number);
    return std::bit_cast<float>(std::bit_cast<uint32_t>(element) | (is_upper ? bits << 16 : bits));
  }

  Operand operand_;
  int64_t columns_;
  std::vector<float> f32_;
  std::vector<uint16_t> bf16_;
};

constexpr float kUnwritten = 12345;
constexpr uint16_t kUnwrittenBits = 0x1234;

struct Numbers {
  explicit Numbers(const Case& c)
      : random(7),
        x(c.m, c.k, c.x, c.more_stride, random),
        y(c.k, c.n, c.y, c.more_stride, random),
        bias(c.n) {
    for (int64_t i = 0; i < c.m; ++i) {
      for (int64_t k = 0; k < c.k; ++k) {
        if (c.IsOutsideOfX(i, k)) x.Clear(i, k);
      }
    }
    for (float& number : bias) number = static_cast<float>(random() % 7) / 4;
  }

  std::mt19937 random;
  Matrix x;
  const Matrix y;
  std::vector<float> bias;
};

// z, row by row, with `products` instead of the case's own.
std::vector<float> Chains(const Case& c, const std::vector<Parts>& products, const Numbers& given,
                          Order order) {
  std::vector<float> z(c.m * c.n);
  for (int64_t i = 0; i < c.m; ++i) {
    for (int64_t j = 0; j < c.n; ++j) {
      if (c.IsOutsideOfZ(i, j)) continue;
      float sum = c.accumulates ? kUnwritten : 0.0f;
      for (const Parts& parts : products) {
        sum = Sum(
            order, c.k, sum, [&](int64_t k) { return given.x.At(i, k, parts.x); },
            [&](int64_t k) { return given.y.At(k, j, parts.y); });
      }
      z[i * c.n + j] = c.bias ? sum + given.bias[j] : sum;
    }
  }
  return z;
}

void ExpectChains(const Case& c, const std::vector<Parts>& products, const Numbers& given,
                  const std::vector<float>& want, const Tiles& tiles) {
  const int64_t z_stride = c.n + c.more_stride;
  std::vector<float> z(c.m * z_stride, kUnwritten);
  std::vector<uint16_t> z_bf16(z.size(), kUnwrittenBits);
  const Product product({.k = c.k,
                         .n = c.n,
                         .x = given.x.operand(),
                         .y = given.y.operand(),
                         .y_is_packed = c.packed,
                         .products = products,
                         .accumulates = c.accumulates,
                         .z = c.z,
                         .z_stride = z_stride},
                        tiles);
  const std::vector<float> panels = given.y.Panels(c.k, tiles);
  constexpr int64_t kBehind = 4096;
  std::vector<unsigned char> scratch(product.ScratchBytes(std::max(c.m, c.scratch_rows)) + kBehind,
                                     0xff);  // NaN
  const bool into_bf16 = c.z == Storage::kBF16;
  product.Run({.x = given.x.data(),
               .y = c.packed ? panels.data() : given.y.data(),
               .bias = c.bias ? given.bias.data() : nullptr,
               .z = into_bf16 ? static_cast<void*>(z_bf16.data()) : z.data(),
               .m = c.m,
               .n = c.n,
               .triangle = c.triangle,
               .scratch = scratch.data()});
  for (size_t i = scratch.size() - kBehind; i < scratch.size(); ++i)
    ASSERT_EQ(scratch[i], 0xff) << "writes behind its scratch memory";
  for (int64_t i = 0; i < c.m; ++i) {
    for (int64_t j = 0; j < z_stride; ++j) {
      if (j >= c.n) {
        ASSERT_EQ(z[i * z_stride + j], kUnwritten) << "writes behind row " << i;
        ASSERT_EQ(z_bf16[i * z_stride + j], kUnwrittenBits) << "writes behind row " << i;
      } else if (into_bf16) {
        ASSERT_EQ(z_bf16[i * z_stride + j], BFloat16Bits(want[i * c.n + j])) << i << ", " << j;
      } else if (!c.IsOutsideOfZ(i, j)) {
        ASSERT_EQ(z[i * z_stride + j], want[i * c.n + j]) << i << ", " << j;
      }
    }
  }
}

// With tiles of bf16, the product of the numbers themselves is that of the rounded ones.
void ExpectChains(const Case& c) {
  const Numbers given(c);
  for (const auto& [bf16, order] : std::vector<std::pair<bool, Order>>{
           {false, Order::kChain}, {true, Order::kChain}, {true, Order::kAmx}}) {
    std::vector<float> want;
    for (const Level& level : Levels()) {
      if (MultipliesBF16(*level.tiles) != bf16 || OrderOf(*level.tiles) != order) continue;
      const bool is_whole = c.products.size() == 1 && c.products[0].x == kWhole;
      const std::vector<Parts> products = is_whole ? OneProduct(*level.tiles) : c.products;
      if (bf16 && products.size() > 1) continue;
      if (want.empty()) want = Chains(c, products, given, order);
      SCOPED_TRACE(std::string(level.name) + ": " + c.Name());
      ExpectChains(c, products, given, want, *level.tiles);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

// Whole tiles and parts of tiles, vectors, panels, and blocks of rows and depth.
const std::vector<int64_t> kRows = {0, 1, 5, 13, 193};
const std::vector<int64_t> kDepths = {0, 1, 10, 257};
const std::vector<int64_t> kColumns = {1, 10, 24, 31, 128, 203};

TEST(Gemm, EveryElementIsOneChain) {
  for (const int64_t m : kRows) {
    for (const int64_t k : kDepths) {
      for (const int64_t n : kColumns) {
        for (const bool tx : {false, true}) {
          for (const bool ty : {false, true}) {
            Case c{m, k, n, {.transposed = tx}, {.transposed = ty}};
            ExpectChains(c);
            c.packed = c.bias = true;
            ExpectChains(c);
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

// Whole tiles of AMX, of one and of two registers.
TEST(Gemm, MultipliesWholeTiles) {
  for (const bool transposed : {false, true}) {
    for (const int64_t m : {16, 32, 80}) {
      Case c{m, 64, 48, {.transposed = transposed}, {}};
      ExpectChains(c);
      c.accumulates = true;
      ExpectChains(c);
      if (HasFatalFailure()) return;
    }
  }
}

// Rows of bf16 numbers in whole cache lines are multiplied where they are; an odd number along k
// and numbers behind a row are not.
TEST(Gemm, ReadsRowsOfBFloat16WhereTheyAre) {
  for (const int64_t m : {16, 32, 96, 300}) {
    for (const auto& [k, more] :
         {std::pair<int64_t, int64_t>{64, 0}, {62, 2}, {61, 3}, {1100, 20}}) {
      Case c{m, k, 40, {Storage::kBF16}, {}};
      c.more_stride = more;
      ExpectChains(c);
      if (HasFatalFailure()) return;
    }
  }
}

// Several blocks of rows, of depth and of columns, for the largest blocks of any instruction set.
TEST(Gemm, MultipliesSeveralBlocks) {
  for (const bool transposed : {false, true}) {
    ExpectChains({300, 20, 1100, {.transposed = transposed}, {}});
    if (HasFatalFailure()) return;
  }
  Case packed{40, 2100, 20};
  packed.packed = packed.bias = true;
  ExpectChains(packed);
  for (const Triangle::Kind kind : {Triangle::kLowerX, Triangle::kUpperX}) {
    for (const int64_t diagonal : {-200, 0, 1000}) {
      Case c{300, 1300, 3};
      c.triangle = {kind, diagonal};
      ExpectChains(c);
      if (HasFatalFailure()) return;
    }
  }
}

// Scratch memory of many rows is enough for fewer, whose blocks are deeper.
TEST(Gemm, MultipliesFewerRowsThanItHasMemoryFor) {
  constexpr int64_t kDepth = 3000, kColumns = 5;
  for (const int64_t most : {1, 3, 16, 257, 300}) {
    for (const int64_t m : {1, 2, 7, 16, 100, 129, 257}) {
      if (m > most) continue;
      Case c{m, kDepth, kColumns};
      c.packed = true;
      c.scratch_rows = most;
      c.z = m % 2 == 0 ? Storage::kBF16 : Storage::kF32;
      ExpectChains(c);
      if (HasFatalFailure()) return;
    }
  }
}

// More columns than are packed at a time, and several blocks of rows.
TEST(Gemm, PacksTheColumnsInBlocks) {
  for (const bool tx : {false, true}) {
    for (const bool ty : {false, true}) {
      for (const Storage storage : {Storage::kF32, Storage::kBF16}) {
        Case c{200, 20, 1610, {.transposed = tx}, {.storage = storage, .transposed = ty}};
        ExpectChains(c);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Gemm, LeavesOutWhatIsOutsideOfATriangle) {
  for (const Triangle::Kind kind :
       {Triangle::kLowerX, Triangle::kUpperX, Triangle::kLowerZ, Triangle::kUpperZ}) {
    for (const int64_t diagonal : {-150, 0, 7}) {
      for (const bool transposed : {false, true}) {
        for (const bool accumulates : {false, true}) {
          // Several blocks of rows; last columns of fewer vectors than a panel.
          for (const int64_t n : {13, 26, 50}) {
            Case c{194, 260, n, {.transposed = transposed}, {.transposed = !transposed}};
            c.accumulates = accumulates;
            c.triangle = {kind, diagonal};
            ExpectChains(c);
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

// NaN in all of y reach no sum if everything is outside of the triangle.
TEST(Gemm, MultipliesNothingOutsideOfATriangle) {
  constexpr int64_t kSize = 200;
  const std::vector<float> x(kSize * kSize, 0.0f), y(kSize * kSize, NAN);
  for (const Level& level : Levels()) {
    const Product product({.k = kSize,
                           .n = kSize,
                           .x = {.stride = kSize},
                           .y = {.stride = kSize},
                           .products = OneProduct(*level.tiles),
                           .z_stride = kSize},
                          *level.tiles);
    std::vector<unsigned char> scratch(product.ScratchBytes(kSize));
    for (const auto& [triangle, want] :
         std::vector<std::pair<Triangle, float>>{{{Triangle::kLowerX, -kSize}, 0.0f},
                                                 {{Triangle::kUpperX, kSize}, 0.0f},
                                                 {{Triangle::kLowerZ, -kSize}, kUnwritten},
                                                 {{Triangle::kUpperZ, kSize}, kUnwritten}}) {
      std::vector<float> z(kSize * kSize, kUnwritten);
      product.Run({.x = x.data(),
                   .y = y.data(),
                   .z = z.data(),
                   .m = kSize,
                   .n = kSize,
                   .triangle = triangle,
                   .scratch = scratch.data()});
      EXPECT_EQ(z, std::vector<float>(kSize * kSize, want))
          << level.name << " triangle " << int{triangle.kind};
    }
  }
}

// A share of the columns, whose last panel has fewer vectors than the others.
TEST(Gemm, MultipliesSomeOfTheColumns) {
  constexpr int64_t kRows = 27, kDepth = 5, kMost = 256;
  std::vector<float> x(kDepth * kRows), y(kDepth * kMost);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7);
  for (size_t i = 0; i < y.size(); ++i) y[i] = static_cast<float>(i % 5);
  for (const Level& level : Levels()) {
    for (const bool transposed : {false, true}) {
      const Product product({.k = kDepth,
                             .n = kMost,
                             .x = {.transposed = transposed, .stride = transposed ? kRows : kDepth},
                             .y = {.stride = kMost},
                             .products = OneProduct(*level.tiles),
                             .z_stride = kMost},
                            *level.tiles);
      std::vector<unsigned char> scratch(product.ScratchBytes(kRows));
      const int64_t to_row = transposed ? 1 : kDepth, to_k = transposed ? kRows : 1;
      for (const int64_t n : {1, 17, 40, 255}) {
        std::vector<float> z(kRows * kMost, kUnwritten);
        product.Run({.x = x.data(),
                     .y = y.data(),
                     .z = z.data(),
                     .m = kRows,
                     .n = n,
                     .scratch = scratch.data()});
        for (int64_t i = 0; i < kRows; ++i) {
          for (int64_t j = 0; j < kMost; ++j) {
            float want = j < n ? 0.0f : kUnwritten;
            for (int64_t k = 0; j < n && k < kDepth; ++k)
              want += x[k * to_k + i * to_row] * y[k * kMost + j];
            ASSERT_EQ(z[i * kMost + j], want) << level.name << " " << n << ": " << i << ", " << j;
          }
        }
      }
    }
  }
}

TEST(Gemm, AddsToZAndReadsRowsThatAreApart) {
  for (const int64_t m : {1, 7, 200}) {
    for (const int64_t n : {5, 24, 50}) {
      for (const bool transposed : {false, true}) {
        for (const int64_t k : {3, 300}) {
          Case c{m, k, n, {.transposed = transposed}, {.transposed = !transposed}};
          c.accumulates = c.bias = true;
          c.more_stride = 3;
          ExpectChains(c);
        }
      }
    }
  }
}

TEST(Gemm, ReadsAndRoundsBFloat16) {
  for (const bool x_in_bf16 : {false, true}) {
    for (const bool y_in_bf16 : {false, true}) {
      for (const bool transposed : {false, true}) {
        for (const std::vector<Parts>& products :
             {std::vector<Parts>{{0, 0}}, {{1, 0}, {0, 1}, {0, 0}}, {{2, 0}, {1, 1}, {0, 2}}}) {
          Case c{21, 270, 50, {.transposed = transposed}, {.transposed = transposed}};
          c.x.storage = x_in_bf16 ? Storage::kBF16 : Storage::kF32;
          c.y.storage = y_in_bf16 ? Storage::kBF16 : Storage::kF32;
          c.products = products;
          ExpectChains(c);
          c.z = Storage::kBF16;
          c.bias = true;
          ExpectChains(c);
        }
      }
    }
  }
}

// Of several blocks of rows, of several along k (which are summed before they are rounded), and of
// rows that are apart.
TEST(Gemm, RoundsEveryBlockOnce) {
  for (const int64_t m : {5, 200}) {
    for (const int64_t k : {40, 300, 1100}) {
      for (const bool transposed : {false, true}) {
        Case c{m, k, 37, {.transposed = transposed}, {.transposed = transposed}};
        c.x.storage = c.y.storage = c.z = Storage::kBF16;
        c.products = {{0, 0}};
        c.bias = true;
        c.more_stride = 3;
        ExpectChains(c);
      }
    }
  }
}

// What a tile reads beside its rows and columns does not reach the result.
TEST(Gemm, KeepsMinusZeroAndNaN) {
  for (const Level& level : Levels()) {
    const Product product({.k = 1,
                           .n = 3,
                           .x = {.stride = 1},
                           .y = {.stride = 3},
                           .products = OneProduct(*level.tiles),
                           .z_stride = 3},
                          *level.tiles);
    const float x[] = {-0.0f}, y[] = {1.0f, NAN, INFINITY};
    float z[] = {1, 1, 1};
    std::vector<unsigned char> scratch(product.ScratchBytes(1));
    product.Run({.x = x, .y = y, .z = z, .m = 1, .n = 3, .scratch = scratch.data()});
    EXPECT_EQ(z[0], 0.0f);
    EXPECT_FALSE(std::signbit(z[0]));  // 0 + -0 is 0
    EXPECT_TRUE(std::isnan(z[1]));
    EXPECT_TRUE(std::isnan(z[2]));  // -0 times infinity
  }
}

}  // namespace
}  // namespace tpurun::gemm
