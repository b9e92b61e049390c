// Recurrent layers, which step through time, axis 1: x (N, T, C), state (N, U).
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "models/layers/families.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

std::string NameOfFunction(proto::Activation activation) {
  return absl::AsciiStrToLower(proto::Activation_Name(activation));
}

// What every kind of message has; `kind` is the layer's.
template <typename Rnn>
void CheckRecurrent(const Rnn& rnn, int bias_rank, const std::string& kind, ConfigErrors& errors) {
  if (rnn.has_kernel_initializer())
    CheckInitializer(rnn.kernel_initializer(), 2, kind + ".kernel_initializer", errors);
  if (rnn.has_recurrent_initializer())
    CheckInitializer(rnn.recurrent_initializer(), 2, kind + ".recurrent_initializer", errors);
  if (rnn.has_bias_initializer())
    CheckInitializer(rnn.bias_initializer(), bias_rank, kind + ".bias_initializer", errors);
}

template <typename Rnn>
Value AddKernel(LayerContext& layer, const Rnn& rnn, int64_t gates) {
  const std::vector<int64_t> dims = {layer.shape(0).dims[2], gates * rnn.units()};
  return layer.AddVariable("kernel", dims,
                           rnn.has_kernel_initializer()
                               ? MakeInitializer(rnn.kernel_initializer(), dims)
                               : GlorotUniform(dims));
}

template <typename Rnn>
Value AddRecurrentKernel(LayerContext& layer, const Rnn& rnn, int64_t gates) {
  const std::vector<int64_t> dims = {rnn.units(), gates * rnn.units()};
  return layer.AddVariable("recurrent_kernel", dims,
                           rnn.has_recurrent_initializer()
                               ? MakeInitializer(rnn.recurrent_initializer(), dims)
                               : Orthogonal());
}

template <typename Rnn>
Initializer BiasInitializer(const Rnn& rnn, const std::vector<int64_t>& dims) {
  return rnn.has_bias_initializer() ? MakeInitializer(rnn.bias_initializer(), dims) : Zeros();
}

// x kernel + bias of every step, (N, T, gates); `bias` invalid: none.
Value Projected(LayerContext& layer, Value kernel, Value bias) {
  GraphBuilder& b = layer.b;
  const Shape x = layer.shape(0);
  const int64_t n = x.dims[0], t = x.dims[1];
  Value y =
      MatMul(b, Reshape(b, layer.inputs[0].value, {n * t, x.dims[2]}), kernel, layer.precision);
  if (bias.valid()) y = BiasAdd(b, y, bias);
  return y.valid() ? Reshape(b, y, {n, t, b.shape(y).dims[1]}) : y;
}

// The state behind the last step, (N, U), of the states (N, T, U).
Value LastOf(GraphBuilder& b, Value states) {
  const std::vector<int64_t> dims = b.shape(states).dims;
  const Value last = Slice(b, states, {0, dims[1] - 1, 0}, {dims[0], 1, dims[2]});
  return Reshape(b, last, {dims[0], dims[2]});
}

// The states that a layer keeps from batch to batch, or is given, or starts from at 0.
template <typename Rnn>
class States {
 public:
  States(LayerContext& layer, const Rnn& rnn)
      : layer_(layer), rnn_(rnn), carries_(layer.carries_state.value_or(rnn.stateful())) {
    if (!carries_ || layer.carries_state.has_value()) return;
    if (rnn.reset_states_every() > 0) batch_ = BatchOfPeriod();
    if (!rnn.reset_states_at().empty()) {
      start_ = layer.ReadFeature(layer.kind + ".reset_states_at", rnn.reset_states_at());
    }
  }

  // What it starts from, (N, U): input `input` where there is one. Invalid after a mistake.
  Value Before(const std::string& name, size_t input) {
    GraphBuilder& b = layer_.b;
    const std::vector<int64_t> dims = {layer_.shape(0).dims[0], rnn_.units()};
    if (input < layer_.inputs.size()) {
      const Shape given = layer_.shape(static_cast<int>(input));
      if (given == Shape{DType::kF32, dims}) return layer_.inputs[input].value;
      return layer_.Fail(
          "", absl::StrCat("the state it starts from must be f32[N,", rnn_.units(), "], got ",
                           Quote(layer_.inputs[input].name), " of ", BatchShapeText(given)));
    }
    if (!carries_) return Constant(b, DType::kF32, dims, 0);
    Value state = layer_.AddState(name, dims);
    // Not by a product: 0 takes the place of a NaN too.
    if (batch_.valid()) state = Select(b, Equal(b, batch_, Scalar(b, 0)), Scalar(b, 0), state);
    if (start_.valid()) {
      const Value starts = Broadcast(b, Convert(b, start_, DType::kF32), dims, {0});
      state = Select(b, Equal(b, starts, Scalar(b, 0)), state, Scalar(b, 0));
    }
    return state;
  }

  // That is behind the last step, of result `result` (1, 2) of the layer.
  void After(const std::string& name, Value states) {
    if (!states.valid() || (!carries_ && !rnn_.return_state())) return;
    const Value last = LastOf(layer_.b, states);
    if (carries_ && layer_.inputs.size() == 1) layer_.UpdateState(name, last);
    if (rnn_.return_state()) layer_.AddResult(last);
  }

 private:
  // Of the reset_states_every batches that go on from one another, from 0.
  Value BatchOfPeriod() {
    GraphBuilder& b = layer_.b;
    const Value batch = layer_.AddState("batch", {});
    const Value next = Add(b, batch, Scalar(b, 1));
    const Value is_last = Equal(b, next, Scalar(b, static_cast<double>(rnn_.reset_states_every())));
    layer_.UpdateState("batch", Select(b, is_last, Scalar(b, 0), next));
    return batch;
  }

  LayerContext& layer_;
  const Rnn& rnn_;
  const bool carries_;
  Value batch_;  // invalid: the state is not reset by number
  Value start_;  // (N), of the rows that start from 0 not 0; invalid: there is none
};

// Whether it can be built; its mask goes on where there is one state a position.
template <typename Rnn>
bool Begin(LayerContext& layer, const Rnn& rnn) {
  if (!IsSequence(layer)) return false;
  if (layer.carries_state.value_or(false) && rnn.go_backwards()) {
    layer.Fail("", "what reads the time from its end cannot go on with a text");
    return false;
  }
  if (rnn.stateful() && layer.inputs.size() > 1) {
    layer.Fail("", "a layer that is stateful is given no state; take its other inputs out");
    return false;
  }
  if (rnn.return_sequences()) layer.SetMask(layer.inputs[0].mask);
  return true;
}

// h (N, T, U), in the order read, with 0 ahead of the first step that the mask (N, T) leaves: there
// Keras shows nothing of the state that it starts from.
Value ZeroAheadOfFirst(GraphBuilder& b, Value h, Value mask, bool go_backwards) {
  const std::vector<int64_t> dims = b.shape(h).dims;
  const int64_t n = dims[0], t = dims[1];
  Value begun = go_backwards ? Reverse(b, mask, 1) : mask;
  for (int64_t shift = 1; shift < t; shift *= 2) {
    const Value ahead = Constant(b, DType::kF32, {n, shift}, 0);
    begun =
        Maximum(b, begun, Concat(b, {ahead, Slice(b, begun, {0, 0}, {n, t - shift})}, /*axis=*/1));
  }
  return Mul(b, h, Broadcast(b, begun, dims, {0, 1}));
}

// The states of every step, or of the last, (N, U), as others read them.
template <typename Rnn>
Value StatesOf(LayerContext& layer, const Rnn& rnn, Value h) {
  const Value mask = layer.inputs[0].mask;
  if (!h.valid()) return h;
  // In a text that is generated the state is 0 ahead of its first step anyway.
  const bool kept = rnn.stateful() && !layer.carries_state.has_value();
  if (mask.valid() && (kept || layer.inputs.size() > 1)) {
    h = ZeroAheadOfFirst(layer.b, h, mask, rnn.go_backwards());
  }
  return rnn.return_sequences() ? h : LastOf(layer.b, h);
}

}  // namespace

// ---- lstm (Keras LSTM): runtime/ops/lstm.cc has the formulas.

void CheckLstm(const proto::Layer& layer, ConfigErrors& errors) {
  const proto::Lstm& lstm = layer.lstm();
  CheckRecurrent(lstm, 1, "lstm", errors);
}

Value BuildLstm(LayerContext& layer) {
  const proto::Lstm& lstm = layer.layer.lstm();
  if (!Begin(layer, lstm)) return {};
  if (layer.inputs.size() == 2) {
    return layer.Fail("",
                      "lstm wants one input, or three: what it reads and the state h and c that "
                      "it starts from");
  }
  const int64_t units = lstm.units();
  const Value kernel = AddKernel(layer, lstm, 4);
  const Value recurrent = AddRecurrentKernel(layer, lstm, 4);
  Value bias;
  if (lstm.use_bias()) {
    Initializer initializer = BiasInitializer(lstm, {4 * units});
    if (lstm.unit_forget_bias()) initializer = UnitForgetBias(initializer, units);
    bias = layer.AddVariable("bias", {4 * units}, initializer);
    if (!bias.valid()) return {};
  }
  States<proto::Lstm> carried(layer, lstm);
  const Value h0 = carried.Before("h", 1), c0 = carried.Before("c", 2);
  if (!kernel.valid() || !recurrent.valid() || !h0.valid() || !c0.valid()) return {};
  const RecurrentStates states =
      Lstm(layer.b, Projected(layer, kernel, bias), recurrent, h0, c0, layer.inputs[0].mask,
           {.precision = layer.precision,
            .activation = NameOfFunction(lstm.activation()),
            .recurrent_activation = NameOfFunction(lstm.recurrent_activation()),
            .go_backwards = lstm.go_backwards()});
  carried.After("h", states.h);
  carried.After("c", states.c);
  return StatesOf(layer, lstm, states.h);
}

// ---- gru (Keras GRU): runtime/ops/gru.cc has the formulas.

void CheckGru(const proto::Layer& layer, ConfigErrors& errors) {
  const proto::Gru& gru = layer.gru();
  CheckRecurrent(gru, gru.reset_after() ? 2 : 1, "gru", errors);
}

// Row `row` of a matrix.
static Value RowOf(GraphBuilder& b, Value matrix, int64_t row) {
  const int64_t columns = b.shape(matrix).dims[1];
  return Reshape(b, Slice(b, matrix, {row, 0}, {1, columns}), {columns});
}

Value BuildGru(LayerContext& layer) {
  const proto::Gru& gru = layer.layer.gru();
  if (!Begin(layer, gru)) return {};
  const int64_t units = gru.units();
  const Value kernel = AddKernel(layer, gru, 3), recurrent = AddRecurrentKernel(layer, gru, 3);
  Value bias, recurrent_bias;
  if (gru.use_bias()) {
    std::vector<int64_t> dims = {3 * units};
    if (gru.reset_after()) dims.insert(dims.begin(), 2);
    bias = layer.AddVariable("bias", dims, BiasInitializer(gru, dims));
    if (!bias.valid()) return {};
  }
  States<proto::Gru> carried(layer, gru);
  const Value h0 = carried.Before("h", 1), mask = layer.inputs[0].mask;
  if (!kernel.valid() || !recurrent.valid() || !h0.valid()) return {};
  if (bias.valid() && gru.reset_after()) {
    recurrent_bias = RowOf(layer.b, bias, 1);
    bias = RowOf(layer.b, bias, 0);
  }
  const Value x = Projected(layer, kernel, bias);
  const RecurrentArgs args = {.precision = layer.precision,
                              .activation = NameOfFunction(gru.activation()),
                              .recurrent_activation = NameOfFunction(gru.recurrent_activation()),
                              .go_backwards = gru.go_backwards()};
  const Value h = gru.reset_after()
                      ? GruResettingAfter(layer.b, x, recurrent, recurrent_bias, h0, mask, args)
                      : GruResettingBefore(layer.b, x, recurrent, h0, mask, args);
  carried.After("h", h);
  return StatesOf(layer, gru, h);
}

// ---- simple_rnn (Keras SimpleRNN): h' = a(x kernel + h recurrent_kernel + bias).

void CheckSimpleRnn(const proto::Layer& layer, ConfigErrors& errors) {
  CheckRecurrent(layer.simple_rnn(), 1, "simple_rnn", errors);
}

Value BuildSimpleRnn(LayerContext& layer) {
  const proto::SimpleRnn& rnn = layer.layer.simple_rnn();
  if (!Begin(layer, rnn)) return {};
  const int64_t units = rnn.units();
  const Value kernel = AddKernel(layer, rnn, 1), recurrent = AddRecurrentKernel(layer, rnn, 1);
  Value bias;
  if (rnn.use_bias()) {
    bias = layer.AddVariable("bias", {units}, BiasInitializer(rnn, {units}));
    if (!bias.valid()) return {};
  }
  States<proto::SimpleRnn> carried(layer, rnn);
  const Value h0 = carried.Before("h", 1);
  if (!kernel.valid() || !recurrent.valid() || !h0.valid()) return {};
  const Value h =
      SimpleRnn(layer.b, Projected(layer, kernel, bias), recurrent, h0, layer.inputs[0].mask,
                {.precision = layer.precision,
                 .activation = NameOfFunction(rnn.activation()),
                 .go_backwards = rnn.go_backwards()});
  carried.After("h", h);
  return StatesOf(layer, rnn, h);
}

}  // namespace tpurun
