#include "cli/config/field_text.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;

// Arguments of TensorFlow's classes that no field stands for, and what to do instead: those of
// RunConfig and TPUConfig, of TPUEstimator and its methods, and of TPUEstimatorSpec.
struct PythonArgument {
  const char* name;
  const char* what;
  const char* instead;
};
constexpr char kObject[] = "is a Python object in TensorFlow and does not exist here";
constexpr char kArgument[] = "is an argument of TensorFlow's and does not exist here";
constexpr PythonArgument kPythonArguments[] = {
    {"session_config", kObject, "use allow_soft_placement and log_device_placement"},
    {"cluster", kObject, "leave it out, the TPU is emulated in this process"},
    {"device_fn", kObject, "leave it out, placement is the compiler's"},
    {"train_distribute", kObject, "leave it out, use_tpu: true trains on all cores"},
    {"eval_distribute", kObject, "leave it out, use_tpu: true evaluates on all cores"},
    {"experimental_distribute", kObject, "leave it out, use_tpu: true runs on all cores"},
    {"experimental_feed_hook", kObject,
     "leave it out, describe the input with source and transform"},
    {"config", kObject, "write its fields here, those of TPUConfig in tpu_config { }"},
    {"model_fn", kObject, "write the model as a ModelSpec and name its file in model_file"},
    {"params", kObject,
     "leave it out, write the values in the model; params[\"batch_size\"] is what "
     "train_batch_size, eval_batch_size and predict_batch_size say"},
    {"batch_axis", kArgument, "leave it out, a batch is split along axis 0"},
    {"embedding_config_spec", kObject, "leave it out, write embedding layers in the model"},
    {"export_saved_model_api_version", kArgument,
     "leave it out, the graph of an exported model is the same for serve and for tpu"},
    {"input_fn", kObject, "describe the input with source and transform"},
    {"train_input_fn", kObject, "describe the input in train { input { } }"},
    {"eval_input_fn", kObject, "describe the input in evaluate { input { } }"},
    {"predict_input_fn", kObject, "describe the input in predict { input { } }"},
    {"serving_input_receiver_fn", kObject,
     "leave it out, export takes the features of the model and the transforms of predict's input"},
    {"hooks", kObject, "write shell commands as training_hook { } or evaluation_hook { }"},
    {"training_chief_hooks", kObject, "write shell commands as training_hook { }"},
    {"training_hooks", kObject, "write shell commands as training_hook { }"},
    {"evaluation_hooks", kObject, "write shell commands as evaluation_hook { }"},
    {"prediction_hooks", kObject, "leave it out, predict prints a line for each example"},
    {"saving_listeners", kObject, "write a shell command as training_hook { at: CHECKPOINT }"},
    {"checkpoint_path", kArgument, "name a checkpoint by --checkpoint=PREFIX"},
    {"predict_keys", kArgument, "write predict { keys: \"NAME\" }"},
    {"yield_single_examples", kArgument, "leave it out, predict prints a line for each example"},
    {"export_dir_base", kArgument, "write export { directory: \"DIR\" }"},
    {"assets_extra", kArgument, "leave it out, what the input needs of files goes along"},
    {"as_text", kArgument, "leave it out, `tpurun inspect` shows an exported model as text"},
    {"strip_default_attrs", kArgument, "leave it out, there is one way to write a graph"},
    {"experimental_mode", kArgument, "leave it out, what predicts is exported"},
    {"host_call", kObject, "write summary entries in the model"},
    {"eval_metrics", kObject, "write eval_metric entries in the model"},
    {"eval_metric_ops", kObject, "write eval_metric entries in the model"},
    {"scaffold_fn", kObject,
     "leave it out; moving_average of the model evaluates averaged values, warm_start_from takes "
     "initial ones"},
    {"export_outputs", kObject, "leave it out, heads say what signatures there are"},
    {"train_op", kObject, "write optimizer entries in the model"},
};

// The fields of the message that are messages with a field of that name, as TPUConfig's written one
// level too high: "tpu_config { }", "train { } or evaluate { }"; empty for none.
std::string OwnersOf(const Descriptor& descriptor, std::string_view name) {
  std::vector<std::string> owners;
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const Descriptor* const nested = descriptor.field(i)->message_type();
    if (nested == nullptr || nested->FindFieldByName(std::string(name)) == nullptr) continue;
    owners.push_back(absl::StrCat(descriptor.field(i)->name(), " { }"));
  }
  return absl::StrJoin(owners, " or ");
}

}  // namespace

std::vector<std::string> FieldNames(const Descriptor& descriptor) {
  std::vector<std::string> names;
  for (int i = 0; i < descriptor.field_count(); ++i) names.push_back(descriptor.field(i)->name());
  return names;
}
std::string UnknownFieldMessage(const Descriptor& descriptor, std::string_view path,
                                std::string_view name) {
  const bool of_model = absl::StartsWith(ToAbsl(path), "model");
  for (const PythonArgument& argument : kPythonArguments) {
    if (name != argument.name || of_model) continue;
    return absl::StrCat(Quote(argument.name), " ", argument.what, "; ", argument.instead);
  }
  const std::vector<std::string> known = FieldNames(descriptor);
  const std::string message = absl::StrCat("unknown field ", Quote(name), " in ",
                                           path.empty() ? ToAbsl(descriptor.name()) : ToAbsl(path));
  const std::string owners = path.empty() ? OwnersOf(descriptor, name) : "";
  if (!owners.empty()) return absl::StrCat(message, ", it belongs into ", owners);
  if (known.empty()) return absl::StrCat(message, ", want no fields: write {}");
  return absl::StrCat(message, DidYouMean(name, known));
}

std::string WantedValue(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return "an integer (int32)";
    case FieldDescriptor::CPPTYPE_INT64:
      return "an integer (int64)";
    case FieldDescriptor::CPPTYPE_UINT32:
    case FieldDescriptor::CPPTYPE_UINT64:
      return "an integer >= 0";
    case FieldDescriptor::CPPTYPE_FLOAT:
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return "a number";
    case FieldDescriptor::CPPTYPE_BOOL:
      return "true or false";
    case FieldDescriptor::CPPTYPE_ENUM:
      return absl::StrCat("one of ", absl::StrJoin(EnumNames(*field.enum_type()), ", "));
    case FieldDescriptor::CPPTYPE_STRING:
      return "a string in quotes";
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return "a message in braces: { ... }";
  }
  return "a value";
}

std::vector<std::string> EnumNames(const EnumDescriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.value_count(); ++i) {
    // DT_INVALID only stands for "not given".
    if (type.value(i)->name() != "DT_INVALID") names.push_back(type.value(i)->name());
  }
  return names;
}

std::string DefaultText(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return field.default_value_bool() ? "true" : "false";
    case FieldDescriptor::CPPTYPE_ENUM:
      return field.default_value_enum()->name();
    case FieldDescriptor::CPPTYPE_STRING:
      return Quote(field.default_value_string());
    case FieldDescriptor::CPPTYPE_INT32:
      return absl::StrCat(field.default_value_int32());
    case FieldDescriptor::CPPTYPE_INT64:
      return absl::StrCat(field.default_value_int64());
    case FieldDescriptor::CPPTYPE_FLOAT:
      return ShortestText(field.default_value_float());
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return ShortestText(field.default_value_double());
    default:
      return "the default";
  }
}

}  // namespace tpurun
