// model.textproto, as `tpurun init` writes it.
#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/init_lines.h"
#include "cli/init_text.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

using Kind = PlannedFeature::Kind;

// A column of more words is embedded: its ones and zeros become so many numbers.
constexpr int64_t kMostOneHotWords = 32;
constexpr int kEmbeddingUnits = 16;
constexpr int kTextUnits = 32;
constexpr int kMostImageBlocks = 5;

class ModelWriter {
 public:
  explicit ModelWriter(const InitPlan& plan) : plan_(plan) {
    int used = 0;
    for (const PlannedFeature& feature : plan.features) {
      names_.Take(feature.name);
      if (!IsUsed(feature)) continue;
      // What the first layer reads when it does not say.
      last_ = ++used == 1 ? feature.name : "";
    }
  }

  std::string Write() {
    lines_.Comment(0, "Written by tpurun init; everything in it may be changed.");
    lines_.Add(0, absl::StrCat("name: \"", ModelKind(), "_",
                               plan_.is_regression() ? "regressor" : "classifier", "\""));
    AddTensors();
    lines_.Blank();
    if (plan_.is_series()) return WriteSeries();
    for (const PlannedFeature& feature : plan_.features) {
      if (feature.is_image()) AddImageLayers(feature);
      if (feature.kind == Kind::kCategory) AddWordLayers(feature);
      if (feature.kind == Kind::kText) AddTextLayers(feature);
      if (feature.kind == Kind::kNumber || feature.kind == Kind::kIndicator) {
        inputs_.push_back(feature.shape.size() < 2
                              ? feature.name
                              : AddLayer(feature.name + "_flat", "flatten {}", {feature.name}));
      }
    }
    AddDenseLayers();
    lines_.Blank();
    AddOptimizer();
    AddRegularization();
    return lines_.text();
  }

 private:
  const char* ModelKind() const {
    if (plan_.is_series() && plan_.series.model == PlannedSeries::Model::kLstm) return "rnn";
    const bool conv = plan_.has(Kind::kText) && plan_.text_model == TextModel::kConv;
    return has_images() || conv ? "cnn" : "dnn";
  }

  bool has_images() const {
    for (const PlannedFeature& feature : plan_.features) {
      if (feature.is_image()) return true;
    }
    return false;
  }

  void AddTensors() {
    for (const PlannedFeature& feature : plan_.features) {
      if (!IsUsed(feature)) continue;
      const bool ids =
          (feature.kind == Kind::kCategory || feature.kind == Kind::kText) && feature.ngrams == 0;
      std::vector<int64_t> shape = feature.shape;
      if (plan_.is_series()) shape = {plan_.series.window};
      if (feature.kind == Kind::kText) {
        shape = {feature.ngrams > 0 ? feature.hash_buckets : feature.length};
      }
      lines_.Add(0, absl::StrCat("feature { name: ", Quote(feature.name),
                                 ids ? " dtype: INT64" : "", ShapeText(shape), " }"));
    }
    for (const PlannedFeature& label : plan_.series.labels) {
      lines_.Add(0, absl::StrCat("label { name: ", Quote(label.name), " shape: 1 }"));
    }
    if (plan_.is_series()) return;
    const PlannedFeature& label = plan_.label_feature();
    const char* const dtype = plan_.is_regression()          ? ""
                              : label.dtype == proto::STRING ? " dtype: STRING"
                                                             : " dtype: INT64";
    lines_.Add(0, absl::StrCat("label { name: ", Quote(label.name), dtype, " }"));
  }

  // layer { name: NAME KIND input: INPUT... }; the input is only named where it is not the layer
  // before. Returns the name.
  std::string AddLayer(const std::string& wanted, const std::string& kind,
                       const std::vector<std::string>& inputs, const std::string& comment = "") {
    const std::string name = names_.Take(wanted);
    const std::string line = absl::StrCat("layer { name: ", Quote(name), " ", kind);
    if (inputs.size() > 1) {
      if (!comment.empty()) lines_.Comment(0, comment);
      lines_.AddList(0, line + " input: ", QuoteAll(inputs), " }");
      return last_ = name;
    }
    const std::string input =
        inputs[0] == last_ ? " }" : absl::StrCat(" input: ", Quote(inputs[0]), " }");
    if (line.size() + input.size() <= kInitColumns) {
      lines_.Add(0, line + input, comment);
    } else {
      lines_.Add(0, line, comment);
      lines_.Add(2, input.substr(1));
    }
    return last_ = name;
  }

  // ---- of a time series

  std::string WriteSeries() {
    const bool lstm = plan_.series.model == PlannedSeries::Model::kLstm;
    for (const PlannedFeature& feature : plan_.features) {
      if (IsUsed(feature)) AddWindowLayers(feature, lstm);
    }
    std::string input = inputs_[0];
    if (inputs_.size() > 1) input = AddLayer("inputs", "concat {}", inputs_);
    const PlannedTraining& training = plan_.training;
    if (lstm) {
      input = AddLayer("lstm", absl::StrCat("lstm { units: ", training.hidden_units, " }"), {input},
                       "reads the window row by row");
    } else {
      input = AddHidden("hidden_1", training.hidden_units, input);
    }
    input = AddDropout(input);
    if (!lstm) input = AddHidden("hidden_2", training.hidden_units / 2, input);
    for (const PlannedFeature& label : plan_.series.labels) AddSeriesHead(label, input);
    lines_.Blank();
    AddOptimizer();
    AddRegularization();
    return lines_.text();
  }

  // For the LSTM a row of values for each row of the window, else all of them in one.
  void AddWindowLayers(const PlannedFeature& feature, bool lstm) {
    std::string layer = feature.name;
    const bool ids = feature.kind == Kind::kCategory;
    if (ids) {
      layer = AddLayer(feature.name + "_one_hot",
                       absl::StrCat("one_hot { depth: ", feature.ids(), " }"), {layer});
    }
    if (lstm && !ids) {
      layer = AddLayer(feature.name + "_rows",
                       absl::StrCat("reshape { target_shape: [", plan_.series.window, ", 1] }"),
                       {layer});
    } else if (!lstm && ids) {
      layer = AddLayer(feature.name + "_flat", "flatten {}", {layer});
    }
    inputs_.push_back(layer);
  }

  void AddSeriesHead(const PlannedFeature& label, const std::string& input) {
    const bool several = plan_.series.labels.size() > 1;
    const std::string logits =
        AddLayer(several ? label.name + "_logits" : "logits", "dense { units: 1 }", {input});
    lines_.Blank();
    AddRegressionHead(several ? label.title : "", logits, label);
  }

  // ---- of a head

  // The lines of its fields are those of `add_fields`.
  template <typename AddFields>
  void AddHeadLines(const std::string& name, const std::string& kind, const AddFields& add_fields) {
    lines_.Add(0, "head {");
    if (!name.empty()) lines_.Add(2, absl::StrCat("name: ", Quote(name)));
    lines_.Add(2, kind + " {");
    add_fields();
    lines_.Add(2, "}");
    lines_.Add(0, "}");
  }

  void AddRegressionHead(const std::string& name, const std::string& logits,
                         const PlannedFeature& label) {
    lines_.Comment(0,
                   "Mean squared error of (label - label_mean) / label_stddev: labels of any unit "
                   "train alike. Predictions and metrics are in the unit of the label, except loss "
                   "and average_loss.");
    AddHeadLines(name, "regression", [&] {
      lines_.Add(4, absl::StrCat("logits: ", Quote(logits), " label: ", Quote(label.name)));
      lines_.Add(4, absl::StrCat("label_mean: ", ShortestText(label.mean[0]),
                                 " label_stddev: ", ShortestText(label.stddev[0])));
    });
  }

  // Says how classes of different size are weighted, where that matters.
  void AddBalanceComment() {
    constexpr int64_t kLargeRatio = 5;
    int64_t least = plan_.train_examples, most = 0;
    for (const int64_t count : plan_.class_counts) {
      if (count > 0) least = std::min(least, count);
      most = std::max(most, count);
    }
    if (!plan_.class_weight.empty() || most <= kLargeRatio * least) return;
    lines_.Comment(
        0, absl::StrCat("Of the ", plan_.train_examples,
                        " examples to train the largest class has ", most, ", the smallest ", least,
                        ". So that each class counts alike, as with scikit-learn's "
                        "class_weight='balanced', call init with "
                        "--class_weight=balanced, or add to the head: class_weight: [",
                        absl::StrJoin(NumberTexts(BalancedWeights(plan_)), ", "), "]"));
  }

  void AddClassificationHead(const std::string& logits) {
    const std::string label = Quote(plan_.label_feature().name);
    const std::vector<std::string>& names = plan_.label_vocabulary();
    AddBalanceComment();
    if (names.empty() && plan_.class_weight.empty()) {
      lines_.Add(0, absl::StrCat("head { classification { logits: ", Quote(logits),
                                 " label: ", label, " } }"));
      return;
    }
    AddHeadLines("", "classification", [&] {
      lines_.Add(4, absl::StrCat("logits: ", Quote(logits), " label: ", label));
      if (!names.empty()) lines_.AddList(4, "label_vocabulary: ", QuoteAll(names));
      if (plan_.class_weight.empty()) return;
      lines_.Comment(4, "Each class counts alike in the training, whatever its size.");
      lines_.AddList(4, "class_weight: ", NumberTexts(plan_.class_weight));
    });
  }

  // ---- of other examples

  // Each block halves the image and sees twice as far; the last has about 7x7 left.
  void AddImageLayers(const PlannedFeature& feature) {
    std::string input = feature.name;
    int64_t least = std::min(feature.shape[0], feature.shape[1]);
    int64_t filters = 32;
    for (int block = 0; block < kMostImageBlocks; ++block) {
      if (block > 0 && least < (block < 2 ? 4 : 8)) break;
      input = AddLayer("conv2d",
                       absl::StrCat("conv2d { filters: ", filters,
                                    " kernel_size: 3 padding: SAME activation: RELU }"),
                       {input});
      filters = std::min<int64_t>(2 * filters, 128);
      if (least < 2) break;
      input = AddLayer("max_pooling2d", "max_pooling2d { pool_size: 2 strides: 2 }", {input});
      least /= 2;
    }
    inputs_.push_back(AddLayer("flatten", "flatten {}", {input}));
  }

  void AddWordLayers(const PlannedFeature& feature) {
    const std::string legal = LegalName(feature.name);
    const std::string base = legal.empty() ? "words" : legal;
    const int64_t words = feature.ids();
    std::string layer =
        AddLayer(base + "_one_hot", absl::StrCat("one_hot { depth: ", words, " }"), {feature.name});
    if (words > kMostOneHotWords) {
      layer = AddLayer(base + "_embedding",
                       absl::StrCat("dense { units: ", kEmbeddingUnits, " use_bias: false }"),
                       {layer}, absl::StrCat(kEmbeddingUnits, " numbers for each word, learned"));
    }
    inputs_.push_back(layer);
  }

  // A vector for each word, then one for the text.
  void AddTextLayers(const PlannedFeature& feature) {
    if (feature.ngrams > 0) return inputs_.push_back(AddDropout(feature.name));
    const std::string legal = LegalName(feature.name);
    const std::string base = legal.empty() ? "text" : legal;
    const bool conv = plan_.text_model == TextModel::kConv;
    std::string layer =
        AddLayer(base + "_embedding",
                 absl::StrCat("embedding { input_dim: ", feature.ids(), " output_dim: ", kTextUnits,
                              conv ? " }" : " mask_zero: true }"),
                 {feature.name},
                 absl::StrCat(kTextUnits, " numbers for each line of ", feature.vocabulary_file,
                              ", learned"));
    if (conv) {
      layer = AddLayer(base + "_dropout", "dropout { rate: 0.3 }", {layer});
      layer =
          AddLayer(base + "_conv1d",
                   "conv1d { filters: 64 kernel_size: 5 padding: SAME activation: RELU }", {layer});
      layer = AddLayer(base + "_max", "global_max_pooling1d {}", {layer});
    } else {
      layer = AddLayer(base + "_mean", "global_average_pooling1d {}", {layer}, "of its words");
    }
    inputs_.push_back(AddDropout(layer));
  }

  std::string AddDropout(const std::string& input) {
    if (plan_.training.dropout == 0) return input;
    return AddLayer("dropout", absl::StrCat("dropout { rate: ", plan_.training.dropout, " }"),
                    {input}, "in training: nothing is to rest on few values");
  }

  std::string AddHidden(const std::string& name, int64_t units, const std::string& input) {
    return AddLayer(name, absl::StrCat("dense { units: ", units, " activation: RELU }"), {input});
  }

  void AddDenseLayers() {
    const PlannedTraining& training = plan_.training;
    std::string input = inputs_[0];
    // A scalar becomes one column.
    const bool one =
        inputs_.size() == 1 && (input != OneFeature().name || !OneFeature().shape.empty());
    if (!one) input = AddLayer("inputs", "concat {}", inputs_);
    const bool texts = plan_.has(Kind::kText);
    // The convolution over words is a hidden layer itself, and a bag of words needs none.
    const bool text_alone = texts && inputs_.size() == 1;
    if (has_images()) input = AddDropout(input);
    if (!text_alone || plan_.text_model == TextModel::kMean) {
      input = AddHidden("hidden_1", training.hidden_units, input);
      input = AddDropout(input);
    }
    if (!has_images() && !texts) input = AddHidden("hidden_2", training.hidden_units / 2, input);
    const int64_t units = plan_.is_regression() ? 1 : std::ssize(plan_.classes);
    input = AddLayer("logits", absl::StrCat("dense { units: ", units, " }"), {input},
                     plan_.is_regression() ? "" : "one for each class");
    lines_.Blank();
    if (plan_.is_regression()) return AddRegressionHead("", input, plan_.label_feature());
    AddClassificationHead(input);
  }

  const PlannedFeature& OneFeature() const {
    for (const PlannedFeature& feature : plan_.features) {
      if (IsUsed(feature)) return feature;
    }
    return plan_.features.front();
  }

  void AddOptimizer() {
    const PlannedTraining& training = plan_.training;
    lines_.Comment(0, "Small steps at the end: the rate is halved five times.");
    lines_.Add(0, "optimizer {");
    lines_.Add(2, "adam {}");
    lines_.Add(2, "learning_rate {");
    lines_.Add(4, absl::StrCat("exponential_decay { initial_learning_rate: ",
                               ShortestText(training.learning_rate),
                               " decay_steps: ", training.decay_steps, " decay_rate: 0.5 }"));
    lines_.Add(2, "}");
    lines_.Add(0, "}");
  }

  void AddRegularization() {
    if (plan_.training.l2 == 0) return;
    lines_.Comment(0, "Small weights: few examples are not to be learned by heart.");
    lines_.Add(0, absl::StrCat("regularization { l2 { scale: ", plan_.training.l2,
                               " exclude: \"bias$\" } }"));
  }

  const InitPlan& plan_;
  Lines lines_;
  UniqueNames names_;
  std::string last_;                 // the layer before, or the only feature
  std::vector<std::string> inputs_;  // of the dense layers
};

}  // namespace

std::string ModelText(const InitPlan& plan) { return ModelWriter(plan).Write(); }

}  // namespace tpurun
