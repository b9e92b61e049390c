// A CSV file through an input: lines, decode_csv, cast and batches. Input: a byte, the index of the
// variant of the input below (modulo their number); then the file.
#include <array>
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

constexpr char kFileName[] = "f.csv";
constexpr int64_t kBatch = 4;

// What varies: text_line's fields, decode_csv's, and what comes before the batch.
struct Variant {
  const char* text_line;
  const char* decode_csv;
  const char* transform;
};
constexpr Variant kVariants[] = {
    {"", "", ""},
    {"skip_lines: 1", "na_value: 'NA'", "transform { cache {} }"},
    {"", "use_quote_delim: false field_delim: '\\t'", "transform { shuffle { buffer_size: 3 } }"},
    {"skip_lines: 3", "field_delim: '\\\"'", "transform { skip { count: 1 } }"},
};

constexpr char kConfig[] = R"(train { input {
  source { text_line { file: "$file" $text_line } }
  transform { decode_csv {
    column { name: "x" dtype: FLOAT32 default_value: "-1.5" }
    column { name: "n" dtype: INT64 }
    column { name: "i" dtype: INT32 default_value: "7" }
    column { name: "s" dtype: STRING default_value: "" }
    $decode_csv
  } }
  transform { cast { feature: "i" dtype: UINT8 } }
  $transform
  transform { batch {} }
} })";

absl::StatusOr<InputFn> MakeVariant(const Variant& variant) {
  return InputFnOf(absl::StrReplaceAll(kConfig, {{"$file", ScratchPath(kFileName)},
                                                 {"$text_line", variant.text_line},
                                                 {"$decode_csv", variant.decode_csv},
                                                 {"$transform", variant.transform}}));
}

}  // namespace

absl::Status FuzzCsv(std::string_view bytes) {
  static std::array<std::optional<InputFn>, std::size(kVariants)> input_fns;
  const size_t variant = TakeByte(&bytes) % std::size(kVariants);
  if (!input_fns[variant].has_value()) {
    absl::StatusOr<InputFn> input_fn = MakeVariant(kVariants[variant]);
    CHECK(input_fn.ok()) << input_fn.status();
    input_fns[variant] = *std::move(input_fn);
  }
  static const std::vector<FeatureSpec> features = ParseFeatures("x f32[] n s64[] i u8[]");
  WriteScratch(kFileName, bytes);
  ASSIGN_OR_RETURN(
      InputSource source,
      (*input_fns[variant])({.mode = ModeKey::kEval, .batch_size = kBatch, .features = features}));
  std::byte x[kBatch * 4], n[kBatch * 8], i[kBatch];
  std::byte* const buffers[] = {x, n, i};
  while (true) {
    ASSIGN_OR_RETURN(const int64_t rows, source.batches->Next(buffers));
    CHECK(rows >= 0 && rows <= kBatch) << rows;
    if (rows == 0) return absl::OkStatus();
    CHECK(!source.batches->Where(rows - 1).empty());
  }
}

}  // namespace tpurun
