// Kernels of products and convolutions beside the reference. Those of runtime/kernels have its
// bits. The library's are within 2 K 2^-24 sum|a b| after rounding the inputs equally, K being the
// number of products in a sum (two orders of a f32 sum differ by no more).
#ifndef TPURUN_TESTS_OPS_KERNEL_CASE_H_
#define TPURUN_TESTS_OPS_KERNEL_CASE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/ir/op_def.h"
#include "tests/ops/op_case.h"

namespace tpurun {

// The products of parts that a product of whole values is at this precision.
int64_t ProductsOfParts(int64_t precision);
Shape F32(std::vector<int64_t> dims);
// Numbers in [-1, 1).
Literal RandomLiteral(const Shape& shape, uint32_t stream);
// The first `rows` rows.
Shape Rows(Shape shape, int64_t rows);
Literal Rows(const Literal& literal, int64_t rows);

// The machines that this processor can stand for: without some of its instruction sets, and asking
// the library. The library multiplies with AMX and where it is asked to, and it runs on any
// processor.
std::vector<Machine> MachinesOfThisProcessor();

// The kernels with an offer for the call on one of these machines, planned for the first such
// machine. Not the reference.
struct OfferedKernel {
  Machine machine;
  KernelPlan plan;
};
std::vector<OfferedKernel> KernelsOf(const OpCall& call);

// The units of each of the call's parts.
std::vector<std::pair<int64_t, int64_t>> SharesOf(const OpCall& call);
// Runs the planned kernel on each share, from the last to the first; worker i % 2 takes share i.
// Expects that nothing is written behind its scratch memory.
std::vector<Literal> RunPlan(const OpCall& call, const KernelPlan& plan,
                             const std::vector<Literal>& operands);
// Its first result.
Literal RunPlanned(const OpCall& call, const KernelPlan& plan,
                   const std::vector<Literal>& operands);

// Expects it of every kernel that has an offer for the call on a level of machine that this one can
// stand for. `products` are those of whole values in a sum; each is that of several parts.
void ExpectNearReference(const std::string& op, const Attrs& attrs, std::vector<Shape> shapes,
                         int parts, double products, int replicas = 1);

}  // namespace tpurun

#endif  // TPURUN_TESTS_OPS_KERNEL_CASE_H_
