// TextWords: what `tpurun init` learns about the words of a column of texts.
#ifndef TPURUN_DATA_INIT_TEXT_WORDS_H_
#define TPURUN_DATA_INIT_TEXT_WORDS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/init/statistics.h"

namespace tpurun {

// The words of the texts that are not held out, as split { standardize: LOWER_AND_STRIP_PUNCTUATION
// } makes them. Words that take more than kMostBytes are forgotten, the rarest first: the counts of
// those that are left are too small by at most pruned(), as by the lossy counting of G. S. Manku
// and R. Motwani 2002.
class TextWords {
 public:
  static constexpr size_t kMostBytes = 128 << 20;
  // Longer words are none of a vocabulary.
  static constexpr size_t kMostWordBytes = 256;
  // Longer texts are counted as ones of this length.
  static constexpr size_t kMostLength = 4096;

  explicit TextWords(size_t most_bytes = kMostBytes) : most_bytes_(most_bytes) {}

  void Add(std::string_view text, bool held_out);

  int64_t texts() const { return texts_; }
  int64_t different() const { return std::ssize(counts_); }
  int64_t pruned() const { return pruned_; }
  // The number of words that a share (0 to 1) of the texts do not exceed; 0 without texts.
  int64_t Length(double share) const;
  // The most frequent words, at most `most`, each at least `least_count` times; those of one count
  // in the order of their bytes.
  std::vector<std::string> MostFrequent(int64_t most, int64_t least_count) const;

 private:
  void Prune();

  size_t most_bytes_;
  int64_t texts_ = 0;
  int64_t pruned_ = 0;
  size_t bytes_ = 0;
  std::unordered_map<std::string, int64_t, ValueCounts::Hash, std::equal_to<>> counts_;
  std::vector<int64_t> lengths_;  // texts by their number of words
  std::string scratch_;
};

}  // namespace tpurun

#endif  // TPURUN_DATA_INIT_TEXT_WORDS_H_
