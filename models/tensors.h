// The one name space of features, labels, layers and losses.
#ifndef TPURUN_MODELS_TENSORS_H_
#define TPURUN_MODELS_TENSORS_H_

#include <map>
#include <string>
#include <vector>

#include "proto/config_errors.h"
#include "runtime/ir/op_def.h"

namespace tpurun {

// Of one value. No machine holds it, and sums over a whole model stay far from the end
// of int64.
inline constexpr int64_t kMaxTensorBytes = int64_t{1} << 50;
bool IsTooLarge(const Shape& shape);

// A named value of the model, (batch, ...).
struct Tensor {
  enum class State : uint8_t {
    kKnown,
    kLeftOut,  // a label that is absent, or what depends on one
    kBroken,   // its mistake is reported already
  };
  State state = State::kBroken;
  Value value;              // of a kKnown one
  Value mask;               // f32 (batch, time), 0 where a position is padding; invalid: none is
  bool from_label = false;  // it depends on a label

  bool known() const { return state == State::kKnown; }
};

// Looks names up from inside a scope: "h" within "a/b" is a/b/h, else a/h, else h.
class Tensors {
 public:
  // Reports a name that is taken or reserved, and then declares nothing.
  void Declare(const std::string& name, const Tensor& tensor, const ConfigPlace& place,
               ConfigErrors& errors);
  const Tensor* Find(const std::string& scope, const std::string& name) const;
  // What is found, with its scope; `name` when nothing is.
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

// Names that mean something else: loss, global_step, learning_rate, global_norm and the slot of the
// weights of the rows.
bool IsReservedName(const std::string& name);

}  // namespace tpurun

#endif  // TPURUN_MODELS_TENSORS_H_
