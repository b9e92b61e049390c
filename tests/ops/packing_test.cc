// pack: the place of every number of packed weights, by the formula of gemm.h (PanelColumns).
#include "runtime/ops/packing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/bfloat16.h"
#include "runtime/ops/op_list.h"
#include "tests/ops/kernel_case.h"

namespace tpurun {
namespace {

struct Panels {
  int64_t rows, columns;  // of x as it is stored
  bool transposed;        // x is (n, k) instead of (k, n)
  int64_t panel;          // columns of a panel
  int64_t numbers;        // of an element
  bool reversed;
};

int64_t DivideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

Shape PackedShape(const Panels& p) {
  const int64_t k = p.transposed ? p.columns : p.rows, n = p.transposed ? p.rows : p.columns;
  const int64_t elements = DivideUp(k, p.numbers), panels = DivideUp(n, p.panel);
  const int of_n = p.transposed ? 0 : 1;
  BlockedLayout layout{.strides = {p.panel * p.numbers, p.panel * p.numbers},
                       .blocks = {{of_n, p.panel}},
                       .reversed = p.reversed};
  layout.strides[of_n] *= elements;
  if (p.numbers > 1) layout.blocks.push_back({1 - of_n, p.numbers});
  const DType dtype = p.numbers > 1 ? DType::kBF16 : DType::kF32;
  const int64_t bytes = panels * p.panel * elements * p.numbers * ByteSize(dtype);
  return Shape{dtype, {p.rows, p.columns}, layout.Named(bytes)};
}

// The place of number (row k, column j), in numbers.
int64_t PlaceOf(const Panels& p, int64_t k, int64_t j) {
  const int64_t elements = DivideUp(p.transposed ? p.columns : p.rows, p.numbers);
  const int64_t element = (j / p.panel * elements + k / p.numbers) * p.panel + j % p.panel;
  const int64_t number = k % p.numbers;
  return element * p.numbers + (p.reversed ? p.numbers - 1 - number : number);
}

TEST(Pack, PutsEveryNumberIntoItsPlaceOfAPanel) {
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{1, 1},
                                      {2, 7},
                                      {5, 48},
                                      {17, 33},
                                      {40, 300},
                                      {2, 300},
                                      {49, 129},
                                      {64, 96}}) {
    for (const bool transposed : {false, true}) {
      for (const int64_t panel : {4, 24, 48}) {
        for (const auto& [numbers, reversed] :
             {std::pair<int64_t, bool>{1, false}, {2, false}, {2, true}}) {
          const Panels p{rows, columns, transposed, panel, numbers, reversed};
          const Shape packed = PackedShape(p);
          SCOPED_TRACE(absl::StrCat(rows, " x ", columns, " as ", packed.ToString()));
          const Literal x = RandomLiteral(F32({rows, columns}), 1);
          const OpCall call{.op = FindOpByName("pack"),
                            .attrs = PackAttrs(packed),
                            .operands = {x.shape()},
                            .results = {packed},
                            .needed = {true}};
          std::vector<float> want_f32(packed.layout.bytes / sizeof(float), 0.0f);
          std::vector<uint16_t> want_bf16(packed.layout.bytes / sizeof(uint16_t), 0);
          for (int64_t row = 0; row < rows; ++row) {
            for (int64_t column = 0; column < columns; ++column) {
              const float number = x.values<float>()[row * columns + column];
              const int64_t place =
                  PlaceOf(p, transposed ? column : row, transposed ? row : column);
              if (numbers == 1) want_f32[place] = number;
              if (numbers > 1) want_bf16[place] = BFloat16Bits(number);
            }
          }
          const void* const want = numbers == 1 ? static_cast<const void*>(want_f32.data())
                                                : static_cast<const void*>(want_bf16.data());
          // In one call, and cut into parts of odd numbers of rows.
          for (const int64_t part : {rows, int64_t{3}}) {
            std::vector<std::byte> got(packed.layout.bytes, std::byte{0xff});
            const void* const operands[] = {x.data()};
            void* const results[] = {got.data()};
            const std::unique_ptr<Kernel> kernel = call.op->reference(call);
            for (int64_t begin = 0; begin < rows; begin += part) {
              ASSERT_TRUE(kernel
                              ->Run({.operands = operands,
                                     .results = results,
                                     .begin = begin,
                                     .end = std::min(rows, begin + part)})
                              .ok());
            }
            ASSERT_EQ(std::memcmp(got.data(), want, packed.layout.bytes), 0) << part;
          }
        }
      }
    }
  }
}

// Kernels of convolutions (KH, KW, C, F), of whose gradient of x the pixels come in falling order.
TEST(Pack, FlipsAllButTheLastTwoDimensions) {
  constexpr int64_t kKh = 2, kKw = 3, kC = 5, kF = 4, kPanel = 3;
  const auto packed_at = [](int64_t kh, int64_t kw, int64_t c, int64_t f) {
    const int64_t pixel = (kKh - 1 - kh) * kKw + kKw - 1 - kw;
    return (f / kPanel * kKh * kKw * kC + pixel * kC + c) * kPanel + f % kPanel;
  };
  const BlockedLayout layout{
      .strides = {kKw * kC * kPanel, kC * kPanel, kPanel, kKh * kKw * kC * kPanel},
      .blocks = {{3, kPanel}},
      .flipped = true};
  constexpr int64_t kNumbers = kKh * kKw * kC * 2 * kPanel;
  const Shape packed{DType::kF32, {kKh, kKw, kC, kF}, layout.Named(kNumbers * sizeof(float))};
  EXPECT_EQ(packed.layout.name, "blocked_s45_s15_s3_s90_b3d3_flipped");
  EXPECT_EQ(ParseBlockedLayout(packed), layout);
  const Literal x = RandomLiteral(F32(packed.dims), 1);
  std::vector<float> want(kNumbers, 0.0f), got(kNumbers, -1.0f);
  for (int64_t i = 0; i < x.shape().num_elements(); ++i) {
    const int64_t pixel = i / (kC * kF);
    want[packed_at(pixel / kKw, pixel % kKw, i / kF % kC, i % kF)] = x.values<float>()[i];
  }
  const OpCall call{.op = FindOpByName("pack"),
                    .attrs = PackAttrs(packed),
                    .operands = {x.shape()},
                    .results = {packed},
                    .needed = {true}};
  const void* const operands[] = {x.data()};
  void* const results[] = {got.data()};
  const std::unique_ptr<Kernel> kernel = call.op->reference(call);
  for (int64_t row = 0; row < kKh; ++row) {
    const KernelArgs args{.operands = operands, .results = results, .begin = row, .end = row + 1};
    ASSERT_TRUE(kernel->Run(args).ok());
  }
  EXPECT_EQ(got, want);
}

}  // namespace
}  // namespace tpurun
