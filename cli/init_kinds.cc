#include "cli/init_kinds.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "data/init/csv_table.h"
#include "data/init/examples.h"
#include "data/init/json_table.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/io/file.h"

namespace tpurun {
namespace {

// What is wrong with the data gets its place, the first file.
absl::StatusOr<InitPlan> AnnotatePlan(absl::StatusOr<InitPlan> plan, const InitArgs& args) {
  if (plan.ok() || plan.status().code() != absl::StatusCode::kDataLoss) return plan;
  return Annotate(plan.status(), args.files.front());
}

ChooseTexts TextsOf(const TableOptions& options) {
  return [&options](const InspectedTable& table) { return FindTextColumns(table, options); };
}

absl::StatusOr<InitPlan> PlanCsv(const InitArgs& args, int64_t shards) {
  ASSIGN_OR_RETURN(const InspectedTable table, InspectCsv(args.files, args.eval_files, shards,
                                                          TextsOf(args.table), args.delimiter));
  return AnnotatePlan(PlanTable(table, args.table), args);
}

absl::StatusOr<InitPlan> PlanJson(const InitArgs& args, int64_t shards) {
  ASSIGN_OR_RETURN(const InspectedTable table,
                   InspectJson(args.files, args.eval_files, shards, TextsOf(args.table)));
  return AnnotatePlan(PlanTable(table, args.table), args);
}

absl::StatusOr<InitPlan> PlanSeriesFiles(const InitArgs& args, int64_t) {
  ASSIGN_OR_RETURN(const InspectedTable table, InspectSeries(args.files, args.delimiter));
  SeriesOptions options = args.series;
  options.files = args.files.size();
  return AnnotatePlan(PlanSeries(table, options), args);
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
  std::map<int64_t, std::string> names;
  const auto add = [&](const tensorflow::Example& example) {
    inspector.Add(example);
    const auto& features = example.features().feature();
    names[features.at("image/class/label").int64_list().value(0)] =
        features.at("image/class/text").bytes_list().value(0);
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(ConvertImages({.inputs = args.files}, add));
  if (!args.eval_files.empty()) {
    inspector.HoldOut();
    RETURN_IF_ERROR(ConvertImages({.inputs = args.eval_files}, add));
  }
  ASSIGN_OR_RETURN(InitPlan plan,
                   AnnotatePlan(PlanExamples(inspector, {}, "image/class/label"), args));
  // A list that is there already has an order of its own.
  if (FileExists(JoinPath(args.output, kClassesFile))) return plan;
  std::vector<std::string> list;
  for (const auto& [label, name] : names) list.push_back(name);
  SetClassNames(list, plan);
  return plan;
}

// The table of the two features of the records.
absl::StatusOr<InitPlan> PlanTexts(const InitArgs& args, int64_t shards) {
  InspectedTable table = {.titles = {"text", "label"}, .shards = shards};
  table.columns.resize(2);
  TextWords& words = table.texts[0];
  bool holds_out = false;
  const auto add = [&](const tensorflow::Example& example) {
    const bool held_out = holds_out || IsHeldOut(table.rows, shards);
    ++table.rows;
    table.held_out += held_out;
    const auto& features = example.features().feature();
    words.Add(features.at("text").bytes_list().value(0), held_out);
    table.columns[1].AddText(features.at("label").bytes_list().value(0), held_out,
                             [] { return std::string(); });
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(ConvertLabelledTexts({.inputs = args.files, .labels = args.labels}, add));
  holds_out = true;
  if (!args.eval_files.empty()) {
    RETURN_IF_ERROR(ConvertLabelledTexts({.inputs = args.eval_files}, add));
  }
  TableOptions options = args.table;
  options.texts = {"text"};
  ASSIGN_OR_RETURN(InitPlan plan, AnnotatePlan(PlanTable(table, options), args));
  plan.is_table = plan.header = false;
  return plan;
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

absl::Status CheckTextArgs(const InitArgs& args) {
  if (!args.table.label.empty()) {
    return absl::InvalidArgumentError(
        "--label is for init csv and init tfrecord: the labels of texts are their folders, or in "
        "their lines");
  }
  if (!args.labels.empty() && !args.eval_files.empty()) {
    return absl::InvalidArgumentError(
        "--labels has the labels of one file; with --eval write lines LABEL<TAB>TEXT");
  }
  return CheckLabelledTexts({.inputs = args.files, .labels = args.labels});
}

constexpr InitKind kInitKinds[] = {
    {.name = "csv", .is_table = true, .reads_texts = true, .check = CheckCsvArgs, .plan = PlanCsv},
    {.name = "idx", .check = CheckIdxArgs, .plan = PlanIdx, .convert = ConvertIdx},
    {.name = "images", .check = CheckImageArgs, .plan = PlanImages, .convert = ConvertImages},
    {.name = "jsonl",
     .is_table = true,
     .reads_texts = true,
     .check = CheckCsvArgs,
     .plan = PlanJson},
    {.name = "series", .is_series = true, .check = CheckSeriesArgs, .plan = PlanSeriesFiles},
    {.name = "text",
     .reads_texts = true,
     .reads_labels = true,
     .check = CheckTextArgs,
     .plan = PlanTexts,
     .convert = ConvertLabelledTexts},
    {.name = "tfrecord", .check = CheckCsvArgs, .plan = PlanRecords},
};

}  // namespace

absl::StatusOr<const InitKind*> FindInitKind(const std::string& name) {
  for (const InitKind& kind : kInitKinds) {
    if (kind.name == name) return &kind;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown kind ", Quote(name), " to init", DidYouMean(name, InitKindNames())));
}

std::vector<std::string> InitKindNames() {
  std::vector<std::string> names;
  for (const InitKind& kind : kInitKinds) names.emplace_back(kind.name);
  return names;
}

}  // namespace tpurun
