// Pairs of sentences of an invented language, masked as BERT's pre-training data is.
#ifndef TPURUN_DATA_CONVERT_SENTENCES_H_
#define TPURUN_DATA_CONVERT_SENTENCES_H_

#include <array>
#include <cstdint>
#include <vector>

namespace tpurun {

// Words are the ids from kFirstWord to the vocabulary's end, in a circle.
enum SpecialToken : int64_t { kPad = 0, kCls = 1, kSep = 2, kMask = 3, kFirstWord = 4 };

// From a word to the next of its sentence, another for each sentence. No two have a third halfway
// between them, so the two neighbours of a word tell it, each by what may stand beside it.
inline constexpr std::array<int64_t, 4> kSteps = {1, 2, 4, 8};

struct SentencePairSpec {
  int64_t sequence_length = 128;
  int64_t vocabulary_size = 64;
  int64_t max_predictions = 20;
};

// As the features of BERT's records are called. [CLS] A [SEP] B [SEP], of which 15 % of all tokens,
// none beside another, are masked: 80 % of them are [MASK], 10 % a word that is drawn, 10 % stay.
struct SentencePair {
  // [sequence_length]: 0 behind the last [SEP].
  std::vector<int64_t> input_ids;
  std::vector<int64_t> input_mask;   // 1 of tokens
  std::vector<int64_t> segment_ids;  // 1 of B and its [SEP]
  // [max_predictions]: places of input_ids, ascending, and what stood there; 0 where there are
  // fewer.
  std::vector<int64_t> masked_lm_positions;
  std::vector<int64_t> masked_lm_ids;
  std::vector<float> masked_lm_weights;  // 1 of those that there are
  // 0: B goes on where A ends. 1: it begins elsewhere, with another step.
  int64_t next_sentence_label = 0;
};

// Pair `i` of a seed, whatever others are drawn. The sequence has room for 8 words and more, the
// vocabulary for twice the largest step.
SentencePair DrawSentencePair(const SentencePairSpec& spec, uint64_t seed, uint64_t i);

}  // namespace tpurun

#endif  // TPURUN_DATA_CONVERT_SENTENCES_H_
