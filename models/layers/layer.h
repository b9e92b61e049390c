// What a layer is: one row of layer_list.cc, whose functions are one paragraph in FAMILY.cc.
#ifndef TPURUN_MODELS_LAYERS_LAYER_H_
#define TPURUN_MODELS_LAYERS_LAYER_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/initializers.h"
#include "proto/config_errors.h"
#include "proto/model_spec.pb.h"
#include "runtime/ops/ops.h"

namespace tpurun {

// The largest dimension that a model may ask for: more fits into no memory, times any batch.
inline constexpr int64_t kMaxDim = int64_t{1} << 31;

struct LayerInput {
  std::string name;
  Value value;  // (batch, ...)
};

// What a layer is built for.
struct LayerArgs {
  std::string kind;  // its field in the oneof
  std::string name;  // with its scope: "block/dense"
  std::vector<LayerInput> inputs;
  Precision precision = Precision::kDefault;
  bool training = false;
  int64_t seed = 1;                                   // tf_random_seed
  std::function<bool(const std::string&)> trainable;  // of a variable's name
};

// One layer while it is added to a graph. Fields have passed LayerDef::check; shapes have not been
// looked at. The first Fail wins; after it the layer's result does not count.
class LayerContext : public LayerArgs {
 public:
  LayerContext(GraphBuilder& builder, const proto::Layer& spec, LayerArgs args)
      : LayerArgs(std::move(args)), b(builder), layer(spec) {}

  GraphBuilder& b;
  const proto::Layer& layer;  // layer_defaults merged

  const Shape& shape(int input) const { return b.shape(inputs[input].value); }
  // The value of a new variable NAME/SUFFIX, f32. Invalid when it is too large, which is reported.
  Value AddVariable(const std::string& suffix, std::vector<int64_t> dims, Initializer initializer);
  // A mistake that only the shapes show; `field` is below the Layer message, empty for all of it.
  Value Fail(const std::string& field, const std::string& message);
  const std::optional<ConfigError>& error() const { return error_; }

 private:
  std::optional<ConfigError> error_;
};

struct LayerDef {
  std::string name;  // of its field in the oneof
  int min_inputs = 1;
  int max_inputs = 1;               // -1: any number
  std::vector<std::string> fields;  // of its message that it acts on
  // What the fields alone show, whatever the inputs.
  void (*check)(const proto::Layer& layer, ConfigErrors& errors);
  // Adds its nodes; returns the result, (batch, ...).
  Value (*build)(LayerContext& layer);
  // Sets the fields that are lists to what they mean where they are left out or say it in short.
  // Null: there are none.
  void (*write_out)(proto::Layer& layer) = nullptr;
};

const std::vector<LayerDef>& LayerList();

// For LayerDef::check of a layer without mistakes to make.
void NothingToCheck(const proto::Layer& layer, ConfigErrors& errors);

// x (N, ...) as a message shows it: "f32[N,3]".
std::string BatchShapeText(const Shape& shape);
// The whole of `dims` but the first: an example's.
std::vector<int64_t> ExampleDims(const Shape& shape);

// "RELU"; and the activations that ApplyActivation knows.
void CheckActivation(proto::Activation activation, const std::string& path, ConfigErrors& errors);
Value ApplyActivation(GraphBuilder& b, Value x, proto::Activation activation);

}  // namespace tpurun

#endif  // TPURUN_MODELS_LAYERS_LAYER_H_
