#include "cli/config/print_config.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/field_rules.h"
#include "proto/field_values.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

class ConfigPrinter {
 public:
  explicit ConfigPrinter(const SourceLocations& locations) : locations_(locations) {}

  void PrintMessage(const Message& message, const std::string& path, int depth) {
    const Reflection& reflection = *message.GetReflection();
    for (const FieldDescriptor* field : FieldsInOrder(message)) {
      const std::string field_path = FieldPath(path, field->name());
      if (field->is_repeated()) {
        PrintRepeated(message, field, field_path, depth);
      } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        PrintNested(reflection.GetMessage(message, field), field, field_path, depth);
      } else {
        PrintScalar(message, field, /*index=*/-1, field_path, depth);
      }
    }
  }

  std::string text() && { return std::move(text_); }

 private:
  // A field that excludes this one is set: the default does not act.
  static bool IsExcluded(const Message& message, const FieldDescriptor& field) {
    const std::vector<const FieldDescriptor*> others = ExcludedBy(field);
    return std::any_of(others.begin(), others.end(),
                       [&](const FieldDescriptor* other) { return IsSet(message, *other); });
  }

  // The fields that are set; of RunConfig and TPUConfig also those that have a default.
  static std::vector<const FieldDescriptor*> FieldsInOrder(const Message& message) {
    const google::protobuf::Descriptor& descriptor = *message.GetDescriptor();
    const bool with_defaults = descriptor.name() == "RunConfig" || descriptor.name() == "TPUConfig";
    std::vector<const FieldDescriptor*> fields;
    for (int i = 0; i < descriptor.field_count(); ++i) {
      const FieldDescriptor* field = descriptor.field(i);
      const bool set = IsSet(message, *field);
      const bool defaulted =
          with_defaults && field->has_default_value() && !IsExcluded(message, *field);
      // The TPU's defaults matter even when the file has no tpu_config.
      if (set || defaulted || field->name() == "tpu_config") fields.push_back(field);
    }
    return fields;
  }

  void PrintRepeated(const Message& message, const FieldDescriptor* field, const std::string& path,
                     int depth) {
    const Reflection& reflection = *message.GetReflection();
    const int size = reflection.FieldSize(message, field);
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      for (int i = 0; i < size; ++i) {
        PrintNested(reflection.GetRepeatedMessage(message, field, i), field, ElementPath(path, i),
                    depth);
      }
      return;
    }
    std::vector<std::string> values;
    bool one_origin = true;
    for (int i = 0; i < size; ++i) {
      values.push_back(ValueText(message, field, i));
      if (Origin(ElementPath(path, i)) != Origin(ElementPath(path, 0))) one_origin = false;
    }
    if (one_origin && size > 1) {
      Line(depth, absl::StrCat(field->name(), ": [", absl::StrJoin(values, ", "), "]"),
           Origin(ElementPath(path, 0)));
      return;
    }
    for (int i = 0; i < size; ++i) {
      Line(depth, absl::StrCat(field->name(), ": ", values[i]), Origin(ElementPath(path, i)));
    }
  }

  void PrintNested(const Message& message, const FieldDescriptor* field, const std::string& path,
                   int depth) {
    ConfigPrinter nested(locations_);
    nested.PrintMessage(message, path, depth + 1);
    if (nested.text_.empty()) {
      Line(depth, absl::StrCat(field->name(), " {}"), Origin(path));
      return;
    }
    absl::StrAppend(&text_, std::string(2 * depth, ' '), field->name(), " {\n", nested.text_,
                    std::string(2 * depth, ' '), "}\n");
  }

  void PrintScalar(const Message& message, const FieldDescriptor* field, int index,
                   const std::string& path, int depth) {
    const bool set = message.GetReflection()->HasField(message, field);
    Line(depth, absl::StrCat(field->name(), ": ", ValueText(message, field, index)),
         set ? Origin(path) : "default");
  }

  // The place of the value, or of what it is part of.
  std::string Origin(const std::string& path) const {
    const SourceLocation* location = locations_.FindEnclosing(path);
    if (location == nullptr) return "default";
    if (!location->flag.empty()) return absl::StrCat("command line: ", location->flag);
    if (location->line == 0) return location->file;
    return absl::StrCat(location->file, ":", location->line);
  }

  void Line(int depth, const std::string& content, const std::string& origin) {
    absl::StrAppend(&text_, std::string(2 * depth, ' '), content, "  # ", Escape(origin), "\n");
  }

  const SourceLocations& locations_;
  std::string text_;
};

}  // namespace

absl::StatusOr<std::string> PrintConfig(const LoadedConfig& config) {
  ASSIGN_OR_RETURN(const proto::RunConfig effective, EffectiveConfig(config));
  ConfigPrinter printer(config.locations);
  printer.PrintMessage(effective, "", 0);
  return std::move(printer).text();
}

}  // namespace tpurun
