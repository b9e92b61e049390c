// What a layer is: one row of layer_list.cc, whose functions are one paragraph in FAMILY.cc.
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
  Value mask = {};  // as of Tensor
};

// What a layer is built for.
struct LayerArgs {
  std::string kind;  // its field in the oneof
  std::string name;  // with its scope: "block/dense"
  // The layer whose variables it has: itself, or under `reuse` an earlier one, and then adds none.
  std::string variables;
  std::vector<LayerInput> inputs;
  Precision precision = Precision::kDefault;
  bool training = false;
  bool use_tpu = true;
  // Whether a state is carried from step to step, each a position of a sequence; nullopt: as the
  // layer's fields say.
  std::optional<bool> carries_state;
  int64_t positions = 0;                              // of a whole sequence
  int64_t seed = 1;                                   // tf_random_seed
  std::function<bool(const std::string&)> trainable;  // of a variable's name
  // The model's, by name; one that is invalid has a mistake, which is reported already.
  const std::map<std::string, Value>* features = nullptr;
  // What variables become at the end of the step, by index. Of a whole model.
  std::map<int, Value>* updates = nullptr;
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
  bool reuses() const { return variables != name; }
  // The value of a new variable NAME/SUFFIX, f32, or of the layer's that it reuses. Invalid after a
  // mistake, which is reported: it is too large, or what is reused has another shape.
  Value AddVariable(const std::string& suffix, std::vector<int64_t> dims, Initializer initializer);
  // One that no optimizer changes: the layer itself does, by Update.
  Value AddStatistic(const std::string& suffix, std::vector<int64_t> dims, Initializer initializer);
  // The variable of that full name, f32 `dims`, for `field`, which names it. Invalid after a
  // mistake.
  Value ReadVariable(const std::string& field, const std::string& variable,
                     const std::vector<int64_t>& dims);
  // The model's feature of that name, of `dims` an example, for `field`, which names it. Invalid
  // after a mistake.
  Value ReadFeature(const std::string& field, const std::string& feature,
                    const std::vector<int64_t>& dims = {});
  // In training a statistic becomes what `next` makes of its value, which is that of the layer
  // before that shares it, if there is one.
  void Update(const std::string& suffix, const std::function<Value(Value)>& next);
  // What a core keeps from step to step in every mode, its own: the value at the beginning of the
  // step of NAME/SUFFIX, f32 `dims`, 0 before the first one; and what it becomes at the end.
  Value AddState(const std::string& suffix, std::vector<int64_t> dims);
  void UpdateState(const std::string& suffix, Value next);
  // Where positions are steps, a state: the number of this one in its sequence, f32[], from 0 on;
  // behind the last it is 0 again.
  Value Position();
  bool counts_positions() const { return counts_positions_; }
  // A result after that of `build`, which is result 0: others read it as "NAME:1", "NAME:2" ...
  void AddResult(Value value) { results_.push_back(value); }
  const std::vector<Value>& results() const { return results_; }
  // Of result 0, of a layer that reads masks.
  void SetMask(Value mask) { mask_ = mask; }
  Value mask() const { return mask_; }
  // A mistake that only the shapes show; `field` is below the Layer message, empty for all of it.
  Value Fail(const std::string& field, const std::string& message);
  // The same, of an op or a type that the TPU does not have.
  Value RejectOnTpu(const std::string& field, const std::string& message);
  const std::optional<ConfigError>& error() const { return error_; }

 private:
  Value Add(const std::string& suffix, std::vector<int64_t> dims, Initializer initializer,
            bool trained);

  std::vector<Value> results_;
  bool counts_positions_ = false;
  Value mask_;
  std::optional<ConfigError> error_;
};

using Layers = google::protobuf::RepeatedPtrField<proto::Layer>;

// Layers within a layer, each reading the one before where it names nothing.
struct LayerBlock {
  std::string scope;  // of their names, behind the layer's: "", "/shortcut"
  // The field of the layer that they are written in, "sequence.layer"; empty: the layer made them.
  std::string field;
  std::shared_ptr<const Layers> layers;
  int input = -1;  // what the first one reads: the result of that block; -1: the layer's input
  // Copies with variables of their own, one after the other, in scopes SCOPE_N from N =
  // first_number on; -1: one without a number.
  int64_t copies = 1;
  int64_t first_number = -1;
};
// `written` must outlive it.
std::shared_ptr<const Layers> WrittenLayers(const Layers& written);
// More in a model, with all copies, would be a slip of the hand.
constexpr int64_t kMaxLayers = 10000;

// What becomes of the masks of a layer's inputs, as Keras has it.
enum class Masking : uint8_t {
  kRefused,  // an input must have none
  kPassed,   // a position of the result is padding where it is in any input
  kRead,     // `build` reads them, and says what the result's is
};

struct LayerDef {
  std::string name;  // of its field in the oneof
  int min_inputs = 1;
  int max_inputs = 1;  // -1: any number
  // What the fields alone show, whatever the inputs, besides their rules. Null: nothing.
  void (*check)(const proto::Layer& layer, ConfigErrors& errors) = nullptr;
  // Adds its nodes; returns the result, (batch, ...). Of a layer made of layers `inputs` are the
  // results of those blocks that no other reads; null: it is that of the last.
  Value (*build)(LayerContext& layer);
  // Sets the fields that are lists to what they mean where they are left out or say it in short.
  // Null: there are none.
  void (*write_out)(proto::Layer& layer) = nullptr;
  // The layers that it is made of, of a layer that passed `check`. Null: it is not.
  std::vector<LayerBlock> (*expand)(const proto::Layer& layer) = nullptr;
  Masking masking = Masking::kRefused;
  // A position of the result is made of that position of the inputs and of states alone: it can be
  // built for one position of a sequence (LayerArgs::carries_state).
  bool by_position = false;
};

const std::vector<LayerDef>& LayerList();

// Whether a layer `op` may be of it: not what passes create, sources, and sums over cores.
bool IsLayerOp(const OpDef& op);
// Its attributes and how they are written: "axes: whole numbers as [1,2]", "no attributes".
std::string OpAttrsText(const OpDef& op);

// x (N, ...) as a message shows it: "f32[N,3]".
std::string BatchShapeText(const Shape& shape);
// The whole of `dims` but the first: an example's.
std::vector<int64_t> ExampleDims(const Shape& shape);

// 1 where x is not zero, else 0, f32.
Value NonZero(GraphBuilder& b, Value x);

// SOFTMAX is over the last axis, the others of each value.
Value ApplyActivation(GraphBuilder& b, Value x, proto::Activation activation);

}  // namespace tpurun

#endif  // TPURUN_MODELS_LAYERS_LAYER_H_
