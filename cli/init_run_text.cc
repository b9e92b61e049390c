// run.textproto, as `tpurun init` writes it.
#include <algorithm>
#include <cstdint>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/init_lines.h"
#include "cli/init_text.h"
#include "proto/input.pb.h"
#include "runtime/base/text.h"
#include "runtime/spec/topology.h"

namespace tpurun {
namespace {

using Kind = PlannedFeature::Kind;

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

// The fields of a column that say how its numbers are written.
std::string NumberFormatText(const NumberFormat& format) {
  std::string text;
  if (!format.thousands.empty()) absl::StrAppend(&text, " thousands: ", Quote(format.thousands));
  if (format.decimal != ".") absl::StrAppend(&text, " decimal: ", Quote(format.decimal));
  for (const std::string& strip : format.strip) absl::StrAppend(&text, " strip: ", Quote(strip));
  return text;
}

void AddParseTime(const PlannedFeature& feature, Lines& lines) {
  const bool has_days = feature.times.front().second == proto::ParseTime::DAYS;
  lines.Comment(
      2, absl::StrCat(
             has_days ? absl::StrCat("Days since ", feature.time_epoch, ", and what") : "What",
             " recurs in the times to train on. A time is written as ", feature.time_format, "."));
  lines.Add(2, "transform {");
  lines.Add(4, "parse_time {");
  lines.Add(6, absl::StrCat("feature: ", Quote(feature.name), " format: ",
                            Quote(feature.time_format), " epoch: ", Quote(feature.time_epoch)));
  for (const auto& [name, part] : feature.times) {
    lines.Add(6, absl::StrCat("output { name: ", Quote(name),
                              " part: ", proto::ParseTime::Part_Name(part), " }"));
  }
  lines.Add(4, "}");
  lines.Add(2, "}");
}

void AddDecodeCsv(const InitPlan& plan, Lines& lines) {
  lines.Add(2, "transform {");
  lines.Add(4, "decode_csv {");
  for (const PlannedFeature& feature : plan.features) {
    if (feature.is_made) continue;
    std::string column = absl::StrCat("column { name: ", Quote(feature.name));
    if (HasTitle(feature, plan)) {
      absl::StrAppend(&column, " title: ", Quote(feature.field_title));
    }
    if (feature.dtype != proto::FLOAT32) {
      absl::StrAppend(&column, " dtype: ", proto::DataType_Name(feature.dtype));
    }
    absl::StrAppend(&column, ShapeText(feature.shape));
    if (feature.kind != Kind::kLeftOut) {
      absl::StrAppend(&column, NumberFormatText(feature.number_format));
    }
    if (feature.has_default || feature.kind == Kind::kLeftOut) {
      absl::StrAppend(&column, " default_value: ", Quote(feature.default_value));
    }
    if (!feature.missing_indicator.empty()) {
      absl::StrAppend(&column, " missing_indicator: ", Quote(feature.missing_indicator));
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
  if (!plan.na_values.empty()) {
    const std::string list = absl::StrJoin(QuoteAll(plan.na_values), ", ");
    lines.Add(
        6,
        absl::StrCat("na_value: ", plan.na_values.size() > 1 ? absl::StrCat("[", list, "]") : list),
        "as good as an empty field");
  }
  lines.Add(4, "}");
  lines.Add(2, "}");
}

void AddDecodeJson(const InitPlan& plan, Lines& lines) {
  lines.Add(2, "transform {");
  lines.Add(4, "decode_json {");
  for (const PlannedFeature& feature : plan.features) {
    if (feature.is_made) continue;
    if (feature.kind == Kind::kLeftOut) {
      lines.Comment(6, absl::StrCat(Quote(feature.title), " is left out: ", feature.comment));
      continue;
    }
    std::string text = absl::StrCat("feature { name: ", Quote(feature.name));
    if (feature.title != feature.name) absl::StrAppend(&text, " key: ", Quote(feature.title));
    if (feature.dtype != proto::FLOAT32) {
      absl::StrAppend(&text, " dtype: ", proto::DataType_Name(feature.dtype));
    }
    absl::StrAppend(&text, ShapeText(feature.shape));
    if (feature.has_default) {
      absl::StrAppend(&text, " default_value: ", Quote(feature.default_value));
    }
    if (!feature.missing_indicator.empty()) {
      absl::StrAppend(&text, " missing_indicator: ", Quote(feature.missing_indicator));
    }
    if (feature.kind == Kind::kLabel) absl::StrAppend(&text, " label: true");
    lines.Add(6, text + " }", feature.comment);
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
    lines.Add(
        6,
        absl::StrCat("feature { name: ", Quote(feature.name), " ", ExampleKind(feature), " {",
                     arguments, "}", feature.kind == Kind::kLabel ? " label: true" : "", " }"),
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
  if (feature.hash_buckets > 0) {
    return lines.Add(
        2, absl::StrCat("transform { string_to_hash_bucket_fast { feature: ", Quote(feature.name),
                        " num_buckets: ", feature.hash_buckets, " } }"));
  }
  const std::string head =
      absl::StrCat("transform { lookup { feature: ", Quote(feature.name), " vocabulary_");
  if (!feature.vocabulary_file.empty()) {
    return lines.Add(2, absl::StrCat(head, "file: ", Quote(feature.vocabulary_file), " } }"));
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

// The label as its head takes it: a number, the name of a class or the id of one.
void AddLabel(const InitPlan& plan, Lines& lines) {
  const PlannedFeature& label = plan.label_feature();
  const auto cast = [&](const char* dtype) {
    lines.Add(2, absl::StrCat("transform { cast { feature: ", Quote(label.name), " dtype: ", dtype,
                              " } }"));
  };
  if (plan.is_regression()) {
    if (label.dtype == proto::INT64) cast("FLOAT32");
    return;
  }
  if (label.dtype == proto::FLOAT32) cast("INT64");
  if (label.vocabulary.empty()) return;
  lines.Comment(2, "The classes, by class id.");
  AddLookup(label, lines);
}

// Whether a feature of the model is as `has` says.
template <typename Has>
bool AnyFeature(const InitPlan& plan, const Has& has) {
  return std::any_of(
      plan.features.begin(), plan.features.end(),
      [&](const PlannedFeature& feature) { return IsUsed(feature) && has(feature); });
}

// Columns of a table, or the features of a tf.Example.
void AddDecode(const InitPlan& plan, Lines& lines) {
  if (plan.is_json) {
    AddDecodeJson(plan, lines);
  } else {
    plan.is_table ? AddDecodeCsv(plan, lines) : AddParseExample(plan, lines);
  }
  for (const PlannedFeature& feature : plan.features) {
    if (feature.kind == Kind::kTime) AddParseTime(feature, lines);
  }
}

void AddScales(const InitPlan& plan, Lines& lines) {
  if (AnyFeature(plan, [](const PlannedFeature& feature) { return !feature.mean.empty(); })) {
    lines.Comment(2,
                  "To mean 0 and stddev 1, from which layers learn quickest: those of the examples "
                  "to train.");
  }
  for (const PlannedFeature& feature : plan.features) {
    if (IsUsed(feature) && !feature.mean.empty()) AddNormalize(feature, lines);
  }
}

// A vector of ones for the runs of words that a text has. `name` is the field of its feature.
void AddBag(const PlannedFeature& text, const std::string& name, Lines& lines) {
  lines.Comment(2, absl::StrCat("A vector with 1 for each run of 1 to ", text.ngrams,
                                " words that the text has, lowered and without punctuation; runs "
                                "are told apart by a hash."));
  lines.Add(2, absl::StrCat("transform { split { ", name,
                            " standardize: LOWER_AND_STRIP_PUNCTUATION } }"));
  std::vector<int64_t> widths(text.ngrams);
  std::iota(widths.begin(), widths.end(), 1);
  lines.Add(2, absl::StrCat("transform { ngrams { ", name, " width: [", absl::StrJoin(widths, ", "),
                            "] } }"));
  lines.Add(2, absl::StrCat("transform { string_to_hash_bucket_fast { ", name,
                            " num_buckets: ", text.hash_buckets, " } }"));
  lines.Add(2, absl::StrCat("transform { category_encoding { ", name,
                            " num_tokens: ", text.hash_buckets, " } }"));
}

// The words of a text as ids: as many for each text.
void AddText(const PlannedFeature& text, Lines& lines) {
  const std::string name = absl::StrCat("feature: ", Quote(text.name));
  if (text.ngrams > 0) return AddBag(text, name, lines);
  lines.Comment(
      2, absl::StrCat(
             "The words of a text, lowered and without punctuation, as ids: their lines in ",
             text.vocabulary_file, ", from 0. Another word is 1; a shorter text ends with zeros."));
  lines.Add(2, absl::StrCat("transform { split { ", name,
                            " standardize: LOWER_AND_STRIP_PUNCTUATION } }"));
  lines.Add(2, absl::StrCat("transform { lookup { ", name, " vocabulary_file: ",
                            Quote(text.vocabulary_file), " default_value: 1 } }"));
  lines.Add(2, absl::StrCat("transform { to_tensor { ", name, " length: ", text.length, " } }"),
            "a longer text is cut");
}

void AddLookups(const InitPlan& plan, Lines& lines) {
  for (const PlannedFeature& feature : plan.features) {
    if (feature.kind == Kind::kText) AddText(feature, lines);
  }
  if (AnyFeature(plan, [](const PlannedFeature& feature) {
        return feature.kind == Kind::kCategory && !feature.vocabulary.empty();
      })) {
    lines.Comment(2,
                  "Words as ids, those of the examples to train; any other word is -1, which is no "
                  "word to the model.");
  }
  for (const PlannedFeature& feature : plan.features) {
    if (feature.kind == Kind::kCategory &&
        (!feature.vocabulary.empty() || feature.hash_buckets > 0)) {
      AddLookup(feature, lines);
    }
  }
}

void AddParse(const InitPlan& plan, Lines& lines) {
  lines.Comment(0, "What train, evaluate and predict read of an example.");
  lines.Add(0, "transformation_func {");
  lines.Add(2, "name: \"parse\"");
  AddDecode(plan, lines);
  AddScales(plan, lines);
  AddLookups(plan, lines);
  AddLabel(plan, lines);
  lines.Add(0, "}");
}

// ---- of a time series

std::string SliceText(const std::string& arguments) {
  return absl::StrCat("transform { slice { ", arguments, " } }");
}

void AddSeriesFunctions(const InitPlan& plan, Lines& lines) {
  const PlannedSeries& series = plan.series;
  lines.Comment(0, "What train, evaluate and predict read of a row.");
  lines.Add(0, "transformation_func {");
  lines.Add(2, "name: \"parse\"");
  AddDecode(plan, lines);
  lines.Add(0, "}");
  lines.Comment(0, absl::StrCat("Of a window of ", series.span(),
                                " rows: what the model sees, the "
                                "first ",
                                series.window, ", and what it predicts, of the last."));
  lines.Add(0, "transformation_func {");
  lines.Add(2, "name: \"ahead\"");
  for (const PlannedFeature& label : series.labels) {
    lines.Add(
        2, SliceText(absl::StrCat("feature: ", Quote(label.title), " output: ", Quote(label.name),
                                  " begin: ", series.span() - 1, " size: 1")));
  }
  for (const PlannedFeature& feature : plan.features) {
    if (!IsUsed(feature)) continue;
    lines.Add(2,
              SliceText(absl::StrCat("feature: ", Quote(feature.name), " size: ", series.window)));
  }
  lines.Add(0, "}");
  lines.Add(0, "transformation_func {");
  lines.Add(2, "name: \"scale\"");
  AddScales(plan, lines);
  lines.Add(0, "}");
}

void AddWindow(int64_t size, Lines& lines) {
  lines.Add(4, absl::StrCat("transform { window { size: ", size, " shift: 1 } }"));
}

void AddApply(const char* name, Lines& lines) {
  lines.Add(4, absl::StrCat("transform { apply { transformation_func: \"", name, "\" } }"));
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
    if (feature.ngrams > 0) bytes += 4 * feature.hash_buckets;
    bytes += 8 + 8 * feature.length + (encoded ? feature.file_bytes : 4 * feature.elements());
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

// What follows when the examples of an epoch are there.
void AddEpochs(const InitPlan& plan, Lines& lines) {
  constexpr int64_t kMostCacheBytes = int64_t{1} << 30;
  const int64_t fits =
      kMostCacheBytes / (ExampleBytes(plan) * std::max<int64_t>(1, plan.series.window));
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
}

void AddTrainInput(const InitPlan& plan, const std::vector<std::string>& files, Lines& lines) {
  lines.Add(2, "input {");
  AddSource(plan, files, plan.compression, lines);
  if (plan.is_series()) {
    lines.Add(4, absl::StrCat("transform { take { count: ", plan.series.train_rows, " } }"),
              absl::StrCat("of ", plan.series.rows, " rows: the last tenth is held out"));
    AddApply("parse", lines);
    AddWindow(plan.series.span(), lines);
    AddApply("ahead", lines);
    AddApply("scale", lines);
  } else {
    AddTrainShard(plan, lines);
    AddApply("parse", lines);
  }
  AddEpochs(plan, lines);
  lines.Add(2, "}");
}

// Windows whose label is held out; their first rows may be trained on. `last`: the last window,
// without a label.
void AddSeriesTestInput(const InitPlan& plan, const std::vector<std::string>& files, bool last,
                        Lines& lines) {
  const PlannedSeries& series = plan.series;
  lines.Add(2, "input {");
  AddSource(plan, files, plan.eval_compression, lines);
  const int64_t skipped =
      last ? series.rows - series.window : series.train_rows - series.span() + 1;
  lines.Add(4, absl::StrCat("transform { skip { count: ", skipped, " } }"));
  AddApply("parse", lines);
  AddWindow(last ? series.window : series.span(), lines);
  if (!last) AddApply("ahead", lines);
  AddApply("scale", lines);
  lines.Add(2, "}");
}

void AddTestInput(const InitPlan& plan, const std::vector<std::string>& files, bool few,
                  Lines& lines) {
  lines.Add(2, "input {");
  AddSource(plan, files, plan.eval_compression, lines);
  if (plan.shards != kNoShards) AddShard(plan, {plan.shards - 1}, lines);
  if (few) lines.Add(4, "transform { take { count: 10 } }");
  AddApply("parse", lines);
  AddImageTransforms(plan, /*train=*/false, lines);
  lines.Add(2, "}");
}

void AddTrainAndEvaluate(const InitPlan& plan, Lines& lines) {
  const PlannedTraining& training = plan.training;
  if (training.steps_per_eval == 0) return;
  lines.Blank();
  lines.Comment(
      0,
      absl::StrCat("There are few examples: train_and_evaluate ends the training when the loss of "
                   "those held out has not fallen for ",
                   training.patience,
                   " evaluations, and the checkpoint with the lowest one is then the newest. The "
                   "length of the "
                   "training then depends on them, so other examples may give a worse result: "
                   "evaluate --input=FILE tells. train does not read this."));
  lines.Add(0, "train_and_evaluate {");
  lines.Add(2, absl::StrCat("steps_per_eval: ", training.steps_per_eval));
  // Not `loss`, which has the regularization too; several heads have no average_loss in common.
  const bool several = plan.series.labels.size() > 1;
  lines.Add(
      2, absl::StrCat("monitor { metric: \"", several ? "loss" : "average_loss", "\" mode: MIN }"));
  lines.Add(
      2, absl::StrCat("early_stopping { patience: ", training.patience, " restore_best: true }"));
  lines.Add(0, "}");
}

void AddTests(const InitPlan& plan, const std::vector<std::string>& files, Lines& lines) {
  lines.Comment(
      0,
      "Without steps: one pass over the examples that are not trained on; --input=FILE names "
      "others.");
  lines.Add(0, "evaluate {");
  AddTestInput(plan, files, /*few=*/false, lines);
  lines.Add(0, "}");
  lines.Blank();
  lines.Comment(0,
                "Some examples to look at; --input=FILE names others, which may lack the label.");
  lines.Add(0, "predict {");
  if (!plan.is_regression()) {
    lines.Add(2, plan.label_vocabulary().empty() ? "keys: \"class_ids\"" : "keys: \"classes\"");
    lines.Add(2, "keys: \"probabilities\"");
  }
  AddTestInput(plan, files, /*few=*/true, lines);
  lines.Add(0, "}");
}

void AddSeriesTests(const InitPlan& plan, const std::vector<std::string>& files, Lines& lines) {
  lines.Comment(0, absl::StrCat("What is predicted are the last ", plan.eval_examples(),
                                " rows, which are not trained on; --input=FILE names others."));
  lines.Add(0, "evaluate {");
  AddSeriesTestInput(plan, files, /*last=*/false, lines);
  lines.Add(0, "}");
  lines.Blank();
  lines.Comment(0, absl::StrCat("What comes ", plan.series.horizon,
                                plan.series.horizon == 1 ? " row" : " rows",
                                " after the end of the file. With --input=FILE all windows of a "
                                "file: the last line is what comes after its end."));
  lines.Add(0, "predict {");
  AddSeriesTestInput(plan, files, /*last=*/true, lines);
  lines.Add(0, "}");
}

}  // namespace

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
  plan.is_series() ? AddSeriesFunctions(plan, lines) : AddParse(plan, lines);
  lines.Blank();
  lines.Add(0, "train {");
  const int64_t epochs = training.max_steps * training.train_batch_size / plan.train_examples;
  lines.Add(2, absl::StrCat("max_steps: ", training.max_steps),
            absl::StrCat("some ", epochs, " times all examples to train"));
  AddTrainInput(plan, sources.train, lines);
  lines.Add(0, "}");
  AddTrainAndEvaluate(plan, lines);
  lines.Blank();
  if (plan.is_series()) {
    AddSeriesTests(plan, sources.eval, lines);
  } else {
    AddTests(plan, sources.eval, lines);
  }
  return lines.text();
}

}  // namespace tpurun
