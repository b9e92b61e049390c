// Prints the trainings and findings of `check --numerics`.
#ifndef TPURUN_CLI_NUMERICS_REPORT_H_
#define TPURUN_CLI_NUMERICS_REPORT_H_

#include "cli/inspect_rows.h"
#include "cli/numerics_findings.h"
#include "proto/run_config.pb.h"
#include "runtime/estimator/numerics.h"

namespace tpurun {

// One object a line: a "training" for each column and for the other seed, a "loss" for each step, a
// "variable" with its "gradient" for each step that kept it, a "keep_in_f32" for each finding, the
// "verdict".
void WriteNumericsJson(const NumericsPlan& plan, const Numerics& numerics,
                       const NumericsFindings& findings, RowWriter& rows);

// Tables of the same, for a terminal, with some of the steps and the worst of the variables.
void WriteNumericsTables(const proto::RunConfig& run, const NumericsPlan& plan,
                         const Numerics& numerics, const NumericsFindings& findings,
                         RowWriter& rows);

}  // namespace tpurun

#endif  // TPURUN_CLI_NUMERICS_REPORT_H_
