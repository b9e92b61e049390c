// Windows of the characters of text files, as the source `text` has them: int64 lists "text" and
// "next", sequence_length ids each, and of streams "start". What the ids stand for is
// vocabulary.txt beside the output.
#include "data/text.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "data/character_vocabulary.h"
#include "data/convert/beside.h"
#include "data/convert/convert.h"
#include "data/sources/files.h"
#include "data/table.h"
#include "runtime/base/status.h"
#include "runtime/io/file.h"

namespace tpurun {
namespace {

constexpr FileBeside kVocabularyBeside = {kVocabularyFile, "the vocabulary"};

absl::StatusOr<Text> ReadInputs(const ConvertArgs& args) {
  Text text;
  for (const std::string& path : args.inputs) {
    ASSIGN_OR_RETURN(const std::unique_ptr<ByteSource> source, OpenMaybeGzip(path));
    RETURN_IF_ERROR(text.Append(*source, FileTitle(path)));
  }
  return text;
}

absl::StatusOr<CharacterVocabulary> VocabularyFor(const ConvertArgs& args, const Text& text) {
  if (!args.vocabulary.empty()) return CharacterVocabulary::Read(args.vocabulary, "--vocabulary");
  return CharacterVocabulary::Of(text.characters());
}

// Files of other ids may lie beside a vocabulary that is there: it is never replaced by another.
absl::Status CheckVocabulary(const ConvertArgs& args, const std::string& vocabulary) {
  const std::string path = PathBeside(args.output, kVocabularyBeside);
  if (IsAbsent(path)) return absl::OkStatus();
  const absl::StatusOr<std::string> there = ReadFile(path, vocabulary.size());
  if (there.ok() && *there == vocabulary) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--output: ", path,
      " is there already and is not the vocabulary of this text: take it by --vocabulary=", path,
      ", or write to another folder"));
}

absl::Status WriteWindows(const TextWindows& windows, int64_t length, bool with_starts,
                          const ExampleSink& write) {
  tensorflow::Example example;
  auto& features = *example.mutable_features()->mutable_feature();
  std::vector<int32_t> text(length), next(length);
  for (int64_t window = 0; window < windows.size(); ++window) {
    windows.Get(window, text.data(), next.data());
    features["text"].mutable_int64_list()->mutable_value()->Assign(text.begin(), text.end());
    features["next"].mutable_int64_list()->mutable_value()->Assign(next.begin(), next.end());
    if (with_starts) {
      const int64_t start = windows.IsFirst(window) ? 1 : 0;
      features["start"].mutable_int64_list()->mutable_value()->Assign(&start, &start + 1);
    }
    RETURN_IF_ERROR(write(example));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckText(const ConvertArgs& args) {
  RETURN_IF_ERROR(CheckNamedFiles("text", args));
  if (!args.sequence_length.has_value()) {
    return absl::InvalidArgumentError(
        "convert text needs --sequence_length=N, the characters of a window");
  }
  if (*args.sequence_length < 1 || *args.sequence_length > kMaxRowElements) {
    return absl::InvalidArgumentError(absl::StrCat("--sequence_length: got ", *args.sequence_length,
                                                   ", want 1 to ", kMaxRowElements));
  }
  for (const auto& [flag, value] :
       {std::pair("--shift", args.shift), {"--streams", args.streams}}) {
    if (value.value_or(1) >= 1) continue;
    return absl::InvalidArgumentError(absl::StrCat(flag, ": got ", *value, ", want a number > 0"));
  }
  return CheckNotBeside(args.output, kVocabularyBeside);
}

absl::Status ConvertText(const ConvertArgs& args, const ExampleSink& write) {
  ASSIGN_OR_RETURN(Text text, ReadInputs(args));
  ASSIGN_OR_RETURN(CharacterVocabulary vocabulary, VocabularyFor(args, text));
  const std::string vocabulary_text = vocabulary.FileText();
  const int64_t length = *args.sequence_length;
  const WindowsSpec spec = {
      .length = length, .shift = args.shift.value_or(length), .streams = args.streams.value_or(1)};
  const absl::StatusOr<TextWindows> windows =
      TextWindows::Create(std::move(text), std::move(vocabulary), spec);
  if (!windows.ok()) {
    return absl::DataLossError(
        absl::StrCat(windows.status().message(), "; name a --vocabulary that has it"));
  }
  RETURN_IF_ERROR(Annotate(windows->CheckNotEmpty(), absl::StrJoin(args.inputs, " and ")));
  RETURN_IF_ERROR(CheckVocabulary(args, vocabulary_text));
  RETURN_IF_ERROR(WriteWindows(*windows, length, args.streams.has_value(), write));
  return WriteFileAtomically(PathBeside(args.output, kVocabularyBeside), vocabulary_text);
}

}  // namespace tpurun
