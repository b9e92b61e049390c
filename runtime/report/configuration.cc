#include "runtime/report/configuration.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/text_format.h"
#include "proto/field_values.h"
#include "proto/run_config.pb.h"
#include "proto/source_locations.h"
#include "proto/text_errors.h"
#include "runtime/base/status.h"
#include "runtime/io/checkpoint_state.h"
#include "runtime/io/file.h"

namespace tpurun {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::TextFormat;

using Configuration = std::map<std::string, std::string>;

constexpr uint64_t kMaxFileBytes = 16 << 20;
constexpr int kMaxLevels = 100;

std::string ScalarText(const Message& message, const FieldDescriptor* field, int index) {
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
    const Reflection& reflection = *message.GetReflection();
    return index < 0 ? reflection.GetString(message, field)
                     : reflection.GetRepeatedString(message, field, index);
  }
  return ValueText(message, field, index);
}

// "hidden_1" for an element of that name, else its number.
std::string ElementName(const Message& element, int index) {
  const FieldDescriptor* name = element.GetDescriptor()->FindFieldByName("name");
  const bool named = name && !name->is_repeated() &&
                     name->cpp_type() == FieldDescriptor::CPPTYPE_STRING &&
                     element.GetReflection()->HasField(element, name);
  return named ? element.GetReflection()->GetString(element, name) : absl::StrCat(index);
}

void Flatten(const Message& message, const std::string& path, Configuration* flat);

void FlattenField(const Message& message, const FieldDescriptor* field, const std::string& path,
                  Configuration* flat) {
  const Reflection& reflection = *message.GetReflection();
  const bool is_message = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
  if (!field->is_repeated()) {
    if (is_message) return Flatten(reflection.GetMessage(message, field), path, flat);
    (*flat)[path] = ScalarText(message, field, -1);
    return;
  }
  std::vector<std::string> scalars;
  for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
    if (is_message) {
      const Message& element = reflection.GetRepeatedMessage(message, field, i);
      Flatten(element, FieldPath(path, ElementName(element, i)), flat);
    } else {
      scalars.push_back(ScalarText(message, field, i));
    }
  }
  if (!is_message) (*flat)[path] = absl::StrJoin(scalars, ", ");
}

void Flatten(const Message& message, const std::string& path, Configuration* flat) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  // Of `relu {}` there is no more to say than that it is there.
  if (fields.empty() && !path.empty()) (*flat)[path] = "{}";
  for (const FieldDescriptor* field : fields) {
    FlattenField(message, field, FieldPath(path, field->name()), flat);
  }
}

}  // namespace

absl::StatusOr<Configuration> ReadConfiguration(const std::string& model_dir) {
  const std::string path = RunConfigPath(model_dir);
  if (!FileExists(path)) return Configuration();
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxFileBytes));
  FirstTextError errors;
  TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  parser.AllowUnknownField(true);
  parser.SetRecursionLimit(kMaxLevels);
  proto::RunConfig config;
  if (!parser.ParseFromString(text, &config)) {
    const FirstTextError::Error error = errors.error().value_or(FirstTextError::Error{});
    return absl::DataLossError(absl::StrCat(path, ": line ", error.line, ": ", error.message));
  }
  Configuration flat;
  Flatten(config, "", &flat);
  flat.erase("model_dir");
  return flat;
}

std::vector<std::string> DifferingNames(const std::vector<Configuration>& configurations) {
  std::set<std::string> names;
  std::map<std::pair<std::string, std::string>, size_t> uses;  // of a name with a value
  size_t total = 0;
  for (const Configuration& configuration : configurations) {
    if (!configuration.empty()) ++total;
    for (const auto& entry : configuration) {
      names.insert(entry.first);
      ++uses[entry];
    }
  }
  std::erase_if(names, [&](const std::string& name) {
    const auto first = uses.lower_bound({name, ""});
    return first->second == total;
  });
  return {names.begin(), names.end()};
}

}  // namespace tpurun
