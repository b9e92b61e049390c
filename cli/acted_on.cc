#include "cli/acted_on.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/supported_fields.h"
#include "data/input_fn.h"
#include "models/model_builder.h"
#include "proto/run_config.pb.h"
#include "proto/source_locations.h"

namespace tpurun {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

// One walk from the RunConfig over everything that is acted on.
class Walk {
 public:
  Walk() {
    for (const std::vector<ReadFields>& tables : {ReadModelFields(), ReadInputFields()}) {
      for (const ReadFields& row : tables) {
        rows_[row.of] = {row.fields.begin(), row.fields.end()};
      }
    }
    VisitRun(*proto::RunConfig::descriptor(), "");
  }

  bool Acts(const FieldDescriptor& field) const { return acts_.count(field.full_name()) > 0; }

  // Null where no row speaks of it.
  const std::set<std::string>* Row(const std::string& of) const {
    const auto found = rows_.find(of);
    return found == rows_.end() ? nullptr : &found->second;
  }

  // Null where the field may be acted on some day.
  const std::string* Never(const FieldDescriptor& field) const {
    const auto found = never_.find(field.full_name());
    return found == never_.end() ? nullptr : &found->second;
  }

  // The kinds of a choice whose message the field is in, and that read it.
  std::vector<std::string> KindsThatRead(const FieldDescriptor& field) const {
    std::vector<std::string> kinds;
    for (const auto& [of, fields] : rows_) {
      const auto* const kind = field.file()->pool()->FindFieldByName(of);
      if (kind == nullptr || kind->message_type() != field.containing_type()) continue;
      if (fields.count(field.name()) > 0) kinds.push_back(kind->name());
    }
    return kinds;
  }

  std::vector<std::string> Values(const FieldDescriptor& field) const {
    const auto found = values_.find(field.full_name());
    return found == values_.end() ? std::vector<std::string>() : found->second;
  }

 private:
  void VisitRun(const Descriptor& message, const std::string& path) {
    for (int i = 0; i < message.field_count(); ++i) {
      const FieldDescriptor& field = *message.field(i);
      const std::string field_path = FieldPath(path, field.name());
      // The model is not refused: it is taken out, as if it had a file of its own.
      for (const RefusedField& refused : RefusedFields()) {
        if (refused.path == field_path) Refuse(field, refused.reason);
      }
      bool covered = field.message_type() == proto::ModelSpec::descriptor();
      bool row_below = false;
      for (const SupportedField& supported : SupportedFields()) {
        if (CoversField(supported.path, field_path)) {
          covered = true;
          if (!supported.values.empty()) values_[field.full_name()] = supported.values;
        }
        row_below = row_below || absl::StartsWith(supported.path, field_path + ".");
      }
      if (covered || row_below) acts_.insert(field.full_name());
      if (field.message_type() == nullptr) continue;
      if (covered) Visit(*field.message_type(), field.message_type()->full_name());
      if (row_below) VisitRun(*field.message_type(), field_path);
    }
  }

  // With what is under it.
  void Refuse(const FieldDescriptor& field, const std::string& reason) {
    never_[field.full_name()] = reason;
    const Descriptor* const message = field.message_type();
    for (int i = 0; message != nullptr && i < message->field_count(); ++i) {
      Refuse(*message->field(i), reason);
    }
  }

  // `of` is the name of the row that may speak of the message.
  void Visit(const Descriptor& message, const std::string& of) {
    if (!visited_.insert(of).second) return;
    const std::set<std::string>* const read = Row(of);
    for (int i = 0; i < message.field_count(); ++i) {
      const FieldDescriptor& field = *message.field(i);
      if (read != nullptr && read->count(field.name()) == 0) continue;
      acts_.insert(field.full_name());
      if (field.message_type() == nullptr) continue;
      const bool own_row = Row(field.full_name()) != nullptr;
      Visit(*field.message_type(), own_row ? field.full_name() : field.message_type()->full_name());
    }
  }

  std::map<std::string, std::set<std::string>> rows_;
  std::map<std::string, std::vector<std::string>> values_;
  std::map<std::string, std::string> never_;
  std::set<std::string> acts_;
  std::set<std::string> visited_;
};

const Walk& TheWalk() {
  static const Walk& walk = *new Walk;
  return walk;
}

}  // namespace

bool IsActedOn(const FieldDescriptor& field) { return TheWalk().Acts(field); }

bool IsActedOnIn(const FieldDescriptor& kind, const FieldDescriptor& field) {
  const std::set<std::string>* const row = TheWalk().Row(kind.full_name());
  if (!IsActedOn(kind)) return false;
  return row == nullptr ? IsActedOn(field) : row->count(field.name()) > 0;
}

std::string WhyRefused(const FieldDescriptor& field, const FieldDescriptor* kind,
                       bool with_reason) {
  if (const std::string* const reason = TheWalk().Never(field)) {
    return with_reason ? absl::StrCat("never: ", *reason) : "never";
  }
  if (kind == nullptr ? IsActedOn(field) : IsActedOnIn(*kind, field)) return "";
  const std::vector<std::string> kinds = TheWalk().KindsThatRead(field);
  if (kind == nullptr || !IsActedOn(*kind) || kinds.empty()) return "not supported yet";
  constexpr size_t kNamed = 2;  // more are no word behind a field
  return kinds.size() > kNamed ? absl::StrCat("not of ", kind->name())
                               : absl::StrCat("only of ", absl::StrJoin(kinds, ", "));
}

std::vector<std::string> ValuesActedOn(const FieldDescriptor& field) {
  return TheWalk().Values(field);
}

}  // namespace tpurun
