#include "cli/init_text.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "proto/input.pb.h"
#include "runtime/base/text.h"
#include "runtime/spec/topology.h"

namespace tpurun {
namespace {

using Kind = PlannedFeature::Kind;

constexpr size_t kColumns = 100;  // of a line
// More words than these are a file of their own.
constexpr size_t kMostListedWords = 50;
// A column of more words is embedded: its ones and zeros become so many numbers.
constexpr size_t kMostOneHotWords = 32;
constexpr int kEmbeddingUnits = 16;
constexpr int kMostImageBlocks = 5;

// The lines of a text file.
class Lines {
 public:
  // `code`, with the comment behind it where both fit, else before it.
  void Add(size_t indent, const std::string& code, const std::string& comment = "") {
    const std::string line = absl::StrCat(std::string(indent, ' '), code);
    if (comment.empty()) {
      absl::StrAppend(&text_, line, "\n");
    } else if (line.size() + 4 + comment.size() <= kColumns) {
      absl::StrAppend(&text_, line, "  # ", Escape(comment), "\n");
    } else {
      Comment(indent, comment);
      absl::StrAppend(&text_, line, "\n");
    }
  }

  void Blank() { absl::StrAppend(&text_, "\n"); }

  // Words in lines of a comment.
  void Comment(size_t indent, const std::string& comment) {
    const std::string prefix = absl::StrCat(std::string(indent, ' '), "#");
    std::string line = prefix;
    for (const absl::string_view word : absl::StrSplit(Escape(comment), ' ')) {
      if (line != prefix && line.size() + 1 + word.size() > kColumns) {
        absl::StrAppend(&text_, line, "\n");
        line = prefix;
      }
      absl::StrAppend(&line, " ", word);
    }
    absl::StrAppend(&text_, line, "\n");
  }

  // `head` "[" items "]" `tail`, in as many lines as it takes.
  void AddList(size_t indent, const std::string& head, const std::vector<std::string>& items,
               const std::string& tail = "") {
    const std::string blanks(indent, ' ');
    const std::string list = absl::StrCat(blanks, head, "[", absl::StrJoin(items, ", "), "]", tail);
    if (list.size() <= kColumns) {
      absl::StrAppend(&text_, list, "\n");
      return;
    }
    absl::StrAppend(&text_, blanks, head, "[\n");
    std::string line;
    for (size_t i = 0; i < items.size(); ++i) {
      const std::string item = absl::StrCat(items[i], i + 1 < items.size() ? "," : "");
      if (!line.empty() && indent + 2 + line.size() + 1 + item.size() > kColumns) {
        absl::StrAppend(&text_, blanks, "  ", line, "\n");
        line.clear();
      }
      absl::StrAppend(&line, line.empty() ? "" : " ", item);
    }
    absl::StrAppend(&text_, blanks, "  ", line, "\n", blanks, "]", tail, "\n");
  }

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::vector<std::string> QuoteAll(const std::vector<std::string>& texts) {
  std::vector<std::string> quoted;
  for (const std::string& text : texts) quoted.push_back(Quote(text));
  return quoted;
}

std::vector<std::string> NumberTexts(const std::vector<float>& numbers) {
  std::vector<std::string> texts;
  for (const float number : numbers) texts.push_back(ShortestText(number));
  return texts;
}

std::string ShapeText(const std::vector<int64_t>& shape) {
  if (shape.empty()) return "";
  if (shape.size() == 1) return absl::StrCat(" shape: ", shape[0]);
  return absl::StrCat(" shape: [", absl::StrJoin(shape, ", "), "]");
}

bool IsUsed(const PlannedFeature& feature) {
  return feature.kind != Kind::kLeftOut && feature.kind != Kind::kLabel;
}

// Only where the file can be called as the feature is.
bool HasVocabularyFile(const PlannedFeature& feature) {
  return feature.vocabulary.size() > kMostListedWords && LegalName(feature.name) == feature.name;
}

std::string VocabularyFile(const PlannedFeature& feature) {
  return absl::StrCat(feature.name, ".vocabulary.txt");
}

// Whether its column says by which title it is found in the header.
bool HasTitle(const PlannedFeature& feature, const InitPlan& plan) {
  return plan.header && (feature.columns > 1 || feature.field_title != feature.name);
}

// What the file's own name for it adds to a comment.
std::string TitledComment(const PlannedFeature& feature, const InitPlan& plan) {
  std::string comment = feature.comment;
  if (feature.kind == Kind::kLeftOut) comment = absl::StrCat("left out: ", comment);
  if (feature.title.empty() || feature.title == feature.name || HasTitle(feature, plan)) {
    return comment;
  }
  return absl::StrCat(feature.title, ": ", comment);
}

// ---- run.textproto

void AddDecodeCsv(const InitPlan& plan, Lines& lines) {
  lines.Add(2, "transform {");
  lines.Add(4, "decode_csv {");
  for (const PlannedFeature& feature : plan.features) {
    std::string column = absl::StrCat("column { name: ", Quote(feature.name));
    if (HasTitle(feature, plan)) {
      absl::StrAppend(&column, " title: ", Quote(feature.field_title));
    }
    if (feature.dtype != proto::FLOAT32) {
      absl::StrAppend(&column, " dtype: ", proto::DataType_Name(feature.dtype));
    }
    absl::StrAppend(&column, ShapeText(feature.shape));
    if (feature.has_default || feature.kind == Kind::kLeftOut) {
      absl::StrAppend(&column, " default_value: ", Quote(feature.default_value));
    }
    if (feature.kind == Kind::kLabel) absl::StrAppend(&column, " label: true");
    if (plan.header && feature.kind == Kind::kLeftOut) {
      lines.Comment(6, absl::StrCat(column, " } is ", TitledComment(feature, plan)));
      continue;
    }
    lines.Add(6, column + " }", TitledComment(feature, plan));
  }
  if (plan.delim != ',') {
    lines.Add(6, absl::StrCat("field_delim: ", Quote(std::string(1, plan.delim))));
  }
  if (!plan.na_value.empty()) {
    lines.Add(6, absl::StrCat("na_value: ", Quote(plan.na_value)), "as good as an empty field");
  }
  lines.Add(4, "}");
  lines.Add(2, "}");
}

std::string ExampleKind(const PlannedFeature& feature) {
  switch (feature.dtype) {
    case proto::INT64:
      return "int64";
    case proto::FLOAT32:
      return "float";
    default:
      return "bytes";
  }
}

void AddParseExample(const InitPlan& plan, Lines& lines) {
  lines.Add(2, "transform {");
  lines.Add(4, "parse_example {");
  for (const PlannedFeature& feature : plan.features) {
    if (feature.kind == Kind::kLeftOut) {
      lines.Comment(6, absl::StrCat(Quote(feature.name), " is left out: ", feature.comment));
      continue;
    }
    const bool bytes = feature.is_image() || feature.dtype == proto::UINT8;
    std::string arguments = bytes ? "" : ShapeText(feature.shape);
    if (feature.has_default) {
      absl::StrAppend(
          &arguments, " default_value: ",
          feature.dtype == proto::STRING ? Quote(feature.default_value) : feature.default_value);
    }
    if (!arguments.empty()) arguments += " ";
    lines.Add(6,
              absl::StrCat("feature { name: ", Quote(feature.name), " ", ExampleKind(feature), " {",
                           arguments, "} }"),
              feature.comment);
  }
  lines.Add(4, "}");
  lines.Add(2, "}");
  for (const PlannedFeature& feature : plan.features) {
    if (feature.dtype != proto::UINT8) continue;
    lines.Add(2, absl::StrCat("transform { decode_raw { feature: ", Quote(feature.name),
                              " dtype: UINT8", ShapeText(feature.shape), " } }"));
  }
}

void AddLookup(const PlannedFeature& feature, Lines& lines) {
  const std::string head =
      absl::StrCat("transform { lookup { feature: ", Quote(feature.name), " vocabulary_");
  if (HasVocabularyFile(feature)) {
    return lines.Add(2, absl::StrCat(head, "file: ", Quote(VocabularyFile(feature)), " } }"));
  }
  lines.AddList(2, head + "list: ", QuoteAll(feature.vocabulary), " } }");
}

void AddNormalize(const PlannedFeature& feature, Lines& lines) {
  const std::string head =
      absl::StrCat("transform { normalize { feature: ", Quote(feature.name), " ");
  const std::vector<std::string> mean = NumberTexts(feature.mean);
  const std::vector<std::string> stddev = NumberTexts(feature.stddev);
  if (mean.size() == 1) {
    return lines.Add(2, absl::StrCat(head, "mean: ", mean[0], " stddev: ", stddev[0], " } }"));
  }
  lines.Add(2, "transform {");
  lines.Add(4, "normalize {");
  lines.Add(6, absl::StrCat("feature: ", Quote(feature.name)));
  lines.AddList(6, "mean: ", mean);
  lines.AddList(6, "stddev: ", stddev);
  lines.Add(4, "}");
  lines.Add(2, "}");
}

void AddParse(const InitPlan& plan, Lines& lines) {
  lines.Comment(0, "What train, evaluate and predict read of an example.");
  lines.Add(0, "transformation_func {");
  lines.Add(2, "name: \"parse\"");
  plan.is_table ? AddDecodeCsv(plan, lines) : AddParseExample(plan, lines);
  const auto any = [&plan](auto&& has) {
    for (const PlannedFeature& feature : plan.features) {
      if (IsUsed(feature) && has(feature)) return true;
    }
    return false;
  };
  if (any([](const PlannedFeature& feature) { return !feature.mean.empty(); })) {
    lines.Comment(2,
                  "To mean 0 and stddev 1, from which layers learn quickest: those of the examples "
                  "to train.");
  }
  for (const PlannedFeature& feature : plan.features) {
    if (IsUsed(feature) && !feature.mean.empty()) AddNormalize(feature, lines);
  }
  if (any([](const PlannedFeature& feature) { return !feature.vocabulary.empty(); })) {
    lines.Comment(2,
                  "Words as ids, those of the examples to train; any other word is -1, which is no "
                  "word to the model.");
  }
  for (const PlannedFeature& feature : plan.features) {
    if (IsUsed(feature) && !feature.vocabulary.empty()) AddLookup(feature, lines);
  }
  const PlannedFeature& label = plan.label_feature();
  if (plan.is_regression()) {
    lines.Comment(
        2, absl::StrCat("The label too: predictions and errors are in units of its stddev, "
                        "value = prediction * ",
                        ShortestText(label.stddev[0]), " + ", ShortestText(label.mean[0]), "."));
    AddNormalize(label, lines);
  } else {
    if (label.dtype == proto::FLOAT32) {
      lines.Add(
          2, absl::StrCat("transform { cast { feature: ", Quote(label.name), " dtype: INT64 } }"));
    }
    if (!label.vocabulary.empty()) {
      lines.Comment(2, "The classes, by class id.");
      AddLookup(label, lines);
    }
  }
  lines.Add(0, "}");
}

void AddSource(const InitPlan& plan, const std::vector<std::string>& files, Compression compression,
               Lines& lines) {
  const std::string kind = plan.is_table ? "text_line" : "tfrecord";
  std::string tail;
  if (plan.skip_lines > 0) tail = absl::StrCat(" skip_lines: ", plan.skip_lines);
  if (plan.header) tail = " header: true";
  if (compression == Compression::kGzip) tail = " compression: GZIP";
  if (compression == Compression::kZlib) tail = " compression: ZLIB";
  if (files.size() == 1) {
    return lines.Add(4,
                     absl::StrCat("source { ", kind, " { file: ", Quote(files[0]), tail, " } }"));
  }
  lines.AddList(4, absl::StrCat("source { ", kind, " { file: "), QuoteAll(files), tail + " } }");
}

void AddShard(const InitPlan& plan, const std::vector<int64_t>& indices, Lines& lines) {
  const std::string list = indices.size() == 1
                               ? absl::StrCat(indices[0])
                               : absl::StrCat("[", absl::StrJoin(indices, ", "), "]");
  lines.Add(
      4, absl::StrCat("transform { shard { num_shards: ", plan.shards, " index: ", list, " } }"));
}

// Bytes of an example in memory, about.
int64_t ExampleBytes(const InitPlan& plan) {
  int64_t bytes = 64;
  for (const PlannedFeature& feature : plan.features) {
    const bool encoded = feature.kind == Kind::kEncodedImage;
    bytes += 8 + (encoded ? feature.file_bytes : 4 * feature.elements());
  }
  return bytes;
}

// The pixels of image files: a random part of each to train on, the middle of it to test with.
void AddImageTransforms(const InitPlan& plan, bool train, Lines& lines) {
  for (const PlannedFeature& feature : plan.features) {
    if (feature.kind != Kind::kEncodedImage) continue;
    const std::string name = absl::StrCat("feature: ", Quote(feature.name));
    const auto add = [&](const std::string& kind, const std::string& arguments,
                         const std::string& comment = "") {
      lines.Add(4, absl::StrCat("transform { ", kind, " { ", name, arguments, " } }"), comment);
    };
    add("decode_image", absl::StrCat(" channels: ", feature.shape[2]));
    if (train) {
      add("sample_distorted_bounding_box", " area_range: [0.5, 1]", "anew in each epoch");
    } else {
      add("central_crop", absl::StrCat(" size: ", feature.shape[0]), "the largest square");
    }
    add("resize", absl::StrCat(" size: ", feature.shape[0]));
    if (train) add("random_flip_left_right", "", "leave it out if left and right matter");
    add("normalize", " mean: 127.5 stddev: 64");
  }
}

// Leaves out the examples that are held out.
void AddTrainShard(const InitPlan& plan, Lines& lines) {
  if (plan.shards == kNoShards) return;
  std::vector<int64_t> indices;
  for (int64_t i = 0; i + 1 < plan.shards; ++i) indices.push_back(i);
  const bool tenth = plan.shards == kInitShards;
  lines.Comment(
      4, absl::StrCat(tenth ? "Nine of ten" : "Ten of eleven", " examples, ", plan.train_examples,
                      " of ", plan.examples, ": every ", tenth ? "tenth" : "eleventh",
                      " is held out for evaluate",
                      tenth ? "." : ", for classes recur with a period that ten shares."));
  AddShard(plan, indices, lines);
}

void AddTrainInput(const InitPlan& plan, const std::vector<std::string>& files, Lines& lines) {
  constexpr int64_t kMostCacheBytes = int64_t{1} << 30;
  lines.Add(2, "input {");
  AddSource(plan, files, plan.compression, lines);
  AddTrainShard(plan, lines);
  lines.Add(4, "transform { apply { transformation_func: \"parse\" } }");
  const int64_t fits = kMostCacheBytes / ExampleBytes(plan);
  if (plan.train_examples <= fits) {
    lines.Add(4, "transform { cache {} }", "they fit in memory: read and parsed once");
    lines.Add(4, absl::StrCat("transform { shuffle { buffer_size: ", plan.train_examples, " } }"),
              "all of them, anew in each epoch");
  } else {
    const int64_t buffer = std::max<int64_t>(fits / 4, plan.training.train_batch_size);
    lines.Comment(
        4, absl::StrCat("They do not fit in a GiB: read anew in each epoch, and shuffled ", buffer,
                        " at a time. A file that is sorted wants to be shuffled "
                        "before."));
    lines.Add(4, absl::StrCat("transform { shuffle { buffer_size: ", buffer, " } }"));
  }
  lines.Add(4, "transform { repeat {} }");
  AddImageTransforms(plan, /*train=*/true, lines);
  lines.Add(4, "transform { batch { drop_remainder: true } }", "the size is train_batch_size");
  lines.Add(4, "transform { prefetch {} }");
  lines.Add(2, "}");
}

void AddTestInput(const InitPlan& plan, const std::vector<std::string>& files, bool few,
                  Lines& lines) {
  lines.Add(2, "input {");
  AddSource(plan, files, plan.eval_compression, lines);
  if (plan.shards != kNoShards) AddShard(plan, {plan.shards - 1}, lines);
  if (few) lines.Add(4, "transform { take { count: 10 } }");
  lines.Add(4, "transform { apply { transformation_func: \"parse\" } }");
  AddImageTransforms(plan, /*train=*/false, lines);
  lines.Add(2, "}");
}

std::string RunText(const InitPlan& plan, const InitSources& sources) {
  const PlannedTraining& training = plan.training;
  Lines lines;
  lines.Comment(0, absl::StrCat("Written by tpurun init for ", plan.examples, " examples; ",
                                "everything in it may be changed."));
  lines.Add(0, "model_dir: \"model\"");
  lines.Add(0, absl::StrCat("model_file: \"", kInitModelFile, "\""));
  const int cores = kDevice.num_replicas();
  lines.Comment(0, absl::StrCat("Each a multiple of the ", cores, " cores, which share a batch."));
  lines.Add(0, absl::StrCat("train_batch_size: ", training.train_batch_size));
  lines.Add(0, absl::StrCat("eval_batch_size: ", training.eval_batch_size));
  lines.Add(0, absl::StrCat("predict_batch_size: ", training.predict_batch_size));
  lines.Add(0, absl::StrCat("tpu_config { iterations_per_loop: \"100\" num_shards: ", cores, " }"));
  lines.Blank();
  AddParse(plan, lines);
  lines.Blank();
  lines.Add(0, "train {");
  const int64_t epochs = training.max_steps * training.train_batch_size / plan.train_examples;
  lines.Add(2, absl::StrCat("max_steps: ", training.max_steps),
            absl::StrCat("some ", epochs, " times all examples to train"));
  AddTrainInput(plan, sources.train, lines);
  lines.Add(0, "}");
  lines.Blank();
  lines.Comment(
      0,
      "Without steps: one pass over the examples that are not trained on; --input=FILE names "
      "others.");
  lines.Add(0, "evaluate {");
  AddTestInput(plan, sources.eval, /*few=*/false, lines);
  lines.Add(0, "}");
  lines.Blank();
  lines.Comment(0, plan.is_table
                       ? "Some examples to look at; --input=FILE names others, which may lack the "
                         "label."
                       : "Some examples to look at; --input=FILE names others.");
  lines.Add(0, "predict {");
  for (const char* key : {"class_ids", "probabilities"}) {
    if (!plan.is_regression()) lines.Add(2, absl::StrCat("keys: \"", key, "\""));
  }
  AddTestInput(plan, sources.eval, /*few=*/true, lines);
  lines.Add(0, "}");
  return lines.text();
}

// ---- model.textproto

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
    lines_.Add(0, absl::StrCat("name: \"", has_images() ? "cnn" : "dnn", "_",
                               plan_.is_regression() ? "regressor" : "classifier", "\""));
    AddTensors();
    lines_.Blank();
    for (const PlannedFeature& feature : plan_.features) {
      if (feature.is_image()) AddImageLayers(feature);
      if (feature.kind == Kind::kCategory) AddWordLayers(feature);
      if (feature.kind == Kind::kNumber) inputs_.push_back(feature.name);
    }
    AddDenseLayers();
    lines_.Blank();
    AddOptimizer();
    return lines_.text();
  }

 private:
  bool has_images() const {
    for (const PlannedFeature& feature : plan_.features) {
      if (feature.is_image()) return true;
    }
    return false;
  }

  void AddTensors() {
    for (const PlannedFeature& feature : plan_.features) {
      if (!IsUsed(feature)) continue;
      const bool ids = feature.kind == Kind::kCategory;
      lines_.Add(0, absl::StrCat("feature { name: ", Quote(feature.name),
                                 ids ? " dtype: INT64" : "", ShapeText(feature.shape), " }"));
    }
    const PlannedFeature& label = plan_.label_feature();
    lines_.Add(0, absl::StrCat("label { name: ", Quote(label.name),
                               plan_.is_regression() ? "" : " dtype: INT64", " }"));
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
    if (line.size() + input.size() <= kColumns) {
      lines_.Add(0, line + input, comment);
    } else {
      lines_.Add(0, line, comment);
      lines_.Add(2, input.substr(1));
    }
    return last_ = name;
  }

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
    const size_t words = feature.vocabulary.size();
    std::string layer =
        AddLayer(base + "_one_hot", absl::StrCat("one_hot { depth: ", words, " }"), {feature.name});
    if (words > kMostOneHotWords) {
      layer = AddLayer(base + "_embedding",
                       absl::StrCat("dense { units: ", kEmbeddingUnits, " use_bias: false }"),
                       {layer}, absl::StrCat(kEmbeddingUnits, " numbers for each word, learned"));
    }
    inputs_.push_back(layer);
  }

  void AddDenseLayers() {
    const PlannedTraining& training = plan_.training;
    std::string input = inputs_[0];
    // A scalar becomes one column.
    const bool one =
        inputs_.size() == 1 && (input != OneFeature().name || !OneFeature().shape.empty());
    if (!one) input = AddLayer("inputs", "concat {}", inputs_);
    const auto dropout = [&] {
      if (training.dropout == 0) return;
      input = AddLayer("dropout", absl::StrCat("dropout { rate: ", training.dropout, " }"), {input},
                       "in training: nothing is to rest on few values");
    };
    const auto hidden = [&](const std::string& name, int64_t units) {
      input =
          AddLayer(name, absl::StrCat("dense { units: ", units, " activation: RELU }"), {input});
    };
    if (has_images()) dropout();
    hidden("hidden_1", training.hidden_units);
    dropout();
    if (!has_images()) hidden("hidden_2", training.hidden_units / 2);
    const int64_t units = plan_.is_regression() ? 1 : std::ssize(plan_.classes);
    input = AddLayer("logits", absl::StrCat("dense { units: ", units, " }"), {input},
                     plan_.is_regression() ? "" : "one for each class");
    AddHead(input);
  }

  const PlannedFeature& OneFeature() const {
    for (const PlannedFeature& feature : plan_.features) {
      if (IsUsed(feature)) return feature;
    }
    return plan_.features.front();
  }

  void AddHead(const std::string& logits) {
    const std::string label = Quote(plan_.label_feature().name);
    if (plan_.is_regression()) {
      lines_.Add(
          0, absl::StrCat("head { regression { logits: ", Quote(logits), " label: ", label, " } }"),
          "mean squared error");
      return;
    }
    lines_.Blank();
    const std::vector<std::string>& names =
        plan_.class_names.empty() ? plan_.classes : plan_.class_names;
    if (names.size() <= kMostListedWords && (names != plan_.classes || !AreIds(names))) {
      std::vector<std::string> texts;
      for (size_t id = 0; id < names.size(); ++id) {
        texts.push_back(absl::StrCat(id, " ", Quote(names[id])));
      }
      lines_.Comment(0, absl::StrCat("Class ids: ", absl::StrJoin(texts, ", "), "."));
    }
    lines_.Add(0, absl::StrCat("head { classification { logits: ", Quote(logits), " label: ", label,
                               " } }"));
  }

  static bool AreIds(const std::vector<std::string>& names) {
    for (size_t id = 0; id < names.size(); ++id) {
      if (names[id] != absl::StrCat(id)) return false;
    }
    return true;
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

  const InitPlan& plan_;
  Lines lines_;
  UniqueNames names_;
  std::string last_;                 // the layer before, or the only feature
  std::vector<std::string> inputs_;  // of the dense layers
};

}  // namespace

std::map<std::string, std::string> InitFiles(const InitPlan& plan, const InitSources& sources) {
  std::map<std::string, std::string> texts = {{kInitRunFile, RunText(plan, sources)},
                                              {kInitModelFile, ModelWriter(plan).Write()}};
  for (const PlannedFeature& feature : plan.features) {
    if (!HasVocabularyFile(feature)) continue;
    texts[VocabularyFile(feature)] = absl::StrCat(absl::StrJoin(feature.vocabulary, "\n"), "\n");
  }
  return texts;
}

}  // namespace tpurun
