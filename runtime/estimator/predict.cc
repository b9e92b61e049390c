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

bool FeedsLabels(const InputSource& input, const std::vector<FeatureSpec>& features) {
  return input.features.size() == features.size();
}

}  // namespace

absl::Status Estimator::Predict(
    const InputFn& input_fn, const proto::Predict& predict, const std::string& checkpoint,
    const std::function<absl::Status(const PredictedBatch&)>& on_result) {
  ASSIGN_OR_RETURN(const std::optional<Checkpoint> chosen,
                   TrainedCheckpoint(options_, ModeKey::kPredict, checkpoint));
  // Reports mistakes in the model before the input is opened.
  RETURN_IF_ERROR(BuildStep(options_, false, predict).status());
  ASSIGN_OR_RETURN(TrainedFolder trained, TrainedFolderOf(options_, chosen));
  const auto& forward = predict.forward_features();
  std::optional<std::chrono::milliseconds> max_wait;
  if (predict.has_max_wait_ms()) max_wait = std::chrono::milliseconds(predict.max_wait_ms());
  ASSIGN_OR_RETURN(InputSource input,
                   CallInputFn(input_fn, DeploymentOf(options_, ModeKey::kPredict),
                               {.mode = ModeKey::kPredict,
                                .features = options_.features,
                                .seed = options_.config.tf_random_seed(),
                                .forward_features = {forward.begin(), forward.end()},
                                .max_wait = max_wait,
                                .trained = std::move(trained)}));
  ASSIGN_OR_RETURN(const PredictStep step,
                   BuildStep(options_, FeedsLabels(input, options_.features), predict));
  const Graph& graph = step.graph;
  Session session(options_.num_workers, options_.topology);
  RETURN_IF_ERROR(session.Load(graph, MakeCompileOptions(options_)));
  RETURN_IF_ERROR(SetVariables(options_, chosen, false, graph.variables(), session));
  if (chosen.has_value()) {
    RETURN_IF_ERROR(WarnOfDrift(options_, *chosen, ModeKey::kPredict));
  }
  const CoreProgram& program = session.program();
  ASSIGN_OR_RETURN(const InfeedPtr infeed,
                   CreateInfeed(options_, ModeKey::kPredict, "predict", 1, input, program,
                                {.pad = true,
                                 .ended_message = [](int64_t) { return "the input ended"; },
                                 .classes = ClassesOf(graph)}));
  RETURN_IF_ERROR(options_.after_checks());
  const SlotLayout layout = LayoutOf(program.outfeed, program.outfeed_replicas());
  int64_t examples = 0;
  Outfeed outfeed(program, [&](int64_t, const std::byte* slots) -> absl::Status {
    const std::vector<HostFeature> forwarded = infeed->TakeForwarded();
    const int64_t rows = infeed->TakeRows();
    std::list<std::vector<std::string>> strings;
    RETURN_IF_ERROR(
        on_result(BatchOf(forwarded, program, layout, step.class_names, slots, rows, &strings)));
    examples += rows;
    if (options_.on_examples) options_.on_examples(examples);
    return absl::OkStatus();
  });
  infeed->Start();
  const RunResult result = session.RunLoop(
      {.iterations = std::numeric_limits<int64_t>::max(), .interrupt = options_.interrupt}, *infeed,
      &outfeed);
  RETURN_IF_ERROR(outfeed.Finish());
  if (result.interrupted) {
    return absl::CancelledError(absl::StrCat("interrupted after batch ", result.steps));
  }
  const bool ended = absl::IsOutOfRange(result.status) && infeed->ended();
  return ended ? absl::OkStatus() : result.status;
}

}  // namespace tpurun
