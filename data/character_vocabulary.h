// CharacterVocabulary: the characters that a model reads and writes, and their ids.
//
// The file format (vocabulary.txt in a model_dir): UTF-8, one character a line, in the order of the
// ids from 0. The backslash and characters that are not printable are C escapes: "\n", "\t", "\\",
// "\033".
#ifndef TPURUN_DATA_CHARACTER_VOCABULARY_H_
#define TPURUN_DATA_CHARACTER_VOCABULARY_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/base/text.h"
#include "runtime/spec/trained_folder.h"

namespace tpurun {

// The file in a model_dir. train writes it, and commands that use the model read it.
inline constexpr char kVocabularyFile[] = "vocabulary.txt";

// A character is a Unicode code point.
class CharacterVocabulary {
 public:
  // `characters` are in UTF-8, in the order of their ids. DataLoss if an entry is not one character
  // or is there twice. The message gives where(id) of the first such entry and the mistake.
  static absl::StatusOr<CharacterVocabulary> Create(
      std::vector<std::string> characters, const std::function<std::string(int64_t id)>& where);
  // The vocabulary of these characters, each given once, with ids in the order of code points.
  static CharacterVocabulary Of(std::vector<std::string> characters);
  // Reads a regular file. NotFound, prefixed with `where`, the place of the file's name. DataLoss
  // with file and line.
  static absl::StatusOr<CharacterVocabulary> Read(const std::string& path,
                                                  const std::string& where);
  // Reads the vocabulary that train wrote into the folder of a trained model. `given`, a path or
  // empty, may name the same vocabulary and replaces the file if that is absent. NotFound if there
  // is neither. DataLoss if the vocabulary is not the one that the model was trained with. `where`
  // is the place of `given`, or of the setting that needs the vocabulary.
  static absl::StatusOr<CharacterVocabulary> ReadTrained(const TrainedFolder& trained,
                                                         const std::string& given,
                                                         const std::string& where);
  // The content of the file that Read reads.
  std::string FileText() const;

  int64_t size() const { return std::ssize(characters_); }
  // In UTF-8, indexed by id.
  const std::vector<std::string>& characters() const { return characters_; }
  // Returns -1 if the character is absent.
  int32_t Find(char32_t code) const { return code < ids_.size() ? ids_[code] : -1; }

  // Returns the id of each character of a text. DataLoss names the first character that is absent
  // from the vocabulary or is not UTF-8, with its offset in bytes.
  absl::StatusOr<std::vector<int32_t>> IdsOf(std::string_view text) const;
  // The inverse of IdsOf. Each id is in 0 .. size() - 1.
  std::string TextOf(std::span<const int32_t> ids) const;

  bool operator==(const CharacterVocabulary& other) const {
    return characters_ == other.characters_;
  }

 private:
  std::vector<std::string> characters_;
  std::vector<int32_t> ids_;  // indexed by code point, up to the largest
};

// The character as messages show it: "a", "\n" or "\303\251" (U+00E9).
std::string NameOf(const Character& character);

}  // namespace tpurun

#endif  // TPURUN_DATA_CHARACTER_VOCABULARY_H_
