// What of an input can be wrong for the arguments that it is opened with, before a file is touched.
#ifndef TPURUN_DATA_INPUT_CHECKS_H_
#define TPURUN_DATA_INPUT_CHECKS_H_

#include <string>
#include <vector>

#include "data/input_plan.h"
#include "proto/config_errors.h"
#include "runtime/spec/spec.h"

namespace tpurun {

// "train_batch_size of 16", or of what takes a part of that "batch of 2 (train_batch_size / 8)".
std::string BatchTitle(const InputFnArgs& args);

// What is wrong with a file, whose name stands before it, that can be read only once.
std::string ReadByAll(const PipelineShard& shard);

// The features the input has, of those the model declares. What is wrong is added.
std::vector<FeatureSpec> CheckArguments(const Plan& plan, const InputFnArgs& args,
                                        ConfigErrors& errors);

}  // namespace tpurun

#endif  // TPURUN_DATA_INPUT_CHECKS_H_
