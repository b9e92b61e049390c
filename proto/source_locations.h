// Where each value of the configuration came from: a place in a file, or a flag of the command
// line. Filled by cli/config/load_config; models, data and cli put it before their messages.
#ifndef TPURUN_PROTO_SOURCE_LOCATIONS_H_
#define TPURUN_PROTO_SOURCE_LOCATIONS_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"

namespace tpurun {

// Either a place in a file (line and column count from 1; 0 when only the file is known) or the
// flag that set the value, as it was written.
struct SourceLocation {
  std::string file;
  int line = 0;
  int column = 0;
  std::string flag;

  bool operator==(const SourceLocation&) const = default;
};

// "model.textproto:14:3", "model.textproto" or "--set model.layer.logits.dense.units=20".
std::string ToString(const SourceLocation& location);

// A text as protobuf's tokenizer counts it: lines and columns from 0, a tab reaching to the next
// multiple of 8. Made in one walk over the text.
class TokenizerText {
 public:
  explicit TokenizerText(std::string_view text);
  // The byte of the text; its size after the last line.
  size_t Byte(int line, int tokenizer_column) const;
  // The column from 1, in bytes; 1 after the last line.
  int ByteColumn(int line, int tokenizer_column) const;

 private:
  // Where columns and bytes go on side by side: the start of a line, or what follows a tab.
  struct Run {
    size_t byte = 0;
    int column = 0;
  };

  size_t size_ = 0;
  std::vector<Run> runs_;
  std::vector<size_t> lines_;  // of each, the index of its first run
};

// Maps config paths to locations. A path names fields from the RunConfig on; elements of repeated
// fields are numbered from 0: "train.input.transform[2].batch". The ModelSpec is under "model",
// whichever file it is in: "model.layer[3].dense.units".
class SourceLocations {
 public:
  // The place of `path`, or of the nearest recorded path around it, as text. Nothing recorded:
  // `path`.
  std::string Where(std::string_view path) const;

  // The place of exactly `path`; nullptr when it was never set (a default).
  const SourceLocation* Find(std::string_view path) const;

  // The place of `path` or of the nearest recorded path around it; nullptr when nothing is
  // recorded.
  const SourceLocation* FindEnclosing(std::string_view path) const;

  // The flag that gives `path`, a part of it, or the message that holds it; empty where a file
  // does.
  std::string FlagOf(std::string_view path) const;

  void Record(std::string path, SourceLocation location);

  // Records every field of `message`, which was parsed from `text` into `tree`, under `prefix`.
  // `file` is the name to print.
  void RecordParsed(std::string_view prefix, const google::protobuf::Message& message,
                    const google::protobuf::TextFormat::ParseInfoTree& tree, std::string_view file,
                    std::string_view text);

  // Forgets `path` and everything under it.
  void Erase(std::string_view path);

  // Forgets element `index` of the repeated field `path`; later elements move down by one.
  void RemoveElement(std::string_view path, int index);

 private:
  void RecordFields(std::string_view prefix, const google::protobuf::Message& message,
                    const google::protobuf::TextFormat::ParseInfoTree& tree, std::string_view file,
                    const TokenizerText& text);

  std::map<std::string, SourceLocation, std::less<>> locations_;
};

// "train" + "input" is "train.input"; an empty one adds nothing.
std::string FieldPath(std::string_view prefix, std::string_view name);
// "layer" + 3 is "layer[3]".
std::string ElementPath(std::string_view path, int index);
// Whether `path` is `root` or lies under it. Everything lies under "".
bool IsUnder(std::string_view path, std::string_view root);

}  // namespace tpurun

#endif  // TPURUN_PROTO_SOURCE_LOCATIONS_H_
