// CharacterVocabulary: the characters that a model reads and writes, and their ids.
//
// As a file (vocabulary.txt in a model_dir): one character a line, in the order of the ids from 0,
// in UTF-8; what is not printable, and the backslash, as C escapes: "\n", "\t", "\\", "\033".
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

// The file of a model_dir: written by train, read by what uses the model.
inline constexpr char kVocabularyFile[] = "vocabulary.txt";

// A character is a Unicode code point.
class CharacterVocabulary {
 public:
  // Characters in UTF-8, in the order of their ids. DataLoss says, of the first entry that is not
  // one character or is there twice, `where` of its id, and what is wrong.
  static absl::StatusOr<CharacterVocabulary> Create(
      std::vector<std::string> characters, const std::function<std::string(int64_t id)>& where);
  // Of these characters, each once, in the order of code points.
  static CharacterVocabulary Of(std::vector<std::string> characters);
  // A regular file. NotFound, behind `where`, the place of its name; DataLoss with file and line.
  static absl::StatusOr<CharacterVocabulary> Read(const std::string& path,
                                                  const std::string& where);
  // That of a trained model: what train has put into its folder. `given`, a path or empty, may name
  // the same, and stands in for it where there is none. NotFound where there is neither; DataLoss
  // for another one than the model was trained with. `where` is the place of `given`, or of what
  // wants it.
  static absl::StatusOr<CharacterVocabulary> ReadTrained(const TrainedFolder& trained,
                                                         const std::string& given,
                                                         const std::string& where);
  // What Read reads.
  std::string FileText() const;

  int64_t size() const { return std::ssize(characters_); }
  // In UTF-8, by id.
  const std::vector<std::string>& characters() const { return characters_; }
  // -1 when it is absent.
  int32_t Find(char32_t code) const { return code < ids_.size() ? ids_[code] : -1; }

  // Of each character of a text; DataLoss names, with its place in bytes, the first that is absent
  // or no UTF-8.
  absl::StatusOr<std::vector<int32_t>> IdsOf(std::string_view text) const;
  // Back; each in 0 .. size() - 1.
  std::string TextOf(std::span<const int32_t> ids) const;

  bool operator==(const CharacterVocabulary& other) const {
    return characters_ == other.characters_;
  }

 private:
  std::vector<std::string> characters_;
  std::vector<int32_t> ids_;  // by code point, up to the largest
};

// As messages name it: "a", "\n" or "\303\251" (U+00E9).
std::string NameOf(const Character& character);

}  // namespace tpurun

#endif  // TPURUN_DATA_CHARACTER_VOCABULARY_H_
