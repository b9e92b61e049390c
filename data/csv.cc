#include "data/csv.h"

#include <algorithm>
#include <cctype>
#include <limits>

#include "absl/strings/str_cat.h"
#include "runtime/base/text.h"

namespace tpurun {

std::optional<std::string> CountedName(std::string_view first, int64_t count) {
  const size_t begin = first.find_last_not_of("0123456789") + 1;  // npos + 1 is 0
  const std::string_view digits = first.substr(begin);
  const std::optional<int64_t> number = ParseInt64(digits);
  if (!number.has_value() || *number > std::numeric_limits<int64_t>::max() - count) {
    return std::nullopt;
  }
  const std::string counted = absl::StrCat(*number + count);
  const size_t zeros = digits.size() - std::min(digits.size(), counted.size());
  return absl::StrCat(ToAbsl(first.substr(0, begin)), std::string(zeros, '0'), counted);
}

std::string SplitFields(std::string_view line, const CsvFormat& format,
                        std::vector<std::string_view>* fields, std::string* scratch) {
  fields->clear();
  scratch->clear();
  scratch->reserve(line.size());  // views into it stay good
  size_t next = 0;
  while (next < line.size()) {
    if (format.quotes && line[next] == '"') {
      const size_t begin = ++next;
      bool escaped = false;
      while (true) {
        next = line.find('"', next);
        if (next == std::string_view::npos) {
          fields->push_back({});
          if (format.line_breaks) return "has a quote that is not closed";
          return "has a quote that is not closed: a row is one line, a line break within quotes is "
                 "not read";
        }
        if (next + 1 == line.size() || line[next + 1] != '"') break;
        escaped = true;
        next += 2;
      }
      std::string_view field = line.substr(begin, next - begin);
      if (escaped) {
        const size_t start = scratch->size();
        for (size_t i = 0; i < field.size(); ++i) {
          scratch->push_back(field[i]);
          if (field[i] == '"') ++i;
        }
        field = std::string_view(*scratch).substr(start);
      }
      fields->push_back(field);
      ++next;
      if (next < line.size() && line[next] != format.delim) {
        return "has text after the closing quote";
      }
    } else {
      const size_t end = std::min(line.find(format.delim, next), line.size());
      const std::string_view field = line.substr(next, end - next);
      fields->push_back(field);
      if (format.quotes && field.find('"') != std::string_view::npos) {
        return "has a quote inside: a field with quotes must be quoted itself";
      }
      next = end;
    }
    if (next == line.size()) break;
    ++next;  // the delimiter
    if (next == line.size()) fields->push_back({});
  }
  return "";
}

char GuessDelimiter(std::string_view line) {
  for (const char delim : {',', ';', '\t', '|'}) {
    if (line.find(delim) != std::string_view::npos) return delim;
  }
  return ',';
}

bool IsBlankLine(std::string_view line) {
  return line.find_first_not_of(' ') == std::string_view::npos;
}

std::string_view StripBlanks(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<uint8_t>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<uint8_t>(text.back()))) text.remove_suffix(1);
  return text;
}

std::string ShownField(std::string_view field) {
  constexpr size_t kMost = 40;
  if (field.size() <= kMost) return Quote(field);
  return absl::StrCat(Quote(field.substr(0, kMost)), "...");
}

}  // namespace tpurun
