#include "cli/help_rows.h"

#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/help_topics.h"
#include "cli/manual/manual.h"

namespace tpurun {
namespace {

bool HasIdentifier(absl::string_view code, const std::string& name) {
  const auto is_part = [](char c) { return absl::ascii_isalnum(c) || c == '_'; };
  for (size_t begin = 0; begin < code.size();) {
    size_t end = begin;
    while (end < code.size() && is_part(code[end])) ++end;
    if (absl::EqualsIgnoreCase(code.substr(begin, end - begin), name)) return true;
    begin = end + 1;
  }
  return false;
}

// Whether the name is between backticks.
bool HasInCode(const std::string& markdown, const std::string& name) {
  const std::vector<std::string> parts = absl::StrSplit(markdown, '`');
  for (size_t i = 1; i < parts.size(); i += 2) {
    if (HasIdentifier(parts[i], name)) return true;
  }
  return false;
}

// What names something on a page: rows of tables, each with its heading, and paragraphs.
class NamingBlocks {
 public:
  NamingBlocks(const std::string& markdown, const std::string& name) : name_(name) {
    for (const absl::string_view line : absl::StrSplit(markdown, '\n')) Add(line);
    EndParagraph();
  }
  std::vector<std::string> rows, paragraphs;

 private:
  void Add(absl::string_view line) {
    const bool is_fence = absl::StartsWith(line, "```");
    if (is_fence) in_code_ = !in_code_;
    const bool is_row = absl::StartsWith(line, "|");
    const bool is_text = !in_code_ && !is_fence && !is_row && !line.empty() && line[0] != '#';
    if (!is_text || absl::StartsWith(line, "- ")) EndParagraph();
    if (is_text) absl::StrAppend(&paragraph_, line, "\n");
    if (!is_row || in_code_) return heading_.clear();
    if (heading_.empty()) {
      heading_ = std::string(line);
    } else if (HasInCode(std::string(line), name_)) {
      rows.push_back(absl::StrCat(heading_, "\n", line, "\n"));
    }
  }

  void EndParagraph() {
    if (HasInCode(paragraph_, name_)) paragraphs.push_back(paragraph_);
    paragraph_.clear();
  }

  const std::string& name_;
  bool in_code_ = false;
  std::string heading_, paragraph_;
};

}  // namespace

std::string ManualRows(const std::string& name) {
  if (name.empty()) return "";
  constexpr size_t kMost = 5;
  std::string rows, paragraphs;
  size_t row_count = 0, paragraph_count = 0;
  const auto add = [](const ManualPage& page, const std::vector<std::string>& blocks, size_t* count,
                      std::string* text) {
    for (size_t i = 0; i < blocks.size() && *count < kMost; ++i, ++*count) {
      if (i == 0) absl::StrAppend(text, "in tpurun help ", page.name, ":\n");
      absl::StrAppend(text, ManualText({.name = page.name, .text = blocks[i]}));
    }
  };
  for (const ManualPage& page : ManualPages()) {
    const NamingBlocks blocks(page.text, name);
    add(page, blocks.rows, &row_count, &rows);
    add(page, blocks.paragraphs, &paragraph_count, &paragraphs);
  }
  return rows.empty() ? paragraphs : rows;
}

}  // namespace tpurun
