// Helpers that add ops to a graph from C++: one line per op, named as in TensorFlow. Shapes and
// formulas are documented in the op's paragraph (OpDef::doc) in the .cc file of its family.
#ifndef TPURUN_RUNTIME_OPS_OPS_H_
#define TPURUN_RUNTIME_OPS_OPS_H_

#include <string>
#include <utility>
#include <vector>

#include "runtime/ir/collectives.h"
#include "runtime/ir/graph_builder.h"
#include "runtime/ir/structural.h"

namespace tpurun {

// How matmul and convolution treat their f32 inputs: rounded to bf16 (kDefault), split into 2 or 3
// bf16 parts (kHigh, kHighest), or unchanged (kF32). Accumulation is always f32.
enum class Precision : int64_t { kDefault = 0, kHigh = 1, kHighest = 2, kF32 = 3 };

// elementwise.cc and relu.cc: operands have one shape. A rank-0 operand is broadcast to every
// element. Add is in structural.h.
Value Sub(GraphBuilder& b, Value x, Value y, const std::string& label = "sub");
Value Mul(GraphBuilder& b, Value x, Value y, const std::string& label = "mul");
Value Div(GraphBuilder& b, Value x, Value y, const std::string& label = "div");
Value Maximum(GraphBuilder& b, Value x, Value y);
Value Minimum(GraphBuilder& b, Value x, Value y);
Value Pow(GraphBuilder& b, Value x, Value y);
Value Neg(GraphBuilder& b, Value x);
Value Sqrt(GraphBuilder& b, Value x);
Value Rsqrt(GraphBuilder& b, Value x);
Value Square(GraphBuilder& b, Value x);
Value Exp(GraphBuilder& b, Value x);
Value Log(GraphBuilder& b, Value x);
Value Floor(GraphBuilder& b, Value x);
Value Tanh(GraphBuilder& b, Value x);
Value Sin(GraphBuilder& b, Value x);
Value Cos(GraphBuilder& b, Value x);
Value Sigmoid(GraphBuilder& b, Value x);
Value Elu(GraphBuilder& b, Value x);
Value Erf(GraphBuilder& b, Value x);
Value Softplus(GraphBuilder& b, Value x);
Value Gelu(GraphBuilder& b, Value x);      // gelu.cc
Value GeluTanh(GraphBuilder& b, Value x);  // gelu.cc
Value Relu(GraphBuilder& b, Value x, const std::string& label = "Relu");
Value Equal(GraphBuilder& b, Value x, Value y);    // pred
Value Greater(GraphBuilder& b, Value x, Value y);  // pred
Value GreaterEqual(GraphBuilder& b, Value x, Value y);
Value Select(GraphBuilder& b, Value condition, Value x, Value y);  // condition ? x : y

// matmul.cc: (M, K) x (K, N) -> (M, N). Either operand may be passed transposed.
Value MatMul(GraphBuilder& b, Value x, Value y, Precision precision, bool transpose_x = false,
             bool transpose_y = false, const std::string& label = "MatMul");
bool IsMatMul(const Node& node);
// (B..., M, K) x (B..., K, N) -> (B..., M, N): one product per entry of B...
Value BatchMatMul(GraphBuilder& b, Value x, Value y, Precision precision, bool transpose_x = false,
                  bool transpose_y = false, const std::string& label = "MatMul");
// x (..., C) + bias (C).
Value BiasAdd(GraphBuilder& b, Value x, Value bias, const std::string& label = "BiasAdd");
// Checks the optional third operand of a product: it must be f32 (C), with C the last dimension of
// the result. Returns InvalidArgument otherwise.
absl::Status WantBias(const char* op, std::span<const Shape> operands,
                      const std::vector<int64_t>& result);

// attention.cc: q (N, T, H, D), k (N, S, H, D), v (N, S, H, E) and mask (N, S) -> (N, T, H, E).
// Each head computes softmax(scale q k') v. An invalid mask means no mask.
struct AttentionArgs {
  Precision precision = Precision::kDefault;
  double scale = 1;
  bool causal = false;
  // Fraction of the weights to drop, drawn as in Dropout. `step` is s64[].
  double rate = 0;
  int64_t seed = 0;
  uint32_t stream = 0;
  Value step = {};
};
Value Attend(GraphBuilder& b, Value q, Value k, Value v, Value mask, const AttentionArgs& args);

// batch_norm.cc: x (..., C); the other operands are (C). Returns the mean of each column of x and
// its variance (the mean squared distance from the mean).
std::pair<Value, Value> Moments(GraphBuilder& b, Value x, const std::string& label = "moments");
// (x - mean) gamma / sqrt(variance + epsilon) + beta.
Value BatchNorm(GraphBuilder& b, Value x, Value mean, Value variance, Value gamma, Value beta,
                double epsilon, const std::string& label = "batchnorm");

// convolution.cc: x (N, H, W, C), kernel (KH, KW, C/groups, F) -> (N, OH, OW, F).
// strides and dilations: {height, width}; pads (zeros): {top, bottom, left, right}.
Value Conv2d(GraphBuilder& b, Value x, Value kernel, std::vector<int64_t> strides,
             std::vector<int64_t> pads, Precision precision,
             const std::vector<int64_t>& dilations = {1, 1});
// x (N, OH, OW, F), kernel (KH, KW, C/groups, F) -> (N, H, W, C), with `image` {H, W}: the gradient
// that conv2d with this window passes from its result x back to an image of that size.
Value Conv2dTranspose(GraphBuilder& b, Value x, Value kernel, const std::vector<int64_t>& image,
                      std::vector<int64_t> strides, std::vector<int64_t> pads, Precision precision,
                      int64_t groups = 1);

// max_pool.cc and avg_pool.cc: x (N, H, W, C) -> (N, OH, OW, C). Padding never counts.
Value MaxPool(GraphBuilder& b, Value x, std::vector<int64_t> window, std::vector<int64_t> strides,
              std::vector<int64_t> pads, const std::string& label = "MaxPool");
Value AvgPool(GraphBuilder& b, Value x, std::vector<int64_t> window, std::vector<int64_t> strides,
              std::vector<int64_t> pads, const std::string& label = "AvgPool");

// lstm.cc, gru.cc, simple_rnn.cc: x (N, T, gates) and the initial states (N, U) -> the states after
// every step, (N, T, U). The mask is (N, T); an invalid mask means no mask.
struct RecurrentArgs {
  Precision precision = Precision::kDefault;
  std::string activation = "tanh";  // one of RecurrentFunctionNames
  std::string recurrent_activation = "sigmoid";
  bool go_backwards = false;
};
struct RecurrentStates {
  Value h, c;
};
bool IsRecurrentFunction(const std::string& name);
// "linear, relu, ..."
std::string RecurrentFunctionNames();
RecurrentStates Lstm(GraphBuilder& b, Value x, Value recurrent_kernel, Value h0, Value c0,
                     Value mask, const RecurrentArgs& args);

// Gates z, r, h. recurrent_bias (3U) is added to the recurrent product; invalid means no bias.
Value GruResettingAfter(GraphBuilder& b, Value x, Value recurrent_kernel, Value recurrent_bias,
                        Value h0, Value mask, const RecurrentArgs& args);
Value GruResettingBefore(GraphBuilder& b, Value x, Value recurrent_kernel, Value h0, Value mask,
                         const RecurrentArgs& args);
// Has no recurrent activation.
Value SimpleRnn(GraphBuilder& b, Value x, Value recurrent_kernel, Value h0, Value mask,
                const RecurrentArgs& args);

// random.cc: keeps each element of x with probability 1 - rate and divides it by 1 - rate. The
// other elements become 0. The draws are a function of (seed, stream, step, replica, element).
// `step` is s64[].
Value Dropout(GraphBuilder& b, Value x, Value step, double rate, int64_t seed, uint32_t stream,
              const std::string& label = "dropout");

// array.cc
Value Concat(GraphBuilder& b, const std::vector<Value>& inputs, int64_t axis,
             const std::string& label = "concat");
Value Reshape(GraphBuilder& b, Value x, std::vector<int64_t> dims,
              const std::string& label = "Reshape");
// x (N, ...) or scalar -> dims. Dimension i of x becomes dimension axes[i] of the result.
Value Broadcast(GraphBuilder& b, Value x, std::vector<int64_t> dims, std::vector<int64_t> axes);
bool IsReshape(const Node& node);

// slice.cc: the box of x with the size `size` that starts at `begin`.
Value Slice(GraphBuilder& b, Value x, std::vector<int64_t> begin, std::vector<int64_t> size);
bool IsSlice(const Node& node);
// slice.cc: pads dimension i of x with before[i] zeros at its begin and after[i] zeros at its end.
Value Pad(GraphBuilder& b, Value x, std::vector<int64_t> before, std::vector<int64_t> after);

// gather.cc
// table (V, D...), ids (...) s32 or s64 -> (..., D...): the table rows with these ids, NaN for an
// id outside [0, V). Table and ids share the first `batch_dims` dimensions, and each of their
// entries has a table of its own: (B..., V, D...), (B..., ...) -> (B..., ..., D...).
Value Gather(GraphBuilder& b, Value table, Value ids, int64_t batch_dims = 0,
             const std::string& label = "Gather");
// ids (...), x (..., D...) -> (rows, D...): row r is the sum of the rows of x with id r. Each entry
// of the first `batch_dims` dimensions has sums of its own.
Value ScatterAdd(GraphBuilder& b, Value ids, Value x, int64_t rows, int64_t batch_dims = 0);
bool IsScatterAdd(const Node& node);  // without batch_dims
// ids (K) -> s32 (K), the position of the first occurrence of each id, and ids (K) with -1 at every
// later occurrence.
std::pair<Value, Value> FirstPlaces(GraphBuilder& b, Value ids);
// table (V, D...), ids (K), rows (K, D...) -> the table with row ids[i] replaced by rows[i].
Value SetRows(GraphBuilder& b, Value table, Value ids, Value rows);

// reverse.cc: reverses dimension `axis`, which must not be the first.
Value Reverse(GraphBuilder& b, Value x, int64_t axis);
bool IsReverse(const Node& node);

// transpose.cc: dimension i of the result is dimension perm[i] of x.
Value Transpose(GraphBuilder& b, Value x, std::vector<int64_t> perm,
                const std::string& label = "transpose");

// iota.cc: 0, 1, 2 ... along dimension `axis`; f32, s32 or s64.
Value Iota(GraphBuilder& b, DType dtype, std::vector<int64_t> dims, int64_t axis);

// one_hot.cc
// indices (...) s32 or s64 -> f32 (..., depth): 1 at the index, 0 elsewhere. All 0 for an index
// outside [0, depth).
Value OneHot(GraphBuilder& b, Value indices, int64_t depth);

// reduce.cc: drops each of `axes`. Empty `axes`: reduces all. Sums are f32 in a fixed order.
Value ReduceSum(GraphBuilder& b, Value x, std::vector<int64_t> axes = {},
                const std::string& label = "Sum");
Value ReduceMean(GraphBuilder& b, Value x, std::vector<int64_t> axes = {},
                 const std::string& label = "Mean");
Value ReduceMax(GraphBuilder& b, Value x, std::vector<int64_t> axes = {},
                const std::string& label = "Max");
// x (N, ...) -> (N): scale * sum(x^2) / 2 over each row.
Value L2LossOfRows(GraphBuilder& b, Value x, double scale, const std::string& label = "L2Loss");
// x (N, ..., C) -> (N, ...): the index of the maximum along `axis`; the first of equal elements.
Value ArgMax(GraphBuilder& b, Value x, int64_t axis, DType dtype);

// histogram.cc: x f32 -> counts s64 (R, buckets + 1). Result 1 is the statistics, f32 (R, 4).
Value Histogram(GraphBuilder& b, Value x, const std::string& label = "histogram");

// normalize_rows.cc: normalizes over the last axis, without gamma and beta.
Value NormalizeRows(GraphBuilder& b, Value x, double epsilon);
// softmax.cc: softmax over the last axis.
Value Softmax(GraphBuilder& b, Value logits, const std::string& label = "Softmax");
// logits (N, C), labels (N, C) -> the loss of each row (N). The labels get no gradient.
Value SoftmaxCrossEntropy(GraphBuilder& b, Value logits, Value labels,
                          const std::string& label = "xentropy");
// logits (N, C), labels (N) s32 or s64 -> the loss of each row (N).
// A label outside [0, C) gives NaN, as TensorFlow's CPU and TPU kernels do.
Value SparseSoftmaxCrossEntropy(GraphBuilder& b, Value logits, Value labels,
                                const std::string& label = "xentropy");

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_OPS_H_
