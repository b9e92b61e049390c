// A file of JSON lines through an input: lines, decode_json and batches. Input: the file.
#include <cstddef>
#include <optional>
#include <vector>

#include "absl/strings/str_replace.h"
#include "glog/logging.h"
#include "runtime/base/status.h"
#include "tests/data/run_input.h"
#include "tests/fuzz/targets.h"

namespace tpurun {
namespace {

constexpr char kJsonName[] = "f.jsonl";
constexpr int64_t kJsonBatch = 4;

constexpr char kJsonConfig[] = R"(train { input {
  source { text_line { file: "$file" } }
  transform { decode_json {
    feature { name: "x" default_value: "-1.5" missing_indicator: "no_x" }
    feature { name: "n" dtype: INT64 }
    feature { name: "v" shape: [2, 2] dtype: INT32 default_value: "7" }
    feature { name: "d" key: "/a~1b/1" default_value: "0" }
    feature { name: "s" dtype: STRING default_value: "" }
  } }
  transform { batch {} }
} })";

}  // namespace

absl::Status FuzzJson(std::string_view bytes) {
  static std::optional<InputFn> input_fn;
  if (!input_fn.has_value()) {
    absl::StatusOr<InputFn> made =
        InputFnOf(absl::StrReplaceAll(kJsonConfig, {{"$file", ScratchPath(kJsonName)}}));
    CHECK(made.ok()) << made.status();
    input_fn = *std::move(made);
  }
  static const std::vector<FeatureSpec> features =
      ParseFeatures("x f32[] no_x f32[] n s64[] v s32[2,2] d f32[]");
  WriteScratch(kJsonName, bytes);
  ASSIGN_OR_RETURN(
      InputSource source,
      (*input_fn)({.mode = ModeKey::kEval, .batch_size = kJsonBatch, .features = features}));
  std::byte x[kJsonBatch * 4], no_x[kJsonBatch * 4], n[kJsonBatch * 8], v[kJsonBatch * 16],
      d[kJsonBatch * 4];
  std::byte* const buffers[] = {x, no_x, n, v, d};
  while (true) {
    ASSIGN_OR_RETURN(const int64_t rows, source.batches->Next(buffers));
    CHECK(rows >= 0 && rows <= kJsonBatch) << rows;
    if (rows == 0) return absl::OkStatus();
    CHECK(!source.batches->Where(rows - 1).empty());
  }
}

}  // namespace tpurun
