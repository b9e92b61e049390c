#include "cli/manual/render.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

std::vector<std::string> Cells(absl::string_view row) {
  std::vector<std::string> cells;
  for (const absl::string_view cell : absl::StrSplit(row.substr(1, row.rfind('|') - 1), '|')) {
    cells.emplace_back(absl::StripAsciiWhitespace(cell));
  }
  return cells;
}

// Takes lines one by one and collects those of a paragraph.
class Renderer {
 public:
  explicit Renderer(size_t columns) : columns_(columns) {}

  void Add(absl::string_view line) {
    if (absl::StartsWith(line, "```")) {
      EndParagraph();
      in_code_ = !in_code_;
    } else if (in_code_) {
      absl::StrAppend(&text_, line.empty() ? "" : "  ", line, "\n");
    } else if (line.empty()) {
      EndParagraph();
      header_.clear();
      absl::StrAppend(&text_, "\n");
    } else if (line.front() == '#') {
      const std::string heading(
          absl::StripLeadingAsciiWhitespace(line.substr(line.find_first_not_of('#'))));
      absl::StrAppend(
          &text_, absl::StartsWith(line, "##") ? absl::AsciiStrToUpper(heading) : heading, "\n");
    } else if (line.front() == '|') {
      AddRow(line);
    } else {
      if (absl::StartsWith(line, "- ")) EndParagraph();
      absl::StrAppend(&paragraph_, paragraph_.empty() ? "" : " ", absl::StripAsciiWhitespace(line));
    }
  }

  std::string Take() && {
    EndParagraph();
    return std::move(text_);
  }

 private:
  void EndParagraph() {
    if (paragraph_.empty()) return;
    const bool is_item = absl::StartsWith(paragraph_, "- ");
    const std::string plain = absl::StrReplaceAll(paragraph_, {{"**", ""}});
    absl::StrAppend(&text_, is_item ? Wrapped(plain.substr(2), columns_, 2, "- ")
                                    : Wrapped(plain, columns_, 0));
    paragraph_.clear();
  }

  void AddRow(absl::string_view line) {
    const std::vector<std::string> cells = Cells(line);
    if (header_.empty()) {
      header_ = cells;
      return;
    }
    if (absl::StartsWith(cells[0], "---")) return;
    if (!cells[0].empty()) absl::StrAppend(&text_, "  ", cells[0], "\n");
    for (size_t i = 1; i < cells.size() && i < header_.size(); ++i) {
      if (cells[i].empty()) continue;
      const std::string label =
          header_.size() > 2 && !header_[i].empty() ? absl::StrCat(header_[i], ": ") : "";
      absl::StrAppend(&text_, Wrapped(label + cells[i], columns_, 6));
    }
  }

  const size_t columns_;
  bool in_code_ = false;
  std::string text_;
  std::string paragraph_;
  std::vector<std::string> header_;  // of the table that the lines are in; empty: in none
};

}  // namespace

std::string Wrapped(std::string_view text, size_t columns, size_t indent, std::string_view first) {
  std::string wrapped;
  std::string line(first);
  line.resize(indent, ' ');
  bool is_empty = true;
  for (const absl::string_view word : absl::StrSplit(ToAbsl(text), ' ')) {
    if (!is_empty && line.size() + 1 + word.size() > columns) {
      absl::StrAppend(&wrapped, line, "\n");
      line.assign(indent, ' ');
      is_empty = true;
    }
    absl::StrAppend(&line, is_empty ? "" : " ", word);
    is_empty = false;
  }
  if (!is_empty) absl::StrAppend(&wrapped, line, "\n");
  return wrapped;
}

std::string RenderMarkdown(std::string_view markdown, size_t columns) {
  Renderer renderer(columns);
  for (const absl::string_view line :
       absl::StrSplit(absl::StripTrailingAsciiWhitespace(ToAbsl(markdown)), '\n')) {
    renderer.Add(line);
  }
  return std::move(renderer).Take();
}

}  // namespace tpurun
