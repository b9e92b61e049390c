#include "cli/help_search.h"

#include <algorithm>
#include <map>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "cli/config/field_text.h"
#include "cli/config_docs.h"
#include "cli/help_topics.h"
#include "models/layers/layer.h"
#include "runtime/ops/op_list.h"

namespace tpurun {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;

// Of a line; of a text at least so much is shown.
constexpr size_t kSearchColumns = 110, kText = 50;

std::string Plain(const std::string& text) {
  return absl::AsciiStrToLower(absl::StrReplaceAll(text, {{"_", " "}, {"-", " "}}));
}

// What a kind of a oneof is one of: "layer"; of others "field".
std::string NounOf(const FieldDescriptor& field) {
  if (field.containing_oneof() == nullptr) return "field";
  return absl::AsciiStrToLower(field.containing_type()->name());
}

class Search {
 public:
  explicit Search(const std::string& word) : word_(Plain(word)) {}

  // `more` is looked in, not shown.
  void Add(const std::string& noun, const std::string& name, const std::string& text,
           const std::string& more = "") {
    const bool found = absl::StrContains(Plain(name), word_) ||
                       absl::StrContains(Plain(text), word_) ||
                       absl::StrContains(Plain(more), word_);
    if (!found) return;
    std::string line = absl::StrFormat("%-10s%-28s  %s", noun, name, text);
    if (line.size() > kSearchColumns)
      line = absl::StrCat(line.substr(0, kSearchColumns - 3), "...");
    absl::StrAppend(&lines_, absl::StripTrailingAsciiWhitespace(line), "\n");
  }

  const std::string& lines() const { return lines_; }

 private:
  const std::string word_;
  std::string lines_;
};

// Of several verbs once.
void AddFlags(std::span<const Verb> verbs, Search& search) {
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> verbs_of;
  for (const Verb& verb : verbs) {
    for (const Flag& flag : FlagsOfVerb(verb)) {
      if (flag.sets != flag.name) verbs_of[{flag.name, flag.help}].push_back(verb.name);
    }
  }
  for (const auto& [flag, names] : verbs_of) {
    const std::string of =
        names.size() > 3 ? "" : absl::StrCat(" (", absl::StrJoin(names, ", "), ")");
    search.Add("flag", absl::StrCat("--", flag.first), flag.second + of);
  }
}

void AddFields(Search& search) {
  for (const ConfigPath& path : ConfigPaths()) {
    const std::string noun = NounOf(*path.field);
    const bool is_field = noun == "field";
    const Descriptor* const message = is_field ? nullptr : path.field->message_type();
    search.Add(noun, is_field ? path.path : path.field->name(), MeaningOf(*path.field),
               message == nullptr ? "" : CommentOf(*message));
  }
  for (const EnumDescriptor* const type : ConfigEnums()) {
    for (const std::string& name : EnumNames(*type)) {
      const std::string comment = CommentOf(*type->FindValueByName(name));
      search.Add("value", name,
                 absl::StrCat("of ", ShortName(*type), comment.empty() ? "" : ": ", comment));
    }
  }
}

}  // namespace

std::string HelpSearch(const std::string& word, std::span<const Verb> verbs) {
  if (Plain(word).find_first_not_of(' ') == std::string::npos) return "";
  Search search(word);
  for (const Verb& verb : verbs) search.Add("verb", verb.name, verb.doc);
  AddFlags(verbs, search);
  for (const ManualPage& page : ManualPages()) {
    search.Add("page", page.name, page.title, page.text);
  }
  for (const HelpTopic& topic : HelpTopics()) {
    // What a list has is found as what it is.
    search.Add("topic", topic.name, topic.doc, topic.is_list ? "" : topic.page());
  }
  AddFields(search);
  for (const OpDef* const op : AllOps()) {
    if (IsLayerOp(*op)) search.Add("op", op->name, op->doc);
  }
  return search.lines();
}

}  // namespace tpurun
