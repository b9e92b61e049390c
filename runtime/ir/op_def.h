// OpDef: all properties of an op, as data. The printer, verifier, planner, compiler and device
// read these fields; they test which op a node has only for sources (a variable, the infeed). Each
// op is one paragraph in runtime/ops/FAMILY.cc.
#ifndef TPURUN_RUNTIME_IR_OP_DEF_H_
#define TPURUN_RUNTIME_IR_OP_DEF_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/base/chain_op.h"
#include "runtime/ir/attrs.h"
#include "runtime/ir/cost.h"
#include "runtime/ir/machine.h"
#include "runtime/ir/shape.h"
#include "runtime/ir/tpu_work.h"

namespace tpurun {

struct ExportCall;
struct Node;
struct OpDef;
class Graph;
class GraphBuilder;

// Result `result` of node `node`; printed %12, or %12:1 for result 1. Node -1 means no value.
struct Value {
  int node = -1;
  int result = 0;

  bool valid() const { return node >= 0; }
  bool operator==(const Value&) const = default;
  auto operator<=>(const Value&) const = default;
};

// How an instruction may be partitioned among workers. A kernel gets a range [begin, end) of these
// units and computes exactly that share of its results. It computes each element completely, so the
// partition never changes bits.
enum class WorkUnit : uint8_t {
  kWhole,     // not partitioned: begin 0, end 1
  kElements,  // elements of the results (all results have the same number of elements)
  kRows,      // entries of the leading dimension of result 0
  kColumns,   // entries of the last dimension of result 0
};

// How an op combines the values of all processes of a run.
enum class Exchange : uint8_t {
  kNone,    // it does not
  kSum,     // the sum of operand 0 over the processes, a pairwise tree over their ranks
  kConcat,  // operand 0 of process 0, of process 1 ..., along dimension 0
};

// One instruction as its kernel sees it.
struct OpCall {
  const OpDef* op = nullptr;
  Attrs attrs;
  std::vector<Shape> operands;
  std::vector<Shape> results;
  std::vector<bool> needed;  // [result]; a result that nobody reads is not computed
  int parts = 1;             // parts of the units, each run by one worker (BeginOfPart)
  int64_t rows = 0;          // rows that the parts share, of equally many units; 0: units are rows
  // A collective gets every operand of each of as many replicas (CopiesPerOperand).
  int num_replicas = 1;
  // Replicas whose units one call computes (OpFlags and KernelDef::spans_replicas).
  int replicas_per_call = 1;
  // Operands in f32 that were stored in bf16 (InF32). A product at DEFAULT need not round them.
  uint32_t rounded_operands = 0;
};

// The number of pointers per operand that a kernel gets: num_replicas for a collective (one per
// replica), else 1. The pointers come operand by operand, each operand's in replica order.
int CopiesPerOperand(const OpCall& call);

// If OpCall::replicas_per_call is R > 1, each operand and result has R pointers, one per replica,
// ordered like the operands of a collective. The units are then the units of the first replica,
// followed by the units of the next.
struct KernelArgs {
  const void* const* operands = nullptr;
  void* const* results = nullptr;  // nullptr if OpCall::needed is false
  void* scratch = nullptr;  // KernelOffer::scratch_bytes, 64-byte aligned, private to the call
  int worker = 0;  // index of the worker that runs the kernel, less than Kernel::SetWorkers' count
  // A kernel of an op with OpFlags::overwrites sets this to true if it writes a NaN or an infinity.
  // May be nullptr.
  bool* not_finite = nullptr;
  int64_t begin = 0;  // the share of the work, in the op's WorkUnit
  int64_t end = 0;
};

// Made once when a program is loaded. Run does not allocate (a reference may), lock or look
// anything up. Several workers may run one kernel at the same time with different args.
class Kernel {
 public:
  virtual ~Kernel() = default;
  // The number of workers that will run the kernel (1 if not called). Call before the first Run.
  virtual void SetWorkers(int) {}
  virtual absl::Status Run(const KernelArgs& args) const = 0;
};

// A kernel from a callable void(const KernelArgs&).
template <typename F>
std::unique_ptr<Kernel> KernelOf(F run) {
  class Callable final : public Kernel {
   public:
    explicit Callable(F run) : run_(std::move(run)) {}
    absl::Status Run(const KernelArgs& args) const override {
      run_(args);
      return absl::OkStatus();
    }

   private:
    F run_;
  };
  return std::make_unique<Callable>(std::move(run));
}

// The properties of a kernel for a call.
struct KernelOffer {
  std::vector<Shape> best_operands;  // preferred dtypes and layouts; empty: as the operands are
  int64_t scratch_bytes = 0;
  bool native_bf16 = false;  // reads bf16 operands and writes a bf16 result 0 itself, at less cost
  // Bytes of packed and converted copies that all parts of the call write to scratch memory. Each
  // is read again.
  int64_t copied_bytes = 0;
  std::string library_kernel;  // the implementation that the library chose; "" without a library
};

// A way to compute an op: a row of OpDef::kernels.
struct KernelDef {
  std::string name;  // in program texts: "gemm_avx2"
  bool is_library = false;
  bool multiplies_bf16 = false;  // with the processor's instructions for bf16
  bool reorders_sums = false;    // adds products in another order than the reference
  // A call may compute any share of the units, with the kernel's offer for it, and a unit has the
  // same bits in each. Kernels of element-wise ops always may.
  bool any_share = false;
  // Computes calls of several replicas, though their op does not ask for them
  // (OpFlags::spans_replicas). Its operand 0 has rows, the others are the same for all replicas.
  bool spans_replicas = false;
  // The offer for a call on a machine, or nullopt if the kernel cannot compute the call there or
  // another kernel is sure to be faster. Null: any call on plain operands, as they are.
  std::function<std::optional<KernelOffer>(const OpCall& call, const Machine& machine)> offer;
  // Makes the kernel that was offered. Returns nullptr if this processor lacks the instructions.
  std::function<std::unique_ptr<Kernel>(const OpCall& call, const KernelOffer& offer)> make;

  // True if its results have the bits of OpDef::reference; otherwise they differ by rounding.
  bool HasBitsOfReference() const { return !is_library && !reorders_sums; }
};

// Any call on plain operands, by OpDef::reference. Its name is "reference".
const KernelDef& ReferenceKernel();
// The kernel of the op with that name, or nullptr.
const KernelDef* FindKernel(const OpDef& op, std::string_view name);

// The kernel that a call gets, and its offer.
struct KernelPlan : KernelOffer {
  const KernelDef* kernel = nullptr;  // nullptr: no kernel computes the call (packed operands)
  bool converts_bf16 = false;         // bf16 is converted around it (bf16_conversion.h)

  std::string name() const { return kernel == nullptr ? "" : kernel->name; }
};

struct AttrDef {
  std::string name;
  AttrValue example;      // fixes the type
  bool required = false;  // an absent attribute that is not required has the op's own default
  // Parses an attribute whose text form is a string. Null: the type has its own text form.
  std::function<absl::StatusOr<AttrValue>(const std::string& text)> read;
};

// Properties of an op that several passes need. Per-operand properties are bit masks: bit i is
// operand i, bit 31 all operands.
struct OpFlags {
  WorkUnit unit = WorkUnit::kWhole;
  bool elementwise = false;   // operands: the result's shape, scalars, rows; unit is kElements
  uint32_t row_operands = 0;  // row r of the results reads only row r of these operands
  uint32_t rounds = 0;        // operands rounded to bf16 at DEFAULT precision
  uint32_t commutes = 0;      // result 0: op(round(x)) == round(op(x)) for these operands x
  uint32_t sign_only = 0;     // only the sign of these operands matters
  uint32_t class_ids = 0;     // operands with values in [0, C) if operand 0 is (..., C)
  // Operands with values in [0, V). Operand 0 is (V, ...) after its first kBatchDims dimensions.
  uint32_t row_ids = 0;
  // Every f32 element of the results is computed by f32 arithmetic. It is therefore never subnormal
  // (workers flush subnormals to zero) and never a signalling NaN.
  bool arithmetic = false;
  bool copies_elements = false;  // every element of result 0 is an element of operand 0
  bool is_bitcast = false;       // result 0 has the elements of operand 0 in the same order
  // The value differs between replicas even without per-core operands (infeed, replica_id).
  bool per_replica = false;
  // Draws random numbers by element index: never merged, folded or evaluated for other rows.
  bool random = false;
  bool collective = false;  // reads the operands of every replica; all replicas share the result
  // A row costs less if a call has more rows. Some kernels therefore process the rows of several
  // replicas in one call.
  bool spans_replicas = false;
  // Has no kernel that computes it: the device exchanges the values beside the other instructions
  // of its phase. Its operand is shared by the replicas, and so is its result.
  Exchange exchange = Exchange::kNone;
  bool source = false;  // has no instruction: infeed, variable, loop_index, replica_id
  // Result 0 may alias operand 0 without a copy. The kernel then writes only the changed elements.
  bool overwrites = false;
  bool any_dtype = false;  // moves, selects or converts elements: the op sets the results' dtypes
};
constexpr uint32_t kAllOperands = 0x80000000u;
inline bool HasOperand(uint32_t mask, int operand) {
  return (mask & kAllOperands) != 0 || (operand < 31 && (mask >> operand & 1u) != 0);
}

// A replacement for result 0 of a node whose other results are not read. Every element has the same
// bits for all operand values (-0, NaN, infinities, subnormals).
struct Replacement {
  struct NewNode {
    const OpDef* op = nullptr;
    std::vector<Value> inputs;
    Attrs attrs;
    // The node of the graph that computed this before: the new one has its origins. -1: the node
    // that is replaced.
    int origins_of = -1;
  };
  Value same;  // an existing value; if it is invalid, `nodes` is used
  // Nodes to append to the graph. The first gets the id nodes().size(). They may read each other.
  // Result 0 of the last node is the value. Empty: there is no replacement.
  std::vector<NewNode> nodes;
};

// What one pass alone asks of an op.
struct OpRules {
  // epilogue: operand 0 plus operand 1 (C) along the last dimension.
  bool adds_bias = false;
  // epilogue: index of an optional operand (C) that every kernel adds along the last dimension of
  // the result, at no cost; -1: none.
  int bias = -1;
  // hoist_column_sums: operand 0 (..., C) -> (C), the sums over all but the last dimension.
  bool sums_columns = false;
  // hoist_column_sums: true if result 0 has the same column sums as operand 0. Null: it has not.
  bool (*keeps_column_sums)(const OpCall& call) = nullptr;
  // hoist_column_sums: a result with the column sums of result 0 and fewer rows; -1: none.
  int summed_result = -1;
  // split_k: of an op with batch_dims whose result is a sum over the leading dimension of its
  // operands. True if as many results as `groups`, each of an equal share of that dimension, and
  // their sum are computed sooner than the one result. Null: they are not.
  bool (*splits_k)(const OpCall& call, int64_t groups) = nullptr;
  // fuse_rows: the unit is kRows, all operands are row operands, and a row along the last dimension
  // has the same bits in every call that computes it, by the reference. Results and operands are
  // (..., C) or, with an element for each row, (...). Element-wise ops need no such rule.
  bool by_last_axis = false;
  // The schedule: of variables only, it is loop-carried, recomputed after their update.
  bool loop_carried = false;
};

// The loop of an element-wise op: result[i] = f(operands[0][i], ...) for i < n. The result may
// alias an operand.
using TileFunction = void (*)(const void* const* operands, void* result, int64_t n);

// Adds nodes equivalent to `call.node` to call.graph and returns their results. Results that nobody
// reads may be invalid, or left out at the end. Returns InvalidArgument if the format cannot
// express the node. Returns no results if the format can express only the expansion of this node
// (OpDef::expand). See runtime/ir/export_graph.h.
using ExportRule = std::function<absl::StatusOr<std::vector<Value>>(ExportCall& call)>;

// Name of the attribute with the DType in which result 0 is stored.
inline constexpr char kStoredIn[] = "out";
// Name of the attribute with the number of leading dimensions that operands and results share. Each
// of their entries is computed independently. 0 if absent.
inline constexpr char kBatchDims[] = "batch_dims";

// Name of the attribute with the replicas that a collective reads, [first, count], counted from the
// first replica of its graph. Absent: all of the graph.
inline constexpr char kOfReplicas[] = "of_replicas";
struct ReplicasOfCall {
  int first = 0, count = 1;
};
// The replicas that a node or instruction with these attributes reads, in a graph of
// `num_replicas`.
ReplicasOfCall ReplicasRead(const Attrs& attrs, int num_replicas);

// How values are stored. The numbers of an op are f32. An operand stored in bf16 is read as the f32
// numbers that it represents. With the attribute `out` = bf16, result 0 is rounded once, when it is
// stored. Only ops that move, select or convert elements (OpFlags::any_dtype) set the dtypes of
// their results themselves. infer_shape, gradient and reference see f32 only. A kernel whose offer
// is `native_bf16` reads and writes bf16 itself; other kernels run inside a bf16 conversion
// (bf16_conversion.h).
struct OpDef {
  std::string name;
  std::string doc;  // shapes with letters, formula, source
  int min_operands = 0;
  int max_operands = 0;  // -1: any number
  std::vector<AttrDef> attrs;
  OpFlags flags;
  // Adjusts the flags if they depend on attributes or shapes (a transposed operand). Null: `flags`
  // applies unchanged.
  std::function<void(const OpCall& call, OpFlags& flags)> refine_flags;

  // Returns the result shapes, or an error with the wrong property, the got and the wanted value
  // (the caller adds the node's name).
  std::function<absl::StatusOr<std::vector<Shape>>(std::span<const Shape> operands,
                                                   const Attrs& attrs)>
      infer_shape;
  // Gradients with respect to each operand (an invalid Value if there is none), from the gradients
  // of the results (invalid if nothing reads the result). Null: no gradient flows through.
  std::function<std::vector<Value>(GraphBuilder& b, const Node& node,
                                   std::span<const Value> result_gradients)>
      gradient;
  // A replacement for a node of this op. Its operands are in `graph` already. Null: none.
  std::function<Replacement(const Graph& graph, const Node& node)> simplify;
  // Plain loops: the definition of the op's numbers. Null for sources.
  std::function<std::unique_ptr<Kernel>(const OpCall& call)> reference;
  // For an element-wise op without attributes: its loop over f32, with a pred as 1 or 0. It is the
  // step of a TileProgram. Null: it can be none.
  TileFunction tile = nullptr;
  // The same as a step of a chain, where a chain has it.
  ChainOp chain_op = ChainOp::kNone;
  // In order of preference. A call gets the first kernel with an offer, or else the reference.
  std::vector<KernelDef> kernels;
  // An op with the same operands and attributes, and of_replicas, that equals CrossReplicaSum of
  // this op and does less work for these shapes, or nullptr if there is none. The function itself
  // may be null.
  std::function<const OpDef*(const OpCall& call)> summed_over_replicas;
  // Sets the flops and transcendentals of `cost`. Corrects its bytes if the call does not read
  // every operand and write every needed result exactly once. Null: see the next two fields.
  std::function<void(const OpCall& call, Cost& cost)> cost;
  // Vector flops and transcendentals of a result element, if `cost` is null.
  int element_flops = 1;
  int element_transcendentals = 0;
  // How a TPU computes a call. Null: in one stage, whose kind follows from the flags and the shapes
  // (tpu_stages.h).
  std::function<TpuWork(const OpCall& call)> tpu;
  // The op in TensorFlow ops and in ONNX ops (opset 17), in f32 for any precision. Null: the format
  // has no equivalent ops, and the op can be exported only if it has `expand`.
  ExportRule tensorflow;
  ExportRule onnx;
  // Builds the node from other ops that have export rules, in another graph with the operands
  // `inputs`. Returns the results; those that only a gradient reads are invalid. Null: there is no
  // such expansion.
  std::function<std::vector<Value>(GraphBuilder& b, const Node& node,
                                   std::span<const Value> inputs)>
      expand;
  OpRules rules;
};

// Finds an op by name for the graph and program parsers. runtime/ops/op_list.h finds all ops.
using FindOp = std::function<const OpDef*(const std::string& name)>;

// Converts attributes parsed from text to the op's types. Parses a string if the attribute has
// AttrDef::read. Converts "[]", which parses as a list of int64, to a list of doubles if the op has
// that type.
absl::StatusOr<Attrs> TypedAttrs(const OpDef& op, Attrs attrs);

// Checks the number of operands and the attributes. Returns the result shapes with stored dtypes.
absl::StatusOr<std::vector<Shape>> InferShapes(const OpDef& op, std::span<const Shape> operands,
                                               const Attrs& attrs);

OpFlags OpFlagsOf(const OpCall& call);
// The number of work units of the call.
int64_t Units(const OpCall& call);
// The first unit of part `part`; for `part` == call.parts, the end of the last part.
int64_t BeginOfPart(const OpCall& call, int part);
// The first kernel with an offer among those that the machine may use.
KernelPlan PlanKernel(const OpCall& call, const Machine& machine);
// nullptr if the plan has no kernel or this processor lacks its instructions.
std::unique_ptr<Kernel> MakeKernel(const OpCall& call, const KernelPlan& plan);
// The reference kernel for the values as they are stored. It needs ReferenceScratchBytes(call)
// bytes of scratch memory.
std::unique_ptr<Kernel> MakeReference(const OpCall& call);
int64_t ReferenceScratchBytes(const OpCall& call);
// The cost of the op's formula, for all units of the call.
Cost CostOf(const OpCall& call);
// The same, and the passes over memory that the kernel makes to pack and convert operands and
// results.
Cost CostOf(const OpCall& call, const KernelOffer& offer);
// OpDef::cost of an op that only moves elements.
void CostOfMove(const OpCall& call, Cost& cost);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IR_OP_DEF_H_
