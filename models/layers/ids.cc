// Layers that turn ids and positions into vectors.
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

}  // namespace

// ---- embedding (Keras Embedding): ids x (N, ...) whole, embeddings (V, D) -> (N, ..., D) f32;
// with mask_zero x is (N, T), and id 0 is padding.

void CheckEmbedding(const proto::Layer& layer, ConfigErrors& errors) {
  const proto::Embedding& embedding = layer.embedding();
  CheckDim("embedding.input_dim", embedding.has_input_dim(), embedding.input_dim(), errors);
  CheckDim("embedding.output_dim", embedding.has_output_dim(), embedding.output_dim(), errors);
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
  CheckDim("position_embedding.max_length", position.has_max_length(), position.max_length(),
           errors);
  if (position.has_embeddings_initializer()) {
    CheckInitializer(position.embeddings_initializer(), 2,
                     "position_embedding.embeddings_initializer", errors);
  }
}

Value BuildPositionEmbedding(LayerContext& layer) {
  const proto::PositionEmbedding& position = layer.layer.position_embedding();
  const Shape x = layer.shape(0);
  if (x.dtype != DType::kF32 || x.rank() != 3) {
    return layer.Fail("",
                      absl::StrCat("position_embedding wants floating-point values (f32) of shape "
                                   "[N,time,features], got ",
                                   Quote(layer.inputs[0].name), " of ", BatchShapeText(x)));
  }
  const bool goes_on = layer.carries_state.value_or(false);
  const int64_t time = goes_on ? layer.positions : x.dims[1], features = x.dims[2];
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
  GraphBuilder& b = layer.b;
  if (goes_on) {
    const Value id = Convert(b, Reshape(b, layer.Position(), {1}), DType::kS32);
    return Add(b, layer.inputs[0].value, Reshape(b, Gather(b, table, id), {features}));
  }
  const Value rows = time == dims[0] ? table : Slice(b, table, {0, 0}, {time, features});
  // An example as one row, which takes the positions' rows as its own.
  const Value examples = Reshape(b, layer.inputs[0].value, {x.dims[0], time * features});
  return Reshape(b, Add(b, examples, Reshape(b, rows, {time * features})), x.dims);
}

// ---- one_hot (tf.one_hot): x (N, ...) whole -> (N, ..., depth) f32: 1 at the id, else 0; an id
// outside [0, depth) gives zeros only.

void CheckOneHot(const proto::Layer& layer, ConfigErrors& errors) {
  const proto::OneHot& one_hot = layer.one_hot();
  CheckDim("one_hot.depth", one_hot.has_depth(), one_hot.depth(), errors);
}

Value BuildOneHot(LayerContext& layer) {
  if (!CheckIds(layer)) return {};
  return OneHot(layer.b, layer.inputs[0].value, layer.layer.one_hot().depth());
}

}  // namespace tpurun
