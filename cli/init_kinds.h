// The kinds of data that `tpurun init` reads, and what it is called with.
#ifndef TPURUN_CLI_INIT_KINDS_H_
#define TPURUN_CLI_INIT_KINDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/init_plan.h"
#include "data/convert/convert.h"

namespace tpurun {

struct InitArgs {
  std::vector<std::string> files;
  std::vector<std::string> eval_files;  // of --eval; empty: some examples of `files` are held out
  std::string output;
  TableOptions table;
  SeriesOptions series;
  std::optional<char> delimiter;  // of the columns of CSV files; nullopt: as their first line says
  bool balances_classes = false;
  std::string labels;  // init text: the labels of the lines of `files`
};

struct InitKind {
  const char* name;
  bool is_table = false;
  bool is_series = false;
  bool reads_texts = false;
  bool reads_labels = false;  // --labels
  absl::Status (*check)(const InitArgs& args);
  // Reads all of the data.
  absl::StatusOr<InitPlan> (*plan)(const InitArgs& args, int64_t shards);
  // Converts the examples into the folder. nullptr: they are read where they are.
  absl::Status (*convert)(const ConvertArgs& args, const ExampleSink& write) = nullptr;
};

// InvalidArgument if there is no kind of that name.
absl::StatusOr<const InitKind*> FindInitKind(const std::string& name);
std::vector<std::string> InitKindNames();

}  // namespace tpurun

#endif  // TPURUN_CLI_INIT_KINDS_H_
