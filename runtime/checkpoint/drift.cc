#include "runtime/checkpoint/drift.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/text_format.h"
#include "proto/field_values.h"
#include "proto/source_locations.h"
#include "proto/text_errors.h"
#include "runtime/base/text.h"
#include "runtime/spec/topology.h"

namespace tpurun {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::OneofDescriptor;
using google::protobuf::Reflection;
using google::protobuf::TextFormat;

constexpr char kNone[] = "none";

// "[8, 8, 1]"; one value stands alone.
std::string ListText(const Message& message, const FieldDescriptor* field) {
  const int size = message.GetReflection()->FieldSize(message, field);
  std::vector<std::string> values;
  for (int i = 0; i < size; ++i) values.push_back(ValueText(message, field, i));
  return size == 1 ? values[0] : absl::StrCat("[", absl::StrJoin(values, ", "), "]");
}

void ClearDefaults(Message* message) {
  const Reflection& reflection = *message->GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(*message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && field->is_repeated()) {
      for (int i = 0; i < reflection.FieldSize(*message, field); ++i) {
        ClearDefaults(reflection.MutableRepeatedMessage(message, field, i));
      }
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      ClearDefaults(reflection.MutableMessage(message, field));
    } else if (IsDefault(*message, field)) {
      reflection.ClearField(message, field);
    }
  }
}

const FieldDescriptor* StringField(const Message& message, const std::string& name) {
  const FieldDescriptor* const field = message.GetDescriptor()->FindFieldByName(name);
  return field != nullptr && field->cpp_type() == FieldDescriptor::CPPTYPE_STRING ? field : nullptr;
}

bool IsNamed(const Message& element) {
  const FieldDescriptor* const name = StringField(element, "name");
  return name != nullptr && element.GetReflection()->HasField(element, name);
}

// What an element of a list is called: its name, or its kind and the features that it is about.
std::string TitleOf(const Message& element) {
  if (IsNamed(element)) return ValueText(element, StringField(element, "name"));
  const FieldDescriptor* const kind = ChosenKind(element);
  if (kind == nullptr || kind->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) return "";
  std::string title = kind->name();
  const Message& arguments = element.GetReflection()->GetMessage(element, kind);
  const FieldDescriptor* const features = StringField(arguments, "feature");
  if (features == nullptr) return title;
  if (!features->is_repeated()) return absl::StrCat(title, " ", ValueText(arguments, features));
  for (int i = 0; i < arguments.GetReflection()->FieldSize(arguments, features); ++i) {
    absl::StrAppend(&title, i == 0 ? " " : ", ", ValueText(arguments, features, i));
  }
  return title;
}

bool HasTitles(const FieldDescriptor* field) {
  const Descriptor& element = *field->message_type();
  return element.FindFieldByName("name") != nullptr || element.oneof_decl_count() > 0;
}

// "{ replica: 0 }, { replica: 1 }"
std::string ElementsText(const Message& message, const FieldDescriptor* field) {
  std::vector<std::string> elements;
  for (int i = 0; i < message.GetReflection()->FieldSize(message, field); ++i) {
    const Message& element = message.GetReflection()->GetRepeatedMessage(message, field, i);
    elements.push_back(absl::StrCat("{ ", FieldsText(element), " }"));
  }
  return elements.empty() ? kNone : absl::StrJoin(elements, ", ");
}

// The elements of a list with their titles, each once: what comes again has a number behind it.
struct Elements {
  Elements(const Message& message, const FieldDescriptor* field) {
    std::map<std::string, int> seen;
    for (int i = 0; i < message.GetReflection()->FieldSize(message, field); ++i) {
      const Message& element = message.GetReflection()->GetRepeatedMessage(message, field, i);
      std::string title = TitleOf(element);
      const int number = ++seen[title];
      if (number > 1) absl::StrAppend(&title, " (", number, ")");
      titles.push_back(title);
      of_title[title] = &element;
    }
  }
  std::vector<std::string> titles;
  std::map<std::string, const Message*> of_title;
};

class Comparison {
 public:
  // Two messages of one type, at `path`.
  void Compare(const Message& trained, const Message& now, const std::string& path) {
    const Descriptor& descriptor = *trained.GetDescriptor();
    for (int i = 0; i < descriptor.field_count(); ++i) {
      const FieldDescriptor* const field = descriptor.field(i);
      const std::string field_path = FieldPath(path, field->name());
      const bool is_message = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
      if (field->containing_oneof() != nullptr) {
        if (field->containing_oneof()->field(0) == field) CompareChoices(trained, now, field, path);
      } else if (field->is_repeated() && is_message && !HasTitles(field)) {
        Add(field_path, ElementsText(trained, field), ElementsText(now, field));
      } else if (field->is_repeated() && is_message) {
        CompareElements(trained, now, field, field_path);
      } else if (field->is_repeated()) {
        Add(field_path, ListText(trained, field), ListText(now, field));
      } else if (!is_message) {
        Add(field_path, ValueText(trained, field), ValueText(now, field));
      } else if (field->message_type() == proto::MovingAverage::descriptor()) {
        const auto text = [field](const Message& model) {
          return model.GetReflection()->HasField(model, field) ? "averages" : kNone;
        };
        Add(field_path, text(trained), text(now));
      } else if (trained.GetReflection()->HasField(trained, field) ||
                 now.GetReflection()->HasField(now, field)) {
        Compare(trained.GetReflection()->GetMessage(trained, field),
                now.GetReflection()->GetMessage(now, field), field_path);
      }
    }
  }

  std::vector<std::string> lines() && { return std::move(lines_); }

 private:
  void Add(const std::string& path, const std::string& trained, const std::string& now) {
    if (trained == now) return;
    lines_.push_back(absl::StrCat(path, ": trained with ", trained, ", now ", now));
  }

  // The oneof whose first field is `first`, in the message at `path`.
  void CompareChoices(const Message& trained, const Message& now, const FieldDescriptor* first,
                      const std::string& path) {
    const OneofDescriptor* const oneof = first->containing_oneof();
    const FieldDescriptor* const was =
        trained.GetReflection()->GetOneofFieldDescriptor(trained, oneof);
    const FieldDescriptor* const is = now.GetReflection()->GetOneofFieldDescriptor(now, oneof);
    if (was != is) {
      Add(path, was == nullptr ? kNone : was->name(), is == nullptr ? kNone : is->name());
    } else if (was != nullptr && was->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      // The title of an element without a name has its kind in it.
      Compare(trained.GetReflection()->GetMessage(trained, was),
              now.GetReflection()->GetMessage(now, was),
              IsNamed(trained) ? FieldPath(path, was->name()) : path);
    } else if (was != nullptr) {
      Add(FieldPath(path, was->name()), ValueText(trained, was), ValueText(now, was));
    }
  }

  void CompareElements(const Message& trained, const Message& now, const FieldDescriptor* field,
                       const std::string& path) {
    const Elements were(trained, field), are(now, field);
    const auto at = [&](const std::string& title) {
      return title.empty() ? path : absl::StrCat(path, " ", title);
    };
    bool same = were.titles.size() == are.titles.size();
    for (const std::string& title : were.titles) {
      const auto found = are.of_title.find(title);
      if (found != are.of_title.end()) {
        Compare(*were.of_title.at(title), *found->second, at(title));
        continue;
      }
      Add(at(title), What(*were.of_title.at(title)), kNone);
      same = false;
    }
    for (const std::string& title : are.titles) {
      if (were.of_title.count(title) == 0) Add(at(title), kNone, What(*are.of_title.at(title)));
    }
    // Layers name their inputs, and features go by name: only steps of a pipeline have an order.
    if (!same || (field->name() != "transform" && field->name() != "column")) return;
    Add(absl::StrCat("the order of ", path), absl::StrJoin(were.titles, ", "),
        absl::StrJoin(are.titles, ", "));
  }

  // What there is where on the other side there is none.
  static std::string What(const Message& element) {
    const FieldDescriptor* const kind = ChosenKind(element);
    if (kind != nullptr && IsNamed(element)) return kind->name();
    const Message& shown = kind != nullptr && kind->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE
                               ? element.GetReflection()->GetMessage(element, kind)
                               : element;
    const std::string fields = FieldsText(shown);
    return fields.empty() ? "it" : absl::StrCat("{ ", fields, " }");
  }

  std::vector<std::string> lines_;
};

// The input of that mode; null when there is none.
const proto::Input* InputOf(const proto::RunConfig& config, ModeKey mode,
                            const std::string& evaluation) {
  if (mode == ModeKey::kTrain)
    return config.train().has_input() ? &config.train().input() : nullptr;
  if (mode == ModeKey::kPredict) {
    return config.predict().has_input() ? &config.predict().input() : nullptr;
  }
  for (const proto::Evaluate& evaluate : config.evaluate()) {
    if (evaluate.name() == evaluation && evaluate.has_input()) return &evaluate.input();
  }
  return nullptr;
}

bool AreComparable(const proto::Input* trained, const proto::Input* now) {
  return trained != nullptr && now != nullptr &&
         trained->source().kind_case() == now->source().kind_case();
}

std::vector<std::string> InputDrift(const proto::Input* trained, const proto::Input* now) {
  if (!AreComparable(trained, now)) return {};
  proto::Input was, is;
  *was.mutable_source() = trained->source();  // the inputs that it is made of
  *is.mutable_source() = now->source();
  *was.mutable_transform() = trained->transform();
  *is.mutable_transform() = now->transform();
  Comparison comparison;
  comparison.Compare(was, is, "");
  return std::move(comparison).lines();
}

std::vector<std::string> InputsDrift(const proto::RunConfig& trained, const proto::RunConfig& now,
                                     ModeKey mode, const std::string& evaluation) {
  const proto::Input* const training = InputOf(trained, ModeKey::kTrain, "");
  const proto::Input* const used = InputOf(now, mode, evaluation);
  if (AreComparable(training, used) && InputDrift(training, used).empty()) return {};
  std::vector<std::string> lines = InputDrift(InputOf(trained, mode, evaluation), used);
  for (std::string& line : InputDrift(training, InputOf(now, ModeKey::kTrain, ""))) {
    if (std::find(lines.begin(), lines.end(), line) == lines.end())
      lines.push_back(std::move(line));
  }
  return lines;
}

// An optimizer without groups is not in the text; what differs is its groups all the same.
void AddWithoutGroups(const proto::ModelSpec& other, proto::ModelSpec& model) {
  std::set<std::string> names;
  for (const proto::Optimizer& optimizer : model.optimizer()) names.insert(optimizer.name());
  for (const proto::Optimizer& optimizer : other.optimizer()) {
    if (!names.insert(optimizer.name()).second) continue;
    proto::Optimizer& added = *model.add_optimizer();
    if (optimizer.has_name()) added.set_name(optimizer.name());
  }
}

}  // namespace

std::string CanonicalText(const proto::RunConfig& canonical) {
  proto::RunConfig without_defaults = canonical;
  ClearDefaults(&without_defaults);
  std::string text;
  TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  printer.PrintToString(without_defaults, &text);
  return text;
}

std::vector<std::string> Drift(const std::string& trained_text, const proto::RunConfig& now,
                               ModeKey mode, const std::string& evaluation) {
  // A text of a later version may have what this one does not know: then nothing can be compared.
  proto::RunConfig trained;
  TextFormat::Parser parser;
  IgnoredTextErrors errors;
  parser.RecordErrorsTo(&errors);
  parser.AllowUnknownField(true);
  if (trained_text.empty() || !parser.ParseFromString(trained_text, &trained)) return {};
  proto::RunConfig was, is;
  was.set_use_tpu(trained.use_tpu());
  is.set_use_tpu(now.use_tpu());
  // Others than a training give the same on any number of cores.
  if (mode == ModeKey::kTrain && was.use_tpu() && is.use_tpu()) {
    was.mutable_tpu_config()->set_num_shards(DeviceOf(trained).num_replicas());
    is.mutable_tpu_config()->set_num_shards(DeviceOf(now).num_replicas());
  }
  Comparison comparison;
  comparison.Compare(was, is, "");
  proto::ModelSpec trained_model = trained.model(), model = now.model();
  if (mode == ModeKey::kTrain) {
    AddWithoutGroups(trained_model, model);
    AddWithoutGroups(model, trained_model);
  } else {
    trained_model.clear_optimizer();
    model.clear_optimizer();
  }
  comparison.Compare(trained_model, model, "");
  std::vector<std::string> lines = std::move(comparison).lines();
  for (std::string& line : InputsDrift(trained, now, mode, evaluation)) {
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace tpurun
