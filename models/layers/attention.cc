// Multi-head attention, and the transformer block that is made of it.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "models/layers/families.h"
#include "runtime/base/random.h"
#include "runtime/base/text.h"
#include "runtime/spec/global_step.h"

namespace tpurun {
namespace {

const proto::MultiHeadAttention& FieldsOf(const LayerContext& layer) {
  return layer.layer.multi_head_attention();
}

int64_t ValueDim(const proto::MultiHeadAttention& attention) {
  return attention.has_value_dim() ? attention.value_dim() : attention.key_dim();
}

// x (..., K), K being the product of kernel_dims without the last `outs` of them: x kernel + bias,
// (rows, product of those), from variables NAME/PART/kernel and bias.
Value Project(LayerContext& layer, const std::string& part, Value x,
              const std::vector<int64_t>& kernel_dims, int outs) {
  GraphBuilder& b = layer.b;
  const proto::MultiHeadAttention& attention = FieldsOf(layer);
  const ScopedName scope(b, part);
  const std::vector<int64_t> out_dims(kernel_dims.end() - outs, kernel_dims.end());
  const Value kernel =
      layer.AddVariable(part + "/kernel", kernel_dims,
                        attention.has_kernel_initializer()
                            ? MakeInitializer(attention.kernel_initializer(), kernel_dims)
                            : GlorotUniform(kernel_dims));
  if (!kernel.valid()) return {};
  // Of a variable that is not too large.
  const int64_t out = Shape{DType::kF32, out_dims}.num_elements();
  const int64_t in = b.shape(kernel).num_elements() / out;
  Value y = MatMul(b, Reshape(b, x, {b.shape(x).num_elements() / in, in}),
                   Reshape(b, kernel, {in, out}), layer.precision);
  if (!attention.use_bias()) return y;
  const Value bias = layer.AddVariable(part + "/bias", out_dims,
                                       attention.has_bias_initializer()
                                           ? MakeInitializer(attention.bias_initializer(), out_dims)
                                           : Zeros());
  return bias.valid() ? BiasAdd(b, y, Reshape(b, bias, {out})) : Value{};
}

bool CheckSequences(LayerContext& layer) {
  for (size_t i = 0; i < layer.inputs.size(); ++i) {
    const Shape& x = layer.shape(static_cast<int>(i));
    if (x.dtype == DType::kF32 && x.rank() == 3) continue;
    layer.Fail("", absl::StrCat("multi_head_attention wants floating-point values (f32) of shape "
                                "[N,time,features], got ",
                                Quote(layer.inputs[i].name), " of ", BatchShapeText(x)));
    return false;
  }
  return true;
}

// (N, S), 0 where a key is not seen; invalid where all are, or after a mistake.
Value MaskOfKeys(LayerContext& layer) {
  GraphBuilder& b = layer.b;
  const std::string& name = FieldsOf(layer).mask();
  const Value padding = layer.inputs.back().mask;
  if (name.empty()) return padding;
  const int64_t keys = layer.shape(static_cast<int>(layer.inputs.size()) - 1).dims[1];
  const Value mask = layer.ReadFeature("multi_head_attention.mask", name, {keys});
  if (!mask.valid()) return {};
  return padding.valid() ? Mul(b, padding, NonZero(b, mask)) : NonZero(b, mask);
}

// What generation goes on with from position to position: the keys and values so far.
struct KeysAndValues {
  Value keys, values;  // (1, positions, ...)
  Value mask;          // (1, positions), 0 behind this position
};

KeysAndValues GoOn(LayerContext& layer, Value key, Value value) {
  GraphBuilder& b = layer.b;
  const int64_t positions = layer.positions;
  const Value position = layer.Position();
  const Value id = Convert(b, Reshape(b, position, {1}), DType::kS32);
  const auto with = [&](const std::string& name, Value row) {
    const int64_t width = b.shape(row).num_elements();
    const Value all =
        SetRows(b, layer.AddState(name, {positions, width}), id, Reshape(b, row, {1, width}));
    layer.UpdateState(name, all);
    std::vector<int64_t> dims = b.shape(row).dims;
    dims[1] = positions;
    return Reshape(b, all, dims);
  };
  KeysAndValues kept{.keys = with("keys", key), .values = with("values", value)};
  const Value behind = Greater(b, Iota(b, DType::kF32, {1, positions}, 1), position);
  kept.mask = Select(b, behind, Scalar(b, 0), Constant(b, DType::kF32, {1, positions}, 1));
  return kept;
}

// Whether it can be built for one position of a sequence that goes on.
bool CanGoOn(LayerContext& layer) {
  const proto::MultiHeadAttention& attention = FieldsOf(layer);
  const bool masked = !attention.mask().empty() || layer.inputs[0].mask.valid();
  if (attention.causal() && !masked && layer.inputs.size() == 1) return true;
  layer.Fail("",
             "only attention that is causal, of a sequence to itself and without a mask, knows "
             "all that it needs at a position");
  return false;
}

}  // namespace

// ---- multi_head_attention (Keras MultiHeadAttention): inputs x (N, T, C) and, for
// cross-attention, y (N, S, K), else y = x; with H heads, D = key_dim, E = value_dim: q = x query,
// k = y key, v = y value, (softmax(q k' / sqrt(D)) v) attention_output, (N, T, output_dim). Of what
// Keras hides, the positions of y that are padding are hidden here; those of x that are give what
// nobody reads.

void CheckMultiHeadAttention(const proto::Layer& layer, ConfigErrors& errors) {
  const proto::MultiHeadAttention& attention = layer.multi_head_attention();
  const std::string kind = "multi_head_attention";
  if (attention.has_kernel_initializer()) {
    CheckInitializer(attention.kernel_initializer(), 3, kind + ".kernel_initializer", errors);
  }
  if (attention.has_bias_initializer()) {
    CheckInitializer(attention.bias_initializer(), 1, kind + ".bias_initializer", errors);
  }
}

Value BuildMultiHeadAttention(LayerContext& layer) {
  const proto::MultiHeadAttention& attention = FieldsOf(layer);
  const bool goes_on = layer.carries_state.value_or(false);
  if (!CheckSequences(layer) || (goes_on && !CanGoOn(layer))) return {};
  GraphBuilder& b = layer.b;
  const LayerInput &queries = layer.inputs.front(), &keys = layer.inputs.back();
  const Shape x = b.shape(queries.value);
  const int64_t n = x.dims[0], t = x.dims[1];
  const int64_t heads = attention.num_heads(), key_dim = attention.key_dim();
  const int64_t value_dim = ValueDim(attention);
  const auto project = [&](const std::string& part, Value of, int64_t width) {
    const std::vector<int64_t> dims = b.shape(of).dims;
    const Value all = Project(layer, part, of, {dims[2], heads, width}, 2);
    return all.valid() ? Reshape(b, all, {dims[0], dims[1], heads, width}) : all;
  };
  const Value q = project("query", queries.value, key_dim);
  KeysAndValues kv{.keys = project("key", keys.value, key_dim),
                   .values = project("value", keys.value, value_dim),
                   .mask = MaskOfKeys(layer)};
  if (!q.valid() || !kv.keys.valid() || !kv.values.valid() || !layer.errors().empty()) return {};
  if (goes_on) kv = GoOn(layer, kv.keys, kv.values);
  const bool drops = layer.training && attention.dropout() > 0;
  const Value attended = Attend(b, q, kv.keys, kv.values, kv.mask,
                                {.precision = layer.precision,
                                 .scale = 1 / std::sqrt(static_cast<double>(key_dim)),
                                 .causal = attention.causal() && !goes_on,
                                 .rate = drops ? attention.dropout() : 0.0,
                                 .seed = layer.seed,
                                 .stream = StreamOf(layer.name),
                                 .step = drops ? b.Read(GlobalStep(b)) : Value{}});
  const int64_t out = attention.has_output_dim() ? attention.output_dim() : x.dims[2];
  const Value result = Project(layer, "attention_output", attended, {heads, value_dim, out}, 1);
  if (!result.valid()) return {};
  layer.SetMask(queries.mask);
  return Reshape(b, result, {n, t, out});
}

// ---- transformer_block: attention and two dense layers, each in a residual with a normalization
// behind it (Vaswani et al. 2017) or, with pre_norm, ahead of what it adds to (Xiong et al. 2020).

namespace {

int64_t FeaturesOf(const proto::TransformerBlock& block) {
  return block.has_features() ? block.features() : block.num_heads() * block.key_dim();
}

void AddDropout(float rate, Layers* layers) {
  if (rate > 0) layers->Add()->mutable_dropout()->set_rate(rate);
}

void AddNormalization(const std::string& name, Layers* layers) {
  proto::Layer& layer = *layers->Add();
  layer.set_name(name);
  layer.mutable_layer_normalization();
}

void AddDense(const std::string& name, int64_t units, proto::Activation activation,
              Layers* layers) {
  proto::Layer& layer = *layers->Add();
  layer.set_name(name);
  layer.mutable_dense()->set_units(units);
  layer.mutable_dense()->set_activation(activation);
}

// The inner layers of a residual.
Layers* AddResidual(const std::string& name, bool pre_norm, Layers* layers) {
  proto::Layer& layer = *layers->Add();
  layer.set_name(name);
  Layers* const inner = layer.mutable_residual()->mutable_layer();
  if (pre_norm) AddNormalization("norm", inner);
  return inner;
}

std::shared_ptr<const Layers> TransformerLayers(const proto::TransformerBlock& block) {
  const auto layers = std::make_shared<Layers>();
  Layers* inner = AddResidual("attention", block.pre_norm(), layers.get());
  proto::Layer& self = *inner->Add();
  self.set_name("self");
  proto::MultiHeadAttention& attention = *self.mutable_multi_head_attention();
  attention.set_num_heads(block.num_heads());
  attention.set_key_dim(block.key_dim());
  attention.set_dropout(block.dropout());
  attention.set_causal(block.causal());
  attention.set_output_dim(FeaturesOf(block));
  if (block.has_mask()) attention.set_mask(block.mask());
  AddDropout(block.dropout(), inner);
  if (!block.pre_norm()) AddNormalization("attention_norm", layers.get());

  inner = AddResidual("ffn", block.pre_norm(), layers.get());
  AddDense("intermediate", block.ffn_units(), block.activation(), inner);
  AddDense("output", FeaturesOf(block), proto::LINEAR, inner);
  AddDropout(block.dropout(), inner);
  if (!block.pre_norm()) AddNormalization("output_norm", layers.get());
  return layers;
}

}  // namespace

std::vector<LayerBlock> ExpandTransformerBlock(const proto::Layer& layer) {
  const int64_t copies = layer.transformer_block().repeat();
  return {{.layers = TransformerLayers(layer.transformer_block()),
           .copies = copies,
           .first_number = copies == 1 ? -1 : 0}};
}

}  // namespace tpurun
