// Layers that go through time, axis 1: x (N, T, C), state (N, U).
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

void CheckFunction(proto::Activation activation, const std::string& path, ConfigErrors& errors) {
  if (IsRecurrentFunction(NameOfFunction(activation))) return;
  errors.Add(path, absl::StrCat(path.substr(path.find('.') + 1), " must be one of ",
                                absl::AsciiStrToUpper(RecurrentFunctionNames()), ", got ",
                                proto::Activation_Name(activation)));
}

// What every kind of message has; `kind` is the layer's.
template <typename Rnn>
void CheckRecurrent(const Rnn& rnn, int bias_rank, const std::string& kind, ConfigErrors& errors) {
  if (!rnn.has_units()) {
    errors.Add(kind + ".units", "units is missing");
  } else if (rnn.units() <= 0 || rnn.units() > kMaxDim) {
    errors.Add(kind + ".units",
               absl::StrCat("units must be in [1, ", kMaxDim, "], got ", rnn.units()));
  }
  CheckFunction(rnn.activation(), kind + ".activation", errors);
  if (rnn.has_kernel_initializer())
    CheckInitializer(rnn.kernel_initializer(), 2, kind + ".kernel_initializer", errors);
  if (rnn.has_recurrent_initializer())
    CheckInitializer(rnn.recurrent_initializer(), 2, kind + ".recurrent_initializer", errors);
  if (rnn.has_bias_initializer())
    CheckInitializer(rnn.bias_initializer(), bias_rank, kind + ".bias_initializer", errors);
}

// Reports an input that has no time.
bool IsSequence(LayerContext& layer) {
  const Shape& x = layer.shape(0);
  if (x.dtype == DType::kF32 && x.rank() == 3) return true;
  layer.Fail("",
             absl::StrCat(layer.kind,
                          " wants floating-point values (f32) of shape [N,time,features], got ",
                          Quote(layer.inputs[0].name), " of ", BatchShapeText(x),
                          x.dtype == DType::kF32 ? "; put a reshape to time and features before it"
                                                 : "; declare it FLOAT32 or cast it in the input"));
  return false;
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

// `state`, or zeros where there is none.
Value StateOrZeros(LayerContext& layer, Value state, int64_t units) {
  if (state.valid()) return state;
  return Constant(layer.b, DType::kF32, {layer.shape(0).dims[0], units}, 0);
}

// Of every step, or of the last, (N, U).
Value StatesOf(LayerContext& layer, Value h, bool every_step) {
  if (every_step || !h.valid()) return h;
  GraphBuilder& b = layer.b;
  const std::vector<int64_t> dims = b.shape(h).dims;
  const Value last = Slice(b, h, {0, dims[1] - 1, 0}, {dims[0], 1, dims[2]});
  return Reshape(b, last, {dims[0], dims[2]});
}

}  // namespace

// ---- lstm (Keras LSTM): runtime/ops/lstm.cc has the formulas.

void CheckLstm(const proto::Layer& layer, ConfigErrors& errors) {
  const proto::Lstm& lstm = layer.lstm();
  CheckRecurrent(lstm, 1, "lstm", errors);
  CheckFunction(lstm.recurrent_activation(), "lstm.recurrent_activation", errors);
}

// From a state and with a mask, each of which may be invalid: zeros, none.
static Value LstmFrom(LayerContext& layer, RecurrentStates before, Value mask) {
  const proto::Lstm& lstm = layer.layer.lstm();
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
  if (!kernel.valid() || !recurrent.valid()) return {};
  const RecurrentStates states =
      Lstm(layer.b, Projected(layer, kernel, bias), recurrent, StateOrZeros(layer, before.h, units),
           StateOrZeros(layer, before.c, units), mask,
           {.precision = layer.precision,
            .activation = NameOfFunction(lstm.activation()),
            .recurrent_activation = NameOfFunction(lstm.recurrent_activation()),
            .go_backwards = lstm.go_backwards()});
  return StatesOf(layer, states.h, lstm.return_sequences());
}

Value BuildLstm(LayerContext& layer) {
  return IsSequence(layer) ? LstmFrom(layer, {}, {}) : Value{};
}

// ---- gru (Keras GRU): runtime/ops/gru.cc has the formulas.

void CheckGru(const proto::Layer& layer, ConfigErrors& errors) {
  const proto::Gru& gru = layer.gru();
  CheckRecurrent(gru, gru.reset_after() ? 2 : 1, "gru", errors);
  CheckFunction(gru.recurrent_activation(), "gru.recurrent_activation", errors);
}

// Row `row` of a matrix.
static Value RowOf(GraphBuilder& b, Value matrix, int64_t row) {
  const int64_t columns = b.shape(matrix).dims[1];
  return Reshape(b, Slice(b, matrix, {row, 0}, {1, columns}), {columns});
}

static Value GruFrom(LayerContext& layer, Value before, Value mask) {
  const proto::Gru& gru = layer.layer.gru();
  const int64_t units = gru.units();
  const Value kernel = AddKernel(layer, gru, 3), recurrent = AddRecurrentKernel(layer, gru, 3);
  Value bias, recurrent_bias;
  if (gru.use_bias()) {
    std::vector<int64_t> dims = {3 * units};
    if (gru.reset_after()) dims.insert(dims.begin(), 2);
    bias = layer.AddVariable("bias", dims, BiasInitializer(gru, dims));
    if (!bias.valid()) return {};
  }
  if (!kernel.valid() || !recurrent.valid()) return {};
  if (bias.valid() && gru.reset_after()) {
    recurrent_bias = RowOf(layer.b, bias, 1);
    bias = RowOf(layer.b, bias, 0);
  }
  const Value x = Projected(layer, kernel, bias), h0 = StateOrZeros(layer, before, units);
  const RecurrentArgs args = {.precision = layer.precision,
                              .activation = NameOfFunction(gru.activation()),
                              .recurrent_activation = NameOfFunction(gru.recurrent_activation()),
                              .go_backwards = gru.go_backwards()};
  const Value h = gru.reset_after()
                      ? GruResettingAfter(layer.b, x, recurrent, recurrent_bias, h0, mask, args)
                      : GruResettingBefore(layer.b, x, recurrent, h0, mask, args);
  return StatesOf(layer, h, gru.return_sequences());
}

Value BuildGru(LayerContext& layer) { return IsSequence(layer) ? GruFrom(layer, {}, {}) : Value{}; }

// ---- simple_rnn (Keras SimpleRNN): h' = a(x kernel + h recurrent_kernel + bias).

void CheckSimpleRnn(const proto::Layer& layer, ConfigErrors& errors) {
  CheckRecurrent(layer.simple_rnn(), 1, "simple_rnn", errors);
}

static Value SimpleRnnFrom(LayerContext& layer, Value before, Value mask) {
  const proto::SimpleRnn& rnn = layer.layer.simple_rnn();
  const int64_t units = rnn.units();
  const Value kernel = AddKernel(layer, rnn, 1), recurrent = AddRecurrentKernel(layer, rnn, 1);
  Value bias;
  if (rnn.use_bias()) {
    bias = layer.AddVariable("bias", {units}, BiasInitializer(rnn, {units}));
    if (!bias.valid()) return {};
  }
  if (!kernel.valid() || !recurrent.valid()) return {};
  const Value h = SimpleRnn(layer.b, Projected(layer, kernel, bias), recurrent,
                            StateOrZeros(layer, before, units), mask,
                            {.precision = layer.precision,
                             .activation = NameOfFunction(rnn.activation()),
                             .go_backwards = rnn.go_backwards()});
  return StatesOf(layer, h, rnn.return_sequences());
}

Value BuildSimpleRnn(LayerContext& layer) {
  return IsSequence(layer) ? SimpleRnnFrom(layer, {}, {}) : Value{};
}

}  // namespace tpurun
