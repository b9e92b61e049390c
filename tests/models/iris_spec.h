// The model of the iris example, as it is and with a line changed.
#ifndef TPURUN_TESTS_MODELS_IRIS_SPEC_H_
#define TPURUN_TESTS_MODELS_IRIS_SPEC_H_

#include <gtest/gtest.h>

#include <string>

#include "models/model_builder.h"
#include "tests/models/golden_case.h"

namespace tpurun {

// The ModelFn of a spec as text.
inline absl::StatusOr<ModelFn> Make(const std::string& text) {
  proto::ModelSpec spec;
  SourceLocations locations;
  ParseProto(text, "model", &spec, &locations);
  return CheckedModelFn(spec, locations);
}

inline constexpr char kIris[] = R"(name: "iris"
feature { name: "SepalLength" }
feature { name: "SepalWidth" }
label { name: "Species" dtype: INT32 }
layer { name: "features" concat {} input: "SepalLength" input: "SepalWidth" }
layer { name: "hidden" dense { units: 10 activation: RELU } }
layer { name: "logits" dense { units: 3 } }
head { classification { logits: "logits" label: "Species" } }
optimizer { adagrad {} learning_rate { constant: 0.1 } }
)";

// kIris with one line replaced (counted from 1).
inline std::string IrisWith(int line, const std::string& replacement) {
  std::string text = kIris;
  size_t begin = 0;
  for (int i = 1; i < line; ++i) begin = text.find('\n', begin) + 1;
  return text.replace(begin, text.find('\n', begin) - begin, replacement);
}

// The message of ParseModel; "" when the spec is good.
inline std::string ErrorsOf(const std::string& text) {
  const absl::Status status = Make(text).status();
  EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status) || absl::IsUnimplemented(status))
      << status;
  return std::string(status.message());
}

}  // namespace tpurun

#endif  // TPURUN_TESTS_MODELS_IRIS_SPEC_H_
