// Checks of an input's plan against the arguments that it is opened with, before a file is touched.
#ifndef TPURUN_DATA_INPUT_CHECKS_H_
#define TPURUN_DATA_INPUT_CHECKS_H_

#include <set>
#include <string>
#include <vector>

#include "data/input_plan.h"
#include "proto/config_errors.h"
#include "runtime/spec/spec.h"

namespace tpurun {

// Returns "train_batch_size of 16", or "batch of 2 (train_batch_size / 8)" if the input makes only
// a part of the batch.
std::string BatchTitle(const InputFnArgs& args);

// True if several pipelines or processes read the source. Then a file that can be read only once is
// refused, by a message that begins with the file's name and ends with ReadByAll.
bool IsReadByAll(const InputFnArgs& args);
std::string ReadByAll(const InputFnArgs& args);

// In PREDICT, the row transforms that make labels alone. They need not run: no model is fed a label
// that rows may lack, and an absent one may be nothing that they can read.
std::set<const Step*> StepsOfLabels(const InputPlan& plan, const InputFnArgs& args);

// Returns the features that the input has, out of those that the model declares. Adds mistakes to
// `errors`.
std::vector<FeatureSpec> CheckArguments(const InputPlan& plan, const InputFnArgs& args,
                                        ConfigErrors& errors);

}  // namespace tpurun

#endif  // TPURUN_DATA_INPUT_CHECKS_H_
