// Shared by the tests of data: opens an input written as text and prints what it gives.
#ifndef TPURUN_TESTS_DATA_RUN_INPUT_H_
#define TPURUN_TESTS_DATA_RUN_INPUT_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/spec/spec.h"

namespace tpurun {

// The InputFn of train.input in a RunConfig textproto; messages call it "run.textproto".
absl::StatusOr<InputFn> InputFnOf(const std::string& config, const std::string& directory = "");

// "x f32[] y s32[2] label:z s64[]" as the features a model declares.
std::vector<FeatureSpec> ParseFeatures(const std::string& text);

// An opened input with buffers for its batches.
class OpenInput {
 public:
  // `rows` are at least those of a Next.
  OpenInput(InputSource source, int64_t rows);

  // The next batch, a line a row ("x=1 y=2,3"); empty at the end.
  absl::StatusOr<std::string> NextBatch();
  // The following batches until the end, at most `most`, a line "--" between two.
  absl::StatusOr<std::string> Batches(int64_t most = 1000);

  // Where the last row of that batch came from.
  std::string WhereLast() const { return source_.batches->Where(rows_ - 1); }

  BatchSource& batches() { return *source_.batches; }
  const InputSource& source() const { return source_; }

 private:
  InputSource source_;
  int64_t rows_ = 0;  // of the last batch
  std::vector<std::vector<std::byte>> buffers_;
  std::vector<std::byte*> pointers_;
};

// The RunConfig whose train.input is made of these fields.
std::string TrainConfig(const std::string& input);
InputFnArgs FeatureArgs(const std::string& features, ModeKey mode = ModeKey::kEval,
                        int64_t batch_size = 2);
// What opening that input says: "OK" or "CODE: MESSAGE".
std::string ErrorOfInput(const std::string& input, const InputFnArgs& args);

absl::StatusOr<OpenInput> Open(const std::string& config, const InputFnArgs& args,
                               const std::string& directory = "");

}  // namespace tpurun

#endif  // TPURUN_TESTS_DATA_RUN_INPUT_H_
