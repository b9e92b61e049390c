// The kernels of convolutions beside the reference (kernel_case.h).
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/ir/pass_ops.h"
#include "runtime/ops/op_list.h"
#include "tests/ops/kernel_case.h"

namespace tpurun {
namespace {

struct ConvCase {
  std::vector<int64_t> x, kernel, y, strides, pads, dilations = {1, 1};

  Attrs AttrsAt(int64_t precision) const {
    return {
        {"precision", precision}, {"strides", strides}, {"pads", pads}, {"dilations", dilations}};
  }
  Attrs AttrsAt(int64_t precision, const std::string& name,
                const std::vector<int64_t>& dims) const {
    Attrs attrs = AttrsAt(precision);
    attrs.Set(name, dims);
    return attrs;
  }
};

void ExpectConvNearReference(const ConvCase& c, int64_t precision, int parts) {
  const double filter = static_cast<double>(c.kernel[0] * c.kernel[1]);
  const Attrs attrs = c.AttrsAt(precision);
  const Attrs to_x = c.AttrsAt(precision, "x_dims", c.x);
  ExpectNearReference("conv2d", attrs, {F32(c.x), F32(c.kernel)}, parts, filter * c.x[3]);
  ExpectNearReference("conv2d", attrs, {F32(c.x), F32(c.kernel), F32({c.kernel[3]})}, parts,
                      filter * c.x[3] + 1);
  ExpectNearReference("conv2d_input_grad", to_x, {F32(c.y), F32(c.kernel)}, parts, filter * c.y[3]);
}

void ExpectFilterGradNearReference(const ConvCase& c, int64_t precision) {
  ExpectNearReference("conv2d_filter_grad", c.AttrsAt(precision, "kernel_dims", c.kernel),
                      {F32(c.x), F32(c.y)}, 1, static_cast<double>(c.y[0] * c.y[1] * c.y[2]));
}

// Fewer than 16 channels and pixels left out: oneDNN 2.6 uses more scratch memory than it asks for.
TEST(LibraryKernels, FilterGradientsOfPointwiseConvolutionsWithStridesKeepWithinTheirScratch) {
  for (const int64_t channels : {1, 3, 8, 15, 16, 20}) {
    const int64_t filters = std::max<int64_t>(16, channels);
    for (const int64_t size : {64, 112}) {
      for (const int64_t precision : {0, 3}) {
        ExpectFilterGradNearReference({{4, size, size, channels},
                                       {1, 1, channels, filters},
                                       {4, size / 2, size / 2, filters},
                                       {2, 2},
                                       {0, 0, 0, 0}},
                                      precision);
      }
    }
  }
}

// With enough channels for minimal filtering: of odd sizes, with pads that differ, without pads.
const std::vector<ConvCase>& WinogradConvolutions() {
  static const std::vector<ConvCase>& cases = *new std::vector<ConvCase>{
      {{3, 9, 10, 32}, {3, 3, 32, 40}, {3, 9, 10, 40}, {1, 1}, {1, 1, 1, 1}},
      {{3, 12, 11, 48}, {3, 3, 48, 17}, {3, 12, 10, 17}, {1, 1}, {2, 0, 1, 0}},
      {{4, 11, 14, 16}, {5, 5, 16, 64}, {4, 7, 10, 64}, {1, 1}, {0, 0, 0, 0}},
  };
  return cases;
}

std::string KernelOf(const std::string& op, const Attrs& attrs,
                     const std::vector<Shape>& operands) {
  OpCall call{
      .op = FindOpByName(op), .attrs = attrs, .operands = operands, .needed = {true}, .parts = 1};
  call.results = *InferShapes(*call.op, operands, attrs);
  return PlanKernel(call, Machine{.avx2 = true}).kernel->name;
}

// Those of the convolution, of its gradient of x and of that of the kernel.
std::vector<std::string> KernelsOf(const ConvCase& c, int64_t precision) {
  return {
      KernelOf("conv2d", c.AttrsAt(precision), {F32(c.x), F32(c.kernel)}),
      KernelOf("conv2d_input_grad", c.AttrsAt(precision, "x_dims", c.x), {F32(c.y), F32(c.kernel)}),
      KernelOf("conv2d_filter_grad", c.AttrsAt(precision, "kernel_dims", c.kernel),
               {F32(c.x), F32(c.y)})};
}

const char kWinograd[] = "winograd_avx2", kDirect[] = "direct_avx2";

TEST(WinogradKernels, AreNearTheReference) {
  for (const ConvCase& c : WinogradConvolutions()) {
    for (const int64_t precision : {0, 3}) {
      const char* const forward = c.kernel[0] == 3 ? kWinograd : kDirect;
      EXPECT_EQ(KernelsOf(c, precision), (std::vector<std::string>{forward, kWinograd, kWinograd}));
      ExpectConvNearReference(c, precision, 2);
      ExpectFilterGradNearReference(c, precision);
    }
  }
}

TEST(WinogradKernels, AreNotOfferedWhereTheDefinitionIsFaster) {
  const std::vector<ConvCase> cases = {
      // Few channels of x, of y.
      {{9, 8, 8, 15}, {3, 3, 15, 64}, {9, 8, 8, 64}, {1, 1}, {1, 1, 1, 1}},
      {{9, 8, 8, 64}, {3, 3, 64, 15}, {9, 8, 8, 15}, {1, 1}, {1, 1, 1, 1}},
      // A tile for each row, half of it outside the result.
      {{20, 1, 32, 32}, {3, 3, 32, 32}, {20, 1, 32, 32}, {1, 1}, {1, 1, 1, 1}},
      // A large kernel.
      {{9, 8, 8, 512}, {3, 3, 512, 516}, {9, 8, 8, 516}, {1, 1}, {1, 1, 1, 1}},
      // Strides, dilations, taps.
      {{9, 16, 16, 32}, {3, 3, 32, 32}, {9, 8, 8, 32}, {2, 2}, {0, 1, 0, 1}},
      {{9, 8, 8, 32}, {3, 3, 32, 32}, {9, 8, 8, 32}, {1, 1}, {2, 2, 1, 1}, {2, 1}},
      {{9, 8, 8, 32}, {3, 5, 32, 32}, {9, 8, 8, 32}, {1, 1}, {1, 1, 2, 2}},
  };
  const std::vector<std::string> direct(3, kDirect);
  for (const ConvCase& c : cases) {
    for (const int64_t precision : {0, 3}) EXPECT_EQ(KernelsOf(c, precision), direct);
  }
  const auto with = [](int64_t images, int64_t size, int64_t c = 32) {
    return ConvCase{
        {images, size, size, c}, {3, 3, c, 32}, {images, size, size, 32}, {1, 1}, {1, 1, 1, 1}};
  };
  // Few channels together.
  EXPECT_EQ(KernelsOf(with(9, 8, 31), 3), (std::vector<std::string>{kDirect, kDirect, kWinograd}));
  // Few tiles, of an image or of all.
  EXPECT_EQ(KernelsOf(with(16, 6), 3), (std::vector<std::string>{kDirect, kDirect, kWinograd}));
  EXPECT_EQ(KernelsOf(with(4, 8), 3), (std::vector<std::string>(3, kWinograd)));
  EXPECT_EQ(KernelsOf(with(3, 8), 3), (std::vector<std::string>{kWinograd, kWinograd, kDirect}));
}

// Winograd's kernels store f32.
TEST(WinogradKernels, DoNotRoundResults) {
  const ConvCase& c = WinogradConvolutions()[0];
  OpCall call{.op = FindOpByName("conv2d"),
              .attrs = c.AttrsAt(3),
              .operands = {F32(c.x), F32(c.kernel)},
              .results = {Shape{DType::kBF16, c.y}},
              .needed = {true}};
  EXPECT_EQ(PlanKernel(call, Machine{.avx2 = true}).kernel->name, kDirect);
}

// A kernel of many rows that is dilated along the width, and one that reaches far beyond the image,
// are not left to the plain loops.
TEST(DirectKernels, LeaveToTheLibraryWhatTheyDoNotReach) {
  const std::vector<ConvCase> cases = {
      {{2, 40, 9, 16}, {17, 3, 16, 16}, {2, 24, 5, 16}, {1, 1}, {0, 0, 0, 0}, {1, 2}},
      {{2, 8, 8, 16}, {3, 3, 16, 16}, {2, 6, 8, 16}, {1, 1}, {0, 0, 40, 40}, {1, 40}},
  };
  for (const ConvCase& c : cases) {
    for (const std::string& name : KernelsOf(c, 3)) EXPECT_EQ(name.substr(0, 6), "onednn") << name;
    ExpectFilterGradNearReference(c, 3);
  }
  ExpectConvNearReference(cases[0], 3, 2);
}

// The layouts of kernels that the convolution and its gradient of x prefer; "" if they take them as
// they are.
std::vector<std::string> KernelLayouts(const ConvCase& c, int64_t precision,
                                       const Machine& machine) {
  std::vector<std::string> layouts;
  for (const bool forward : {true, false}) {
    OpCall call{.op = FindOpByName(forward ? "conv2d" : "conv2d_input_grad"),
                .attrs = c.AttrsAt(precision),
                .operands = {F32(forward ? c.x : c.y), F32(c.kernel)},
                .results = {F32(forward ? c.y : c.x)},
                .needed = {true}};
    if (!forward) call.attrs.Set("x_dims", c.x);
    const std::vector<Shape> best = PlanKernel(call, machine).best_operands;
    layouts.push_back(best.empty() ? "" : best[1].layout.name);
  }
  return layouts;
}

// ExpectConvNearReference compares the bits of packed and plain kernels.
TEST(DirectKernels, TakePackedKernels) {
  const Machine avx512_bf16 = *Machine::Parse("x86_64+avx512_bf16");
  const Machine avx2 = *Machine::Parse("x86_64+avx2");
  struct Case {
    ConvCase c;
    std::vector<std::string> pairs, floats;
  };
  const std::vector<Case> cases = {
      // Of 36 columns, in panels of 48. Of 24 channels, in one panel of 32, or of 24.
      {{{2, 12, 9, 24}, {3, 1, 24, 36}, {2, 8, 9, 36}, {1, 1}, {0, 0, 0, 0}, {2, 1}},
       {"blocked_s1152_s1152_s96_s3456_b48d3_b2d2_reversed",
        "blocked_s1152_s1152_s3456_s64_b32d2_b2d3_reversed_flipped"},
       {"blocked_s576_s576_s24_s1728_b24d3", "blocked_s864_s864_s2592_s24_b24d2_flipped"}},
      {{{3, 7, 7, 18}, {2, 3, 18, 50}, {3, 8, 9, 50}, {1, 1}, {1, 1, 2, 2}},
       {"blocked_s2592_s864_s96_s5184_b48d3_b2d2_reversed",
        "blocked_s4800_s1600_s9600_s64_b32d2_b2d3_reversed_flipped"},
       {"blocked_s1296_s432_s24_s2592_b24d3", "blocked_s3600_s1200_s7200_s24_b24d2_flipped"}},
      // One pixel, with strides.
      {{{2, 9, 8, 64}, {1, 1, 64, 34}, {2, 5, 4, 34}, {2, 2}, {0, 0, 0, 0}},
       {"blocked_s3072_s3072_s96_s3072_b48d3_b2d2_reversed",
        "blocked_s1088_s1088_s1088_s64_b32d2_b2d3_reversed"},
       {"blocked_s1536_s1536_s24_s1536_b24d3", "blocked_s816_s816_s816_s24_b24d2"}},
      // The phases of a gradient share the pixels.
      {{{2, 9, 9, 16}, {3, 3, 16, 48}, {2, 5, 5, 48}, {2, 2}, {1, 1, 1, 1}},
       {"blocked_s2304_s768_s96_s6912_b48d3_b2d2_reversed", ""},
       {"blocked_s1152_s384_s24_s3456_b24d3", ""}},
      // An odd number of channels; few numbers.
      {{{2, 9, 9, 15}, {3, 3, 15, 16}, {2, 9, 9, 16}, {1, 1}, {1, 1, 1, 1}},
       {"", "blocked_s768_s256_s2304_s32_b16d2_b2d3_reversed_flipped"},
       {"blocked_s720_s240_s16_s2160_b16d3", "blocked_s768_s256_s2304_s16_b16d2_flipped"}},
      {{{2, 9, 9, 8}, {3, 3, 8, 14}, {2, 9, 9, 14}, {1, 1}, {1, 1, 1, 1}}, {"", ""}, {"", ""}},
  };
  for (const Case& of : cases) {
    SCOPED_TRACE(F32(of.c.kernel).ToString());
    EXPECT_EQ(KernelLayouts(of.c, 0, avx512_bf16), of.pairs);
    EXPECT_EQ(KernelLayouts(of.c, 3, avx2), of.floats);
    for (const int64_t precision : {0, 3}) ExpectConvNearReference(of.c, precision, 2);
  }
}

TEST(LibraryKernels, ConvolutionsAreNearTheReference) {
  const std::vector<ConvCase> cases = {
      {{3, 9, 9, 32}, {5, 5, 32, 64}, {3, 9, 9, 64}, {1, 1}, {2, 2, 2, 2}},
      {{3, 28, 28, 1}, {5, 5, 1, 32}, {3, 28, 28, 32}, {1, 1}, {2, 2, 2, 2}},
      {{2, 15, 12, 3}, {3, 2, 3, 48}, {2, 7, 6, 48}, {2, 2}, {0, 0, 0, 1}},
  };
  for (const ConvCase& c : cases) {
    for (const int64_t precision : {0, 1, 2, 3}) {
      for (const int parts : {1, 2}) {
        // The reference takes seconds for the many products.
        if (parts == 1 && ProductsOfParts(precision) > 1) continue;
        ExpectConvNearReference(c, precision, parts);
      }
      ExpectFilterGradNearReference(c, precision);
    }
  }
}

// With dilations, groups, one channel a group, strides wider than the kernel.
const std::vector<ConvCase>& UnusualConvolutions() {
  static const std::vector<ConvCase>& cases = *new std::vector<ConvCase>{
      {{3, 11, 12, 16}, {2, 3, 16, 32}, {3, 4, 3, 32}, {3, 4}, {0, 0, 0, 0}},
      {{3, 8, 7, 16}, {3, 3, 16, 32}, {3, 8, 7, 32}, {1, 1}, {2, 2, 3, 3}, {2, 3}},
      {{3, 13, 11, 5}, {3, 2, 5, 24}, {3, 5, 3, 24}, {2, 3}, {0, 0, 0, 0}, {2, 4}},
      {{3, 6, 6, 48}, {3, 3, 16, 96}, {3, 6, 6, 96}, {1, 1}, {1, 1, 1, 1}},
      {{3, 9, 10, 6}, {3, 3, 2, 48}, {3, 5, 5, 48}, {2, 2}, {1, 1, 0, 1}},
      {{3, 14, 14, 48}, {3, 3, 1, 48}, {3, 14, 14, 48}, {1, 1}, {1, 1, 1, 1}},
      {{3, 14, 14, 20}, {3, 3, 1, 40}, {3, 12, 12, 40}, {1, 1}, {1, 1, 1, 1}, {2, 2}},
  };
  return cases;
}

TEST(LibraryKernels, UnusualConvolutionsAreNearTheReference) {
  for (const ConvCase& c : UnusualConvolutions()) {
    for (const int64_t precision : {0, 3}) {
      ExpectConvNearReference(c, precision, 2);
      ExpectFilterGradNearReference(c, precision);
    }
  }
}

// A transposed convolution is a forward op too, whose result for an example no batch may change.
TEST(LibraryKernels, AnImagesBitsDoNotDependOnTheImagesThatGoAlong) {
  constexpr int64_t kImages = 19;
  std::vector<ConvCase> cases = UnusualConvolutions();
  cases.insert(cases.end(), WinogradConvolutions().begin(), WinogradConvolutions().end());
  for (const ConvCase& c : cases) {
    for (const int64_t precision : {0, 3}) {
      for (const bool forward : {true, false}) {
        const auto call_of = [&](int64_t images) {
          OpCall call{.op = FindOpByName(forward ? "conv2d" : "conv2d_input_grad"),
                      .attrs = c.AttrsAt(precision),
                      .operands = {Rows(F32(forward ? c.x : c.y), images), F32(c.kernel)},
                      .results = {Rows(F32(forward ? c.y : c.x), images)},
                      .needed = {true}};
          if (!forward) call.attrs.Set("x_dims", call.results[0].dims);
          return call;
        };
        const OpCall all = call_of(kImages);
        const std::vector<Literal> operands = {RandomLiteral(all.operands[0], 0),
                                               RandomLiteral(all.operands[1], 1)};
        const KernelPlan plan = PlanKernel(all, Machine::This());
        const Literal want = RunPlanned(all, plan, operands);
        for (const int64_t images : {1, 2, 7, 16}) {
          const OpCall some = call_of(images);
          const KernelPlan some_plan = PlanKernel(some, Machine::This());
          EXPECT_EQ(some_plan.kernel, plan.kernel);
          EXPECT_EQ(RunPlanned(some, some_plan, {Rows(operands[0], images), operands[1]}),
                    Rows(want, images))
              << all.attrs.ToString() << " " << images << " images";
        }
      }
    }
  }
}

// Each part computes its output channels wholly, or its rows, so they have the bits of the one
// call. Few channels in f32 are not divided, but their rows are.
TEST(LibraryKernels, AFilterGradientInPartsHasTheBitsOfTheWhole) {
  struct Case {
    std::vector<int64_t> x;
    int64_t channels;
    int parts;
  };
  const std::vector<int64_t> flat = {3, 9, 9, 32};
  const std::vector<int64_t> deep = {8, 4, 4, 1024};  // FilterGrad::AddsFewPixels
  for (const auto& [x, channels, parts] : {Case{flat, 64, 4},
                                           {flat, 64, 2},
                                           {flat, 40, 2},
                                           {flat, 37, 2},
                                           {flat, 130, 8},
                                           {flat, 16, 3},
                                           {flat, 16, 2},
                                           {flat, 31, 2},
                                           {deep, 40, 2},
                                           {deep, 16, 3}}) {
    std::vector<int64_t> y = x;
    y[3] = channels;
    const std::vector<int64_t> kernel = {3, 3, x[3], channels};
    for (const int64_t precision : {0, 1, 2, 3}) {
      OpCall call{.op = FindOpByName("conv2d_filter_grad"),
                  .attrs = {{"precision", precision},
                            {"strides", std::vector<int64_t>{1, 1}},
                            {"pads", std::vector<int64_t>{1, 1, 1, 1}},
                            {"kernel_dims", kernel}},
                  .operands = {F32(x), F32(y)},
                  .results = {F32(kernel)},
                  .needed = {true}};
      const bool rows = precision == 3 && channels < 32;
      ASSERT_EQ(OpFlagsOf(call).unit, rows ? WorkUnit::kRows : WorkUnit::kColumns);
      ASSERT_EQ(Units(call), rows ? 3 : channels);
      const std::vector<Literal> operands = {RandomLiteral(call.operands[0], 0),
                                             RandomLiteral(call.operands[1], 1)};
      for (const Machine& machine : {Machine::This(), Machine{}}) {
        const bool reference = !machine.avx2;
        if (reference && (precision != 3 || x == deep || (channels != 37 && parts != 3)))
          continue;  // as slow as it is plain
        const std::string place =
            absl::StrCat(channels, " channels in ", parts, " parts, precision ", precision, ", ",
                         machine.ToString());
        OpCall cut = call;
        cut.parts = parts;
        const KernelPlan plan = PlanKernel(cut, machine);
        // The whole may be filtered minimally, its rows may not.
        const KernelPlan whole_plan = rows ? plan : PlanKernel(call, machine);
        if (!rows) {
          EXPECT_EQ(plan.kernel, whole_plan.kernel) << place;
        }
        EXPECT_EQ(RunPlanned(cut, plan, operands), RunPlanned(call, whole_plan, operands)) << place;
      }
    }
  }
}

TEST(LibraryKernels, EntriesOfFilterGradientsHaveTheBitsOfEach) {
  constexpr int64_t kEntries = 5;
  const std::vector<int64_t> kernel = {3, 3, 32, 40};
  for (const int64_t precision : {0, 3}) {
    const Attrs attrs = {{"precision", precision},
                         {"strides", std::vector<int64_t>{1, 1}},
                         {"pads", std::vector<int64_t>{1, 1, 1, 1}},
                         {"kernel_dims", kernel}};
    const OpCall one{.op = FindOpByName("conv2d_filter_grad"),
                     .attrs = attrs,
                     .operands = {F32({4, 9, 9, 32}), F32({4, 9, 9, 40})},
                     .results = {F32(kernel)},
                     .needed = {true}};
    OpCall all{.op = one.op,
               .attrs = attrs,
               .operands = {F32({kEntries, 4, 9, 9, 32}), F32({kEntries, 4, 9, 9, 40})},
               .results = {F32({kEntries, 3, 3, 32, 40})},
               .needed = {true},
               .parts = 2};
    all.attrs.Set(kBatchDims, int64_t{1});
    ASSERT_EQ(Units(all), kEntries);
    ASSERT_EQ(Units(one), 40);  // columns
    const std::vector<Literal> operands = {RandomLiteral(all.operands[0], 0),
                                           RandomLiteral(all.operands[1], 1)};
    Machine library = Machine::This();
    library.kernels = KernelChoice::kLibrary;
    for (const Machine& machine : {Machine::This(), library, Machine{}}) {
      const KernelPlan plan = PlanKernel(all, machine);
      EXPECT_EQ(plan.kernel, PlanKernel(one, machine).kernel);
      EXPECT_TRUE(machine.kernels != KernelChoice::kLibrary || plan.kernel->is_library);
      const Literal got = RunPlanned(all, plan, operands);
      for (int64_t i = 0; i < kEntries; ++i) {
        std::vector<Literal> entry;
        for (size_t operand = 0; operand < 2; ++operand) {
          const int64_t elements = one.operands[operand].num_elements();
          const auto values = operands[operand].values<float>().subspan(i * elements, elements);
          entry.emplace_back(one.operands[operand]);
          std::copy(values.begin(), values.end(), entry.back().values<float>().begin());
        }
        const Literal want = RunPlanned(one, PlanKernel(one, machine), entry);
        const auto gradient = got.values<float>().subspan(i * want.shape().num_elements());
        EXPECT_TRUE(
            std::equal(want.values<float>().begin(), want.values<float>().end(), gradient.begin()))
            << plan.name() << ", entry " << i;
      }
    }
  }
}

// What a call gives whose operands `of` are stored in bf16, and its result, if `rounds`: the bits
// of the same numbers in f32, rounded.
void ExpectBitsOfF32(const std::string& op, const Attrs& attrs, const std::vector<Shape>& shapes,
                     uint32_t of, bool rounds) {
  OpCall wide{.op = FindOpByName(op), .attrs = attrs, .operands = shapes, .needed = {true}};
  wide.results = *InferShapes(*wide.op, shapes, attrs);
  OpCall stored = wide;
  std::vector<Literal> numbers, narrow;
  for (size_t i = 0; i < shapes.size(); ++i) {
    numbers.push_back(RandomLiteral(shapes[i], static_cast<uint32_t>(i)));
    if (HasOperand(of, static_cast<int>(i))) {
      narrow.push_back(StoredIn(DType::kBF16, numbers.back()));
      numbers.back() = StoredIn(DType::kF32, narrow.back());
    } else {
      narrow.push_back(numbers.back());
    }
    stored.operands[i] = narrow.back().shape();
  }
  if (rounds) {
    stored.attrs.Set(kStoredIn, DType::kBF16);
    stored.results[0].dtype = DType::kBF16;
  }
  const Literal of_reference = RunReference(wide, numbers, {{0, Units(wide)}})[0];
  for (const Machine& machine : MachinesOfThisProcessor()) {
    const KernelPlan plan = PlanKernel(stored, machine);
    if (plan.kernel->is_library) continue;
    Literal want = of_reference;
    if (plan.kernel->reorders_sums) {
      const std::optional<KernelOffer> offer = plan.kernel->offer(wide, machine);
      ASSERT_TRUE(offer.has_value()) << plan.name();
      want = RunPlanned(wide, KernelPlan{*offer, plan.kernel}, numbers);
    }
    if (rounds) want = StoredIn(DType::kBF16, want);
    EXPECT_EQ(RunPlanned(stored, plan, narrow), want)
        << op << attrs.ToString() << " " << plan.name() << " on " << machine.ToString()
        << ", operands " << of;
  }
}

TEST(LibraryKernels, ConvolutionsOfNumbersInBFloat16HaveTheBitsOfF32) {
  std::vector<ConvCase> cases = WinogradConvolutions();
  cases.push_back({{3, 9, 8, 16}, {1, 1, 16, 32}, {3, 9, 8, 32}, {1, 1}, {0, 0, 0, 0}});
  cases.push_back({{3, 9, 8, 16}, {3, 3, 16, 32}, {3, 5, 4, 32}, {2, 2}, {1, 1, 1, 0}});
  cases.push_back({{8, 4, 4, 512}, {3, 3, 512, 16}, {8, 4, 4, 16}, {1, 1}, {1, 1, 1, 1}});
  for (const ConvCase& c : cases) {
    for (const uint32_t of : {1u, 2u, 3u}) {
      for (const bool rounds : {false, true}) {
        ExpectBitsOfF32("conv2d", c.AttrsAt(0), {F32(c.x), F32(c.kernel)}, of, rounds);
        ExpectBitsOfF32("conv2d", c.AttrsAt(0), {F32(c.x), F32(c.kernel), F32({c.y[3]})}, of | 4u,
                        rounds);
        ExpectBitsOfF32("conv2d_input_grad", c.AttrsAt(0, "x_dims", c.x), {F32(c.y), F32(c.kernel)},
                        of, rounds);
        ExpectBitsOfF32("conv2d_filter_grad", c.AttrsAt(0, "kernel_dims", c.kernel),
                        {F32(c.x), F32(c.y)}, of, rounds);
      }
    }
  }
}

// With AVX2, of numbers in bf16: the kernel, and "native" if it reads them itself.
std::string KernelOfBF16(const std::string& op, const Attrs& attrs, std::vector<Shape> operands) {
  OpCall call{.op = FindOpByName(op), .attrs = attrs, .needed = {true}};
  for (Shape& operand : operands) operand.dtype = DType::kBF16;
  call.operands = operands;
  if (op != "conv2d_filter_grad") call.attrs.Set(kStoredIn, DType::kBF16);
  call.results = *InferShapes(*call.op, call.operands, call.attrs);
  const KernelPlan plan = PlanKernel(call, Machine{.avx2 = true});
  return absl::StrCat(plan.kernel->name, plan.native_bf16 ? " native" : "",
                      plan.converts_bf16 ? " converts" : "");
}

TEST(LibraryKernels, KernelsThatDoNotFilterMinimallyReadBFloat16) {
  const ConvCase& minimal = WinogradConvolutions()[0];
  EXPECT_EQ(KernelOfBF16("conv2d", minimal.AttrsAt(0), {F32(minimal.x), F32(minimal.kernel)}),
            "winograd_avx2 converts");
  EXPECT_EQ(KernelOfBF16("conv2d_filter_grad", minimal.AttrsAt(0, "kernel_dims", minimal.kernel),
                         {F32(minimal.x), F32(minimal.y)}),
            "winograd_avx2 native");
  const ConvCase point{{3, 9, 8, 16}, {1, 1, 16, 32}, {3, 9, 8, 32}, {1, 1}, {0, 0, 0, 0}};
  EXPECT_EQ(KernelOfBF16("conv2d", point.AttrsAt(0), {F32(point.x), F32(point.kernel)}),
            "direct_avx2 native");
  EXPECT_EQ(KernelOfBF16("conv2d_input_grad", point.AttrsAt(0, "x_dims", point.x),
                         {F32(point.y), F32(point.kernel)}),
            "direct_avx2 native");
}

TEST(LibraryKernels, AFilterGradientStoredInBFloat16IsThatInF32Rounded) {
  OpCall call{.op = FindOpByName("conv2d_filter_grad"),
              .attrs = {{"precision", int64_t{0}},
                        {"strides", std::vector<int64_t>{1, 1}},
                        {"pads", std::vector<int64_t>{1, 1, 1, 1}},
                        {"kernel_dims", std::vector<int64_t>{3, 3, 32, 64}}},
              .operands = {F32({3, 9, 9, 32}), F32({3, 9, 9, 64})},
              .results = {F32({3, 3, 32, 64})},
              .needed = {true},
              .parts = 4};
  const std::vector<Literal> operands = {RandomLiteral(call.operands[0], 0),
                                         RandomLiteral(call.operands[1], 1)};
  const Literal want = RunPlanned(call, PlanKernel(call, Machine::This()), operands);
  call.attrs.Set(kStoredIn, DType::kBF16);
  call.results[0].dtype = DType::kBF16;
  EXPECT_EQ(RunPlanned(call, PlanKernel(call, Machine::This()), operands),
            StoredIn(DType::kBF16, want));
}

}  // namespace
}  // namespace tpurun
