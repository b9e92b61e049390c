#include "cli/help_topics.h"

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/config/field_text.h"
#include "cli/config_docs.h"
#include "cli/exit_codes.h"
#include "cli/manual/manual.h"
#include "cli/manual/render.h"
#include "cli/tpu_errors.h"
#include "cli/tpu_ops_page.h"
#include "models/layers/layer.h"
#include "proto/field_rules.h"
#include "proto/run_config.pb.h"
#include "runtime/ops/op_list.h"

namespace tpurun {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::OneofDescriptor;

constexpr size_t kColumns = 90;

std::string Wrapped(const std::string& text, size_t indent) {
  return tpurun::Wrapped(text, kColumns, indent);
}

// ------------------------------------------------------------------------------------- messages

// Behind a field that is refused, why; `kind` is the choice whose message it is shown in, may be
// null.
std::string Refused(const FieldDescriptor& field, const FieldDescriptor* kind,
                    bool with_reason = false) {
  const std::string why = WhyRefused(field, kind, with_reason, *proto::RunConfig::descriptor());
  return why.empty() ? "" : absl::StrCat("  (", why, ")");
}

std::string FieldEntry(const FieldDescriptor& field, const FieldDescriptor* kind) {
  std::string entry = absl::StrCat("  ", field.name(), ": ", TypeText(field), Refused(field, kind),
                                   "\n", Wrapped(MeaningOf(field, kind), 6));
  if (field.enum_type() != nullptr) {
    absl::StrAppend(
        &entry, Wrapped("One of " + absl::StrJoin(EnumNames(*field.enum_type()), ", ") + ".", 6));
  }
  return entry;
}

// The choices of a oneof with what is said of each.
std::string Choices(const OneofDescriptor& oneof) {
  size_t width = 0;
  for (int i = 0; i < oneof.field_count(); ++i) {
    width = std::max(width, oneof.field(i)->name().size());
  }
  std::string text = absl::StrCat("exactly one ", oneof.name(), ":\n");
  for (int i = 0; i < oneof.field_count(); ++i) {
    const FieldDescriptor& choice = *oneof.field(i);
    const std::string said = Wrapped(MeaningOf(choice) + Refused(choice, nullptr), width + 4);
    absl::StrAppend(&text, "  ", choice.name(), said.substr(choice.name().size() + 2));
  }
  return text;
}

// Where --set finds a message, the first few places.
std::string PlacesOf(const Descriptor& message) {
  constexpr size_t kShown = 3;
  std::vector<std::string> paths;
  for (const ConfigPath& path : ConfigPaths()) {
    if (path.field->message_type() != &message) continue;
    paths.push_back(path.field->is_repeated() ? path.path + ".N" : path.path);
  }
  if (paths.empty()) return "";
  const size_t more = paths.size() - std::min(paths.size(), kShown);
  paths.resize(paths.size() - more);
  return Wrapped(absl::StrCat("at ", absl::StrJoin(paths, ", "), more > 0 ? ", ..." : ""), 0);
}

// The fields and choices of a message; `kind` as in FieldEntry.
std::string MessageBody(const Descriptor& message, const FieldDescriptor* kind) {
  std::string text;
  if (message.field_count() == 0) return "  It takes no arguments: {}\n";
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    if (field.containing_oneof() == nullptr) absl::StrAppend(&text, FieldEntry(field, kind));
  }
  for (int i = 0; i < message.oneof_decl_count(); ++i) {
    absl::StrAppend(&text, text.empty() ? "" : "\n", Choices(*message.oneof_decl(i)));
  }
  return text;
}

std::string MessagePage(const Descriptor& message) {
  return absl::StrCat(ShortName(message), "\n", Wrapped(CommentOf(message), 0), PlacesOf(message),
                      "\n", MessageBody(message, nullptr));
}

std::string EnumPage(const EnumDescriptor& type) {
  std::string text = absl::StrCat(ShortName(type), "\n", Wrapped(CommentOf(type), 0), "\n");
  for (const std::string& name : EnumNames(type)) {
    absl::StrAppend(&text, "  ", name, "\n", Wrapped(CommentOf(*type.FindValueByName(name)), 6));
  }
  return text;
}

// A field, and what is in it.
std::string FieldPage(const FieldDescriptor& field) {
  std::string text = absl::StrCat("a field of ", ShortName(*field.containing_type()), "\n",
                                  FieldEntry(field, nullptr));
  if (const Descriptor* const message = field.message_type()) {
    absl::StrAppend(&text, "\n", ShortName(*message), "\n", Wrapped(CommentOf(*message), 0), "\n",
                    MessageBody(*message, field.containing_oneof() ? &field : nullptr));
  }
  return text;
}

// -------------------------------------------------------------------------------- pages of topics

std::string FieldsPage() {
  std::string text =
      "The paths that --set and --unset take (tpurun help set). N is an element: its number from "
      "0, its\nname, or its kind where only one has it. tpurun help PATH says what a field "
      "means.\n\n";
  for (const ConfigPath& path : ConfigPaths()) {
    absl::StrAppend(&text, path.path, ": ", TypeText(*path.field));
    if (!path.same_as.empty()) absl::StrAppend(&text, ", as ", path.same_as);
    absl::StrAppend(&text, Refused(*path.field, path.kind, /*with_reason=*/true), "\n");
  }
  return text;
}

std::string SetPage() {
  return R"(--set PATH=VALUE and --unset PATH change the configuration. Both may be given any number of times;
they are applied in order, after the files. A value of the command line wins over the file, the file
over the environment's TF_CONFIG (model_dir, master, evaluation_master, tpu_config.tpu_job_name), that
over the default. tpurun config prints what comes out, each value with its origin.

PATH names fields from the RunConfig on, joined by dots; model. reaches the ModelSpec, whichever file
it is in. tpurun help fields lists all of them. Behind a repeated field stands which of its elements:
  its number, from 0            --set evaluate.0.steps=5
  its name                      --set model.layer.hidden_1.dense.units=20
  its kind, if only one has it  --set train.input.transform.shuffle.buffer_size=10
  nothing, if it is the only one, before a field that all kinds have
                                --set evaluate.steps=5
Brackets mean the same as dots, and take names with dots in them:
  --set model.layer[hidden_1].dense.units=20

VALUE is in text format; strings and enumerators need no quotes:
  --set train_batch_size=256
  --set model_dir=/tmp/tpurun/other
  --set model.layer.hidden_1.dense.activation=TANH
  --set train.max_steps=500
Braces hold a message, which replaces what was there; brackets hold a list:
  --set 'model.optimizer.0.learning_rate={ constant: 0.05 }'
  --set 'predict.keys=["class_ids", "logits"]'
+= appends to a list:
  --set 'train.input.transform+={ take { count: 64 } }'
  --set predict.keys+=logits
--unset takes a field back to its default, and an element out of its list:
  --unset model_dir
  --unset train.input.transform.shuffle
Setting one choice of several clears the others, and setting one field clears those that cannot be
given together with it (save_checkpoints_steps, save_checkpoints_secs). Paths of files are relative
to the working directory; those in a file to its folder. A scalar field of RunConfig is a flag too:
--train_batch_size=256.
)";
}

std::string ExitCodesPage() {
  std::string text;
  for (const ExitCodeDoc& doc : ExitCodes()) {
    const std::string lines = Wrapped(doc.when, 6);
    const std::string code = absl::StrCat(doc.code);
    absl::StrAppend(&text, code, lines.substr(code.size()));
  }
  return text;
}

std::string TfConfigPage() {
  return R"(TF_CONFIG is an environment variable with a JSON object, as TensorFlow's RunConfig reads it:

  {"model_dir": "/tmp/m", "session_master": "", "eval_session_master": "",
   "cluster": {"chief": ["a:2222"], "worker": ["b:2222"]}, "task": {"type": "worker", "index": 0},
   "service": {"tpu_worker_job_name": ""}}

It gives model_dir, master, evaluation_master and tpu_config.tpu_job_name where neither the file of
--config nor the command line does; tpurun config shows what came from it. Another model_dir than
that of the configuration, and masters that are not '' or local are refused. evaluation_master is
master where nothing gives it, but for a task of the type evaluator.

The cluster starts nothing. mpirun or srun starts the processes of train and train_and_evaluate, and
the cluster has to name as many hosts: the chief is process 0, the workers follow in their order. The
task, if it is there, is that of this process. A master that is grpc://HOST with a HOST of the cluster
counts as ''. Other clusters are refused, with the command to run; parameter servers (ps) always are.
Other verbs run in one process, that of process 0 or of the evaluator, whatever the cluster's size.
)";
}

std::string TpuErrorsPage() {
  std::string text =
      "What runs on a CPU and not on a TPU: each error with its exit code, - where it cannot be. "
      "All that\nthe configuration shows are told at once, before data is read and before anything "
      "is written;\nwith one of another code among them the exit code is 2. With use_tpu: false "
      "there "
      "are no\nE4, E5, E14 and E25, and UINT8 is fed.\n\n";
  for (const TpuErrorDoc& error : TpuErrors()) {
    const std::string lines = Wrapped(error.when, 9);
    const std::string begin =
        absl::StrFormat("%-5s%-4s", error.name, *error.code == 0 ? "-" : error.code);
    absl::StrAppend(&text, begin, lines.substr(begin.size()));
  }
  return text;
}

std::string OpEntry(const OpDef& op) {
  const bool many = op.max_operands < 0;
  const std::string operands = op.max_operands == op.min_operands ? absl::StrCat(op.min_operands)
                               : many ? absl::StrCat(op.min_operands, " or more")
                                      : absl::StrCat(op.min_operands, " to ", op.max_operands);
  return absl::StrCat(op.name, "  (operands: ", operands, ")\n", Wrapped(op.doc, 6),
                      op.attrs.empty() ? "" : Wrapped(OpAttrsText(op), 6));
}

std::string OpsPage() {
  std::string text =
      "The ops that a layer op { name: \"NAME\" attrs: \"...\" } may be of (tpurun help op), each "
      "with "
      "its\nattributes.\n\n";
  for (const OpDef* const op : AllOps()) {
    if (IsLayerOp(*op)) absl::StrAppend(&text, OpEntry(*op));
  }
  return text;
}

template <typename Message>
HelpTopic MessageTopic(const std::string& name, const std::string& doc) {
  return {.name = name, .doc = doc, .message = Message::descriptor()};
}

// ---------------------------------------------------------------------------------------- names

// What follows the package in a full name, or the last part of that.
bool HasName(const std::string& short_name, const std::string& name) {
  return short_name == name || absl::EndsWith(short_name, "." + name);
}

// Adds what `name` is the name of among choices, or among other fields.
void AddFields(const std::string& name, bool choices, std::vector<std::string>& pages) {
  for (const Descriptor* const message : ConfigMessages()) {
    for (int i = 0; i < message->field_count(); ++i) {
      const FieldDescriptor& field = *message->field(i);
      if ((field.containing_oneof() != nullptr) != choices) continue;
      if (HasName(ShortName(field), name)) pages.push_back(FieldPage(field));
    }
  }
}

void AddTypes(const std::string& name, std::vector<std::string>& pages) {
  for (const Descriptor* const message : ConfigMessages()) {
    if (HasName(ShortName(*message), name)) pages.push_back(MessagePage(*message));
  }
  for (const EnumDescriptor* const type : ConfigEnums()) {
    if (HasName(ShortName(*type), name) || type->FindValueByName(name) != nullptr) {
      pages.push_back(EnumPage(*type));
    }
  }
}

}  // namespace

std::span<const HelpTopic> HelpTopics() {
  static const std::vector<HelpTopic>& topics = *new std::vector<HelpTopic>{
      MessageTopic<proto::Layer>("layers", "the kinds of layers"),
      {.name = "ops", .doc = "what a layer op is of", .page = OpsPage},
      MessageTopic<proto::Initializer>("initializers", "how variables start"),
      MessageTopic<proto::Head>("heads", "loss, predictions and metrics at once"),
      MessageTopic<proto::Loss>("losses", "the kinds of losses"),
      MessageTopic<proto::Metric>("metrics", "the kinds of metrics"),
      MessageTopic<proto::Optimizer>("optimizers", "the kinds of optimizers"),
      MessageTopic<proto::Schedule>("schedules", "the kinds of learning rates"),
      MessageTopic<proto::Summary>("summaries", "what training writes for TensorBoard"),
      MessageTopic<proto::Source>("sources", "where an input's elements come from"),
      MessageTopic<proto::Transform>("transforms", "what is done to them"),
      {.name = "fields", .doc = "every path that --set takes", .page = FieldsPage},
      {.name = "set",
       .doc = "how --set and --unset are written",
       .page = SetPage,
       .is_list = false},
      {.name = "TF_CONFIG",
       .doc = "the environment variable",
       .page = TfConfigPage,
       .is_list = false},
      {.name = "tpu_errors", .doc = "what a TPU refuses", .page = TpuErrorsPage, .is_list = false},
      {.name = "tpu_ops",
       .doc = "TensorFlow's ops: on a TPU, and in tpurun",
       .page = TpuOpsPage,
       .is_list = false},
      {.name = "exit_codes",
       .doc = "what the program ends with",
       .page = ExitCodesPage,
       .is_list = false},
  };
  return topics;
}

std::string ManualText(const ManualPage& page) { return RenderMarkdown(page.text, kColumns); }

std::optional<std::string> ManualText(const std::string& name) {
  for (const ManualPage& page : ManualPages()) {
    if (page.name == name) return ManualText(page);
  }
  return std::nullopt;
}

std::optional<std::string> HelpPage(const std::string& name) {
  for (const HelpTopic& topic : HelpTopics()) {
    if (topic.name == name) return topic.page ? topic.page() : MessagePage(*topic.message);
  }
  std::vector<std::string> pages;
  if (std::optional<std::string> manual = ManualText(name)) pages.push_back(*std::move(manual));
  AddFields(name, /*choices=*/true, pages);
  AddTypes(name, pages);
  AddFields(name, /*choices=*/false, pages);
  if (const OpDef* const op = FindOpByName(name); op != nullptr && IsLayerOp(*op)) {
    pages.push_back(absl::StrCat("an op (tpurun help op)\n", OpEntry(*op)));
  }
  if (pages.empty()) {
    if (const FieldDescriptor* const field = FindByPath(name)) pages.push_back(FieldPage(*field));
  }
  if (pages.empty()) return std::nullopt;
  return absl::StrJoin(pages, "\n");
}

std::vector<std::string> HelpNames() {
  std::set<std::string> names;
  for (const ManualPage& page : ManualPages()) names.insert(page.name);
  for (const HelpTopic& topic : HelpTopics()) names.insert(topic.name);
  for (const Descriptor* const message : ConfigMessages()) {
    names.insert(ShortName(*message));
    for (int i = 0; i < message->field_count(); ++i) names.insert(message->field(i)->name());
  }
  for (const EnumDescriptor* const type : ConfigEnums()) {
    names.insert(ShortName(*type));
    for (const std::string& value : EnumNames(*type)) names.insert(value);
  }
  for (const OpDef* const op : AllOps()) {
    if (IsLayerOp(*op)) names.insert(op->name);
  }
  return {names.begin(), names.end()};
}

}  // namespace tpurun
