// Text: files of characters in memory, one behind the other. TextWindows: windows of them as ids.
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
  // Reads a file, which messages call `name`, to its end, behind what is there. DataLoss names the
  // place of what is no UTF-8; ResourceExhausted when it does not fit in memory. After an error the
  // text is of no use.
  absl::Status Append(ByteSource& source, const std::string& name);

  int64_t size() const { return size_; }
  // The file of a character, in the order of Append, and the bytes before it in that file.
  struct Place {
    int file = 0;
    int64_t offset = 0;
  };
  Place PlaceOf(int64_t character) const;
  // "offset 17 of input.txt".
  std::string Where(const Place& place) const;
  // The bytes from a character on, to the end of all.
  std::string_view From(int64_t character) const;
  // Each character that occurs, once, in the order of their first places.
  const std::vector<std::string>& characters() const { return characters_; }

 private:
  struct File {
    std::string name;
    int64_t begin = 0;  // in bytes_
  };

  // Counts the characters of bytes_ that are whole, or, at the end of a file, all.
  absl::Status Count(bool at_end);

  std::string bytes_;
  std::vector<File> files_;
  int64_t size_ = 0;
  int64_t counted_ = 0;         // bytes of these
  std::vector<int64_t> marks_;  // where in bytes_ each kMarkPeriod-th character begins
  std::vector<bool> seen_;      // by code point
  std::vector<std::string> characters_;
};

// Which windows are taken. The part of the text from `begin` to `end`, shares of its characters, is
// dealt to so many streams of equal length, one behind the other; what does not divide is left out
// at its end. Windows of a stream begin `shift` characters apart.
struct WindowsSpec {
  int64_t length = 0;  // characters
  int64_t shift = 0;
  int64_t streams = 1;
  bool with_next = true;
  double begin = 0;
  double end = 1;
  int64_t unknown_id = -1;  // of characters that the vocabulary lacks; -1: they are an error
};

// Window i is the (i / streams)-th of stream i % streams.
class TextWindows {
 public:
  // DataLoss names the place of the first character of the part that has no id.
  static absl::StatusOr<TextWindows> Create(Text text, CharacterVocabulary vocabulary,
                                            const WindowsSpec& spec);

  int64_t size() const { return per_stream_ * spec_.streams; }
  // DataLoss when there is none.
  absl::Status CheckNotEmpty() const;
  // The ids of a window, `length`, and, with_next, of the one that begins a character later.
  void Get(int64_t window, int32_t* ids, int32_t* next) const;
  // Whether its stream begins with it.
  bool IsFirst(int64_t window) const { return window < spec_.streams; }
  // Of its first character.
  Text::Place PlaceOf(int64_t window) const { return text_.PlaceOf(FirstOf(window)); }
  std::string Where(const Text::Place& place) const { return text_.Where(place); }

 private:
  TextWindows(Text text, CharacterVocabulary vocabulary, const WindowsSpec& spec);
  absl::Status CheckKnown() const;
  // Characters of the text that a window needs.
  int64_t reach() const { return spec_.length + (spec_.with_next ? 1 : 0); }
  int64_t FirstOf(int64_t window) const;

  Text text_;
  CharacterVocabulary vocabulary_;
  WindowsSpec spec_;
  int64_t begin_ = 0;       // of the part, in characters
  int64_t end_ = 0;         // of the part
  int64_t of_stream_ = 0;   // characters
  int64_t per_stream_ = 0;  // windows
};

}  // namespace tpurun

#endif  // TPURUN_DATA_TEXT_H_
