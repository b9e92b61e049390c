// Where predict's rows go: standard output, a file of JSON lines, TFRecords of tf.Example, or text.
#ifndef TPURUN_CLI_PREDICTION_WRITER_H_
#define TPURUN_CLI_PREDICTION_WRITER_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/estimator/estimator.h"

namespace tpurun {

class PredictionWriter {
 public:
  virtual ~PredictionWriter() = default;
  virtual absl::Status Write(const PredictedBatch& batch) = 0;
  // After the last batch. Only then does a file appear under its name.
  virtual absl::Status Finish() = 0;
};

// Empty: standard output, flushed after each batch. FILE.jsonl or FILE.tfrecord by the name's end,
// or of rows with one column of strings, `of_text`, FILE.txt, which gets them as they are;
// InvalidArgument for another one, and for one of the files `inputs`, which are read meanwhile. An
// interrupt that ends the process removes the unfinished file; what killed processes left of this
// output is removed at once.
absl::StatusOr<std::unique_ptr<PredictionWriter>> MakePredictionWriter(
    const std::string& output, const std::vector<std::string>& inputs, bool of_text = false);

}  // namespace tpurun

#endif  // TPURUN_CLI_PREDICTION_WRITER_H_
