#include "models/layer_count.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "models/layers/layer.h"
#include "proto/one_of.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

// Counts saturate at this number.
constexpr int64_t kMany = 1000000000;

int64_t CountLayers(const Layers& layers);

// Counts the layers inside of it too. A layer with mistakes, which are reported elsewhere, counts
// as 1.
int64_t CountLayers(const proto::Layer& layer) {
  const google::protobuf::FieldDescriptor* const kind = ChosenKind(layer);
  const LayerDef* const def = kind == nullptr ? nullptr : FindByName(LayerList(), kind->name());
  if (def == nullptr || def->expand == nullptr) return 1;
  ConfigErrors errors;
  CheckRules(layer, "", errors);
  if (def->check != nullptr) def->check(layer, errors);
  if (!errors.empty()) return 1;
  int64_t count = 0;
  for (const LayerBlock& block : def->expand(layer)) {
    count = std::min(kMany, count + block.copies * CountLayers(*block.layers));
  }
  return count;
}

int64_t CountLayers(const Layers& layers) {
  int64_t count = 0;
  for (const proto::Layer& layer : layers) count = std::min(kMany, count + CountLayers(layer));
  return count;
}

}  // namespace

void CheckLayerCount(const proto::ModelSpec& spec, ConfigErrors& errors) {
  const int64_t all = CountLayers(spec.layer());
  if (all <= kMaxLayers) return;
  int64_t count = 0;
  int i = -1;
  while (count <= kMaxLayers) count += CountLayers(spec.layer(++i));
  const std::string& name = spec.layer(i).name();
  errors.Add(
      {absl::StrCat("layer ", i, name.empty() ? "" : absl::StrCat(" ", Quote(name))),
       absl::StrCat("model.layer[", i, "]")},
      "",
      absl::StrCat("with it the model has more than ", kMaxLayers, " layers: got ", all,
                   all == kMany ? " or more" : "", " with all copies, want at most ", kMaxLayers));
}

}  // namespace tpurun
