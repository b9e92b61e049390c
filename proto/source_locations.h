// SourceLocations: the origin of each value of the configuration, a place in a file or a flag of
// the command line. cli/config/load_config fills it; models, data and cli put the place before
// their messages.
#ifndef TPURUN_PROTO_SOURCE_LOCATIONS_H_
#define TPURUN_PROTO_SOURCE_LOCATIONS_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"

namespace tpurun {

// Either a place in a file (line and column count from 1; 0 if only the file is known) or the text
// of the flag that set the value.
struct SourceLocation {
  std::string file;
  int line = 0;
  int column = 0;
  std::string flag;

  bool operator==(const SourceLocation&) const = default;
};

// "model.textproto:14:3", "model.textproto" or "--set model.layer.logits.dense.units=20".
std::string ToString(const SourceLocation& location);

// Converts positions of protobuf's tokenizer to positions in a text. The tokenizer counts lines and
// columns from 0, and a tab extends to the next multiple of 8. The constructor reads the text once.
class TokenizerText {
 public:
  explicit TokenizerText(std::string_view text);
  // The offset in the text, in bytes. The size of the text after the last line.
  size_t Byte(int line, int tokenizer_column) const;
  // The column in bytes, from 1; 1 after the last line.
  int ByteColumn(int line, int tokenizer_column) const;

 private:
  // The start of a range in which column and byte offset grow equally: the start of a line or the
  // character after a tab.
  struct Run {
    size_t byte = 0;
    int column = 0;
  };

  size_t size_ = 0;
  std::vector<Run> runs_;
  std::vector<size_t> lines_;  // for each line, the index of its first run
};

// Maps config paths to locations. A path consists of field names from the RunConfig on. Elements of
// repeated fields are numbered from 0: "train.input.transform[2].batch". The ModelSpec is under
// "model", in whichever file it is: "model.layer[3].dense.units".
class SourceLocations {
 public:
  // The place of `path`, or of the nearest recorded path that contains it, as text. `path` itself
  // if there is none.
  std::string Where(std::string_view path) const;

  // The place of exactly `path`, or nullptr if it was never set (a default).
  const SourceLocation* Find(std::string_view path) const;

  // The place of `path`, or of the nearest recorded path that contains it. nullptr if there is
  // none.
  const SourceLocation* FindEnclosing(std::string_view path) const;

  // The flag that set `path`, a part of it, or the message that contains it. Empty if a file set
  // it.
  std::string FlagOf(std::string_view path) const;

  void Record(std::string path, SourceLocation location);

  // Records every field of `message` under `prefix`. `message` was parsed from `text` into `tree`.
  // `file` is the name to print.
  void RecordParsed(std::string_view prefix, const google::protobuf::Message& message,
                    const google::protobuf::TextFormat::ParseInfoTree& tree, std::string_view file,
                    std::string_view text);

  // Removes the locations of `path` and of everything under it.
  void Erase(std::string_view path);

  // Removes the locations of element `index` of the repeated field `path`. The indices of later
  // elements decrease by one.
  void RemoveElement(std::string_view path, int index);

 private:
  void RecordFields(std::string_view prefix, const google::protobuf::Message& message,
                    const google::protobuf::TextFormat::ParseInfoTree& tree, std::string_view file,
                    const TokenizerText& text);

  std::map<std::string, SourceLocation, std::less<>> locations_;
};

// "train" + "input" is "train.input". An empty argument adds nothing.
std::string FieldPath(std::string_view prefix, std::string_view name);
// "layer" + 3 is "layer[3]".
std::string ElementPath(std::string_view path, int index);
// True if `path` is `root` or under it. Every path is under "".
bool IsUnder(std::string_view path, std::string_view root);

}  // namespace tpurun

#endif  // TPURUN_PROTO_SOURCE_LOCATIONS_H_
