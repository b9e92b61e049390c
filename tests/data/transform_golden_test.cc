// Runs testdata/transforms/*.txt. Each transform has a file of its name, and sources may have one.
// A file has several cases:
//
//   === what the case shows
//   file NAME:            a file beside the configuration, up to the next heading
//   examples NAME:        a TFRecord file of tf.Examples, each a line of text format
//   records NAME:         a TFRecord file of records, each a line with C escapes
//   config:               a RunConfig textproto with train.input
//   args: mode=train|eval|predict batch_size=N seed=N batches=N features=NAME SHAPE ...
//                         eval and 4 by default; at most so many batches are read
//   want:                 a line a row, "--" between batches; or "error CODE: MESSAGE"
//
// "#" starts a comment before the first case.
#include <glob.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "data/sources/source_list.h"
#include "data/transforms/transform_list.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "proto/example.pb.h"
#include "runtime/base/text.h"
#include "runtime/io/record_writer.h"
#include "tests/data/run_input.h"
#include "tests/io/temp_dir.h"

namespace tpurun {
namespace {

constexpr char kFolder[] = "testdata/transforms/";

struct GoldenCase {
  std::string title;
  std::map<std::string, std::string> files, examples, records;
  std::string config, args, want;
};

std::vector<GoldenCase> ReadCases(const std::string& path) {
  std::vector<GoldenCase> cases;
  std::string* section = nullptr;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    absl::string_view rest = line;
    if (absl::ConsumePrefix(&rest, "=== ")) {
      cases.push_back({.title = std::string(rest)});
      section = nullptr;
    } else if (cases.empty()) {
      EXPECT_TRUE(line.empty() || line[0] == '#') << path << ": " << line;
    } else if (absl::ConsumePrefix(&rest, "file ") && absl::ConsumeSuffix(&rest, ":")) {
      section = &cases.back().files[std::string(rest)];
    } else if (rest = line;
               absl::ConsumePrefix(&rest, "examples ") && absl::ConsumeSuffix(&rest, ":")) {
      section = &cases.back().examples[std::string(rest)];
    } else if (rest = line;
               absl::ConsumePrefix(&rest, "records ") && absl::ConsumeSuffix(&rest, ":")) {
      section = &cases.back().records[std::string(rest)];
    } else if (line == "config:") {
      section = &cases.back().config;
    } else if (line == "want:") {
      section = &cases.back().want;
    } else if (rest = line; absl::ConsumePrefix(&rest, "args: ")) {
      cases.back().args = std::string(rest);
    } else if (section != nullptr) {
      absl::StrAppend(section, line, "\n");
    }
  }
  for (GoldenCase& golden : cases) {
    while (absl::EndsWith(golden.want, "\n\n")) golden.want.pop_back();
    if (golden.want == "\n") golden.want.clear();
  }
  return cases;
}

void WriteRecords(const std::string& path, const std::string& lines,
                  const std::function<std::string(const std::string&)>& record_of) {
  auto writer = RecordWriter::Create(path);
  ASSERT_TRUE(writer.ok()) << writer.status();
  for (const absl::string_view line : absl::StrSplit(lines, '\n', absl::SkipEmpty())) {
    ASSERT_TRUE((*writer)->Write(record_of(std::string(line))).ok());
  }
  ASSERT_TRUE((*writer)->Close().ok());
}

std::string SerializedExample(const std::string& text) {
  tensorflow::Example example;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &example)) << text;
  return example.SerializeAsString();
}

std::string Unescaped(const std::string& text) {
  std::string bytes;
  EXPECT_TRUE(absl::CUnescape(text, &bytes)) << text;
  return bytes;
}

InputFnArgs ParseArgs(const std::string& text, int64_t* batches) {
  InputFnArgs args{.mode = ModeKey::kEval, .batch_size = 4};
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const std::pair<std::string, std::string> pair = absl::StrSplit(word, absl::MaxSplits('=', 1));
    if (pair.first == "mode") {
      args.mode = pair.second == "train"  ? ModeKey::kTrain
                  : pair.second == "eval" ? ModeKey::kEval
                                          : ModeKey::kPredict;
    } else if (pair.first == "batch_size") {
      args.batch_size = *ParseInt64(pair.second);
    } else if (pair.first == "seed") {
      args.seed = *ParseInt64(pair.second);
    } else if (pair.first == "batches") {
      *batches = *ParseInt64(pair.second);
    } else if (pair.first == "features") {  // the rest of the line
      std::string rest;
      std::getline(words, rest);
      args.features = ParseFeatures(absl::StrCat(pair.second, " ", rest));
    } else {
      ADD_FAILURE() << "unknown word in args: " << word;
    }
  }
  return args;
}

std::string RunCase(const GoldenCase& golden, const std::string& directory) {
  int64_t batches = 1000;
  const InputFnArgs args = ParseArgs(golden.args, &batches);
  absl::StatusOr<OpenInput> input = Open(golden.config, args, directory);
  const absl::StatusOr<std::string> got =
      input.ok() ? input->Batches(batches) : absl::StatusOr<std::string>(input.status());
  if (got.ok()) return *got;
  const std::string message = absl::StrReplaceAll(
      got.status().ToString(absl::StatusToStringMode::kWithNoExtraData), {{directory + "/", ""}});
  return absl::StrCat("error ", message, "\n");
}

TEST(TransformGoldenTest, EveryKindHasARow) {
  const auto& fields = *proto::Transform::descriptor();
  for (int i = 0; i < fields.field_count(); ++i) {
    const auto kind = static_cast<proto::Transform::KindCase>(fields.field(i)->number());
    const TransformDef* const def = FindTransform(kind);
    ASSERT_NE(def, nullptr) << fields.field(i)->name();
    EXPECT_EQ(def->name, fields.field(i)->name());
  }
}

TEST(TransformGoldenTest, EveryTransformHasAFile) {
  for (const TransformDef& def : TransformList()) {
    EXPECT_FALSE(ReadCases(absl::StrCat(kFolder, def.name, ".txt")).empty())
        << "write " << kFolder << def.name << ".txt";
  }
}

TEST(TransformGoldenTest, EveryFileBelongsToATransformOrSourceAndEveryCaseHolds) {
  std::set<std::string> names;
  for (const TransformDef& def : TransformList()) names.insert(def.name);
  for (const SourceDef& def : SourceList()) names.insert(def.name);
  glob_t found = {};
  ASSERT_EQ(glob(absl::StrCat(kFolder, "*.txt").c_str(), 0, nullptr, &found), 0);
  for (size_t i = 0; i < found.gl_pathc; ++i) {
    const std::string path = found.gl_pathv[i];
    absl::string_view name = path;
    absl::ConsumePrefix(&name, kFolder);
    absl::ConsumeSuffix(&name, ".txt");
    EXPECT_EQ(names.count(std::string(name)), 1) << path << ": no such transform or source";
    for (const GoldenCase& golden : ReadCases(path)) {
      SCOPED_TRACE(absl::StrCat(path, ": ", golden.title));
      const TempDir dir;
      for (const auto& [file, text] : golden.files) {
        std::ofstream(dir.path() + "/" + file, std::ios::binary) << text;
      }
      for (const auto& [file, lines] : golden.examples) {
        WriteRecords(dir.Path(file), lines, SerializedExample);
      }
      for (const auto& [file, lines] : golden.records) {
        WriteRecords(dir.Path(file), lines, Unescaped);
      }
      EXPECT_EQ(RunCase(golden, dir.path()), golden.want);
    }
  }
  globfree(&found);
}

}  // namespace
}  // namespace tpurun
