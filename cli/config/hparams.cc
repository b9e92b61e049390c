#include "cli/config/hparams.h"

#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "proto/field_rules.h"
#include "proto/field_values.h"
#include "runtime/base/text.h"
#include "runtime/optimizers/optimizers.h"

namespace tpurun {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Of every run, whoever set them.
constexpr const char* kAlways[] = {"train_batch_size", "tf_random_seed"};
constexpr char kOptimizers[] = "model.optimizer";

class Collector {
 public:
  explicit Collector(const SourceLocations& locations) : locations_(locations) {}

  // `path` is the message's as SourceLocations has it, `name` as HParamsOf says.
  void Collect(const Message& message, const std::string& path, const std::string& name) {
    const Reflection& reflection = *message.GetReflection();
    const google::protobuf::Descriptor& descriptor = *message.GetDescriptor();
    for (int i = 0; i < descriptor.field_count(); ++i) {
      const FieldDescriptor* field = descriptor.field(i);
      const std::string field_path = FieldPath(path, field->name());
      const std::string field_name = FieldPath(name, field->name());
      if (!field->is_repeated()) {
        Visit(message, field, -1, field_path, field_name);
        continue;
      }
      const int size = reflection.FieldSize(message, field);
      for (int element = 0; element < size; ++element) {
        Visit(message, field, element, ElementPath(field_path, element),
              size == 1 ? field_name : ElementPath(field_name, element));
      }
    }
  }

  void Add(const std::string& name, const std::string& value) { hparams_.push_back({name, value}); }
  std::vector<HParam> hparams() && { return std::move(hparams_); }

 private:
  void Visit(const Message& message, const FieldDescriptor* field, int index,
             const std::string& path, const std::string& name) {
    const Reflection& reflection = *message.GetReflection();
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      if (index >= 0)
        return Collect(reflection.GetRepeatedMessage(message, field, index), path, name);
      if (reflection.HasField(message, field)) {
        Collect(reflection.GetMessage(message, field), path, name);
      }
    } else if (Wanted(message, field, index, path)) {
      hparams_.push_back({name, ValueOf(message, field, index)});
    }
  }

  bool Wanted(const Message& message, const FieldDescriptor* field, int index,
              const std::string& path) const {
    const auto is_path = [&](const char* name) { return path == name; };
    if (IsPath(*field)) return false;
    if (std::any_of(std::begin(kAlways), std::end(kAlways), is_path)) return true;
    if (index < 0 && !message.GetReflection()->HasField(message, field)) return false;
    if (absl::StartsWith(path, kOptimizers)) return true;
    const SourceLocation* const location = locations_.FindEnclosing(path);
    return location != nullptr && !location->flag.empty();
  }

  static std::variant<double, bool, std::string> ValueOf(const Message& message,
                                                         const FieldDescriptor* field, int index) {
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      const Reflection& reflection = *message.GetReflection();
      return index < 0 ? reflection.GetString(message, field)
                       : reflection.GetRepeatedString(message, field, index);
    }
    const std::string text = ValueText(message, field, index);
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_BOOL) return text == "true";
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_ENUM) return text;
    return ParseDouble(text).value_or(0);
  }

  const SourceLocations& locations_;
  std::vector<HParam> hparams_;
};

}  // namespace

std::vector<HParam> HParamsOf(const LoadedConfig& config) {
  Collector collector(config.locations);
  collector.Collect(config.run, "", "");
  for (int i = 0; i < config.model.optimizer_size(); ++i) {
    collector.Add(config.model.optimizer_size() == 1 ? "optimizer" : ElementPath("optimizer", i),
                  KindOf(config.model.optimizer(i)));
  }
  collector.Collect(config.model, "model", "");
  return std::move(collector).hparams();
}

}  // namespace tpurun
