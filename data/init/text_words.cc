#include "data/init/text_words.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "data/transforms/words.h"

namespace tpurun {
namespace {

// Of a word in the map.
size_t EntryBytes(std::string_view word) {
  return sizeof(std::pair<std::string, int64_t>) + 2 * sizeof(void*) + word.size();
}

}  // namespace

void TextWords::Add(std::string_view text, bool held_out) {
  if (held_out) return;
  ++texts_;
  text = StandardizeText(text.substr(0, kMostSplitBytes), /*lowers=*/true,
                         /*strips_punctuation=*/true, &scratch_);
  size_t length = 0;
  ForEachWord(text, IsWordSpace, [&](size_t begin, size_t size) {
    ++length;
    const std::string_view word = text.substr(begin, size);
    if (word.size() > kMostWordBytes) return;
    auto found = counts_.find(word);
    if (found == counts_.end()) {
      found = counts_.emplace(std::string(word), 0).first;
      bytes_ += EntryBytes(word);
    }
    ++found->second;
  });
  length = std::min(length, kMostLength);
  if (lengths_.size() <= length) lengths_.resize(length + 1);
  ++lengths_[length];
  if (bytes_ > most_bytes_) Prune();
}

void TextWords::Prune() {
  while (bytes_ > most_bytes_ / 2) {
    ++pruned_;
    std::erase_if(counts_, [this](const auto& entry) {
      if (entry.second > pruned_) return false;
      bytes_ -= EntryBytes(entry.first);
      return true;
    });
  }
}

int64_t TextWords::Length(double share) const {
  const auto wanted = static_cast<int64_t>(std::ceil(share * static_cast<double>(texts_)));
  int64_t seen = 0;
  for (size_t length = 0; length < lengths_.size(); ++length) {
    seen += lengths_[length];
    if (seen >= wanted) return static_cast<int64_t>(length);
  }
  return 0;
}

std::vector<std::string> TextWords::MostFrequent(int64_t most, int64_t least_count) const {
  std::vector<std::pair<int64_t, std::string>> sorted;
  for (const auto& [word, count] : counts_) {
    if (count >= least_count) sorted.emplace_back(-count, word);
  }
  std::sort(sorted.begin(), sorted.end());
  if (std::ssize(sorted) > most) sorted.resize(most);
  std::vector<std::string> words;
  for (auto& [count, word] : sorted) words.push_back(std::move(word));
  return words;
}

}  // namespace tpurun
