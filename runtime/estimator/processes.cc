#include "runtime/estimator/processes.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/util/message_differencer.h"
#include "proto/run_config.pb.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/io/file.h"
#include "runtime/io/identity.h"

namespace tpurun {
namespace {

constexpr char kToldByChief[] = "tpurun/told_by_chief";

// oneDNN takes kernels of older machines where one of these is set.
constexpr const char* kKernelLimits[] = {"ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"};

// The first of some texts, in one line.
std::string FirstOf(std::vector<std::string> texts) {
  constexpr size_t kShown = 5;
  const size_t more = texts.size() > kShown ? texts.size() - kShown : 0;
  texts.resize(texts.size() - more);
  if (more > 0) texts.push_back(absl::StrCat(more, " more"));
  return absl::StrJoin(texts, ", ");
}

// "train.max_steps: 20 -> 1000": the fields, with the chief's value first.
std::string DifferenceOfConfigs(const std::string& chiefs, const std::string& own) {
  using google::protobuf::TextFormat;
  using google::protobuf::util::MessageDifferencer;
  proto::RunConfig of_chief, of_own;
  if (!TextFormat::ParseFromString(chiefs, &of_chief)) return "";
  if (!TextFormat::ParseFromString(own, &of_own)) return "";
  std::string report;
  MessageDifferencer differencer;
  differencer.ReportDifferencesToString(&report);
  differencer.Compare(of_chief, of_own);
  return FirstOf(absl::StrSplit(report, '\n', absl::SkipEmpty()));
}

// The lines of `text` that stand elsewhere in `other`, or not at all.
std::string LinesOnlyIn(const std::string& text, const std::string& other) {
  const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  const std::vector<absl::string_view> others = absl::StrSplit(other, '\n');
  std::vector<std::string> found;
  for (size_t i = 0; i < lines.size(); ++i) {
    const bool same = lines.size() == others.size()
                          ? lines[i] == others[i]
                          : std::find(others.begin(), others.end(), lines[i]) != others.end();
    if (!same) found.push_back(Quote(std::string(absl::StripAsciiWhitespace(lines[i]))));
  }
  return found.empty() ? "nothing else" : FirstOf(std::move(found));
}

std::string Difference(const std::string& name, const std::string& chiefs, const std::string& own) {
  const bool are_configs = name == kConfiguration || name == kVocabularies;
  const std::string fields = are_configs ? DifferenceOfConfigs(chiefs, own) : "";
  if (!fields.empty()) return absl::StrCat(name, " (of the chief -> got): ", fields);
  return absl::StrCat(name, ": got ", LinesOnlyIn(own, chiefs), ", the chief has ",
                      LinesOnlyIn(chiefs, own));
}

}  // namespace

absl::Status ToldByChief(absl::Status status) {
  if (!status.ok()) status.SetPayload(kToldByChief, absl::Cord());
  return status;
}

bool IsToldByChief(const absl::Status& status) {
  return status.GetPayload(kToldByChief).has_value();
}

absl::Status FirstErrorOfProcesses(Fabric* fabric, const absl::Status& own) {
  if (fabric == nullptr) return own;
  const absl::Status first = fabric->FirstError(own);
  return fabric->is_chief() || fabric->lost() ? first : ToldByChief(first);
}

absl::Status CheckAlike(Fabric* fabric, const std::vector<Likeness>& own) {
  if (fabric == nullptr) return absl::OkStatus();
  std::vector<std::string> differences;
  for (const auto& [name, text] : own) {
    ASSIGN_OR_RETURN(const std::string chiefs, fabric->BroadcastText(text));
    if (text != chiefs) differences.push_back(Difference(name, chiefs, text));
  }
  return FirstErrorOfProcesses(
      fabric, differences.empty()
                  ? absl::OkStatus()
                  : absl::InvalidArgumentError(absl::StrCat(
                        "differs from the chief, process 0: ", absl::StrJoin(differences, "; "),
                        "; all processes want the same program, configuration, data and "
                        "checkpoint")));
}

std::vector<Likeness> LikenessesOf(const Session& session, const std::vector<InputFile>& files,
                                   const std::map<std::string, std::string>& assets) {
  std::string machine = session.machine();
  for (const char* limit : kKernelLimits) {
    if (const char* const value = std::getenv(limit); value != nullptr && *value != '\0')
      absl::StrAppend(&machine, ", ", limit, "=", value);
  }
  std::vector<std::string> data, weights;
  for (const InputFile& file : files)
    data.push_back(absl::StrCat(BaseName(file.name), ": ", file.identity));
  for (const auto& [name, bytes] : assets)
    data.push_back(absl::StrCat(name, ": ", IdentityOf(bytes)));
  // Copies of replicas are those of this process.
  for (const auto& [name, stored] : session.variables().variables()) {
    if (stored.copies() != 1) continue;
    const std::string_view bytes(reinterpret_cast<const char*>(stored.copy(0)),
                                 stored.copy_bytes());
    weights.push_back(absl::StrCat(name, ": ", IdentityOf(bytes)));
  }
  return {{"machine", std::move(machine)},
          {"data (names, lengths and checksums)", absl::StrJoin(data, "\n")},
          {"weights at the start (lengths and checksums)", absl::StrJoin(weights, "\n")}};
}

absl::StatusOr<std::optional<Checkpoint>> ShareCheckpoint(
    Fabric* fabric, absl::StatusOr<std::optional<Checkpoint>> own) {
  if (fabric == nullptr) return own;
  const bool chief = fabric->is_chief();
  RETURN_IF_ERROR(FirstErrorOfProcesses(fabric, chief ? own.status() : absl::OkStatus()));
  ASSIGN_OR_RETURN(const std::string prefix,
                   fabric->BroadcastText(chief && own->has_value() ? (**own).prefix() : ""));
  absl::Status read;
  if (!chief) {
    own = std::optional<Checkpoint>();
    if (!prefix.empty()) {
      absl::StatusOr<Checkpoint> opened = Checkpoint::Open(prefix);
      read = Annotate(opened.status(),
                      "the checkpoint that the chief has chosen, which must be on a file system "
                      "that all processes share");
      if (opened.ok()) own = std::optional<Checkpoint>(*std::move(opened));
    }
  }
  RETURN_IF_ERROR(FirstErrorOfProcesses(fabric, read));
  return own;
}

}  // namespace tpurun
