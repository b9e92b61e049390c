// Golden files of layers, losses, metrics, optimizers and schedules: cases of `key: value` lines.
//
//   file  := { blank | '#' comment | entry }
//   entry := key ':' value newline { ' ' continuation newline }
//   A `case: NAME` entry starts a case. A tensor is `f32[2,3] = 1 2 3 4 5 6`, one number fills it.
#ifndef TPURUN_TESTS_MODELS_GOLDEN_CASE_H_
#define TPURUN_TESTS_MODELS_GOLDEN_CASE_H_

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "google/protobuf/message.h"
#include "proto/model_spec.pb.h"
#include "proto/source_locations.h"
#include "runtime/ir/graph_builder.h"
#include "runtime/ir/literal.h"
#include "runtime/spec/spec.h"

namespace tpurun {

struct GoldenCase {
  std::string file;
  std::string name;
  std::vector<std::pair<std::string, std::string>> entries;  // in order, without `case`

  // The value of the first entry of that key; empty when there is none.
  std::string Get(const std::string& key) const;
  // "testdata/layers/dense.txt, case relu: ".
  std::string Where() const;
  // How far a number may be from the expected one, relative to the largest expected one of its
  // tensor (to 1 where all are 0); `tolerance` in the file, else 2e-6, some roundings of f32.
  double Tolerance() const;
};

std::vector<GoldenCase> ReadGoldenFile(const std::string& path);
// The *.txt files of a folder below testdata, sorted.
std::vector<std::string> GoldenFiles(const std::string& folder);

// "f32[2,2] = 1 2 3 4".
Literal ParseLiteral(const std::string& text);
std::string LiteralText(const Literal& literal);
// NaN equals NaN.
void ExpectNear(const Literal& got, const Literal& want, double tolerance, const std::string& what);
void ExpectNear(double got, double want, double tolerance, const std::string& what);

// Parses a textproto; its places are recorded as model.textproto under `prefix`.
void ParseProto(const std::string& text, const std::string& prefix,
                google::protobuf::Message* message, SourceLocations* locations);

// The loss of TRAIN, else the sum of the squares of the f32 predictions, appended to the graph that
// was the spec's; invalid where there is neither.
Value LossOrSquares(GraphBuilder& b, const EstimatorSpec& spec);

// ParseModel with its mistakes as a status.
absl::StatusOr<ModelFn> CheckedModelFn(const proto::ModelSpec& spec,
                                       const SourceLocations& locations = {});

}  // namespace tpurun

#endif  // TPURUN_TESTS_MODELS_GOLDEN_CASE_H_
