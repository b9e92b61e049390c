// The one name space of features, labels, layers and losses.
#ifndef TPURUN_MODELS_TENSORS_H_
#define TPURUN_MODELS_TENSORS_H_

#include <map>
#include <string>
#include <vector>

#include "proto/config_errors.h"
#include "runtime/ir/op_def.h"

namespace tpurun {

// The largest size of one value, in bytes. No machine has this much memory, and sums of sizes over
// a whole model do not overflow int64.
inline constexpr int64_t kMaxTensorBytes = int64_t{1} << 50;
bool IsTooLarge(const Shape& shape);

// A named value of the model, (batch, ...).
struct Tensor {
  enum class State : uint8_t {
    kKnown,
    kLeftOut,  // an absent label, or a tensor that depends on one
    kBroken,   // a mistake of it is reported already
  };
  State state = State::kBroken;
  Value value;  // valid if the state is kKnown
  Value mask;   // f32 (batch, time), 0 at padding; invalid if there is no padding
  // Of a label with ignore_class: f32 in its shape, 0 where it is that id. Else invalid.
  Value counted;
  bool from_label = false;  // true if the tensor depends on a label

  bool known() const { return state == State::kKnown; }
};

// Returns the label's class ids, with 0 in the place of ignore_class.
Value ClassesOfLabel(GraphBuilder& b, const Tensor& label);

// The tensors of a model by name. A name is looked up from inside a scope: "h" within "a/b" is
// a/b/h if there is one, else a/h, else h.
class Tensors {
 public:
  // Adds a tensor. If the name is empty, taken or reserved, reports that and adds nothing.
  void Declare(const std::string& name, const Tensor& tensor, const ConfigPlace& place,
               ConfigErrors& errors);
  // nullptr if there is none.
  const Tensor* Find(const std::string& scope, const std::string& name) const;
  // Returns the name of the found tensor with its scope, or `name` if there is none.
  std::string FullName(const std::string& scope, const std::string& name) const;
  bool Has(const std::string& name) const { return tensors_.count(name) > 0; }
  std::vector<std::string> Names() const;

 private:
  struct Entry {
    Tensor tensor;
    ConfigPlace place;
  };
  using Entries = std::map<std::string, Entry>;

  Entries::const_iterator LookUp(const std::string& scope, const std::string& name) const;

  Entries tensors_;
};

// True for names with another meaning: loss, global_step, learning_rate, global_norm and
// kRowWeightSlot.
bool IsReservedName(const std::string& name);

}  // namespace tpurun

#endif  // TPURUN_MODELS_TENSORS_H_
