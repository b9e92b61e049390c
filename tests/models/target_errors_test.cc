// What of a model spec its target, a TPU or a host, does not have.
#include <gtest/gtest.h>

#include <string>

#include "runtime/base/status.h"
#include "tests/models/iris_spec.h"

namespace tpurun {
namespace {

// The errors of a model of these features for that target; the code of a status of them.
absl::StatusCode CodeFor(const std::string& text, const ModelFnArgs& target,
                         std::string* message = nullptr) {
  proto::ModelSpec spec;
  SourceLocations locations;
  ParseProto(text, "model", &spec, &locations);
  ConfigErrors errors;
  ParseModel(spec, locations, errors, target);
  const absl::Status status = ErrorList(errors.Lines(locations), errors.code());
  if (message != nullptr) *message = std::string(status.message());
  return status.code();
}

TEST(TargetErrorsTest, WhatTheTpuDoesNotHaveHasACodeOfItsOwn) {
  const std::string bytes = R"(feature { name: "x" dtype: UINT8 shape: 4 } )";
  const std::string op = R"(layer { name: "y" op { name: "where" } input: "x" } )";
  EXPECT_EQ(CodeFor(bytes, {}), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(CodeFor(bytes + op, {}), absl::StatusCode::kUnimplemented);
  // A mistake among them is to be corrected first.
  EXPECT_EQ(CodeFor(bytes + R"(label { name: "l" shape: 0 })", {}),
            absl::StatusCode::kInvalidArgument);
}

TEST(TargetErrorsTest, AHostTakesBytes) {
  const std::string bytes = R"(feature { name: "x" dtype: UINT8 shape: 4 }
layer { name: "f" op { name: "convert" attrs: "dtype=f32" } }
layer { name: "u" op { name: "convert" attrs: "dtype=u8" } })";
  EXPECT_EQ(CodeFor(bytes, {.use_tpu = false}), absl::StatusCode::kOk);
  // But no strings, for which there is no op.
  std::string message;
  EXPECT_EQ(CodeFor("feature { name: 'x' dtype: STRING }", {.use_tpu = false}, &message),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(message,
            "model.textproto:1:21: feature 0 \"x\": dtype STRING cannot be fed, want FLOAT32, "
            "BFLOAT16, INT32, INT64, UINT32 or BOOL; have the input make numbers of it: "
            "transform { lookup {} } makes ids, decode_raw reads bytes");
}

TEST(TargetErrorsTest, StrictDTypesRefuseInt64ToTheDeviceAlone) {
  const std::string text = "feature { name: 'x' dtype: INT64 } label { name: 'y' dtype: INT64 }";
  EXPECT_EQ(CodeFor(text, {}), absl::StatusCode::kOk);
  EXPECT_EQ(CodeFor(text, {.use_tpu = false, .strict_dtypes = true}), absl::StatusCode::kOk);
  std::string message;
  EXPECT_EQ(CodeFor(text, {.strict_dtypes = true}, &message), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(
      message,
      "model.textproto:1:21: feature 0 \"x\": dtype INT64 is not fed under strict_dtypes; "
      "declare INT32 and add to the input transform { cast { feature: \"x\" dtype: INT32 } }\n"
      "model.textproto:1:54: label 0 \"y\": dtype INT64 is not fed under strict_dtypes; "
      "declare INT32 and add to the input transform { cast { feature: \"y\" dtype: INT32 } }");
}

}  // namespace
}  // namespace tpurun
