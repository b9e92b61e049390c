// Every op against its golden file: values, errors, cuts into parts, rows, gradients.
#include "runtime/ops/ops.h"

#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/autodiff/gradients.h"
#include "runtime/base/bfloat16.h"
#include "runtime/base/random.h"
#include "runtime/ir/bf16_conversion.h"
#include "runtime/ir/evaluate.h"
#include "runtime/ops/op_list.h"
#include "tests/ops/kernel_case.h"
#include "tests/ops/op_case.h"

namespace tpurun {
namespace {

std::string Text(const Literal& literal) {
  std::string text = literal.shape().ToString();
  for (int64_t i = 0; i < literal.shape().num_elements(); ++i) {
    switch (literal.shape().dtype) {
      case DType::kF32:
        absl::StrAppend(&text, " ", literal.values<float>()[i]);
        break;
      case DType::kS32:
        absl::StrAppend(&text, " ", literal.values<int32_t>()[i]);
        break;
      case DType::kS64:
        absl::StrAppend(&text, " ", literal.values<int64_t>()[i]);
        break;
      default:
        absl::StrAppend(&text, " ", literal.values<uint8_t>()[i]);
        break;
    }
  }
  return text;
}

// NaN equals NaN; floats differ by at most tolerance times the largest finite expected value.
bool Near(const Literal& got, const Literal& want, double tolerance) {
  if (!(got.shape() == want.shape())) return false;
  if (want.shape().dtype != DType::kF32) return got == want;
  double scale = 0;
  for (const float w : want.values<float>()) {
    if (std::isfinite(w)) scale = std::max(scale, std::fabs(static_cast<double>(w)));
  }
  for (int64_t i = 0; i < want.shape().num_elements(); ++i) {
    const float g = got.values<float>()[i], w = want.values<float>()[i];
    if (std::isnan(g) != std::isnan(w)) return false;
    if (std::isnan(w) || g == w) continue;
    if (!(std::fabs(static_cast<double>(g) - w) <= tolerance * scale)) return false;
  }
  return true;
}

TEST(Ops, EveryOpButTheSourcesHasAGoldenFile) {
  std::set<std::string> covered;
  for (const OpCase& op_case : AllOpCases()) {
    if (op_case.error.empty()) covered.insert(op_case.op->name);
  }
  for (const OpDef* op : AllOps()) {
    EXPECT_FALSE(op->doc.empty()) << op->name;
    EXPECT_TRUE(op->flags.source || covered.count(op->name) > 0)
        << "no testdata/ops/" << op->name << ".txt";
  }
}

TEST(Ops, ShapesAndErrorsAreInferredAsTheGoldenFilesSay) {
  for (const OpCase& op_case : AllOpCases()) {
    Graph graph;
    std::vector<Value> inputs;
    for (const Shape& shape : op_case.Call().operands) {
      const int64_t slot = graph.AddInfeed({"x", shape});
      inputs.push_back(*graph.AddNode(
          InfeedOp(), {}, {{"slot", slot}, {"dtype", shape.dtype}, {"dims", shape.dims}}, "", {}));
    }
    const auto value = graph.AddNode(*op_case.op, inputs, op_case.attrs, "node", {});
    if (!op_case.error.empty()) {
      ASSERT_FALSE(value.ok()) << op_case.Place();
      EXPECT_EQ(value.status().code(), absl::StatusCode::kInvalidArgument) << op_case.Place();
      EXPECT_EQ(std::string(value.status().message()), op_case.error) << op_case.Place();
      continue;
    }
    ASSERT_TRUE(value.ok()) << op_case.Place() << ": " << value.status();
    ASSERT_EQ(graph.node(*value).shapes.size(), op_case.results.size()) << op_case.Place();
    for (size_t i = 0; i < op_case.results.size(); ++i) {
      EXPECT_EQ(graph.node(*value).shapes[i], op_case.results[i].shape()) << op_case.Place();
    }
  }
}

TEST(Ops, PartsOfTheWorkGiveTheSameBitsAsTheWhole) {
  for (const OpCase& op_case : AllOpCases()) {
    if (!op_case.error.empty()) continue;
    const OpCall call = op_case.Call();
    const int64_t units = Units(call);
    std::vector<std::pair<int64_t, int64_t>> shares;
    for (int64_t unit = units; unit-- > 0;) shares.push_back({unit, unit + 1});
    EXPECT_EQ(RunReference(call, op_case.operands, shares),
              RunReference(call, op_case.operands, {{0, units}}))
        << op_case.Place();
  }
}

TEST(Ops, APartRoundsItsOwnColumnsAlone) {
  const OpDef op{.name = "fill", .flags = {.unit = WorkUnit::kColumns}};
  const OpCall call{.op = &op, .results = {Shape{DType::kBF16, {2, 4}}}, .needed = {true}};
  const auto kernel =
      WithConversions(call, KernelOf([](const KernelArgs& args) {
                        for (int64_t row = 0; row < 2; ++row) {
                          for (int64_t column = args.begin; column < args.end; ++column)
                            static_cast<float*>(args.results[0])[row * 4 + column] = 1.0f;
                        }
                      }));
  std::vector<uint16_t> result(8, 7);
  void* results[] = {result.data()};
  std::vector<std::byte> scratch(ConversionBytes(call));
  ASSERT_TRUE(
      kernel->Run({.results = results, .scratch = scratch.data(), .begin = 1, .end = 3}).ok());
  const uint16_t one = BFloat16Bits(1.0f);
  EXPECT_EQ(result, (std::vector<uint16_t>{7, one, one, 7, 7, one, one, 7}));
}

// An op reads bf16 as the numbers that they are, and rounds result 0 once: what it gives on the
// same numbers in f32, rounded.
TEST(Ops, ScatterAddReadsBFloat16AndStoresF32) {
  int cases = 0;
  for (const OpCase& op_case : AllOpCases()) {
    if (op_case.op->name != "scatter_add" || !op_case.error.empty()) continue;
    OpCase stored = op_case;
    stored.operands[1] = StoredIn(DType::kBF16, op_case.operands[1]);
    OpCase rounded = op_case;
    rounded.operands[1] = StoredIn(DType::kF32, stored.operands[1]);
    const OpCall f32 = rounded.Call();
    OpCall call = f32;
    call.operands[1] = stored.operands[1].shape();
    const std::vector<Literal> want = RunReference(f32, rounded.operands, {{0, Units(f32)}});
    for (const int parts : {1, 2, 3}) {
      call.parts = parts;
      const KernelPlan plan = PlanKernel(call, Machine::This());
      ASSERT_EQ(plan.name(), "bf16_loops") << op_case.Place();
      EXPECT_EQ(RunPlan(call, plan, stored.operands), want) << op_case.Place() << " in " << parts;
    }
    ++cases;
  }
  EXPECT_GT(cases, 5);
}

TEST(Ops, EveryOpOfFloatsReadsAndStoresBFloat16) {
  std::set<std::string> checked;
  for (const OpCase& op_case : AllOpCases()) {
    if (!op_case.error.empty() || op_case.op->flags.any_dtype) continue;
    OpCase wide = op_case;
    std::vector<Literal> narrow;
    for (Literal& operand : wide.operands) {
      const bool is_f32 = operand.shape().dtype == DType::kF32;
      const bool is_bf16 = operand.shape().dtype == DType::kBF16;
      narrow.push_back(is_f32 ? StoredIn(DType::kBF16, operand) : operand);
      if (is_f32 || is_bf16) operand = StoredIn(DType::kF32, narrow.back());
    }
    OpCall call = wide.Call();
    call.attrs.Erase(kStoredIn);
    if (call.results[0].dtype == DType::kBF16) call.results[0].dtype = DType::kF32;
    if (call.results[0].dtype != DType::kF32) continue;
    const std::vector<Literal> of_reference = RunReference(call, wide.operands, {{0, Units(call)}});
    OpCall stored = call;
    const int copies = CopiesPerOperand(call);
    for (size_t i = 0; i < stored.operands.size(); ++i)
      stored.operands[i] = narrow[i * copies].shape();
    stored.attrs.Set(kStoredIn, DType::kBF16);
    const auto shapes = InferShapes(*stored.op, stored.operands, stored.attrs);
    ASSERT_TRUE(shapes.ok()) << op_case.Place() << ": " << shapes.status();
    ASSERT_EQ((*shapes)[0].dtype, DType::kBF16) << op_case.Place();
    stored.results = *shapes;
    for (const int parts : {1, 2, 3}) {
      stored.parts = OpFlagsOf(stored).unit == WorkUnit::kWhole ? 1 : parts;
      for (const Machine& machine : MachinesOfThisProcessor()) {
        const KernelPlan plan = PlanKernel(stored, machine);
        if (plan.kernel->is_library) continue;
        std::vector<Literal> want = of_reference;
        if (plan.kernel->reorders_sums) {
          const std::optional<KernelOffer> offer = plan.kernel->offer(call, machine);
          if (!offer) continue;
          want = RunPlan(call, KernelPlan{*offer, plan.kernel}, wide.operands);
        }
        const std::vector<Literal> got = RunPlan(stored, plan, narrow);
        const std::string place = absl::StrCat(op_case.Place(), " ", plan.name(), " on ",
                                               machine.ToString(), " in ", parts);
        EXPECT_EQ(got[0], StoredIn(DType::kBF16, want[0])) << place;
        for (size_t i = 1; i < got.size(); ++i) EXPECT_EQ(got[i], want[i]) << place;
      }
    }
    EXPECT_EQ(RunReference(stored, narrow, {{0, Units(stored)}})[0],
              StoredIn(DType::kBF16, of_reference[0]))
        << op_case.Place();
    checked.insert(op_case.op->name);
  }
  EXPECT_GT(checked.size(), 35u);
}

// True if every result of the case has a row for each row of the operands that are read row by row.
// An attribute that holds the number of rows, or a draw by row number, is not the point there.
bool GoesByRows(const OpCase& op_case) {
  const bool fixed = op_case.attrs.Has("dims") || op_case.attrs.Has("size") ||
                     op_case.attrs.Has("x_dims") || op_case.attrs.Has("layout");
  if (!op_case.error.empty() || fixed) return false;
  const OpCall call = op_case.Call();
  const OpFlags flags = OpFlagsOf(call);
  return !flags.random && flags.unit != WorkUnit::kWhole && call.results[0].rank() > 0 &&
         flags.row_operands != 0;
}

// The rows [begin, end) of the results and of the operands that are read row by row, so many times.
OpCase OfRows(const OpCase& op_case, int64_t begin, int64_t end, int64_t times) {
  const auto rows_of = [&](const Literal& literal) {
    Shape shape = literal.shape();
    const int64_t row = shape.bytes() / shape.dims[0], bytes = row * (end - begin);
    shape.dims[0] = (end - begin) * times;
    Literal rows(shape);
    for (int64_t i = 0; i < times; ++i)
      std::memcpy(rows.data() + i * bytes, literal.data() + begin * row, bytes);
    return rows;
  };
  const OpCall call = op_case.Call();
  const OpFlags flags = OpFlagsOf(call);
  OpCase of_rows = op_case;
  for (size_t i = 0; i < of_rows.operands.size(); ++i) {
    const Shape& shape = of_rows.operands[i].shape();
    // A row that goes with every row stays.
    const bool has_rows = !flags.elementwise || shape.rank() == call.results[0].rank();
    if (HasOperand(flags.row_operands, static_cast<int>(i)) && shape.rank() > 0 && has_rows)
      of_rows.operands[i] = rows_of(of_rows.operands[i]);
  }
  for (Literal& result : of_rows.results) result = rows_of(result);
  return of_rows;
}

TEST(Ops, ARowsBitsDoNotDependOnTheRowsThatGoAlong) {
  int checked = 0;
  for (const OpCase& op_case : AllOpCases()) {
    if (!GoesByRows(op_case)) continue;
    const OpCall call = op_case.Call();
    OpCase whole = op_case;
    whole.results = RunReference(call, op_case.operands, {{0, Units(call)}});
    for (int64_t row = 0; row < call.results[0].dims[0]; ++row) {
      const OpCase one = OfRows(whole, row, row + 1, 1);
      const OpCall one_call = one.Call();
      const std::vector<Literal> got = RunReference(one_call, one.operands, {{0, Units(one_call)}});
      for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], one.results[i]) << op_case.Place();
      ++checked;
    }
  }
  EXPECT_GT(checked, 50);
}

// Expects the golden values of the reference and of every kernel on every machine that this
// processor can stand for, and of own kernels the reference's bits.
void ExpectGoldenValues(const OpCase& op_case, int parts, std::set<std::string>* checked) {
  OpCall call = op_case.Call();
  const std::vector<Literal> reference = RunReference(call, op_case.operands, {{0, Units(call)}});
  const auto expect = [&](const std::vector<Literal>& got, const std::string& kernel) {
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_TRUE(Near(got[i], op_case.results[i], op_case.tolerance))
          << op_case.Place() << " " << kernel << " result " << i << "\n got " << Text(got[i])
          << "\nwant " << Text(op_case.results[i]);
    }
  };
  expect(reference, "reference");
  call.parts = OpFlagsOf(call).unit == WorkUnit::kWhole ? 1 : parts;
  for (const auto& [machine, plan] : KernelsOf(call)) {
    const std::vector<Literal> got = RunPlan(call, plan, op_case.operands);
    const std::string kernel = absl::StrCat(plan.name(), " in ", parts, " parts");
    expect(got, kernel);
    if (plan.kernel->HasBitsOfReference()) {
      EXPECT_EQ(got, reference) << op_case.Place() << " " << kernel;
    }
    checked->insert(plan.name());
  }
}

TEST(Ops, EveryKernelGivesTheGoldenValues) {
  std::set<std::string> checked;
  for (const OpCase& op_case : AllOpCases()) {
    if (!op_case.error.empty()) continue;
    for (const int parts : {1, 3}) ExpectGoldenValues(op_case, parts, &checked);
    // As many rows as fill vector registers, caches' blocks and parts, and some more.
    if (!GoesByRows(op_case)) continue;
    const OpCase tall = OfRows(op_case, 0, op_case.results[0].shape().dims[0], 37);
    for (const int parts : {1, 3}) ExpectGoldenValues(tall, parts, &checked);
  }
  // On any processor: products, convolutions, chains and tiles of rows in plain code.
  for (const char* kernel : {"gemm_plain", "direct_plain", "chains_plain", "row_tiles_plain"})
    EXPECT_EQ(checked.count(kernel), 1u) << kernel;
}

// A result may have the memory of an operand: the variable that it is the new value of.
TEST(Ops, FusedUpdatesInPlaceGiveTheGoldenValues) {
  int checked = 0;
  for (const OpCase& op_case : AllOpCases()) {
    if (!op_case.error.empty() || op_case.op->name != "fused") continue;
    const OpCall call = op_case.Call();
    std::vector<KernelPlan> plans;
    for (const OfferedKernel& offered : KernelsOf(call)) plans.push_back(offered.plan);
    for (size_t i = 0; i < call.operands.size() * call.results.size(); ++i) {
      const size_t operand = i / call.results.size(), result = i % call.results.size();
      if (call.operands[operand] != call.results[result]) continue;
      for (const KernelPlan& plan : plans) {
        std::vector<Literal> operands = op_case.operands, results;
        std::vector<const void*> in;
        std::vector<void*> out;
        for (const Shape& shape : call.results) results.emplace_back(shape);
        for (const Literal& literal : operands) in.push_back(literal.data());
        for (Literal& literal : results) out.push_back(literal.data());
        out[result] = operands[operand].data();
        const std::unique_ptr<Kernel> kernel = MakeKernel(call, plan);
        ASSERT_NE(kernel, nullptr);
        ASSERT_TRUE(
            kernel
                ->Run(
                    {.operands = in.data(), .results = out.data(), .begin = 0, .end = Units(call)})
                .ok());
        results[result] = operands[operand];
        for (size_t r = 0; r < results.size(); ++r) {
          EXPECT_TRUE(Near(results[r], op_case.results[r], op_case.tolerance))
              << op_case.Place() << " " << plan.name() << ", result " << result
              << " in the place of operand " << operand << ": result " << r << "\n got "
              << Text(results[r]) << "\nwant " << Text(op_case.results[r]);
        }
        ++checked;
      }
    }
  }
  EXPECT_GT(checked, 20);
}

// f(x) = sum of weights * op(x) over all f32 results, as a graph whose f32 operands are variables.
struct Differentiated {
  Graph graph;
  std::vector<int> inputs;  // operand index of each variable
};

Differentiated BuildGradient(const OpCase& op_case) {
  GraphBuilder b(Graph("gradient", 1));
  Differentiated d;
  std::vector<Value> operands, variables;
  for (size_t i = 0; i < op_case.operands.size(); ++i) {
    const Shape& shape = op_case.operands[i].shape();
    operands.push_back(b.Read(b.AddVariable({.name = absl::StrCat("x", i), .shape = shape})));
    if (shape.dtype == DType::kF32) {
      d.inputs.push_back(static_cast<int>(i));
      variables.push_back(operands.back());
    }
  }
  Value y = b.Add(*op_case.op, operands, op_case.attrs);
  Value f;
  const int count = static_cast<int>(op_case.results.size()) - op_case.constant_results;
  for (y.result = 0; y.result < count; ++y.result) {
    if (b.shape(y).dtype != DType::kF32) continue;
    std::vector<double> weights;
    for (int64_t i = 0; i < b.shape(y).num_elements(); ++i) {
      weights.push_back(0.5 + UniformFloat(PhiloxElement(1, 1 + y.result, 0, 0, i)));
    }
    const Value w = b.Add(ConstantOp(), {},
                          {{"dtype", DType::kF32}, {"dims", b.shape(y).dims}, {"value", weights}});
    const Value sum = ReduceSum(b, Mul(b, y, w));
    f = f.valid() ? Add(b, f, sum) : sum;
  }
  b.AddOutput("f", f);
  const auto gradients = Gradients(b, f, variables);
  EXPECT_TRUE(gradients.ok()) << op_case.Place() << ": " << gradients.status();
  for (size_t i = 0; gradients.ok() && i < gradients->size(); ++i) {
    if (!(*gradients)[i].valid()) continue;
    b.AddOutput(absl::StrCat("d", d.inputs[i]), (*gradients)[i]);
  }
  EXPECT_TRUE(b.status().ok()) << op_case.Place() << ": " << b.status();
  d.graph = b.Take();
  return d;
}

std::vector<std::vector<Literal>> OutputsAt(const Graph& graph,
                                            const std::vector<Literal>& operands) {
  EvaluateArgs args;
  for (size_t i = 0; i < operands.size(); ++i) args.variables[absl::StrCat("x", i)] = {operands[i]};
  auto result = Evaluate(graph, args);
  EXPECT_TRUE(result.ok()) << result.status();
  return result->outputs;
}

// What an export says in place of an op without words gives the op's numbers.
TEST(Ops, WhatAnOpExpandsToGivesTheGoldenValues) {
  std::set<std::string> checked;
  for (const OpCase& op_case : AllOpCases()) {
    if (!op_case.error.empty() || op_case.op->expand == nullptr) continue;
    const OpCall call = op_case.Call();
    // No prediction draws.
    if (OpFlagsOf(call).random) continue;
    GraphBuilder b(Graph("expanded", 1));
    EvaluateArgs args;
    std::vector<Value> operands;
    for (const Literal& operand : op_case.operands) {
      operands.push_back(b.AddInfeed("x", operand.shape()));
      args.infeed.push_back({operand});
    }
    const Node node{.op = call.op, .attrs = call.attrs, .shapes = call.results, .name = "node"};
    const std::vector<Value> results = node.op->expand(b, node, operands);
    ASSERT_TRUE(b.status().ok()) << op_case.Place() << ": " << b.status();
    ASSERT_EQ(results.size(), call.results.size()) << op_case.Place();
    ASSERT_TRUE(results[0].valid()) << op_case.Place();
    std::vector<int> places;
    for (size_t i = 0; i < results.size(); ++i) {
      if (!results[i].valid()) continue;
      places.push_back(static_cast<int>(i));
      b.AddOutput(absl::StrCat("result", i), results[i]);
    }
    const absl::StatusOr<EvaluateResult> got = Evaluate(b.graph(), args);
    ASSERT_TRUE(got.ok()) << op_case.Place() << ": " << got.status();
    for (size_t i = 0; i < places.size(); ++i) {
      const Literal& want = op_case.results[places[i]];
      // Functions of gates are within 2 units in the last place of the ops'.
      EXPECT_TRUE(Near(got->outputs[i][0], want, std::max(op_case.tolerance, 1e-6)))
          << op_case.Place() << " result " << places[i] << "\n got " << Text(got->outputs[i][0])
          << "\nwant " << Text(want);
    }
    checked.insert(op_case.op->name);
  }
  EXPECT_EQ(checked, (std::set<std::string>{"attention", "gelu", "gelu_tanh", "gru", "lstm",
                                            "normalize_rows", "simple_rnn"}));
}

TEST(Ops, SumsAndMaximaOfAxesThatAreNoRunAreThoseOfEachRun) {
  GraphBuilder b(Graph("reduced", 1));
  const Value x = b.AddInfeed("x", Shape{DType::kF32, {2, 3, 2, 2}});
  b.AddOutput("sum", ReduceSum(b, x, {3, 0}));
  b.AddOutput("mean", ReduceMean(b, x, {0, 1, 3}));
  b.AddOutput("max", ReduceMax(b, x, {0, 2}));
  ASSERT_TRUE(b.status().ok()) << b.status();
  Literal literal(Shape{DType::kF32, {2, 3, 2, 2}});
  for (int i = 0; i < 24; ++i) literal.values<float>()[i] = static_cast<float>(i);
  EvaluateArgs args;
  args.infeed.push_back({literal});
  const absl::StatusOr<EvaluateResult> got = Evaluate(b.graph(), args);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(Text(got->outputs[0][0]), "f32[3,2] 26 34 42 50 58 66");
  EXPECT_EQ(Text(got->outputs[1][0]), "f32[2] 10.5 12.5");
  EXPECT_EQ(Text(got->outputs[2][0]), "f32[3,2] 14 15 18 19 22 23");
}

// Central differences along one random direction per operand. f32 noise over h is about 1e-5 of the
// value, the error of the difference about h * h; 3e-3 leaves room for both.
TEST(Ops, GradientsAgreeWithCentralDifferences) {
  constexpr double kStep = 1e-2, kTolerance = 3e-3;
  std::set<std::string> checked;
  for (const OpCase& op_case : AllOpCases()) {
    if (!op_case.error.empty() || !op_case.check_gradient || !op_case.op->gradient) continue;
    if (op_case.replicas > 1) continue;  // every replica would have a gradient of its own
    if (op_case.results[0].shape().dtype != DType::kF32) continue;
    const Differentiated d = BuildGradient(op_case);
    const auto at = OutputsAt(d.graph, op_case.operands);
    for (const int input : d.inputs) {
      const int output = d.graph.FindOutput(absl::StrCat("d", input));
      std::vector<Literal> above = op_case.operands, below = op_case.operands;
      double analytic = 0;
      for (int64_t i = 0; i < op_case.operands[input].shape().num_elements(); ++i) {
        const double direction = UniformFloat(PhiloxElement(2, 2, input, 0, i)) - 0.3;
        above[input].values<float>()[i] += static_cast<float>(kStep * direction);
        below[input].values<float>()[i] -= static_cast<float>(kStep * direction);
        if (output >= 0) analytic += direction * at[output][0].values<float>()[i];
      }
      const double numeric =
          (static_cast<double>(OutputsAt(d.graph, above)[0][0].values<float>()[0]) -
           OutputsAt(d.graph, below)[0][0].values<float>()[0]) /
          (2 * kStep);
      EXPECT_NEAR(analytic, numeric, kTolerance * std::max(1.0, std::fabs(numeric)))
          << op_case.Place() << " operand " << input;
      checked.insert(op_case.op->name);
    }
  }
  // testdata/gradients has the one over several replicas, testdata/losses that of the loss.
  const std::set<std::string> elsewhere = {"row_of_group", "softmax_cross_entropy"};
  for (const OpDef* op : AllOps()) {
    if (!op->gradient) continue;
    EXPECT_NE(checked.count(op->name), elsewhere.count(op->name)) << op->name;
  }
}

// What can be said in one format can be said in the other. That the words are right is shown by
// tests/interop/export_test.py, in the frameworks themselves.
TEST(Ops, ExportRulesComeInPairs) {
  int exported = 0;
  for (const OpDef* op : AllOps()) {
    const bool expands = op->expand != nullptr;
    EXPECT_EQ(expands || op->tensorflow != nullptr, expands || op->onnx != nullptr) << op->name;
    exported += expands || op->tensorflow != nullptr;
  }
  EXPECT_GT(exported, 30);
}

}  // namespace
}  // namespace tpurun
