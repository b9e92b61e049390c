// Layers that turn ids into vectors.
#include "absl/strings/str_cat.h"
#include "models/layers/families.h"
#include "runtime/base/text.h"

namespace tpurun {

namespace {

// The dimension's own check, of a field that must be given.
void CheckDim(const std::string& path, bool given, int64_t dim, ConfigErrors& errors) {
  const std::string name = path.substr(path.rfind('.') + 1);
  if (!given) {
    errors.Add(path, name + " is missing");
  } else if (dim <= 0 || dim > kMaxDim) {
    errors.Add(path, absl::StrCat(name, " must be in [1, ", kMaxDim, "], got ", dim));
  }
}

// Whether the input holds ids; reports it otherwise.
bool CheckIds(LayerContext& layer) {
  const Shape& x = layer.shape(0);
  if (x.dtype == DType::kS32 || x.dtype == DType::kS64) return true;
  layer.Fail(
      "", absl::StrCat(layer.kind, " wants ids, INT32 or INT64, got ", Quote(layer.inputs[0].name),
                       " of ", BatchShapeText(x), "; declare it INT32 or cast it in the input"));
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
