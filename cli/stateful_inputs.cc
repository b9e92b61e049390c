#include "cli/stateful_inputs.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/one_of.h"
#include "proto/source_locations.h"

namespace tpurun {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using Transforms = google::protobuf::RepeatedPtrField<proto::Transform>;

constexpr char kStateful[] = "stateful";

bool HasStateful(const Message& message) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->name() == kStateful && reflection.GetBool(message, field)) return true;
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    const int size = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < size; ++i) {
      if (HasStateful(field->is_repeated() ? reflection.GetRepeatedMessage(message, field, i)
                                           : reflection.GetMessage(message, field))) {
        return true;
      }
    }
  }
  return false;
}

// The path of the first shuffle, those of functions that are applied among them, `depth` deep;
// empty: there is none.
std::string ShuffleOf(const proto::RunConfig& run, const Transforms& transforms,
                      const std::string& path, int depth) {
  for (int i = 0; i < transforms.size(); ++i) {
    const proto::Transform& transform = transforms[i];
    if (transform.has_shuffle()) return ElementPath(path, i);
    if (!transform.has_apply() || depth == 0) continue;
    for (int f = 0; f < run.transformation_func_size(); ++f) {
      if (run.transformation_func(f).name() != transform.apply().transformation_func()) continue;
      const std::string found =
          ShuffleOf(run, run.transformation_func(f).transform(),
                    absl::StrCat(ElementPath("transformation_func", f), ".transform"), depth - 1);
      if (!found.empty()) return found;
    }
  }
  return "";
}

}  // namespace

bool IsStateful(const proto::ModelSpec& model) { return HasStateful(model); }

void CheckStatefulInput(const LoadedConfig& config, const proto::Input& input,
                        const std::string& path, const std::string& batch_field, int64_t batch_size,
                        ConfigErrors& errors) {
  if (!IsStateful(config.model)) return;
  constexpr char kWhy[] =
      "layers of the model are stateful: each row of a batch goes on where that of the batch "
      "before "
      "ended";
  const std::string shuffle = ShuffleOf(config.run, input.transform(), path + ".transform",
                                        config.run.transformation_func_size());
  if (!shuffle.empty()) {
    errors.Add(shuffle, absl::StrCat("shuffle: ", kWhy, "; take it out, or stateful"));
  }
  if (!input.source().has_text() || input.source().text().streams() == batch_size) return;
  errors.Add(path + ".source.text.streams",
             absl::StrCat("text: streams is ", input.source().text().streams(), ", and ", kWhy,
                          "; want as many as ", batch_field, ", ", batch_size));
}

}  // namespace tpurun
