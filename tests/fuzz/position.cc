// A saved position of an input. Input: a byte that chooses the pipeline, then the words behind the
// position's mark. What is restored goes on, and its own position is restored to the same batches.
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "runtime/base/status.h"
#include "tests/data/run_input.h"
#include "tests/fuzz/targets.h"

namespace tpurun {
namespace {

constexpr char kSlices[] =
    "source { from_tensor_slices { feature { name: \"x\" int64 { value: [1, 2, 3, 4, 5, 6, 7] } } "
    "} }";
constexpr char kRepeat[] = " transform { repeat {} }";
constexpr char kShuffle[] = " transform { shuffle { buffer_size: 3 } }";
constexpr char kWindow[] = " transform { window { size: 2 shift: 3 stride: 2 } }";

// Buckets, which a training makes, of elements of lengths 1 to 7.
constexpr char kBuckets[] =
    " transform { batch { drop_remainder: true bucket_by_sequence_length { element_length: \"x\" "
    "feature: \"y\" bucket_boundaries: [3, 5] } } }";
constexpr char kSequences[] =
    "source { from_tensor_slices { feature { name: \"x\" int64 { value: [1, 2, 3, 4, 5, 6, 7] } } "
    "feature { name: \"y\" int64 { value: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, "
    "0, "
    "0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] "
    "shape: 7 } } } }";

std::vector<std::string> Pipelines() {
  const std::string shuffled = absl::StrCat(kSlices, kShuffle, kRepeat);
  const std::string sampled = absl::StrCat("source { sample_from_datasets { input { ", shuffled,
                                           " } input { ", kSlices, " } } }");
  return {absl::StrCat(kSlices, kShuffle),
          shuffled,
          absl::StrCat(kSlices, kRepeat, kShuffle),
          absl::StrCat(kSlices,
                       " transform { skip { count: 2 } } transform { repeat { count: 3 } }"
                       " transform { take { count: 9 } }"),
          absl::StrCat(kSlices, " transform { cache {} }", kShuffle, kRepeat, kShuffle),
          sampled,
          absl::StrCat(sampled, kShuffle),
          absl::StrCat("source { sample_from_datasets { input { ", shuffled, " } input { ", kSlices,
                       kRepeat, kShuffle, " } } } transform { shard { num_shards: 2 } }", kShuffle),
          absl::StrCat(kSequences, kShuffle, kBuckets),
          absl::StrCat(kSequences, kShuffle, kBuckets, " transform { repeat { count: 3 } }")};
}

absl::StatusOr<OpenInput> OpenPipeline(const std::string& pipeline, bool windows) {
  if (absl::StrContains(pipeline, kBuckets)) {
    return Open(
        absl::StrCat("train { input { num_parallel_calls: 1 ", pipeline, " } }"),
        {.mode = ModeKey::kTrain, .batch_size = 2, .features = ParseFeatures("x s64[] y s64[7]")});
  }
  return Open(absl::StrCat("train { input { num_parallel_calls: 1 ", pipeline,
                           windows ? kWindow : "", windows ? kShuffle : "", " } }"),
              {.mode = ModeKey::kEval,
               .batch_size = 2,
               .features = ParseFeatures(windows ? "x s64[2]" : "x s64[]")});
}

}  // namespace

absl::Status FuzzPosition(std::string_view bytes) {
  static const std::vector<std::string>& pipelines = *new auto(Pipelines());
  const uint8_t choice = TakeByte(&bytes);
  const std::string& pipeline = pipelines[choice / 2 % pipelines.size()];
  const bool windows = choice % 2 == 1;
  ASSIGN_OR_RETURN(OpenInput input, OpenPipeline(pipeline, windows));
  const std::string start = input.batches().Position();
  const std::string mark = " @2";
  const std::string signature = start.substr(0, start.rfind(mark) + mark.size());
  RETURN_IF_ERROR(input.batches().Restore(absl::StrCat(signature, std::string(bytes))));
  ASSIGN_OR_RETURN(std::string ignored, input.NextBatch());
  if (ignored.empty()) return absl::OkStatus();
  const std::string position = input.batches().Position();
  ASSIGN_OR_RETURN(const std::string want, input.Batches(3));
  ASSIGN_OR_RETURN(OpenInput resumed, OpenPipeline(pipeline, windows));
  const absl::Status again = resumed.batches().Restore(position);
  CHECK(again.ok()) << position << ": " << again;
  ASSIGN_OR_RETURN(const std::string got, resumed.Batches(3));
  CHECK_EQ(got, want) << position;
  return absl::OkStatus();
}

}  // namespace tpurun
