#include "cli/init.h"

#include <glog/logging.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "cli/init_plan.h"
#include "cli/init_text.h"
#include "cli/json.h"
#include "cli/signals.h"
#include "data/convert/convert.h"
#include "data/convert/example_files.h"
#include "data/init/csv_table.h"
#include "data/init/examples.h"
#include "data/init/json_table.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/io/file.h"
#include "runtime/io/output_file.h"

namespace tpurun {
namespace {

// What a pair of idx files, or a folder of images, becomes.
constexpr char kRecordFile[] = "examples.tfrecord";
constexpr char kEvalRecordFile[] = "evaluate.tfrecord";

struct InitArgs {
  std::vector<std::string> files;
  std::vector<std::string> eval_files;  // of --eval; empty: some examples of `files` are held out
  std::string output;
  TableOptions table;
  SeriesOptions series;
};

// ---- what is in the data

// What is wrong with the data gets its place, the first file.
absl::StatusOr<InitPlan> AnnotatePlan(absl::StatusOr<InitPlan> plan, const InitArgs& args) {
  if (plan.ok() || plan.status().code() != absl::StatusCode::kDataLoss) return plan;
  return Annotate(plan.status(), args.files.front());
}

absl::StatusOr<InitPlan> PlanCsv(const InitArgs& args, int64_t shards) {
  ASSIGN_OR_RETURN(const InspectedTable table, InspectCsv(args.files, args.eval_files, shards));
  return AnnotatePlan(PlanTable(table, args.table), args);
}

absl::StatusOr<InitPlan> PlanJson(const InitArgs& args, int64_t shards) {
  ASSIGN_OR_RETURN(const InspectedTable table, InspectJson(args.files, args.eval_files, shards));
  return AnnotatePlan(PlanTable(table, args.table), args);
}

absl::StatusOr<InitPlan> PlanSeriesFiles(const InitArgs& args, int64_t) {
  ASSIGN_OR_RETURN(const InspectedTable table, InspectSeries(args.files));
  return AnnotatePlan(PlanSeries(table, args.series), args);
}

absl::Status InspectIdx(const std::vector<std::string>& files, ExampleInspector& inspector) {
  return ConvertIdx({.inputs = files}, [&inspector](const tensorflow::Example& example) {
    inspector.Add(example);
    return absl::OkStatus();
  });
}

absl::StatusOr<InitPlan> PlanIdx(const InitArgs& args, int64_t shards) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> shape, IdxImageShape({.inputs = args.files}));
  ExampleInspector inspector(shards);
  RETURN_IF_ERROR(InspectIdx(args.files, inspector));
  if (!args.eval_files.empty()) {
    ASSIGN_OR_RETURN(const std::vector<int64_t> other, IdxImageShape({.inputs = args.eval_files}));
    if (other != shape) {
      return absl::DataLossError(
          absl::StrCat(args.eval_files.front(), ": images of ", absl::StrJoin(other, "x"),
                       ", want ", absl::StrJoin(shape, "x"), " as in ", args.files.front()));
    }
    inspector.HoldOut();
    RETURN_IF_ERROR(InspectIdx(args.eval_files, inspector));
  }
  return AnnotatePlan(PlanExamples(inspector, {{"image_raw", shape}}, "label"), args);
}

absl::StatusOr<InitPlan> PlanImages(const InitArgs& args, int64_t shards) {
  ExampleInspector inspector(shards);
  const auto add = [&inspector](const tensorflow::Example& example) {
    inspector.Add(example);
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(ConvertImages({.inputs = args.files}, add));
  if (!args.eval_files.empty()) {
    inspector.HoldOut();
    RETURN_IF_ERROR(ConvertImages({.inputs = args.eval_files}, add));
  }
  return AnnotatePlan(PlanExamples(inspector, {}, "image/class/label"), args);
}

absl::StatusOr<InitPlan> PlanRecords(const InitArgs& args, int64_t shards) {
  ExampleInspector inspector(shards);
  ASSIGN_OR_RETURN(const Compression compression, InspectRecordFiles(args.files, inspector));
  Compression eval_compression = compression;
  if (!args.eval_files.empty()) {
    inspector.HoldOut();
    ASSIGN_OR_RETURN(eval_compression, InspectRecordFiles(args.eval_files, inspector));
  }
  ASSIGN_OR_RETURN(InitPlan plan,
                   AnnotatePlan(PlanExamples(inspector, {}, args.table.label), args));
  plan.compression = compression;
  plan.eval_compression = eval_compression;
  return plan;
}

absl::Status CheckCsvArgs(const InitArgs&) { return absl::OkStatus(); }

absl::Status CheckSeriesArgs(const InitArgs& args) {
  if (args.eval_files.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "--eval is not for init series, which holds out the last tenth of the rows; evaluate "
      "--input=FILE reads another file");
}

absl::Status CheckImageArgs(const InitArgs& args) {
  if (!args.table.label.empty()) {
    return absl::InvalidArgumentError(
        "--label is for init csv and init tfrecord: the labels of images are their folders");
  }
  RETURN_IF_ERROR(CheckImages({.inputs = args.files}));
  if (args.eval_files.empty()) return absl::OkStatus();
  return Annotate(CheckImages({.inputs = args.eval_files}), "--eval");
}

absl::Status CheckIdxArgs(const InitArgs& args) {
  if (!args.table.label.empty()) {
    return absl::InvalidArgumentError(
        "--label is for init csv and init tfrecord: the labels of idx are a file");
  }
  RETURN_IF_ERROR(CheckIdx({.inputs = args.files}));
  if (args.eval_files.empty()) return absl::OkStatus();
  return Annotate(CheckIdx({.inputs = args.eval_files}), "--eval");
}

struct InitKind {
  const char* name;
  bool is_table = false;
  absl::Status (*check)(const InitArgs& args);
  // Reads all of the data.
  absl::StatusOr<InitPlan> (*plan)(const InitArgs& args, int64_t shards);
  // Converts the examples into the folder. nullptr: they are read where they are.
  absl::Status (*convert)(const ConvertArgs& args, const ExampleSink& write) = nullptr;
};

constexpr InitKind kInitKinds[] = {
    {.name = "csv", .is_table = true, .check = CheckCsvArgs, .plan = PlanCsv},
    {.name = "idx", .check = CheckIdxArgs, .plan = PlanIdx, .convert = ConvertIdx},
    {.name = "images", .check = CheckImageArgs, .plan = PlanImages, .convert = ConvertImages},
    {.name = "jsonl", .is_table = true, .check = CheckCsvArgs, .plan = PlanJson},
    {.name = "series", .check = CheckSeriesArgs, .plan = PlanSeriesFiles},
    {.name = "tfrecord", .check = CheckCsvArgs, .plan = PlanRecords},
};

absl::StatusOr<const InitKind*> FindInitKind(const std::string& name) {
  std::vector<std::string> names;
  for (const InitKind& kind : kInitKinds) {
    if (kind.name == name) return &kind;
    names.push_back(kind.name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown kind ", Quote(name), " to init", DidYouMean(name, names)));
}

bool IsSeries(const InitKind& kind) { return kind.name == std::string_view("series"); }

absl::StatusOr<SeriesOptions> ReadSeriesOptions(const CommandLine& command, const InitKind& kind) {
  for (const char* flag : {"window", "horizon", "model"}) {
    if (!command.Has(flag) || IsSeries(kind)) continue;
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
  const std::string model = command.Has("model") ? command.GetString("model") : "dense";
  if (model != "dense" && model != "lstm") {
    return absl::InvalidArgumentError(
        absl::StrCat("--model: want dense or lstm, got ", Quote(model)));
  }
  return SeriesOptions{
      .labels = absl::StrSplit(command.GetString("label"), ',', absl::SkipEmpty()),
      .ignore = command.GetList("ignore"),
      .window = command.GetInt("window", 0),
      .horizon = command.GetInt("horizon", 1),
      .model = model == "lstm" ? PlannedSeries::Model::kLstm : PlannedSeries::Model::kDense};
}

// Those that say what the columns of a table are.
absl::Status CheckTableFlags(const CommandLine& command, const InitKind& kind) {
  for (const char* flag : {"ids", "ignore", "missing_indicator"}) {
    if (!command.Has(flag)) continue;
    if (!kind.is_table && (!IsSeries(kind) || flag != std::string_view("ignore"))) {
      return absl::InvalidArgumentError(
          absl::StrCat("--", flag, " is for the columns of a table, and not for init ", kind.name));
    }
    if (flag != std::string_view("missing_indicator") && command.GetList(flag).empty()) {
      return absl::InvalidArgumentError(absl::StrCat("--", flag, ": got no name, want COLUMN,..."));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<InitArgs> ReadArgs(const CommandLine& command, const InitKind& kind) {
  InitArgs args = {.files = {command.arguments().begin() + 1, command.arguments().end()},
                   .eval_files = command.GetList("eval"),
                   .output = command.GetString("output"),
                   .table = {.label = command.GetString("label"),
                             .ids = command.GetList("ids"),
                             .ignore = command.GetList("ignore"),
                             .missing_indicator = command.GetBool("missing_indicator")}};
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
  ASSIGN_OR_RETURN(args.series, ReadSeriesOptions(command, kind));
  RETURN_IF_ERROR(kind.check(args));
  return args;
}

// Holds out the files of --eval; without them every tenth example, or every eleventh where that
// leaves less to warn of: classes that recur every second row are all in one part of ten.
absl::StatusOr<InitPlan> PlanSplit(const InitKind& kind, const InitArgs& args) {
  if (!args.eval_files.empty()) return kind.plan(args, kNoShards);
  ASSIGN_OR_RETURN(InitPlan plan, kind.plan(args, kInitShards));
  if (plan.warnings.empty()) return plan;
  absl::StatusOr<InitPlan> other = kind.plan(args, kOtherInitShards);
  return other.ok() && other->warnings.size() < plan.warnings.size() ? *std::move(other) : plan;
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

// By the name that it gets in the folder, what is converted into it.
using Conversions = std::map<std::string, std::vector<std::string>>;

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
    for (const char* name : {kRecordFile, kEvalRecordFile}) {
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

  absl::Status WriteRecords(const std::string& name, const std::vector<std::string>& inputs) {
    const std::string path = JoinPath(path_, name);
    RETURN_IF_ERROR(CheckNotThere(path));
    ASSIGN_OR_RETURN(const std::unique_ptr<ExampleFiles> records,
                     ExampleFiles::Create(path, 1, Compression::kNone, inputs));
    RETURN_IF_ERROR(kind_.convert(
        {.inputs = inputs, .output = path},
        [&records](const tensorflow::Example& example) { return records->Write(example); }));
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

// One word of a command line.
std::string ShellWord(const std::string& text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalnum(c) ||
           std::string_view("_./-+=:,@%").find(c) != std::string_view::npos;
  });
  return plain ? text : absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

Json ResultJson(const InitPlan& plan, const std::string& config, const std::string& command) {
  Json features = Json::array(), left_out = Json::array();
  for (const PlannedFeature& feature : plan.features) {
    if (feature.kind == PlannedFeature::Kind::kLabel) continue;
    if (feature.kind == PlannedFeature::Kind::kTime) continue;  // what is made from it is there
    Json& list = feature.kind == PlannedFeature::Kind::kLeftOut ? left_out : features;
    list.push_back(JsonBytes(feature.name));
  }
  return {{"config", config},
          {"label", JsonBytes(plan.label_feature().name)},
          {"classes", plan.is_regression() ? Json() : Json(plan.classes.size())},
          {"features", features},
          {"left_out", left_out},
          {"train_examples", plan.train_examples},
          {"eval_examples", plan.eval_examples()},
          {"next", command}};
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
    LOG(INFO) << "Left out " << Quote(feature.title.empty() ? feature.name : feature.title) << ": "
              << feature.comment << ".";
  }
  for (const std::string& warning : plan.warnings) LOG(WARNING) << warning << ".";
  LOG(INFO)
      << config << " and its model are there to be read and changed. Next: " << command
      << "; tpurun evaluate with the same --config tells how good it is on examples held out.";
}

}  // namespace

absl::Status InitCommand(const CommandLine& command) {
  ASSIGN_OR_RETURN(const InitKind* const kind, FindInitKind(command.arguments().front()));
  ASSIGN_OR_RETURN(const InitArgs args, ReadArgs(command, *kind));
  const std::string config = JoinPath(args.output, kInitRunFile);
  // Before all of the data is read.
  RETURN_IF_ERROR(CheckNotThere(config));
  RETURN_IF_ERROR(CheckNotThere(JoinPath(args.output, kInitModelFile)));
  ASSIGN_OR_RETURN(const InitPlan plan, PlanSplit(*kind, args));
  InitSources sources;
  Conversions conversions;
  if (kind->convert != nullptr) {
    sources.train = sources.eval = {kRecordFile};
    conversions[kRecordFile] = args.files;
    if (!args.eval_files.empty()) {
      sources.eval = {kEvalRecordFile};
      conversions[kEvalRecordFile] = args.eval_files;
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
