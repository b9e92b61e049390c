#include "cli/config/stateful_inputs.h"

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

// What lets rows go on where others ended, and where; none where the name is empty.
struct Mixing {
  std::string path, name;
};

// The first transform, those of functions that are applied among them, that gives the rows of a
// batch other places than those of the batch before. `batched`: elements are batches.
Mixing MixingOf(const proto::RunConfig& run, const Transforms& transforms, const std::string& path,
                int depth, int64_t batch_size, bool* batched) {
  for (int i = 0; i < transforms.size(); ++i) {
    const proto::Transform& transform = transforms[i];
    const auto moves = [&](int64_t count) {
      return !*batched && count > 0 && count % batch_size != 0;
    };
    const char* const name = transform.has_shuffle()                                   ? "shuffle"
                             : transform.has_shard() && !*batched                      ? "shard"
                             : transform.has_take() && moves(transform.take().count()) ? "take"
                             : transform.has_skip() && moves(transform.skip().count()) ? "skip"
                                                                                       : "";
    if (*name != 0) return {ElementPath(path, i), name};
    *batched |= transform.has_batch();
    if (!transform.has_apply() || depth == 0) continue;
    for (int f = 0; f < run.transformation_func_size(); ++f) {
      if (run.transformation_func(f).name() != transform.apply().transformation_func()) continue;
      Mixing found = MixingOf(run, run.transformation_func(f).transform(),
                              absl::StrCat(ElementPath("transformation_func", f), ".transform"),
                              depth - 1, batch_size, batched);
      if (!found.name.empty()) return found;
    }
  }
  return {};
}

}  // namespace

bool IsStateful(const proto::ModelSpec& model) { return HasStateful(model); }

void CheckStatefulInput(const LoadedConfig& config, const proto::Input& input,
                        const std::string& path, const std::string& batch_field,
                        const InputDeployment& deployment, ConfigErrors& errors) {
  const int64_t batch_size = deployment.batch_size;
  // A batch size that is none is a mistake of its own.
  if (batch_size <= 0 || !IsStateful(config.model)) return;
  constexpr char kWhy[] =
      "layers of the model are stateful: each row of a batch goes on where that of the batch "
      "before "
      "ended";
  bool batched = false;
  const bool sharded = deployment.num_pipelines() > 1;
  const int64_t pipeline_rows = deployment.pipeline_rows();
  if (pipeline_rows == 0) return;
  const Mixing mixing = MixingOf(config.run, input.transform(), path + ".transform",
                                 config.run.transformation_func_size(), pipeline_rows, &batched);
  if (!mixing.name.empty()) {
    const bool counts = mixing.name == "take" || mixing.name == "skip";
    errors.Add(
        mixing.path,
        absl::StrCat(
            mixing.name, ": ", kWhy, "; ",
            counts ? absl::StrCat("want a count that ", batch_field,
                                  sharded ? absl::StrCat(" / ", deployment.num_pipelines()) : "",
                                  ", ", pipeline_rows, ", divides")
                   : "take it out, or stateful"));
  }
  if (input.source().has_sample_from_datasets()) {
    errors.Add(path + ".source.sample_from_datasets",
               absl::StrCat("sample_from_datasets: ", kWhy, "; take it out, or stateful"));
  }
  for (int i = 0; i < input.source().zip().input_size(); ++i) {
    CheckStatefulInput(config, input.source().zip().input(i),
                       ElementPath(path + ".source.zip.input", i), batch_field, deployment, errors);
  }
  if (!input.source().has_text()) return;
  const proto::Text& text = input.source().text();
  if (text.has_shift() && text.shift() != text.sequence_length()) {
    errors.Add(path + ".source.text.shift",
               absl::StrCat("text: shift is ", text.shift(), ", and ", kWhy,
                            "; leave it out, it is sequence_length then"));
  }
  if (text.streams() == batch_size) return;
  errors.Add(path + ".source.text.streams",
             absl::StrCat("text: streams is ", input.source().text().streams(), ", and ", kWhy,
                          "; want as many as ", batch_field, ", ", batch_size));
}

}  // namespace tpurun
