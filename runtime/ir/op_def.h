// OpDef: everything anybody needs to know about an op, as data. The printer, verifier, planner,
// compiler and device never ask which op a node is; they read these fields. One op is one paragraph
// in runtime/ops/FAMILY.cc.
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
#include "runtime/ir/attrs.h"
#include "runtime/ir/shape.h"

namespace tpurun {

struct ExportCall;
struct Node;
struct OpDef;
class Graph;
class GraphBuilder;

// Result `result` of node `node`; printed %12, or %12:1 for result 1. Node -1 is no value.
struct Value {
  int node = -1;
  int result = 0;

  bool valid() const { return node >= 0; }
  bool operator==(const Value&) const = default;
  auto operator<=>(const Value&) const = default;
};

// How an instruction may be cut into parts that different workers run. A kernel gets [begin, end)
// of these units and computes exactly that share of its results, each element wholly, so the cut
// never changes bits.
enum class WorkUnit : uint8_t {
  kWhole,     // not at all: begin 0, end 1
  kElements,  // elements of the results (all of one element count)
  kRows,      // entries of the leading dimension of result 0
  kColumns,   // entries of its last dimension
};

// One instruction as its kernel sees it. The pointers stay valid while kernels made from it live.
struct OpCall {
  const OpDef* op = nullptr;
  Attrs attrs;
  std::vector<Shape> operands;
  std::vector<Shape> results;
  std::vector<bool> needed;  // per result; a result that nobody reads is not computed
  int parts = 1;             // that a worker may run apart (BeginOfPart)
  int64_t rows = 0;          // that the parts share, each of as many units; 0: the units themselves
  int num_replicas = 1;      // a collective gets every operand of each, see below
  int replicas_per_call = 1;  // replicas whose units one call computes (OpFlags::spans_replicas)
};

// How many of each operand a kernel gets: one, or of a collective one of each replica. They come
// operand by operand, each in replica order.
int CopiesPerOperand(const OpCall& call);

// Where OpCall::replicas_per_call is more than 1, operands and results come like those of a
// collective, of so many replicas each, and the units are those of the first replica, then those of
// the next.
struct KernelArgs {
  const void* const* operands = nullptr;
  void* const* results = nullptr;  // nullptr where OpCall::needed is false
  void* scratch = nullptr;  // KernelPlan::scratch_bytes, 64-byte aligned, private to the call
  int worker = 0;           // which of Kernel::SetWorkers' workers runs it
  // Made true by a kernel of an op that overwrites (OpFlags) where it writes a NaN or an infinity;
  // may be null.
  bool* not_finite = nullptr;
  int64_t begin = 0;  // the share of the work, in the op's WorkUnit
  int64_t end = 0;
};

// Made once when a program is loaded. Run allocates nothing, locks nothing and looks nothing up;
// one kernel is run by several workers at once on different args.
class Kernel {
 public:
  virtual ~Kernel() = default;
  // How many workers will run the kernel (1 when it is not called). Before the first Run.
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

// What an implementation wants, the answer of plan(shapes, attrs, machine).
struct KernelPlan {
  std::string implementation = "reference";
  std::vector<Shape> best_operands;  // dtypes and layouts that it likes best; empty: as they come
  int64_t scratch_bytes = 0;
  bool native_bf16 = false;    // reads operands, and writes result 0, in bf16 itself and for less
  bool converts_bf16 = false;  // set by PlanKernel: bf16 is converted around it (bf16_conversion.h)
  bool takes_bias = false;     // adds OpFlags::bias for free
};

// The machine that a program is compiled for, named in the program and in checkpoints.
struct Machine {
  bool avx2 = false;
  bool avx512 = false;
  bool avx512_bf16 = false;
  static Machine This();
  // Of what ToString prints.
  static std::optional<Machine> Parse(std::string_view name);
  std::string ToString() const;  // "x86_64", "x86_64+avx2", "x86_64+avx512", "x86_64+avx512_bf16"
};

struct AttrDef {
  std::string name;
  AttrValue example;      // fixes the type
  bool required = false;  // absent means the op's own default otherwise
  // Reads the text of a type that text writes as a string. Null: the type has a text of its own.
  std::function<absl::StatusOr<AttrValue>(const std::string& text)> read;
};

// What passes need to know. Per-operand facts are bit masks, bit i for operand i (bit 31: all).
struct OpFlags {
  WorkUnit unit = WorkUnit::kWhole;
  bool elementwise = false;   // same shapes, or scalar operands; unit is kElements
  uint32_t row_operands = 0;  // row r of the results reads only row r of these operands
  uint32_t rounds = 0;        // operands rounded to bf16 at DEFAULT precision
  uint32_t commutes = 0;      // result 0: op(round(x)) == round(op(x)) in these operands
  uint32_t sign_only = 0;     // only the sign of these operands matters
  uint32_t class_ids = 0;     // operands with values in [0, C), operand 0 being (..., C)
  // Operands with values in [0, V), operand 0 being (V, ...) behind its first kBatchDims.
  uint32_t row_ids = 0;
  // Every f32 element of the results comes out of f32 arithmetic, so it is never subnormal (workers
  // flush) and never a signalling NaN.
  bool arithmetic = false;
  bool copies_elements = false;  // every element of result 0 is one of operand 0's
  bool is_bitcast = false;       // result 0 has operand 0's elements in their order
  bool per_replica = false;  // a value per core even without per-core operands: infeed, replica_id
  bool random = false;       // draws by element index: never merged, folded or run for other rows
  bool collective = false;   // reads the operands of every replica, the result is shared
  // The more rows a call has, the less each costs, and some kernels take those of several replicas.
  bool spans_replicas = false;
  bool loop_carried = false;  // of a variable: loop-carried, computed again behind its update
  bool source = false;        // no instruction: infeed, variable, loop_index, replica_id
  // Result 0 may lie where operand 0 does and is then not copied: the kernel writes what differs.
  bool overwrites = false;
  bool any_dtype = false;  // moves, chooses or converts elements: results have a dtype of their own
  bool adds_bias = false;  // operand 0 plus operand 1 (C) along the last dimension
  bool sums_columns = false;  // operand 0 (..., C) -> (C), the sums over all but the last dimension
  bool keeps_column_sums = false;  // those sums of result 0 are those of operand 0
  int summed_result = -1;  // the result that has those sums of result 0 and fewer rows; -1: none
  // A further operand (C), which may be left out and is added to the result's last dimension; -1:
  // none.
  int bias = -1;
};
constexpr uint32_t kAllOperands = 0x80000000u;
inline bool HasOperand(uint32_t mask, int operand) {
  return (mask & kAllOperands) != 0 || (operand < 31 && (mask >> operand & 1u) != 0);
}

// What may stand for result 0 of a node of which no other result is read: the same bits in every
// element, whatever the operands hold (-0, NaN, infinities, subnormals).
struct Replacement {
  struct NewNode {
    const OpDef* op = nullptr;
    std::vector<Value> inputs;
    Attrs attrs;
  };
  Value same;  // a value that is there already; when invalid:
  // Nodes behind those of the graph, the first with the id nodes().size(), which may read each
  // other; result 0 of the last is the value. None: there is nothing simpler.
  std::vector<NewNode> nodes;
};

// The loop of an element-wise op: result[i] = f(operands[0][i], ...) for i < n. The result may lie
// where an operand does.
using TileFunction = void (*)(const void* const* operands, void* result, int64_t n);

// Adds to call.graph what says the same as a node, and returns its results there, of which those
// that nobody reads may be left out at the end or invalid. InvalidArgument where the format has no
// words for it; no results where it has none for this node, only for what OpDef::expand makes of
// it. runtime/ir/export_graph.h.
using ExportRule = std::function<absl::StatusOr<std::vector<Value>>(ExportCall& call)>;

// The attribute, a DType, that says what result 0 is stored in.
inline constexpr char kStoredIn[] = "out";
// The attribute that says how many first dimensions of operands and results are the same, each of
// whose entries is computed by itself; 0 where it is absent.
inline constexpr char kBatchDims[] = "batch_dims";

// What a value is stored in. The numbers of an op are f32: an operand that is stored in bf16 is
// read as the f32 numbers that it is, and with the attribute `out` = bf16 result 0 is rounded once,
// where it is stored. Only what moves, chooses or converts elements (OpFlags::any_dtype) says its
// results' dtypes itself. infer_shape, gradient and reference speak of f32; a kernel whose plan is
// `native_bf16` reads and writes bf16 itself, around any other the edges convert
// (bf16_conversion.h).
struct OpDef {
  std::string name;
  std::string doc;  // shapes with letters, formula, source
  int min_operands = 0;
  int max_operands = 0;  // -1: any number
  std::vector<AttrDef> attrs;
  OpFlags flags;
  // Adjusts the flags where attributes or shapes matter (a transposed operand). Null: `flags`
  // holds.
  std::function<void(const OpCall& call, OpFlags& flags)> refine_flags;

  // The result shapes, or what is wrong, got and want (the node's name is added by the caller).
  std::function<absl::StatusOr<std::vector<Shape>>(std::span<const Shape> operands,
                                                   const Attrs& attrs)>
      infer_shape;
  // Gradients with respect to each operand (an invalid Value where there is none), from those of
  // the results (invalid where nothing reads them). Null: no gradient flows through.
  std::function<std::vector<Value>(GraphBuilder& b, const Node& node,
                                   std::span<const Value> result_gradients)>
      gradient;
  // What may stand for a node of this op, its operands being in `graph` already. Null: nothing.
  std::function<Replacement(const Graph& graph, const Node& node)> simplify;
  // Plain loops: the definition of the op's numbers. Null for sources.
  std::function<std::unique_ptr<Kernel>(const OpCall& call)> reference;
  // Of an element-wise op without attributes: its loop over f32, a pred being 1 or 0. A step of a
  // TileProgram. Null: never fused.
  TileFunction tile = nullptr;
  // Chooses an implementation. Null: the reference.
  std::function<KernelPlan(const OpCall& call, const Machine& machine)> plan;
  // The kernel of a plan. Null: the reference.
  std::function<std::unique_ptr<Kernel>(const OpCall& call, const KernelPlan& plan)> make_kernel;
  // An op with the same operands and attributes that equals CrossReplicaSum of this op and does
  // less work for these shapes, or nullptr. Null: there is none.
  std::function<const OpDef*(const OpCall& call)> summed_over_replicas;
  // Floating point operations of one call. Null: one per result element.
  std::function<double(const OpCall& call)> flops;
  // The op in TensorFlow's words and in ONNX's (opset 17), f32 whatever its precision. Null: it
  // has no words there, and cannot be exported unless it expands.
  ExportRule tensorflow;
  ExportRule onnx;
  // The same in other ops, which have words: the results of such a node, of another graph, whose
  // operands are `inputs`; those that only a gradient reads are invalid. Null: it does not expand.
  std::function<std::vector<Value>(GraphBuilder& b, const Node& node,
                                   std::span<const Value> inputs)>
      expand;
};

// Finds ops by name for the graph and program parsers; runtime/ops/op_list.h has the one for all.
using FindOp = std::function<const OpDef*(const std::string& name)>;

// The attributes, as they come from text, in the op's types: a string that AttrDef::read takes is
// read once, here, and "[]", a list of whole numbers by itself, is the list that is wanted.
absl::StatusOr<Attrs> TypedAttrs(const OpDef& op, Attrs attrs);

// Checks the number of operands and the attributes; the result shapes as they are stored.
absl::StatusOr<std::vector<Shape>> InferShapes(const OpDef& op, std::span<const Shape> operands,
                                               const Attrs& attrs);

OpFlags OpFlagsOf(const OpCall& call);
// The whole range of a call's work unit.
int64_t Units(const OpCall& call);
// The unit with which part `part` of call.parts begins; of call.parts itself the end of the last.
int64_t BeginOfPart(const OpCall& call, int part);
KernelPlan PlanKernel(const OpCall& call, const Machine& machine);
std::unique_ptr<Kernel> MakeKernel(const OpCall& call, const KernelPlan& plan);
// The definition of the call's numbers as they are stored, with so much scratch memory.
std::unique_ptr<Kernel> MakeReference(const OpCall& call);
int64_t ReferenceScratchBytes(const OpCall& call);
double Flops(const OpCall& call);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IR_OP_DEF_H_
