#include "data/convert/sentences.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "data/convert/draws.h"

namespace tpurun {
namespace {

constexpr float kMaskedShare = 0.15f;
constexpr int64_t kTokensBesideWords = 3;

struct Walk {
  int64_t word;  // the first, from 0
  int64_t step;
};

// The walk of B, 0 or 1 being the label.
Walk SecondWalk(Draws& draws, const Walk& first, int64_t length, int64_t words, int64_t label) {
  const int64_t following = (first.word + length * first.step) % words;
  if (label == 0) return {following, first.step};
  const auto own = std::find(kSteps.begin(), kSteps.end(), first.step) - kSteps.begin();
  const int64_t others = std::ssize(kSteps);
  return {.word = (following + 1 + draws.Below(words - 1)) % words,
          .step = kSteps[(own + 1 + draws.Below(others - 1)) % others]};
}

// Places of words, ascending, none beside another.
std::vector<int64_t> DrawPlaces(Draws& draws, const std::vector<int64_t>& ids, int64_t count) {
  std::vector<int64_t> places(ids.size());
  std::iota(places.begin(), places.end(), 0);
  std::vector<bool> taken(ids.size() + 1);
  std::vector<int64_t> drawn;
  for (int64_t i = 0; i < std::ssize(places) && std::ssize(drawn) < count; ++i) {
    std::swap(places[i], places[i + draws.Below(std::ssize(places) - i)]);
    const int64_t place = places[i];
    if (ids[place] < kFirstWord || taken[place - 1] || taken[place + 1]) continue;
    taken[place] = true;
    drawn.push_back(place);
  }
  std::sort(drawn.begin(), drawn.end());
  return drawn;
}

int64_t MaskedToken(Draws& draws, int64_t word, int64_t words) {
  const float share = draws.Uniform(0, 1);
  if (share < 0.8f) return kMask;
  return share < 0.9f ? kFirstWord + draws.Below(words) : word;
}

}  // namespace

SentencePair DrawSentencePair(const SentencePairSpec& spec, uint64_t seed, uint64_t i) {
  Draws draws(seed, StreamOf("sentence_pairs"), i);
  const int64_t words = spec.vocabulary_size - kFirstWord;
  // From half of the words that there is room for to all of them; from a quarter of those, 2 or
  // more, to three quarters in A.
  const int64_t room = spec.sequence_length - kTokensBesideWords;
  const int64_t both = room - draws.Below(room / 2 + 1);
  const int64_t quarter = (both + 3) / 4;
  const int64_t in_a = quarter + draws.Below(both - 2 * quarter + 1);

  SentencePair pair = {.next_sentence_label = draws.Below(2)};
  std::vector<int64_t>& ids = pair.input_ids;
  const auto append = [&](Walk walk, int64_t length, int64_t segment) {
    for (; length > 0; --length, walk.word = (walk.word + walk.step) % words)
      ids.push_back(kFirstWord + walk.word);
    ids.push_back(kSep);
    pair.segment_ids.resize(ids.size(), segment);
  };
  const Walk first = {draws.Below(words), kSteps[draws.Below(std::ssize(kSteps))]};
  ids.push_back(kCls);
  append(first, in_a, 0);
  append(SecondWalk(draws, first, in_a, words, pair.next_sentence_label), both - in_a, 1);
  pair.input_mask.assign(ids.size(), 1);

  const auto share = static_cast<int64_t>(std::round(kMaskedShare * std::ssize(ids)));
  const int64_t count = std::min(spec.max_predictions, std::max<int64_t>(1, share));
  pair.masked_lm_positions = DrawPlaces(draws, ids, count);
  for (const int64_t place : pair.masked_lm_positions) {
    pair.masked_lm_ids.push_back(ids[place]);
    ids[place] = MaskedToken(draws, ids[place], words);
  }
  pair.masked_lm_weights.assign(pair.masked_lm_ids.size(), 1);

  for (auto* const list : {&ids, &pair.input_mask, &pair.segment_ids})
    list->resize(spec.sequence_length);
  for (auto* const list : {&pair.masked_lm_positions, &pair.masked_lm_ids})
    list->resize(spec.max_predictions);
  pair.masked_lm_weights.resize(spec.max_predictions);
  return pair;
}

}  // namespace tpurun
