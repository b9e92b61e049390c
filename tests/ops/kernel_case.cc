#include "tests/ops/kernel_case.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <memory>
#include <set>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/base/random.h"
#include "runtime/ir/pass_ops.h"
#include "runtime/ops/op_list.h"

namespace tpurun {
namespace {

Literal Absolute(Literal literal) {
  for (float& value : literal.values<float>()) value = std::fabs(value);
  return literal;
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

}  // namespace

int64_t ProductsOfParts(int64_t precision) { return precision == 1 ? 3 : precision == 2 ? 6 : 1; }

Shape F32(std::vector<int64_t> dims) { return Shape{DType::kF32, std::move(dims)}; }

Literal RandomLiteral(const Shape& shape, uint32_t stream) {
  Literal literal(shape);
  for (int64_t i = 0; i < shape.num_elements(); ++i) {
    literal.values<float>()[i] = UniformFloat(PhiloxElement(3, stream, 0, 0, i)) * 2 - 1;
  }
  return literal;
}

Shape Rows(Shape shape, int64_t rows) {
  shape.dims[0] = rows;
  return shape;
}

Literal Rows(const Literal& literal, int64_t rows) {
  Literal some(Rows(literal.shape(), rows));
  std::memcpy(some.data(), literal.data(), some.shape().bytes());
  return some;
}

std::vector<Machine> MachinesOfThisProcessor() {
  const Machine here = Machine::This();
  Machine asking_the_library = here;
  asking_the_library.kernels = KernelChoice::kLibrary;
  std::vector<Machine> machines = {here, asking_the_library, Machine{}};
  if (here.avx2) {
    machines.push_back({.avx2 = true});
    machines.push_back({.avx2 = true, .kernels = KernelChoice::kLibrary});
  }
  if (here.avx512) machines.push_back({.avx2 = true, .avx512 = true});
  if (here.avx512_bf16) {
    const Machine without_amx = {.avx2 = true, .avx512 = true, .avx512_bf16 = true};
    machines.push_back(without_amx);
    machines.push_back(without_amx);
    machines.back().kernels = KernelChoice::kLibrary;
  }
  return machines;
}

std::vector<OfferedKernel> KernelsOf(const OpCall& call) {
  std::vector<OfferedKernel> kernels;
  std::set<std::string> seen;
  for (const Machine& machine : MachinesOfThisProcessor()) {
    for (const KernelDef& kernel : call.op->kernels) {
      const std::optional<KernelOffer> offer =
          kernel.offer ? kernel.offer(call, machine) : KernelOffer{};
      if (!offer || !seen.insert(kernel.name).second) continue;
      KernelPlan plan{*offer};
      plan.kernel = &kernel;
      kernels.push_back({machine, plan});
    }
  }
  return kernels;
}

std::vector<std::pair<int64_t, int64_t>> SharesOf(const OpCall& call) {
  const int64_t units = Units(call);
  std::vector<std::pair<int64_t, int64_t>> shares;
  for (int part = 0; part < call.parts; ++part)
    shares.emplace_back(units * part / call.parts, units * (part + 1) / call.parts);
  return shares;
}

std::vector<Literal> RunPlan(const OpCall& call, const KernelPlan& plan,
                             const std::vector<Literal>& operands) {
  std::vector<Literal> results;
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const Shape& shape : call.results) results.emplace_back(shape);
  for (const Literal& operand : operands) in.push_back(operand.data());
  for (Literal& result : results) {
    // What a kernel leaves unwritten must not look right by chance.
    std::memset(result.data(), 0xa5, result.shape().bytes());
    out.push_back(result.data());
  }
  // The library is no better at keeping within its scratch memory than others.
  constexpr int64_t kBehind = 1 << 16;
  Literal scratch(Shape{DType::kU8, {plan.scratch_bytes + kBehind}});
  std::memset(scratch.data(), 0x5a, plan.scratch_bytes + kBehind);
  const std::unique_ptr<Kernel> kernel = MakeKernel(call, plan);
  EXPECT_NE(kernel, nullptr) << call.op->name;
  if (kernel == nullptr) return results;
  kernel->SetWorkers(2);
  const std::vector<std::pair<int64_t, int64_t>> shares = SharesOf(call);
  for (size_t i = shares.size(); i-- > 0;) {
    const absl::Status status = kernel->Run({.operands = in.data(),
                                             .results = out.data(),
                                             .scratch = scratch.data(),
                                             .worker = static_cast<int>(i % 2),
                                             .begin = shares[i].first,
                                             .end = shares[i].second});
    EXPECT_TRUE(status.ok()) << status;
  }
  const std::byte* const behind = scratch.data() + plan.scratch_bytes;
  EXPECT_EQ(std::find_if(behind, behind + kBehind,
                         [](std::byte byte) { return byte != std::byte{0x5a}; }) -
                behind,
            kBehind)
      << call.op->name << " " << call.attrs.ToString() << " writes behind its scratch memory";
  return results;
}

Literal RunPlanned(const OpCall& call, const KernelPlan& plan,
                   const std::vector<Literal>& operands) {
  return RunPlan(call, plan, operands)[0];
}

void ExpectNearReference(const std::string& op, const Attrs& attrs, std::vector<Shape> shapes,
                         int parts, double products, int replicas) {
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
  const std::vector<OfferedKernel> kernels = KernelsOf(call);
  for (const auto& [machine, plan] : kernels) {
    const KernelDef* const kernel = plan.kernel;
    const std::string place =
        absl::StrCat(op, " ", attrs.ToString(), " ", shapes[0].ToString(), " ", kernel->name, " ",
                     machine.ToString(), " in ", parts, " parts");
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
    if (kernel->HasBitsOfReference()) {
      ASSERT_EQ(got, want) << place;
      continue;
    }
    if (kernel->reorders_sums) {
      OpCall whole = call;
      whole.parts = 1;
      const std::optional<KernelOffer> offer = kernel->offer(whole, machine);
      ASSERT_TRUE(offer.has_value()) << place;
      EXPECT_EQ(got, RunPlanned(whole, KernelPlan{*offer, kernel}, operands))
          << place << ": not the bits of the whole";
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
  EXPECT_FALSE(kernels.empty()) << op << " has no kernel for " << shapes[0].ToString();
}

}  // namespace tpurun
