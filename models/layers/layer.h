// The interface between a layer and the model builder: LayerDef is one row of layer_list.cc, and
// LayerContext is what the row's functions (in FAMILY.cc) build a layer with.
#ifndef TPURUN_MODELS_LAYERS_LAYER_H_
#define TPURUN_MODELS_LAYERS_LAYER_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/initializers.h"
#include "proto/config_errors.h"
#include "proto/model_spec.pb.h"
#include "runtime/ops/ops.h"

namespace tpurun {

struct LayerInput {
  std::string name;
  Value value;      // (batch, ...)
  Value mask = {};  // as Tensor::mask
};

// The arguments that one layer is built with.
struct LayerArgs {
  std::string kind;  // the layer's field in the oneof
  std::string name;  // the layer's name with its scope: "block/dense"
  // The name of the layer that owns the variables: this layer or, under `reuse`, an earlier layer.
  // Under `reuse` this layer adds no variables.
  std::string variables;
  std::vector<LayerInput> inputs;
  Precision precision = Precision::kDefault;
  bool training = false;
  bool use_tpu = true;
  int grouped_replicas = 1;  // replicas that groups must cover
  // True if states are carried from step to step and each step is one position of a sequence.
  // nullopt: the layer's own fields decide.
  std::optional<bool> carries_state;
  int64_t positions = 0;                              // positions of a whole sequence
  int64_t seed = 1;                                   // tf_random_seed
  std::function<bool(const std::string&)> trainable;  // by a variable's name
  // The model's features by name. A feature with a mistake is invalid; the mistake is reported
  // already.
  const std::map<std::string, Value>* features = nullptr;
  // The value of each variable at the end of the step, by the variable's index. Shared by all
  // layers of a model.
  std::map<int, Value>* updates = nullptr;
};

// One layer while it is added to a graph. Its fields have passed LayerDef::check; its shapes are
// not checked yet. Only the first Fail is reported, and the layer's result is then ignored.
class LayerContext : public LayerArgs {
 public:
  LayerContext(GraphBuilder& builder, const proto::Layer& spec, LayerArgs args)
      : LayerArgs(std::move(args)), b(builder), layer(spec) {}

  GraphBuilder& b;
  const proto::Layer& layer;  // merged with layer_defaults

  const Shape& shape(int input) const { return b.shape(inputs[input].value); }
  bool reuses() const { return variables != name; }
  // Returns the value of a new f32 variable NAME/SUFFIX, or of the reused layer's variable of that
  // suffix. Invalid after a reported mistake: the variable is too large, or the reused variable has
  // another shape.
  Value AddVariable(const std::string& suffix, std::vector<int64_t> dims, Initializer initializer);
  // Like AddVariable, for a variable that no optimizer changes: the layer changes it by Update.
  Value AddStatistic(const std::string& suffix, std::vector<int64_t> dims, Initializer initializer);
  // Returns the value of the variable with that full name, f32 of shape `dims`. `field` is the
  // layer's field that names the variable. Invalid after a reported mistake.
  Value ReadVariable(const std::string& field, const std::string& variable,
                     const std::vector<int64_t>& dims);
  // Returns the model's feature of that name, which must have shape `dims` per example. `field` is
  // the layer's field that names the feature. Invalid after a reported mistake.
  Value ReadFeature(const std::string& field, const std::string& feature,
                    const std::vector<int64_t>& dims = {});
  // In training, sets a statistic to next(its value) at the end of the step. If an earlier layer
  // shares the statistic, the value is the one after that layer's update. Does nothing in other
  // modes.
  void Update(const std::string& suffix, const std::function<Value(Value)>& next);
  // Adds a variable NAME/SUFFIX, f32 of shape `dims`, that each core keeps for itself from step to
  // step in every mode. Returns its value at the beginning of the step, which is 0 in the first
  // step. UpdateState sets its value at the end of the step.
  Value AddState(const std::string& suffix, std::vector<int64_t> dims);
  void UpdateState(const std::string& suffix, Value next);
  // If each step is one position of a sequence: a state, f32[], that is the index of this position
  // in its sequence, from 0. After the last position it is 0 again.
  Value Position();
  bool counts_positions() const { return counts_positions_; }
  // Adds a further result. The result of `build` is result 0; other layers read the further results
  // as "NAME:1", "NAME:2" ...
  void AddResult(Value value) { results_.push_back(value); }
  const std::vector<Value>& results() const { return results_; }
  // Sets the mask of result 0. For a layer that reads masks (Masking::kRead).
  void SetMask(Value mask) { mask_ = mask; }
  Value mask() const { return mask_; }
  // Reports a mistake that only the shapes show. `field` is a path below the Layer message; empty
  // names the whole layer.
  Value Fail(const std::string& field, const std::string& message);
  // Reports an op or a type that the TPU does not have, with arguments as of Fail.
  Value RejectOnTpu(const std::string& field, const std::string& message);
  const ConfigErrors& errors() const { return errors_; }  // at most one error

 private:
  Value Add(const std::string& suffix, std::vector<int64_t> dims, Initializer initializer,
            bool trained);

  std::vector<Value> results_;
  bool counts_positions_ = false;
  Value mask_;
  ConfigErrors errors_;
};

using Layers = google::protobuf::RepeatedPtrField<proto::Layer>;

// Layers within a layer. A layer that names no input reads the layer before it.
struct LayerBlock {
  std::string scope;  // appended to the layer's name in the names of these layers: "", "/shortcut"
  // The layer's field that the user wrote these layers in, "sequence.layer". Empty if the layer
  // generated them.
  std::string field;
  std::shared_ptr<const Layers> layers;
  // The input of the first layer: the result of the block with this index, or -1 for the layer's
  // input.
  int input = -1;
  // The number of copies in a row, each with its own variables. Their scopes are SCOPE_N from N =
  // first_number on. first_number -1: one copy, without a number.
  int64_t copies = 1;
  int64_t first_number = -1;
};
// Does not own `written`, which must outlive the result.
std::shared_ptr<const Layers> WrittenLayers(const Layers& written);
// The most layers that a model may have, counted with all copies: more are surely a typing error.
constexpr int64_t kMaxLayers = 10000;

// How a layer treats the masks of its inputs, as in Keras.
enum class Masking : uint8_t {
  kRefused,  // an input must not have a mask
  kPassed,   // a position of the result is padding if it is padding in any input
  kRead,     // `build` reads the masks and sets the mask of the result
};

struct LayerDef {
  std::string name;  // the layer's field in the oneof
  int min_inputs = 1;
  int max_inputs = 1;  // -1: any number
  // Reports mistakes that the fields alone show, for any inputs, beyond the field rules. nullptr if
  // there are none to check.
  void (*check)(const proto::Layer& layer, ConfigErrors& errors) = nullptr;
  // Adds the layer's nodes and returns its result, (batch, ...). If the layer has blocks, `inputs`
  // are the results of the blocks that no other block reads. nullptr: the result is the last
  // block's.
  Value (*build)(LayerContext& layer);
  // Sets list fields that are left out or abbreviated to their full value. nullptr if the layer has
  // no such fields.
  void (*canonicalize)(proto::Layer& layer) = nullptr;
  // Returns the blocks of a composite layer that passed `check`. nullptr if the layer is not
  // composite.
  std::vector<LayerBlock> (*expand)(const proto::Layer& layer) = nullptr;
  Masking masking = Masking::kRefused;
  // A position of the result depends only on the same position of the inputs and on states. Such a
  // layer can be built for one position of a sequence (LayerArgs::carries_state).
  bool by_position = false;
};

const std::vector<LayerDef>& LayerList();

// True if a layer `op` may use this op. Ops that only passes create, sources, random ops and sums
// over cores are excluded.
bool IsLayerOp(const OpDef& op);
// Describes the op's attributes and their text format: "axes: whole numbers as [1,2]", "no
// attributes".
std::string OpAttrsText(const OpDef& op);

// Formats the shape (N, ...) for a message: "f32[N,3]".
std::string BatchShapeText(const Shape& shape);
// Returns all dimensions except the first: the dimensions of one example.
std::vector<int64_t> ExampleDims(const Shape& shape);

// True if input 0 is a sequence, f32 (N, T, C). Reports any other input.
bool IsSequence(LayerContext& layer);

// Returns f32[size] of these values; a single value fills it.
Value ConstantFloats(GraphBuilder& b, const std::vector<float>& values, int64_t size);

// Repeats x to `dims`, of the same rank: a dimension of 1 where dims has another size.
Value BroadcastTo(GraphBuilder& b, Value x, const std::vector<int64_t>& dims);

// Returns 1 where x is not zero and 0 elsewhere, as f32.
Value NonZero(GraphBuilder& b, Value x);

// SOFTMAX is over the last axis. All other activations are element-wise.
Value ApplyActivation(GraphBuilder& b, Value x, proto::Activation activation);

}  // namespace tpurun

#endif  // TPURUN_MODELS_LAYERS_LAYER_H_
