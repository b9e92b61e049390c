// Estimator::Predict: streams the rows of an input through the model, in order.
#include <chrono>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/estimator/estimator.h"
#include "runtime/estimator/eval_step.h"
#include "runtime/estimator/prediction_bytes.h"
#include "runtime/estimator/processes.h"
#include "runtime/estimator/setup.h"
#include "runtime/session/call_input_fn.h"
#include "runtime/session/infeed.h"
#include "runtime/session/outfeed.h"
#include "runtime/session/session.h"

namespace tpurun {
namespace {

using ClassNames =
    std::map<std::string, std::vector<std::string>>;  // as EstimatorSpec::class_names

// Returns the names of the classes of the first `rows` rows of a column of ids.
std::vector<std::string> NamesOfRows(const PredictedBatch::Column& ids,
                                     const std::vector<std::string>& names, int64_t rows) {
  std::vector<std::string> of_rows;
  const auto* const values = reinterpret_cast<const int64_t*>(ids.data);
  for (int64_t i = 0; i < rows * ids.row.num_elements(); ++i) of_rows.push_back(names[values[i]]);
  return of_rows;
}

// Returns the forwarded features, followed by the columns of an outfeed entry. A slot has the rows
// of all replicas in order. If each replica has the whole batch, the first replica's rows are used.
// `strings` holds the names of classes.
PredictedBatch BatchOf(const std::vector<HostFeature>& forwarded, const CoreProgram& program,
                       const SlotLayout& layout, const ClassNames& class_names,
                       const std::byte* slots, int64_t rows,
                       std::list<std::vector<std::string>>* strings) {
  PredictedBatch batch{.rows = rows};
  for (const HostFeature& feature : forwarded) {
    const Shape row = {feature.dtype.value_or(DType::kU8), feature.dims};
    if (feature.dtype.has_value()) {
      batch.columns.push_back({feature.name, row, feature.numbers.data()});
    } else {
      batch.columns.push_back({feature.name, row, nullptr, feature.strings.data()});
    }
  }
  for (size_t i = 0; i < program.outfeed.size(); ++i) {
    const Shape& shape = program.outfeed[i].shape;
    const Shape row = {shape.dtype, {shape.dims.begin() + 1, shape.dims.end()}};
    PredictedBatch::Column column = {program.outfeed[i].name, row, slots + layout.offsets[i]};
    if (const auto names = class_names.find(column.name); names != class_names.end()) {
      column.strings = strings->emplace_back(NamesOfRows(column, names->second, rows)).data();
      column.data = nullptr;
    }
    batch.columns.push_back(std::move(column));
  }
  return batch;
}

struct PredictStep {
  Graph graph;
  ClassNames class_names;
};

absl::StatusOr<PredictStep> BuildStep(const EstimatorOptions& options, bool has_labels,
                                      const proto::Predict& predict) {
  ASSIGN_OR_RETURN(
      EstimatorSpec spec,
      CallModelFn(options, ModeKey::kPredict, options.config.predict_batch_size(), has_labels));
  const std::vector<std::string> keys(predict.keys().begin(), predict.keys().end());
  ClassNames class_names = std::move(spec.class_names);
  ASSIGN_OR_RETURN(Graph graph,
                   BuildPredictStep(std::move(spec), keys, options.where("predict.keys")));
  RETURN_IF_ERROR(CheckPredictionBytes(graph, options.where("predict.keys")));
  std::set<std::string> columns;
  for (const Output& output : graph.outputs()) columns.insert(output.name);
  for (const std::string& feature : predict.forward_features()) {
    if (columns.insert(feature).second) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("predict.forward_features: ", Quote(feature),
                     " is there twice, or is a prediction too; leave it out, or choose others by "
                     "predict.keys"));
  }
  return PredictStep{std::move(graph), std::move(class_names)};
}

// What is ready before the first batch is predicted.
struct Prediction {
  PredictStep step;
  std::unique_ptr<Session> session;
  InfeedPtr infeed;
  std::vector<Likeness> likenesses;  // LikenessesOf, if there are several processes
};

// A stream, whose rows wait for further ones no longer than max_wait, one process reads. Each of
// several forwards the features of all rows, so that all skip the same rows.
absl::StatusOr<InputSource> OpenInput(const EstimatorOptions& options, const InputFn& input_fn,
                                      const proto::Predict& predict, TrainedFolder trained) {
  const auto& forward = predict.forward_features();
  InputFnArgs args{.mode = ModeKey::kPredict,
                   .features = options.features,
                   .seed = options.config.tf_random_seed(),
                   .forward_features = {forward.begin(), forward.end()},
                   .trained = std::move(trained)};
  if (predict.has_max_wait_ms() && options.fabric == nullptr)
    args.max_wait = std::chrono::milliseconds(predict.max_wait_ms());
  return CallInputFn(input_fn, DeploymentOf(options, ModeKey::kPredict), std::move(args));
}

absl::StatusOr<Prediction> Prepare(const EstimatorOptions& options,
                                   const std::optional<Checkpoint>& checkpoint,
                                   const InputFn& input_fn, const proto::Predict& predict) {
  // Reports mistakes in the model before the input is opened.
  RETURN_IF_ERROR(BuildStep(options, false, predict).status());
  ASSIGN_OR_RETURN(TrainedFolder trained, TrainedFolderOf(options, checkpoint));
  ASSIGN_OR_RETURN(InputSource input, OpenInput(options, input_fn, predict, std::move(trained)));
  Prediction made;
  ASSIGN_OR_RETURN(made.step, BuildStep(options, FeedsLabels(input, options.features), predict));
  const Graph& graph = made.step.graph;
  made.session = std::make_unique<Session>(options.num_workers, options.topology);
  RETURN_IF_ERROR(made.session->Load(graph, MakeCompileOptions(options)));
  RETURN_IF_ERROR(SetVariables(options, checkpoint, false, graph.variables(), *made.session));
  if (checkpoint.has_value() && IsChief(options.fabric)) {
    RETURN_IF_ERROR(WarnOfDrift(options, *checkpoint, ModeKey::kPredict));
  }
  if (options.fabric != nullptr)
    made.likenesses = LikenessesOf(*made.session, input.files, input.assets);
  ASSIGN_OR_RETURN(
      made.infeed,
      CreateInfeed(options, ModeKey::kPredict, "predict", 1, input, made.session->program(),
                   {.pad = true,
                    .ended_message = [](int64_t) { return "the input ended"; },
                    .classes = ClassesOf(graph)}));
  RETURN_IF_ERROR(options.after_checks());
  return made;
}

}  // namespace

absl::Status Estimator::Predict(
    const InputFn& input_fn, const proto::Predict& predict, const std::string& checkpoint,
    const std::function<absl::Status(const PredictedBatch&)>& on_result) {
  Fabric* const fabric = options_.fabric;
  const bool chief = IsChief(fabric);
  absl::StatusOr<std::optional<Checkpoint>> found = std::optional<Checkpoint>();
  if (chief) found = TrainedCheckpoint(options_, ModeKey::kPredict, checkpoint);
  ASSIGN_OR_RETURN(const std::optional<Checkpoint> chosen,
                   ShareCheckpoint(fabric, std::move(found)));
  absl::StatusOr<Prediction> prepared = Prepare(options_, chosen, input_fn, predict);
  RETURN_IF_ERROR(FirstErrorOfProcesses(fabric, prepared.status()));
  RETURN_IF_ERROR(CheckAlike(fabric, prepared->likenesses));
  const PredictStep& step = prepared->step;
  Session* const session = prepared->session.get();
  Infeed* const infeed = prepared->infeed.get();
  const CoreProgram& program = session->program();
  const SlotLayout layout = LayoutOf(program.outfeed, program.outfeed_replicas());
  int64_t examples = 0;
  // The entries of all processes have the predictions of all.
  Outfeed outfeed(program, [&](int64_t, const std::byte* slots) -> absl::Status {
    const std::vector<HostFeature> forwarded = infeed->TakeForwarded();
    const int64_t rows = infeed->TakeRows();
    if (!chief) return absl::OkStatus();
    std::list<std::vector<std::string>> strings;
    RETURN_IF_ERROR(
        on_result(BatchOf(forwarded, program, layout, step.class_names, slots, rows, &strings)));
    examples += rows;
    if (options_.on_examples) options_.on_examples(examples);
    return absl::OkStatus();
  });
  infeed->Start();
  const RunResult result = session->RunLoop({.iterations = std::numeric_limits<int64_t>::max(),
                                             .fabric = fabric,
                                             .interrupt = options_.interrupt},
                                            *infeed, &outfeed);
  absl::Status ended = outfeed.Finish();
  if (ended.ok() && result.interrupted) {
    ended = absl::CancelledError(absl::StrCat("interrupted after batch ", result.steps));
  }
  const bool of_input = absl::IsOutOfRange(result.status) && infeed->ended();
  if (ended.ok() && !of_input) ended = result.status;
  return FirstErrorOfProcesses(fabric, ended);
}

}  // namespace tpurun
