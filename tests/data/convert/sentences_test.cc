// Pairs of sentences drawn from a seed: each is taken apart again and held to the rule, as a reader
// of its ids would who knows nothing of how they were drawn.
#include "data/convert/sentences.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tpurun {
namespace {

using Ids = std::vector<int64_t>;

constexpr int64_t kPairs = 2000;

struct Sentence {
  Ids words;
  int64_t step = 0;  // from each word to the next, around the circle
};

Sentence Read(const Ids& ids, int64_t begin, int64_t end, int64_t words) {
  Sentence sentence = {{ids.begin() + begin, ids.begin() + end}};
  for (const int64_t word : sentence.words)
    EXPECT_TRUE(word >= 4 && word < 4 + words) << testing::PrintToString(ids);
  EXPECT_GE(end - begin, 2);
  sentence.step = (sentence.words[1] - sentence.words[0] + words) % words;
  for (int64_t i = begin + 1; i < end; ++i)
    EXPECT_EQ((ids[i] - ids[i - 1] + words) % words, sentence.step) << testing::PrintToString(ids);
  return sentence;
}

// The ids before they were masked.
Ids Unmasked(const SentencePair& pair) {
  Ids ids = pair.input_ids;
  for (size_t i = 0; i < pair.masked_lm_positions.size(); ++i) {
    if (pair.masked_lm_weights[i] == 1) ids[pair.masked_lm_positions[i]] = pair.masked_lm_ids[i];
  }
  return ids;
}

// What all pairs of a spec show together.
struct Counts {
  std::map<int64_t, int64_t> labels, steps, tokens, in_a, words;
  double masked = 0, shown = 0, kept = 0, most = 0;
};

void CheckPair(const SentencePairSpec& spec, const SentencePair& pair, Counts& counts) {
  const int64_t words = spec.vocabulary_size - 4;
  ASSERT_EQ(pair.input_ids.size(), spec.sequence_length);
  ASSERT_EQ(pair.input_mask.size(), spec.sequence_length);
  ASSERT_EQ(pair.segment_ids.size(), spec.sequence_length);
  ASSERT_EQ(pair.masked_lm_positions.size(), spec.max_predictions);
  ASSERT_EQ(pair.masked_lm_ids.size(), spec.max_predictions);
  ASSERT_EQ(pair.masked_lm_weights.size(), spec.max_predictions);

  // [CLS] A [SEP] B [SEP], then nothing.
  const Ids ids = Unmasked(pair);
  const int64_t first = std::find(ids.begin(), ids.end(), 2) - ids.begin();
  const int64_t second = std::find(ids.begin() + first + 1, ids.end(), 2) - ids.begin();
  ASSERT_LT(second, spec.sequence_length);
  EXPECT_EQ(ids[0], 1);
  const Sentence a = Read(ids, 1, first, words), b = Read(ids, first + 1, second, words);
  for (int64_t place = 0; place < spec.sequence_length; ++place) {
    EXPECT_EQ(pair.input_mask[place], place <= second);
    EXPECT_EQ(pair.segment_ids[place], place > first && place <= second);
    EXPECT_TRUE(place <= second || pair.input_ids[place] == 0);
  }

  // The pair.
  const bool goes_on = (b.words[0] - a.words.back() + words) % words == a.step;
  EXPECT_EQ(goes_on, pair.next_sentence_label == 0);
  EXPECT_EQ(a.step == b.step, pair.next_sentence_label == 0);

  // The masked tokens.
  const int64_t tokens = second + 1;
  const int64_t masked = std::min<int64_t>(
      spec.max_predictions, std::max<int64_t>(1, std::llround(0.15 * static_cast<double>(tokens))));
  int64_t before = -1;
  for (int64_t i = 0; i < spec.max_predictions; ++i) {
    const int64_t place = pair.masked_lm_positions[i], id = pair.masked_lm_ids[i];
    if (i >= masked) {
      EXPECT_EQ(place, 0);
      EXPECT_EQ(id, 0);
      EXPECT_EQ(pair.masked_lm_weights[i], 0);
      continue;
    }
    EXPECT_EQ(pair.masked_lm_weights[i], 1);
    EXPECT_GE(id, 4);
    EXPECT_GT(place, before + 1);  // neighbours are there
    EXPECT_LT(place, second);
    const int64_t shown = pair.input_ids[place];
    EXPECT_TRUE(shown == 3 || (shown >= 4 && shown < 4 + words)) << shown;
    ++counts.masked;
    counts.shown += shown == 3;
    counts.kept += shown == id;
    before = place;
  }

  ++counts.labels[pair.next_sentence_label];
  ++counts.steps[a.step];
  ++counts.tokens[tokens];
  ++counts.in_a[first - 1];
  for (const int64_t word : a.words) ++counts.words[word];
}

Counts CheckPairs(const SentencePairSpec& spec) {
  Counts counts;
  for (int64_t i = 0; i < kPairs; ++i) {
    SCOPED_TRACE(absl::StrCat("pair ", i));
    CheckPair(spec, DrawSentencePair(spec, 7, i), counts);
    if (testing::Test::HasFailure()) break;
  }
  return counts;
}

TEST(SentencesTest, FollowTheRule) {
  for (const SentencePairSpec& spec :
       {SentencePairSpec{},
        {.sequence_length = 16, .vocabulary_size = 32, .max_predictions = 1},
        {.sequence_length = 17, .vocabulary_size = 33, .max_predictions = 5},
        {.sequence_length = 64, .vocabulary_size = 1 << 20, .max_predictions = 100}}) {
    SCOPED_TRACE(absl::StrCat(spec.sequence_length, " ", spec.vocabulary_size));
    CheckPairs(spec);
    ASSERT_FALSE(HasFailure());
  }
}

// Tolerances: four standard deviations and more.
TEST(SentencesTest, AreDistributedAsBertsAre) {
  const Counts counts = CheckPairs({});
  EXPECT_NEAR(counts.labels.at(0), kPairs / 2, 100);
  EXPECT_THAT(counts.steps, testing::SizeIs(4));
  for (const auto& [step, count] : counts.steps) EXPECT_NEAR(count, kPairs / 4, 80) << step;
  // Of 62 to 125 words, a quarter to three quarters in A.
  EXPECT_EQ(counts.tokens.begin()->first, 3 + 63);
  EXPECT_EQ(counts.tokens.rbegin()->first, 128);
  EXPECT_GT(counts.tokens.size(), 60);
  EXPECT_LT(counts.in_a.begin()->first, 20);
  EXPECT_GT(counts.in_a.rbegin()->first, 85);
  EXPECT_THAT(counts.words, testing::SizeIs(60));
  // 10 % are drawn, and some of those are the word itself.
  EXPECT_GT(counts.masked, 10 * kPairs);
  EXPECT_NEAR(counts.shown / counts.masked, 0.8, 0.01);
  EXPECT_NEAR(counts.kept / counts.masked, 0.1 + 0.1 / 60, 0.01);
}

// What the neighbours of a masked word allow, each by itself, have one word in common.
TEST(SentencesTest, NeighboursTellAWord) {
  for (const int64_t words : {28, 60}) {
    for (const int64_t step : kSteps) {
      std::set<int64_t> behind_left, before_right;
      for (const int64_t other : kSteps) {
        behind_left.insert(other);
        before_right.insert((2 * step - other + words) % words);
      }
      Ids both;
      std::set_intersection(behind_left.begin(), behind_left.end(), before_right.begin(),
                            before_right.end(), std::back_inserter(both));
      EXPECT_EQ(both, Ids{step}) << words;
    }
  }
}

}  // namespace
}  // namespace tpurun
