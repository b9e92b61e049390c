// What of an input can be wrong for the arguments that it is opened with, before a file is touched.
#ifndef TPURUN_DATA_INPUT_CHECKS_H_
#define TPURUN_DATA_INPUT_CHECKS_H_

#include <vector>

#include "data/input_plan.h"
#include "proto/config_errors.h"
#include "runtime/spec/spec.h"

namespace tpurun {

// The features the input has, of those the model declares. What is wrong is added.
std::vector<FeatureSpec> CheckArguments(const Plan& plan, const InputFnArgs& args,
                                        ConfigErrors& errors);

}  // namespace tpurun

#endif  // TPURUN_DATA_INPUT_CHECKS_H_
