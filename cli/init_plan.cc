#include "cli/init_plan.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/init_features.h"
#include "runtime/base/text.h"
#include "runtime/spec/topology.h"

namespace tpurun {
namespace {

using Kind = PlannedFeature::Kind;

// What the model and its input keep for themselves.
const std::set<std::string>& ReservedNames() {
  static const auto* const kNames = new std::set<std::string>{
      "loss", "global_step", "learning_rate", "global_norm", "row_weight", "line", "record"};
  return *kNames;
}

// Fewer examples than this are learned by heart: the training is regularized and stops early.
constexpr int64_t kFewExamples = 10000;

// Dropout, L2 and early stopping. tests/interop/scikit_learn_test.py compares the results with
// those of scikit-learn.
void Regularize(const InitPlan& plan, bool images, PlannedTraining& training) {
  const int64_t n = plan.train_examples;
  const bool texts = plan.has(Kind::kText);
  // Of the words of a text: half of what is learned of them is to do without the other half.
  constexpr double kTextDropout = 0.5;
  if (images || n >= kFewExamples) {
    training.dropout = images ? 0.4 : texts ? kTextDropout : plan.is_regression() ? 0 : 0.2;
    return;
  }
  training.dropout = texts ? kTextDropout : 0.1;
  // As ridge regression with a penalty of 10, which is for the sum over the examples: here the loss
  // is their mean. Twice as much costs accuracy where the label follows a curve, half as much lets
  // 400 noisy examples be learned by heart. Less than 333 examples want no more than that.
  // The vectors of words begin small, and L2 would keep them there.
  if (!texts) training.l2 = std::min(0.03, std::round(1e5 / static_cast<double>(n)) / 1e4);
  training.steps_per_eval = texts ? 50 : 100;
  // A quarter of the training: the loss of few examples rises and falls.
  training.patience = std::max<int64_t>(5, training.max_steps / training.steps_per_eval / 4);
}

PlannedTraining ChooseTraining(const InitPlan& plan) {
  const int64_t n = plan.train_examples;
  const bool texts = plan.has(Kind::kText);
  bool images = false;
  int64_t elements = 0;
  for (const PlannedFeature& feature : plan.features) {
    images |= feature.is_image();
    if (feature.kind == Kind::kCategory) elements += feature.ids();
    if (feature.kind == Kind::kNumber || feature.kind == Kind::kIndicator || feature.is_image())
      elements += feature.elements();
  }
  elements *= std::max<int64_t>(1, plan.series.window);
  PlannedTraining training;
  // A multiple of the cores: small for few examples, of which small batches make more in the end,
  // and large for many, of which they make more a second.
  const int64_t cores = kDevice.num_replicas();
  training.train_batch_size = cores;
  const int64_t least_steps = images ? 64 : 16;  // of an epoch
  while (training.train_batch_size < 128 && n / (2 * training.train_batch_size) >= least_steps) {
    training.train_batch_size *= 2;
  }
  while (!images && training.train_batch_size < 1024 &&
         n / (2 * training.train_batch_size) >= 1000) {
    training.train_batch_size *= 2;
  }
  training.eval_batch_size = std::clamp<int64_t>((plan.eval_examples() + cores - 1) / cores * cores,
                                                 cores, images ? 256 : 1024);
  training.predict_batch_size = cores;
  // Some 200,000 examples, or 160,000 images of 28x28, in all.
  const double work =
      images ? 160000.0 * 784 / static_cast<double>(std::max<int64_t>(elements, 784)) : 200000.0;
  const double epochs = std::clamp(work / static_cast<double>(n), images ? 2.0 : 3.0,
                                   images  ? 30.0
                                   : texts ? 40.0
                                           : 100.0);
  const double steps =
      epochs * static_cast<double>(n) / static_cast<double>(training.train_batch_size);
  training.max_steps = std::max<int64_t>(static_cast<int64_t>(std::ceil(steps / 100)) * 100, 200);
  // The vectors of rare words are seldom moved.
  training.learning_rate = images ? 0.001 : texts ? 0.003 : 0.002;
  training.decay_steps = training.max_steps / 5;
  training.hidden_units = images || elements >= 64 || n >= 20000 ? 128 : 64;
  Regularize(plan, images, training);
  return training;
}

// More words than these are a file of their own.
constexpr size_t kMostListedWords = 50;

// "vocabulary.txt" for the words of the only text, else one that is called as the feature is. A
// category whose name is no file name has its words listed.
void NameVocabularyFiles(InitPlan& plan) {
  int64_t texts = 0;
  for (const PlannedFeature& feature : plan.features) texts += feature.kind == Kind::kText;
  for (PlannedFeature& feature : plan.features) {
    const bool is_text = feature.kind == Kind::kText && feature.ngrams == 0;
    if (is_text && texts == 1) {
      feature.vocabulary_file = "vocabulary.txt";
    } else if (is_text ||
               (feature.kind == Kind::kCategory && feature.vocabulary.size() > kMostListedWords &&
                LegalName(feature.name) == feature.name)) {
      feature.vocabulary_file = absl::StrCat(feature.name, ".vocabulary.txt");
    }
  }
}

}  // namespace

bool IsReserved(const std::string& name) { return ReservedNames().count(name) > 0; }

UniqueNames::UniqueNames() : taken_(ReservedNames()) {}

std::string UniqueNames::Take(const std::string& wanted) {
  std::string name = wanted;
  for (int i = 1; !taken_.insert(name).second; ++i) name = absl::StrCat(wanted, "_", i);
  return name;
}

std::string LegalName(std::string_view title) {
  std::string name;
  for (const char c : title) {
    if (absl::ascii_isalnum(c) || (c == '-' && !name.empty())) {
      name.push_back(c);
    } else if (!name.empty() && name.back() != '_') {
      name.push_back('_');
    }
  }
  while (!name.empty() && (name.back() == '_' || name.back() == '-')) name.pop_back();
  return name;
}

const std::vector<std::string>& InitPlan::label_vocabulary() const {
  if (label_feature().dtype == proto::STRING) return classes;
  return class_names.empty() ? label_feature().vocabulary : class_names;
}

void SetClassNames(const std::vector<std::string>& names, InitPlan& plan) {
  const std::set<std::string> distinct(names.begin(), names.end());
  const bool are_names = std::all_of(names.begin(), names.end(), [](const std::string& name) {
    return !name.empty() && IsUtf8(name);
  });
  if (are_names && names.size() == plan.classes.size() && distinct.size() == names.size()) {
    plan.class_names = names;
  }
}

std::vector<float> BalancedWeights(const InitPlan& plan) {
  const auto occurs = [](int64_t count) { return count > 0; };
  const std::vector<int64_t>& counts = plan.class_counts;
  const auto classes = std::count_if(counts.begin(), counts.end(), occurs);
  std::vector<float> weights;
  for (const int64_t count : counts) {
    weights.push_back(occurs(count) ? static_cast<float>(static_cast<double>(plan.train_examples) /
                                                         static_cast<double>(classes * count))
                                    : 1);
  }
  return weights;
}

bool InitPlan::has(Kind kind) const {
  return std::any_of(features.begin(), features.end(),
                     [kind](const PlannedFeature& feature) { return feature.kind == kind; });
}

int64_t PlannedFeature::elements() const {
  int64_t product = 1;
  for (const int64_t dim : shape) product *= dim;
  return product;
}

absl::Status SetExamples(int64_t examples, int64_t held_out, int64_t shards, InitPlan& plan) {
  plan.examples = examples;
  plan.shards = shards;
  plan.train_examples = examples - held_out;
  if (held_out > 0) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("got ", Plural(examples, "example"), ", want ", shards,
                                          " or more: every tenth is held out to evaluate"));
}

absl::Status FinishPlan(InitPlan& plan) {
  const auto used = [](const PlannedFeature& feature) {
    return feature.kind != Kind::kLeftOut && feature.kind != Kind::kLabel;
  };
  if (std::none_of(plan.features.begin(), plan.features.end(), used)) {
    std::vector<std::string> reasons;
    for (const PlannedFeature& feature : plan.features) {
      if (feature.kind != Kind::kLeftOut) continue;
      reasons.push_back(absl::StrCat(Quote(TitleOf(feature)), " (", feature.comment, ")"));
    }
    constexpr size_t kShown = 5;
    if (reasons.size() > kShown) {
      reasons.resize(kShown);
      reasons.push_back("...");
    }
    return absl::DataLossError(absl::StrCat(
        "nothing is left to learn ", Quote(plan.label_feature().name),
        " from: ", reasons.empty() ? "it is all there is" : absl::StrJoin(reasons, ", ")));
  }
  NameVocabularyFiles(plan);
  plan.training = ChooseTraining(plan);
  return absl::OkStatus();
}

}  // namespace tpurun
