#include "runtime/ops/recurrence.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/bfloat16.h"
#include "runtime/base/status.h"
#include "runtime/ir/tpu_stages.h"
#include "runtime/ops/op_list.h"
#include "runtime/ops/precision.h"
#include "runtime/ops/shares.h"
#include "runtime/ops/step_product.h"

namespace tpurun {
namespace {

void CopyRow(const float* from, int64_t n, float* to) { std::memcpy(to, from, n * sizeof(float)); }
void ClearRow(int64_t n, float* to) { std::fill_n(to, n, 0.0f); }

// True if dtype and dimensions are equal. The layouts may differ, because weights may be packed.
bool Alike(const Shape& x, const Shape& y) { return x.dtype == y.dtype && x.dims == y.dims; }

std::vector<StepProductDef> ProductDefs(const Recurrence& r) {
  std::vector<StepProductDef> defs;
  for (const int weights : r.weights) {
    const bool first = defs.empty();
    defs.push_back({.weights = weights,
                    .transposed = r.is_gradient,
                    .bias = first && !r.is_gradient ? r.bias : -1});
  }
  return defs;
}

// The loop over the time steps for a share of the rows. A gradient starts with the last step.
class TimeLoop : public Kernel {
 public:
  TimeLoop(const Recurrence& r, const OpCall& call, std::vector<StepProduct> products, int64_t rows)
      : r_(r),
        cell_(*r.cell),
        units_(cell_.units),
        width_(cell_.Width()),
        kept_(cell_.kept_gates * units_),
        steps_(call.operands[0].dims[1]),
        replicas_per_call_(call.replicas_per_call),
        rows_of_replica_(call.operands[0].dims[0]),
        backwards_(call.attrs.Get<bool>("go_backwards")),
        products_(std::move(products)),
        rows_(rows) {
    for (const StepProduct& product : products_) {
      prepared_.push_back(bytes_);
      bytes_ += product.prepared_bytes();
    }
    for (const Shape& operand : call.operands) {
      const bool bf16 = operand.dtype == DType::kBF16 && operand.layout.plain();
      operands_.push_back({operand.dims.back(), bf16, bf16 ? Place(operand.dims.back()) : 0});
    }
    for (const Shape& result : call.results)
      results_.push_back({result.dims.back(), result.dtype == DType::kBF16});
  }

  // Bytes of scratch memory, without the scratch memory of the products, which comes after it.
  int64_t bytes() const { return bytes_; }

  void SetWorkers(int workers) override {
    for (StepProduct& product : products_) product.SetWorkers(workers);
  }

  absl::Status Run(const KernelArgs& args) const override {
    if (args.begin == args.end) return absl::OkStatus();
    for (size_t i = 0; i < products_.size(); ++i)
      RETURN_IF_ERROR(products_[i].Prepare(args, Bytes(args) + prepared_[i]));
    Begin(args);
    for (int64_t i = 0; i < steps_; ++i)
      RETURN_IF_ERROR(Step(args, r_.is_gradient ? steps_ - 1 - i : i));
    End(args);
    return absl::OkStatus();
  }

 protected:
  virtual void Begin(const KernelArgs& args) const = 0;
  virtual absl::Status Step(const KernelArgs& args, int64_t step) const = 0;
  virtual void End(const KernelArgs& args) const = 0;

  // Reserves scratch memory for one row of `floats` elements (Place) or for all rows (PlaceOfRows).
  int64_t Place(int64_t floats) {
    const int64_t place = bytes_;
    bytes_ += Aligned(floats * static_cast<int64_t>(sizeof(float)));
    return place;
  }
  int64_t PlaceOfRows(int64_t floats) { return Place(rows_ * floats); }

  static std::byte* Bytes(const KernelArgs& args) { return static_cast<std::byte*>(args.scratch); }
  static float* At(const KernelArgs& args, int64_t place) {
    return reinterpret_cast<float*>(Bytes(args) + place);
  }

  // Row `row` of an operand. With a step, the values of the row at this step.
  const float* Operand(const KernelArgs& args, int operand, int64_t row, int64_t step = -1) const {
    const Row& of = operands_[operand];
    const int64_t begin = PlaceInReplica(row, step) * of.width;
    const void* const values = args.operands[operand * replicas_per_call_ + row / rows_of_replica_];
    if (!of.bf16) return static_cast<const float*>(values) + begin;
    float* const f32 = At(args, of.staged);
    FromBFloat16(static_cast<const uint16_t*>(values) + begin, of.width, f32);
    return f32;
  }

  // The values that Operand will read where they are, or `own` if it converts them or there is no
  // such row.
  const float* Ahead(const KernelArgs& args, int operand, int64_t row, int64_t step,
                     const float* own) const {
    return operand < 0 || operands_[operand].bf16 || row >= args.end
               ? own
               : Operand(args, operand, row, step);
  }

  // The address at which row `row` of a result, at `step`, may be written: in the result itself, or
  // `own`, from which Give copies it.
  float* PlaceOf(const KernelArgs& args, int result, int64_t row, int64_t step, float* own) const {
    void* const all = Result(args, result, row);
    if (all == nullptr || results_[result].bf16) return own;
    return static_cast<float*>(all) + PlaceInReplica(row, step) * results_[result].width;
  }

  // Does nothing if the result is not needed or already has the values in place.
  void Give(const KernelArgs& args, int result, int64_t row, int64_t step,
            const float* values) const {
    void* const all = Result(args, result, row);
    if (all == nullptr) return;
    const Row& of = results_[result];
    const int64_t begin = PlaceInReplica(row, step) * of.width;
    if (of.bf16) {
      RoundToBFloat16(values, of.width, static_cast<uint16_t*>(all) + begin);
    } else if (float* const place = static_cast<float*>(all) + begin; place != values) {
      CopyRow(values, of.width, place);
    }
  }

  // The result of the row's replica, or nullptr if there is none.
  void* Result(const KernelArgs& args, int result, int64_t row) const {
    return result < 0 ? nullptr
                      : args.results[result * replicas_per_call_ + row / rows_of_replica_];
  }

  // The index of row `row` of all replicas of the call among the rows of its own replica. With a
  // step, the index of the row's step.
  int64_t PlaceInReplica(int64_t row, int64_t step) const {
    const int64_t own = row % rows_of_replica_;
    return step < 0 ? own : own * steps_ + step;
  }

  // The index in x of the values that a step reads.
  int64_t TimeOf(int64_t step) const { return backwards_ ? steps_ - 1 - step : step; }

  bool IsMasked(const KernelArgs& args, int64_t row, int64_t time) const {
    if (r_.mask < 0) return false;
    const int64_t at = PlaceInReplica(row, time);
    const void* const mask = args.operands[r_.mask * replicas_per_call_ + row / rows_of_replica_];
    const float value = operands_[r_.mask].bf16
                            ? FromBFloat16Bits(static_cast<const uint16_t*>(mask)[at])
                            : static_cast<const float*>(mask)[at];
    return value < 0.5f;
  }

  absl::Status Multiply(const KernelArgs& args, int product, const float* x, float* y) const {
    return products_[product].Run(args, Bytes(args) + prepared_[product], x, args.end - args.begin,
                                  y, Bytes(args) + bytes_);
  }

  bool IsBF16(int operand) const { return operands_[operand].bf16; }
  int num_products() const { return static_cast<int>(products_.size()); }
  int64_t ColumnsOf(int product) const { return cell_.gates[product] * units_; }

  const Recurrence r_;
  const RecurrentCell& cell_;
  const int64_t units_, width_, kept_, steps_;

 private:
  struct Row {
    int64_t width = 0;
    bool bf16 = false;
    int64_t staged = 0;  // the place of its f32 values, for a bf16 operand
  };

  const int64_t replicas_per_call_, rows_of_replica_;
  const bool backwards_;
  std::vector<StepProduct> products_;
  const int64_t rows_;
  int64_t bytes_ = 0;
  std::vector<int64_t> prepared_;
  std::vector<Row> operands_, results_;
};

class ForwardLoop final : public TimeLoop {
 public:
  ForwardLoop(const Recurrence& r, const OpCall& call, std::vector<StepProduct> products,
              int64_t rows)
      : TimeLoop(r, call, std::move(products), rows) {
    for (int p = 0; p < num_products(); ++p) gates_.push_back(PlaceOfRows(ColumnsOf(p)));
  }

 private:
  void Begin(const KernelArgs& args) const override {
    for (int64_t row = args.begin; row < args.end; ++row) {
      const int64_t at = (row - args.begin) * units_;
      CopyRow(Operand(args, r_.h0, row), units_, At(args, h_) + at);
      if (r_.c0 >= 0) CopyRow(Operand(args, r_.c0, row), units_, At(args, c_) + at);
    }
  }

  absl::Status Step(const KernelArgs& args, int64_t step) const override {
    for (int p = 0; p < num_products(); ++p) {
      RETURN_IF_ERROR(Multiply(args, p, At(args, p == 0 ? h_ : left_), At(args, gates_[p])));
      for (int64_t row = args.begin; row < args.end; ++row) {
        StepRow(args, p, row, step);
        // While a first-level cache has the row.
        if (p + 1 == num_products()) GiveRow(args, row, step);
      }
    }
    return absl::OkStatus();
  }

  void GiveRow(const KernelArgs& args, int64_t row, int64_t step) const {
    const int64_t i = row - args.begin;
    Give(args, 0, row, step, At(args, h_) + i * units_);
    Give(args, r_.c, row, step, At(args, c_) + i * units_);
    Give(args, r_.kept, row, step, Kept(args, row, step));
  }

  void StepRow(const KernelArgs& args, int product, int64_t row, int64_t step) const {
    const int64_t i = row - args.begin, time = TimeOf(step);
    float* const kept = Kept(args, row, step);
    if (IsMasked(args, row, time)) {
      ClearRow(kept_, kept);
      return;
    }
    const float* const x = Operand(args, 0, row, time);
    cell_.Step(product, {.x = x,
                         .products = At(args, gates_[product]) + i * ColumnsOf(product),
                         .kept = kept,
                         .h = At(args, h_) + i * units_,
                         .c = At(args, c_) + i * units_,
                         .left = At(args, left_) + i * units_,
                         .spare = At(args, spare_),
                         .x_ahead = Ahead(args, 0, row + 1, time, x),
                         .kept_ahead = row + 1 < args.end ? Kept(args, row + 1, step) : kept});
  }

  float* Kept(const KernelArgs& args, int64_t row, int64_t step) const {
    return PlaceOf(args, r_.kept, row, step, At(args, kept_gates_) + (row - args.begin) * kept_);
  }

  void End(const KernelArgs&) const override {}

  const int64_t h_ = PlaceOfRows(units_), c_ = PlaceOfRows(units_), left_ = PlaceOfRows(units_);
  const int64_t kept_gates_ = PlaceOfRows(kept_), spare_ = Place(2 * units_);
  std::vector<int64_t> gates_;
};

class BackwardLoop final : public TimeLoop {
 public:
  BackwardLoop(const Recurrence& r, const OpCall& call, std::vector<StepProduct> products,
               int64_t rows)
      : TimeLoop(r, call, std::move(products), rows) {
    for (int p = 0; p < num_products(); ++p) dgates_.push_back(PlaceOfRows(ColumnsOf(p)));
  }

 private:
  void Begin(const KernelArgs& args) const override {
    ClearRow((args.end - args.begin) * units_, At(args, dh_));
    ClearRow((args.end - args.begin) * units_, At(args, dc_));
    for (int64_t row = args.begin; row < args.end; ++row) {
      if (float* const sums = Sums(args, row)) ClearRow(width_, sums);
    }
  }

  absl::Status Step(const KernelArgs& args, int64_t step) const override {
    for (int p = num_products(); p-- > 0;) {
      for (int64_t row = args.begin; row < args.end; ++row) {
        if (p + 1 == num_products()) TakeRow(args, row, step);
        StepRow(args, p, row, step);
        // While a first-level cache has the row.
        if (p == 0) GiveRow(args, row, step);
      }
      RETURN_IF_ERROR(Multiply(args, p, At(args, dgates_[p]), At(args, dleft_)));
    }
    AddArrays(At(args, dh_), At(args, dleft_), (args.end - args.begin) * units_, At(args, dh_));
    return absl::OkStatus();
  }

  // Adds the gradients of this step's results.
  void TakeRow(const KernelArgs& args, int64_t row, int64_t step) const {
    const int64_t at = (row - args.begin) * units_;
    AddTo(At(args, dh_) + at, Operand(args, 0, row, step));
    if (r_.dc >= 0) AddTo(At(args, dc_) + at, Operand(args, r_.dc, row, step));
  }

  void GiveRow(const KernelArgs& args, int64_t row, int64_t step) const {
    const int64_t i = row - args.begin, time = TimeOf(step);
    Give(args, 0, row, time, Dx(args, row, time));
    if (float* const sums = Sums(args, row)) AddArrays(sums, Dx(args, row, time), width_, sums);
    Give(args, r_.left, row, time, At(args, left_) + i * units_);
    Give(args, r_.dproducts, row, time, At(args, dgates_[0]) + i * ColumnsOf(0));
  }

  void StepRow(const KernelArgs& args, int product, int64_t row, int64_t step) const {
    const int64_t i = row - args.begin;
    float* const dx = Dx(args, row, TimeOf(step));
    float* const dgates = At(args, dgates_[product]) + i * ColumnsOf(product);
    float* const left = At(args, left_) + i * units_;
    if (IsMasked(args, row, TimeOf(step))) {
      ClearRow(width_, dx);
      ClearRow(ColumnsOf(product), dgates);
      ClearRow(units_, left);
      return;
    }
    const float* const h = Behind(args, r_.h, row, step, h_);
    const float* const h_before = Before(args, r_.h, r_.h0, row, step);
    const float* const c = Behind(args, r_.c, row, step, c_);
    const float* const kept = r_.kept < 0 ? nullptr : Operand(args, r_.kept, row, step);
    const float* const c_before = Before(args, r_.c, r_.c0, row, step);
    float* const dh = At(args, dh_) + i * units_;
    const bool is_first = step == 0;
    cell_.StepGrad(product, {.kept = kept,
                             .h_before = h_before,
                             .h = h,
                             .c_before = c_before,
                             .c = c,
                             .dh = dh,
                             .dc = At(args, dc_) + i * units_,
                             .dx = dx,
                             .dproducts = dgates,
                             .dleft = At(args, dleft_) + i * units_,
                             .left = left,
                             .spare = At(args, spare_),
                             .kept_ahead = Ahead(args, r_.kept, row + 1, step, kept),
                             .c_ahead = Ahead(args, is_first ? r_.c0 : r_.c, row + 1,
                                              is_first ? -1 : step - 1, c_before),
                             .dh_ahead = Ahead(args, 0, row + 1, step, dh)});
  }

  // True if the gradient of the only product is that of x.
  bool IsProductOfX() const { return num_products() == 1 && r_.dproducts < 0; }

  // The gradient of x summed over the steps so far, or nullptr if it is not needed.
  float* Sums(const KernelArgs& args, int64_t row) const {
    return PlaceOf(args, r_.sums, row, -1, nullptr);
  }

  float* Dx(const KernelArgs& args, int64_t row, int64_t time) const {
    if (IsProductOfX()) return At(args, dgates_[0]) + (row - args.begin) * width_;
    return PlaceOf(args, 0, row, time, At(args, dx_) + (row - args.begin) * width_);
  }

  void AddTo(float* sum, const float* values) const { AddArrays(sum, values, units_, sum); }

  // The state before a step; nullptr if the gradient does not read this state.
  const float* Before(const KernelArgs& args, int state, int initial, int64_t row,
                      int64_t step) const {
    if (state < 0) return nullptr;
    return step == 0 ? Operand(args, initial, row) : Operand(args, state, row, step - 1);
  }

  // The state after a step, likewise. A bf16 state is copied, because Before converts to the same
  // f32 memory.
  const float* Behind(const KernelArgs& args, int state, int64_t row, int64_t step,
                      int64_t place) const {
    if (state < 0) return nullptr;
    const float* const values = Operand(args, state, row, step);
    if (!IsBF16(state)) return values;
    CopyRow(values, units_, At(args, place));
    return At(args, place);
  }

  void End(const KernelArgs& args) const override {
    for (int64_t row = args.begin; row < args.end; ++row) {
      const int64_t at = (row - args.begin) * units_;
      Give(args, r_.dh0, row, -1, At(args, dh_) + at);
      Give(args, r_.dc0, row, -1, At(args, dc_) + at);
    }
  }

  const int64_t dh_ = PlaceOfRows(units_), dc_ = PlaceOfRows(units_), left_ = PlaceOfRows(units_);
  const int64_t dleft_ = PlaceOfRows(units_);
  const int64_t dx_ = IsProductOfX() ? 0 : PlaceOfRows(width_);
  const int64_t h_ = Place(units_), c_ = Place(units_), spare_ = Place(2 * units_);
  std::vector<int64_t> dgates_;
};

std::unique_ptr<TimeLoop> LoopOf(const Recurrence& r, const OpCall& call,
                                 std::vector<StepProduct> products, int64_t rows) {
  if (r.is_gradient) return std::make_unique<BackwardLoop>(r, call, std::move(products), rows);
  return std::make_unique<ForwardLoop>(r, call, std::move(products), rows);
}

// With products by matmul's kernel `matmul`. nullptr if one of them cannot be made and `must_run`.
std::unique_ptr<TimeLoop> LoopWith(const KernelDef& matmul, const KernelOffer& offer,
                                   const Recurrence& r, const OpCall& call, bool must_run) {
  const std::vector<int64_t> sizes = ShareSizes(call);
  std::vector<StepProduct> products;
  for (const StepProductDef& def : ProductDefs(r)) {
    products.emplace_back(def, call, matmul, offer, sizes);
    if (must_run && !products.back().good()) return nullptr;
  }
  return LoopOf(r, call, std::move(products), sizes.empty() ? 0 : sizes.back());
}

std::optional<KernelOffer> OfferRecurrence(const KernelDef& matmul, const Recurrence& r,
                                           const OpCall& call, const Machine& machine) {
  std::optional<KernelOffer> offer = OfferStepProducts(ProductDefs(r), call, matmul, machine);
  if (!offer) return std::nullopt;
  offer->native_bf16 = true;
  offer->copied_bytes *= call.operands[0].dims[1] * call.parts;  // in every step
  for (const int weights : r.weights) {
    if (offer->best_operands.empty() || offer->best_operands[weights] == call.operands[weights])
      continue;
    offer->copied_bytes += offer->best_operands[weights].bytes() * call.parts;
  }
  offer->scratch_bytes += LoopWith(matmul, *offer, r, call, false)->bytes();
  return offer;
}

}  // namespace

int64_t RecurrentCell::Width() const {
  int64_t all = 0;
  for (const int64_t count : gates) all += count;
  return all * units;
}

Attrs AttrsOf(const RecurrentArgs& args) {
  Attrs attrs = {{"precision", static_cast<int64_t>(args.precision)},
                 {"activation", args.activation},
                 {"recurrent_activation", args.recurrent_activation}};
  if (args.go_backwards) attrs.Set("go_backwards", true);
  return attrs;
}

std::vector<AttrDef> RecurrenceAttrs(const std::vector<std::string>& functions) {
  std::vector<AttrDef> attrs = {{"precision", int64_t{0}, true}, {"go_backwards", false}};
  for (const std::string& name : functions) attrs.push_back({name, std::string("tanh"), true});
  return attrs;
}

GateFunction FunctionOf(const Attrs& attrs, const std::string& name) {
  return ParseGateFunction(attrs.String(name)).value_or(GateFunction::kLinear);
}

absl::Status CheckRecurrence(const std::string& op, const std::string& letters,
                             std::span<const Shape> operands, const Attrs& attrs,
                             const std::vector<std::string>& functions,
                             const std::vector<Shape>& want, const std::vector<Shape>& more) {
  if (!ValidPrecision(attrs)) {
    return absl::InvalidArgumentError(
        absl::StrCat(op, ": precision is 0 to 3, got ", attrs.Int("precision")));
  }
  for (const std::string& name : functions) {
    if (ParseGateFunction(attrs.String(name))) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        op, ": ", name, " is one of ", RecurrentFunctionNames(), ", got ", attrs.String(name)));
  }
  bool good = operands[0].rank() == 3 && operands[0].dims[1] > 0 && operands.size() >= want.size();
  for (size_t i = 0; good && i < want.size(); ++i) good = Alike(operands[i], want[i]);
  size_t next = 0;
  for (size_t i = want.size(); good && i < operands.size(); ++i) {
    while (next < more.size() && !Alike(operands[i], more[next])) ++next;
    good = next++ < more.size();
  }
  if (good) return absl::OkStatus();
  std::string got;
  for (const Shape& shape : operands)
    absl::StrAppend(&got, got.empty() ? "" : ", ", shape.ToString());
  return absl::InvalidArgumentError(absl::StrCat(op, ": want ", letters, ", got ", got));
}

void RefineRecurrence(const Recurrence& recurrence, const OpCall& call, OpFlags& flags) {
  uint32_t weights = 0;
  for (const int operand : recurrence.weights) weights |= 1u << operand;
  flags.row_operands = ~(weights | kAllOperands);
  if (recurrence.bias >= 0) flags.row_operands &= ~(1u << recurrence.bias);
  if (PrecisionOf(call.attrs) == Precision::kDefault) flags.rounds = weights;
}

void RecurrenceCost(const Recurrence& recurrence, const OpCall& call, Cost& cost) {
  const Shape& x = call.operands[0];
  const double steps = 1.0 * x.dims[0] * x.dims[1];
  const double width = static_cast<double>(recurrence.cell->Width());
  const double units = static_cast<double>(recurrence.cell->units);
  const double products = static_cast<double>(PartProducts(PrecisionOf(call.attrs)).size());
  cost.matrix_flops = 2 * steps * width * units * products;
  const RecurrentCell::UnitWork& work =
      recurrence.is_gradient ? recurrence.cell->backward : recurrence.cell->forward;
  cost.vector_flops = steps * units * work.flops;
  cost.transcendentals = steps * units * work.transcendentals;
}

TpuWork RecurrenceOnTpu(const Recurrence& recurrence, const OpCall& call) {
  const Shape& x = call.operands[0];
  const int64_t steps = x.dims[1];
  const int64_t width = recurrence.cell->Width(), units = recurrence.cell->units;
  const int64_t weights = width * units * ByteSize(DType::kBF16);
  const int64_t products = x.dims[0] * width * ByteSize(DType::kF32);
  // Slices of the arrays of all steps, the gates, the new states.
  constexpr int64_t kComputationsOfStep = 10;
  TpuStage cell = WholeStage(call, TpuStage::Kind::kAlone);
  cell.iterations = steps * kComputationsOfStep;
  if (recurrence.is_gradient) cell.summing_steps = steps;
  cell.extra_bytes = static_cast<double>(steps * products);
  return {.stages = {{.kind = TpuStage::Kind::kAlone,
                      .products = {{.count = TpuPasses(call.attrs) * static_cast<double>(steps),
                                    .m = x.dims[0],
                                    .k = recurrence.is_gradient ? width : units,
                                    .n = recurrence.is_gradient ? units : width}},
                      .extra_bytes = static_cast<double>(steps * (weights + products))},
                     std::move(cell)}};
}

Value StatesBefore(GraphBuilder& b, Value h0, Value h, const Attrs& attrs) {
  const std::vector<int64_t> dims = b.shape(h).dims;
  const int64_t n = dims[0], t = dims[1], u = dims[2];
  std::vector<Value> steps = {Reshape(b, h0, {n, 1, u})};
  if (t > 1) steps.push_back(Slice(b, h, {0, 0, 0}, {n, t - 1, u}));
  const Value before = Concat(b, steps, 1);
  return attrs.Get<bool>("go_backwards") ? Reverse(b, before, 1) : before;
}

Value RecurrentKernelGradient(GraphBuilder& b, Value left, Value dproducts, const Attrs& attrs) {
  const auto as_rows = [&](Value value) {
    const Shape shape = b.shape(value);
    const int64_t columns = shape.dims.back();
    return Reshape(b, value, {shape.dims[0] * shape.dims[1], columns});
  };
  return MatMul(b, as_rows(left), as_rows(dproducts), PrecisionOf(attrs), true);
}

std::unique_ptr<Kernel> ReferenceRecurrence(const Recurrence& recurrence, const OpCall& call) {
  Recurrence plain = recurrence;
  if (plain.plain_cell != nullptr) plain.cell = plain.plain_cell;
  std::vector<StepProduct> products;
  for (const StepProductDef& def : ProductDefs(plain)) products.emplace_back(def, call);
  const std::shared_ptr<const TimeLoop> loop =
      LoopOf(plain, call, std::move(products), Units(call) * call.replicas_per_call);
  class Reference final : public Kernel {
   public:
    explicit Reference(std::shared_ptr<const TimeLoop> loop) : loop_(std::move(loop)) {}
    absl::Status Run(const KernelArgs& args) const override {
      std::vector<std::byte> scratch(loop_->bytes());
      KernelArgs own = args;
      own.scratch = scratch.data();
      return loop_->Run(own);
    }

   private:
    const std::shared_ptr<const TimeLoop> loop_;
  };
  return std::make_unique<Reference>(loop);
}

std::vector<KernelDef> RecurrenceKernels(Recurrence (*of)(const OpCall& call)) {
  std::vector<KernelDef> kernels;
  for (const KernelDef& matmul : OpOfFamily(MatMulOps(), "matmul").kernels) {
    kernels.push_back({.name = matmul.name,
                       .is_library = matmul.is_library,
                       .multiplies_bf16 = matmul.multiplies_bf16,
                       .reorders_sums = matmul.reorders_sums,
                       .any_share = matmul.any_share,
                       .offer =
                           [&matmul, of](const OpCall& call, const Machine& machine) {
                             return OfferRecurrence(matmul, of(call), call, machine);
                           },
                       .make = [&matmul, of](const OpCall& call,
                                             const KernelOffer& offer) -> std::unique_ptr<Kernel> {
                         return LoopWith(matmul, offer, of(call), call, true);
                       }});
  }
  return kernels;
}

}  // namespace tpurun
