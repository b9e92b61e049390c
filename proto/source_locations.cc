#include "proto/source_locations.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::TextFormat;

// The path around `path`: without its last ".name" or "[index]".
std::string_view Enclosing(std::string_view path) {
  const size_t end = path.find_last_of(".[");
  return end == std::string_view::npos ? std::string_view() : path.substr(0, end);
}

}  // namespace

bool IsUnder(std::string_view path, std::string_view root) {
  if (root.empty()) return true;
  if (path.substr(0, root.size()) != root) return false;
  return path.size() == root.size() || path[root.size()] == '.' || path[root.size()] == '[';
}

std::string ToString(const SourceLocation& location) {
  if (!location.flag.empty()) return location.flag;
  if (location.line == 0) return location.file;
  return absl::StrCat(location.file, ":", location.line, ":", location.column);
}

TokenizerText::TokenizerText(std::string_view text)
    : size_(text.size()), runs_({{0, 0}}), lines_({0}) {
  constexpr int kTabWidth = 8;
  for (size_t byte = 0; byte < text.size(); ++byte) {
    if (text[byte] == '\n') {
      lines_.push_back(runs_.size());
      runs_.push_back({byte + 1, 0});
    } else if (text[byte] == '\t') {
      const Run& last = runs_.back();
      const int column = last.column + static_cast<int>(byte - last.byte);
      runs_.push_back({byte + 1, column + kTabWidth - column % kTabWidth});
    }
  }
}

size_t TokenizerText::Byte(int line, int tokenizer_column) const {
  if (line >= static_cast<int>(lines_.size())) return size_;
  const auto first = runs_.begin() + static_cast<ptrdiff_t>(lines_[line]);
  const auto end = line + 1 < static_cast<int>(lines_.size())
                       ? runs_.begin() + static_cast<ptrdiff_t>(lines_[line + 1])
                       : runs_.end();
  // The run that the column is in; a column within a tab's width is the one after the tab.
  const auto next = std::upper_bound(
      first, end, tokenizer_column, [](int column, const Run& run) { return column < run.column; });
  const auto run = next - 1;
  size_t byte = run->byte + static_cast<size_t>(tokenizer_column - run->column);
  if (next != end) byte = std::min(byte, next->byte);
  return std::min(byte, size_);
}

int TokenizerText::ByteColumn(int line, int tokenizer_column) const {
  if (line >= static_cast<int>(lines_.size())) return 1;
  return static_cast<int>(Byte(line, tokenizer_column) - runs_[lines_[line]].byte) + 1;
}

std::string SourceLocations::Where(std::string_view path) const {
  const SourceLocation* location = FindEnclosing(path);
  return location ? ToString(*location) : std::string(path);
}

const SourceLocation* SourceLocations::FindEnclosing(std::string_view path) const {
  for (std::string_view enclosing = path;; enclosing = Enclosing(enclosing)) {
    if (const SourceLocation* location = Find(enclosing)) return location;
    if (enclosing.empty()) return nullptr;
  }
}

const SourceLocation* SourceLocations::Find(std::string_view path) const {
  const auto found = locations_.find(path);
  return found == locations_.end() ? nullptr : &found->second;
}

std::string SourceLocations::FlagOf(std::string_view path) const {
  for (auto entry = locations_.lower_bound(path);
       entry != locations_.end() && entry->first.compare(0, path.size(), path) == 0; ++entry) {
    if (IsUnder(entry->first, path) && !entry->second.flag.empty()) return entry->second.flag;
  }
  const SourceLocation* const around = FindEnclosing(path);
  return around == nullptr ? "" : around->flag;
}

void SourceLocations::Record(std::string path, SourceLocation location) {
  locations_[std::move(path)] = std::move(location);
}

void SourceLocations::RecordParsed(std::string_view prefix, const Message& message,
                                   const TextFormat::ParseInfoTree& tree, std::string_view file,
                                   std::string_view text) {
  RecordFields(prefix, message, tree, file, TokenizerText(text));
}

void SourceLocations::RecordFields(std::string_view prefix, const Message& message,
                                   const TextFormat::ParseInfoTree& tree, std::string_view file,
                                   const TokenizerText& text) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const std::string path = FieldPath(prefix, field->name());
    const int size = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    // A list [a, b] has one location for all its elements: they share the last one known.
    SourceLocation location{.file = std::string(file)};
    for (int index = 0; index < size; ++index) {
      const int tree_index = field->is_repeated() ? index : -1;
      const TextFormat::ParseLocation parsed = tree.GetLocation(field, tree_index);
      if (parsed.line >= 0) {
        location.line = parsed.line + 1;
        location.column = text.ByteColumn(parsed.line, parsed.column);
      }
      if (index == 0) Record(path, location);
      const std::string value_path = field->is_repeated() ? ElementPath(path, index) : path;
      if (field->is_repeated()) Record(value_path, location);
      if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
      const TextFormat::ParseInfoTree* nested = tree.GetTreeForNested(field, tree_index);
      if (nested == nullptr) continue;
      const Message& value = field->is_repeated()
                                 ? reflection.GetRepeatedMessage(message, field, index)
                                 : reflection.GetMessage(message, field);
      RecordFields(value_path, value, *nested, file, text);
    }
  }
}

void SourceLocations::Erase(std::string_view path) {
  auto entry = locations_.lower_bound(path);
  while (entry != locations_.end() && entry->first.compare(0, path.size(), path) == 0) {
    entry = IsUnder(entry->first, path) ? locations_.erase(entry) : std::next(entry);
  }
}

void SourceLocations::RemoveElement(std::string_view path, int index) {
  Erase(ElementPath(path, index));
  for (int moved = index + 1;; ++moved) {
    const std::string from = ElementPath(path, moved);
    const std::string to = ElementPath(path, moved - 1);
    std::vector<std::pair<std::string, SourceLocation>> entries;
    for (auto entry = locations_.lower_bound(from);
         entry != locations_.end() && IsUnder(entry->first, from); ++entry) {
      entries.emplace_back(absl::StrCat(to, entry->first.substr(from.size())), entry->second);
    }
    if (entries.empty()) return;
    Erase(from);
    for (auto& [moved_path, location] : entries) Record(std::move(moved_path), std::move(location));
  }
}

std::string FieldPath(std::string_view prefix, std::string_view name) {
  if (prefix.empty()) return std::string(name);
  if (name.empty()) return std::string(prefix);
  return absl::StrCat(ToAbsl(prefix), ".", ToAbsl(name));
}

std::string ElementPath(std::string_view path, int index) {
  return absl::StrCat(ToAbsl(path), "[", index, "]");
}

}  // namespace tpurun
