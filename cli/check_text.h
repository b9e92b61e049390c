// What `check` prints of a training.
#ifndef TPURUN_CLI_CHECK_TEXT_H_
#define TPURUN_CLI_CHECK_TEXT_H_

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "cli/check_model.h"
#include "cli/inspect_rows.h"
#include "cli/json.h"

namespace tpurun {

// The JSON of a check, by kind.
struct CheckRows {
  Json check;
  std::vector<Json> layers;       // the longest first
  std::vector<Json> allocations;  // at the peak, the largest first
  std::vector<Json> padding;      // products whose padding costs the matrix units most
  std::vector<Json> slices;
  std::vector<Json> assumptions;
};

CheckRows CheckRowsOf(const ModelCheck& check);

// A number of examples: "7,460", but "0.0123".
std::string ExamplesText(double examples);

// Some of the rows for people, with percent signs and units.
struct CheckTable {
  std::vector<RowColumn> columns;
  std::vector<Json> rows;
};

CheckTable LayersTable(const CheckRows& rows, size_t most);
CheckTable PaddingTable(const CheckRows& rows);
CheckTable SlicesTable(const CheckRows& rows);

// Sentences: what the slice is, whether the step fits, how long it takes.
std::vector<std::string> VerdictOf(const ModelCheck& check, const CheckRows& rows);
// What makes the step faster or lets it fit, besides sizes without padding.
std::vector<std::string> AdviceOf(const ModelCheck& check, const CheckRows& rows);
// Of the training, if it has a number of steps, and of an epoch.
std::string CostSentence(const ModelCheck& check, const CheckRows& rows);

// Text for people, or with `json` one object a line: of kind check, layer, allocation, padding,
// slice and assumption.
void WriteCheck(const ModelCheck& check, bool json, std::ostream& out);

}  // namespace tpurun

#endif  // TPURUN_CLI_CHECK_TEXT_H_
