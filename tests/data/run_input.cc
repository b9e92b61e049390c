#include "tests/data/run_input.h"

#include <cstring>
#include <sstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "data/input_fn.h"
#include "google/protobuf/text_format.h"
#include "proto/config_errors.h"
#include "proto/run_config.pb.h"
#include "proto/source_locations.h"
#include "runtime/base/bfloat16.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

template <typename T>
T ValueAt(const std::byte* data, int64_t index) {
  T value;
  std::memcpy(&value, data + index * sizeof(T), sizeof(T));
  return value;
}

std::string ElementText(DType dtype, const std::byte* data, int64_t index) {
  switch (dtype) {
    case DType::kF32:
      return ShortestText(ValueAt<float>(data, index));
    case DType::kBF16:
      return ShortestText(FromBFloat16Bits(ValueAt<uint16_t>(data, index)));
    case DType::kS32:
      return absl::StrCat(ValueAt<int32_t>(data, index));
    case DType::kS64:
      return absl::StrCat(ValueAt<int64_t>(data, index));
    case DType::kU32:
      return absl::StrCat(ValueAt<uint32_t>(data, index));
    default:
      return absl::StrCat(ValueAt<uint8_t>(data, index));
  }
}

}  // namespace

absl::StatusOr<InputFn> InputFnOf(const std::string& config, const std::string& directory) {
  proto::RunConfig run_config;
  google::protobuf::TextFormat::ParseInfoTree tree;
  google::protobuf::TextFormat::Parser parser;
  parser.WriteLocationsTo(&tree);
  if (!parser.ParseFromString(config, &run_config)) {
    return absl::InternalError("the test's configuration does not parse");
  }
  SourceLocations locations;
  locations.RecordParsed("", run_config, tree, "run.textproto", config);
  ConfigErrors errors;
  std::shared_ptr<const InputPlan> plan =
      ParseInput(run_config.train().input(), run_config.transformation_func(), locations,
                 "train.input", directory, errors);
  if (plan == nullptr) return ErrorList(errors.Lines(locations), errors.code());
  return MakeInputFn(std::move(plan));
}

std::vector<FeatureSpec> ParseFeatures(const std::string& text) {
  std::vector<FeatureSpec> features;
  std::istringstream words(text);
  std::string name, shape;
  while (words >> name >> shape) {
    const bool is_label = absl::StartsWith(name, "label:");
    features.push_back(
        {std::string(absl::StripPrefix(name, "label:")), ParseShape(shape).value(), is_label});
  }
  return features;
}

OpenInput::OpenInput(InputSource source, int64_t rows) : source_(std::move(source)) {
  for (const FeatureSpec& feature : source_.features) {
    buffers_.emplace_back(rows * feature.shape.bytes());
    pointers_.push_back(buffers_.back().data());
  }
}

absl::StatusOr<std::string> OpenInput::NextBatch() {
  ASSIGN_OR_RETURN(rows_, source_.batches->Next(pointers_));
  std::string text;
  for (int64_t row = 0; row < rows_; ++row) {
    std::vector<std::string> cells;
    for (size_t i = 0; i < pointers_.size(); ++i) {
      const Shape& shape = source_.features[i].shape;
      std::vector<std::string> elements;
      for (int64_t e = 0; e < shape.num_elements(); ++e) {
        elements.push_back(ElementText(shape.dtype, pointers_[i] + row * shape.bytes(), e));
      }
      cells.push_back(absl::StrCat(source_.features[i].name, "=", absl::StrJoin(elements, ",")));
    }
    absl::StrAppend(&text, absl::StrJoin(cells, " "), "\n");
  }
  return text;
}

absl::StatusOr<std::string> OpenInput::Batches(int64_t most) {
  std::string text;
  for (int64_t i = 0; i < most; ++i) {
    ASSIGN_OR_RETURN(const std::string batch, NextBatch());
    if (batch.empty()) break;
    absl::StrAppend(&text, i == 0 ? "" : "--\n", batch);
  }
  return text;
}

absl::StatusOr<OpenInput> Open(const std::string& config, const InputFnArgs& args,
                               const std::string& directory) {
  ASSIGN_OR_RETURN(const InputFn input_fn, InputFnOf(config, directory));
  ASSIGN_OR_RETURN(InputSource source, input_fn(args));
  return OpenInput(std::move(source), args.batch_size * args.batches_per_step);
}

std::string TrainConfig(const std::string& input) {
  return absl::StrCat("train { input {\n", input, "} }");
}

InputFnArgs FeatureArgs(const std::string& features, ModeKey mode, int64_t batch_size) {
  return {.mode = mode, .batch_size = batch_size, .features = ParseFeatures(features)};
}

std::string ErrorOfInput(const std::string& input, const InputFnArgs& args) {
  return Open(TrainConfig(input), args)
      .status()
      .ToString(absl::StatusToStringMode::kWithNoExtraData);
}

}  // namespace tpurun
