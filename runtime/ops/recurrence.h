// The loop over time of recurrent ops, for any cell. N rows, T steps, U units. x (N, T, W) is added
// to the products of the state with weights in each step. W is the width of all gates, U each.
//
// In each product of a step, a result row depends only on its own row. All other work of a step is
// done one row at a time. The op is therefore row by row, and the choice of rows that are computed
// together changes no bit.
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

// One step of one row. In-out arrays hold the value before the step, then the value after the step.
// Arrays `ahead` are those of the row that is computed next, or of this one: a cell may have the
// processor read them ahead of time. In memory the next step of this row comes behind this step,
// not the next row.
struct CellStep {
  const float* x;         // (W)
  const float* products;  // the gates of the product that has been computed
  float* kept;            // values that the gradient reads
  float* h;               // (U), in-out
  float* c;               // (U), in-out, for cells that have c
  float* left;            // (U): the left operand of the second product
  float* spare;           // temporary, 2 U elements
  const float* x_ahead;
  const float* kept_ahead;
};

// The gradient of one step of one row.
struct CellGradStep {
  const float* kept;
  const float *h_before, *h;  // (U), the state before and after the step, for cells that read it
  const float *c_before, *c;
  float* dh;           // (U), in-out; the result lacks the contribution through the first product
  float* dc;           // (U), in-out
  float* dx;           // (W), out
  float* dproducts;    // out: the gradient of the gates of one product; dx if it is that of all
  const float* dleft;  // (U): the gradient of the left operand of the second product
  float* left;         // (U), out: the left operand of the second product
  float* spare;        // temporary, 2 U elements
  const float* kept_ahead;
  const float* c_ahead;   // (U): c_before
  const float* dh_ahead;  // (U): what is added to dh
};

// One step of all N rows, expressed in separate ops.
struct StepInOps {
  GraphBuilder& b;
  int64_t units;
  Precision precision;
  Value x;                     // (N, W)
  std::vector<Value> weights;  // [product]
  Value bias;                  // (W), of the first product; invalid if there is none
  Value h, c;                  // (N, U), in-out; c for cells that have it

  Value Product(int product, Value left);
  // `count` gates of `gates` (N, several U), starting at gate `first`.
  Value Gates(Value gates, int64_t first, int64_t count = 1);
  Value Apply(GateFunction f, Value x);
};

// A cell has one product per step (h times weights (U, W)) or two. The second product has another
// left operand. Step is called once for each product, after the product. StepGrad is called in the
// opposite order, before the product that maps dproducts back to dh or dleft.
class RecurrentCell {
 public:
  // The operations of a unit in one step, besides the products: a function is a transcendental, its
  // slope 3 flops.
  struct UnitWork {
    int flops = 0, transcendentals = 0;
  };

  RecurrentCell(int64_t units, std::vector<int64_t> gates, int64_t kept_gates, UnitWork forward,
                UnitWork backward)
      : units(units),
        gates(std::move(gates)),
        kept_gates(kept_gates),
        forward(forward),
        backward(backward) {}
  virtual ~RecurrentCell() = default;
  virtual void Step(int product, const CellStep& row) const = 0;
  virtual void StepGrad(int product, const CellGradStep& row) const = 0;
  // Both products of a step and all work between them.
  virtual void StepAsOps(StepInOps& step) const = 0;

  int64_t Width() const;  // W

  const int64_t units;
  const std::vector<int64_t> gates;  // gates of each product
  const int64_t kept_gates;          // gates that a step keeps for the gradient
  const UnitWork forward, backward;
};

// A call of a recurrent op or of its gradient. The ints are indices of operands and results; -1:
// the call has none. Operand 0 is x, or the gradient of h. Result 0 is h, or the gradient of x.
struct Recurrence {
  std::shared_ptr<const RecurrentCell> cell;
  // The same cell for the reference, one operation after the other. Null: `cell`.
  std::shared_ptr<const RecurrentCell> plain_cell;
  bool is_gradient = false;
  std::vector<int> weights;  // [product]
  int bias = -1;             // (W), added to the first product
  int h0 = -1, c0 = -1, mask = -1;
  // Results of the op and operands of its gradient, with values for every step.
  int h = -1, c = -1, kept = -1;
  int dc = -1;
  // Results of the gradient.
  int dh0 = 1, dc0 = -1;
  int left = -1;       // the left operand of the second product, (N, T, U), ordered as x
  int dproducts = -1;  // the gradient of the products, if it differs from the gradient of x
  int sums = -1;       // the gradient of x summed over time, (N, W)
};

// The attributes for a call made from C++.
Attrs AttrsOf(const RecurrentArgs& args);
// {precision, go_backwards, ...functions}.
std::vector<AttrDef> RecurrenceAttrs(const std::vector<std::string>& functions);
// The function attribute `name`, which must have been checked.
GateFunction FunctionOf(const Attrs& attrs, const std::string& name);
// Checks precision, functions and shapes. Operand i must be `want[i]`. After these operands, those
// of `more` are optional, in that order. `letters` describes the operands for the error message.
absl::Status CheckRecurrence(const std::string& op, const std::string& letters,
                             std::span<const Shape> operands, const Attrs& attrs,
                             const std::vector<std::string>& functions,
                             const std::vector<Shape>& want, const std::vector<Shape>& more);

// Sets the flags: all operands but weights and bias are row operands. Weights are rounded at
// precision 0.
void RefineRecurrence(const Recurrence& recurrence, const OpCall& call, OpFlags& flags);
// Sets the flops and transcendentals: the products with the state, and the cell's work.
void RecurrenceCost(const Recurrence& recurrence, const OpCall& call, Cost& cost);

// OpDef::tpu: a loop over time. Each step reads the weights, and writes and reads its products.
TpuWork RecurrenceOnTpu(const Recurrence& recurrence, const OpCall& call);

// The h (N, T, U) that each step of x is multiplied beside, from h0 (N, U) and the h of every step.
Value StatesBefore(GraphBuilder& b, Value h0, Value h, const Attrs& attrs);

// left' dproducts (U, W): the gradient of weights, from their left operand `left` (N, T, U) and the
// gradient of their products (N, T, W).
Value RecurrentKernelGradient(GraphBuilder& b, Value left, Value dproducts, const Attrs& attrs);

// Computes the products row by row in the order of matmul's reference.
std::unique_ptr<Kernel> ReferenceRecurrence(const Recurrence& recurrence, const OpCall& call);
// Computes the products with matmul's kernels, for all rows of a share at once. Weights that
// are not packed yet are packed once per call into the layout that these kernels prefer. Reads and
// writes bf16 itself.
std::vector<KernelDef> RecurrenceKernels(Recurrence (*of)(const OpCall& call));

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_RECURRENCE_H_
