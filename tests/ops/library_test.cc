// The kernels of products and convolutions beside the reference. Those of runtime/kernels/gemm have
// its bits. The library's are within 2 K 2^-24 sum|a b| after rounding the inputs equally, K being
// the number of products in a sum (two orders of a f32 sum differ by no more).
#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/base/bfloat16.h"
#include "runtime/base/random.h"
#include "runtime/ir/pass_ops.h"
#include "runtime/ops/op_list.h"
#include "tests/ops/op_case.h"

namespace tpurun {
namespace {

Literal RandomLiteral(const Shape& shape, uint32_t stream) {
  Literal literal(shape);
  for (int64_t i = 0; i < shape.num_elements(); ++i) {
    literal.values<float>()[i] = UniformFloat(PhiloxElement(3, stream, 0, 0, i)) * 2 - 1;
  }
  return literal;
}

Literal Absolute(Literal literal) {
  for (float& value : literal.values<float>()) value = std::fabs(value);
  return literal;
}

// The units of each of the call's parts.
std::vector<std::pair<int64_t, int64_t>> SharesOf(const OpCall& call) {
  const int64_t units = Units(call);
  std::vector<std::pair<int64_t, int64_t>> shares;
  for (int part = 0; part < call.parts; ++part)
    shares.emplace_back(units * part / call.parts, units * (part + 1) / call.parts);
  return shares;
}

// Runs the planned kernel on each share; worker i % 2 takes share i.
Literal RunPlanned(const OpCall& call, const KernelPlan& plan,
                   const std::vector<Literal>& operands) {
  Literal result(call.results[0]);
  // What a kernel leaves unwritten must not look right by chance.
  std::memset(result.data(), 0xa5, result.shape().bytes());
  std::vector<const void*> in;
  for (const Literal& operand : operands) in.push_back(operand.data());
  void* out = result.data();
  // The library is no better at keeping within its scratch memory than others.
  constexpr int64_t kBehind = 1 << 20;
  Literal scratch(Shape{DType::kU8, {plan.scratch_bytes + kBehind}});
  std::memset(scratch.data(), 0x5a, plan.scratch_bytes + kBehind);
  const std::unique_ptr<Kernel> kernel = MakeKernel(call, plan);
  EXPECT_NE(kernel, nullptr);
  kernel->SetWorkers(2);
  int worker = 0;
  for (const auto& [begin, end] : SharesOf(call)) {
    const absl::Status status = kernel->Run({.operands = in.data(),
                                             .results = &out,
                                             .scratch = scratch.data(),
                                             .worker = worker++ % 2,
                                             .begin = begin,
                                             .end = end});
    EXPECT_TRUE(status.ok()) << status;
  }
  const std::byte* const behind = scratch.data() + plan.scratch_bytes;
  EXPECT_EQ(std::find_if(behind, behind + kBehind,
                         [](std::byte byte) { return byte != std::byte{0x5a}; }) -
                behind,
            kBehind)
      << call.op->name << " " << call.attrs.ToString() << " writes behind its scratch memory";
  return result;
}

// Weights that come packed give the same bits.
void ExpectSameOfPacked(OpCall call, const Machine& machine, const KernelPlan& plan,
                        std::vector<Literal> operands, const Literal& want) {
  if (plan.best_operands.empty()) return;
  const Shape& best = plan.best_operands[1];
  const OpCall pack{.op = FindOpByName("pack"),
                    .attrs = PackAttrs(best),
                    .operands = {call.operands[1]},
                    .results = {best},
                    .needed = {true}};
  ASSERT_TRUE(InferShapes(*pack.op, pack.operands, pack.attrs).ok()) << best.ToString();
  operands[1] = RunReference(pack, {operands[1]}, {{0, Units(pack)}})[0];
  call.operands[1] = best;
  EXPECT_EQ(RunPlanned(call, PlanKernel(call, machine), operands), want) << best.ToString();
}

// The kernels with an offer for the call on a level of machine that this one can stand for: the
// library multiplies with AMX and where it is asked to, and it runs on any processor.
std::vector<std::pair<Machine, const KernelDef*>> KernelsOfLevels(const OpCall& call) {
  std::vector<std::pair<Machine, const KernelDef*>> kernels;
  Machine asking_the_library = Machine::This();
  asking_the_library.kernels = KernelChoice::kLibrary;
  for (const Machine& machine : {Machine::This(), asking_the_library, Machine{},
                                 Machine{.avx2 = true}, Machine{.avx2 = true, .avx512 = true},
                                 Machine{.avx2 = true, .kernels = KernelChoice::kLibrary}}) {
    if ((machine.avx2 && !Machine::This().avx2) || (machine.avx512 && !Machine::This().avx512))
      continue;
    for (const KernelDef& kernel : call.op->kernels) {
      if (kernel.offer(call, machine)) kernels.emplace_back(machine, &kernel);
    }
  }
  return kernels;
}

int64_t ProductsOfParts(int64_t precision) { return precision == 1 ? 3 : precision == 2 ? 6 : 1; }

// `products` are those of whole values; each is that of several parts.
void ExpectNearReference(const std::string& op, const Attrs& attrs, std::vector<Shape> shapes,
                         int parts, double products, int replicas = 1) {
  OpCall call{.op = FindOpByName(op),
              .attrs = attrs,
              .operands = shapes,
              .needed = {true},
              .parts = parts,
              .num_replicas = replicas};
  const auto results = InferShapes(*call.op, shapes, attrs);
  ASSERT_TRUE(results.ok()) << results.status();
  call.results = *results;
  std::vector<Literal> operands, absolute;
  for (size_t i = 0; i < shapes.size() * replicas; ++i) {
    operands.push_back(RandomLiteral(shapes[i / replicas], static_cast<uint32_t>(i)));
    absolute.push_back(Absolute(operands.back()));
  }
  std::set<std::string> seen;
  for (const auto& [machine, kernel] : KernelsOfLevels(call)) {
    if (!seen.insert(kernel->name).second) continue;
    const std::string place =
        absl::StrCat(op, " ", attrs.ToString(), " ", shapes[0].ToString(), " ", kernel->name, " ",
                     machine.ToString(), " in ", parts, " parts");
    KernelPlan plan{*kernel->offer(call, machine)};
    plan.kernel = kernel;
    const Literal got = RunPlanned(call, plan, operands);
    EXPECT_EQ(got, RunPlanned(call, plan, operands)) << place << ": the same call, other bits";
    // What the library multiplies as it is, by a forward convolution without groups, has packed
    // weights on every machine.
    if (kernel->is_library && op == "conv2d" && attrs.Int("precision") == 3 &&
        shapes[0].dims[3] == shapes[1].dims[2]) {
      EXPECT_FALSE(plan.best_operands.empty()) << place;
    }
    ExpectSameOfPacked(call, machine, plan, operands, got);
    const Literal want = RunReference(call, operands, {{0, Units(call)}})[0];
    if (!kernel->is_library) {
      ASSERT_EQ(got, want) << place;
      continue;
    }
    const int64_t products_of_parts = ProductsOfParts(attrs.Int("precision"));
    const Literal sums = RunReference(call, absolute, {{0, Units(call)}})[0];
    for (int64_t i = 0; i < want.shape().num_elements(); ++i) {
      const double bound =
          2 * products * static_cast<double>(products_of_parts) * 0x1p-24 * sums.values<float>()[i];
      ASSERT_NEAR(got.values<float>()[i], want.values<float>()[i], bound)
          << place << " element " << i;
    }
  }
  EXPECT_FALSE(seen.empty()) << op << " has no kernel for " << shapes[0].ToString();
}

Shape F32(std::vector<int64_t> dims) { return Shape{DType::kF32, std::move(dims)}; }

TEST(LibraryKernels, MatMulIsNearTheReference) {
  for (const int64_t precision : {0, 1, 2, 3}) {
    for (const bool tx : {false, true}) {
      for (const bool ty : {false, true}) {
        for (const int parts : {1, 8}) {
          const Attrs attrs = {{"precision", precision}, {"transpose_x", tx}, {"transpose_y", ty}};
          const int64_t m = 30, k = 70, n = 50;
          ExpectNearReference("matmul", attrs,
                              {tx ? F32({k, m}) : F32({m, k}), ty ? F32({n, k}) : F32({k, n})},
                              parts, k);
          ExpectNearReference(
              "matmul", attrs,
              {tx ? F32({k, m}) : F32({m, k}), ty ? F32({n, k}) : F32({k, n}), F32({n})}, parts,
              k + 1);
        }
      }
    }
  }
}

// Gradients of weights with more columns than rows are divided by columns.
TEST(LibraryKernels, ProductsDividedByColumnsAreNearTheReference) {
  for (const int64_t precision : {0, 3}) {
    const Attrs attrs = {{"precision", precision}, {"transpose_x", true}};
    for (const int parts : {1, 8}) {
      ExpectNearReference("matmul", attrs, {F32({70, 100}), F32({70, 330})}, parts, 70);
    }
  }
}

TEST(LibraryKernels, ProductsOfPairsAreNearTheReference) {
  for (const int64_t precision : {0, 1, 2, 3}) {
    for (const bool tx : {false, true}) {
      for (const bool ty : {false, true}) {
        for (const std::vector<int64_t>& batch : {std::vector<int64_t>{3}, {5, 2}}) {
          const Attrs attrs = {{"precision", precision}, {"transpose_x", tx}, {"transpose_y", ty}};
          const auto pairs = [&](int64_t rows, int64_t columns, bool transposed) {
            std::vector<int64_t> dims = batch;
            dims.push_back(transposed ? columns : rows);
            dims.push_back(transposed ? rows : columns);
            return F32(dims);
          };
          const int64_t m = 30, k = 70, n = 50;
          ExpectNearReference("batch_matmul", attrs, {pairs(m, k, tx), pairs(k, n, ty)},
                              batch.size() == 1 ? 1 : 4, k);
        }
      }
    }
  }
}

TEST(LibraryKernels, TheProductOfAllReplicasIsNearTheReference) {
  for (const int64_t precision : {0, 1, 2, 3}) {
    for (const int parts : {1, 8}) {
      const Attrs attrs = {{"precision", precision}, {"transpose_x", true}};
      // Some of the 8 parts have one row more.
      ExpectNearReference("cross_replica_matmul", attrs, {F32({20, 84}), F32({20, 50})}, parts,
                          8 * 20, 8);
    }
  }
}

TEST(GemmKernel, HasOnePlanForSharesOfTwoSizes) {
  OpCall call{.op = FindOpByName("cross_replica_matmul"),
              .attrs = {{"precision", int64_t{0}}, {"transpose_x", true}},
              .operands = {F32({1, 23}), F32({1, 1999})},
              .results = {F32({23, 1999})},
              .needed = {true},
              .parts = 8,
              .num_replicas = 8};
  // 2 rows are too little for the library, 3 are enough.
  const KernelPlan plan = PlanKernel(call, Machine::This());
  ASSERT_EQ(plan.name().substr(0, 4), "gemm");
  std::vector<Literal> operands;
  for (int i = 0; i < 16; ++i)
    operands.push_back(RandomLiteral(call.operands[i / 8], static_cast<uint32_t>(i)));
  EXPECT_EQ(RunPlanned(call, plan, operands), RunReference(call, operands, {{0, 23}})[0]);
}

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

// The first `rows` rows.
Shape Rows(Shape shape, int64_t rows) {
  shape.dims[0] = rows;
  return shape;
}
Literal Rows(const Literal& literal, int64_t rows) {
  Literal some(Rows(literal.shape(), rows));
  std::memcpy(some.data(), literal.data(), some.shape().bytes());
  return some;
}

// A transposed convolution is a forward op too, whose result for an example no batch may change.
TEST(LibraryKernels, AnImagesBitsDoNotDependOnTheImagesThatGoAlong) {
  constexpr int64_t kImages = 19;
  for (const ConvCase& c : UnusualConvolutions()) {
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

TEST(LibraryKernels, TheBitsOfAnExamplesProductsDoNotDependOnTheExamplesThatGoAlong) {
  constexpr int64_t kExamples = 19;
  for (const int64_t precision : {0, 3}) {
    for (const bool tx : {false, true}) {
      const auto call_of = [&](int64_t examples) {
        return OpCall{.op = FindOpByName("batch_matmul"),
                      .attrs = {{"precision", precision}, {"transpose_x", tx}},
                      .operands = {F32(tx ? std::vector<int64_t>{examples, 3, 70, 37}
                                          : std::vector<int64_t>{examples, 3, 37, 70}),
                                   F32({examples, 3, 70, 51})},
                      .results = {F32({examples, 3, 37, 51})},
                      .needed = {true}};
      };
      OpCall all = call_of(kExamples);
      const std::vector<Literal> operands = {RandomLiteral(all.operands[0], 0),
                                             RandomLiteral(all.operands[1], 1)};
      const KernelPlan plan = PlanKernel(all, Machine::This());
      const Literal want = RunPlanned(all, plan, operands);
      all.parts = 8;
      EXPECT_EQ(RunPlanned(all, PlanKernel(all, Machine::This()), operands), want) << "in 8 parts";
      for (const int64_t examples : {1, 2, 7, 16}) {
        const OpCall some = call_of(examples);
        const KernelPlan some_plan = PlanKernel(some, Machine::This());
        EXPECT_EQ(some_plan.kernel, plan.kernel);
        EXPECT_EQ(
            RunPlanned(some, some_plan, {Rows(operands[0], examples), Rows(operands[1], examples)}),
            Rows(want, examples))
            << all.attrs.ToString() << " " << examples << " examples";
      }
    }
  }
}

// Each part computes its output channels wholly, so they have the bits of the one call.
TEST(LibraryKernels, AFilterGradientCutOverChannelsHasTheBitsOfTheWhole) {
  for (const auto& [channels, parts] : {std::pair(64, 4), {64, 2}, {40, 2}, {37, 2}, {130, 8}}) {
    for (const int64_t precision : {0, 1, 2, 3}) {
      OpCall call{.op = FindOpByName("conv2d_filter_grad"),
                  .attrs = {{"precision", precision},
                            {"strides", std::vector<int64_t>{1, 1}},
                            {"pads", std::vector<int64_t>{1, 1, 1, 1}},
                            {"kernel_dims", std::vector<int64_t>{3, 3, 32, channels}}},
                  .operands = {F32({3, 9, 9, 32}), F32({3, 9, 9, channels})},
                  .results = {F32({3, 3, 32, channels})},
                  .needed = {true}};
      ASSERT_EQ(Units(call), channels);
      const std::vector<Literal> operands = {RandomLiteral(call.operands[0], 0),
                                             RandomLiteral(call.operands[1], 1)};
      for (const Machine& machine : {Machine::This(), Machine{}}) {
        const bool reference = !machine.avx2;
        if (reference && (precision != 3 || channels != 37)) continue;  // as slow as it is plain
        const std::string place =
            absl::StrCat(channels, " channels in ", parts, " parts, precision ", precision, ", ",
                         machine.ToString());
        OpCall cut = call;
        cut.parts = parts;
        const KernelPlan whole_plan = PlanKernel(call, machine), plan = PlanKernel(cut, machine);
        EXPECT_EQ(plan.kernel, whole_plan.kernel) << place;
        EXPECT_EQ(RunPlanned(cut, plan, operands), RunPlanned(call, whole_plan, operands)) << place;
      }
    }
  }
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
  Literal got = RunPlanned(call, PlanKernel(call, Machine::This()), operands);
  for (int64_t i = 0; i < want.shape().num_elements(); ++i)
    ASSERT_EQ(got.values<uint16_t>()[i], BFloat16Bits(want.values<float>()[i])) << i;
}

TEST(LibraryKernels, ProductsOfPairsReadAndStoreBFloat16) {
  OpCall call{.op = FindOpByName("batch_matmul"),
              .attrs = {{"precision", int64_t{0}}, {"transpose_y", true}},
              .operands = {F32({5, 2, 40, 64}), F32({5, 2, 50, 64})},
              .results = {F32({5, 2, 40, 50})},
              .needed = {true},
              .parts = 2};
  std::vector<Literal> operands = {RandomLiteral(call.operands[0], 0),
                                   RandomLiteral(call.operands[1], 1)};
  const Literal want = RunPlanned(call, PlanKernel(call, Machine::This()), operands);
  for (size_t i = 0; i < operands.size(); ++i) {
    Literal rounded(Shape{DType::kBF16, call.operands[i].dims});
    RoundToBFloat16(operands[i].values<float>().data(), rounded.shape().num_elements(),
                    rounded.values<uint16_t>().data());
    call.operands[i] = rounded.shape();
    operands[i] = std::move(rounded);
  }
  call.attrs.Set(kStoredIn, DType::kBF16);
  call.results[0].dtype = DType::kBF16;
  const KernelPlan plan = PlanKernel(call, Machine::This());
  EXPECT_EQ(plan.native_bf16, Machine::This().avx512_bf16);
  Literal got = RunPlanned(call, plan, operands);
  for (int64_t i = 0; i < want.shape().num_elements(); ++i)
    ASSERT_EQ(got.values<uint16_t>()[i], BFloat16Bits(want.values<float>()[i])) << i;
}

// All results of a call by one kernel. Scratch memory begins as NaN.
std::vector<Literal> ResultsOf(const OpCall& call, const KernelDef& kernel,
                               const KernelOffer& offer, const std::vector<Literal>& operands) {
  std::vector<Literal> results;
  std::vector<void*> out;
  for (const Shape& shape : call.results) results.emplace_back(shape);
  for (Literal& result : results) out.push_back(result.data());
  std::vector<const void*> in;
  for (const Literal& operand : operands) in.push_back(operand.data());
  Literal scratch(Shape{DType::kU8, {offer.scratch_bytes}});
  std::memset(scratch.data(), 0xff, offer.scratch_bytes);
  const absl::Status status = kernel.make(call, offer)
                                  ->Run({.operands = in.data(),
                                         .results = out.data(),
                                         .scratch = scratch.data(),
                                         .end = Units(call)});
  EXPECT_TRUE(status.ok()) << status;
  return results;
}

// Bit for bit, with every own kernel of this machine; returns the reference's results.
std::vector<Literal> ExpectReferenceOfAttention(const char* op, const Attrs& attrs,
                                                const std::vector<Literal>& operands) {
  OpCall call{.op = FindOpByName(op), .attrs = attrs};
  for (const Literal& operand : operands) call.operands.push_back(operand.shape());
  const auto results = InferShapes(*call.op, call.operands, attrs);
  EXPECT_TRUE(results.ok()) << results.status();
  if (!results.ok()) return {};
  call.results = *results;
  call.needed.assign(call.results.size(), true);
  std::vector<Literal> want = RunReference(call, operands, {{0, Units(call)}});
  int kernels = 0;
  for (const KernelDef& kernel : call.op->kernels) {
    const auto offer = kernel.is_library ? std::nullopt : kernel.offer(call, Machine::This());
    if (!offer) continue;
    ++kernels;
    EXPECT_EQ(ResultsOf(call, kernel, *offer, operands), want) << op << " " << kernel.name;
  }
  EXPECT_GT(kernels, 0);
  return want;
}

// Several tiles of queries and of keys: tiles that no query of another sees are left out, and parts
// of tiles. A mask hides the first keys from queries, which then weigh all.
TEST(GemmKernel, OfCausalAttentionHasTheBitsOfTheReferenceOverSeveralTiles) {
  for (const auto& [queries, keys] :
       {std::pair<int64_t, int64_t>{300, 300}, {130, 520}, {520, 130}}) {
    for (const int64_t precision : {0, 3}) {
      for (const bool masked : {false, true}) {
        for (const double rate : {0.0, 0.25}) {
          SCOPED_TRACE(absl::StrCat(queries, " queries, ", keys, " keys, precision ", precision,
                                    masked ? ", masked" : "", ", rate ", rate));
          Attrs attrs = {{"precision", precision}, {"scale", 0.5}, {"causal", true}};
          std::vector<Literal> operands;
          for (const int64_t rows : {queries, keys, keys}) {
            operands.push_back(
                RandomLiteral(F32({1, rows, 1, 4}), static_cast<uint32_t>(operands.size())));
          }
          std::vector<Literal> optional;
          if (masked) {
            optional.emplace_back(F32({1, keys}));
            for (int64_t s = 0; s < keys; ++s) optional[0].values<float>()[s] = s < 5 ? 0 : 1;
          }
          if (rate > 0) {
            attrs.Set("rate", rate);
            optional.push_back(Literal::Scalar<int64_t>(5));
            optional.push_back(Literal::Scalar<int32_t>(2));
          }
          std::vector<Literal> forward = operands;
          forward.insert(forward.end(), optional.begin(), optional.end());
          const std::vector<Literal> y = ExpectReferenceOfAttention("attention", attrs, forward);
          ASSERT_EQ(y.size(), 2u);
          std::vector<Literal> backward = {RandomLiteral(y[0].shape(), 7)};
          backward.insert(backward.end(), operands.begin(), operands.end());
          backward.insert(backward.end(), y.begin(), y.end());
          backward.insert(backward.end(), optional.begin(), optional.end());
          ExpectReferenceOfAttention("attention_grad", attrs, backward);
        }
      }
    }
  }
}

TEST(GemmKernel, OfSmallPairsHasTheBitsOfTheReference) {
  for (const int64_t precision : {0, 3}) {
    for (const bool tx : {false, true}) {
      OpCall call{.op = FindOpByName("batch_matmul"),
                  .attrs = {{"precision", precision}, {"transpose_x", tx}, {"transpose_y", true}},
                  .operands = {tx ? F32({4, 2, 10, 7}) : F32({4, 2, 7, 10}), F32({4, 2, 19, 10})},
                  .results = {F32({4, 2, 7, 19})},
                  .needed = {true},
                  .parts = 3};
      const KernelPlan plan = PlanKernel(call, Machine::This());
      ASSERT_EQ(plan.name().substr(0, 4), "gemm");
      const std::vector<Literal> operands = {RandomLiteral(call.operands[0], 0),
                                             RandomLiteral(call.operands[1], 1)};
      EXPECT_EQ(RunPlanned(call, plan, operands), RunReference(call, operands, {{0, 4}})[0])
          << call.attrs.ToString();
    }
  }
}

TEST(GemmKernel, OfSmallProductsHasTheBitsOfTheReference) {
  for (const int64_t precision : {0, 3}) {
    for (const bool tx : {false, true}) {
      for (const bool ty : {false, true}) {
        for (const std::vector<Shape>& bias :
             {std::vector<Shape>{}, std::vector<Shape>{F32({19})}}) {
          OpCall call{
              .op = FindOpByName("matmul"),
              .attrs = {{"precision", precision}, {"transpose_x", tx}, {"transpose_y", ty}},
              .operands = {tx ? F32({10, 7}) : F32({7, 10}), ty ? F32({19, 10}) : F32({10, 19})},
              .results = {F32({7, 19})},
              .needed = {true},
              .parts = 3};
          call.operands.insert(call.operands.end(), bias.begin(), bias.end());
          const KernelPlan plan = PlanKernel(call, Machine::This());
          ASSERT_EQ(plan.name().substr(0, 4), "gemm");
          std::vector<Literal> operands;
          for (size_t i = 0; i < call.operands.size(); ++i) {
            operands.push_back(RandomLiteral(call.operands[i], static_cast<uint32_t>(i)));
          }
          EXPECT_EQ(RunPlanned(call, plan, operands), RunReference(call, operands, {{0, 7}})[0])
              << call.attrs.ToString();
        }
      }
    }
  }
}

void ExpectCopiesLikeTheReference(const std::string& op, const Attrs& attrs, const Shape& x) {
  for (const int parts : {1, 3}) {
    OpCall call{
        .op = FindOpByName(op), .attrs = attrs, .operands = {x}, .needed = {true}, .parts = parts};
    const auto results = InferShapes(*call.op, call.operands, attrs);
    ASSERT_TRUE(results.ok()) << results.status();
    call.results = *results;
    Literal values(x);
    for (int64_t i = 0; i < x.bytes(); ++i) {
      values.data()[i] = static_cast<std::byte>(PhiloxElement(4, 0, 0, 0, i));
    }
    const KernelPlan plan = PlanKernel(call, Machine::This());
    ASSERT_EQ(plan.name(), "strided_copy");
    EXPECT_EQ(RunPlanned(call, plan, {values}), RunReference(call, {values}, {{0, Units(call)}})[0])
        << op << " " << attrs.ToString() << " " << x.ToString() << " in " << parts << " parts";
  }
}

// Whole tiles and parts of tiles, dimensions that are joined, elements of every size.
TEST(StridedCopies, HaveTheBitsOfTheReference) {
  using Ints = std::vector<int64_t>;
  for (const DType dtype :
       {DType::kF32, DType::kBF16, DType::kS32, DType::kS64, DType::kU8, DType::kPred}) {
    for (const auto& [dims, perm] : std::vector<std::pair<Ints, Ints>>{
             {{70, 131}, {1, 0}},
             {{128, 64}, {1, 0}},
             {{3, 35, 66}, {0, 2, 1}},
             {{3, 35, 66}, {2, 0, 1}},
             {{3, 35, 66}, {2, 1, 0}},
             {{4, 6, 2, 5}, {0, 2, 1, 3}},
             {{4, 6, 1, 5}, {3, 2, 1, 0}},
             {{1, 6, 33, 5}, {0, 2, 3, 1}},
             {{5, 1, 66, 2, 3}, {3, 1, 4, 0, 2}},
             {{4, 0, 3}, {2, 1, 0}},
         }) {
      ExpectCopiesLikeTheReference("transpose", {{"perm", perm}}, {dtype, dims});
    }
    for (const auto& [dims, axes] : std::vector<std::pair<Ints, Ints>>{{{7, 5, 9, 3}, {}},
                                                                       {{7, 5, 9, 3}, {0}},
                                                                       {{7, 5, 9, 3}, {1, 2}},
                                                                       {{7, 5, 9, 3}, {0, 3}},
                                                                       {{7, 5, 9, 3}, {3}},
                                                                       {{7, 1, 9}, {0, 2}},
                                                                       {{40}, {}},
                                                                       {{40}, {0}}}) {
      Shape x{dtype, {}};
      for (const int64_t axis : axes) x.dims.push_back(dims[axis]);
      ExpectCopiesLikeTheReference("broadcast", {{"dims", dims}, {"axes", axes}}, x);
    }
  }
}

}  // namespace
}  // namespace tpurun
