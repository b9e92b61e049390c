// Where predict's rows, or the text that it generates, go: standard output, a file of JSON lines,
// TFRecords of tf.Example, or text.
#ifndef TPURUN_CLI_PREDICTION_WRITER_H_
#define TPURUN_CLI_PREDICTION_WRITER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

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

// Empty: standard output, flushed after each batch. FILE.jsonl or FILE.tfrecord by the name's end;
// InvalidArgument for another one, and for one of the files `inputs`, which are read meanwhile. An
// interrupt that ends the process removes the unfinished file; what killed processes left of this
// output is removed at once.
absl::StatusOr<std::unique_ptr<PredictionWriter>> MakePredictionWriter(
    const std::string& output, const std::vector<std::string>& inputs);

// One text that comes in pieces: one row, of the one column "text". Its memory does not grow with
// the text, but for a record's.
class TextWriter {
 public:
  // Of a text whose end has not come, after an error: a line on standard output is ended there, a
  // file is removed.
  virtual ~TextWriter() = default;
  // UTF-8. On standard output a piece can be read at once.
  virtual absl::Status Write(std::string_view piece) = 0;
  // After the last piece. Only then does a file appear under its name.
  virtual absl::Status Finish() = 0;
};

// As MakePredictionWriter; FILE.txt gets the text as it is. InvalidArgument for a text of more than
// `max_characters` that one record cannot hold.
absl::StatusOr<std::unique_ptr<TextWriter>> MakeTextWriter(const std::string& output,
                                                           const std::vector<std::string>& inputs,
                                                           int64_t max_characters);

}  // namespace tpurun

#endif  // TPURUN_CLI_PREDICTION_WRITER_H_
