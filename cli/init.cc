#include "cli/init.h"

#include <glog/logging.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/init_kinds.h"
#include "cli/init_lines.h"
#include "cli/init_plan.h"
#include "cli/init_text.h"
#include "cli/json.h"
#include "cli/signals.h"
#include "data/convert/convert.h"
#include "data/convert/example_files.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/io/file.h"
#include "runtime/io/output_file.h"

namespace tpurun {
namespace {

// What a pair of idx files, or a folder of images, becomes.
constexpr char kRecordFile[] = "examples.tfrecord";
constexpr char kEvalRecordFile[] = "evaluate.tfrecord";

// --model, by default the first of the two.
absl::StatusOr<std::string> ReadModel(const CommandLine& command,
                                      const std::array<const char*, 2>& known) {
  const std::string model = command.Has("model") ? command.GetString("model") : known[0];
  if (model == known[0] || model == known[1]) return model;
  return absl::InvalidArgumentError(
      absl::StrCat("--model: want ", known[0], " or ", known[1], ", got ", Quote(model)));
}

absl::StatusOr<TextOptions> ReadTextOptions(const CommandLine& command, const InitKind& kind) {
  TextOptions options;
  struct SizeFlag {
    const char* name;
    int64_t most;
    int64_t* value;
  };
  constexpr int64_t kMostVocabulary = 1000000, kMostLength = 4096, kMostRun = 10;
  for (const SizeFlag& flag :
       {SizeFlag{"vocabulary_size", kMostVocabulary, &options.vocabulary_size},
        SizeFlag{"sequence_length", kMostLength, &options.sequence_length},
        SizeFlag{"ngrams", kMostRun, &options.ngrams}}) {
    if (!command.Has(flag.name)) continue;
    options.given = flag.name;
    *flag.value = command.GetInt(flag.name, 0);
    if (*flag.value >= 1 && *flag.value <= flag.most) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--", flag.name, ": want 1 to ", flag.most, " words, got ", *flag.value));
  }
  if (command.Has("model") && !kind.is_series) options.given = "model";
  if (options.given != nullptr && !kind.reads_texts) {
    return absl::InvalidArgumentError(absl::StrCat("--", options.given,
                                                   options.given == std::string_view("model")
                                                       ? " is for texts and for init series"
                                                       : " is for texts",
                                                   ", and not for init ", kind.name));
  }
  if (!kind.reads_texts) return options;
  if (options.ngrams > 0) {
    for (const char* flag : {"vocabulary_size", "sequence_length", "model"}) {
      if (!command.Has(flag)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("--", flag,
                       ": a text of --ngrams has no vocabulary, no length and a model "
                       "of its own; give one of the two flags"));
    }
    options.model = TextModel::kBag;
    return options;
  }
  ASSIGN_OR_RETURN(const std::string model, ReadModel(command, {"conv", "mean"}));
  options.model = model == "conv" ? TextModel::kConv : TextModel::kMean;
  return options;
}

absl::StatusOr<SeriesOptions> ReadSeriesOptions(const CommandLine& command, const InitKind& kind) {
  for (const char* flag : {"window", "horizon"}) {
    if (!command.Has(flag) || kind.is_series) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--", flag, " is for init series, and not for init ", kind.name));
  }
  constexpr int64_t kMostRows = 1 << 19;  // the window transform takes twice as many
  for (const char* flag : {"window", "horizon"}) {
    const int64_t value = command.GetInt(flag, 1);
    if (value >= 1 && value <= kMostRows) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--", flag, ": want 1 to ", kMostRows, " rows, got ", value));
  }
  ASSIGN_OR_RETURN(const std::string model,
                   kind.is_series ? ReadModel(command, {"dense", "lstm"}) : std::string());
  return SeriesOptions{
      .labels = absl::StrSplit(command.GetString("label"), ',', absl::SkipEmpty()),
      .ignore = command.GetList("ignore"),
      .window = command.GetInt("window", 0),
      .horizon = command.GetInt("horizon", 1),
      .model = model == "lstm" ? PlannedSeries::Model::kLstm : PlannedSeries::Model::kDense};
}

// Those that say what the columns of a table are.
absl::Status CheckTableFlags(const CommandLine& command, const InitKind& kind) {
  if (command.Has("delimiter") && kind.name != std::string_view("csv") && !kind.is_series) {
    return absl::InvalidArgumentError(
        absl::StrCat("--delimiter is for the columns of CSV files, and not for init ", kind.name));
  }
  if (command.Has("numbers") && kind.is_table && kind.name != std::string_view("csv")) {
    return absl::InvalidArgumentError(
        absl::StrCat("--numbers is for the texts of CSV files, and not for init ", kind.name));
  }
  for (const char* flag : {"ids", "ignore", "text", "numbers", "missing_indicator", "impute"}) {
    if (!command.Has(flag)) continue;
    if (!kind.is_table && (!kind.is_series || flag != std::string_view("ignore"))) {
      return absl::InvalidArgumentError(
          absl::StrCat("--", flag, " is for the columns of a table, and not for init ", kind.name));
    }
    const bool is_list =
        flag != std::string_view("missing_indicator") && flag != std::string_view("impute");
    if (is_list && command.GetList(flag).empty()) {
      return absl::InvalidArgumentError(absl::StrCat("--", flag, ": got no name, want COLUMN,..."));
    }
  }
  return absl::OkStatus();
}

absl::Status ReadClassWeight(const CommandLine& command, const InitKind& kind, InitArgs& args) {
  args.balances_classes = command.Has("class_weight");
  if (!args.balances_classes) return absl::OkStatus();
  if (kind.is_series) {
    return absl::InvalidArgumentError(
        "--class_weight is for classes, and init series predicts numbers");
  }
  const std::string value = command.GetString("class_weight");
  if (value == "balanced") return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--class_weight: want balanced, got ", Quote(value)));
}

absl::StatusOr<InitArgs> ReadArgs(const CommandLine& command, const InitKind& kind) {
  InitArgs args = {.files = {command.arguments().begin() + 1, command.arguments().end()},
                   .eval_files = command.GetList("eval"),
                   .output = command.GetString("output"),
                   .table = {.label = command.GetString("label"),
                             .ids = command.GetList("ids"),
                             .ignore = command.GetList("ignore"),
                             .texts = command.GetList("text"),
                             .numbers = command.GetList("numbers"),
                             .missing_indicator = command.GetBool("missing_indicator"),
                             .imputes = command.GetBool("impute")},
                   .labels = command.GetString("labels")};
  if (args.output.empty()) {
    return absl::InvalidArgumentError("init needs --output=DIR; see tpurun help init");
  }
  if (command.Has("label") && args.table.label.empty()) {
    return absl::InvalidArgumentError("--label: got \"\", want the name of a column or feature");
  }
  if (command.Has("eval") && args.eval_files.empty()) {
    return absl::InvalidArgumentError("--eval: got no name, want FILE,...: what to evaluate with");
  }
  if (std::count(args.files.begin(), args.files.end(), "-") +
          std::count(args.eval_files.begin(), args.eval_files.end(), "-") >
      0) {
    return absl::InvalidArgumentError(
        "init: got \"-\" (standard input), want files: a training reads them again");
  }
  for (const std::string& file : args.eval_files) {
    for (const std::string& other : args.files) {
      std::error_code error;
      if (!std::filesystem::equivalent(file, other, error)) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "--eval: ", file, " is trained on too", file == other ? "" : absl::StrCat(", as ", other),
          "; want files of other examples, or leave it out of the others"));
    }
  }
  RETURN_IF_ERROR(CheckTableFlags(command, kind));
  ASSIGN_OR_RETURN(args.delimiter, ReadDelimiter(command));
  RETURN_IF_ERROR(ReadClassWeight(command, kind, args));
  if (!args.labels.empty() && !kind.reads_labels) {
    return absl::InvalidArgumentError(
        absl::StrCat("--labels is for init text, and not for init ", kind.name));
  }
  ASSIGN_OR_RETURN(args.table.text, ReadTextOptions(command, kind));
  ASSIGN_OR_RETURN(args.series, ReadSeriesOptions(command, kind));
  RETURN_IF_ERROR(kind.check(args));
  return args;
}

// Holds out the files of --eval; without them every tenth example, or every eleventh where that
// leaves less to warn of: classes that recur every second row are all in one part of ten.
absl::StatusOr<InitPlan> PlanSplit(const InitKind& kind, const InitArgs& args) {
  if (!args.eval_files.empty()) return kind.plan(args, kNoShards);
  ASSIGN_OR_RETURN(InitPlan plan, kind.plan(args, kInitShards));
  if (plan.warnings.empty() || plan.shards == kNoShards) return plan;
  absl::StatusOr<InitPlan> other = kind.plan(args, kOtherInitShards);
  return other.ok() && other->warnings.size() < plan.warnings.size() ? *std::move(other) : plan;
}

absl::Status BalanceClasses(InitPlan& plan) {
  if (plan.is_regression()) {
    return absl::InvalidArgumentError(absl::StrCat("--class_weight: the label ",
                                                   Quote(plan.label_feature().name),
                                                   " is a number, want classes"));
  }
  plan.class_weight = BalancedWeights(plan);
  return absl::OkStatus();
}

// ---- what is written

absl::Status CheckNotThere(const std::string& path) {
  if (!FileExists(path)) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat(
      "cannot write ", path, ": it is there already: remove it, or choose another --output"));
}

// As the configuration names it: below the folder by its name there, else from the root.
std::string PathFrom(const std::string& folder, const std::string& file) {
  std::error_code error;
  const auto path = std::filesystem::absolute(file, error).lexically_normal();
  const auto base = std::filesystem::absolute(folder, error).lexically_normal();
  const auto relative = path.lexically_relative(base);
  const bool below = !relative.empty() && *relative.begin() != ".." && *relative.begin() != ".";
  return (below ? relative : path).string();
}

std::vector<std::string> PathsFrom(const std::string& folder,
                                   const std::vector<std::string>& files) {
  std::vector<std::string> paths;
  for (const std::string& file : files) paths.push_back(PathFrom(folder, file));
  return paths;
}

// By the name that it gets in the folder, what is converted into it; the output is not set.
using Conversions = std::map<std::string, ConvertArgs>;

// The files of the folder, which appear under their names when all are complete: the configuration
// last.
class InitFolder {
 public:
  InitFolder(std::string path, std::map<std::string, std::string> texts, const InitKind& kind)
      : path_(std::move(path)), texts_(std::move(texts)), kind_(kind) {}

  absl::Status Write(const Conversions& conversions) {
    const bool made = !FileExists(path_);
    const absl::Status written = WriteAll(conversions);
    if (written.ok()) return written;
    for (const std::string& file : named_) RemoveFile(file).IgnoreError();
    files_.clear();  // and with them what has no name yet
    std::error_code error;
    if (made) std::filesystem::remove(path_, error);  // when nothing else is in it
    return written;
  }

 private:
  absl::Status WriteAll(const Conversions& conversions) {
    RETURN_IF_ERROR(MakeDirectories(path_));
    RETURN_IF_ERROR(WriteTexts());
    // The examples to train on first: theirs are the classes.
    for (auto it = conversions.rbegin(); it != conversions.rend(); ++it) {
      RETURN_IF_ERROR(WriteRecords(it->first, it->second));
    }
    for (const auto& file : files_) {
      RETURN_IF_ERROR(file->Rename());
      named_.push_back(file->path().text());
    }
    return SyncDirectory(path_);
  }

  absl::Status WriteTexts() {
    std::vector<std::string> temporary;
    for (const char* name : {kRecordFile, kEvalRecordFile, kClassesFile}) {
      temporary.push_back(TemporaryName(JoinPath(path_, name)));
    }
    for (const auto& [name, text] : texts_) {
      RETURN_IF_ERROR(CheckNotThere(JoinPath(path_, name)));
      temporary.push_back(TemporaryName(JoinPath(path_, name)));
    }
    RemoveOnInterrupt(temporary);
    for (const auto& [name, text] : texts_) {
      ASSIGN_OR_RETURN(const FilePath target, ReplaceableFile(JoinPath(path_, name)));
      RemoveTemporaryFilesOf(target);
      ASSIGN_OR_RETURN(std::unique_ptr<OutputFile> file, OutputFile::Create(target));
      RETURN_IF_ERROR(file->Append(text));
      RETURN_IF_ERROR(file->Close());
      const bool is_last = name == kInitRunFile;
      files_.insert(is_last ? files_.end() : files_.begin(), std::move(file));
    }
    return absl::OkStatus();
  }

  absl::Status WriteRecords(const std::string& name, ConvertArgs args) {
    const std::string path = JoinPath(path_, name);
    RETURN_IF_ERROR(CheckNotThere(path));
    ASSIGN_OR_RETURN(const std::unique_ptr<ExampleFiles> records,
                     ExampleFiles::Create(path, 1, Compression::kNone, args.inputs));
    args.output = path;
    args.warn = [](const std::string& message) { LOG(WARNING) << message << "."; };
    RETURN_IF_ERROR(kind_.convert(
        args, [&records](const tensorflow::Example& example) { return records->Write(example); }));
    const std::string classes = JoinPath(path_, kClassesFile);  // of images
    if (FileExists(classes)) named_.push_back(classes);
    RETURN_IF_ERROR(records->Commit());
    named_.push_back(path);
    return absl::OkStatus();
  }

  const std::string path_;
  const std::map<std::string, std::string> texts_;
  const InitKind& kind_;
  std::vector<std::unique_ptr<OutputFile>> files_;  // in the order that they get their names in
  std::vector<std::string> named_;
};

// ---- what is said

Json ResultJson(const InitPlan& plan, const std::string& config, const std::string& command) {
  Json features = Json::array(), left_out = Json::array();
  for (const PlannedFeature& feature : plan.features) {
    if (feature.kind == PlannedFeature::Kind::kLabel) continue;
    if (feature.kind == PlannedFeature::Kind::kTime) continue;  // what is made from it is there
    Json& list = feature.kind == PlannedFeature::Kind::kLeftOut ? left_out : features;
    list.push_back(JsonBytes(feature.name));
  }
  Json result = {{"config", config},
                 {"label", JsonBytes(plan.label_feature().name)},
                 {"classes", plan.is_regression() ? Json() : Json(plan.classes.size())},
                 {"features", features},
                 {"left_out", left_out},
                 {"train_examples", plan.train_examples},
                 {"eval_examples", plan.eval_examples()},
                 {"next", command}};
  if (plan.is_series()) {
    Json& labels = result["labels"] = Json::array();
    for (const PlannedFeature& label : plan.series.labels) labels.push_back(JsonBytes(label.title));
  }
  return result;
}

void Advise(const InitPlan& plan, size_t files, const std::string& config,
            const std::string& command) {
  if (files > 1 && plan.shards != kNoShards) {
    LOG(INFO)
        << "The " << files << " files are one set of examples: 1 of " << plan.shards << ", "
        << plan.eval_examples() << " of " << plan.examples
        << ", is held out to evaluate with, the others are trained on. A file that is not to be "
           "trained on is named by --eval=FILE.";
  }
  for (const PlannedFeature& feature : plan.features) {
    if (feature.kind != PlannedFeature::Kind::kLeftOut) continue;
    LOG(INFO) << "Left out " << Quote(TitleOf(feature)) << ": " << feature.comment << ".";
  }
  for (const std::string& note : plan.notes) LOG(INFO) << note << ".";
  for (const std::string& warning : plan.warnings) LOG(WARNING) << warning << ".";
  LOG(INFO)
      << config << " and its model are there to be read and changed. Next: " << command
      << "; tpurun evaluate with the same --config tells how good it is on examples held out.";
}

}  // namespace

std::vector<Flag> InitFlags() {
  return {
      {.name = "output",
       .type = Flag::Type::kPath,
       .value_name = "DIR",
       .help = "the folder to write them into; what is there is not overwritten"},
      {.name = "label",
       .value_name = "NAME",
       .help = "what to predict: a column (default the last) or feature (label)"},
      {.name = "ids",
       .type = Flag::Type::kList,
       .value_name = "COLUMN,...",
       .help = "csv, jsonl: columns that are ids, whatever they look like"},
      {.name = "ignore",
       .type = Flag::Type::kList,
       .value_name = "COLUMN,...",
       .help = "csv, jsonl, series: columns to leave out"},
      {.name = "text",
       .type = Flag::Type::kList,
       .value_name = "COLUMN,...",
       .help = "csv, jsonl: columns that are texts of words; default those that look so"},
      {.name = "numbers",
       .type = Flag::Type::kList,
       .value_name = "COLUMN,...",
       .help = "csv: columns that are numbers, though zeros lead them as in 00123"},
      {.name = "delimiter",
       .value_name = "C",
       .help = "csv, series: the character between two columns, or tab; default what the first "
               "line has of , ; tab |"},
      {.name = "labels",
       .type = Flag::Type::kPath,
       .value_name = "FILE",
       .help = "text: the labels of the lines of a file of texts, a line each"},
      {.name = "vocabulary_size",
       .type = Flag::Type::kInt,
       .value_name = "N",
       .help = "csv, jsonl, text: words that are known, the most frequent ones (default "
               "10000)"},
      {.name = "sequence_length",
       .type = Flag::Type::kInt,
       .value_name = "N",
       .help = "csv, jsonl, text: words of a text that are read (default: 95 of 100 texts whole)"},
      {.name = "ngrams",
       .type = Flag::Type::kInt,
       .value_name = "N",
       .help = "csv, jsonl, text: a linear model of the runs of up to N words that a text has"},
      {.name = "class_weight",
       .value_name = "balanced",
       .help = "each class counts alike in the training, whatever its size"},
      {.name = "missing_indicator",
       .type = Flag::Type::kBool,
       .help = "csv, jsonl: a further feature: 1 where a number is missing"},
      {.name = "impute",
       .type = Flag::Type::kBool,
       .help = "csv, jsonl: new rows may lack any value: the mean of a number, no category"},
      {.name = "window",
       .type = Flag::Type::kInt,
       .value_name = "N",
       .help = "series: rows that the model sees (default 24)"},
      {.name = "horizon",
       .type = Flag::Type::kInt,
       .value_name = "N",
       .help = "series: how many rows after the last one it predicts (default 1)"},
      {.name = "model",
       .value_name = "dense|lstm|conv|mean",
       .help = "series: dense layers (default) or LSTM; texts: convolution (default) or mean"},
      {.name = "eval",
       .type = Flag::Type::kPaths,
       .value_name = "FILE,...",
       .help = "other files to evaluate with, a pair for idx; default every tenth example "
               "of the first"}};
}

absl::Status InitCommand(const CommandLine& command) {
  ASSIGN_OR_RETURN(const InitKind* const kind, FindInitKind(command.arguments().front()));
  ASSIGN_OR_RETURN(const InitArgs args, ReadArgs(command, *kind));
  const std::string config = JoinPath(args.output, kInitRunFile);
  // Before all of the data is read.
  RETURN_IF_ERROR(CheckNotThere(config));
  RETURN_IF_ERROR(CheckNotThere(JoinPath(args.output, kInitModelFile)));
  ASSIGN_OR_RETURN(InitPlan plan, PlanSplit(*kind, args));
  if (args.balances_classes) RETURN_IF_ERROR(BalanceClasses(plan));
  InitSources sources;
  Conversions conversions;
  if (kind->convert != nullptr) {
    sources.train = sources.eval = {kRecordFile};
    conversions[kRecordFile] = {.inputs = args.files, .labels = args.labels};
    if (!args.eval_files.empty()) {
      sources.eval = {kEvalRecordFile};
      conversions[kEvalRecordFile] = {.inputs = args.eval_files};
    }
  } else {
    sources.train = PathsFrom(args.output, args.files);
    sources.eval =
        args.eval_files.empty() ? sources.train : PathsFrom(args.output, args.eval_files);
  }
  RETURN_IF_ERROR(InitFolder(args.output, InitFiles(plan, sources), *kind).Write(conversions));
  const std::string next =
      absl::StrCat("tpurun ", plan.training.steps_per_eval > 0 ? "train_and_evaluate" : "train",
                   " --config=", ShellWord(config));
  Advise(plan, kind->convert != nullptr ? 1 : args.files.size(), config, next);
  return WriteResult(ResultJson(plan, config, next));
}

}  // namespace tpurun
