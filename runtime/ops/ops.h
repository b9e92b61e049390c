// Helpers that add ops to a graph from C++: one line an op, named as in TensorFlow. Shapes and
// formulas are in the op's paragraph (OpDef::doc) in the family file.
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
// bf16 parts (kHigh, kHighest), or as they are (kF32). Accumulation is always f32.
enum class Precision : int64_t { kDefault = 0, kHigh = 1, kHighest = 2, kF32 = 3 };

// elementwise.cc and relu.cc: operands have one shape; a rank-0 operand goes with every element.
// Add is in structural.h.
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

// matmul.cc: (M, K) x (K, N) -> (M, N); each operand may be given transposed.
Value MatMul(GraphBuilder& b, Value x, Value y, Precision precision, bool transpose_x = false,
             bool transpose_y = false, const std::string& label = "MatMul");
bool IsMatMul(const Node& node);
// (B..., M, K) x (B..., K, N) -> (B..., M, N), so for each entry of one or more leading dimensions.
Value BatchMatMul(GraphBuilder& b, Value x, Value y, Precision precision, bool transpose_x = false,
                  bool transpose_y = false, const std::string& label = "MatMul");
// x (..., C) + bias (C).
Value BiasAdd(GraphBuilder& b, Value x, Value bias, const std::string& label = "BiasAdd");
// The third operand of a product, if there is one, is f32 (C), C being the result's last dimension.
absl::Status WantBias(const char* op, std::span<const Shape> operands,
                      const std::vector<int64_t>& result);

// attention.cc: q (N, T, H, D), k (N, S, H, D), v (N, S, H, E), mask (N, S) or invalid: none ->
// (N, T, H, E), each head's softmax(scale q k') v.
struct AttentionArgs {
  Precision precision = Precision::kDefault;
  double scale = 1;
  bool causal = false;
  // Share of the weights that are dropped, draws as dropout's; `step` is s64[].
  double rate = 0;
  int64_t seed = 0;
  uint32_t stream = 0;
  Value step = {};
};
Value Attend(GraphBuilder& b, Value q, Value k, Value v, Value mask, const AttentionArgs& args);

// batch_norm.cc: x (..., C); the others are (C).
// The mean of each column of x and its variance, the mean of the squared distances from that.
std::pair<Value, Value> Moments(GraphBuilder& b, Value x, const std::string& label = "moments");
// (x - mean) gamma / sqrt(variance + epsilon) + beta.
Value BatchNorm(GraphBuilder& b, Value x, Value mean, Value variance, Value gamma, Value beta,
                double epsilon, const std::string& label = "batchnorm");

// convolution.cc: x (N, H, W, C), kernel (KH, KW, C/groups, F) -> (N, OH, OW, F).
// strides and dilations: {height, width}; pads: {top, bottom, left, right}, zeros.
Value Conv2d(GraphBuilder& b, Value x, Value kernel, std::vector<int64_t> strides,
             std::vector<int64_t> pads, Precision precision,
             const std::vector<int64_t>& dilations = {1, 1});
// x (N, OH, OW, F), kernel (KH, KW, C, F) -> (N, H, W, C), `image` being {H, W}: what conv2d with
// this window, from such an image to x, passes back to the image.
Value Conv2dTranspose(GraphBuilder& b, Value x, Value kernel, const std::vector<int64_t>& image,
                      std::vector<int64_t> strides, std::vector<int64_t> pads, Precision precision);

// max_pool.cc and avg_pool.cc: x (N, H, W, C) -> (N, OH, OW, C). Padding never counts.
Value MaxPool(GraphBuilder& b, Value x, std::vector<int64_t> window, std::vector<int64_t> strides,
              std::vector<int64_t> pads, const std::string& label = "MaxPool");
Value AvgPool(GraphBuilder& b, Value x, std::vector<int64_t> window, std::vector<int64_t> strides,
              std::vector<int64_t> pads, const std::string& label = "AvgPool");

// lstm.cc, gru.cc, simple_rnn.cc: x (N, T, gates) -> the states of every step, (N, T, U), from
// those before the first, (N, U). A mask (N, T) may be invalid: there is none.
struct RecurrentArgs {
  Precision precision = Precision::kDefault;
  std::string activation = "tanh";  // of RecurrentFunctionNames
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

// Gates z, r, h. The bias (3U), of the recurrent product, may be invalid.
Value GruResettingAfter(GraphBuilder& b, Value x, Value recurrent_kernel, Value recurrent_bias,
                        Value h0, Value mask, const RecurrentArgs& args);
Value GruResettingBefore(GraphBuilder& b, Value x, Value recurrent_kernel, Value h0, Value mask,
                         const RecurrentArgs& args);
// Has no recurrent activation.
Value SimpleRnn(GraphBuilder& b, Value x, Value recurrent_kernel, Value h0, Value mask,
                const RecurrentArgs& args);

// random.cc: each element of x is kept with probability 1 - rate and divided by that, else 0. The
// draws are a function of (seed, stream, step, replica, element). `step` is s64[].
Value Dropout(GraphBuilder& b, Value x, Value step, double rate, int64_t seed, uint32_t stream,
              const std::string& label = "dropout");

// array.cc
Value Concat(GraphBuilder& b, const std::vector<Value>& inputs, int64_t axis,
             const std::string& label = "concat");
Value Reshape(GraphBuilder& b, Value x, std::vector<int64_t> dims,
              const std::string& label = "Reshape");
// x (N, ...) or scalar -> dims; dimension i of x goes to dimension axes[i] of the result.
Value Broadcast(GraphBuilder& b, Value x, std::vector<int64_t> dims, std::vector<int64_t> axes);
bool IsReshape(const Node& node);

// slice.cc: the box of `size` at `begin` of x.
Value Slice(GraphBuilder& b, Value x, std::vector<int64_t> begin, std::vector<int64_t> size);
bool IsSlice(const Node& node);
// slice.cc: x with zeros, before[i] ahead of it and after[i] behind it along each dimension i.
Value Pad(GraphBuilder& b, Value x, std::vector<int64_t> before, std::vector<int64_t> after);

// gather.cc
// table (V, D...), ids (...) s32 or s64 -> (..., D...): the rows of those ids; NaN for an id
// outside [0, V). The first `batch_dims` dimensions of both are the same, each entry by itself:
// (B..., V, D...), (B..., ...) -> (B..., ..., D...).
Value Gather(GraphBuilder& b, Value table, Value ids, int64_t batch_dims = 0,
             const std::string& label = "Gather");
// ids (...), x (..., D...) -> (rows, D...): the sums of the rows of x of one id each; of each entry
// of the first `batch_dims` dimensions by itself.
Value ScatterAdd(GraphBuilder& b, Value ids, Value x, int64_t rows, int64_t batch_dims = 0);
bool IsScatterAdd(const Node& node);  // without batch_dims
// ids (K) -> s32 (K), where each stands first; and the ids, -1 where they do not.
std::pair<Value, Value> FirstPlaces(GraphBuilder& b, Value ids);
// table (V, D...), ids (K), rows (K, D...) -> the table with those rows at these ids.
Value SetRows(GraphBuilder& b, Value table, Value ids, Value rows);

// reverse.cc: dimension `axis` from the end to the begin; not the first.
Value Reverse(GraphBuilder& b, Value x, int64_t axis);
bool IsReverse(const Node& node);

// transpose.cc: dimension i of the result is dimension perm[i] of x.
Value Transpose(GraphBuilder& b, Value x, std::vector<int64_t> perm,
                const std::string& label = "transpose");

// iota.cc: 0, 1, 2 ... along dimension `axis`; f32, s32 or s64.
Value Iota(GraphBuilder& b, DType dtype, std::vector<int64_t> dims, int64_t axis);

// one_hot.cc
// indices (...) s32 or s64 -> f32 (..., depth): 1 at the index, 0 elsewhere; no 1 for an index
// outside [0, depth).
Value OneHot(GraphBuilder& b, Value indices, int64_t depth);

// reduce.cc: the axes, each once, are dropped; no axes given: all of them. Sums are f32 in a fixed
// order.
Value ReduceSum(GraphBuilder& b, Value x, std::vector<int64_t> axes = {},
                const std::string& label = "Sum");
Value ReduceMean(GraphBuilder& b, Value x, std::vector<int64_t> axes = {},
                 const std::string& label = "Mean");
Value ReduceMax(GraphBuilder& b, Value x, std::vector<int64_t> axes = {},
                const std::string& label = "Max");
// x (N, ...) -> (N): scale * sum(x^2) / 2 of each row.
Value L2LossOfRows(GraphBuilder& b, Value x, double scale, const std::string& label = "L2Loss");
// x (N, ..., C) -> (N, ...): the index of the largest along `axis`, the first of equals.
Value ArgMax(GraphBuilder& b, Value x, int64_t axis, DType dtype);

// histogram.cc: x f32 -> counts s64 (R, buckets + 1); result 1 has statistics f32 (R, 4).
Value Histogram(GraphBuilder& b, Value x, const std::string& label = "histogram");

// normalize_rows.cc: over the last axis, without gamma and beta.
Value NormalizeRows(GraphBuilder& b, Value x, double epsilon);
// softmax.cc: over the last axis.
Value Softmax(GraphBuilder& b, Value logits, const std::string& label = "Softmax");
// logits (N, C), labels (N, C), which get no gradient -> the loss of each row (N).
Value SoftmaxCrossEntropy(GraphBuilder& b, Value logits, Value labels,
                          const std::string& label = "xentropy");
// logits (N, C), labels (N) s32 or s64 -> the loss of each row (N).
// A label outside [0, C) gives NaN, as TensorFlow's CPU and TPU kernels do.
Value SparseSoftmaxCrossEntropy(GraphBuilder& b, Value logits, Value labels,
                                const std::string& label = "xentropy");

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_OPS_H_
