// The layers of a model as rows, for `summary` and for the page of `report`.
#ifndef TPURUN_CLI_LAYER_ROWS_H_
#define TPURUN_CLI_LAYER_ROWS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/inspect_rows.h"
#include "cli/json.h"
#include "proto/run_config.pb.h"
#include "runtime/spec/spec.h"

namespace tpurun {

// The model as it predicts, with all its labels.
absl::StatusOr<EstimatorSpec> BuildForward(const ModelFn& model_fn, const proto::RunConfig& run);

// A row for each feature and each layer of BuildForward's model: {"kind": "layer", "name", "type",
// "depth", "inputs", "output_shape", "dtype", "parameters", "trainable_parameters", "flops"}; of a
// feature the kind, the name, the shape and the dtype. The first dimension of a shape, the batch,
// is null. FLOPs are those of one example.
std::vector<Json> LayerRows(const std::vector<FeatureSpec>& features, const EstimatorSpec& forward);
// The totals of LayerRows: {"kind": "model", "name", "parameters", ...}. With the graph of the
// training, the optimizer's parameters too. `training` may be nullptr.
Json ModelRow(const std::string& name, const EstimatorSpec& forward,
              const std::vector<Json>& layers, const Graph* training);

// The columns of a table of layers, and one of LayerRows with the texts of its cells.
std::vector<RowColumn> LayerColumns();
Json LayerText(const Json& row);
// ModelRow as sentences.
std::vector<std::string> ParameterLines(const Json& model);

// A count of FLOPs or bytes as an integer.
int64_t WholeNumber(double value);

}  // namespace tpurun

#endif  // TPURUN_CLI_LAYER_ROWS_H_
