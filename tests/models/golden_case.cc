#include "tests/models/golden_case.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "google/protobuf/text_format.h"
#include "models/model_builder.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/ops/ops.h"

namespace tpurun {
namespace {

double ElementAt(const Literal& literal, int64_t i) {
  switch (literal.shape().dtype) {
    case DType::kF32:
      return literal.values<float>()[i];
    case DType::kS32:
      return literal.values<int32_t>()[i];
    case DType::kS64:
      return static_cast<double>(literal.values<int64_t>()[i]);
    default:
      return literal.values<uint8_t>()[i];
  }
}

void SetElement(Literal& literal, int64_t i, double value) {
  switch (literal.shape().dtype) {
    case DType::kF32:
      literal.values<float>()[i] = static_cast<float>(value);
      break;
    case DType::kS32:
      literal.values<int32_t>()[i] = static_cast<int32_t>(value);
      break;
    case DType::kS64:
      literal.values<int64_t>()[i] = static_cast<int64_t>(value);
      break;
    default:
      literal.values<uint8_t>()[i] = static_cast<uint8_t>(value);
      break;
  }
}

std::string Stripped(const std::string& text) {
  const size_t first = text.find_first_not_of(" \n");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \n") - first + 1);
}

}  // namespace

std::string GoldenCase::Get(const std::string& key) const {
  for (const auto& [name, value] : entries) {
    if (name == key) return value;
  }
  return "";
}

std::string GoldenCase::Where() const { return absl::StrCat(file, ", case ", name, ": "); }

double GoldenCase::Tolerance() const {
  const std::string given = Get("tolerance");
  return given.empty() ? 2e-6 : ParseDouble(given).value();
}

std::vector<GoldenCase> ReadGoldenFile(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << "cannot read " << path;
  std::vector<GoldenCase> cases;
  std::string line;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    if (line[0] == ' ') {
      absl::StrAppend(&cases.back().entries.back().second, "\n", Stripped(line));
      continue;
    }
    const size_t colon = line.find(':');
    EXPECT_NE(colon, std::string::npos) << path << ": not KEY: VALUE: " << line;
    const std::string key = line.substr(0, colon);
    const std::string value = Stripped(line.substr(colon + 1));
    if (key == "case") {
      cases.push_back({.file = path, .name = value});
    } else {
      cases.back().entries.push_back({key, value});
    }
  }
  EXPECT_FALSE(cases.empty()) << path << " has no case";
  return cases;
}

std::vector<std::string> GoldenFiles(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator("testdata/" + folder)) {
    if (entry.path().extension() == ".txt") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  EXPECT_FALSE(files.empty()) << "no golden files in testdata/" << folder;
  return files;
}

Literal ParseLiteral(const std::string& text) {
  const size_t equals = text.find('=');
  EXPECT_NE(equals, std::string::npos) << "not SHAPE = VALUES: " << text;
  const std::optional<Shape> shape = ParseShape(Stripped(text.substr(0, equals)));
  EXPECT_TRUE(shape.has_value()) << "not a shape: " << text;
  std::vector<double> values;
  std::istringstream words(text.substr(equals + 1));
  for (std::string word; words >> word;) {
    const std::optional<double> value = ParseDouble(word);
    EXPECT_TRUE(value.has_value()) << "not a number: " << word;
    values.push_back(word == "nan" ? std::numeric_limits<double>::quiet_NaN() : value.value_or(0));
  }
  Literal literal(shape.value_or(Shape{}));
  const int64_t n = literal.shape().num_elements();
  EXPECT_TRUE(values.size() == 1 || static_cast<int64_t>(values.size()) == n)
      << "want " << n << " values: " << text;
  for (int64_t i = 0; i < n; ++i) SetElement(literal, i, values[values.size() == 1 ? 0 : i]);
  return literal;
}

std::string LiteralText(const Literal& literal) {
  std::string text = literal.shape().ToString() + " =";
  for (int64_t i = 0; i < literal.shape().num_elements(); ++i) {
    absl::StrAppend(&text, " ", ShortestText(static_cast<float>(ElementAt(literal, i))));
  }
  return text;
}

void ExpectNear(const Literal& got, const Literal& want, double tolerance,
                const std::string& what) {
  ASSERT_EQ(got.shape().ToString(), want.shape().ToString()) << what;
  double largest = 0;
  for (int64_t i = 0; i < want.shape().num_elements(); ++i) {
    const double y = std::abs(ElementAt(want, i));
    if (y > largest) largest = y;
  }
  const double limit = tolerance * (largest > 0 ? largest : 1);
  for (int64_t i = 0; i < want.shape().num_elements(); ++i) {
    const double x = ElementAt(got, i);
    const double y = ElementAt(want, i);
    if (std::isnan(x) && std::isnan(y)) continue;
    EXPECT_LE(std::abs(x - y), limit) << what << " element " << i << "\ngot  " << LiteralText(got)
                                      << "\nwant " << LiteralText(want);
  }
}

void ExpectNear(double got, double want, double tolerance, const std::string& what) {
  if (std::isnan(got) && std::isnan(want)) return;
  EXPECT_LE(std::abs(got - want), tolerance * (want != 0 ? std::abs(want) : 1))
      << what << " got " << got << ", want " << want;
}

void ParseProto(const std::string& text, const std::string& prefix,
                google::protobuf::Message* message, SourceLocations* locations) {
  google::protobuf::TextFormat::Parser parser;
  google::protobuf::TextFormat::ParseInfoTree tree;
  parser.WriteLocationsTo(&tree);
  ASSERT_TRUE(parser.ParseFromString(text, message)) << text;
  if (locations != nullptr)
    locations->RecordParsed(prefix, *message, tree, "model.textproto", text);
}

Value LossOrSquares(GraphBuilder& b, const EstimatorSpec& spec) {
  Value loss = spec.loss;
  if (loss.valid()) return loss;
  for (const NamedValue& prediction : spec.predictions) {
    if (b.shape(prediction.value).dtype != DType::kF32) continue;
    const Value sum = ReduceSum(b, Square(b, prediction.value));
    loss = loss.valid() ? Add(b, loss, sum) : sum;
  }
  return loss;
}

absl::StatusOr<ModelFn> CheckedModelFn(const proto::ModelSpec& spec,
                                       const SourceLocations& locations) {
  ConfigErrors errors;
  ModelFn model_fn = ParseModel(spec, locations, errors).model_fn;
  RETURN_IF_ERROR(ErrorList(errors.Lines(locations), errors.code()));
  return model_fn;
}

}  // namespace tpurun
