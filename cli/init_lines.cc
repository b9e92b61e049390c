#include "cli/init_lines.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "runtime/base/text.h"

namespace tpurun {

void Lines::Add(size_t indent, const std::string& code, const std::string& comment) {
  const std::string line = absl::StrCat(std::string(indent, ' '), code);
  if (comment.empty()) {
    absl::StrAppend(&text_, line, "\n");
  } else if (line.size() + 4 + comment.size() <= kInitColumns) {
    absl::StrAppend(&text_, line, "  # ", Escape(comment), "\n");
  } else {
    Comment(indent, comment);
    absl::StrAppend(&text_, line, "\n");
  }
}

void Lines::Comment(size_t indent, const std::string& comment) {
  const std::string prefix = absl::StrCat(std::string(indent, ' '), "#");
  std::string line = prefix;
  for (const absl::string_view word : absl::StrSplit(Escape(comment), ' ')) {
    if (line != prefix && line.size() + 1 + word.size() > kInitColumns) {
      absl::StrAppend(&text_, line, "\n");
      line = prefix;
    }
    absl::StrAppend(&line, " ", word);
  }
  absl::StrAppend(&text_, line, "\n");
}

void Lines::AddList(size_t indent, const std::string& head, const std::vector<std::string>& items,
                    const std::string& tail) {
  const std::string blanks(indent, ' ');
  const std::string list = absl::StrCat(blanks, head, "[", absl::StrJoin(items, ", "), "]", tail);
  if (list.size() <= kInitColumns) {
    absl::StrAppend(&text_, list, "\n");
    return;
  }
  absl::StrAppend(&text_, blanks, head, "[\n");
  std::string line;
  for (size_t i = 0; i < items.size(); ++i) {
    const std::string item = absl::StrCat(items[i], i + 1 < items.size() ? "," : "");
    if (!line.empty() && indent + 2 + line.size() + 1 + item.size() > kInitColumns) {
      absl::StrAppend(&text_, blanks, "  ", line, "\n");
      line.clear();
    }
    absl::StrAppend(&line, line.empty() ? "" : " ", item);
  }
  absl::StrAppend(&text_, blanks, "  ", line, "\n", blanks, "]", tail, "\n");
}

std::string ShellWord(const std::string& text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalnum(c) ||
           std::string_view("_./-+=:,@%").find(c) != std::string_view::npos;
  });
  return plain ? text : absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

std::vector<std::string> QuoteAll(const std::vector<std::string>& texts) {
  std::vector<std::string> quoted;
  for (const std::string& text : texts) quoted.push_back(Quote(text));
  return quoted;
}

std::vector<std::string> NumberTexts(const std::vector<float>& numbers) {
  std::vector<std::string> texts;
  for (const float number : numbers) texts.push_back(ShortestText(number));
  return texts;
}

std::string ShapeText(const std::vector<int64_t>& shape) {
  if (shape.empty()) return "";
  if (shape.size() == 1) return absl::StrCat(" shape: ", shape[0]);
  return absl::StrCat(" shape: [", absl::StrJoin(shape, ", "), "]");
}

bool IsUsed(const PlannedFeature& feature) {
  using Kind = PlannedFeature::Kind;
  return feature.kind != Kind::kLeftOut && feature.kind != Kind::kTime &&
         feature.kind != Kind::kLabel;
}

}  // namespace tpurun
