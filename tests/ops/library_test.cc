// The kernels of products, attention and strided copies beside the reference (kernel_case.h).
#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/base/random.h"
#include "runtime/ir/pass_ops.h"
#include "runtime/ops/op_list.h"
#include "tests/ops/kernel_case.h"

namespace tpurun {
namespace {

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
      // A result that is too large for a cache is a product of the rows of all replicas; of 5 rows
      // only where an element is one number, with AMX of 32.
      for (const int64_t rows : {5, 6, 32}) {
        ExpectNearReference("cross_replica_matmul", attrs, {F32({rows, 300}), F32({rows, 502})},
                            parts, 8 * rows, 8);
      }
    }
  }
}

TEST(GemmKernel, HasOnePlanForSharesOfTwoSizes) {
  OpCall call{.op = FindOpByName("cross_replica_matmul"),
              .attrs = {{"precision", int64_t{0}}, {"transpose_x", true}},
              .operands = {F32({1, 23}), F32({1, 4999})},
              .results = {F32({23, 4999})},
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

// Operands and results have a pointer for each replica.
TEST(GemmKernel, MultipliesTheRowsOfSeveralReplicasInOneCall) {
  constexpr int kReplicas = 4, kRows = 3;
  for (const int64_t precision : {0, 1, 3}) {
    for (const bool ty : {false, true}) {
      OpCall one{.op = FindOpByName("matmul"),
                 .attrs = {{"precision", precision}, {"transpose_y", ty}},
                 .operands = {F32({kRows, 70}), ty ? F32({50, 70}) : F32({70, 50}), F32({50})},
                 .results = {F32({kRows, 50})},
                 .needed = {true}};
      OpCall all = one;
      all.replicas_per_call = kReplicas;
      const std::vector<Literal> weights = {RandomLiteral(one.operands[1], 1),
                                            RandomLiteral(one.operands[2], 2)};
      std::vector<Literal> x;
      for (int r = 0; r < kReplicas; ++r)
        x.push_back(RandomLiteral(one.operands[0], static_cast<uint32_t>(10 + r)));
      for (const auto& [machine, plan] : KernelsOf(all)) {
        if (!plan.kernel->spans_replicas) continue;
        const std::string place = absl::StrCat(plan.name(), " ", all.attrs.ToString());
        const std::unique_ptr<Kernel> kernel = MakeKernel(all, plan);
        ASSERT_NE(kernel, nullptr) << place;
        std::vector<Literal> got(kReplicas, Literal(one.results[0]));
        std::vector<const void*> in;
        std::vector<void*> out;
        for (const Literal& of_replica : x) in.push_back(of_replica.data());
        for (const Literal& shared : weights) in.insert(in.end(), kReplicas, shared.data());
        for (Literal& of_replica : got) out.push_back(of_replica.data());
        Literal scratch(Shape{DType::kU8, {plan.scratch_bytes}});
        // The second share begins within a replica.
        for (const auto& [begin, end] : {std::pair{0, 5}, {5, kReplicas * kRows}}) {
          const absl::Status status = kernel->Run({.operands = in.data(),
                                                   .results = out.data(),
                                                   .scratch = scratch.data(),
                                                   .begin = begin,
                                                   .end = end});
          ASSERT_TRUE(status.ok()) << place << status;
        }
        KernelPlan alone = plan;
        static_cast<KernelOffer&>(alone) = *plan.kernel->offer(one, machine);
        for (int r = 0; r < kReplicas; ++r)
          EXPECT_EQ(got[r], RunPlanned(one, alone, {x[r], weights[0], weights[1]})) << place;
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
    operands[i] = StoredIn(DType::kBF16, operands[i]);
    call.operands[i] = operands[i].shape();
  }
  call.attrs.Set(kStoredIn, DType::kBF16);
  call.results[0].dtype = DType::kBF16;
  for (const char* machine :
       {"x86_64", "x86_64+avx2", "x86_64+avx512", "x86_64+avx512_bf16", "x86_64+amx_bf16"})
    EXPECT_TRUE(PlanKernel(call, *Machine::Parse(machine)).native_bf16) << machine;
  EXPECT_EQ(RunPlanned(call, PlanKernel(call, Machine::This()), operands),
            StoredIn(DType::kBF16, want));
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

// Weights that are rounded to bf16 before the next product may be rounded to the next number. The
// statistics of `attention`, result 1, come before that.
void ExpectNear(std::string_view op, const std::vector<Literal>& got,
                const std::vector<Literal>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    const double tolerance = op == "attention" && i == 1 ? 1e-5 : 0x1p-8;
    double largest = 0;
    for (const float number : want[i].values<float>())
      largest = std::max(largest, std::fabs(static_cast<double>(number)));
    for (int64_t j = 0; j < want[i].shape().num_elements(); ++j)
      ASSERT_NEAR(got[i].values<float>()[j], want[i].values<float>()[j], tolerance * largest) << j;
  }
}

// Every own kernel of this machine, bit for bit unless it reorders sums; returns the reference's
// results.
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
    const std::vector<Literal> got = ResultsOf(call, kernel, *offer, operands);
    SCOPED_TRACE(absl::StrCat(op, " ", kernel.name));
    if (kernel.HasBitsOfReference()) {
      EXPECT_EQ(got, want);
    } else {
      ExpectNear(op, got, want);
    }
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
