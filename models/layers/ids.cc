// Layers that turn ids and positions into vectors: embeddings, gather and one_hot.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "models/layers/families.h"
#include "runtime/base/text.h"

namespace tpurun {

namespace {

// Whether the input holds ids; reports it otherwise.
bool CheckIds(LayerContext& layer, int input = 0) {
  const Shape& x = layer.shape(input);
  if (x.dtype == DType::kS32 || x.dtype == DType::kS64) return true;
  layer.Fail("", absl::StrCat(layer.kind, " wants ids, INT32 or INT64, got ",
                              Quote(layer.inputs[input].name), " of ", BatchShapeText(x),
                              "; declare it INT32 or cast it in the input"));
  return false;
}

// Of a whole sequence.
int64_t PositionsOf(const LayerContext& layer) {
  return layer.carries_state.value_or(false) ? layer.positions : layer.shape(0).dims[1];
}

// x (N, T, C) plus rows (T, C), the same for each example: an example as one row takes them as its
// own. Where positions are steps x has one, which takes its row.
Value AddToExamples(LayerContext& layer, Value rows) {
  GraphBuilder& b = layer.b;
  const Value x = layer.inputs[0].value;
  const std::vector<int64_t> dims = b.shape(x).dims;
  if (layer.carries_state.value_or(false)) {
    const Value id = Convert(b, Reshape(b, layer.Position(), {1}), DType::kS32);
    rows = Gather(b, rows, id);
  }
  const int64_t size = dims[1] * dims[2];
  const Value examples = Reshape(b, x, {dims[0], size});
  return Reshape(b, Add(b, examples, Reshape(b, rows, {size})), dims);
}

}  // namespace

// ---- embedding (Keras Embedding): ids x (N, ...) whole, embeddings (V, D) -> (N, ..., D) f32;
// with mask_zero x is (N, T), and id 0 is padding.

void CheckEmbedding(const proto::Layer& layer, ConfigErrors& errors) {
  const proto::Embedding& embedding = layer.embedding();
  if (embedding.has_embeddings_initializer()) {
    CheckInitializer(embedding.embeddings_initializer(), 2, "embedding.embeddings_initializer",
                     errors);
  }
}

Value BuildEmbedding(LayerContext& layer) {
  const proto::Embedding& embedding = layer.layer.embedding();
  if (!CheckIds(layer)) return {};
  const std::vector<int64_t> dims = {embedding.input_dim(), embedding.output_dim()};
  const Value table = layer.AddVariable(
      "embeddings", dims,
      embedding.has_embeddings_initializer()
          ? MakeInitializer(embedding.embeddings_initializer(), dims)
          : Initializer{.kind = Initializer::Kind::kUniform, .a = -0.05, .b = 0.05});
  if (embedding.mask_zero()) {
    if (layer.shape(0).rank() != 2) {
      return layer.Fail(
          "embedding.mask_zero",
          absl::StrCat("mask_zero wants ids of shape [N,time], got ", Quote(layer.inputs[0].name),
                       " of ", BatchShapeText(layer.shape(0))));
    }
    layer.SetMask(NonZero(layer.b, layer.inputs[0].value));
  }
  return table.valid() ? Gather(layer.b, table, layer.inputs[0].value) : Value{};
}

// ---- gather (tf.gather with batch_dims 1): x (N, T, ...), ids (N, P...) whole -> (N, P..., ...);
// y[n, p] = x[n, ids[n, p]], NaN for an id outside [0, T).

Value BuildGather(LayerContext& layer) {
  const Shape& x = layer.shape(0);
  if (x.dtype != DType::kF32 || x.rank() < 2) {
    return layer.Fail("", absl::StrCat("gather wants floating-point values (f32) of shape "
                                       "[N,time,...], got ",
                                       Quote(layer.inputs[0].name), " of ", BatchShapeText(x)));
  }
  if (!CheckIds(layer, 1)) return {};
  return Gather(layer.b, layer.inputs[0].value, layer.inputs[1].value, 1);
}

// ---- position_embedding (BERT's position_embeddings): x (N, T, C), embeddings (max_length, C);
// y[n, t] = x[n, t] + embeddings[t].

void CheckPositionEmbedding(const proto::Layer& layer, ConfigErrors& errors) {
  const proto::PositionEmbedding& position = layer.position_embedding();
  if (position.has_embeddings_initializer()) {
    CheckInitializer(position.embeddings_initializer(), 2,
                     "position_embedding.embeddings_initializer", errors);
  }
}

Value BuildPositionEmbedding(LayerContext& layer) {
  const proto::PositionEmbedding& position = layer.layer.position_embedding();
  if (!IsSequence(layer)) return {};
  const Shape x = layer.shape(0);
  const int64_t time = PositionsOf(layer), features = x.dims[2];
  if (time > position.max_length()) {
    return layer.Fail("position_embedding.max_length",
                      absl::StrCat("max_length is ", position.max_length(), ", and ",
                                   Quote(layer.inputs[0].name), " has ", time, " positions"));
  }
  const std::vector<int64_t> dims = {position.max_length(), features};
  const Value table = layer.AddVariable(
      "embeddings", dims,
      position.has_embeddings_initializer()
          ? MakeInitializer(position.embeddings_initializer(), dims)
          : Initializer{.kind = Initializer::Kind::kTruncatedNormal, .a = 0, .b = 0.02});
  if (!table.valid()) return {};
  const Value rows = time == dims[0] ? table : Slice(layer.b, table, {0, 0}, {time, features});
  return AddToExamples(layer, rows);
}

// ---- sinusoidal_position_embedding (Vaswani et al. 2017, section 3.5): x (N, T, C);
// y[n, t, 2i] = x[n, t, 2i] + sin(t / max_wavelength^(2i / C)), y[n, t, 2i + 1] with the cosine of
// the same.

Value BuildSinusoidalPositionEmbedding(LayerContext& layer) {
  if (!IsSequence(layer)) return {};
  GraphBuilder& b = layer.b;
  const std::vector<int64_t> dims = b.shape(layer.inputs[0].value).dims;
  const double wavelength = layer.layer.sinusoidal_position_embedding().max_wavelength();
  // A pair of features, 2i and 2i + 1, has one wavelength; an odd last one has none beside it.
  const int64_t time = PositionsOf(layer), features = dims[2], pairs = (features + 1) / 2;
  const Value pair = Iota(b, DType::kF32, {time, pairs}, 1);
  const Value rate = Exp(b, Mul(b, pair, Scalar(b, -2 * std::log(wavelength) / features)));
  const Value angle = Mul(b, Iota(b, DType::kF32, {time, pairs}, 0), rate);
  const std::vector<int64_t> column = {time, pairs, 1};
  const Value both =
      Concat(b, {Reshape(b, Sin(b, angle), column), Reshape(b, Cos(b, angle), column)}, 2);
  Value rows = Reshape(b, both, {time, 2 * pairs});
  if (features % 2 == 1) rows = Slice(b, rows, {0, 0}, {time, features});
  return AddToExamples(layer, rows);
}

// ---- one_hot (tf.one_hot): x (N, ...) whole -> (N, ..., depth) f32: 1 at the id, else 0; an id
// outside [0, depth) gives zeros only.

Value BuildOneHot(LayerContext& layer) {
  if (!CheckIds(layer)) return {};
  return OneHot(layer.b, layer.inputs[0].value, layer.layer.one_hot().depth());
}

}  // namespace tpurun
