// Each pass on the graphs of testdata/passes/PASS/*.txt, and on what every pass must keep.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/base/cpu.h"
#include "runtime/compiler/compile.h"
#include "runtime/ir/evaluate.h"
#include "runtime/ir/graph_text.h"
#include "runtime/ops/op_list.h"
#include "tests/compiler/evaluate_args.h"
#include "tests/golden.h"

namespace tpurun {
namespace {

absl::StatusOr<Graph> RunPass(const std::string& name, const Graph& graph, const Machine& machine) {
  for (const Pass& pass : Passes(OpsOfPasses(), machine)) {
    if (pass.name == name) return pass.run(graph);
  }
  return absl::NotFoundError(name);
}

TEST(Passes, GiveTheGoldenGraphs) {
  // Plans are for named machines.
  const Machine avx2{.avx2 = true}, bf16{.avx2 = true, .avx512 = true, .avx512_bf16 = true};
  for (const Pass& pass : Passes(OpsOfPasses())) {
    const Machine& machine = pass.name == "bfloat16_propagation" ? bf16 : avx2;
    int cases = 0;
    bool keeps_something = false;
    for (const std::string& path : TextFiles(absl::StrCat("testdata/passes/", pass.name))) {
      const auto graph = ParseGraph(GoldenInput(path), FindOpByName);
      ASSERT_TRUE(graph.ok()) << path << ": " << graph.status();
      const auto result = RunPass(pass.name, *graph, machine);
      ASSERT_TRUE(result.ok()) << path << ": " << result.status();
      EXPECT_TRUE(VerifyGraph(*result, pass.name).ok()) << path;
      ExpectGolden(path, PrintGraph(*result));
      const auto again = ParseGraph(PrintGraph(*result), FindOpByName);
      ASSERT_TRUE(again.ok()) << path << ": " << again.status();
      EXPECT_EQ(PrintGraph(*again), PrintGraph(*result)) << path;
      keeps_something = keeps_something || PrintGraph(*graph) == PrintGraph(*result);
      ++cases;
    }
    EXPECT_GE(cases, 2) << "no cases for pass " << pass.name;
    EXPECT_TRUE(keeps_something) << pass.name << " has no case where it must do nothing";
  }
}

// What floats can hold: both zeros, subnormals, the ends of the range, infinities, quiet and
// signalling NaNs. Other dtypes get some of their bits.
EvaluateArgs EveryKindOfNumber(const Graph& graph, size_t next) {
  constexpr uint32_t kBits[] = {0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x00000001,
                                0x807fffff, 0x00800000, 0x7f7fffff, 0xff7fffff, 0x7f800000,
                                0xff800000, 0x7fc00000, 0xffc12345, 0x7f812345, 0x40490fdb};
  const auto fill = [&](const Shape& shape) {
    Literal literal(shape);
    std::byte* data = literal.data();
    const int64_t size = ByteSize(shape.dtype);
    for (int64_t i = 0; i < shape.num_elements(); ++i) {
      const uint32_t bits = kBits[next++ % std::size(kBits)];
      const uint64_t value = shape.dtype == DType::kF32    ? bits
                             : shape.dtype == DType::kBF16 ? bits >> 16
                             : shape.dtype == DType::kPred ? bits >> 31
                                                           : bits % 3;
      std::memcpy(data + i * size, &value, size);
    }
    return literal;
  };
  return FilledArgs(graph, fill);
}

void JoinNaNs(std::vector<Literal>& literals) {
  for (Literal& literal : literals) {
    if (literal.shape().dtype != DType::kF32) continue;
    for (float& value : literal.values<float>())
      if (std::isnan(value)) value = std::numeric_limits<float>::quiet_NaN();
  }
}

// Two functions may give different NaNs for a sum of several: if `any_nan`, one NaN stands for all.
absl::StatusOr<EvaluateResult> EvaluateForBits(const Graph& graph, const EvaluateArgs& args,
                                               bool any_nan) {
  absl::StatusOr<EvaluateResult> result = Evaluate(graph, args);
  if (!result.ok() || !any_nan) return result;
  for (std::vector<Literal>& output : result->outputs) JoinNaNs(output);
  for (auto& [name, variable] : result->variables) JoinNaNs(variable);
  return result;
}

TEST(Passes, IdentitiesKeepEveryBitOfEveryKindOfNumber) {
  const ScopedFlushDenormals flush;
  for (const Pass& pass : Passes(OpsOfPasses())) {
    const std::vector<std::string> passes = {
        "fold", "simplify", "cse", "bfloat16_propagation", "fuse_elementwise", "fuse_rows"};
    if (std::count(passes.begin(), passes.end(), pass.name) == 0) continue;
    // Which NaN of several is their sum depends on the function that adds them: rows of a tile have
    // one of their own, and with the thread sanitizer, which allows no clones, all sums have.
    bool any_nan = pass.name == "fuse_rows";
#ifdef TPURUN_NO_CLONES
    any_nan = true;
#endif
    for (const std::string& path : TextFiles(absl::StrCat("testdata/passes/", pass.name))) {
      const auto graph = ParseGraph(GoldenInput(path), FindOpByName);
      ASSERT_TRUE(graph.ok()) << path << ": " << graph.status();
      const auto rewritten = pass.run(*graph);
      ASSERT_TRUE(rewritten.ok()) << path << ": " << rewritten.status();
      // Another number comes first each time.
      for (size_t first = 0; first < 15; ++first) {
        const EvaluateArgs args = EveryKindOfNumber(*graph, first);
        const auto want = EvaluateForBits(*graph, args, any_nan);
        const auto got = EvaluateForBits(*rewritten, args, any_nan);
        ASSERT_TRUE(want.ok() && got.ok()) << path;
        EXPECT_EQ(got->outputs, want->outputs) << path;
        EXPECT_EQ(got->variables, want->variables) << path;
      }
    }
  }
}

// A pass that changes the order of sums. Of small whole numbers every order is exact.
TEST(Passes, AnotherOrderOfTheSumsHasTheSameTerms) {
  for (const Pass& pass : Passes(OpsOfPasses())) {
    const std::vector<std::string> passes = {"fuse_allreduce_matmul", "hoist_column_sums",
                                             "sink_gather", "split_k"};
    if (std::count(passes.begin(), passes.end(), pass.name) == 0) continue;
    int changed = 0;
    for (const std::string& path : TextFiles(absl::StrCat("testdata/passes/", pass.name))) {
      const auto graph = ParseGraph(GoldenInput(path), FindOpByName);
      ASSERT_TRUE(graph.ok()) << path << ": " << graph.status();
      int next = 0;
      const EvaluateArgs args = FilledArgs(*graph, [&](const Shape& shape) {
        Literal literal(shape);
        const auto fill_ids = [&](auto ids) {
          for (auto& id : ids) id = next++ * 5 % 7 % 2;
          return literal;
        };
        if (shape.dtype == DType::kS32) return fill_ids(literal.values<int32_t>());
        if (shape.dtype == DType::kS64) return fill_ids(literal.values<int64_t>());
        for (float& value : literal.values<float>())
          value = static_cast<float>(next++ * 7 % 11 - 4);
        return literal;
      });
      const auto rewritten = pass.run(*graph);
      ASSERT_TRUE(rewritten.ok()) << path << ": " << rewritten.status();
      const auto want = Evaluate(*graph, args), got = Evaluate(*rewritten, args);
      ASSERT_TRUE(want.ok() && got.ok()) << path;
      EXPECT_EQ(got->outputs, want->outputs) << path;
      EXPECT_EQ(got->variables, want->variables) << path;
      changed += PrintGraph(*rewritten) != PrintGraph(*graph);
    }
    EXPECT_GT(changed, 0) << pass.name;
  }
}

TEST(Passes, TheVerifierNamesThePassThatBrokeTheGraph) {
  const auto graph = ParseGraph(
      "graph \"g\" replicas=1\n"
      "%0 = loop_index {} : s32[] \"i\"\n"
      "output \"i\" %0\n",
      FindOpByName);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const Pass breaks = {"breaks_graphs", [](const Graph& good) -> absl::StatusOr<Graph> {
                         Graph bad = good;
                         bad.AddOutput("gone", Value{7, 0});
                         return bad;
                       }};
  const auto result = RunPasses(*graph, {breaks}, {});
  EXPECT_EQ(result.status().message(), "after pass breaks_graphs: output \"gone\" has no value");
}

}  // namespace
}  // namespace tpurun
