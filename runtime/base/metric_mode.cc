#include "runtime/base/metric_mode.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace tpurun {
namespace {

// Words of names, as in sparse_categorical_accuracy, top_5_accuracy, bits_per_character.
constexpr const char* kHigherIsBetter[] = {
    "accuracy", "acc",   "auc",   "precision",  "recall",      "f1",       "iou",
    "dice",     "bleu",  "rouge", "psnr",       "ssim",        "ndcg",     "mrr",
    "r2",       "kappa", "top",   "similarity", "correlation", "matthews", "mcc"};
constexpr const char* kLowerIsBetter[] = {"loss", "error",        "err",  "mse",        "mae",
                                          "rmse", "nll",          "wer",  "perplexity", "entropy",
                                          "cer",  "crossentropy", "bits", "bpc"};

bool HasWord(const std::vector<std::string>& words, const auto& list) {
  return std::any_of(std::begin(list), std::end(list), [&](const char* word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  });
}

// "eval/Top-5 accuracy" as eval, top, 5, accuracy.
std::vector<std::string> WordsOf(const std::string& name) {
  std::vector<std::string> words(1);
  for (const char c : absl::AsciiStrToLower(name)) {
    if (absl::ascii_isalnum(c)) {
      words.back().push_back(c);
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  return words;
}

}  // namespace

const char* ModeText(MetricMode mode) { return mode == MetricMode::kMax ? "MAX" : "MIN"; }

std::optional<MetricMode> ParseMode(const std::string& name) {
  for (const MetricMode mode : {MetricMode::kMin, MetricMode::kMax}) {
    if (absl::EqualsIgnoreCase(name, ModeText(mode))) return mode;
  }
  return std::nullopt;
}

std::optional<MetricMode> ModeOfTag(const std::string& tag) {
  if (absl::EndsWith(tag, "/sec")) return MetricMode::kMax;
  const std::vector<std::string> words = WordsOf(tag);
  if (HasWord(words, kLowerIsBetter)) return MetricMode::kMin;
  return HasWord(words, kHigherIsBetter) ? std::optional(MetricMode::kMax) : std::nullopt;
}

}  // namespace tpurun
