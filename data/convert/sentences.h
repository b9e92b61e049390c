// Synthetic pairs of sentences of an invented language, masked like BERT's pre-training data.
#ifndef TPURUN_DATA_CONVERT_SENTENCES_H_
#define TPURUN_DATA_CONVERT_SENTENCES_H_

#include <array>
#include <cstdint>
#include <vector>

namespace tpurun {

// The ids from kFirstWord to the vocabulary's end are words, which form a circle.
enum SpecialToken : int64_t { kPad = 0, kCls = 1, kSep = 2, kMask = 3, kFirstWord = 4 };

// The steps between successive words, one step for each sentence. No two steps have a third step
// halfway between them, so the two neighbours of a word determine it.
inline constexpr std::array<int64_t, 4> kSteps = {1, 2, 4, 8};

struct SentencePairSpec {
  int64_t sequence_length = 128;
  int64_t vocabulary_size = 64;
  int64_t max_predictions = 20;
};

// The fields have the names of the features in BERT's records. The sequence is [CLS] A [SEP] B
// [SEP]. 15 % of all tokens are masked, never two adjacent ones: 80 % of these become [MASK], 10 %
// a random word, 10 % stay.
struct SentencePair {
  // [sequence_length]; 0 after the last [SEP].
  std::vector<int64_t> input_ids;
  std::vector<int64_t> input_mask;   // 1 for tokens
  std::vector<int64_t> segment_ids;  // 1 for B and its [SEP]
  // [max_predictions]: the masked positions in input_ids, ascending, and the ids before masking; 0
  // for unused entries.
  std::vector<int64_t> masked_lm_positions;
  std::vector<int64_t> masked_lm_ids;
  std::vector<float> masked_lm_weights;  // 1 for used entries
  // 0: B continues A. 1: B begins elsewhere and has another step.
  int64_t next_sentence_label = 0;
};

// Draws pair `i` of a seed. The result does not depend on which other pairs are drawn. The sequence
// must have room for at least 8 words. The vocabulary must have room for twice the largest step.
SentencePair DrawSentencePair(const SentencePairSpec& spec, uint64_t seed, uint64_t i);

}  // namespace tpurun

#endif  // TPURUN_DATA_CONVERT_SENTENCES_H_
