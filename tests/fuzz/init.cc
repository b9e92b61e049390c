// A table that `init` describes. Input: a byte, whose lowest bit says that the label is the first
// column and not the last, the next one that the file is of JSON lines; then the file. What init
// writes for it is valid, and reads every row of it.
#include <string>
#include <vector>

#include "cli/config/load_config.h"
#include "cli/config/validate.h"
#include "cli/init_plan.h"
#include "cli/init_text.h"
#include "data/init/csv_table.h"
#include "data/init/json_table.h"
#include "glog/logging.h"
#include "models/model_builder.h"
#include "runtime/base/status.h"
#include "tests/data/run_input.h"
#include "tests/fuzz/targets.h"

namespace tpurun {
namespace {

constexpr char kTableName[] = "init.csv";
constexpr int64_t kRowsOfABatch = 8;

// The rows of all shards that the input of `evaluate` reads.
absl::Status ReadAllRows(const LoadedConfig& config, int64_t rows) {
  proto::RunConfig run;
  *run.mutable_transformation_func() = config.run.transformation_func();
  *run.mutable_train()->mutable_input() = config.run.evaluate(0).input();
  run.mutable_train()->mutable_input()->mutable_transform()->DeleteSubrange(0, 1);
  ASSIGN_OR_RETURN(OpenInput input,
                   Open(run.DebugString(), {.mode = ModeKey::kEval,
                                            .batch_size = kRowsOfABatch,
                                            .features = ModelFeatures(config.model)}));
  while (rows > 0) {
    RETURN_IF_ERROR(input.NextBatch().status());
    rows -= kRowsOfABatch;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status FuzzInit(std::string_view bytes) {
  const uint8_t variant = TakeByte(&bytes);
  const bool first = (variant & 1) != 0, json = (variant & 2) != 0;
  WriteScratch(kTableName, bytes);
  const std::string path = ScratchPath(kTableName);
  const auto options_of = [first](const InspectedTable& table) -> TableOptions {
    return {.label = !first ? "" : table.titles.empty() ? "column_1" : table.titles[0]};
  };
  const auto texts = [&](const InspectedTable& table) {
    return FindTextColumns(table, options_of(table));
  };
  ASSIGN_OR_RETURN(const InspectedTable table, json ? InspectJson({path}, {}, kInitShards, texts)
                                                    : InspectCsv({path}, {}, kInitShards, texts));
  ASSIGN_OR_RETURN(const InitPlan plan, PlanTable(table, options_of(table)));
  for (const auto& [name, text] : InitFiles(plan, {.train = {path}, .eval = {path}}))
    WriteScratch(name, text);
  ConfigErrors errors;
  const absl::StatusOr<LoadedConfig> config =
      LoadConfig({.config_path = ScratchPath(kInitRunFile)}, errors);
  CHECK(config.ok()) << config.status();
  ValidateConfig(*config, {.train = true, .evaluate = true, .predict = true}, errors);
  ParseModel(config->model, config->locations, errors);
  const absl::Status sound = ErrorList(errors.Lines(config->locations), errors.code());
  CHECK(sound.ok()) << sound;
  const absl::Status read = ReadAllRows(*config, table.rows);
  CHECK(read.ok()) << read;
  return absl::OkStatus();
}

}  // namespace tpurun
