// Shared by the writers of the files of `tpurun init`.
#ifndef TPURUN_CLI_INIT_LINES_H_
#define TPURUN_CLI_INIT_LINES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/init_plan.h"

namespace tpurun {

// One word of a command line.
std::string ShellWord(const std::string& text);

inline constexpr size_t kInitColumns = 100;  // of a line

// The lines of a text file, of at most kInitColumns characters where words allow it.
class Lines {
 public:
  // Adds `code`, with the comment after it if both fit, else before it.
  void Add(size_t indent, const std::string& code, const std::string& comment = "");
  void Blank() { text_ += "\n"; }
  // Adds words as lines of a comment.
  void Comment(size_t indent, const std::string& comment);
  // Adds `head` "[" items "]" `tail`, in as many lines as it takes.
  void AddList(size_t indent, const std::string& head, const std::vector<std::string>& items,
               const std::string& tail = "");

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::vector<std::string> QuoteAll(const std::vector<std::string>& texts);
std::vector<std::string> NumberTexts(const std::vector<float>& numbers);
// " shape: [2, 3]", empty for a scalar.
std::string ShapeText(const std::vector<int64_t>& shape);

// True for a feature of the model.
bool IsUsed(const PlannedFeature& feature);

}  // namespace tpurun

#endif  // TPURUN_CLI_INIT_LINES_H_
