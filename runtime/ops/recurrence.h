// The loop over time of recurrent ops, whatever their cell. N rows, T steps, U units, x (N, T, W):
// what each step adds to the products of the state with weights, W being so many gates of U each.
//
// All that a step multiplies is of its rows in a product of their own; everything else is of one
// row. So the op is row by row, and which rows are computed together changes no bit.
#ifndef TPURUN_RUNTIME_OPS_RECURRENCE_H_
#define TPURUN_RUNTIME_OPS_RECURRENCE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "runtime/ir/graph_builder.h"
#include "runtime/ops/gate_functions.h"
#include "runtime/ops/ops.h"

namespace tpurun {

// One step of one row. What is in and out holds what it was before the step, then what it is
// behind it.
struct CellStep {
  const float* x;         // (W)
  const float* products;  // the gates of one product
  float* kept;            // what the gradient reads
  float* h;               // (U), in and out
  float* c;               // likewise, of a cell that has it
  float* left;            // (U): what the second product multiplies
  float* spare;           // 2 U
};

// The gradient of that.
struct CellGradStep {
  const float* kept;
  const float *h_before, *h;  // (U), of the state before and behind the step
  const float *c_before, *c;
  float* dh;           // (U), in and out: out without what comes through the first product
  float* dc;           // likewise
  float* dx;           // (W), out
  float* dproducts;    // the gates of one product, out
  const float* dleft;  // (U): of what the second product multiplied
  float* left;         // (U), out: that itself
  float* spare;        // 2 U
};

// One step of all rows in ops of their own, N being the rows.
struct StepInOps {
  GraphBuilder& b;
  int64_t units;
  Precision precision;
  Value x;                     // (N, W)
  std::vector<Value> weights;  // of each product
  Value bias;                  // (W), of the first; invalid: there is none
  Value h, c;                  // (N, U), in and out; c of a cell that has it

  Value Product(int product, Value left);
  // `count` gates of (N, several U), the first of them `first`.
  Value Gates(Value gates, int64_t first, int64_t count = 1);
  Value Apply(GateFunction f, Value x);
};

// A cell multiplies in one product, its h with weights (U, W), or in two, of which the second has
// another left operand. Step is called once a product, behind it; StepGrad in the opposite order,
// ahead of the product that takes dproducts back to dh or dleft.
class RecurrentCell {
 public:
  explicit RecurrentCell(int64_t units, std::vector<int64_t> gates, int64_t kept_gates)
      : units(units), gates(std::move(gates)), kept_gates(kept_gates) {}
  virtual ~RecurrentCell() = default;
  virtual void Step(int product, const CellStep& row) const = 0;
  virtual void StepGrad(int product, const CellGradStep& row) const = 0;
  // Both of a step's products and all between.
  virtual void StepAsOps(StepInOps& step) const = 0;

  int64_t Width() const;  // W

  const int64_t units;
  const std::vector<int64_t> gates;  // of each product
  const int64_t kept_gates;          // that a step keeps for the gradient
};

// A call of a recurrent op or of its gradient, and which of its operands and results is what; -1:
// there is none. Operand 0 is x, or the gradient of h; result 0 is h, or the gradient of x.
struct Recurrence {
  std::shared_ptr<const RecurrentCell> cell;
  bool is_gradient = false;
  std::vector<int> weights;  // of each product
  int bias = -1;             // (W), added to the first product
  int h0 = 0, c0 = -1, mask = -1;
  // Results of the op, operands of its gradient, of every step.
  int h = 0, c = -1, kept = -1;
  int dc = -1;
  // Results of the gradient.
  int dh0 = 1, dc0 = -1;
  std::vector<int> lefts;  // what each product multiplied, (N, T, U) at the places of x
  int dproducts = -1;      // where they differ from the gradient of x
  int sums = -1;           // the gradient of x summed over time, (N, W)
};

// The attributes of a call from C++.
Attrs AttrsOf(const RecurrentArgs& args);
// {precision, go_backwards, ...functions}.
std::vector<AttrDef> RecurrenceAttrs(const std::vector<std::string>& functions);
// Function attribute `name`, which has been checked.
GateFunction FunctionOf(const Attrs& attrs, const std::string& name);
// Checks precision, functions and shapes: operand i is `want[i]`, behind them there may be those
// of `more`, in that order. `letters` says it all in words.
absl::Status CheckRecurrence(const std::string& op, const std::string& letters,
                             std::span<const Shape> operands, const Attrs& attrs,
                             const std::vector<std::string>& functions,
                             const std::vector<Shape>& want, const std::vector<Shape>& more);

// Everything but weights and a bias goes by rows; weights are rounded at precision 0.
void RefineRecurrence(const Recurrence& recurrence, const OpCall& call, OpFlags& flags);
double RecurrenceFlops(const Recurrence& recurrence, const OpCall& call);

// left' dproducts (U, W): the gradient of weights that multiplied left (N, T, U), from that of the
// products (N, T, W).
Value RecurrentKernelGradient(GraphBuilder& b, Value left, Value dproducts, const Attrs& attrs);

// Products row by row in the order of matmul's reference.
std::unique_ptr<Kernel> ReferenceRecurrence(const Recurrence& recurrence, const OpCall& call);
// Products by matmul's kernels, of all rows of a share at once; weights in the layout that these
// like best, once a call. Reads and writes bf16 itself.
KernelPlan PlanRecurrence(const Recurrence& recurrence, const OpCall& call, const Machine& machine);
std::unique_ptr<Kernel> MakeRecurrence(const Recurrence& recurrence, const OpCall& call,
                                       const KernelPlan& plan);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_RECURRENCE_H_
