// Text: the characters of one or more files, concatenated in memory. TextWindows: windows of a Text
// as character ids.
#ifndef TPURUN_DATA_TEXT_H_
#define TPURUN_DATA_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/character_vocabulary.h"
#include "runtime/io/file.h"

namespace tpurun {

// Characters are Unicode code points in UTF-8, counted from 0.
class Text {
 public:
  // Reads `source` to its end and appends it. Messages call the file `name`. DataLoss names the
  // place of the first byte that is not UTF-8. ResourceExhausted if the text does not fit in
  // memory. The text must not be used after an error.
  absl::Status Append(ByteSource& source, const std::string& name);

  int64_t size() const { return size_; }
  // The file of a character, as the index of its Append call, and the bytes before the character in
  // that file.
  struct Place {
    int file = 0;
    int64_t offset = 0;
  };
  Place PlaceOf(int64_t character) const;
  // "offset 17 of input.txt".
  std::string Where(const Place& place) const;
  // The bytes from a character to the end of the text.
  std::string_view From(int64_t character) const;
  // Each character that occurs in the text, once, in the order of first occurrence.
  const std::vector<std::string>& characters() const { return characters_; }

 private:
  struct File {
    std::string name;
    int64_t begin = 0;  // offset in bytes_
  };

  // Counts the characters that are complete in bytes_. At the end of a file (`at_end`), counts all.
  absl::Status Count(bool at_end);

  std::string bytes_;
  std::vector<File> files_;
  int64_t size_ = 0;
  int64_t counted_ = 0;         // the bytes of the characters counted so far
  std::vector<int64_t> marks_;  // offset in bytes_ of every kMarkPeriod-th character
  std::vector<bool> seen_;      // by code point
  std::vector<std::string> characters_;
};

// Selects the windows of a text. The part from `begin` to `end` (shares of the text's characters, 0
// to 1) is divided into `streams` consecutive streams of equal length. The remainder at the end of
// the part is left out. Successive windows of a stream begin `shift` characters apart.
struct WindowsSpec {
  int64_t length = 0;  // characters
  int64_t shift = 0;
  int64_t streams = 1;
  bool with_next = true;
  double begin = 0;
  double end = 1;
  // the id of characters that the vocabulary lacks; -1: such a character is an error
  int64_t unknown_id = -1;
};

// Window i is window i / streams of stream i % streams.
class TextWindows {
 public:
  // DataLoss names the place of the part's first character without an id.
  static absl::StatusOr<TextWindows> Create(Text text, CharacterVocabulary vocabulary,
                                            const WindowsSpec& spec);

  int64_t size() const { return per_stream_ * spec_.streams; }
  // DataLoss if there are no windows.
  absl::Status CheckNotEmpty() const;
  // Writes the `length` ids of a window to `ids`. With with_next, also writes the ids of the window
  // that begins one character later to `next`.
  void Get(int64_t window, int32_t* ids, int32_t* next) const;
  // True if the window is the first of its stream.
  bool IsFirst(int64_t window) const { return window < spec_.streams; }
  // The place of the window's first character.
  Text::Place PlaceOf(int64_t window) const { return text_.PlaceOf(FirstOf(window)); }
  std::string Where(const Text::Place& place) const { return text_.Where(place); }

 private:
  TextWindows(Text text, CharacterVocabulary vocabulary, const WindowsSpec& spec);
  absl::Status CheckKnown() const;
  // Characters of the text that one window reads.
  int64_t reach() const { return spec_.length + (spec_.with_next ? 1 : 0); }
  int64_t FirstOf(int64_t window) const;

  Text text_;
  CharacterVocabulary vocabulary_;
  WindowsSpec spec_;
  int64_t begin_ = 0;       // first character of the part
  int64_t end_ = 0;         // end of the part, in characters
  int64_t of_stream_ = 0;   // characters of one stream
  int64_t per_stream_ = 0;  // windows of one stream
};

}  // namespace tpurun

#endif  // TPURUN_DATA_TEXT_H_
