// Scaled dot-product attention (Vaswani et al. 2017) of several heads: the part of Keras'
// MultiHeadAttention between its projections.
#include "runtime/ops/attention.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ir/structural.h"
#include "runtime/ir/tpu_stages.h"
#include "runtime/ops/op_list.h"
#include "runtime/ops/ops.h"

namespace tpurun {
namespace {

constexpr int kFirstOptional = 3;      // after q, k and v
constexpr int kFirstOptionalGrad = 6;  // after dy, q, k, v, y and statistics

std::vector<AttrDef> AttentionAttrs() {
  return {{"precision", int64_t{0}, true},
          {"scale", 0.0, true},
          {"causal", false},
          {"rate", 0.0},
          {"seed", int64_t{0}},
          {"stream", int64_t{0}}};
}

// Checks the optional operands, which come after the others: a mask (N, S), and step and replica of
// the draws.
absl::Status CheckOptional(const char* op, std::span<const Shape> operands, size_t first,
                           const Attrs& attrs) {
  const double rate = attrs.Get<double>("rate");
  if (!(rate >= 0 && rate < 1)) {
    return absl::InvalidArgumentError(absl::StrCat(op, ": rate is in [0, 1), got ", rate));
  }
  if (!ValidPrecision(attrs)) {
    return absl::InvalidArgumentError(
        absl::StrCat(op, ": precision is 0 to 3, got ", attrs.Int("precision")));
  }
  const size_t more = operands.size() - first;
  const Shape& q = operands[first == kFirstOptional ? 0 : 1];
  const Shape& k = operands[first == kFirstOptional ? 1 : 2];
  const Shape mask{DType::kF32, {q.dims[0], k.dims[1]}};
  if (more % 2 == 1 && !(operands[first] == mask)) {
    return absl::InvalidArgumentError(
        absl::StrCat(op, ": want a mask ", mask.ToString(), ", got ", operands[first].ToString()));
  }
  const bool draws = more >= 2;
  if (draws && (!(operands[operands.size() - 2] == Shape{DType::kS64, {}}) ||
                !(operands.back() == Shape{DType::kS32, {}}))) {
    return absl::InvalidArgumentError(absl::StrCat(op, ": want step s64[] and replica s32[], got ",
                                                   operands[operands.size() - 2].ToString(),
                                                   " and ", operands.back().ToString()));
  }
  if (!draws && rate > 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(op, ": rate ", rate, " wants step s64[] and replica s32[]"));
  }
  return absl::OkStatus();
}

// The shape of y (N, T, H, E) for q, k and v, or nullopt if their shapes do not fit together.
std::optional<Shape> AttendedShape(std::span<const Shape> qkv) {
  const Shape &q = qkv[0], &k = qkv[1], &v = qkv[2];
  for (const Shape& shape : {q, k, v}) {
    if (shape.rank() != 4 || shape.dtype != DType::kF32 || shape.num_elements() == 0)
      return std::nullopt;
  }
  const bool fits = q.dims[0] == k.dims[0] && q.dims[2] == k.dims[2] && q.dims[3] == k.dims[3] &&
                    v.dims[0] == k.dims[0] && v.dims[1] == k.dims[1] && v.dims[2] == k.dims[2];
  if (!fits) return std::nullopt;
  return Shape{DType::kF32, {q.dims[0], q.dims[1], q.dims[2], v.dims[3]}};
}

Shape StatisticsShape(const Shape& y) {
  return {DType::kF32, {y.dims[0], y.dims[2], 2, y.dims[1]}};
}

absl::StatusOr<std::vector<Shape>> AttentionShape(std::span<const Shape> operands,
                                                  const Attrs& attrs) {
  const std::optional<Shape> y = AttendedShape(operands);
  if (!y.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "attention: want f32 q [N,T,H,D], k [N,S,H,D] and v [N,S,H,E], none of them empty, got ",
        operands[0].ToString(), ", ", operands[1].ToString(), " and ", operands[2].ToString()));
  }
  RETURN_IF_ERROR(CheckOptional("attention", operands, kFirstOptional, attrs));
  return std::vector<Shape>{*y, StatisticsShape(*y)};
}

absl::StatusOr<std::vector<Shape>> AttentionGradShape(std::span<const Shape> operands,
                                                      const Attrs& attrs) {
  const std::optional<Shape> y = AttendedShape(operands.subspan(1));
  if (!y.has_value() || !(operands[0] == *y) || !(operands[4] == *y) ||
      !(operands[5] == StatisticsShape(*y))) {
    std::string got;
    for (const Shape& operand : operands)
      absl::StrAppend(&got, got.empty() ? "" : ", ", operand.ToString());
    return absl::InvalidArgumentError(
        absl::StrCat("attention_grad: want f32 dy [N,T,H,E], q [N,T,H,D], k [N,S,H,D], v "
                     "[N,S,H,E], y [N,T,H,E] and statistics [N,H,2,T], got ",
                     got));
  }
  RETURN_IF_ERROR(CheckOptional("attention_grad", operands, kFirstOptionalGrad, attrs));
  return std::vector<Shape>{operands[1], operands[2], operands[3]};
}

// `first` is the index of the first optional operand.
void AttentionFlags(const OpCall& call, int first, OpFlags& flags) {
  const auto below = [](int operands) { return (1u << operands) - 1; };
  const bool masked = (call.operands.size() - first) % 2 == 1;
  flags.row_operands = below(masked ? first + 1 : first);
  // All operands except the statistics are operands of products.
  if (PrecisionOf(call.attrs) == Precision::kDefault)
    flags.rounds = below(first == kFirstOptional ? 3 : 5);
  flags.random = call.attrs.Get<double>("rate") > 0;
}

// `products`: the sum of the inner dimensions of the products over all scores. The softmax of a
// score is 1 exp and 4 other operations.
void SetCost(const Attention& a, int64_t n, int64_t products, Cost& cost) {
  const double scores = 1.0 * n * a.heads * a.queries * a.keys;
  cost.matrix_flops = 2 * scores * static_cast<double>(products);
  cost.vector_flops = 4 * scores;
  cost.transcendentals = scores;
}

// A compiler for TPUs does not know attention as one op: it writes the scores and the weights of
// all heads to memory, and keeps the weights for the gradient.
using TpuArray = TpuStage::Array;

TpuStage TpuProductOf(const OpCall& call, const Attention& a, std::vector<TpuArray> reads,
                      TpuArray write, int64_t m, int64_t k, int64_t n) {
  const double heads = static_cast<double>(call.operands[a.q].dims[0] * a.heads);
  return {.kind = TpuStage::Kind::kMatrix,
          .reads = std::move(reads),
          .writes = {write},
          .products = {{.count = TpuPasses(call.attrs) * heads, .m = m, .k = k, .n = n}}};
}

struct AttentionArrays {
  AttentionArrays(const OpCall& call, const Attention& a)
      : scores{DType::kF32, {call.operands[a.q].dims[0], a.heads, a.queries, a.keys}},
        rows{DType::kF32, {call.operands[a.q].dims[0], a.heads, a.queries}},
        elements(static_cast<double>(scores.num_elements())) {}
  static TpuArray Operand(int i) { return {TpuArray::Of::kOperand, i}; }
  static TpuArray Result(int i) { return {TpuArray::Of::kResult, i}; }
  static TpuArray Temporary(int i) { return {TpuArray::Of::kTemporary, i}; }

  Shape scores, rows;
  double elements;
};

TpuWork AttentionOnTpu(const OpCall& call) {
  using Arrays = AttentionArrays;
  const Attention a(call, false);
  const Arrays arrays(call, a);
  const TpuArray weights = Arrays::Temporary(0), scores = Arrays::Temporary(1);
  const TpuArray largest = Arrays::Temporary(2), sums = Arrays::Temporary(3);
  const double dropped = a.rate > 0 ? kTpuRandomFlops : 0;
  return {.stages = {TpuProductOf(call, a, {Arrays::Operand(a.q), Arrays::Operand(a.k)}, scores,
                                  a.queries, a.key_dim, a.keys),
                     {.kind = TpuStage::Kind::kReduce,
                      .reads = {scores},
                      .writes = {largest},
                      .vector_flops = arrays.elements},
                     {.kind = TpuStage::Kind::kReduce,
                      .reads = {scores, largest},
                      .writes = {sums},
                      .vector_flops = 2 * arrays.elements,
                      .transcendentals = arrays.elements},
                     {.reads = {scores, largest, sums},
                      .writes = {weights},
                      .vector_flops = (2 + dropped) * arrays.elements,
                      .transcendentals = arrays.elements},
                     TpuProductOf(call, a, {weights, Arrays::Operand(a.v)}, Arrays::Result(0),
                                  a.queries, a.keys, a.value_dim)},
          .temporaries = {arrays.scores, arrays.scores, arrays.rows, arrays.rows},
          .kept = 1};
}

TpuWork AttentionGradOnTpu(const OpCall& call) {
  using Arrays = AttentionArrays;
  const Attention a(call, true);
  const Arrays arrays(call, a);
  const TpuArray weights = Arrays::Temporary(0), dweights = Arrays::Temporary(1);
  const TpuArray dscores = Arrays::Temporary(2), sums = Arrays::Temporary(3);
  const TpuArray dy = Arrays::Operand(a.dy);
  return {.stages = {TpuProductOf(call, a, {weights, dy}, Arrays::Result(2), a.keys, a.queries,
                                  a.value_dim),
                     TpuProductOf(call, a, {dy, Arrays::Operand(a.v)}, dweights, a.queries,
                                  a.value_dim, a.keys),
                     {.kind = TpuStage::Kind::kReduce,
                      .reads = {weights, dweights},
                      .writes = {sums},
                      .vector_flops = 2 * arrays.elements},
                     {.reads = {weights, dweights, sums},
                      .writes = {dscores},
                      .vector_flops = 4 * arrays.elements},
                     TpuProductOf(call, a, {dscores, Arrays::Operand(a.k)}, Arrays::Result(0),
                                  a.queries, a.keys, a.key_dim),
                     TpuProductOf(call, a, {dscores, Arrays::Operand(a.q)}, Arrays::Result(1),
                                  a.keys, a.queries, a.key_dim)},
          .temporaries = {arrays.scores, arrays.scores, arrays.scores, arrays.rows}};
}

const OpDef& AttentionGradOp() {
  static const OpDef& op = *new OpDef{
      .name = "attention_grad",
      .doc =
          "The gradient of attention: dy (N, T, H, E), its q, k, v and results, then its mask, "
          "step "
          "and replica if it has them -> dq, dk, dv. With P the weights, computed again tile by "
          "tile from the statistics, and P' what is left of them and scaled: dv = P'' dy, dP = dy "
          "v' "
          "where kept, ds = P (dP - sum over E of dy y) scale, dq = ds k, dk = ds' q, keys and "
          "queries rising. At precision 0 dy, q, k, v, y, P' and ds are rounded to bf16.",
      .min_operands = kFirstOptionalGrad,
      .max_operands = kFirstOptionalGrad + 3,
      .attrs = AttentionAttrs(),
      .flags = {.unit = WorkUnit::kRows},
      .refine_flags = [](const OpCall& call,
                         OpFlags& flags) { AttentionFlags(call, kFirstOptionalGrad, flags); },
      .infer_shape = AttentionGradShape,
      .reference =
          [](const OpCall& call) { return AttentionReference(Attention(call, true), call); },
      .kernels = AttentionKernels(true),
      .cost =
          [](const OpCall& call, Cost& cost) {
            const Attention a(call, true);
            SetCost(a, call.results[0].dims[0], 3 * a.key_dim + 2 * a.value_dim, cost);
          },
      .tpu = AttentionGradOnTpu};
  return op;
}

std::vector<Value> AttentionGradient(GraphBuilder& b, const Node& node, std::span<const Value> dy) {
  std::vector<Value> gradients(node.inputs.size());
  if (!dy[0].valid()) return gradients;
  std::vector<Value> operands = {dy[0]};
  operands.insert(operands.end(), node.inputs.begin(), node.inputs.begin() + kFirstOptional);
  for (int result = 0; result < 2; ++result) operands.push_back({node.id, result});
  operands.insert(operands.end(), node.inputs.begin() + kFirstOptional, node.inputs.end());
  const Value dq = b.Add(AttentionGradOp(), std::move(operands), node.attrs);
  if (!dq.valid()) return gradients;
  for (int i = 0; i < kFirstOptional; ++i) gradients[i] = {dq.node, i};
  return gradients;
}

// (T, S): 1 if the query sees the key, else 0.
Value Seen(GraphBuilder& b, int64_t queries, int64_t keys) {
  const std::vector<int64_t> dims = {queries, keys};
  const Value query = Broadcast(b, Iota(b, DType::kS32, {queries}, 0), dims, {0});
  const Value key = Broadcast(b, Iota(b, DType::kS32, {keys}, 0), dims, {1});
  return Select(b, Greater(b, key, query), Scalar(b, 0), Constant(b, DType::kF32, dims, 1));
}

// Attention as products, a softmax and the hiding of scores before the softmax.
std::vector<Value> AttentionInOps(GraphBuilder& b, const Node& node,
                                  std::span<const Value> inputs) {
  const Shape q = b.shape(inputs[0]), k = b.shape(inputs[1]);
  const int64_t n = q.dims[0], queries = q.dims[1], heads = q.dims[2], keys = k.dims[1];
  const Precision precision = PrecisionOf(node.attrs);
  const auto by_head = [&](Value x) { return Transpose(b, x, {0, 2, 1, 3}); };
  Value scores = BatchMatMul(b, by_head(inputs[0]), by_head(inputs[1]), precision, false, true);
  scores = Mul(b, scores, Scalar(b, node.attrs.Get<double>("scale")));
  const std::vector<int64_t> dims = b.shape(scores).dims, tables = {n * heads, queries * keys};
  const auto hide = [&](Value seen) { return Mul(b, Sub(b, seen, Scalar(b, 1)), Scalar(b, 1e9)); };
  const bool causal = node.attrs.Get<bool>("causal"), masked = inputs.size() % 2 == 0;
  Value seen;
  if (masked) {
    const Value hidden = Equal(b, inputs[kFirstOptional], Scalar(b, 0));
    seen = Select(b, hidden, Scalar(b, 0), Constant(b, DType::kF32, {n, keys}, 1));
    seen = Reshape(b, Broadcast(b, seen, dims, {0, 3}), tables);
  }
  if (causal) {
    const Value row = Reshape(b, Seen(b, queries, keys), {queries * keys});
    seen = masked ? Mul(b, seen, row) : row;
  }
  if (seen.valid()) scores = Reshape(b, Add(b, Reshape(b, scores, tables), hide(seen)), dims);
  const Value y = BatchMatMul(b, Softmax(b, scores), by_head(inputs[2]), precision);
  return {by_head(y), Value{}};
}

const OpDef& AttentionOp() {
  static const OpDef& op = *new OpDef{
      .name = "attention",
      .doc =
          "q (N, T, H, D), k (N, S, H, D), v (N, S, H, E), then a mask (N, S) if there is one, and "
          "step s64[] and replica s32[] if weights are dropped -> y (N, T, H, E), and the maximum "
          "of "
          "the scores of each query and 1 / the sum of their powers (N, H, 2, T), which the "
          "gradient "
          "reads. Of each head y = softmax(scale q k') v. -1e9 is added to the score of a key "
          "whose "
          "mask is 0 or, with `causal`, that comes behind the query, so that a query which sees "
          "none "
          "weighs all the same. Tiles of 128 queries and 256 keys: sums go along the keys, the "
          "weights relative to the largest score so far, divided by their sum at the end. With "
          "`rate` a weight is dropped where its draw of 16 bits, Philox of (seed, stream; step, "
          "replica; its place), is below it, and the others divided by 1 - rate. At precision 0 q, "
          "k, v and the weights are rounded to bf16.",
      .min_operands = kFirstOptional,
      .max_operands = kFirstOptional + 3,
      .attrs = AttentionAttrs(),
      .flags = {.unit = WorkUnit::kRows},
      .refine_flags = [](const OpCall& call,
                         OpFlags& flags) { AttentionFlags(call, kFirstOptional, flags); },
      .infer_shape = AttentionShape,
      .gradient = AttentionGradient,
      .reference =
          [](const OpCall& call) { return AttentionReference(Attention(call, false), call); },
      .kernels = AttentionKernels(false),
      .cost =
          [](const OpCall& call, Cost& cost) {
            const Attention a(call, false);
            SetCost(a, call.results[0].dims[0], a.key_dim + a.value_dim, cost);
          },
      .tpu = AttentionOnTpu,
      .expand = AttentionInOps};
  return op;
}

}  // namespace

Attention::Attention(const OpCall& call, bool is_gradient)
    : is_gradient(is_gradient),
      precision(PrecisionOf(call.attrs)),
      scale(static_cast<float>(call.attrs.Get<double>("scale"))),
      causal(call.attrs.Get<bool>("causal")),
      rate(call.attrs.Get<double>("rate")),
      seed(static_cast<uint64_t>(call.attrs.Int("seed"))),
      stream(static_cast<uint32_t>(call.attrs.Int("stream"))) {
  int next = kFirstOptional;
  if (is_gradient) {
    dy = 0;
    q = 1;
    k = 2;
    v = 3;
    y = 4;
    statistics = 5;
    next = kFirstOptionalGrad;
  }
  const int operands = static_cast<int>(call.operands.size());
  if ((operands - next) % 2 == 1) mask = next++;
  if (operands > next) {
    step = next;
    replica = next + 1;
  }
  queries = call.operands[q].dims[1];
  keys = call.operands[k].dims[1];
  heads = call.operands[q].dims[2];
  key_dim = call.operands[q].dims[3];
  value_dim = call.operands[v].dims[3];
}

std::vector<const OpDef*> AttentionOps() { return {&AttentionOp(), &AttentionGradOp()}; }

Value Attend(GraphBuilder& b, Value q, Value k, Value v, Value mask, const AttentionArgs& args) {
  std::vector<Value> operands = {q, k, v};
  if (mask.valid()) operands.push_back(mask);
  Attrs attrs = {{"precision", static_cast<int64_t>(args.precision)},
                 {"scale", static_cast<double>(args.scale)}};
  if (args.causal) attrs.Set("causal", true);
  if (args.rate > 0) {
    operands.push_back(args.step);
    operands.push_back(b.Add(ReplicaIdOp(), {}, {}, "replica_id"));
    attrs.Set("rate", args.rate);
    attrs.Set("seed", args.seed);
    attrs.Set("stream", static_cast<int64_t>(args.stream));
  }
  return b.Add(AttentionOp(), std::move(operands), std::move(attrs), "attention");
}

}  // namespace tpurun
