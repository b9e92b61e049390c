#include "data/character_vocabulary.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "data/line_reader.h"
#include "runtime/base/status.h"
#include "runtime/io/file.h"
#include "runtime/io/identity.h"

namespace tpurun {
namespace {

std::string LineOf(const std::string& character) {
  return character == "\\" ? "\\\\" : Escape(character);
}

// What a line stands for; where it is no escape, itself.
std::string CharacterOf(const std::string& line) {
  std::string character;
  return absl::CUnescape(line, &character) ? character : line;
}

// That two vocabularies are one: ids of another would mean other characters to the model. DataLoss
// names the first id in which they differ.
absl::Status CheckSame(const CharacterVocabulary& given, const std::string& given_path,
                       const CharacterVocabulary& trained, const std::string& trained_path) {
  if (given == trained) return absl::OkStatus();
  int64_t id = 0;
  while (id < std::min(given.size(), trained.size()) &&
         given.characters()[id] == trained.characters()[id]) {
    ++id;
  }
  const auto entry = [id](const CharacterVocabulary& vocabulary) {
    return id < vocabulary.size() ? NameOf(FirstCharacter(vocabulary.characters()[id]))
                                  : std::string("none");
  };
  return absl::DataLossError(
      absl::StrCat(given_path, " is not the vocabulary that the model was trained with, ",
                   trained_path, ": of id ", id, " got ", entry(given), ", want ", entry(trained),
                   "; leave vocabulary_file out, or train in another model_dir"));
}

// That it is the one that the checkpoint was trained with, where that says.
absl::Status CheckIdentity(const CharacterVocabulary& vocabulary, const std::string& path,
                           const TrainedFolder& trained) {
  const auto want = trained.assets.find(kVocabularyFile);
  const std::string got = IdentityOf(vocabulary.FileText());
  if (want == trained.assets.end() || got == want->second) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      path, " is not the vocabulary that the model was trained with: got length and checksum ", got,
      ", want ", want->second, " as the checkpoint says; restore it from a copy, such as assets/",
      kVocabularyFile, " of an exported model"));
}

}  // namespace

std::string NameOf(const Character& character) {
  const std::string bytes(character.bytes);
  if (!character.code.has_value()) return Quote(bytes);
  if (*character.code < 0x80) return Quote(bytes);
  return absl::StrFormat("%s (U+%04X)", Quote(bytes), static_cast<uint32_t>(*character.code));
}

absl::StatusOr<CharacterVocabulary> CharacterVocabulary::Create(
    std::vector<std::string> characters, const std::function<std::string(int64_t id)>& where) {
  CharacterVocabulary vocabulary;
  for (const std::string& text : characters) {
    const int64_t id = vocabulary.size();
    const Character first = text.empty() ? Character() : FirstCharacter(text);
    if (!first.code.has_value() || first.bytes.size() != text.size()) {
      return absl::DataLossError(absl::StrCat(
          where(id), ": got ", Quote(text),
          ", want one character in UTF-8, or its C escape (\"\\n\"; \"\\\\\" is a backslash)"));
    }
    std::vector<int32_t>& ids = vocabulary.ids_;
    if (*first.code >= ids.size()) ids.resize(*first.code + 1, -1);
    if (ids[*first.code] >= 0) {
      return absl::DataLossError(absl::StrCat(where(id), ": the character ", NameOf(first),
                                              " is there already, with id ", ids[*first.code]));
    }
    ids[*first.code] = static_cast<int32_t>(id);
    vocabulary.characters_.push_back(text);
  }
  return vocabulary;
}

CharacterVocabulary CharacterVocabulary::Of(std::vector<std::string> characters) {
  std::sort(characters.begin(), characters.end());  // bytes of UTF-8 sort as code points do
  return *Create(std::move(characters), nullptr);
}

absl::StatusOr<CharacterVocabulary> CharacterVocabulary::Read(const std::string& path,
                                                              const std::string& where) {
  ASSIGN_OR_RETURN(std::vector<std::string> lines, ReadVocabularyLines(path, where));
  for (std::string& line : lines) line = CharacterOf(line);
  return Create(std::move(lines), [&path](int64_t id) { return absl::StrCat(path, ":", id + 1); });
}

absl::StatusOr<CharacterVocabulary> CharacterVocabulary::ReadTrained(const TrainedFolder& trained,
                                                                     const std::string& given,
                                                                     const std::string& where) {
  const std::string path = JoinPath(trained.dir, kVocabularyFile);
  const bool is_there = !IsAbsent(path);
  if (!is_there && given.empty()) {
    return absl::NotFoundError(absl::StrCat(
        where, ": there is no ", path,
        ", which train writes with a source of text; give the vocabulary_file that the model was "
        "trained with"));
  }
  CharacterVocabulary named;
  if (!given.empty()) {
    ASSIGN_OR_RETURN(named, Read(given, where));
    if (!is_there) RETURN_IF_ERROR(CheckIdentity(named, given, trained));
    if (!is_there) return named;
  }
  ASSIGN_OR_RETURN(CharacterVocabulary vocabulary, Read(path, where));
  RETURN_IF_ERROR(CheckIdentity(vocabulary, path, trained));
  if (!given.empty()) RETURN_IF_ERROR(CheckSame(named, given, vocabulary, path));
  return vocabulary;
}

std::string CharacterVocabulary::FileText() const {
  std::string text;
  for (const std::string& character : characters_) absl::StrAppend(&text, LineOf(character), "\n");
  return text;
}

absl::StatusOr<std::vector<int32_t>> CharacterVocabulary::IdsOf(std::string_view text) const {
  std::vector<int32_t> ids;
  for (size_t at = 0; at < text.size();) {
    const Character character = FirstCharacter(text.substr(at));
    const int32_t id = character.code.has_value() ? Find(*character.code) : -1;
    if (id < 0) {
      return absl::DataLossError(
          absl::StrCat("offset ", at, ": ", NameOf(character),
                       character.code.has_value() ? " is not in the vocabulary" : " is not UTF-8"));
    }
    ids.push_back(id);
    at += character.bytes.size();
  }
  return ids;
}

std::string CharacterVocabulary::TextOf(std::span<const int32_t> ids) const {
  std::string text;
  for (const int32_t id : ids) text += characters_[id];
  return text;
}

}  // namespace tpurun
